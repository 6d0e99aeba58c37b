"""pairsmith forecast."""

import re
from pathlib import Path

import pandas as pd
import pytest

import pairsmith as ps
from pairsmith import forecasting as forecast
from support.campaigns import CREATE
from support.commands import refused

pytestmark = [pytest.mark.usefixtures("samples"), pytest.mark.filterwarnings("ignore:the answers leave")]

QUICK = "--more 10 --more 20 --simulations 2 --jobs 1"


def numbers(out):
    """The first column of the table."""
    return [int(row) for row in re.findall(r"^│ +(\d+) │", out, re.MULTILINE)]


def test_it_tells_the_sentences_and_the_table(run, answered):
    code, out, err = run(f"forecast items.csv outcomes.csv --no-features {QUICK} -o plan.csv")
    assert (code, err) == (0, "")
    table = pd.read_csv("items.csv", dtype={"id": str}).set_index("id")
    known = pd.read_csv("outcomes.csv", dtype={"first": str, "second": str})
    pairs = table.index.get_indexer(known[["first", "second"]].to_numpy().ravel()).reshape(-1, 2)
    model = ps.BradleyTerryGP().fit(table[[]], comparisons=pairs, outcomes=known["outcome"])
    plan = ps.forecast(table[[]], model=model, answers=[10, 20], simulations=2)
    assert out.splitlines()[: len(plan.sentences())] == plan.sentences()
    assert plan.sentences()[0].startswith("Now, after 40 answers: doubt ")
    assert numbers(out) == [0, 10, 20]
    assert out.endswith("Wrote plan.csv\n")
    pd.testing.assert_frame_equal(pd.read_csv("plan.csv"), plan.to_frame(), rtol=1e-9)


def test_where_every_pair_was_answered_pairs_can_be_asked_again(run):
    Path("few.csv").write_text("id\na\nb\nc\n")
    Path("done.csv").write_text("first,second,outcome\na,b,1\na,c,1\nb,c,-1\n")
    assert refused(run(f"forecast few.csv done.csv {QUICK}"), "every pair has been answered")
    code, out, _ = run(f"forecast few.csv done.csv {QUICK} --ask-again")
    assert code == 0
    assert numbers(out) == [0, 10, 20]
    Path("one.csv").write_text("id\na\n")
    assert refused(run(f"forecast one.csv {QUICK}"), "there is only one item")


def test_a_target_and_a_model_that_was_saved(run, answered):
    run("fit items.csv outcomes.csv --features f_1 -o model.json")
    code, out, _ = run("forecast", "items.csv", "--model", "model.json", "--target", "doubt < 45%", *QUICK.split())
    assert (code, out.splitlines()[0]) == (0, "45% doubt: reached already.")
    code, out, _ = run(
        "forecast", "items.csv", "--model", "model.json", "--target", "reliability>=.999", *QUICK.split()
    )
    assert (code, out.splitlines()[0][:29]) == (0, "A reliability of 0.999: more ")
    run("fit items.csv outcomes.csv -o linear.json --linear")
    assert refused(run("forecast items.csv --model linear.json"), "--model linear.json is a linear model")
    pd.read_csv("items.csv", dtype={"id": str})[::-1].to_csv("turned.csv", index=False)
    assert refused(run("forecast turned.csv --model model.json"), "X must have the items that the model was fitted to")
    pd.read_csv("items.csv", dtype={"id": str})[:5].to_csv("fewer.csv", index=False)
    assert refused(run("forecast fewer.csv --model model.json"), "X must have the items that the model was fitted to")
    told = "--model model.json has its own features; leave out --features"
    assert refused(run("forecast items.csv --model model.json --features f_1"), told)
    Path("ids.csv").write_text("id\n000\n001\n")
    assert refused(run("rank ids.csv model.json"), "ids.csv: no column matches the model's feature 'f_1'; it has id")


