"""Pairs handed out, answers taken and undone."""

from collections import Counter

import pytest
import sqlalchemy as sa

from pairsmith.campaign.answering import goals, leases
from pairsmith.campaign.answering.leases import AT_ONCE
from pairsmith.campaign.people import invites as people
from pairsmith.campaign.planning import pace
from pairsmith.campaign.reporting import dashboard
from pairsmith.campaign.store import schema
from pairsmith.campaign.store.answers import add_answers
from pairsmith.campaign.store.database import Refused
from pairsmith.campaign.store.snapshot import take_snapshot
from support.campaigns import Clock, answer_next, answers_of, invite_people


def test_each_pair_is_answered_as_often_as_asked_and_never_twice_by_one_person(target, make):
    store = make(target, answers_per_pair=3, k=6)
    five = invite_people(store, 5)
    seen = {person: [] for person in five}
    while any(free := [(person, lease) for person in five if (lease := leases.next_pair(store, person))]):
        for person, lease in free:
            seen[person].append(frozenset((lease.left, lease.right)))
            assert leases.answer(store, person, lease.token, "left", 0.5)
    given = Counter(pair for pairs in seen.values() for pair in pairs)
    assert sorted(given.values()) == [3] * 6
    assert all(len(set(pairs)) == len(pairs) for pairs in seen.values())
    assert pace.waiting(store)[:2] == (0, 6)
    assert len(take_snapshot(store).answers) == 18


def test_a_pair_is_leased_to_one_person_and_returns_when_abandoned(target, make):
    clock = Clock()
    store = make(target, n=3, k=1, clock=clock, lease_seconds=60.0)
    anna, ben = invite_people(store, 2)
    hers = leases.next_pair(store, anna)
    assert leases.next_pair(store, ben) is None
    clock.now += 59
    assert leases.next_pair(store, ben) is None
    clock.now += 2
    his = leases.next_pair(store, ben)
    assert {his.left, his.right} == {hers.left, hers.right}
    with pytest.raises(Refused, match="went to somebody else"):
        leases.answer(store, anna, hers.token, "left")
    assert leases.answer(store, ben, his.token, "left")
    assert len(take_snapshot(store).answers) == 1


def test_a_pair_stays_with_whoever_looks_at_it(target, make):
    clock = Clock()
    store = make(target, n=3, k=1, clock=clock, lease_seconds=60.0)
    anna, ben = invite_people(store, 2)
    hers = leases.next_pair(store, anna)
    for _ in range(5):
        clock.now += 50
        assert leases.renew(store, anna, [hers.token, "made-up"]) == [hers.token]
        assert leases.next_pair(store, ben) is None
    assert leases.renew(store, ben, [hers.token]) == []  # hers, not his
    clock.now += 61
    assert leases.renew(store, anna, [hers.token]) == [hers.token]  # late, but nobody else has it
    clock.now += 61
    his = leases.next_pair(store, ben)
    assert leases.renew(store, anna, [hers.token]) == []
    assert leases.answer(store, ben, his.token, "left")
    assert leases.renew(store, ben, [his.token]) == []  # answered


def test_answers_are_graded_and_commented_where_the_campaign_says_so(target, make):
    store = make(target, graded=True, comments=True)
    (anna,) = invite_people(store, 1)
    for strength, comment in (("slightly", " close\0 "), ("much", ""), (None, "😀")):
        lease = leases.next_pair(store, anna)
        assert leases.answer(store, anna, lease.token, "left", strength=strength, comment=comment)
    for choice in ("tie", "skip"):
        with pytest.raises(Refused, match="strength goes with left and right"):
            leases.answer(store, anna, leases.next_pair(store, anna).token, choice, strength="much")
    given = take_snapshot(store).answers
    assert given[["strength", "comment"]].to_numpy().tolist() == [["slightly", "close"], ["much", ""], ["", "😀"]]


