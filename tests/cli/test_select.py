"""pairsmith select."""

import json
import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import pairsmith as ps
from pairsmith.cli import select
from pairsmith.criteria import CRITERIA
from pairsmith.files.items import read_items
from pairsmith.paper.greedy import ALGORITHMS
from support.commands import refused
from support.oracle import assert_greedy, pairs_within

pytestmark = pytest.mark.usefixtures("samples")


def test_the_whole_story(run):
    code, out, err = run(
        "select grouped.csv -k 10 --labels labels.csv --answers answers.csv --group-by prompt --max-per-item 4"
        " --ridge 0.01 --algorithm scalar-lazy -o pairs.csv"
    )
    assert (code, err) == (0, "")
    assert "Picked 10 pairs" in out
    assert "Wrote pairs.csv" in out
    written = pd.read_csv("pairs.csv", dtype={"first": str, "second": str})
    assert list(written.columns) == ["rank", "first", "second", "gain", "logdet"]
    assert written["first"][0] in out
    X = pd.read_csv("items.csv")[["f_1", "f_2", "f_3"]].to_numpy()

    class Picked:
        pairs = written[["first", "second"]].astype(int).to_numpy()
        gains, logdet = written["gain"].to_numpy(), written["logdet"].to_numpy()

    assert_greedy(Picked, X, pairs_within([0, 1, 2] * 4), 0.01, [1, 7], [(0, 3), (6, 9)], cap=4)


def test_what_was_picked_can_be_fed_back(run):
    run("select items.csv -k 4 -o round1.csv")
    run("select items.csv -k 4 --answers round1.csv -o round2.csv")
    rounds = pd.concat([pd.read_csv("round1.csv"), pd.read_csv("round2.csv")])
    assert not rounds.duplicated(["first", "second"]).any()
    run("select items.csv -k 2 --answers round1.csv --answers round2.csv -o round3.csv")
    run("select items.csv -k 10 -o both.csv")
    rounds = pd.concat([rounds, pd.read_csv("round3.csv")])
    assert (
        rounds[["first", "second"]].to_numpy().tolist()
        == pd.read_csv("both.csv")[["first", "second"]].to_numpy().tolist()
    )


def test_candidates_features_ids_and_seed(run):
    _, out, _ = run("select items.csv -k 2 --candidates answers.csv")
    assert {tuple(line.split(",")[1:3]) for line in out.splitlines()[1:]} == {("000", "003"), ("006", "009")}
    _, out, _ = run("select grouped.csv -k 2 --features f_1 --features f_3")
    assert len(out.splitlines()) == 3
    pd.DataFrame({"f_1": [1.0, 2.0, 4.0], "name": ["NA", "null", "x"]}).to_csv("named.csv", index=False)
    _, out, _ = run("select named.csv -k 1 --id name")
    assert out.splitlines()[1].startswith("1,NA,x,")
    one, two = (run("select items.csv -k 5 --objective random --seed 4") for _ in range(2))
    assert one == two
    assert one != run("select items.csv -k 5 --objective random --seed 5")


def test_odd_names_and_files(run, tmp_path):
    odd = pd.DataFrame({"id": ["[/b]", "naïve", "c"], "x": [1.0, 5.0, 2.0]}).set_index("id")
    odd.to_parquet("indexed.parquet")
    code, out, err = run("select indexed.parquet -k 1 -o odd.csv")
    assert (code, err) == (0, "")
    assert "[/b]" in out
    pd.DataFrame({"key": ["p", "q", "r"], "id": [10, 40, 90], "x": [1, 5, 2]}).to_csv("both.csv", index=False)
    assert run("select both.csv -k 1 --id key")[1].splitlines()[1].startswith("1,p,q,")
    assert refused(run("select both.csv -k 1 --id key --features id"), "column 'id' matches --features")
    (tmp_path / "none.csv").write_text("first,second\n")
    assert run("select items.csv -k 1 --answers none.csv")[0] == 0
    os.symlink("real.csv", "link.csv")
    run("select items.csv -k 1 -o link.csv")
    assert os.path.islink("link.csv")
    assert os.path.exists("real.csv")