def test_texts_are_planned_for_as_they_are_fitted(run, answered):
    table = pd.read_csv("items.csv", dtype={"id": str})
    table.assign(note=[f"{'good' if row % 2 else 'bad'} word {row}" for row in range(12)]).to_csv(
        "texts.csv", index=False
    )
    run("fit texts.csv outcomes.csv --text note --features f_1 -o model.json")
    by_model = run(f"forecast texts.csv --model model.json {QUICK}")
    assert by_model[0] == 0
    assert numbers(by_model[1]) == [0, 10, 20]
    assert run(f"forecast texts.csv outcomes.csv --text note --features f_1 {QUICK}") == by_model
    # A column that the model does not use may hold anything.
    run("fit items.csv outcomes.csv -o plain.json")
    assert run(f"forecast texts.csv --model plain.json {QUICK}") == run(
        f"forecast items.csv --model plain.json {QUICK}"
    )
    selected = [run(f"select {table} -k 3 --model plain.json") for table in ("texts.csv", "items.csv")]
    assert selected[0] == selected[1]
    assert selected[0][0] == 0


def test_before_the_first_answer_with_features_and_without(run):
    code, out, err = run(f"forecast items.csv {QUICK}")
    assert (code, err) == (0, "")
    assert "Now, after 0 answers: doubt" in out
    assert "(variances: linear 1, smooth 4, items 0.3)" in out
    assert "(variances: items 0.3)" in run(f"forecast items.csv --no-features {QUICK}")[1]


def test_a_campaign_has_its_own_answers_and_groups(run, answered):
    run(*CREATE[:4], "grouped.csv", *CREATE[5:], "--group-by", "prompt")
    code, out, _ = run(f"forecast c.db {QUICK}")
    assert (code, numbers(out)) == (0, [0, 10, 18])  # three groups of four items: 18 pairs
    assert "Now, after 0 answers" in out
    grouped = pd.read_csv("grouped.csv", dtype=str, keep_default_na=False).set_index("id").prompt
    known = pd.read_csv("outcomes.csv", dtype=str)
    within = known[grouped[known["first"]].to_numpy() == grouped[known["second"]].to_numpy()][:5]
    within.assign(rater="anna").to_csv("within.csv", index=False)
    pairs = {frozenset(pair) for pair in within[["first", "second"]].itertuples(index=False)}
    run("campaign import c.db within.csv")
    code, out, _ = run(f"forecast c.db {QUICK}")
    assert (code, numbers(out)) == (0, [0, 10, 18 - len(pairs)])
    assert f"Now, after {len(within)} answers" in out
    assert refused(run("forecast c.db answers.csv"), "c.db is a campaign and brings its own items")


@pytest.mark.parametrize("target", ["doubt", "10%", "doubt > 10%", "doubt < 0", "doubt < 100%", "reliability < 0.9"])
def test_targets_are_spelled_out(run, target):
    message = f"--target must be like 'doubt < 10%' or 'reliability > 0.9', got {target!r}"
    assert refused(run("forecast", "items.csv", "--target", target), message)


def test_what_is_wrong_is_one_line(run, answered):
    assert refused(run("forecast missing.csv"), "missing.csv")
    assert refused(run("forecast items.csv missing.csv"), "missing.csv")
    assert refused(run("forecast items.csv outcomes.csv --model x.json"), "--model has answers already")
    assert refused(
        run("forecast items.csv --simulations 1"), "'--simulations': Input should be greater than or equal to 2"
    )
    assert refused(run("forecast items.csv --more 0"), "--more must be at least 1, got 0")
    assert refused(run("forecast items.csv -o items.csv"), "--output items.csv is one of the input files")
    assert refused(
        run("forecast items.csv --no-features --features f_1"), "--no-features leaves nothing for --features"
    )


def test_an_interruption_is_one_line(run, monkeypatch):
    def interrupted(*_args, **_options):
        raise KeyboardInterrupt

    monkeypatch.setattr(forecast, "as_completed", interrupted)
    assert run("forecast items.csv -o plan.csv") == (130, "", "Interrupted. Nothing was written.\n")
    assert not Path("plan.csv").exists()
