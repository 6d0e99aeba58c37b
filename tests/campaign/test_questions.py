"""Several questions on the same items: asked of each pair one after the other, a ranking for each."""

import time
from collections import Counter

import numpy as np
import pytest
import sqlalchemy as sa

from pairsmith.campaign.answering import corrections, goals, leases
from pairsmith.campaign.answering.goals import Goals
from pairsmith.campaign.learning import fit_model
from pairsmith.campaign.planning import pace, rounds, worker
from pairsmith.campaign.planning import planner as planning
from pairsmith.campaign.planning.pace import describe_stuck_pairs
from pairsmith.campaign.reporting import dashboard
from pairsmith.campaign.reporting.report import make_report
from pairsmith.campaign.store import schema
from pairsmith.campaign.store.snapshot import take_snapshot
from pairsmith.criteria import CRITERIA
from support.campaigns import (
    Clock,
    answer_truthfully,
    ask,
    client_of,
    invite_people,
    truthfully,
)

TWO = ["Which is better written?", "Which is funnier?"]


def report_all(store):
    dashboard.save_report(
        store, *(make_report(take_snapshot(store, at)) for at in range(len(store.settings.questions)))
    )


def test_opposite_truths_give_opposite_rankings(tmp_path, make):
    store = make(str(tmp_path / "t.db"), n=8, k=28, question=TWO)
    with client_of(store) as api:
        told = api.get("/api/campaign").json()
        assert (told["question"], told["questions"]) == (TWO[0], TWO)
        asked, before = [], None
        while (pair := ask(api, "next")["pair"]) is not None:
            same = before is not None and (before["left_id"], before["right_id"]) == (pair["left_id"], pair["right_id"])
            assert same == (pair["question"] == 2)  # the pair stays, on the same sides
            assert pair["wording"]["question"] == TWO[pair["question"] - 1]
            best = min if pair["question"] == 1 else max
            choice = "left" if best(pair["left_id"], pair["right_id"]) == pair["left_id"] else "right"
            taken = ask(api, "answer", lease=pair["lease"], choice=choice)
            asked.append(pair["question"])
            assert taken["progress"]["answers"] == taken["progress"]["yours"] == len(asked)  # each is an answer
            before = pair
        assert asked == [1, 2] * 28
        report_all(store)
        first, second = (
            [item["id"] for item in api.get("/api/ranking", params={"question": number}).json()["items"]]
            for number in (1, 2)
        )
        assert first == second[::-1] == [f"{row:03d}" for row in range(8)]
        for number in (1, 2):
            figures = api.get("/api/dashboard", params={"question": number}).json()
            assert (figures["answers"], figures["complete"], figures["planned"]) == (28, 28, 28)
            assert figures["report"]["answers"] == figures["report"]["people"][0]["answers"] == 28
            assert figures["doubts"][number - 1] == figures["report"]["learned"]["doubt"]
            lines = api.get("/download/ranking.csv", params={"question": number}).text.splitlines()
            assert lines[1].split(",")[1] == (first if number == 1 else second)[0]
        assert api.get("/api/dashboard").json() == api.get("/api/dashboard", params={"question": 1}).json()
        for path in ("/api/dashboard", "/api/ranking", "/dashboard", "/download/ranking.csv"):
            assert api.get(path, params={"question": 3}).status_code == 404
            assert api.get(path, params={"question": 0}).status_code == 422
        page = api.get("/dashboard", params={"question": 2}).text
        assert f"<h1>{TWO[1]}</h1>" in page
        assert page.count('href="?question=') == 2


def test_a_person_is_given_a_pair_with_all_its_questions_and_others_another(target, make):
    store = make(target, n=6, k=4, question=[*TWO, "Which is shorter?"])
    anna, ben = invite_people(store, 2)
    hers = leases.next_pair(store, anna)
    his = leases.next_pair(store, ben)
    assert (hers.question, his.question) == (0, 0)
    assert {hers.left, hers.right} != {his.left, his.right}
    held = [hers]
    for question in (1, 2):
        held.append(leases.next_pair(store, anna, [lease.token for lease in held]))
        assert (held[-1].left, held[-1].right, held[-1].question) == (hers.left, hers.right, question)
    assert pace.count_pairs(store).open_to_everyone == 2
    another = leases.next_pair(store, anna, [lease.token for lease in held])
    assert another.question == 0
    assert {another.left, another.right} not in ({hers.left, hers.right}, {his.left, his.right})


