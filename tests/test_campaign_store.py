"""Pairs handed out, answers counted, databases that are broken."""

import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import httpx2 as httpx
import numpy as np
import pandas as pd
import pytest
import sqlalchemy as sa

import pairsmith as ps
from conftest import items_of
from oracle import assert_greedy
from pairsmith.campaign import database, rounds
from pairsmith.campaign.create import create
from pairsmith.campaign.database import CampaignError
from pairsmith.campaign.report import LITTLE, advise
from pairsmith.campaign.report import make as report_on
from pairsmith.campaign.store import AT_ONCE, Gone, Refused, Store


class Clock:
    now = 1_700_000_000.0

    def __call__(self):
        return self.now


def people(store, count):
    return [store.person(store.invite(f"p{at}"), "labeller") for at in range(count)]


def test_each_pair_is_answered_as_often_as_asked_and_never_twice_by_one_person(target, make):
    store = make(target, answers=3, k=6)
    five = people(store, 5)
    seen = {person: [] for person in five}
    while any(free := [(person, lease) for person in five if (lease := store.next(person))]):
        for person, lease in free:
            seen[person].append(frozenset((lease.left, lease.right)))
            assert store.answer(person, lease.token, "left", 0.5)
    given = Counter(pair for pairs in seen.values() for pair in pairs)
    assert sorted(given.values()) == [3] * 6
    assert all(len(set(pairs)) == len(pairs) for pairs in seen.values())
    assert store.free() == (0, 6)
    assert len(store.known().answers) == 18


def test_a_pair_is_leased_to_one_person_and_returns_when_abandoned(target, make):
    clock = Clock()
    store = make(target, n=3, k=1, clock=clock, lease=60.0)
    anna, ben = people(store, 2)
    hers = store.next(anna)
    assert store.next(ben) is None
    clock.now += 59
    assert store.next(ben) is None
    clock.now += 2
    his = store.next(ben)
    assert {his.left, his.right} == {hers.left, hers.right}
    with pytest.raises(Refused, match="went to somebody else"):
        store.answer(anna, hers.token, "left")
    assert store.answer(ben, his.token, "left")
    assert len(store.known().answers) == 1


def test_a_late_answer_counts_where_nobody_else_has_the_pair(target, make):
    clock = Clock()
    store = make(target, n=3, k=1, clock=clock, lease=60.0)
    (anna,) = people(store, 1)
    lease = store.next(anna)
    clock.now += 1000
    again = store.next(anna)
    assert again.token == lease.token  # taken up again, so that nobody can answer one pair twice
    clock.now += 1000
    assert store.answer(anna, lease.token, "right")
    assert not store.answer(anna, again.token, "right")


def test_pairs_held_are_given_again_and_are_few(target, make):
    store = make(target)
    (anna,) = people(store, 1)
    first = store.next(anna)
    assert store.next(anna) == first
    held = [first]
    while (lease := store.next(anna, [lease.token for lease in held])) is not None:
        held.append(lease)
    assert len(held) == AT_ONCE
    assert len({lease.token for lease in held}) == AT_ONCE


def test_answering_twice_counts_once_and_what_was_not_shown_is_refused(target, make):
    store = make(target)
    anna, ben = people(store, 2)
    lease = store.next(anna)
    assert store.answer(anna, lease.token, "left", 1.25)
    assert not store.answer(anna, lease.token, "right")
    for person, token in ((ben, lease.token), (anna, "made-up")):
        with pytest.raises(Refused, match="not shown to you"):
            store.answer(person, token, "left")
    (answer,) = store.known().answers.itertuples()
    winner = answer.first if answer.outcome > 0 else answer.second
    assert winner == lease.left == answer.left
    assert answer.seconds == 1.25


def test_undo_is_recorded_not_erased(target, make):
    store = make(target)
    anna, ben = people(store, 2)
    one = store.next(anna)
    store.answer(anna, one.token, "left")
    two = store.next(anna)
    store.answer(anna, two.token, "skip")
    with pytest.raises(Refused, match="only the last"):
        store.undo(anna, one.token)
    with pytest.raises(Refused, match="not shown"):
        store.undo(ben, two.token)
    for lease in (two, one):  # back and back
        assert store.progress(anna)["undo"] == lease.token
        again = store.undo(anna, lease.token)
        assert store.undo(anna, lease.token) == again  # a double click
        assert (again.left, again.right) == (lease.left, lease.right)
        with pytest.raises(Refused, match="taken back"):
            store.answer(anna, lease.token, "left")
    assert store.next(anna) == again  # before anything else
    assert len(store.known().answers) == 0
    assert store.tally()["undone"] == 2
    assert store.answer(anna, again.token, "right")
    (answer,) = store.known().answers.itertuples()
    assert {answer.first, answer.second} == {one.left, one.right}
    with store._reading() as connection:
        kept = connection.execute(sa.select(sa.func.count()).select_from(database.answers)).scalar_one()
    assert kept == 3


def test_an_old_tab_cannot_undo_what_was_answered_again(target, make):
    store = make(target)
    lease = store.next(store.local)
    store.answer(store.local, lease.token, "left")
    again = store.undo(store.local, lease.token)
    assert store.undo(store.local, lease.token) == again  # a retry
    store.answer(store.local, again.token, "right")
    with pytest.raises(Refused, match="only the last answer") as refused:
        store.undo(store.local, lease.token)
    assert refused.value.status == 409


