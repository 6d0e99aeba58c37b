"""Tests of handing out pairs, taking answers, and taking them back."""

from collections import Counter

import pytest
import sqlalchemy as sa

from pairsmith.campaign.answering import goals, leases
from pairsmith.campaign.answering.leases import MAX_PAIRS_HELD
from pairsmith.campaign.people import invites as people
from pairsmith.campaign.planning import pace
from pairsmith.campaign.reporting import dashboard
from pairsmith.campaign.store import schema
from pairsmith.campaign.store.answers import add_answers
from pairsmith.campaign.store.database import Refused
from pairsmith.campaign.store.snapshot import take_snapshot
from support.campaigns import Clock, answer_next, answers_of, invite_people


def test_each_pair_gets_its_answers_from_different_people(target, make):
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
    assert pace.count_pairs(store)[:2] == (0, 6)
    assert len(take_snapshot(store).answers) == 18


def test_abandoned_pair_goes_to_somebody_else(target, make):
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


def test_renewed_pair_stays_with_its_person(target, make):
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


def test_strengths_and_comments_are_stored_if_the_campaign_has_them(target, make):
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


def test_plain_campaign_refuses_strengths_and_comments(tmp_path, make):
    store = make(str(tmp_path / "t.db"))
    (anna,) = invite_people(store, 1)
    token = leases.next_pair(store, anna).token
    for said, told in (({"strength": "much"}, "--graded"), ({"comment": "x"}, "no comments")):
        with pytest.raises(Refused, match=told) as refused:
            leases.answer(store, anna, token, "left", **said)
        assert refused.value.status == 422
    assert leases.answer(store, anna, token, "left", comment="")


def test_late_answer_counts_if_nobody_else_has_the_pair(target, make):
    clock = Clock()
    store = make(target, n=3, k=1, clock=clock, lease_seconds=60.0)
    (anna,) = invite_people(store, 1)
    lease = leases.next_pair(store, anna)
    clock.now += 1000
    again = leases.next_pair(store, anna)
    assert again.token == lease.token  # the same lease, so that nobody can answer a pair twice
    clock.now += 1000
    assert leases.answer(store, anna, lease.token, "right")
    assert not leases.answer(store, anna, again.token, "right")


def test_held_pairs_come_again_and_are_limited(target, make):
    store = make(target)
    (anna,) = invite_people(store, 1)
    first = leases.next_pair(store, anna)
    assert leases.next_pair(store, anna) == first
    held = [first]
    while (lease := leases.next_pair(store, anna, [lease.token for lease in held])) is not None:
        held.append(lease)
    assert len(held) == MAX_PAIRS_HELD
    assert len({lease.token for lease in held}) == MAX_PAIRS_HELD


def test_repeated_answer_counts_once_and_unknown_lease_is_refused(target, make):
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


def test_undo_is_recorded_and_erases_nothing(target, make):
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
    for lease in (two, one):  # twice in a row
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


def test_old_tab_cannot_undo_a_pair_that_was_answered_again(target, make):
    store = make(target)
    lease = leases.next_pair(store, people.local_rater(store))
    leases.answer(store, people.local_rater(store), lease.token, "left")
    again = leases.undo(store, people.local_rater(store), lease.token)
    assert leases.undo(store, people.local_rater(store), lease.token) == again  # a retry
    leases.answer(store, people.local_rater(store), again.token, "right")
    with pytest.raises(Refused, match="only the last answer") as refused:
        leases.undo(store, people.local_rater(store), lease.token)
    assert refused.value.status == 409


def test_skipped_pairs_go_to_others_only(target, make):
    store = make(target, n=3, k=1)
    anna, ben = invite_people(store, 2)
    lease = leases.next_pair(store, anna)
    leases.answer(store, anna, lease.token, "skip")
    assert leases.next_pair(store, anna) is None
    assert leases.next_pair(store, ben) is not None


def test_pairs_are_repeated_for_one_person_if_the_campaign_allows_it(target, make):
    store = make(target, n=4, k=3, answers_per_pair=2, repeats=True)
    (anna,) = invite_people(store, 1)
    asked = []
    while (lease := leases.next_pair(store, anna)) is not None:
        asked.append(frozenset((lease.left, lease.right)))
        leases.answer(store, anna, lease.token, "left")
    assert Counter(asked) == dict.fromkeys(asked, 2)
    assert len(set(asked[:3])) == 3  # each pair once before any pair twice


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


def test_ties_are_refused_unless_allowed(target, make):
    store = make(target, ties=False)
    (anna,) = invite_people(store, 1)
    lease = leases.next_pair(store, anna)
    with pytest.raises(Refused, match="no ties"):
        leases.answer(store, anna, lease.token, "tie")
    assert leases.answer(store, anna, lease.token, "left")


def test_outcome_follows_the_item_shown_on_the_chosen_side(target, make):
    """Make every choice on many pairs: the preferred item is the one shown on the chosen side."""
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


def test_imported_answers_cannot_be_taken_back_by_their_rater(target, make):
    """An invite with the name of an imported rater gives no control over the imported answers."""
    store = make(target, n=6, k=15)
    add_answers(store, answers_of([(0, 1), (0, 2), (0, 3)], rater="anna", at=1.0))
    anna = people.person_with_token(store, people.invite(store, "anna", quota=2), "rater")
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
    assert goals.ending(store, anna) == "quota"  # counts the answers that she gave here


def test_imported_answers_do_not_count_as_showing_an_item(target, make):
    store = make(target)
    add_answers(store, answers_of([(0, 1)], rater="anna"))
    anna = people.person_with_token(store, people.invite(store, "anna"), "rater")
    assert not leases.was_shown(store, anna, 0)
    lease = leases.next_pair(store, anna)
    assert leases.was_shown(store, anna, lease.left)
