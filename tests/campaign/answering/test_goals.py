"""Tests of goals and states: when a campaign is over, and what is still possible then."""

import time
from datetime import UTC, datetime, timedelta, timezone

import pytest
import sqlalchemy as sa

from pairsmith.campaign.answering import corrections, goals, leases
from pairsmith.campaign.answering.goals import Goals
from pairsmith.campaign.people import invites as people
from pairsmith.campaign.planning import planner as planning
from pairsmith.campaign.reporting import dashboard
from pairsmith.campaign.store import schema
from pairsmith.campaign.store.answers import add_answers
from pairsmith.campaign.store.database import Refused
from pairsmith.campaign.store.snapshot import take_snapshot
from support.campaigns import Clock, answer_next, answers_of, invite_people


def given(store):
    return len(take_snapshot(store).answers)


def changes(store):
    with store.reading() as connection:
        found = connection.execute(sa.select(schema.changes).order_by(schema.changes.c.id)).all()
    return [(row.what, row.person, row.content) for row in found]


def test_budget_is_spent_exactly(target, make):
    """Three people hold as many pairs as they can get."""
    store = make(target, n=12, k=30, goals=Goals(answers=10))
    three = invite_people(store, 3)
    held = {person: [] for person in three}
    while goals.ending(store, three[0]) is None:
        for person in three:
            while (lease := leases.next_pair(store, person, held[person])) is not None:
                held[person].append(lease.token)
        out = sum(map(len, held.values()))
        assert given(store) + out <= 10
        who = next(person for person in three if held[person])
        assert leases.answer(store, who, held[who].pop(0), "left")
    assert given(store) == 10
    assert [leases.next_pair(store, person) for person in three] == [None] * 3
    assert [goals.ending(store, person) for person in three] == ["answers"] * 3
    assert leases.progress(store, three[0])["goal"] == 10
    assert leases.progress(store, three[0])["undo"] is not None or leases.progress(store, three[1])["undo"] is not None


def test_unanswered_last_pair_does_not_hold_up_the_budget(target, make):
    clock = Clock()
    store = make(target, k=10, clock=clock, lease_seconds=60.0, goals=Goals(answers=1))
    anna, ben = invite_people(store, 2)
    hers = leases.next_pair(store, anna)
    assert leases.next_pair(store, ben) is None  # the last answer is being given
    assert goals.ending(store, ben) is None
    clock.now += 40
    assert leases.renew(store, anna, [hers.token]) == [hers.token]  # still hers, but not extended
    clock.now += 21
    his = leases.next_pair(store, ben)
    assert leases.answer(store, ben, his.token, "left")
    assert goals.ending(store, anna) == "answers"
    with pytest.raises(Refused, match="waited too long"):
        leases.answer(store, anna, hers.token, "left")
    assert given(store) == 1


def test_held_pairs_can_be_answered_after_the_end_but_no_more_are_handed_out(target, make):
    clock = Clock()
    store = make(target, k=10, clock=clock)
    anna, ben = invite_people(store, 2)
    held = leases.next_pair(store, anna)
    goals.act(store, "close")
    assert leases.next_pair(store, anna) is None
    assert leases.next_pair(store, ben) is None
    assert leases.answer(store, anna, held.token, "left")
    assert given(store) == 1
    assert leases.progress(store, anna)["undo"] is None
    with pytest.raises(Refused, match="is closed") as refused:
        leases.undo(store, anna, held.token)
    assert refused.value.status == 409
    goals.act(store, "reopen")
    assert leases.undo(store, anna, held.token) is not None
    assert leases.next_pair(store, ben) is not None