def test_skipped_pairs_go_to_others_only(target, make):
    store = make(target, n=3, k=1)
    anna, ben = people(store, 2)
    lease = store.next(anna)
    store.answer(anna, lease.token, "skip")
    assert store.next(anna) is None
    assert store.next(ben) is not None


def test_what_is_skipped_does_not_keep_the_next_round_from_being_planned(target, make):
    store = make(target, n=8, k=8)
    for _ in range(8):
        store.answer(store.local, store.next(store.local).token, "skip")
    assert store.free() == (0, 8)
    assert store.progress(store.local)["wanted"] == 8  # others may answer them
    lease = store.undo(store.local, store.progress(store.local)["undo"])
    assert store.free() == (0, 8)  # it is shown again
    store.answer(store.local, lease.token, "left")
    assert store.free() == (0, 8)


@pytest.mark.parametrize("pause", [0.025, 2.0])
def test_people_who_only_skip_do_not_make_rounds_grow(target, make, pause):
    clock = Clock()
    store = make(target, n=60, k=10, clock=clock)
    keep_ahead = rounds.Planner(store, clock)
    anna, *others = people(store, 4)
    planned = []
    for _ in range(12):
        for person in others:
            for _ in range(12):
                clock.now += pause
                if (lease := store.next(person)) is not None:
                    store.answer(person, lease.token, "skip")
        keep_ahead()
        planned.append(len(store.known().planned))
    assert planned[-1] <= 6 * 10  # a round for each of them, and what they outran at first
    assert planned[-6:] == 6 * planned[-1:]  # no more, however long they go on
    # Who answers finds pairs, and rounds go on with the answers.
    keep_ahead = rounds.Planner(store, clock)
    for _ in range(planned[-1]):
        clock.now += 1
        store.answer(anna, store.next(anna).token, "left")
        keep_ahead()
    assert store.next(anna) is not None
    assert planned[-1] < len(store.known().planned) <= planned[-1] + 3 * 10


def test_rounds_go_on_where_most_pairs_cannot_be_answered(target, make):
    clock = Clock()
    store = make(target, n=40, k=10, clock=clock)
    keep_ahead = rounds.Planner(store, clock)
    (anna,) = people(store, 1)
    for turn in range(100):
        clock.now += 10
        store.answer(anna, store.next(anna).token, "left" if turn % 4 == 0 else "skip")
        keep_ahead()
    assert store.tally()["skipped"] == 75
    assert len(store.known().planned) <= 100 + 2 * 10


def test_one_person_may_be_asked_again_where_the_campaign_says_so(target, make):
    store = make(target, n=4, k=3, answers=2, repeats=True)
    (anna,) = people(store, 1)
    asked = []
    while (lease := store.next(anna)) is not None:
        asked.append(frozenset((lease.left, lease.right)))
        store.answer(anna, lease.token, "left")
    assert Counter(asked) == dict.fromkeys(asked, 2)
    assert len(set(asked[:3])) == 3  # all once before any twice


def test_sides_are_balanced_and_recorded(target, make):
    store = make(target, n=8, k=28)
    (anna,) = people(store, 1)
    left, right = Counter(), Counter()
    while (lease := store.next(anna)) is not None:
        left[lease.left] += 1
        right[lease.right] += 1
        store.answer(anna, lease.token, "tie")
    assert all(abs(left[item] - right[item]) <= 3 for item in range(8))
    assert Counter(store.known().answers["left"]) == left


def test_ties_only_where_allowed(target, make):
    store = make(target, ties=False)
    (anna,) = people(store, 1)
    lease = store.next(anna)
    with pytest.raises(Refused, match="no ties"):
        store.answer(anna, lease.token, "tie")
    assert store.answer(anna, lease.token, "left")


def test_tokens_are_hashed_revocable_and_of_one_role(target, make):
    store = make(target)
    token = store.invite("anna")
    assert store.person(token, "labeller") is not None
    assert store.person(token, "organiser") is None
    assert store.person(token[:-1], "labeller") is None
    with pytest.raises(CampaignError, match="has an invite already"):
        store.invite("anna")
    with store._reading() as connection:
        for table in database.tables.sorted_tables:
            assert token not in str(connection.execute(sa.select(table)).all())
    held = store.next(store.person(token, "labeller"))
    assert store.revoke("anna") == 1
    assert store.person(token, "labeller") is None
    (ben,) = people(store, 1)
    assert {store.next(ben).left} <= {held.left, held.right}  # her pair is free at once
    assert store.person(store.invite("anna"), "labeller") is not None


# Rounds


def test_rounds_are_greedy_given_everything_asked(target, make):
    store = make(target, n=10, d=3, k=5, objective="d-optimal")
    assert rounds.plan(store)
    known = store.known()
    X = known.features.to_numpy()
    assert len(known.planned) == 10
    first, second = known.planned[:5], known.planned[5:]
    every = np.column_stack(np.triu_indices(10, 1))
    ridge = ps.select(X, 1).ridge
    for done, chosen in ((np.zeros((0, 2), int), first), (first, second)):
        left = [tuple(pair) for pair in every if tuple(pair) not in set(map(tuple, done))]
        picked = ps.select(X, 5, comparisons=done, ridge=ridge)
        assert [tuple(pair) for pair in chosen] == [tuple(pair) for pair in picked.pairs]
        assert_greedy(picked, X, left, ridge, [], [tuple(pair) for pair in done])