def test_pipes_are_read_once_and_devices_refused(run):
    table = pd.read_csv("items.csv", dtype={"id": str})
    table.to_json("items.jsonl", orient="records", lines=True)
    table.to_parquet("items.parquet")
    table.to_csv("items.tsv", sep="\t", index=False)
    for name in ("items.csv", "items.jsonl", "items.parquet", "items.tsv"):
        pipes = []
        for content in (name, "answers.csv", "labels.csv"):
            out, into = os.pipe()
            os.write(into, Path(content).read_bytes())
            os.close(into)
            pipes.append(out)
        items, answers, labels = (f"/dev/fd/{out}" for out in pipes)
        expected = run(f"select {name} -k 4 --answers answers.csv --labels labels.csv")
        assert expected[0] == 0
        assert run(f"select {items} -k 4 --answers {answers} --labels {labels}") == expected
        for out in pipes:
            os.close(out)
    np.save("items.npy", pd.read_csv("items.csv")[["f_1", "f_2", "f_3"]].to_numpy())
    for name in ("items.csv", "items.npy"):
        os.mkfifo(f"pipe-{name}")
        writer = threading.Thread(target=lambda name=name: Path(f"pipe-{name}").write_bytes(Path(name).read_bytes()))
        writer.start()
        assert run(f"select pipe-{name} -k 4") == run(f"select {name} -k 4")
        writer.join()
    os.symlink("/dev/zero", "zero.csv")
    os.symlink("/dev/zero", "zero.npy")
    for line in ("select zero.csv -k 3", "select zero.npy -k 3", "select items.csv -k 3 --labels zero.csv"):
        assert refused(run(line), "is a device, not a file")
    assert refused(run("select items.csv -k 3 --checkpoint /dev/zero"), "name a file")
    assert refused(run("rank items.csv /dev/zero"), "is no file")


@pytest.mark.slow
def test_standard_input_can_be_a_table(tmp_path, run):
    expected = run("select items.csv -k 4")[1]
    command = [sys.executable, "-m", "pairsmith.cli", "select", "/dev/stdin", "-k", "4"]
    table = Path("items.csv").read_text()
    assert subprocess.run(command, input=table, capture_output=True, text=True, check=True).stdout == expected
    with open("items.csv") as file:
        assert subprocess.run(command, stdin=file, capture_output=True, text=True, check=True).stdout == expected


