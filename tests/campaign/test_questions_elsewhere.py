"""Several questions beyond the rating page: gold pairs, files, judges, commands, and campaigns made before."""

import pandas as pd
import pytest

from pairsmith.campaign.answering import gold, leases
from pairsmith.campaign.exchange import files as exchange
from pairsmith.campaign.judging.judge import enrol, judge
from pairsmith.campaign.people import invites as people
from pairsmith.campaign.planning import planner as planning
from pairsmith.campaign.store import answers, wordings
from pairsmith.campaign.store.snapshot import take_snapshot
from pairsmith.campaign.store.store import Store
from support.campaigns import (
    CREATE,
    answer_truthfully,
    answers_of,
    ask,
    client_of,
    invite_people,
)

TWO = ["Which is better written?", "Which is funnier?"]


def test_gold_is_of_one_question_and_asked_with_all(tmp_path, make, run):
    store = make(str(tmp_path / "t.db"), n=6, k=3, question=TWO)
    planned = {tuple(pair) for pair in take_snapshot(store).planned.tolist()}
    known = next((i, j) for i in range(6) for j in range(i + 1, 6) if (i, j) not in planned)
    assert gold.know(store, {known: -1}, 0.5, question=1) == 1
    (anna,) = invite_people(store, 1)
    asked = answer_truthfully(store, anna)
    assert [question for pair, question in asked if pair == frozenset(known)] in ([], [0, 1])
    assert len(asked) in (6, 8)
    for _ in range(20):  # until chance has it
        if (frozenset(known), 1) in asked:
            break
        planning.plan_round(store)
        asked += answer_truthfully(store, anna)
    with store.reading() as connection:
        assert gold.score_raters(connection, 1) == {"p0": (1, 1)}  # the second question: the greater row
        assert gold.score_raters(connection, 0) == {}
    (tmp_path / "gold.csv").write_text("winner,loser\n000,001\n")
    assert run("campaign", "gold", store.target, str(tmp_path / "gold.csv"))[2].startswith(
        f"Error: {store.target} asks 2 questions; say which with --question: 1 (Which is better written?), 2 (Which is"
    )
    assert run("campaign", "gold", store.target, str(tmp_path / "gold.csv"), "--question", "2")[0] == 0


def test_answers_go_out_and_come_back_with_their_question(target, tmp_path, make):
    store = make(target, n=5, k=6, question=TWO, comments=True)
    anna, ben = invite_people(store, 2)
    answer_truthfully(store, anna, 7)
    answer_truthfully(store, ben)
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
    assert leases.progress(again, people.local_rater(again))["wanted"] == leases.progress(store, anna)["wanted"]


@pytest.mark.parametrize("kind", ["choix", "label-studio", "dpo", "argilla"])
def test_formats_without_a_place_for_the_question_want_one(tmp_path, make, kind):
    store = make(str(tmp_path / "t.db"), n=5, k=6, question=TWO)
    answer_truthfully(store, invite_people(store, 1)[0])
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
    assert answers.add_answers(store, given) == 1
    assert answers.add_answers(store, given) == 0
    asked = answer_truthfully(store, invite_people(store, 1)[0])
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
    assert answer_truthfully(store, anna, 1)[0][1] == 1  # the rest of the judge's second pair is free at once
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
        (["Which?", " Which? "], "--question 'Which?' is there twice"),
        (["Which?", " "], "--question is empty"),
        ([f"Which {at}?" for at in range(10)], "--question must be 1 to 9 for each pair, got 10"),
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
        answer_truthfully(store, invite_people(store, 1)[0])
    for command in (["rank", "c.db"], ["fit", "c.db", "-o", "m.json"], ["campaign", "raters", "c.db"],
                    ["forecast", "c.db", "--more", "5", "--simulations", "2"], ["select", "c.db", "-k", "2"],
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
