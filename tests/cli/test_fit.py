"""pairsmith fit."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import pairsmith as ps
from pairsmith.files.items import read_items
from support.commands import refused

pytestmark = pytest.mark.usefixtures("samples")


@pytest.fixture
def rated(answered, tmp_path):
    """The same answers in rated.csv, by three people: what was shown left is known, and `dice` throws them."""
    table = pd.read_csv("outcomes.csv", dtype=str)
    rng = np.random.default_rng(5)
    table["left"] = np.where(rng.random(len(table)) < 0.5, table["first"], table["second"])
    everyone = [table.assign(rater=name) for name in ("anna", "ben", "dice")]
    everyone[2]["outcome"] = rng.choice(["1", "-1"], len(table))
    pd.concat(everyone).to_csv("rated.csv", index=False)
    return answered


def test_fit_tells_what_was_learned_and_rank_how_sure_it_is(run, answered):
    code, out, err = run("fit items.csv outcomes.csv -o model.json --labels labels.csv")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == "Fitted to 40 answers and 2 labels about 12 items."
    shares = [int(share) for share in re.findall(r"(\d+)%", lines[1])]
    assert lines[1].startswith("Features explain ")
    assert abs(shares[0] - shares[1] - shares[2]) <= 1 >= abs(shares[0] + shares[3] - 100)
    model = ps.BradleyTerryGP.load("model.json")
    assert lines[2] == (
        f"Doubt {model.doubt_:.1%}, the chance that two items stand in the wrong order; reliability"
        f" {model.reliability_:.2f}."
    )
    right, loss = re.fullmatch(
        r"Each answer predicted by all the others: (\d+)% right, log loss (0\.\d+) \(0\.693 by guessing\)\.", lines[3]
    ).groups()
    assert int(right) > 70
    assert float(loss) < 0.693
    assert lines[4:] == ["Wrote model.json"]
    code, _, err = run("rank items.csv model.json -o ranking.csv --plot ranking.png --top 3")
    assert (code, err) == (0, "")
    assert Path("ranking.png").stat().st_size > 5000
    ranking = pd.read_csv("ranking.csv", dtype={"id": str})
    columns = ["rank", "id", "score", "error", "low", "high", "above_next", "best", "worst", "in_top"]
    assert list(ranking.columns) == columns
    assert np.corrcoef([list(answered).index(name) for name in ranking.id], range(12))[0, 1] > 0.9
    assert ranking.in_top.sum() == pytest.approx(3)
    assert ((ranking.best <= ranking["rank"]) & (ranking["rank"] <= ranking.worst)).all()
    assert run("rank items.csv model.json")[1].splitlines()[0] == ",".join(columns[:-1])
    assert refused(run("rank items.csv model.json --top 13"), "top must be a number of items from 1 to 12, got 13")


def test_who_answered_counts_and_is_told(run, rated):
    code, out, err = run("fit items.csv rated.csv -o model.json")
    assert (code, err) == (0, "")
    rows = {row.split()[1]: row.split() for row in out.splitlines() if row.startswith("│")}
    assert rows.keys() == {"anna", "ben", "dice"}
    slope = {name: float(row[5]) for name, row in rows.items()}
    assert slope["dice"] < slope["anna"]
    assert rows["dice"][3] == "40"
    named = pd.read_csv("rated.csv", dtype=str).rename(columns={"rater": "rater"})
    named.to_csv("exported.csv", index=False)  # as campaigns call them
    assert run("fit items.csv exported.csv -o other.json")[1].replace("other.json", "model.json") == out
    assert refused(run("fit items.csv rated.csv outcomes.csv -o m.json"), "outcomes.csv has no column rater, which")
    named.assign(rater=["", *named.rater[1:]]).to_csv("gap.csv", index=False)
    assert refused(run("fit items.csv gap.csv -o m.json"), "row 1 has nothing in column 'rater'")
    named.assign(left="004").to_csv("left.csv", index=False)
    assert refused(run("fit items.csv left.csv -o m.json"), "names an item as left that is neither of the two")


def test_winners_are_not_taken_for_what_was_shown_first(run, answered):
    """In a table of winners and losers the winner is first, always: that is no preference for a side."""
    won = pd.read_csv("won.csv", dtype=str)
    won.assign(rater=["anna", "ben"] * 20).to_csv("rated_won.csv", index=False)
    code, out, _ = run("fit items.csv rated_won.csv -o model.json")
    assert code == 0
    assert [row.split()[9] for row in out.splitlines() if row.startswith("│")] == ["–", "–"]  # no bias
    ranking = ps.BradleyTerryGP.load("model.json").rank(read_items(Path("items.csv")).features)
    assert np.corrcoef([list(answered).index(name) for name in ranking.index], range(12))[0, 1] > 0.9


def test_items_without_features_are_ranked_by_their_answers(run, answered):
    pd.read_csv("items.csv", dtype=str)[["id"]].assign(note="some words").to_csv("notes.csv", index=False)
    assert refused(run("fit notes.csv outcomes.csv -o bare.json"), "has the value 'some words' in column 'note'")
    code, out, err = run("fit notes.csv outcomes.csv -o bare.json --no-features")
    assert (code, err) == (0, "")
    assert "There are no features: each item's score is its own." in out
    _, ranking, err = run("rank notes.csv bare.json")
    assert err == ""
    assert run("rank items.csv bare.json")[1] == ranking  # its columns are of no use to this model
    pd.read_csv("items.csv", dtype=str)[["id"]].to_csv("ids.csv", index=False)
    assert run("fit ids.csv outcomes.csv -o ids.json")[0] == 0
    assert run("rank ids.csv ids.json")[1] == ranking
    Path("more.csv").write_text(Path("ids.csv").read_text() + "new\n")
    assert refused(run("rank more.csv bare.json"), "item 'new' was not there when the model was fitted, and without")
    for line in ("--no-features --features f_*", "--no-features --linear", "--no-features --ridge 1"):
        assert refused(run(f"fit items.csv outcomes.csv -o m.json {line}"), "--no-features leaves nothing for")
    assert refused(run("fit ids.csv outcomes.csv -o m.json --linear"), "there are no feature columns besides 'id'")


def test_islands_are_said_once(run):
    Path("apart.csv").write_text("winner,loser\n000,001\n001,002\n005,006\n006,005\n")
    code, _, err = run("fit items.csv apart.csv -o model.json")
    assert code == 0
    assert err.startswith("Warning: the answers leave the items in 2 islands that were never compared with each other")
    assert err.count("\n") == 1


def test_answers_in_every_form_say_the_same(run, answered):
    models = []
    for name in ("outcomes", "words", "named", "won"):
        assert run(f"fit items.csv {name}.csv -o {name}.json --ridge 0.1")[0] == 0
        models.append(json.loads(Path(f"{name}.json").read_text())["coef"])
    np.testing.assert_allclose(models, [models[0]] * 4, rtol=1e-6)
    code, out, _ = run("fit items.csv outcomes.csv words.csv -o both.json --linear")
    assert code == 0
    assert "Fitted to 80 answers" in out
    assert "AUC" in out
    half = pd.read_csv("outcomes.csv", dtype=str)
    half.loc[20:, "outcome"] = None
    half.to_csv("half.csv", index=False)
    assert "Fitted to 20 answers" in run("fit items.csv half.csv -o half.json --ridge 1")[1]


def test_a_ridge_chosen_by_hardly_anything_is_said_to_be(run, answered):
    pd.read_csv("outcomes.csv", dtype=str).head(6).to_csv("few.csv", index=False)
    code, out, err = run("fit items.csv few.csv -o few.json --linear")
    assert code == 0
    held = int(re.search(r"chosen by (\d+) held out: log likelihood -\d\.\d{3} each", out).group(1))
    assert 0 < held <= 6
    assert err.startswith(f"Warning: only {held} of the answers and labels could be held out")
    assert err.count("\n") == 1
    pd.concat([pd.read_csv("outcomes.csv", dtype=str)] * 20).to_csv("many.csv", index=False)
    assert run("fit items.csv many.csv -o many.json --linear")[2] == ""


@pytest.mark.slow
def test_of_two_words_somebody_has_to_say_which_is_better(run, answered):
    best = list(answered)
    Path("numbers.csv").write_text(
        "id,label\n" + "".join(f"{name},{1 if at < 6 else -1}\n" for at, name in enumerate(best))
    )
    Path("words.csv").write_text(
        "id,label\n" + "".join(f"{name},{'high' if at < 6 else 'low'}\n" for at, name in enumerate(best))
    )
    Path("one.csv").write_text(f"winner,loser\n{best[0]},{best[-1]}\n")
    for how in ("--ridge 0.1", "--linear"):
        fit = f"fit items.csv outcomes.csv -o model.json {how}"
        assert run(f"{fit} --labels numbers.csv")[0] == 0
        right = json.loads(Path("model.json").read_text())
        code, _, _ = run(f"{fit} --labels words.csv --better high")
        told = json.loads(Path("model.json").read_text())
        assert code == 0
        assert (told["coef"], told["classes"]) == (right["coef"], ["low", "high"])
        assert run(f"{fit} --labels numbers.csv --better -1")[0] == 0
        assert json.loads(Path("model.json").read_text())["classes"] == [1, -1]
    Path("model.json").unlink()
    known = "--labels words.csv --objective entropy"
    right = run("select items.csv -k 3 --labels numbers.csv --objective entropy")
    assert run(f"select items.csv -k 3 {known} --better high") == right
    words = "'high' and 'low' are words, and nothing says which is the better; name it, for example 'high'"
    for line, message in (
        ("fit items.csv one.csv -o model.json --ridge 1 --labels words.csv", words),
        ("fit items.csv one.csv -o model.json --labels words.csv", words),
        (f"select items.csv -k 3 {known}", words),
        (f"select items.csv -k 3 {known} --better good", "--better='good' is none of the labels, which are 'high' and"),
        ("fit items.csv one.csv -o model.json --ridge 1 --labels numbers.csv --better 3", "none of the labels"),
        ("fit items.csv one.csv -o model.json --ridge 1 --better high", "--better names one of the labels of --labels"),
        ("select items.csv -k 3 --better high", "--better names one of the labels of --labels"),
    ):
        assert refused(run(line), message), line
    assert not Path("model.json").exists()
    assert run("select items.csv -k 3 --labels words.csv")[0] == 0  # d-optimality does not look at labels


def test_rows_without_an_outcome_and_items_with_both_labels_are_told(run, answered):
    answers = pd.read_csv("outcomes.csv", dtype=str)
    answers.assign(outcome=["", None, *answers.outcome[2:]]).to_csv("partly.csv", index=False)
    labels = pd.read_csv("labels.csv", dtype=str)
    other = labels.iloc[[0]].assign(label=labels.label[1])
    pd.concat([labels, other]).to_csv("both.csv", index=False)
    code, out, err = run("fit items.csv partly.csv -o model.json --labels both.csv")
    assert (code, err) == (0, "")
    assert out.splitlines()[:3] == [
        "Left out 2 rows without an outcome.",
        "1 item with both labels: all of them count.",
        "Fitted to 38 answers and 3 labels about 12 items.",
    ]
    assert "both labels" not in run("fit items.csv outcomes.csv -o model.json --labels labels.csv")[1]


def test_wins_of_the_first_and_ties_are_what_the_file_says(run, answered):
    answers = pd.read_csv("outcomes.csv", dtype=str).head(12)
    answers.assign(outcome=["1", "0"] * 6).to_csv("coded.csv", index=False)
    answers.assign(outcome=["first", "tie"] * 6).to_csv("words.csv", index=False)
    for line in (
        "fit items.csv coded.csv -o m.json",
        "fit items.csv coded.csv -o m.json --linear",
        "forecast items.csv coded.csv",
        "select items.csv -k 2 --answers coded.csv --objective order",
    ):
        assert refused(run(line), "coded.csv: column 'outcome' holds 0 and 1 but no -1, and 0 means a tie; write -1")
        assert run(line.replace("coded", "words"))[0] == 0