def test_a_plain_campaign_takes_neither_grades_nor_comments(tmp_path, make):
    store = make(str(tmp_path / "t.db"))
    (anna,) = invite_people(store, 1)
    token = leases.next_pair(store, anna).token
    for said, told in (({"strength": "much"}, "--graded"), ({"comment": "x"}, "no comments")):
        with pytest.raises(Refused, match=told) as refused:
            leases.answer(store, anna, token, "left", **said)
        assert refused.value.status == 422
    assert leases.answer(store, anna, token, "left", comment="")


def test_a_late_answer_counts_where_nobody_else_has_the_pair(target, make):
    clock = Clock()
    store = make(target, n=3, k=1, clock=clock, lease_seconds=60.0)
    (anna,) = invite_people(store, 1)
    lease = leases.next_pair(store, anna)
    clock.now += 1000
    again = leases.next_pair(store, anna)
    assert again.token == lease.token  # taken up again, so that nobody can answer one pair twice
    clock.now += 1000
    assert leases.answer(store, anna, lease.token, "right")
    assert not leases.answer(store, anna, again.token, "right")


def test_pairs_held_are_given_again_and_are_few(target, make):
    store = make(target)
    (anna,) = invite_people(store, 1)
    first = leases.next_pair(store, anna)
    assert leases.next_pair(store, anna) == first
    held = [first]
    while (lease := leases.next_pair(store, anna, [lease.token for lease in held])) is not None:
        held.append(lease)
    assert len(held) == AT_ONCE
    assert len({lease.token for lease in held}) == AT_ONCE


def test_answering_twice_counts_once_and_what_was_not_shown_is_refused(target, make):
    store = make(target)
    anna, ben = invite_people(store, 2)
    lease = leases.next_pair(store, anna)
    assert leases.answer(store, anna, lease.token, "left", 1.25)
    assert not leases.answer(store, anna, lease.token, "right")
    for person, token in ((ben, lease.token), (anna, "made-up")):
        with pytest.raises(Refused, match="not shown to you"):
            leases.answer(store, person, token, "left")
    (answer,) = take_snapshot(store).answers.itertuples()
    winner = answer.first if answer.outcome > 0 else answer.second
    assert winner == lease.left == answer.left
    assert answer.seconds == 1.25


def test_undo_is_recorded_not_erased(target, make):
    store = make(target)
    anna, ben = invite_people(store, 2)
    one = leases.next_pair(store, anna)
    leases.answer(store, anna, one.token, "left")
    two = leases.next_pair(store, anna)
    leases.answer(store, anna, two.token, "skip")
    with pytest.raises(Refused, match="only the last"):
        leases.undo(store, anna, one.token)
    with pytest.raises(Refused, match="not shown"):
        leases.undo(store, ben, two.token)
    for lease in (two, one):  # back and back
        assert leases.progress(store, anna)["undo"] == lease.token
        again = leases.undo(store, anna, lease.token)
        assert leases.undo(store, anna, lease.token) == again  # a double click
        assert (again.left, again.right) == (lease.left, lease.right)
        with pytest.raises(Refused, match="taken back"):
            leases.answer(store, anna, lease.token, "left")
    assert leases.next_pair(store, anna) == again  # before anything else
    assert len(take_snapshot(store).answers) == 0
    assert dashboard.count(store)["undone"] == 2
    assert leases.answer(store, anna, again.token, "right")
    (answer,) = take_snapshot(store).answers.itertuples()
    assert {answer.first, answer.second} == {one.left, one.right}
    with store.reading() as connection:
        kept = connection.execute(sa.select(sa.func.count()).select_from(schema.answers)).scalar_one()
    assert kept == 3


def test_an_old_tab_cannot_undo_what_was_answered_again(target, make):
    store = make(target)
    lease = leases.next_pair(store, people.local_person(store))
    leases.answer(store, people.local_person(store), lease.token, "left")
    again = leases.undo(store, people.local_person(store), lease.token)
    assert leases.undo(store, people.local_person(store), lease.token) == again  # a retry
    leases.answer(store, people.local_person(store), again.token, "right")
    with pytest.raises(Refused, match="only the last answer") as refused:
        leases.undo(store, people.local_person(store), lease.token)
    assert refused.value.status == 409


