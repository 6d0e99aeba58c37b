"""Rounds are added before people run out of pairs."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import sqlalchemy as sa

from pairsmith.campaign import goals, pace
from pairsmith.campaign import statements as sql
from pairsmith.campaign.answers import pairs_to_ask
from pairsmith.campaign.learning import fit_or_prior
from pairsmith.campaign.rounds import Round, count_possible, next_round
from pairsmith.campaign.schema import REPEATED, pairs
from pairsmith.campaign.snapshot import CampaignSnapshot, take_snapshot
from pairsmith.criteria import CRITERIA
from pairsmith.model.gaussian_process import BradleyTerryGP

if TYPE_CHECKING:
    from pairsmith.campaign.store import Store

GUESS = 5.0  # seconds assumed for planning until one was timed
LARGEST = 16  # a round has at most this many times k pairs


def plan_round(store: Store, size: int | None = None, before: BradleyTerryGP | None = None) -> bool:
    """Add a round, of the campaign's k pairs unless `size` is given; False where there are no more to ask.

    True also where `add_round` refused them, because another process was faster and planned others. `before` is the
    model of an earlier round, from which the fit goes on.
    """
    settings, snapshot = store.settings, take_snapshot(store)
    if count_possible(snapshot, settings.max_per_item) == 0:
        return False
    model = fit_or_prior(snapshot, before) if CRITERIA[settings.objective].only_effects else None
    chosen = next_round(snapshot, settings, size, model, n_jobs=1)
    if chosen is None:
        return False
    add_round(store, chosen, snapshot)
    return True


def add_round(store: Store, chosen: Round, after: CampaignSnapshot) -> bool:
    """Add this round unless pairs were added, or asked again, since the snapshot that it was planned after."""
    with store.writing() as connection:
        last = connection.execute(sa.select(sa.func.max(pairs.c.id), sa.func.max(pairs.c.round))).one()
        if (last[0] or 0, last[1] or 0) != (after.last_pair, after.last_round):
            return False
        rows = pairs_to_ask(chosen.pairs, chosen.why, after.last_round + 1, store.settings.answers_per_pair)
        new, again = ([row for row in rows if (row["why"] == REPEATED) == repeated] for repeated in (False, True))
        if new:
            connection.execute(pairs.insert(), new)
        if again:
            connection.execute(
                sql.ASK_AGAIN, [{"i": row["first"], "j": row["second"], "number": row["round"]} for row in again]
            )
    return True


class Planner:
    """Keeps rounds ahead of the people: a call plans one if the pairs that each of them can be given would not last.

    A cycle is the time to choose pairs plus the longest recent pause between calls; the lead is 2 x cycle x rate, in
    pairs, at the rate at which people were done with pairs of late. A round is begun when no more than the lead (or a
    quarter of a round) is left for whoever has fewest, and has enough pairs to restore it. So where people are slow, a
    round has k pairs and the model is fitted again for each; where they are fast, rounds grow, up to LARGEST times k:
    four times the pairs take far less than four times as long to choose, as most of it goes into the model and the
    first scan.
    """

    def __init__(self, store: Store, clock: Callable[[], float] = time.monotonic) -> None:
        self.store, self.clock = store, clock
        self.model = BradleyTerryGP(warm_start=True)
        # Numbers of pairs, items and answers when nothing could be asked; not tried again until they change.
        self.exhausted_at: tuple[int, ...] | None = None
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
        # Where pairs are asked again, who answers anew may be asked what others were.
        there = waiting.pairs, waiting.items, waiting.given if settings.asks_again else 0
        due = waiting.free <= max(settings.k // 4, lead) and there != self.exhausted_at
        if due and not goals.is_over(self.store):
            size = settings.k
            if self.planning_took is not None:  # a guess is reason enough to begin, not to grow
                size = min(max(size, math.ceil(lead)), LARGEST * settings.k)
            if plan_round(self.store, size, self.model):
                self.exhausted_at, self.planning_took = None, self.clock() - began
            else:
                self.exhausted_at = there
        self.last_call_ended = self.clock()