@pytest.mark.parametrize("end", ["close", "deadline"])
def test_each_person_gives_one_more_answer_after_the_end(target, make, end):
    """The pair on the screen can be answered; pairs that the page loaded ahead are given back."""
    clock = Clock()
    store = make(target, n=12, k=20, clock=clock, goals=Goals(deadline=round((clock.now + 100) * schema.SECOND)))
    anna, ben = invite_people(store, 2)
    on_screen, ahead = held_by(store, anna, 2)
    his, skipped = held_by(store, ben, 2)
    clock.now += 50 if end == "close" else 101
    if end == "close":
        goals.act(store, "close")
    clock.now += 1
    both = [on_screen.token, ahead.token]
    assert leases.renew(store, anna, both) == both
    assert leases.answer(store, anna, on_screen.token, "left")
    assert not leases.answer(store, anna, on_screen.token, "left")  # sent twice
    assert leases.renew(store, anna, [ahead.token]) == []
    for choice in ("left", "skip"):
        with pytest.raises(Refused, match="the campaign is over") as refused:
            leases.answer(store, anna, ahead.token, choice)
        assert refused.value.status == 410
    assert leases.answer(store, ben, skipped.token, "skip")  # a skip is the last response, too
    with pytest.raises(Refused, match="the campaign is over"):
        leases.answer(store, ben, his.token, "left")
    assert given(store) == 1
    if end == "close":
        goals.act(store, "reopen")
    goals.change(store, deadline="none")
    assert leases.answer(store, anna, ahead.token, "left")
    assert given(store) == 2


def test_answers_given_before_the_end_count_even_if_they_arrive_late(target, make):
    clock = Clock()
    store = make(target, n=12, k=20, clock=clock, lease_seconds=60.0)
    (anna,) = invite_people(store, 1)
    one, two, three = held_by(store, anna, 3)
    clock.now += 1000
    goals.act(store, "close")
    clock.now += 1000
    assert leases.answer(store, anna, one.token, "left", ago=1001.0)
    assert leases.answer(store, anna, two.token, "left", ago=1001.0)
    with pytest.raises(Refused, match="the campaign is over"):
        leases.answer(store, anna, three.token, "left", ago=999.0)
    assert given(store) == 2
    assert leases.progress(store, anna)["undo"] is None


def test_pair_on_the_screen_can_be_answered_until_its_lease_expires(target, make):
    clock = Clock()
    store = make(target, k=10, clock=clock, lease_seconds=60.0)
    (anna,) = invite_people(store, 1)
    (held,) = held_by(store, anna, 1)
    goals.act(store, "close")
    clock.now += 61
    assert leases.renew(store, anna, [held.token]) == []
    with pytest.raises(Refused, match="the campaign is over"):
        leases.answer(store, anna, held.token, "left")


def held_by(store, person, count):
    """Return the leases of `count` pairs that this person holds: the one on the screen, and those loaded ahead."""
    held = []
    for _ in range(count):
        held.append(leases.next_pair(store, person, [lease.token for lease in held]))
    return held


def test_state_changes_are_logged_with_their_author(target, make):
    store = make(target)
    organiser = people.person_with_token(store, people.invite(store, "ole", "organiser"), "organiser")
    (anna,) = invite_people(store, 1)
    for action, by, over in (
        ("pause", organiser, "paused"),
        ("resume", None, None),
        ("pause", None, "paused"),
        ("close", None, "closed"),
        ("reopen", organiser, None),
    ):
        goals.act(store, action, by)
        assert goals.ending(store, anna) == over
        assert (leases.next_pair(store, anna) is None) == (over is not None)
    assert [(what, by) for what, by, _ in changes(store)] == [
        ("pause", organiser), ("resume", None), ("pause", None), ("close", None), ("reopen", organiser)]  # fmt: skip
    with pytest.raises(Refused, match="the campaign is open; choose pause or close"):
        goals.act(store, "resume")
    assert len(changes(store)) == 5


