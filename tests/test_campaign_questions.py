"""Several questions on the same items: asked of each pair one after the other, a ranking for each."""

import time
from collections import Counter

import numpy as np
import pandas as pd
import pytest
import sqlalchemy as sa

from campaigns import CREATE, Clock, answer_next, answers_of, ask, client_of, invite_people, version_1
from pairsmith.campaign import (
    answers,
    corrections,
    dashboard,
    exchange,
    goals,
    gold,
    leases,
    pace,
    people,
    planning,
    schema,
    wordings,
    worker,
)
from pairsmith.campaign.goals import Goals
from pairsmith.campaign.judge import enrol, judge
from pairsmith.campaign.learning import fit_model
from pairsmith.campaign.report import make_report
from pairsmith.campaign.snapshot import take_snapshot
from pairsmith.campaign.store import Store
from pairsmith.campaign.waits import waits
from pairsmith.criteria import CRITERIA

TWO = ["Which is better written?", "Which is funnier?"]


def truthfully(lease):
    """To the first question the item of the smaller row is the better, to the second that of the greater."""
    smaller = "left" if lease.left < lease.right else "right"
    return smaller if lease.question == 0 else {"left": "right", "right": "left"}[smaller]


def answer_all(store, person, most=10**6):
    """Everything that this person is given, in order: (pair, question) each."""
    asked = []
    while len(asked) < most and (lease := leases.next_pair(store, person)) is not None:
        assert leases.answer(store, person, lease.token, truthfully(lease), 1.0)
        asked.append((frozenset((lease.left, lease.right)), lease.question))
    return asked


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
    assert pace.waiting(store).free == 2
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
    assert take_snapshot(store, 0).answers["labeller"].tolist() == ["p0"]


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
    assert answer_all(store, ben) == [(frozenset((first.left, first.right)), at) for at in (0, 1)]


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
    asked = answer_all(store, anna)
    assert [question for _, question in asked] == [0, 1] * 3
    assert len({pair for pair, _ in asked}) == 3


def test_a_question_that_is_skipped_or_struck_out_is_asked_of_others_alone(target, make):
    store = make(target, n=4, k=1, question=TWO)
    anna, ben, cora = invite_people(store, 3)
    for choice in ("skip", "left"):
        leases.answer(store, anna, leases.next_pair(store, anna).token, choice)
    assert [question for _, question in answer_all(store, ben)] == [0]
    with store.reading() as connection:
        last = connection.execute(sa.select(sa.func.max(schema.answers.c.id))).scalar_one()
    corrections.strike(store, last)
    assert [question for _, question in answer_all(store, cora)] == [0]
    corrections.exclude(store, "p0")  # whose answer to the second question is asked for again
    assert [question for _, question in answer_all(store, ben)] == [1]
    assert [take_snapshot(store, at).answers["labeller"].tolist() for at in (0, 1)] == [["p2"], ["p1"]]


def test_each_pair_gets_its_answers_to_each_question_from_different_people(target, make):
    store = make(target, n=6, k=5, answers_per_pair=2, question=TWO)
    three = invite_people(store, 3)
    seen = {person: answer_all(store, person, 7) for person in three}
    for person in three:
        seen[person] += answer_all(store, person)
    counts = Counter(asked for given in seen.values() for asked in given)
    assert sorted(counts.values()) == [2] * 10
    assert all(len(set(given)) == len(given) for given in seen.values())


def test_pairs_that_wait_are_counted_once(tmp_path, make):
    store = make(str(tmp_path / "t.db"), n=4, k=2, answers_per_pair=2, question=TWO)
    anna, _ = invite_people(store, 2)
    answer_all(store, anna)
    assert waits(store) == "2 pairs wait for a second person: p1 could answer them."


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
        assert planning.most_doubtful(order)[0].question == 1
    report_all(store)
    reported = dashboard.last_doubts(store)
    assert reported[0] < reported[1]
    before = len(snapshots[0].planned)
    assert planning.plan_round(store, 5)
    for at in (0, 1):
        assert len(take_snapshot(store, at).planned) == before + 5
    assert [question for _, question in answer_all(store, anna)] == [0, 1] * 5


def test_the_worker_reports_on_every_question(tmp_path, make, monkeypatch):
    store = make(str(tmp_path / "t.db"), n=6, k=15, question=TWO)
    answer_all(store, invite_people(store, 1)[0])
    rest = time.sleep

    def pause(_seconds):
        rest(0.01)
        if None not in dashboard.last_doubts(store):
            raise KeyboardInterrupt

    monkeypatch.setattr(worker.time, "sleep", pause)
    with pytest.raises(KeyboardInterrupt):
        worker.watch(store)
    first, second = ([row[0] for row in dashboard.last_ranking(store, at)] for at in (0, 1))
    assert first == second[::-1] == list(range(6))
    assert [dashboard.last_report(store, at)["people"][0]["answers"] for at in (0, 1)] == [15, 15]


