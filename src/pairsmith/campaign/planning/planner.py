"""When to add a round, and how large: rounds are added before people run out of pairs."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import sqlalchemy as sa

from pairsmith.campaign.answering import goals
from pairsmith.campaign.planning import pace
from pairsmith.campaign.planning.rounds import Round, choose_question, count_possible, next_round
from pairsmith.campaign.store import statements as sql
from pairsmith.campaign.store.answers import new_pair_rows
from pairsmith.campaign.store.schema import RANDOM, REPEATED, pairs
from pairsmith.campaign.store.snapshot import CampaignSnapshot, take_snapshot
from pairsmith.model.gaussian_process import BradleyTerryGP

if TYPE_CHECKING:
    from pairsmith.campaign.store.store import Store

ASSUMED_PLANNING_SECONDS = 5.0  # until a round was timed
MAX_ROUND_MULTIPLE = 16  # a round has at most this many times k pairs
SECONDS_BEFORE_RANDOM_PAIRS = 2.0  # that a design may take before random pairs are added
SECONDS_OF_RANDOM_PAIRS = 4.0  # for which people should then have pairs


def plan_round(store: Store, size: int | None = None, previous: Sequence[BradleyTerryGP] = ()) -> bool:
    """Add a round of `size` pairs (by default the campaign's k); return False if no pair is left to ask.

    The result is also True if `add_round` refused the pairs because another process planned others in the meantime.
    `previous` are the models of an earlier round, one per question; the fits start from them.
    """
    settings = store.settings
    snapshots = [take_snapshot(store, question) for question in range(len(settings.questions))]
    snapshots = [snapshot for snapshot in snapshots if count_possible(snapshot, settings.max_per_item) > 0]
    if not snapshots:
        return False
    snapshot, model = choose_question(snapshots, settings.objective, previous)
    chosen = next_round(snapshot, settings, size, model, n_jobs=1)
    if chosen is None:
        return False
    add_round(store, chosen, snapshot)
    return True


def add_round(store: Store, chosen: Round, snapshot: CampaignSnapshot) -> bool:
    """Add this round, unless pairs were designed or asked again since the snapshot; return whether it was added.

    Random pairs may have been added since, to bridge the time. They do not stand in the way, and those that are also
    in the round are not asked twice.
    """
    with store.writing() as connection:
        newest = sa.select(sa.func.max(pairs.c.id), sa.func.max(pairs.c.round))
        last_pair, last_round = (value or 0 for value in connection.execute(newest).one())
        is_new, bridging = pairs.c.id > snapshot.last_pair, set()
        if (last_pair, last_round) != (snapshot.last_pair, snapshot.last_round):
            before = connection.execute(newest.where(~is_new)).one()
            added = connection.execute(sa.select(pairs.c.first, pairs.c.second, pairs.c.why).where(is_new)).all()
            only_bridging = all(pair.why == RANDOM for pair in added) and store.settings.objective != "random"
            if (before[0] or 0, before[1] or 0) != (snapshot.last_pair, snapshot.last_round) or not only_bridging:
                return False
            bridging = {(pair.first, pair.second) for pair in added}
        rows = new_pair_rows(chosen.pairs, chosen.why, last_round + 1, store.settings)
        rows = [row for row in rows if (row["first"], row["second"]) not in bridging]
        new, again = ([row for row in rows if (row["why"] == REPEATED) == repeated] for repeated in (False, True))
        if new:
            connection.execute(pairs.insert(), new)
        if again:
            names = {"first": "i", "second": "j", "question": "which", "round": "number"}
            connection.execute(sql.ASK_AGAIN, [{name: row[key] for key, name in names.items()} for row in again])
    return True


class Planner:
    """Keeps rounds ahead of the raters: a call plans one if the open pairs would not last until the call after next.

    A cycle is the time to design a round plus the longest recent pause between calls. The lead is the number of pairs
    that raters complete within two cycles, at their recent pace. A round is due when the rater with the fewest open
    pairs has no more than the lead (or a quarter of a round), and it has enough pairs to restore the lead.

    So where people are slow, a round has k pairs, and the model is fitted again for each round. Where they are fast,
    rounds grow, up to `MAX_ROUND_MULTIPLE` times k: four times the pairs take far less than four times as long to
    design, because most of the time goes into the model and the first scan. If people still run out of pairs before a
    round is there, `bridge_if_late` adds random pairs.
    """

    def __init__(self, store: Store, clock: Callable[[], float] = time.monotonic) -> None:
        self.store, self.clock = store, clock
        self.models = [BradleyTerryGP(warm_start=True) for _ in store.settings.questions]
        # The counts at which no pair was left to ask. Planning is tried again once they change.
        self.exhausted_at: tuple[int, ...] | None = None
        self.planning_seconds: float | None = None  # of the last round
        self.design_began: float | None = None  # None while no round is being designed
        self.last_call_ended = clock()
        self.pause_between_calls = 0.0  # in seconds, the longest recent one

    def __call__(self) -> None:
        settings = self.store.settings
        began = self.clock()
        self.pause_between_calls = max(began - self.last_call_ended, 0.9 * self.pause_between_calls)
        cycle = ASSUMED_PLANNING_SECONDS
        if self.planning_seconds is not None:
            cycle = self.planning_seconds + self.pause_between_calls
        lead = 2 * cycle * pace.completed_pairs_per_second(self.store)
        counts = pace.count_pairs(self.store)
        # A new rater may be asked what others answered, so where pairs are asked again every response counts, too.
        current = counts.planned, counts.items, counts.responses if settings.asks_again else 0
        due = counts.open_to_everyone <= max(settings.k // 4, lead) and current != self.exhausted_at
        if due and not goals.is_over(self.store):
            size = settings.k
            if self.planning_seconds is not None:  # an assumed time may start a round early, but not make it larger
                size = min(max(size, math.ceil(lead)), MAX_ROUND_MULTIPLE * settings.k)
            self.design_began = self.clock()
            try:
                planned = plan_round(self.store, size, self.models)
            finally:
                self.design_began = None
            if planned:
                self.exhausted_at, self.planning_seconds = None, self.clock() - began
            else:
                self.exhausted_at = current
        self.last_call_ended = self.clock()

    def bridge_if_late(self) -> None:
        """Add random pairs if a design takes long and people run out of pairs; call this repeatedly during a design.

        Random pairs take no time to choose. They tell less than designed pairs, but more than people who wait.
        """
        began = self.design_began
        if began is None or self.clock() < began + SECONDS_BEFORE_RANDOM_PAIRS or goals.is_over(self.store):
            return
        needed = math.ceil(SECONDS_OF_RANDOM_PAIRS * pace.completed_pairs_per_second(self.store))
        missing = needed - pace.count_pairs(self.store).open_to_everyone
        if missing > 0:
            snapshot = take_snapshot(self.store)
            chosen = next_round(snapshot, replace(self.store.settings, objective="random"), missing)
            if chosen is not None:
                add_round(self.store, chosen, snapshot)