def test_rounds_follow_the_model_and_end_with_the_pairs(target, make):
    store = make(target, n=6, k=10)
    (anna,) = people(store, 1)
    while (lease := store.next(anna)) is not None:
        store.answer(anna, lease.token, "left" if lease.left < lease.right else "right")
    known = store.known()
    chosen = rounds.design(known, 3, "averaged-d-optimal")
    assert chosen.objective == "averaged-d-optimal"
    expected = ps.select(
        known.features.to_numpy(),
        3,
        objective="averaged-d-optimal",
        model=rounds.learn(known),
        comparisons=known.planned,
    )
    assert np.array_equal(chosen.pairs, expected.pairs)
    assert rounds.plan(store)
    assert len(store.known().planned) == 15
    assert not rounds.plan(store)


def test_labels_alone_give_a_ranking(target, make):
    store = make(target, labels=(np.array([0, 1, 2]), np.array([1, -1, 1])))
    report = report_on(store.known())
    assert (report["answers"], report["curve"], report["people"]) == (0, [], [])
    assert len(report["ranking"]) == 12


def test_groups_caps_and_labels_hold_in_every_round(target):
    items = items_of(12)
    groups = np.array(["a", "b", "c"] * 4, dtype=object)
    grouped = type(items)(items.path, items.features, groups)
    labels = np.array([0, 1, 2]), np.array([1, -1, 1])
    shown = [[("text", "x")]] * 12
    create(target, grouped, shown, question="?", k=4, labels=labels, max_per_item=1)
    store = Store(target)
    rounds.plan(store)
    known = store.known()
    assert known.labeled.tolist() == [0, 1, 2]
    assert known.labels.tolist() == [1, -1, 1]
    assert len(known.planned) == 8
    assert all(groups[i] == groups[j] for i, j in known.planned)
    for batch in (known.planned[:4], known.planned[4:]):
        assert max(Counter(batch.ravel().tolist()).values()) == 1
    rounds.plan(store, 50)  # because people are fast: the cap holds all the same
    batch = store.known().planned[8:]
    assert 4 < len(batch) <= 6
    assert all(groups[i] == groups[j] for i, j in batch)
    assert max(Counter(batch.ravel().tolist()).values()) == 1
    store.close()


class Crowd:
    """People who answer so many pairs a second while designs take so many seconds, on a clock of their own."""

    def __init__(self, store, clock, monkeypatch, rate, design):
        self.store, self.clock, self.rate = store, clock, rate
        self.asked, self.left, self.idle = [], [], 0
        real = rounds.plan

        def plan(store, size):
            self.asked.append(size)
            self.left.append(store.free()[0])
            self.work(design)  # they go on meanwhile
            return real(store, size)

        monkeypatch.setattr(rounds, "plan", plan)
        self.keep_ahead = rounds.Planner(store, clock)

    def work(self, seconds):
        for _ in range(round(seconds * self.rate)):
            self.clock.now += 1 / self.rate
            lease = self.store.next(self.store.local)
            if lease is None:
                self.idle += 1
            else:
                self.store.answer(self.store.local, lease.token, "left")


def test_rounds_begin_early_and_grow_where_people_are_fast(target, make, monkeypatch):
    clock = Clock()
    crowd = Crowd(make(target, n=60, k=10, clock=clock), clock, monkeypatch, rate=5, design=8)
    while len(crowd.asked) < 2:
        crowd.work(0.4)
        crowd.keep_ahead()
    assert crowd.asked[0] == 10
    assert crowd.idle > 0  # nobody could know how fast they are and how long a design takes
    crowd.idle = 0
    while len(crowd.asked) < 5:
        crowd.work(0.4)
        crowd.keep_ahead()
    assert crowd.idle == 0
    assert all(5 * 8 < size <= 160 for size in crowd.asked[2:])
    assert all(left >= 5 * 8 for left in crowd.left[2:])


def test_rounds_keep_their_size_where_people_are_slow(target, make, monkeypatch):
    clock = Clock()
    crowd = Crowd(make(target, n=12, k=10, clock=clock), clock, monkeypatch, rate=0.1, design=5)
    while len(crowd.asked) < 3:
        crowd.work(10)
        crowd.keep_ahead()
    assert crowd.asked == [10, 10, 10]
    assert crowd.left == [2, 2, 2]  # of k pairs a quarter
    assert crowd.idle == 0


def test_a_round_never_outgrows_its_bounds(target, make, monkeypatch):
    clock = Clock()
    crowd = Crowd(make(target, n=12, k=2, clock=clock), clock, monkeypatch, rate=50, design=4)
    for _ in range(20):
        crowd.work(0.2)
        crowd.keep_ahead()
    assert max(crowd.asked) == 2 * rounds.LARGEST
    assert len(crowd.store.known().planned) == 66  # all there are, each once
    assert len(set(map(tuple, crowd.store.known().planned))) == 66


def test_the_rate_is_that_of_people_at_work(target, make):
    clock = Clock()
    store = make(target, n=20, k=80, clock=clock)
    assert store.rate() == 0
    store.take(pd.DataFrame({"first": 0, "second": range(1, 9), "outcome": 1, "left": 0, "labeller": "x",
                             "seconds": np.nan, "at": np.nan}))  # fmt: skip
    assert store.rate() == 0
    rng = np.random.default_rng(0)
    for turn in range(60):
        store.answer(store.local, store.next(store.local).token, "left")
        clock.now += rng.exponential(1 / 5)
        if turn % 10 == 0:
            clock.now += 5  # there was no pair for a while
    assert store.rate() == pytest.approx(5, rel=0.3)
    clock.now += 60
    assert store.rate() == 0