def test_deadline_ends_the_campaign(target, make):
    clock = Clock()
    store = make(target, clock=clock)
    (anna,) = invite_people(store, 1)
    soon = datetime.fromtimestamp(clock.now + 100, UTC).isoformat()
    assert goals.change(store, deadline=soon).deadline == round((clock.now + 100) * schema.SECOND)
    held = leases.next_pair(store, anna)
    clock.now += 99.9
    assert goals.ending(store, anna) is None
    clock.now += 0.1
    assert goals.ending(store, anna) == "deadline"
    assert leases.next_pair(store, anna) is None
    assert leases.answer(store, anna, held.token, "left")
    assert leases.progress(store, anna)["undo"] is None
    with pytest.raises(Refused, match="is past its deadline; its answers stand"):  # a second answer would be refused
        leases.undo(store, anna, held.token)
    with pytest.raises(ValueError, match="is past: it is"):
        goals.change(store, deadline=soon)
    goals.change(store, deadline="none")
    assert leases.next_pair(store, anna) is not None


def test_low_doubt_in_a_report_of_enough_answers_ends_the_campaign(target, make):
    store = make(target)
    (anna,) = invite_people(store, 1)
    goals.change(store, until="doubt < 10%")
    assert goals.ending(store, anna) is None
    for answers, doubt, over in (
        (goals.MIN_ANSWERS_FOR_DOUBT - 1, 0.01, None),
        (goals.MIN_ANSWERS_FOR_DOUBT, 0.1, None),  # not below
        (60, 0.0999, "until"),
        (61, 0.101, None),  # the last report counts
        (62, None, None),
    ):
        dashboard.save_report(store, {"answers": answers, "learned": {"doubt": doubt}})
        assert goals.ending(store, anna) == over
        assert (leases.next_pair(store, anna) is None) == (over is not None)
    dashboard.save_report(store, dashboard.EMPTY_REPORT)
    assert goals.ending(store, anna) is None


def test_doubt_from_before_a_correction_ends_nothing(target, make):
    store = make(target)
    (anna,) = invite_people(store, 1)
    goals.change(store, until="doubt < 10%")

    def report():
        revision = take_snapshot(store).revision
        dashboard.save_report(store, {"answers": 60, "revision": revision, "learned": {"doubt": 0.08}})

    corrections.exclude(store, "p0")
    report()
    assert goals.ending(store, anna) == "until"
    assert goals.described(store)["goals"] == ["until doubt is below 10% (8.0% now)"]
    corrections.exclude(store, "p0", False)
    assert goals.ending(store, anna) is None
    assert goals.described(store)["goals"] == ["until doubt is below 10% (not known since the last correction)"]
    report()
    goals.act(store, "pause")  # changes no answer
    goals.act(store, "resume")
    assert goals.ending(store, anna) == "until"


def test_quota_ends_the_campaign_for_one_person_only(target, make):
    store = make(target, n=12, k=30, goals=Goals(quota=3))
    tokens = people.invite(store, "anna"), people.invite(store, "ben", quota=5)
    anna, ben = (people.person_with_token(store, token, "rater") for token in tokens)
    counts = dict.fromkeys((anna, ben), 0)
    for person in counts:
        held = []
        while (lease := leases.next_pair(store, person, held)) is not None:
            held.append(lease.token)
        assert len(held) == min(leases.MAX_PAIRS_HELD, leases.progress(store, person)["quota"])
        leases.answer(store, person, held[0], "skip")  # not an answer
        while (lease := leases.next_pair(store, person)) is not None:
            counts[person] += leases.answer(store, person, lease.token, "left")
    assert list(counts.values()) == [3, 5]
    assert [goals.ending(store, person) for person in counts] == ["quota", "quota"]
    goals.change(store, quota="4")
    assert goals.ending(store, anna) is None
    assert goals.ending(store, ben) == "quota"  # his own quota counts


def test_campaign_is_exhausted_when_every_possible_pair_is_complete(target, make):
    store = make(target, n=4, k=3)
    (anna,) = invite_people(store, 1)
    keep_ahead = planning.Planner(store)
    for _ in range(6):
        assert goals.ending(store, anna) is None
        answer_next(store, "left", anna)
        keep_ahead()
    assert leases.next_pair(store, anna) is None
    assert goals.ending(store, anna) == "exhausted"