@pytest.mark.parametrize("objective", sorted(CRITERIA))
def test_rounds_are_planned_by_every_criterion(tmp_path, make, objective):
    store = make(str(tmp_path / "t.db"), n=6, k=3, objective=objective, question=TWO)
    answer_all(store, invite_people(store, 1)[0])
    assert planning.plan_round(store)
    assert len(take_snapshot(store, 1).planned) == 6


def test_pairs_that_are_asked_again_come_with_all_questions(tmp_path, make):
    store = make(str(tmp_path / "t.db"), n=4, k=6, answers_per_pair="auto", question=TWO)
    anna, ben = invite_people(store, 2)
    answer_all(store, anna, 10)
    answer_all(store, ben)
    assert planning.plan_round(store, 3)
    asked = answer_all(store, anna) + answer_all(store, ben)
    assert Counter(question for _, question in asked) == {0: 3, 1: 3}
    assert not planning.plan_round(store) or sum(len(answer_all(store, person)) for person in (anna, ben)) > 0


def test_a_newcomer_is_asked_again_with_all_questions(target, make):
    store = make(target, n=3, k=3, answers_per_pair="auto", question=TWO)
    anna, ben = invite_people(store, 2)
    answer_all(store, anna)
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
    assert len(answer_all(store, anna)) == 4
    assert goals.ending(store, anna) == "quota"
    assert len(answer_all(store, ben)) == 2
    assert goals.ending(store, ben) == "answers"
    assert goals.described(store)["goals"][0] == "6 of 6 answers to all questions"


def test_all_possible_pairs_are_known_to_be_answered(target, make):
    store = make(target, n=3, k=3, question=TWO)
    (anna,) = invite_people(store, 1)
    answer_all(store, anna, 5)
    assert goals.ending(store, anna) is None
    answer_all(store, anna)
    assert goals.ending(store, anna) == "exhausted"


def test_gold_is_of_one_question_and_asked_with_all(tmp_path, make, run):
    store = make(str(tmp_path / "t.db"), n=6, k=3, question=TWO)
    planned = {tuple(pair) for pair in take_snapshot(store).planned.tolist()}
    known = next((i, j) for i in range(6) for j in range(i + 1, 6) if (i, j) not in planned)
    assert gold.know(store, {known: -1}, 0.5, question=1) == 1
    (anna,) = invite_people(store, 1)
    asked = answer_all(store, anna)
    assert [question for pair, question in asked if pair == frozenset(known)] in ([], [0, 1])
    assert len(asked) in (6, 8)
    for _ in range(20):  # until chance has it
        if (frozenset(known), 1) in asked:
            break
        planning.plan_round(store)
        asked += answer_all(store, anna)
    with store.reading() as connection:
        assert gold.right_and_asked(connection, 1) == {"p0": (1, 1)}  # the second question: the greater row
        assert gold.right_and_asked(connection, 0) == {}
    (tmp_path / "gold.csv").write_text("winner,loser\n000,001\n")
    assert run("campaign", "gold", store.target, str(tmp_path / "gold.csv"))[2].startswith(
        f"Error: {store.target} asks 2 questions; say which with --question: 1 (Which is better written?), 2 (Which is"
    )
    assert run("campaign", "gold", store.target, str(tmp_path / "gold.csv"), "--question", "2")[0] == 0


def test_answers_go_out_and_come_back_with_their_question(target, tmp_path, make):
    store = make(target, n=5, k=6, question=TWO, comments=True)
    anna, ben = invite_people(store, 2)
    answer_all(store, anna, 7)
    answer_all(store, ben)
    again = make(str(tmp_path / "again.db"), n=5, k=6, question=TWO, comments=True)
    for kind in ("csv", "jsonl"):
        path, back = tmp_path / f"a.{kind}", tmp_path / f"b.{kind}"
        exchange.export_answers(store, kind, path)
        count, new = exchange.import_answers(again, path)
        assert (count, new) == (11, 11 if kind == "csv" else 0)  # one that anna holds is not answered
        exchange.export_answers(again, kind, back)
        assert back.read_text() == path.read_text()
    table = pd.read_csv(tmp_path / "a.csv")
    assert table["question"].value_counts().to_dict() == {1: 6, 2: 5}
    for at in (0, 1):
        rows = take_snapshot(again, at).answers[["first", "second", "outcome"]]
        assert (rows["outcome"] == 1 - 2 * at).all()
        exchange.export_answers(store, "csv", tmp_path / "one.csv", question=at)
        assert (pd.read_csv(tmp_path / "one.csv")["question"] == at + 1).all()
    assert leases.progress(again, people.local_person(again))["wanted"] == leases.progress(store, anna)["wanted"]