def test_two_planners_do_not_plan_the_same(target, make):
    store = make(target)
    other = Store(target)
    known = store.known()
    chosen = rounds.design(known, 5, "d-optimal")
    assert other.add_round(chosen.pairs, known.last_pair)
    assert not store.add_round(chosen.pairs, known.last_pair)
    assert len(store.known().planned) == 15
    other.close()


# What the dashboard shows


def answered(store, count, truth, rng=None, labeller="anna"):
    """`count` more answers of this labeller, of pairs in the order planned, as `truth` (with noise: rng) has them."""
    done = int((store.known().answers["labeller"] == labeller).sum())
    while len(store.known().planned) < done + count:
        assert rounds.plan(store)
    pairs = store.known().planned[done : done + count]
    gap = truth[pairs[:, 0]] - truth[pairs[:, 1]]
    better = gap > 0 if rng is None else rng.random(count) < 1 / (1 + np.exp(-gap))
    given = pd.DataFrame({"first": pairs[:, 0], "second": pairs[:, 1], "outcome": np.where(better, 1, -1)})
    at = (1_700_000_000 + np.arange(done, done + count)) * 1_000_000
    assert store.take(given.assign(left=pairs[:, 0], labeller=labeller, seconds=2.0, at=at)) == count


def test_the_report_against_what_is_known(tmp_path, make):
    store = make(str(tmp_path / "t.db"), n=20, d=4, k=20, answers=2)
    truth = store.known().features.to_numpy() @ np.array([3.0, -2.0, 1.0, 0.5])
    answered(store, 20, truth)
    answered(store, 10, truth, labeller="ben")
    answered(store, 10, -truth, labeller="ben")  # half of his answers are the other way round
    report = report_on(store.known())
    assert report["answers"] == 40
    rows = {row["name"]: row for row in report["people"]}
    assert (rows["anna"]["answers"], rows["ben"]["answers"]) == (20, 20)
    assert rows["anna"]["agrees_on_repeated"] == rows["ben"]["agrees_on_repeated"] == 0.5
    assert rows["anna"]["seconds"] == 2.0
    assert rows["anna"]["agrees_with_model"] > rows["ben"]["agrees_with_model"]
    scores = [row[1] for row in report["ranking"]]
    assert scores == sorted(scores, reverse=True)
    assert {row[0] for row in report["ranking"]} == set(store.names)
    # log det by brute force
    X = store.known().features.to_numpy()
    pairs = {tuple(pair) for pair in store.known().answers[["first", "second"]].to_numpy()}
    D = np.array([X[i] - X[j] for i, j in pairs])
    ridge = ps.select(X, 1).ridge
    gained = np.linalg.slogdet(ridge * np.eye(4) + D.T @ D)[1] - 4 * np.log(ridge)
    assert report["curve"][-1]["gained"] == pytest.approx(gained, abs=1e-3)
    assert report["curve"][-1]["gained"] > report["curve"][-1]["random"]


def test_held_out_auc_rises_with_honest_answers_and_not_with_noise(tmp_path, make):
    found = []
    for name, rng in (("honest", None), ("noise", np.random.default_rng(0))):
        store = make(str(tmp_path / f"{name}.db"), n=40, d=3, k=40)
        X = store.known().features.to_numpy()
        answered(store, 160, X @ [2.0, -1.0, 1.0] * (0.0 if rng else 1.0), rng)
        found.append(report_on(store.known())["curve"][-1]["auc"])
    assert found[0] > 0.9
    assert 0.25 < found[1] < 0.75


def test_stop_advice(tmp_path, make):
    store = make(str(tmp_path / "t.db"), n=30, d=2, k=30)
    X = store.known().features.to_numpy()
    truth = X @ [4.0, -3.0]
    answered(store, 20, truth)
    assert not report_on(store.known())["advice"]["stop"]
    assert "early" in report_on(store.known())["advice"]["text"]
    answered(store, 400, truth)
    report = report_on(store.known())
    assert report["advice"]["stop"]
    falling = [{"answers": mark, "doubt": 0.4 - mark / 400} for mark in range(10, 101, 10)]
    assert not advise(falling)["stop"]
    flat = [{"answers": mark, "doubt": 0.2 - LITTLE * mark / 100} for mark in range(10, 101, 10)]
    assert advise(flat)["stop"]


# Databases in trouble: one line, and no harm


def unharmed(path, what):
    before = Path(path).read_bytes()
    with pytest.raises(CampaignError, match=what) as caught:
        Store(str(path))
    assert "\n" not in str(caught.value)
    assert Path(path).read_bytes() == before


def test_what_is_no_campaign_is_refused_and_left_alone(tmp_path):
    with pytest.raises(CampaignError, match="no such campaign"):
        Store(str(tmp_path / "nothing.db"))
    assert not (tmp_path / "nothing.db").exists()
    (tmp_path / "text.db").write_text("id,f\n1,2\n")
    unharmed(tmp_path / "text.db", "no campaign")
    (tmp_path / "empty.db").write_bytes(b"")
    unharmed(tmp_path / "empty.db", "no campaign")
    with sqlite3.connect(tmp_path / "other.db") as other:
        other.execute("CREATE TABLE campaign (id, version, settings)")
    other.close()
    unharmed(tmp_path / "other.db", "no campaign")
    with pytest.raises(CampaignError, match="folder"):
        Store(str(tmp_path))