def test_person_is_done_when_only_others_can_answer_the_rest(target, make):
    store = make(target, n=3, k=3, answers_per_pair=2)
    anna, ben = invite_people(store, 2)
    for _ in range(3):
        answer_next(store, "left", anna)
    assert goals.ending(store, anna) == "yours"
    assert goals.ending(store, ben) is None
    his = leases.next_pair(store, ben)
    leases.answer(store, ben, his.token, "left")
    answer_next(store, "left", ben)
    last = leases.next_pair(store, ben)
    assert goals.ending(store, ben) is None  # he holds it
    leases.answer(store, ben, last.token, "skip")
    assert goals.ending(store, ben) == "yours"


def test_pairs_across_groups_do_not_count_as_possible(target, make):
    store = make(target, n=4, k=2)
    (anna,) = invite_people(store, 1)
    with store.writing() as connection:  # two groups of two: two pairs are possible
        for row, group in enumerate("aabb"):
            connection.execute(schema.items.update().where(schema.items.c.row == row).values(grouped=group))
        connection.execute(schema.pairs.delete())
        connection.execute(schema.pairs.insert().values(first=0, second=1, round=1, wanted=0))
    add_answers(store, answers_of([(0, 2), (1, 3)]))
    assert leases.next_pair(store, anna) is None
    assert goals.ending(store, anna) is None
    add_answers(store, answers_of([(2, 3)]))
    assert goals.ending(store, anna) == "exhausted"


def test_no_round_is_planned_when_the_campaign_is_over(target, make):
    store = make(target, n=12, k=4, goals=Goals(answers=4))
    keep_ahead = planning.Planner(store)
    for _ in range(4):
        answer_next(store)
        keep_ahead()
    planned = len(take_snapshot(store).planned)
    keep_ahead()
    assert len(take_snapshot(store).planned) == planned
    goals.change(store, answers="40")
    goals.act(store, "pause")
    for _ in range(4):
        keep_ahead()
    assert len(take_snapshot(store).planned) == planned


def test_goals_change_separately_and_each_change_is_logged(target, make):
    store = make(target)
    goals.change(store, answers="500", until="doubt<10%")
    assert goals.change(store, answers="600") == Goals(answers=600, until=0.1)
    assert goals.change(store, until="none", quota=" 20 ") == Goals(answers=600, quota=20)
    goals.change(store, quota="20")  # nothing new
    assert [content for what, _, content in changes(store) if what == "goals"] == [
        {"before": {}, "after": {"answers": 500, "until": 0.1}},
        {"before": {"answers": 500, "until": 0.1}, "after": {"answers": 600, "until": 0.1}},
        {"before": {"answers": 600, "until": 0.1}, "after": {"answers": 600, "quota": 20}},
    ]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("answers", "0", "from 1 to"),
        ("answers", "many", "from 1 to"),
        ("answers", "1e3", "from 1 to"),
        ("answers", "9" * 5000, "from 1 to 1,000,000,000"),
        ("answers", "10000000001", "from 1 to 1,000,000,000"),
        ("quota", "-3", "--quota must be a number of answers"),
        ("quota", "٣", "from 1 to"),
        ("until", "10%", "is not of the form 'doubt < 10%'"),
        ("until", "doubt > 10%", "is not of the form"),
        ("until", "doubt < 10% or so", "is not of the form"),
        ("until", "auc < 10%", "is not of the form"),
        ("until", "doubt < 10", "between 0% and 50%"),
        ("until", "doubt < 0%", "between 0% and 50%"),
        ("until", "doubt < 50%", "between 0% and 50%"),
        ("deadline", "tomorrow", "is no time; write 2026-12-01"),
        ("deadline", "2026-02-30", "is no time"),
        ("deadline", "9999-12-31", "'9999-12-31' is after the year 2255; choose an earlier time, or none"),
        ("deadline", "9999-12-31T23:59:59-23:59", "is after the year 2255"),
        ("deadline", "2256-01-01T00:00", "is after the year 2255"),
        ("deadline", "2020-01-01", "is past"),
        ("deadline", "0001-01-01", "is past: it is 2026-01-01"),
        ("deadline", "1969-12-31T23:59:59+14:00", "is past"),
        ("deadline", "2026-01-01T00:59:59+01:00", "is past"),
    ],
)
def test_invalid_goals_are_refused_in_one_line(name, text, message):
    now = round(datetime(2026, 1, 1, tzinfo=UTC).timestamp() * schema.SECOND)
    with pytest.raises(ValueError, match=message) as refused:
        goals.revised(Goals(), now, **{name: text})
    assert "\n" not in str(refused.value)


