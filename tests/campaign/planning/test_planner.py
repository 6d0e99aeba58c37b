"""Tests of when rounds are added, and how large they are."""

from collections import Counter

import pytest
import sqlalchemy as sa

from pairsmith.campaign.answering import goals, leases
from pairsmith.campaign.people import invites
from pairsmith.campaign.planning import pace, planner, rounds
from pairsmith.campaign.reporting import dashboard
from pairsmith.campaign.store.schema import DESIGNED, RANDOM, pairs
from pairsmith.campaign.store.snapshot import take_snapshot
from pairsmith.campaign.store.store import Store
from support.campaigns import Clock, answer_next, invite_people


@pytest.mark.slow
@pytest.mark.parametrize("pause", [0.025, 2.0])
def test_raters_who_only_skip_do_not_make_rounds_grow(tmp_path, make, pause):
    clock = Clock()
    store = make(str(tmp_path / "t.db"), n=60, k=10, clock=clock)
    keep_ahead = planner.Planner(store, clock)
    anna, *others = invite_people(store, 4)
    planned = []
    for _ in range(12):
        for person in others:
            for _ in range(12):
                clock.now += pause
                if (lease := leases.next_pair(store, person)) is not None:
                    leases.answer(store, person, lease.token, "skip")
        keep_ahead()
        planned.append(len(take_snapshot(store).planned))
    assert planned[-1] <= 6 * 10  # a round for each of them, and what they outran at first
    assert planned[-6:] == 6 * planned[-1:]  # no more, however long they go on
    # A rater who answers finds pairs, and rounds follow the answers.
    keep_ahead = planner.Planner(store, clock)
    for _ in range(planned[-1]):
        clock.now += 1
        answer_next(store, "left", anna)
        keep_ahead()
    assert leases.next_pair(store, anna) is not None
    assert planned[-1] < len(take_snapshot(store).planned) <= planned[-1] + 3 * 10


def test_rounds_continue_when_most_pairs_are_skipped(tmp_path, make):
    clock = Clock()
    store = make(str(tmp_path / "t.db"), n=40, k=10, clock=clock)
    keep_ahead = planner.Planner(store, clock)
    (anna,) = invite_people(store, 1)
    for turn in range(100):
        clock.now += 10
        answer_next(store, "left" if turn % 4 == 0 else "skip", anna)
        keep_ahead()
    assert dashboard.count(store)["skipped"] == 75
    assert len(take_snapshot(store).planned) <= 100 + 2 * 10


class Crowd:
    """Raters who answer `rate` pairs per second while a design takes `design` seconds, on a simulated clock."""

    def __init__(self, store, clock, monkeypatch, rate, design):
        self.store, self.clock, self.rate = store, clock, rate
        self.asked, self.left, self.idle, self.bridged = [], [], 0, False
        real = planner.plan_round

        def plan(store, size, model):
            self.asked.append(size)
            self.left.append(pace.count_pairs(store).open_to_everyone)
            self.work(design)  # raters continue during the design
            return real(store, size, model)

        monkeypatch.setattr(planner, "plan_round", plan)
        self.keep_ahead = planner.Planner(store, clock)

    def work(self, seconds):
        for turn in range(round(seconds * self.rate)):
            self.clock.now += 1 / self.rate
            if self.bridged and turn % self.rate == 0:
                self.keep_ahead.bridge_if_late()
            lease = leases.next_pair(self.store, invites.local_rater(self.store))
            if lease is None:
                self.idle += 1
            else:
                leases.answer(self.store, invites.local_rater(self.store), lease.token, "left")


def test_rounds_start_early_and_grow_when_raters_are_fast(tmp_path, make, monkeypatch):
    clock = Clock()
    crowd = Crowd(make(str(tmp_path / "t.db"), n=60, k=10, clock=clock), clock, monkeypatch, rate=5, design=8)
    while len(crowd.asked) < 2:
        crowd.work(0.4)
        crowd.keep_ahead()
    assert crowd.asked[0] == 10
    assert crowd.idle > 0  # the pace and the time of a design were not known yet
    crowd.idle = 0
    while len(crowd.asked) < 5:
        crowd.work(0.4)
        crowd.keep_ahead()
    assert crowd.idle == 0
    assert all(5 * 8 < size <= 160 for size in crowd.asked[2:])
    assert all(left >= 5 * 8 for left in crowd.left[2:])


def test_random_pairs_bridge_the_time_when_designs_are_late(tmp_path, make, monkeypatch):
    clock = Clock()
    crowd = Crowd(make(str(tmp_path / "t.db"), n=60, k=10, clock=clock), clock, monkeypatch, rate=5, design=20)
    crowd.bridged = True
    while len(crowd.asked) < 3:
        crowd.work(0.4)
        crowd.keep_ahead()
    assert crowd.idle <= 0.2 * 20 * 5  # of raters who run out within the first two seconds
    with crowd.store.reading() as connection:
        why = Counter(connection.execute(sa.select(pairs.c.why)).scalars())
    assert why[RANDOM] > 0.5 * 2 * 20 * 5
    assert why[DESIGNED] > 0.5 * sum(crowd.asked)  # the designed rounds were added all the same
    planned = take_snapshot(crowd.store).planned
    assert len(set(map(tuple, planned.tolist()))) == len(planned)