def test_a_damaged_file_is_refused_and_left_alone(tmp_path, make):
    path = tmp_path / "t.db"
    make(str(path), n=200, d=20).close()
    content = bytearray(path.read_bytes())
    content[4096 * 3 :] = os.urandom(len(content) - 4096 * 3)
    path.write_bytes(content)
    unharmed(path, "damaged|no campaign")


def test_a_newer_version_is_refused_and_left_alone(target, make):
    store = make(target)
    with store._writing() as connection:
        connection.execute(sa.update(database.campaign).values(version=99))
    store.close()
    with pytest.raises(CampaignError, match="newer pairsmith"):
        Store(target)


def test_an_older_version_is_migrated_whole_or_not_at_all(target, make, monkeypatch):
    store = make(target)
    lease = store.next(store.local)
    store.answer(store.local, lease.token, "left")
    store.close()

    def note(connection):
        connection.exec_driver_sql("ALTER TABLE answers ADD COLUMN note TEXT")

    def fail(connection):
        raise CampaignError("no")

    now, steps = database.VERSION, database.MIGRATIONS
    monkeypatch.setattr(database, "VERSION", now + 2)
    monkeypatch.setattr(database, "MIGRATIONS", [*steps, note, fail])
    with pytest.raises(CampaignError, match="no"):
        Store(target)
    monkeypatch.setattr(database, "VERSION", now + 1)
    monkeypatch.setattr(database, "MIGRATIONS", [*steps, note])
    for _ in range(2):  # the second time there is nothing to do
        store = Store(target)
        with store._reading() as connection:
            assert connection.exec_driver_sql("SELECT note FROM answers").all() == [(None,)]
            assert connection.execute(sa.select(database.campaign.c.version)).scalar_one() == now + 1
        assert len(store.known().answers) == 1
        store.close()


def test_a_locked_file_says_so(tmp_path, make, monkeypatch):
    monkeypatch.setattr(database, "_PATIENCE", 0.2)
    store = make(str(tmp_path / "t.db"))
    person = store.local
    lease = store.next(person)
    blocker = sqlite3.connect(tmp_path / "t.db", isolation_level=None)
    blocker.execute("BEGIN IMMEDIATE")
    with pytest.raises(CampaignError, match="locked by another program"):
        store.answer(person, lease.token, "left")
    blocker.execute("ROLLBACK")
    blocker.close()
    assert store.answer(person, lease.token, "left")


def test_a_full_disk_says_so_and_loses_nothing(tmp_path, make):
    store = make(str(tmp_path / "t.db"), n=40, k=300)
    person = store.local
    sa.event.listen(store.engine, "begin", lambda c: c.exec_driver_sql("PRAGMA max_page_count=1"))  # as small as it is
    acknowledged = 0

    def label_on():
        nonlocal acknowledged
        while True:
            store.answer(person, store.next(person).token, "left")
            acknowledged += 1

    with pytest.raises(CampaignError, match="disk is full"):
        label_on()
    store.close()
    with_room = Store(str(tmp_path / "t.db"))
    assert len(with_room.known().answers) == acknowledged > 0
    with_room.close()


def test_a_read_only_file_says_so(make):
    folder = Path(tempfile.mkdtemp())
    make(str(folder / "t.db")).close()
    (folder / "t.db").chmod(0o444)
    folder.chmod(0o555)
    root = os.geteuid() == 0
    if root:  # root may write everywhere: be nobody for a moment
        os.seteuid(65534)
    try:
        unharmed(folder / "t.db", "cannot be written to")
        assert len(Store(str(folder / "t.db"), changes=False).known().planned) == 10
    finally:
        if root:
            os.seteuid(0)
        folder.chmod(0o755)
        shutil.rmtree(folder)


def test_an_unreachable_postgresql_is_one_line_without_the_password():
    with pytest.raises(CampaignError) as caught:
        Store("postgresql://me:secret@127.0.0.1:1/nothing")
    assert "secret" not in str(caught.value)
    assert "\n" not in str(caught.value)
    with pytest.raises(CampaignError, match="no PostgreSQL URL"):
        Store("postgresql://me:secret@host:port/nothing")


