"""pairsmith rank, and models that fit and rank refuse."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import pairsmith as ps
from support.commands import refused

pytestmark = pytest.mark.usefixtures("samples")


def test_items_that_the_model_has_not_seen_are_ranked_and_said_to_be_new(run, answered):
    run("fit items.csv outcomes.csv -o model.json")
    table = pd.read_csv("items.csv", dtype={"id": str})
    table.assign(id=[*table.id[:-2], "x", "y"]).to_csv("some.csv", index=False)
    code, out, err = run("rank some.csv model.json")
    assert (code, len(out.splitlines())) == (0, 13)
    assert err == (
        "Note: 2 of 12 items were not there when the model was fitted, for example 'x': ranked by their features"
        " alone\n"
    )
    table.assign(id=list("abcdefghijkl")).to_csv("all.csv", index=False)
    assert run("rank all.csv model.json")[2].startswith("Note: all 12 items were not there")


def test_models_of_both_kinds_are_read_and_told_apart(run, answered):
    run("fit items.csv outcomes.csv -o linear.json --linear")
    run("fit items.csv outcomes.csv -o model.json")
    assert refused(run("rank items.csv linear.json --top 3"), "--top is not for a linear model")
    assert refused(
        run("select items.csv -k 2 --objective fisher --model model.json"),
        "--item-effects and a BradleyTerryGP are for order, d-optimal, local-d-optimal",
    )
    with pytest.raises(ValueError, match="holds a BradleyTerryGP, not a BradleyTerry; load it as that"):
        ps.BradleyTerry.load("model.json")
    with pytest.raises(ValueError, match="holds a BradleyTerry, not a BradleyTerryGP"):
        ps.BradleyTerryGP.load("linear.json")
    Path("future.json").write_text('{"pairsmith model": 7}')
    assert refused(run("rank items.csv future.json"), "written by another version of pairsmith (format 7)")


def test_fit_and_rank(run, answered):
    code, out, err = run("fit items.csv outcomes.csv -o model.json --ridge 0.1 --labels labels.csv")
    assert (code, err) == (0, "")
    assert "Fitted to 40 answers and 2 labels (linear in the features, ridge 0.1)" in out
    code, out, err = run("rank items.csv model.json -o ranking.csv --plot ranking.png")
    assert code == 0
    assert "not the part of an item's score that features do not explain" in err
    assert Path("ranking.png").stat().st_size > 5000
    ranking = pd.read_csv("ranking.csv", dtype={"id": str})
    assert list(ranking.columns) == ["rank", "id", "score", "error", "low", "high", "above_next"]
    assert np.corrcoef([list(answered).index(name) for name in ranking.id], range(12))[0, 1] > 0.95
    code, out, err = run("rank items.csv model.json")
    assert code == 0
    assert err.startswith("Note: intervals cover the uncertainty about the features' weights")
    assert out.splitlines()[0] == "rank,id,score,error,low,high,above_next"


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
        ("select other.csv -k 1 --objective entropy --model model.json", "no column matches the model's feature 'f_1'"),
    ):
        assert refused(run(line), told), line
    assert not Path("m.json").exists()


def test_a_model_of_ids_that_are_numbers_knows_the_items_of_a_file(run, answered):
    table = pd.DataFrame({"id": range(1, 13), "a": np.arange(12.0) ** 2})
    pairs = np.array([(at, at + 1) for at in range(11)])
    model = ps.BradleyTerryGP().fit(table, comparisons=pairs, outcomes=-np.ones(11))
    model.save("numbers.json")
    table.to_csv("numbers.csv", index=False)
    code, out, err = run("rank numbers.csv numbers.json")
    assert (code, err) == (0, "")
    assert [int(line.split(",")[1]) for line in out.splitlines()[1:]] == model.rank(table).index.tolist()
    table.assign(id=[f"{at:03}" for at in range(1, 13)]).to_csv("zeros.csv", index=False)
    _, _, err = run("rank zeros.csv numbers.json")
    assert err.startswith(
        "Warning: X's ids are written differently from the model's: '001' is not '1'. The model knows 0"
    )
    assert "Note: all 12 items were not there" in err
    for line in ("select zeros.csv -k 2 --model numbers.json", "rank zeros.csv numbers.json"):
        assert "'001' is not '1'" in run(line)[2]