def test_no_random_pairs_are_added_when_designs_are_quick_or_nobody_waits(tmp_path, make):
    clock = Clock()
    store = make(str(tmp_path / "t.db"), n=12, k=10, clock=clock)
    keep_ahead = planner.Planner(store, clock)
    for _ in range(10):
        clock.now += 0.1
        answer_next(store)
    keep_ahead.bridge_if_late()  # no design is under way
    keep_ahead.design_began = clock.now
    keep_ahead.bridge_if_late()  # a design has only just begun
    assert len(take_snapshot(store).planned) == 10
    clock.now += planner.SECONDS_BEFORE_RANDOM_PAIRS
    keep_ahead.bridge_if_late()
    bridged = len(take_snapshot(store).planned)
    assert bridged > 10
    keep_ahead.bridge_if_late()  # raters have pairs now
    assert len(take_snapshot(store).planned) == bridged


def test_round_is_added_after_bridging_pairs_but_not_after_designed_ones(target, make):
    store = make(target, n=8, k=5)
    known = take_snapshot(store)
    chosen = rounds.next_round(known, store.settings, 5)
    some = rounds.Round(chosen.pairs[:2], [RANDOM, RANDOM])
    assert planner.add_round(store, some, known)
    assert planner.add_round(store, chosen, known)
    found = take_snapshot(store)
    assert len(found.planned) == 10
    assert found.last_round == 3
    assert len(set(map(tuple, found.planned.tolist()))) == 10
    assert not planner.add_round(store, chosen, known)  # designed pairs were added since


def test_rounds_keep_their_size_when_raters_are_slow(target, make, monkeypatch):
    clock = Clock()
    crowd = Crowd(make(target, n=12, k=10, clock=clock), clock, monkeypatch, rate=0.1, design=5)
    while len(crowd.asked) < 3:
        crowd.work(10)
        crowd.keep_ahead()
    assert crowd.asked == [10, 10, 10]
    assert crowd.left == [2, 2, 2]  # a quarter of k pairs
    assert crowd.idle == 0


def test_round_size_stays_within_its_bounds(tmp_path, make, monkeypatch):
    clock = Clock()
    crowd = Crowd(make(str(tmp_path / "t.db"), n=12, k=2, clock=clock), clock, monkeypatch, rate=50, design=4)
    for _ in range(20):
        crowd.work(0.2)
        crowd.keep_ahead()
    assert max(crowd.asked) == 2 * planner.MAX_ROUND_MULTIPLE
    assert len(take_snapshot(crowd.store).planned) == 66  # all pairs, each once
    assert len(set(map(tuple, take_snapshot(crowd.store).planned))) == 66


def test_two_planners_do_not_add_the_same_round(target, make):
    store = make(target)
    other = Store(target)
    known = take_snapshot(store)
    chosen = rounds.next_round(known, store.settings, 5)
    assert planner.add_round(other, chosen, known)
    assert not planner.add_round(store, chosen, known)
    assert len(take_snapshot(store).planned) == 15
    other.close()


def answer_until_nothing_comes(store, keep_ahead, people_at_work):
    """Let raters answer in turn until two planner calls bring no pair; return how many answers each rater gave."""
    given, idle = Counter(), 0
    while idle < 2:
        found = False
        for person in people_at_work:
            if (lease := leases.next_pair(store, person)) is not None:
                leases.answer(store, person, lease.token, "left")
                given[person] += 1
                found = True
        keep_ahead()
        idle = 0 if found else idle + 1
    return [given[person] for person in people_at_work]


def test_one_rater_can_continue_when_each_pair_wants_three_answers(target, make):
    """14 items, k = 5: this campaign once stalled after 21 of 91 answers."""
    clock = Clock()
    store = make(target, n=14, k=5, answers_per_pair=3, objective="d-optimal", clock=clock)
    (anna,) = invite_people(store, 1)
    assert answer_until_nothing_comes(store, planner.Planner(store, clock), [anna]) == [91]
    assert goals.ending(store, anna) == "yours"
    # A later rater completes the pairs that the first one began, the oldest first.
    (ben,) = (invites.person_with_token(store, invites.invite(store, "ben"), "rater"),)
    assert answer_until_nothing_comes(store, planner.Planner(store, clock), [ben]) == [91]


def test_raters_can_continue_after_another_is_revoked(target, make):
    clock = Clock()
    store = make(target, n=9, k=6, answers_per_pair=3, objective="d-optimal", clock=clock)
    three = invite_people(store, 3)
    for _ in range(4):
        for person in three:
            answer_next(store, "left", person)
    leases.next_pair(store, three[2])  # she leaves while holding a pair
    invites.revoke(store, "p2")
    assert answer_until_nothing_comes(store, planner.Planner(store, clock), three[:2]) == [32, 32]
    assert len(take_snapshot(store).planned) == 36


def test_rounds_keep_pace_with_raters_who_all_answer_each_pair(tmp_path, make):
    """Three raters in turn, three answers per pair: the next round comes when a quarter of the last is left."""
    clock = Clock()
    store = make(str(tmp_path / "t.db"), n=20, k=12, answers_per_pair=3, objective="d-optimal", clock=clock)
    keep_ahead = planner.Planner(store, clock)
    three = invite_people(store, 3)
    for turn in range(1, 40):
        for person in three:
            clock.now += 30
            answer_next(store, "left", person)
        keep_ahead()
        assert turn + 3 <= len(take_snapshot(store).planned) <= turn + 3 + 12
