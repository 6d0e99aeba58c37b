"""Tests of browsing single answers."""

from pairsmith.campaign.answering import corrections, leases
from pairsmith.campaign.people import invites
from pairsmith.campaign.reporting import browse
from pairsmith.campaign.store.answers import add_answers
from support.campaigns import answer_next, answers_of, invite_people


def test_comments_are_listed_with_their_answers_and_skips(target, make, run):
    store = make(target, comments=True)
    (anna,) = invite_people(store, 1)
    expected = []
    for turn, choice in enumerate(["left", "right", "tie", "skip", "left", "right"]):
        lease = leases.next_pair(store, anna)
        leases.answer(store, anna, lease.token, choice, comment=f"say\n{turn}" if turn != 4 else None)
        if turn != 4:
            expected.append(f"p0, {lease.left:03d} | {lease.right:03d}, {choice}: say {turn}")
    last = leases.next_pair(store, anna).token
    leases.answer(store, anna, last, "left", comment="taken back")
    leases.undo(store, anna, last)
    assert run("campaign", "comments", target) == (0, "\n".join(expected) + "\n", "")


def browse_answers(store, offset=0, limit=50, **wanted):
    with store.reading() as connection:
        return browse.browse(connection, browse.Filter(**wanted), offset, limit)


def test_answers_are_filtered_by_person_item_and_dispute(target, make):
    store = make(target)
    given = answers_of(
        [(0, 1), (0, 1), (2, 3), (2, 3), (4, 5)],
        rater=["anna", "ben", "anna", "ben", "anna"], outcome=[1, -1, 1, 1, 0], left=[0, 1, 3, 3, 4], at=range(1, 6),
    )  # fmt: skip
    add_answers(store, given)
    total, rows = browse_answers(store)
    assert total == 5
    assert [row.choice for row in rows] == ["tie", "right", "right", "left", "left"]  # latest first
    assert [(row.left, row.right) for row in rows] == [
        ("004", "005"), ("003", "002"), ("003", "002"), ("001", "000"), ("000", "001"),
    ]  # fmt: skip
    assert [row.rater for row in browse_answers(store, person="ben")[1]] == ["ben", "ben"]
    assert {row.id for row in browse_answers(store, item=" 003 ")[1]} == {3, 4}
    assert browse_answers(store, item="03")[0] == 0
    total, rows = browse_answers(store, disputed=True)
    assert (total, [row.rater for row in rows]) == (2, ["ben", "anna"])
    total, rows = browse_answers(store, offset=2, limit=2)
    assert (total, [row.id for row in rows]) == (5, [3, 2])
    corrections.exclude(store, "ben")
    assert browse_answers(store, disputed=True)[0] == 0  # only anna counts now
    assert sum(row.excluded for row in browse_answers(store)[1]) == 2
    with store.reading() as connection:
        assert browse.raters(connection) == ["anna", "ben"]


def test_struck_answers_are_listed_but_not_skips_or_answers_taken_back(target, make):
    store = make(target)
    me = invites.local_rater(store)
    for choice in ("left", "skip", "right", "left"):
        answer_next(store, choice)
    leases.undo(store, me, leases.progress(store, me)["undo"])
    corrections.strike(store, 1)
    assert [(row.id, row.struck) for row in browse_answers(store)[1]] == [(3, False), (1, True)]
    with store.reading() as connection:
        assert browse.one(connection, 1).struck
        assert browse.one(connection, 2) is browse.one(connection, 4) is browse.one(connection, 9) is None