def test_skipped_pairs_go_to_others_only(target, make):
    store = make(target, n=3, k=1)
    anna, ben = invite_people(store, 2)
    lease = leases.next_pair(store, anna)
    leases.answer(store, anna, lease.token, "skip")
    assert leases.next_pair(store, anna) is None
    assert leases.next_pair(store, ben) is not None


def test_one_person_may_be_asked_again_where_the_campaign_says_so(target, make):
    store = make(target, n=4, k=3, answers_per_pair=2, repeats=True)
    (anna,) = invite_people(store, 1)
    asked = []
    while (lease := leases.next_pair(store, anna)) is not None:
        asked.append(frozenset((lease.left, lease.right)))
        leases.answer(store, anna, lease.token, "left")
    assert Counter(asked) == dict.fromkeys(asked, 2)
    assert len(set(asked[:3])) == 3  # all once before any twice


def test_sides_are_balanced_and_recorded(target, make):
    store = make(target, n=8, k=28)
    (anna,) = invite_people(store, 1)
    left, right = Counter(), Counter()
    while (lease := leases.next_pair(store, anna)) is not None:
        left[lease.left] += 1
        right[lease.right] += 1
        leases.answer(store, anna, lease.token, "tie")
    assert all(abs(left[item] - right[item]) <= 3 for item in range(8))
    assert Counter(take_snapshot(store).answers["left"]) == left


def test_ties_only_where_allowed(target, make):
    store = make(target, ties=False)
    (anna,) = invite_people(store, 1)
    lease = leases.next_pair(store, anna)
    with pytest.raises(Refused, match="no ties"):
        leases.answer(store, anna, lease.token, "tie")
    assert leases.answer(store, anna, lease.token, "left")


def test_what_was_shown_is_what_is_answered_on_either_side(target, make):
    """Every choice on many pairs: the outcome is that of the item on the side that was chosen."""
    store = make(target, n=8, k=24)
    (anna,) = invite_people(store, 1)
    expected = {}
    for turn in range(24):
        lease = leases.next_pair(store, anna)
        choice = ("left", "right", "tie")[turn % 3]
        leases.answer(store, anna, lease.token, choice)
        winner = {"left": lease.left, "right": lease.right}.get(choice)
        pair = min(lease.left, lease.right), max(lease.left, lease.right)
        expected[pair] = 0 if winner is None else 1 if winner == pair[0] else -1
    found = take_snapshot(store).answers
    assert dict(zip(zip(found["first"], found["second"], strict=True), found["outcome"], strict=True)) == expected


def test_answers_made_elsewhere_are_not_their_raters_to_take_back(target, make):
    """An invite under a name that answers were imported under has no power over them."""
    store = make(target, n=6, k=15)
    add_answers(store, answers_of([(0, 1), (0, 2), (0, 3)], rater="anna", at=1.0))
    anna = people.person_of(store, people.invite(store, "anna", quota=2), "rater")
    before = leases.progress(store, anna)
    assert (before["answers"], before["yours"], before["undo"]) == (3, 0, None)
    with store.reading() as connection:
        imported = connection.execute(sa.select(schema.leases.c.token)).scalars().all()
    for token in imported:
        with pytest.raises(Refused, match="only the last answer"):
            leases.undo(store, anna, token)
    answer_next(store, "left", anna)
    own = leases.progress(store, anna)
    assert (own["answers"], own["yours"]) == (4, 1)
    add_answers(store, answers_of([(0, 4)], rater="anna"))  # newer than hers
    assert leases.progress(store, anna)["undo"] == own["undo"]
    assert leases.undo(store, anna, own["undo"])
    assert leases.progress(store, anna)["undo"] is None
    assert len(take_snapshot(store).answers) == 4
    for _ in range(2):
        answer_next(store, "left", anna)
    assert goals.ending(store, anna) == "quota"  # of answers that she gave here


def test_answers_made_elsewhere_show_nobody_an_item(target, make):
    store = make(target)
    add_answers(store, answers_of([(0, 1)], rater="anna"))
    anna = people.person_of(store, people.invite(store, "anna"), "rater")
    assert not leases.was_shown(store, anna, 0)
    lease = leases.next_pair(store, anna)
    assert leases.was_shown(store, anna, lease.left)
