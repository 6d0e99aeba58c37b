"""The next pairs: chosen given all that were asked, and added in rounds before people run out of them."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from pairsmith.campaign import goals, pace
from pairsmith.campaign.answers import pairs_to_ask
from pairsmith.campaign.learning import fit_linear, fit_or_prior
from pairsmith.campaign.schema import pairs
from pairsmith.campaign.snapshot import CampaignSnapshot, take_snapshot
from pairsmith.criteria import CRITERIA
from pairsmith.data.arrays import Ints
from pairsmith.data.candidates import WithinGroups, remaining_pairs
from pairsmith.model.gaussian_process import BradleyTerryGP
from pairsmith.selection import Selection, select

if TYPE_CHECKING:
    from pairsmith.campaign.store import Store
    from pairsmith.model.bradley_terry import BradleyTerry

DEFAULT = "order"  # the criterion of campaigns that name none
GUESS = 5.0  # seconds assumed for planning until one was timed
LARGEST = 16  # a round has at most this many times k pairs


def next_pairs(
    snapshot: CampaignSnapshot,
    k: int,
    objective: str | None,
    max_per_item: int | None = None,
    model: BradleyTerry | BradleyTerryGP | None = None,
    **options: Any,
) -> Selection | None:
    """The next k pairs (or as many as there are), given all that were asked; None where there are no more.

    A criterion that uses a linear model gives way to d-optimal before the first label or answer.
    """
    if k < 1:
        raise ValueError(f"k must be at least 1, got {k}")
    k = min(k, count_possible(snapshot, max_per_item))
    if k == 0:
        return None
    objective = DEFAULT if objective is None else objective
    criterion = CRITERIA.get(objective)
    if model is None and criterion is not None and criterion.needs_model:
        model = fit_or_prior(snapshot) if criterion.only_effects else fit_linear(snapshot)
        objective = "d-optimal" if model is None else objective
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="max_per_item")  # a shorter round is no harm
        return select(
            # By their rows, as pairs name them: what a campaign calls its items is no concern of the design.
            snapshot.features.reset_index(drop=True) if snapshot.features.shape[1] else None,
            k,
            labeled=snapshot.labeled,
            comparisons=snapshot.planned,
            candidates=None if snapshot.groups is None else WithinGroups(snapshot.groups),
            max_per_item=max_per_item,
            objective=objective,
            model=model,
            **options,
        )


def count_possible(snapshot: CampaignSnapshot, max_per_item: int | None) -> int:
    """How many pairs another round can have at most."""
    groups = None if snapshot.groups is None else WithinGroups(snapshot.groups)
    return remaining_pairs(groups, len(snapshot.features), snapshot.planned, max_per_item).at_most()


def plan_round(store: Store, size: int | None = None, before: BradleyTerryGP | None = None) -> bool:
    """Add a round, of the campaign's k pairs unless `size` is given; False where there are no more to ask.

    True also where `add_round` refused them, because another process was faster and planned others. `before` is the
    model of an earlier round, from which the fit goes on.
    """
    settings, snapshot = store.settings, take_snapshot(store)
    model = fit_or_prior(snapshot, before) if CRITERIA[settings.objective].only_effects else None
    chosen = next_pairs(snapshot, size or settings.k, settings.objective, settings.max_per_item, model=model, n_jobs=1)
    if chosen is None or len(chosen) == 0:
        return False
    add_round(store, chosen.pairs, snapshot.last_pair)
    return True


def add_round(store: Store, chosen: Ints, after: int) -> bool:
    """Add these pairs unless others were planned meanwhile (`after` is the last pair of the snapshot)."""
    with store.writing() as connection:
        last, number = connection.execute(sa.select(sa.func.max(pairs.c.id), sa.func.max(pairs.c.round))).one()
        if (last or 0) != after:
            return False
        rows = pairs_to_ask(chosen, (number or 0) + 1, store.settings.answers_per_pair)
        connection.execute(pairs.insert(), rows)
    return True


class Planner:
    """Keeps rounds ahead of the people: a call plans one if the pairs that each of them can be given would not last.

    A cycle is the time to choose pairs plus the longest recent pause between calls; the lead is 2 x cycle x rate, in
    pairs, at the rate at which people were done with pairs of late. A round is begun when no more than the lead (or a
    quarter of a round) is left for whoever has fewest, and has enough pairs to restore it. So where people are slow, a round
    has k pairs and the model is fitted again for each; where they are fast, rounds grow, up to LARGEST times k: four times the
    pairs take far less than four times as long to choose, as most of it goes into the model and the first scan.
    """

    def __init__(self, store: Store, clock: Callable[[], float] = time.monotonic) -> None:
        self.store, self.clock = store, clock
        self.model = BradleyTerryGP(warm_start=True)
        self.exhausted_at = -1  # number of pairs when none could be added; not tried again until it changes
        self.planning_took: float | None = None  # seconds, the last time
        self.last_call_ended = clock()
        self.between_calls = 0.0  # seconds between two calls, the longest of late

    def __call__(self) -> None:
        settings = self.store.settings
        began = self.clock()
        self.between_calls = max(began - self.last_call_ended, 0.9 * self.between_calls)
        cycle = GUESS if self.planning_took is None else self.planning_took + self.between_calls
        lead = 2 * cycle * pace.pairs_rate(self.store)
        waiting = pace.waiting(self.store)
        due = waiting.free <= max(settings.k // 4, lead) and waiting.pairs != self.exhausted_at
        if due and not goals.is_over(self.store):
            size = settings.k
            if self.planning_took is not None:  # a guess is reason enough to begin, not to grow
                size = min(max(size, math.ceil(lead)), LARGEST * settings.k)
            if plan_round(self.store, size, self.model):
                self.exhausted_at, self.planning_took = -1, self.clock() - began
            else:
                self.exhausted_at = waiting.pairs
        self.last_call_ended = self.clock()