def test_creation_is_whole_or_not_at_all(target, make, tmp_path, monkeypatch):
    items = items_of()
    shown = [[("text", "x")]] * 12
    with pytest.raises(ValueError, match="question is empty"):
        create(target, items, shown, question=" ", k=3)
    monkeypatch.setattr("pairsmith.campaign.create.planned_rows", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        create(target, items, shown, question="?", k=3)
    monkeypatch.undo()
    assert list(tmp_path.iterdir()) == []
    if "postgresql" not in target:  # and where somebody was faster, theirs stays
        made = database.create
        monkeypatch.setattr(database, "create", lambda *given: (made(*given), Path(target).write_text("theirs")))
        with pytest.raises(CampaignError, match="exists already"):
            create(target, items, shown, question="?", k=3)
        monkeypatch.undo()
        assert Path(target).read_text() == "theirs"
        Path(target).unlink()
        assert list(tmp_path.iterdir()) == []
    make(target)
    with pytest.raises(CampaignError, match="already"):
        create(target, items, shown, question="?", k=3)


def test_known_reads_back_what_was_put_in(target, make):
    store = make(target)
    pd.testing.assert_frame_equal(store.known().features, items_of().features)


# The tables of version 1, which had no constraint on pairs.
VERSION_1 = """
CREATE TABLE campaign (id {key}, version INTEGER NOT NULL, settings JSON NOT NULL);
CREATE TABLE items (row INTEGER NOT NULL PRIMARY KEY, name TEXT NOT NULL UNIQUE, features {bytes} NOT NULL,
  grouped TEXT, label JSON, parts JSON NOT NULL, lean INTEGER NOT NULL);
CREATE TABLE pairs (id {key}, "first" INTEGER NOT NULL REFERENCES items (row),
  "second" INTEGER NOT NULL REFERENCES items (row), round INTEGER NOT NULL, wanted INTEGER NOT NULL,
  UNIQUE ("first", "second"));
CREATE INDEX pairs_wanted ON pairs (id) WHERE wanted > 0;
CREATE TABLE people (id {key}, name TEXT NOT NULL, role TEXT NOT NULL, hash TEXT UNIQUE, UNIQUE (name, role));
CREATE TABLE leases (id {key}, token TEXT NOT NULL UNIQUE, pair INTEGER NOT NULL REFERENCES pairs (id),
  person INTEGER NOT NULL REFERENCES people (id), "left" INTEGER NOT NULL REFERENCES items (row), state TEXT NOT NULL,
  again BOOLEAN NOT NULL, expires BIGINT NOT NULL);
CREATE INDEX ix_leases_pair ON leases (pair);
CREATE INDEX leases_state ON leases (state, person);
CREATE TABLE answers (id {key}, lease INTEGER NOT NULL UNIQUE REFERENCES leases (id), outcome INTEGER,
  milliseconds INTEGER, at BIGINT NOT NULL);
CREATE TABLE undos (answer INTEGER NOT NULL PRIMARY KEY REFERENCES answers (id), at BIGINT NOT NULL);
CREATE TABLE reports (name TEXT NOT NULL PRIMARY KEY, content JSON NOT NULL)
"""


def version_1(target, given, wanted=1):
    """A campaign of version 1 with four items, the pair (0, 1) planned, and answers (first, second, outcome, left)."""
    settings = {"question": "?", "instructions": "", "k": 2, "answers": wanted, "ties": True, "repeats": False,
                "max_per_item": None, "objective": "d-optimal", "lease": 600.0, "features": ["f"],
                "grouped": False}  # fmt: skip
    engine = database.connect(target)
    sqlite = engine.dialect.name == "sqlite"
    names = {"key": "INTEGER NOT NULL PRIMARY KEY" if sqlite else "SERIAL PRIMARY KEY",
             "bytes": "BLOB" if sqlite else "BYTEA"}  # fmt: skip
    with engine.execution_options(write=True).begin() as connection:
        for statement in VERSION_1.format(**names).split(";\n"):
            connection.exec_driver_sql(statement)

        def put(statement, **values):
            connection.execute(sa.text(statement), values)

        put("INSERT INTO campaign VALUES (1, 1, :settings)", settings=json.dumps(settings))
        for row, name in enumerate("xyzw"):
            put("INSERT INTO items VALUES (:row, :name, :features, NULL, NULL, '[]', 0)",
                row=row, name=name, features=np.array([row * row], dtype="<f8").tobytes())  # fmt: skip
        put("INSERT INTO people (name, role) VALUES ('imported', 'labeller')")
        numbers = {}
        for pair in dict.fromkeys([(0, 1), *((first, second) for first, second, _, _ in given)]):
            numbers[pair] = len(numbers) + 1
            left = wanted - sum(row[:2] == pair for row in given)
            put('INSERT INTO pairs ("first", "second", round, wanted) VALUES (:first, :second, 1, :wanted)',
                first=pair[0], second=pair[1], wanted=left)  # fmt: skip
        for at, (first, second, outcome, left) in enumerate(given, 1):
            put('INSERT INTO leases (token, pair, person, "left", state, again, expires)'
                " VALUES (:token, :pair, 1, :left, 'answered', :again, 0)",
                token=f"t{at}", pair=numbers[first, second], left=left, again=False)  # fmt: skip
            put("INSERT INTO answers (lease, outcome, at) VALUES (:at, :outcome, :at)", at=at, outcome=outcome)
        if sqlite:
            connection.exec_driver_sql(f"PRAGMA application_id={database.APPLICATION}")
    engine.dispose()


def given_to(store):
    found = store.known().answers
    return sorted(zip(found["first"], found["second"], found["outcome"], found["left"], strict=True))


def test_a_pair_of_an_item_with_itself_has_no_place(target, make, tmp_path):
    made = make(target)
    version_1(str(tmp_path / "old.db"), [(0, 1, 1, 0)])
    old = Store(str(tmp_path / "old.db"))
    if "postgresql" in target:
        old.close()
        with made._writing() as connection:
            connection.exec_driver_sql("ALTER TABLE pairs DROP CONSTRAINT pairs_differ")
            database.MIGRATIONS[0](connection)
        old = made
    for store in (made, old):
        before = len(store.known().answers)
        for first, second in ((1, 1), (2, 1)):
            wrong = pd.DataFrame(
                {"first": [first], "second": [second], "outcome": [1], "left": [1], "labeller": ["a"],
                 "seconds": [np.nan], "at": [np.nan]}
            )  # fmt: skip
            with pytest.raises(CampaignError, match="pairs_differ"):
                store.take(wrong)
        with pytest.raises(CampaignError, match="pairs_differ"), store._writing() as connection:
            connection.execute(database.pairs.update().values(second=database.pairs.c.first))
        assert len(store.known().answers) == before
    old.close()


def test_answers_that_an_old_import_mangled_are_restored_or_set_aside(target):
    """Version 1 stored z, y as y, y, with the outcome seen from y; what was shown left may tell the rest."""
    sound = [(0, 1, 1, 1), (0, 2, -1, 0)]
    restorable = [(1, 1, -1, 2), (1, 1, 1, 3), (1, 1, 1, 3), (0, 0, 0, 1)]
    lost = [(1, 1, -1, 1), (2, 2, 1, 2)]
    version_1(target, [*sound, *restorable, *lost], wanted=9)
    store = Store(target)  # the migration does not mind
    for refused in (store.known, lambda: rounds.plan(store)):
        with pytest.raises(CampaignError, match=r"holds 6 answers .* pairsmith campaign repair"):
            refused()
    mangled = [(lease.left, lease.right) for lease in (store.next(store.local),) if lease]
    assert mangled in ([(0, 1)], [(1, 0)])  # what is mangled is not asked
    assert store.repair() == (4, 2)
    expected = sorted([*sound, (1, 2, -1, 2), (1, 3, 1, 3), (1, 3, 1, 3), (0, 1, 0, 1)])
    assert given_to(store) == expected
    assert store.repair() == (0, 0)
    assert store.tally()["undone"] == 2
    with store._reading() as connection:
        assert connection.execute(sa.select(sa.func.count()).select_from(database.answers)).scalar_one() == 8
        found = connection.execute(sa.select(database.pairs)).all()
    wanted = {(row.first, row.second): row.wanted for row in found if row.wanted}
    assert wanted == {(0, 1): 7, (0, 2): 8, (1, 2): 8, (1, 3): 7}
    for token in ("t7", "t8"):
        with pytest.raises(Refused, match="only the last answer"):
            store.undo(1, token)
    assert rounds.plan(store)
    store.close()
    with Store(target) as again:
        assert given_to(again) == expected
        assert {tuple(pair) for pair in again.known().planned} >= {(0, 1), (0, 2), (1, 2), (1, 3)}
        assert all(first < second for first, second in again.known().planned)


def answers_of(pairs, **columns):
    first, second = np.array(pairs).T
    usual = {"outcome": 1, "left": first, "labeller": "anna", "seconds": np.nan, "at": np.nan}
    return pd.DataFrame({"first": first, "second": second, **usual, **columns})


def test_one_file_imported_by_two_at_once_counts_once(target, make, monkeypatch):
    one, two = make(target), Store(target)
    given = answers_of([(0, 1), (0, 1), (2, 5), (3, 4)], at=[1e15, np.nan, np.nan, 3e15])
    writing = two._writing

    def late():
        assert one.take(given) == 4  # between whatever the other has read and its right to write
        return writing()

    monkeypatch.setattr(two, "_writing", late)
    assert two.take(given) == 0
    assert len(one.known().answers) == 4
    two.close()


def test_imports_are_counted_timed_and_lower_what_is_wanted(target, make):
    store = make(target, answers=3, k=4)
    planned = tuple(map(int, store.known().planned[0]))
    elsewhere = next(
        (i, j) for i in range(12) for j in range(i + 1, 12) if [i, j] not in store.known().planned.tolist()
    )
    given = answers_of([planned, elsewhere, planned], seconds=[1.25, np.nan, 1e9], labeller=["anna", "ben", "ben"])
    assert store.take(given) == 3
    assert store.take(given) == 0
    assert store.take(given[:0]) == 0
    with store._reading() as connection:
        rows = connection.execute(sa.select(database.pairs)).all()
    wanted = {(row.first, row.second): (row.wanted, row.round) for row in rows}
    assert wanted[planned] == (1, 1)
    assert wanted[elsewhere] == (2, 0)
    assert sorted(store.known().answers["seconds"].dropna()) == [1.25, 86400]
    assert store.tally()["answers"] == 3


@pytest.mark.parametrize("how", ["removed", "renamed", "replaced", "-wal", "-shm"])
def test_no_answer_is_taken_by_a_file_that_is_gone(tmp_path, make, how):
    path = str(tmp_path / "t.db")
    store = make(path)
    lease = store.next(store.local)
    assert store.answer(store.local, lease.token, "left")
    lease = store.next(store.local)
    store.check()
    if how == "removed":
        os.remove(path)
    elif how == "renamed":
        os.rename(path, tmp_path / "kept.db")
    elif how == "replaced":
        make(str(tmp_path / "other.db"), n=30, k=50).close()
        os.replace(tmp_path / "other.db", path)
    else:
        os.remove(path + how)
    told = f"t.db{how} was removed while in use" if how.startswith("-") else "removed, renamed or replaced while in use"
    for attempt in (
        lambda: store.answer(store.local, lease.token, "left"),
        lambda: store.next(store.local),
        lambda: store.save_report("report", {}),
        store.check,
    ):
        with pytest.raises(Gone, match=told):
            attempt()
    store.close()
    if how == "replaced":  # and the log of the old file is not taken for the new one's
        with Store(path) as other:
            assert len(other.names) == 30
            assert len(other.known().planned) == 50
            assert len(other.known().answers) == 0
    elif how != "removed":
        with Store(str(tmp_path / "kept.db") if how == "renamed" else path) as kept:
            assert len(kept.known().answers) >= 1


@pytest.mark.parametrize("other", ["an older copy", "another campaign", "nothing"])
def test_no_answer_is_taken_by_a_file_that_was_copied_over(tmp_path, make, other):
    """By its inode it is the same file; what SQLite has read of it is not there any more."""
    target, older = str(tmp_path / "t.db"), str(tmp_path / "older.db")
    make(target).close()
    if other == "an older copy":
        shutil.copy(target, older)
    elif other == "another campaign":
        make(older, n=20).close()
    else:
        Path(older).touch()

    def answer(store):
        store.answer(store.local, store.next(store.local).token, "left")

    with Store(target) as store:
        for _ in range(3):
            answer(store)
    store = Store(target)
    answer(store)
    shutil.copy(older, target)
    with pytest.raises(CampaignError) as caught:
        answer(store)
    assert "overwritten while in use" in str(caught.value) or other == "nothing"
    with pytest.raises(Gone, match="overwritten while in use and does not hold all answers"):
        store.check()
    store.close()


def test_a_server_whose_file_is_gone_takes_nothing_and_says_so_at_the_end(tmp_path, make, serve, capfd):
    make(str(tmp_path / "t.db")).close()
    url, process = serve(str(tmp_path / "t.db"))
    pair = httpx.post(f"{url}/api/next", json={}).json()["pair"]
    os.remove(tmp_path / "t.db")
    answer = httpx.post(f"{url}/api/answer", json={"lease": pair["lease"], "choice": "left"})
    assert answer.status_code == 503
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=30)
    assert "Every answer" not in out
    assert process.returncode == 2
    assert capfd.readouterr().err.splitlines()[-1].startswith(f"Error: {tmp_path}/t.db was removed")