@pytest.mark.parametrize("kind", ["choix", "label-studio", "dpo", "argilla"])
def test_formats_without_a_place_for_the_question_want_one(tmp_path, make, kind):
    store = make(str(tmp_path / "t.db"), n=5, k=6, question=TWO)
    answer_all(store, invite_people(store, 1)[0])
    path = tmp_path / "a.json"
    with pytest.raises(ValueError, match="say which one to export with --question"):
        exchange.export_answers(store, kind, path)
    found = []
    for at in (0, 1):
        exchange.export_answers(store, kind, path, question=at)
        found.append(path.read_text())
    assert found[0] != found[1]
    if kind == "label-studio":
        assert TWO[1] in (tmp_path / "a.xml").read_text()
        other = make(str(tmp_path / "other.db"), n=5, k=6, question=TWO)
        with pytest.raises(ValueError, match="does not say which question its answers are to"):
            exchange.import_answers(other, path)
        assert exchange.import_answers(other, path, 1) == (6, 6)
        given = take_snapshot(other, 1).answers
        assert (len(given), len(take_snapshot(other).answers)) == (6, 0)
        assert (given["outcome"] == -1).all()


@pytest.mark.parametrize("number", ["3", "0", "x", "1.5"])
def test_a_question_that_is_not_asked_is_refused(tmp_path, make, number):
    store = make(str(tmp_path / "t.db"), question=TWO)
    (tmp_path / "a.csv").write_text(f"winner,loser,question\n000,001,1\n000,002,{number}\n")
    with pytest.raises(
        ValueError, match=f"row 2 is to the question '{number}'; this campaign has the questions 1 to 2"
    ):
        exchange.import_answers(store, tmp_path / "a.csv")
    single = make(str(tmp_path / "single.db"))
    if number in ("3", "1.5"):
        with pytest.raises(ValueError, match="this campaign has one question"):
            exchange.import_answers(single, tmp_path / "a.csv")
    else:  # a column of that name was never read
        assert exchange.import_answers(single, tmp_path / "a.csv") == (2, 2)


def test_imported_answers_to_one_question_leave_the_other_to_be_asked(target, make):
    store = make(target, n=6, k=2, question=TWO)
    planned = {tuple(pair) for pair in take_snapshot(store).planned.tolist()}
    new = next((i, j) for i in range(6) for j in range(i + 1, 6) if (i, j) not in planned)
    given = answers_of([new], question=1)
    assert answers.add(store, given) == 1
    assert answers.add(store, given) == 0
    asked = answer_all(store, invite_people(store, 1)[0])
    assert [question for pair, question in asked if pair == frozenset(new)] == [0]


def test_a_judge_answers_all_questions_and_leaves_none_behind(tmp_path, make):
    store = make(str(tmp_path / "t.db"), n=5, k=4, question=TWO)
    said = []

    def reply(pair):
        said.append(pair["question"])
        return "left" if (pair["left"]["id"] < pair["right"]["id"]) == (pair["question"] == TWO[0]) else "right"

    bot, (anna,) = enrol(store, "bot"), invite_people(store, 1)
    assert judge(store, bot, reply, most=3).answers == 3
    assert said == [*TWO, TWO[0]]
    assert answer_all(store, anna, 1)[0][1] == 1  # the rest of the judge's second pair is free at once
    judge(store, bot, reply)
    assert (take_snapshot(store, 0).answers["outcome"] == 1).all()
    assert (take_snapshot(store, 1).answers["outcome"] == -1).all()
    assert len(take_snapshot(store, 0).answers) == len(take_snapshot(store, 1).answers) == 4