def test_date_means_the_end_of_that_day_in_the_local_time_zone():
    def at(text):
        return goals.revised(Goals(), 0, deadline=text).deadline

    local = datetime(2030, 12, 2).astimezone().timestamp() * schema.SECOND
    assert at("2030-12-01") == at("2030-12-02T00:00") == local
    assert at("2030-12-01T18:00+01:00") == at("2030-12-01T17:00Z")
    assert at("2030-12-01T17:00Z") == datetime(2030, 12, 1, 17, tzinfo=UTC).timestamp() * schema.SECOND
    offset = datetime(2030, 12, 2).astimezone().isoformat()[-6:]
    assert goals.shown_time(at("2030-12-01")) == f"2030-12-02 00:00 (UTC{offset})"


def test_invalid_stored_goals_are_ignored():
    assert Goals.from_stored({"answers": "x", "until": None, "quota": 7, "other": 1}) == Goals(quota=7)
    assert Goals.from_stored([]) == Goals()
    odd = {"answers": [0, -5, 0.5, 10**10, True], "quota": [0, 1.5], "until": [5, 0.0, float("nan")],
           "deadline": [1e30, -1, 10**30, float("inf")]}  # fmt: skip
    for name, values in odd.items():
        assert [Goals.from_stored({name: value}) for value in values] == [Goals()] * len(values)
    last = goals.revised(Goals(), 0, answers="1000000000", until="doubt < 49.9%", deadline="2255-12-31T23:59-23:59")
    assert Goals.from_stored(last.to_stored()) == last
    assert "2256" in goals.shown_time(last.deadline)


def test_description_for_the_organiser(target, make):
    store = make(target, goals=Goals(answers=2, until=0.125, deadline=4_000_000_000 * schema.SECOND, quota=1))
    answer_next(store)
    found = goals.described(store)
    assert (found["state"], found["over"], found["given"], found["goal"]) == ("open", None, 1, 2)
    assert found["goals"] == [
        "1 of 2 answers",
        "until doubt is below 12.5% (known after 40 answers)",
        f"until {goals.shown_time(4_000_000_000 * schema.SECOND)}",
        "1 answer each person",
    ]
    dashboard.save_report(store, {"answers": 50, "learned": {"doubt": 0.2}})
    assert goals.described(store)["goals"][1] == "until doubt is below 12.5% (20.0% now)"


@pytest.mark.parametrize(("zone", "minutes"), [("AAA-00", 0), ("BBB-05:45", 345), ("CCC+03:30", -210), ("DDD-14", 840)])
def test_deadlines_use_the_time_zone_of_the_machine(monkeypatch, zone, minutes):
    here = timezone(timedelta(minutes=minutes))
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        for text, end in (("2030-06-30", datetime(2030, 7, 1)), ("2255-12-31", datetime(2256, 1, 1))):
            deadline = goals.revised(Goals(), 0, deadline=text).deadline
            assert deadline == end.replace(tzinfo=here).timestamp() * schema.SECOND
            offset = end.replace(tzinfo=here).isoformat()[-6:]
            assert goals.shown_time(deadline) == f"{end:%Y-%m-%d} 00:00 (UTC{offset})"
    finally:
        monkeypatch.undo()
        time.tzset()