def test_the_process_behind_ends_with_the_file(tmp_path, make, capfd):
    make(str(tmp_path / "t.db")).close()
    with rounds.Worker(str(tmp_path / "t.db")) as worker:
        with Store(str(tmp_path / "t.db")) as store:
            until = time.monotonic() + 40
            while store.report("report") is None:
                assert time.monotonic() < until
                time.sleep(0.05)
            os.rename(tmp_path / "t.db", tmp_path / "kept.db")
        worker.thread.join(40)
        assert not worker.thread.is_alive()
        assert worker.process.returncode == rounds.GONE
    assert capfd.readouterr().err.count("removed, renamed or replaced while in use") == 1
    assert not (tmp_path / "t.db").exists()


ON_SMALL_DISKS = """
import json, os, resource, shutil, subprocess, sys
from pathlib import Path
from conftest import items_of
from pairsmith.campaign.create import create
from pairsmith.campaign.store import Store

folder, mounted = Path(sys.argv[1]), sys.argv[2] == "mount"
items = items_of(300, 40)
call = {"question": "?", "k": 200}
create(str(folder / "whole.db"), items, [[("text", 500 * "x")]] * 300, **call)
size = os.path.getsize(folder / "whole.db")
os.remove(folder / "whole.db")
for share in (0.05, 0.5, 0.9, 1.0, 1.1, 1.3, 1.6, 2.0, 3.0):
    if mounted:
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={int(share * size)}", "tmpfs", folder], check=True)
    else:
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(share * size), resource.RLIM_INFINITY))
    told = ""
    try:
        create(str(folder / "c.db"), items, [[("text", 500 * "x")]] * 300, **call)
    except ValueError as error:
        told = str(error)
    left = sorted(os.listdir(folder))
    if not told:
        shutil.copy(folder / "c.db", folder.parent / "copy.db")  # to where there is room
        with Store(str(folder.parent / "copy.db")) as store:
            assert len(store.names) == 300 and len(store.known().planned) == 200
    print(json.dumps([share, told, left]))
    if mounted:
        subprocess.run(["umount", folder], check=True)
    elif not told:
        os.remove(folder / "c.db")
"""


def test_a_campaign_made_on_a_nearly_full_disk_is_whole_or_not_there(tmp_path):
    """On a small disk of its own where that can be mounted, else with a limit on the size of files."""
    folder = tmp_path / "disk"
    folder.mkdir()
    private = ["unshare", "--mount", *(["--map-root-user"] if os.geteuid() else [])]
    probe = [*private, "mount", "-t", "tmpfs", "tmpfs", folder]
    mounts = shutil.which("unshare") and subprocess.run(probe, capture_output=True).returncode == 0
    command = [
        *(private if mounts else []),
        sys.executable,
        "-c",
        ON_SMALL_DISKS,
        folder,
        "mount" if mounts else "limit",
    ]
    done = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    results = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(results) == 9
    for share, told, left in results:
        if told:
            assert re.search(
                r"/disk/c\.db (has no room to grow: the disk is full|could not be (read or )?written)", told
            )
            assert left == []
        else:
            assert left == ["c.db"]
        assert bool(told) == (share < 1.0) or 1.0 <= share <= 1.1