def test_the_help_lists_every_objective_and_algorithm(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    told = " ".join(run("select --help")[1].replace("│", " ").split())
    for name in [*CRITERIA, *ALGORITHMS]:
        assert re.search(rf"[ :]{name}[,.]", told), name


def test_certify_and_checkpoint(run):
    code, out, err = run("select items.csv -k 6 --certify 3 --checkpoint run.json -o pairs.csv")
    assert (code, err) == (0, "")
    assert "Proved: no 6 pairs add more than" in out
    assert len(json.loads(Path("run.json").read_text())["pairs"]) == 6
    assert refused(run("select items.csv -k 6 --ridge 7 --checkpoint run.json"), "is of another problem: ridge was")
    bounds = []
    for line in (
        "--certify -o pairs.csv",
        "-o pairs.csv --certify",
        "--certify 20 -o pairs.csv",
        "--certify=20 -o pairs.csv",
    ):
        code, out, err = run(f"select items.csv -k 6 {line}")
        assert (code, err) == (0, "")
        bounds.append(float(re.search(r"more than (\S+) to it", out)[1]))
    assert bounds[0] == bounds[1] > bounds[2] == bounds[3]
    assert run("select --certify items.csv -k 1 -o pairs.csv")[1].count("Proved: no pair adds more than") == 1
    assert refused(run("select items.csv -k 6 --certify -2"), "'--certify'")
    assert refused(run("select items.csv -k 6 --checkpoint items.csv"), "--checkpoint items.csv is another file")
    assert refused(run("select items.csv -k 6 --checkpoint no/run.json"), "no place for a file")


def test_select_with_a_model(run, answered):
    run("fit items.csv outcomes.csv -o model.json --ridge 0.1")
    for objective in ("local-d-optimal", "entropy", "fisher", "mutual-information"):
        code, out, err = run(f"select items.csv -k 5 --objective {objective} --model model.json --seed 0")
        assert (code, err) == (0, "")
        assert len(out.splitlines()) == 6
        known = "--answers outcomes.csv --labels labels.csv"
        assert run(f"select items.csv -k 5 --objective {objective} {known}")[0] == 0
        needed = f"--objective='{objective}' needs a model: give one, or labels or outcomes to fit one to"
        assert refused(run(f"select items.csv -k 5 --objective {objective}"), needed)


def test_under_a_fitted_model_pairs_are_chosen_by_what_they_tell_about_the_order(run, answered):
    run("fit items.csv outcomes.csv -o model.json")
    asked = "select items.csv -k 5 --model model.json --answers outcomes.csv"
    code, out, err = run(asked)
    assert (code, err) == (0, "")
    assert out == run(f"{asked} --objective order --goal ranking")[1]
    assert run(f"{asked} --goal top --top 3")[0] == 0
    assert refused(run(f"{asked} --goal best"), "--goal: 'best' is unknown; choose one of ranking, top")
    assert refused(run(f"{asked} --goal top"), "--goal='top' goes with the number of the best")
    assert run("select items.csv -k 5 --objective order --answers outcomes.csv")[1] == out  # fitted to the same
    X = pd.read_csv("items.csv", dtype={"id": str}).set_index("id")
    prior = ps.select(X, 5, model=ps.BradleyTerryGP().fit(X)).to_frame()
    _, out, _ = run("select items.csv -k 5 --objective order")  # before the first answer
    assert [line.split(",")[1:3] for line in out.splitlines()[1:]] == prior[["first", "second"]].to_numpy().tolist()
    code, out, err = run(f"{asked} -o pairs.csv")
    assert code == 0
    assert "order" in out


def test_effects_of_items_a_fitted_model_and_no_features(run, answered):
    table, outcomes = pd.read_csv("items.csv", dtype={"id": str}), pd.read_csv("outcomes.csv", dtype=str)
    pd.DataFrame({"id": table["id"]}).to_csv("bare.csv", index=False)
    X = table[["f_1", "f_2", "f_3"]].to_numpy()
    rows = {name: row for row, name in enumerate(table["id"])}
    compared = np.array([[rows[name] for name in pair] for pair in outcomes[["first", "second"]].to_numpy()])

    def picked(command):
        code, out, err = run(command)
        assert (code, err) == (0, "")
        return [tuple(line.split(",")[1:3]) for line in out.splitlines()[1:]]

    def named(selection):
        return [(table["id"][i], table["id"][j]) for i, j in selection.pairs]

    assert picked("select items.csv -k 4 --answers outcomes.csv --item-effects 2 --ridge 0.5") == named(
        ps.select(X, 4, comparisons=compared, item_effects=2.0, ridge=0.5)
    )
    assert picked("select bare.csv -k 4 --answers outcomes.csv --item-effects 2 --seed 3") == named(
        ps.select(None, 4, n_items=len(X), comparisons=compared, item_effects=2.0, random_state=3)
    )
    for items, features in (
        ("items.csv", table.set_index("id")),
        ("bare.csv", None),
    ):
        assert run(f"fit {items} outcomes.csv -o gp.json")[0] == 0
        gp = ps.BradleyTerryGP.load("gp.json")
        found = picked(f"select {items} -k 4 --answers outcomes.csv --model gp.json --objective averaged-d-optimal")
        options = {"comparisons": compared, "objective": "averaged-d-optimal"}
        assert found == named(ps.select(features, 4, model=gp, **options))
    table.assign(note="good").to_csv("noted.csv", index=False)
    for options in ("--item-effects 2 --answers outcomes.csv", "--objective order", "--model gp.json"):
        code, out, err = run(f"select noted.csv -k 4 --no-features {options}")
        assert (code, err) == (0, "")
        assert out == run(f"select bare.csv -k 4 {options}")[1]
    refusal = "give --item-effects 1, or --objective order"
    assert refused(
        run("select bare.csv -k 2"),
        f"bare.csv: there are no feature columns besides the ids; without features {refusal}",
    )
    assert refused(run("select noted.csv -k 2 --no-features"), refusal)
    assert refused(run("select items.csv -k 2 --no-features --features f_1"), "--no-features leaves nothing for")
    assert refused(run("select items.csv -k 2 --item-effects 0"), "--item-effects must be a positive number")


def test_select_reads_who_won_as_fit_does(run, tmp_path):
    pd.DataFrame({"id": range(1, 6), "x": [1.0, 4.0, 9.0, 16.0, 25.0]}).to_csv("five.csv", index=False)
    (tmp_path / "won.csv").write_text("rater,winner,loser\n1,2,3\n1,5,4\n")
    (tmp_path / "pairs.csv").write_text("first,second\n2,3\n4,5\n")
    for option in ("--answers", "--candidates"):
        assert run(f"select five.csv -k 2 {option} won.csv") == run(f"select five.csv -k 2 {option} pairs.csv")
    (tmp_path / "odd.csv").write_text("rater,left,right\n1,2,3\n")
    for option in ("--answers", "--candidates"):
        assert refused(run(f"select five.csv -k 1 {option} odd.csv"), "or winner and loser; found rater, left, right")
    assert refused(run("fit five.csv odd.csv -o m.json"), "or winner and loser; found rater, left, right")


def test_the_model_of_order_is_fitted_to_labels_and_answers_and_leaves_the_pairs(run, answered):
    table = read_items(Path("items.csv"), "id", ["f_*"])
    known = select.read_evidence(table, None, None, [Path("outcomes.csv")], needs_fit=True)
    counts, pairs, outcomes = known.pop("counts"), known["comparisons"], known["outcomes"]
    heavy = np.where(np.arange(len(pairs)) < 5, 3.0, counts)
    found = select.fit_evidence(table, known, heavy)
    assert list(known) == ["comparisons"]
    expected = ps.BradleyTerryGP().fit(table.features, comparisons=pairs, outcomes=outcomes, sample_weight=heavy)
    np.testing.assert_allclose(found.decision_function(table.features), expected.decision_function(table.features))
    prior = select.fit_evidence(table, {}, None)
    assert prior.fitted_.count() == 0