def test_each_question_is_edited_by_itself_and_every_version_kept(target, make, run):
    store = make(target, n=4, k=6, question=TWO)
    (anna,) = invite_people(store, 1)
    first, second = leases.next_pair(store, anna), None
    second = leases.next_pair(store, anna, [first.token])
    assert wordings.edit(store, " Which made you laugh? ", which=1) == (2, "Which made you laugh?", "")
    assert wordings.questions(store) == [TWO[0], "Which made you laugh?"]
    assert store.wording(second.wording, 1).question == TWO[1]  # as it is on the screen
    leases.answer(store, anna, first.token, "left")
    again = leases.next_pair(store, anna)  # loaded again
    assert store.wording(again.wording, again.question) == (2, "Which made you laugh?", "")
    with pytest.raises(ValueError, match="'Which is better written\\?' is there twice"):
        wordings.edit(store, TWO[0], which=1)
    wordings.edit(store, instructions="Look.", which=0)
    assert [wordings.current(store, at).instructions for at in (0, 1)] == ["Look.", "Look."]
    if "postgresql" in target:
        return
    assert "say which with --number" in run("campaign", "edit", target, "--question", "Which?")[2]
    assert run("campaign", "edit", target, "--question", "Which?", "--number", "1")[0] == 0
    assert wordings.questions(store) == ["Which?", "Which made you laugh?"]
    assert run("campaign", "edit", target, "--number", "1", "--instructions", "x.md")[0] == 2
    with client_of(store) as api:
        assert ask(api, "wording", question="Which now?", number=2) == {"number": 5}
        assert api.post("/api/wording", json={"question": "Which?", "number": 3}).status_code == 404
        assert "Which now?" in api.get("/answers/1").text or TWO[0] in api.get("/answers/1").text


@pytest.mark.parametrize(
    ("asked", "wrong"),
    [
        (["Which?", " Which? "], "the question 'Which?' is there twice"),
        (["Which?", " "], "question is empty"),
        ([f"Which {at}?" for at in range(10)], "10 questions cannot be asked of each pair; ask 1 to 9"),
    ],
)
def test_what_cannot_be_asked_is_refused_in_one_line(folder, run, asked, wrong):
    words = [word for question in asked for word in ("--question", question)]
    code, _, err = run(*CREATE[:-2], *words)
    assert code == 2
    assert err.startswith(f"Error: {wrong}")
    assert err.count("\n") == 1
    assert not (folder / "c.db").exists()


def test_labels_do_not_say_which_question_they_answer(folder, run):
    (folder / "labels.csv").write_text("id,label\nitem 0,1\nitem 1,-1\n")
    code, _, err = run(*CREATE, "--question", TWO[1], "--labels", "labels.csv")
    assert (code, err.startswith("Error: labels do not say which of several questions they answer")) == (2, True)


def test_commands_want_to_know_which_question(folder, run):
    assert run(*CREATE[:-2], "--question", TWO[0], "--question", TWO[1])[0] == 0
    with Store("c.db") as store:
        answer_all(store, invite_people(store, 1)[0])
    for command in (["rank", "c.db"], ["fit", "c.db", "-o", "m.json"], ["campaign", "raters", "c.db"],
                    ["plan", "c.db", "--more", "5", "--simulations", "2"], ["select", "c.db", "-k", "2"],
                    ["campaign", "export", "c.db", "--format", "choix"]):  # fmt: skip
        code, _, err = run(*command)
        assert (code, "asks 2 questions; say which with --question" in err) == (2, True), command
        code, _, err = run(*command, "--question", "3")
        assert (code, "--question 3: c.db asks 1 (" in err) == (2, True), command
        assert run(*command, "--question", "2")[0] == 0, command
    first, second = (run("rank", "c.db", "--question", number)[1].splitlines()[1:] for number in "12")
    order = [[line.split(",")[1] for line in lines] for lines in (first, second)]
    assert order[0] == order[1][::-1]
    assert run("rank", "c.db", "m.json")[1].splitlines()[1:] == second  # fitted to the second
    assert "leave it out" in run("rank", "items.csv", "m.json", "--question", "1")[2]


def test_comments_say_to_which_question(tmp_path, make, run):
    store = make(str(tmp_path / "t.db"), n=4, k=1, question=TWO, comments=True)
    (anna,) = invite_people(store, 1)
    for note in ("one", "two"):
        leases.answer(store, anna, leases.next_pair(store, anna).token, "left", comment=note)
    lines = run("campaign", "comments", store.target)[1].splitlines()
    assert [line.split(", ", 2)[2] for line in lines] == ["question 1, left: one", "question 2, left: two"]


def test_a_campaign_of_an_earlier_version_has_one_question(target, make):
    version_1(target, [(0, 1, 1, 0)])
    with Store(target) as store:
        assert store.settings.questions == ["?"]
        assert take_snapshot(store).answers["question"].tolist() == [0]
        assert planning.plan_round(store)
        answer_next(store)
        assert wordings.edit(store, "Which?").number == 2
        assert wordings.questions(store) == ["Which?"]
        with store.reading() as connection:
            assert set(connection.execute(sa.select(schema.pairs.c.question)).scalars()) == {0}
