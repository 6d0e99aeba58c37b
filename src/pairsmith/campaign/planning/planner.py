"""Rounds are added before people run out of pairs."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import sqlalchemy as sa

from pairsmith.campaign.answering import goals
from pairsmith.campaign.learning import fit_or_prior
from pairsmith.campaign.planning import pace
from pairsmith.campaign.planning.rounds import Round, count_possible, next_round
from pairsmith.campaign.store import statements as sql
from pairsmith.campaign.store.answers import pairs_to_ask
from pairsmith.campaign.store.schema import RANDOM, REPEATED, pairs
from pairsmith.campaign.store.snapshot import CampaignSnapshot, take_snapshot
from pairsmith.criteria import CRITERIA
from pairsmith.model.gaussian_process import BradleyTerryGP

if TYPE_CHECKING:
    from pairsmith.campaign.store.store import Store

GUESS = 5.0  # seconds assumed for planning until one was timed
LARGEST = 16  # a round has at most this many times k pairs
PATIENCE = 2.0  # seconds that a design may take before pairs at random are added
BRIDGED = 4.0  # seconds for which people should have pairs then


def plan_round(store: Store, size: int | None = None, before: Sequence[BradleyTerryGP] = ()) -> bool:
    """Add a round, of the campaign's k pairs unless `size` is given; False where there are no more to ask.

    True also where `add_round` refused them, because another process was faster and planned others. `before` are the
    models of an earlier round, one for each question, from which the fits go on.
    """
    settings = store.settings
    snapshots = [take_snapshot(store, question) for question in range(len(settings.questions))]
    snapshots = [snapshot for snapshot in snapshots if count_possible(snapshot, settings.max_per_item) > 0]
    if not snapshots:
        return False
    under_model = CRITERIA[settings.objective].only_effects
    snapshot, model = snapshots[0], None
    if under_model or len(snapshots) > 1:
        snapshot, model = most_doubtful(snapshots, before)
    chosen = next_round(snapshot, settings, size, model if under_model else None, n_jobs=1)
    if chosen is None:
        return False
    add_round(store, chosen, snapshot)
    return True


def most_doubtful(
    snapshots: Sequence[CampaignSnapshot], before: Sequence[BradleyTerryGP] = ()
) -> tuple[CampaignSnapshot, BradleyTerryGP]:
    """The question whose model has the largest doubt, which the next pairs are designed for, and that model.

    Each pair is asked with all questions, so that what it tells about the others is a gain besides.
    """
    models = [fit_or_prior(asked, before[asked.question] if before else None) for asked in snapshots]
    if len(snapshots) == 1:
        return snapshots[0], models[0]
    both = list(zip(snapshots, models, strict=True))
    return max(both, key=lambda one: one[1].certainty(one[0].features, one[0].groups)[0])


def add_round(store: Store, chosen: Round, after: CampaignSnapshot) -> bool:
    """Add this round unless pairs were designed, or asked again, since the snapshot that it was planned after.

    Pairs at random may have been added since, which bridged the time: what is among them is not asked twice.
    """
    with store.writing() as connection:
        last = sa.select(sa.func.max(pairs.c.id), sa.func.max(pairs.c.round))
        by_now = connection.execute(last).one()
        since, there = pairs.c.id > after.last_pair, set()
        if (by_now[0] or 0, by_now[1] or 0) != (after.last_pair, after.last_round):
            before = connection.execute(last.where(~since)).one()
            added = connection.execute(sa.select(pairs.c.first, pairs.c.second, pairs.c.why).where(since)).all()
            bridges = all(pair.why == RANDOM for pair in added) and store.settings.objective != "random"
            if (before[0] or 0, before[1] or 0) != (after.last_pair, after.last_round) or not bridges:
                return False
            there = {(pair.first, pair.second) for pair in added}
        rows = pairs_to_ask(chosen.pairs, chosen.why, (by_now[1] or 0) + 1, store.settings)
        rows = [row for row in rows if (row["first"], row["second"]) not in there]
        new, again = ([row for row in rows if (row["why"] == REPEATED) == repeated] for repeated in (False, True))
        if new:
            connection.execute(pairs.insert(), new)
        if again:
            names = {"first": "i", "second": "j", "question": "which", "round": "number"}
            connection.execute(sql.ASK_AGAIN, [{name: row[key] for key, name in names.items()} for row in again])
    return True


class Planner:
    """Keeps rounds ahead of the people: a call plans one if the pairs that each of them can be given would not last.

    A cycle is the time to choose pairs plus the longest recent pause between calls; the lead is 2 x cycle x rate, in
    pairs, at the rate at which people were done with pairs of late. A round is begun when no more than the lead (or a
    quarter of a round) is left for whoever has fewest, and has enough pairs to restore it. So where people are slow, a
    round has k pairs and the model is fitted again for each; where they are fast, rounds grow, up to LARGEST times k:
    four times the pairs take far less than four times as long to choose, as most of it goes into the model and the
    first scan. Where people run out of pairs before a round is there, `bridge_if_late` adds some at random.
    """

    def __init__(self, store: Store, clock: Callable[[], float] = time.monotonic) -> None:
        self.store, self.clock = store, clock
        self.models = [BradleyTerryGP(warm_start=True) for _ in store.settings.questions]
        # Numbers of pairs, items and answers when nothing could be asked; not tried again until they change.
        self.exhausted_at: tuple[int, ...] | None = None
        self.planning_took: float | None = None  # seconds, the last time
        self.designs_since: float | None = None  # when the design of a round began that is not there yet
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
            self.designs_since = self.clock()
            try:
                planned = plan_round(self.store, size, self.models)
            finally:
                self.designs_since = None
            if planned:
                self.exhausted_at, self.planning_took = None, self.clock() - began
            else:
                self.exhausted_at = there
        self.last_call_ended = self.clock()

    def bridge_if_late(self) -> None:
        """Add pairs at random where a round is being designed and people run out; to be called now and then, meanwhile.

        They take no time to choose, and tell less than designed ones, but more than people who wait.
        """
        since = self.designs_since
        if since is None or self.clock() < since + PATIENCE or goals.is_over(self.store):
            return
        lacking = math.ceil(BRIDGED * pace.pairs_rate(self.store)) - pace.waiting(self.store).free
        if lacking > 0:
            snapshot = take_snapshot(self.store)
            chosen = next_round(snapshot, replace(self.store.settings, objective="random"), lacking)
            if chosen is not None:
                add_round(self.store, chosen, snapshot)