def test_who_leaves_halfway_loses_nothing_and_only_the_rest_is_asked_of_others(target, make):
    clock = Clock()
    store = make(target, n=4, k=1, clock=clock, lease_seconds=60.0, question=TWO)
    anna, ben = invite_people(store, 2)
    first = leases.next_pair(store, anna)
    assert leases.answer(store, anna, first.token, "left")
    rest = leases.next_pair(store, anna)  # the page, loaded again
    assert (rest.left, rest.right, rest.question) == (first.left, first.right, 1)
    assert leases.next_pair(store, ben) is None
    for _ in range(3):  # as long as she looks at one of them she keeps both
        clock.now += 50
        assert leases.renew(store, anna, [rest.token]) == [rest.token]
    assert leases.next_pair(store, ben) is None
    clock.now += 61
    his = leases.next_pair(store, ben)
    assert ({his.left, his.right}, his.question) == ({first.left, first.right}, 1)
    assert leases.answer(store, ben, his.token, "right")
    assert leases.next_pair(store, ben) is None
    assert [len(take_snapshot(store, question).answers) for question in (0, 1)] == [1, 1]
    assert take_snapshot(store, 0).answers["rater"].tolist() == ["p0"]


def test_all_questions_of_a_pair_are_renewed_and_released_together(target, make):
    clock = Clock()
    store = make(target, n=4, k=1, clock=clock, lease_seconds=60.0, question=TWO)
    anna, ben = invite_people(store, 2)
    first = leases.next_pair(store, anna)
    clock.now += 50
    assert leases.renew(store, anna, [first.token]) == [first.token]
    clock.now += 50
    assert leases.next_pair(store, ben) is None  # neither question is free
    leases.release(store, anna, [first.token])
    assert answer_truthfully(store, ben) == [(frozenset((first.left, first.right)), at) for at in (0, 1)]


def test_what_was_abandoned_is_taken_up_with_the_same_sides(target, make):
    clock = Clock()
    store = make(target, n=4, k=1, clock=clock, lease_seconds=60.0, question=TWO)
    (anna,) = invite_people(store, 1)
    first = leases.next_pair(store, anna)
    clock.now += 61
    again = leases.next_pair(store, anna)
    assert (again.token, again.left) == (first.token, first.left)
    second = leases.next_pair(store, anna, [again.token])
    assert (second.left, second.question) == (first.left, 1)
    with store.reading() as connection:
        assert connection.execute(sa.select(sa.func.count()).select_from(schema.leases)).scalar_one() == 2


def test_undo_goes_back_over_questions_and_pairs(target, make):
    store = make(target, n=6, k=3, question=TWO)
    (anna,) = invite_people(store, 1)
    given = []
    for _ in range(3):  # both questions of a pair, and the first of the next
        given.append(leases.next_pair(store, anna))
        leases.answer(store, anna, given[-1].token, "left")
    assert [lease.question for lease in given] == [0, 1, 0]
    for lease in reversed(given):
        again = leases.undo(store, anna, leases.progress(store, anna)["undo"])
        assert (again.left, again.right, again.question) == (lease.left, lease.right, lease.question)
        assert leases.next_pair(store, anna).token == again.token
    assert leases.progress(store, anna)["yours"] == 0
    asked = answer_truthfully(store, anna)
    assert [question for _, question in asked] == [0, 1] * 3
    assert len({pair for pair, _ in asked}) == 3


def test_a_question_that_is_skipped_or_struck_out_is_asked_of_others_alone(target, make):
    store = make(target, n=4, k=1, question=TWO)
    anna, ben, cora = invite_people(store, 3)
    for choice in ("skip", "left"):
        leases.answer(store, anna, leases.next_pair(store, anna).token, choice)
    assert [question for _, question in answer_truthfully(store, ben)] == [0]
    with store.reading() as connection:
        last = connection.execute(sa.select(sa.func.max(schema.answers.c.id))).scalar_one()
    corrections.strike(store, last)
    assert [question for _, question in answer_truthfully(store, cora)] == [0]
    corrections.exclude(store, "p0")  # whose answer to the second question is asked for again
    assert [question for _, question in answer_truthfully(store, ben)] == [1]
    assert [take_snapshot(store, at).answers["rater"].tolist() for at in (0, 1)] == [["p2"], ["p1"]]


def test_each_pair_gets_its_answers_to_each_question_from_different_people(target, make):
    store = make(target, n=6, k=5, answers_per_pair=2, question=TWO)
    three = invite_people(store, 3)
    seen = {person: answer_truthfully(store, person, 7) for person in three}
    for person in three:
        seen[person] += answer_truthfully(store, person)
    counts = Counter(asked for given in seen.values() for asked in given)
    assert sorted(counts.values()) == [2] * 10
    assert all(len(set(given)) == len(given) for given in seen.values())


def test_pairs_that_wait_are_counted_once(tmp_path, make):
    store = make(str(tmp_path / "t.db"), n=4, k=2, answers_per_pair=2, question=TWO)
    anna, _ = invite_people(store, 2)
    answer_truthfully(store, anna)
    assert describe_stuck_pairs(store) == "2 pairs wait for a second person: p1 could answer them."


