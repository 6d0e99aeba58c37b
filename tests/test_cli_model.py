"""pairsmith fit and rank."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from test_cli import refused

pytestmark = pytest.mark.usefixtures("samples")


def test_fit_and_rank(run, answered):
    code, out, err = run("fit items.csv outcomes.csv -o model.json --ridge 0.1 --labels labels.csv")
    assert (code, err) == (0, "")
    assert "Fitted to 40 answers and 2 labels (ridge 0.1)" in out
    code, out, err = run("rank items.csv model.json -o ranking.csv --plot ranking.png")
    assert code == 0
    assert "not what features do not explain" in err
    assert Path("ranking.png").stat().st_size > 5000
    ranking = pd.read_csv("ranking.csv", dtype={"id": str})
    assert list(ranking.columns) == ["rank", "id", "score", "error", "low", "high", "above_next"]
    assert np.corrcoef([list(answered).index(name) for name in ranking.id], range(12))[0, 1] > 0.95
    code, out, err = run("rank items.csv model.json")
    assert code == 0
    assert err.startswith("Note: intervals count what the answers leave open about the weights of the features")
    assert out.splitlines()[0] == "rank,id,score,error,low,high,above_next"


def test_answers_in_every_form_say_the_same(run, answered):
    models = []
    for name in ("outcomes", "words", "named", "won"):
        assert run(f"fit items.csv {name}.csv -o {name}.json --ridge 0.1")[0] == 0
        models.append(json.loads(Path(f"{name}.json").read_text())["coef"])
    np.testing.assert_allclose(models, [models[0]] * 4, rtol=1e-6)
    code, out, _ = run("fit items.csv outcomes.csv words.csv -o both.json")
    assert code == 0
    assert "Fitted to 80 answers" in out
    assert "AUC" in out
    half = pd.read_csv("outcomes.csv", dtype=str)
    half.loc[20:, "outcome"] = None
    half.to_csv("half.csv", index=False)
    assert "Fitted to 20 answers" in run("fit items.csv half.csv -o half.json --ridge 1")[1]


def test_a_ridge_chosen_by_hardly_anything_is_said_to_be(run, answered):
    pd.read_csv("outcomes.csv", dtype=str).head(6).to_csv("few.csv", index=False)
    code, out, err = run("fit items.csv few.csv -o few.json")
    assert code == 0
    held = int(re.search(r"chosen by (\d+) held out: log likelihood -\d\.\d{3} each", out).group(1))
    assert 0 < held <= 6
    assert err.startswith(f"Warning: only {held} of the answers and labels could be held out")
    assert err.count("\n") == 1
    pd.concat([pd.read_csv("outcomes.csv", dtype=str)] * 20).to_csv("many.csv", index=False)
    assert run("fit items.csv many.csv -o many.json")[2] == ""


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
    for how in ("--ridge 0.1", ""):
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
    words = "'high' and 'low' are words, and nothing says which is the better; say it, with --better 'high'"
    for line, message in (
        ("fit items.csv one.csv -o model.json --ridge 1 --labels words.csv", words),
        ("fit items.csv one.csv -o model.json --labels words.csv", words),
        (f"select items.csv -k 3 {known}", words),
        (f"select items.csv -k 3 {known} --better good", "--better 'good' is none of the labels, which are 'high' and"),
        ("fit items.csv one.csv -o model.json --ridge 1 --labels numbers.csv --better 3", "none of the labels"),
        ("fit items.csv one.csv -o model.json --ridge 1 --better high", "--better names one of the labels of --labels"),
        ("select items.csv -k 3 --better high", "--better names one of the labels of --labels"),
    ):
        assert refused(run(line), message), line
    assert not Path("model.json").exists()
    assert run("select items.csv -k 3 --labels words.csv")[0] == 0  # d-optimality does not look at labels


def test_whole_numbers_of_an_array_are_not_rounded_either(run):
    np.save("large.npy", np.array([[2**60 + row] for row in range(4)]))
    Path("won.csv").write_text("winner,loser\n0,1\n2,3\n")
    for line in (
        "select large.npy -k 1",
        "fit large.npy won.csv -o m.json",
        "fit large.npy won.csv -o m.json --ridge 1",
    ):
        assert refused(run(line), "X holds a whole number beyond 2^53 at row 0")
    np.save("small.npy", np.arange(4)[:, None])
    assert run("fit small.npy won.csv -o m.json --ridge 1")[0] == 0
    assert run("rank small.npy m.json")[0] == 0
    assert refused(run("rank large.npy m.json"), "X holds a whole number beyond 2^53 at row 0")


def test_what_fit_and_rank_refuse(run, answered):
    run("fit items.csv outcomes.csv -o model.json --ridge 0.1")
    Path("odd.csv").write_text("first,second,outcome\n000,001,better\n")
    Path("stranger.csv").write_text("first,second,outcome\n000,999,1\n")
    Path("neither.csv").write_text("first,second,winner\n000,001,005\n")
    Path("counts.csv").write_text("winner,loser,count\n000,001,-3\n")
    Path("three.csv").write_text("id,label\n000,1\n001,2\n002,3\n")
    Path("other.csv").write_text("id,g\n000,1\n001,2\n")
    for line, told in (
        ("fit items.csv odd.csv -o m.json", "outcome 'better'"),
        ("fit items.csv stranger.csv -o m.json", "'999'"),
        ("fit items.csv neither.csv -o m.json", "neither of the two"),
        ("fit items.csv counts.csv -o m.json", "no proper count"),
        ("fit items.csv labels.csv -o m.json", "winner and loser"),
        ("fit items.csv outcomes.csv -o m.pkl", "use .json"),
        ("fit items.csv outcomes.csv -o no/m.json", "no folder"),
        ("fit items.csv outcomes.csv -o m.json --ridge -1", "ridge must be a positive number"),
        ("fit items.csv outcomes.csv -o m.json --ridge much", "--ridge must be"),
        ("fit items.csv outcomes.csv -o m.json --labels three.csv", "3 different labels"),
        ("rank items.csv items.csv", "is no model of pairsmith"),
        ("rank items.csv missing.json", "no such file"),
        ("rank other.csv model.json", "no column"),
        ("rank items.csv model.json --plot r.txt", "use .png"),
        ("rank items.csv model.json --level 90", "level must be"),
        ("select items.csv -k 3 --objective entropy --model items.csv", "is no model of pairsmith"),
        ("select other.csv -k 1 --objective entropy --model model.json", "no column 'f_1'"),
    ):
        assert refused(run(line), told), line
    assert not Path("m.json").exists()