def test_the_next_pairs_are_designed_for_the_question_in_most_doubt(tmp_path, make):
    """The first question is answered by a clear order, the second by coin flips."""
    store = make(str(tmp_path / "t.db"), n=10, k=30, question=TWO)
    (anna,) = invite_people(store, 1)
    rng = np.random.default_rng(0)
    while (lease := leases.next_pair(store, anna)) is not None:
        choice = truthfully(lease) if lease.question == 0 else str(rng.choice(["left", "right"]))
        leases.answer(store, anna, lease.token, choice)
    snapshots = [take_snapshot(store, at) for at in (0, 1)]
    doubts = [fit_model(snapshot).certainty(snapshot.features)[0] for snapshot in snapshots]
    assert doubts[0] < doubts[1]
    for order in (snapshots, snapshots[::-1]):
        assert rounds.choose_question(order, "order")[0].question == 1
    report_all(store)
    reported = dashboard.last_doubts(store)
    assert reported[0] < reported[1]
    before = len(snapshots[0].planned)
    assert planning.plan_round(store, 5)
    for at in (0, 1):
        assert len(take_snapshot(store, at).planned) == before + 5
    assert [question for _, question in answer_truthfully(store, anna)] == [0, 1] * 5


def test_the_worker_reports_on_every_question(tmp_path, make, monkeypatch):
    store = make(str(tmp_path / "t.db"), n=6, k=15, question=TWO)
    answer_truthfully(store, invite_people(store, 1)[0])
    rest = time.sleep

    def pause(_seconds):
        rest(0.1)  # the report is made meanwhile
        if None not in dashboard.last_doubts(store):
            raise KeyboardInterrupt

    monkeypatch.setattr(worker.time, "sleep", pause)
    with pytest.raises(KeyboardInterrupt):
        worker.watch(store, planning.Planner(store))
    first, second = ([row[0] for row in dashboard.last_ranking(store, at)] for at in (0, 1))
    assert first == second[::-1] == list(range(6))
    assert [dashboard.last_report(store, at)["people"][0]["answers"] for at in (0, 1)] == [15, 15]


@pytest.mark.parametrize("objective", sorted(CRITERIA))
def test_rounds_are_planned_by_every_criterion(tmp_path, make, objective):
    store = make(str(tmp_path / "t.db"), n=6, k=3, objective=objective, question=TWO)
    answer_truthfully(store, invite_people(store, 1)[0])
    assert planning.plan_round(store)
    assert len(take_snapshot(store, 1).planned) == 6


def test_pairs_that_are_asked_again_come_with_all_questions(tmp_path, make):
    store = make(str(tmp_path / "t.db"), n=4, k=6, answers_per_pair="auto", question=TWO)
    anna, ben = invite_people(store, 2)
    answer_truthfully(store, anna, 10)
    answer_truthfully(store, ben)
    assert planning.plan_round(store, 3)
    asked = answer_truthfully(store, anna) + answer_truthfully(store, ben)
    assert Counter(question for _, question in asked) == {0: 3, 1: 3}
    assert not planning.plan_round(store) or sum(len(answer_truthfully(store, person)) for person in (anna, ben)) > 0


def test_a_newcomer_is_asked_again_with_all_questions(target, make):
    store = make(target, n=3, k=3, answers_per_pair="auto", question=TWO)
    anna, ben = invite_people(store, 2)
    answer_truthfully(store, anna)
    first = leases.next_pair(store, ben)
    second = leases.next_pair(store, ben, [first.token])
    assert (first.question, second.question) == (0, 1)
    assert (first.left, first.right) == (second.left, second.right)


def test_a_bound_on_doubt_holds_when_it_holds_for_each_question(target, make):
    store = make(target, n=4, k=6, question=TWO, goals=Goals(until=0.1))

    def reported(*found):
        dashboard.save_report(store, *({"answers": given, "learned": {"doubt": doubt}} for given, doubt in found))
        return goals.is_over(store)

    assert not reported((50, 0.05), (50, 0.2))
    assert not reported((50, 0.2), (50, 0.05))
    assert not reported((50, 0.05), (39, 0.05))  # too few to be believed
    assert not reported((50, 0.05), (0, None))
    assert goals.described(store)["goals"] == ["until doubt of each question is below 10% (known after 40 answers)"]
    assert reported((50, 0.05), (50, 0.09))
    assert goals.described(store)["goals"] == ["until doubt of each question is below 10% (9.0% now)"]


def test_a_budget_counts_the_answer_to_each_question(target, make):
    store = make(target, n=6, k=10, question=TWO, goals=Goals(answers=6, quota=4))
    anna, ben = invite_people(store, 2)
    assert len(answer_truthfully(store, anna)) == 4
    assert goals.ending(store, anna) == "quota"
    assert len(answer_truthfully(store, ben)) == 2
    assert goals.ending(store, ben) == "answers"
    assert goals.described(store)["goals"][0] == "6 of 6 answers to all questions"


def test_all_possible_pairs_are_known_to_be_answered(target, make):
    store = make(target, n=3, k=3, question=TWO)
    (anna,) = invite_people(store, 1)
    answer_truthfully(store, anna, 5)
    assert goals.ending(store, anna) is None
    answer_truthfully(store, anna)
    assert goals.ending(store, anna) == "exhausted"
