"""Behind the options of pairsmith select: answers as they are read, and the model that they are learned by."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import pairsmith as ps
from pairsmith.cli import selecting
from pairsmith.files.items import read_items
from support.commands import refused

pytestmark = pytest.mark.usefixtures("samples")


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
    known = selecting.known_of(table, None, None, [Path("outcomes.csv")], learns=True)
    counts, pairs, outcomes = known.pop("counts"), known["comparisons"], known["outcomes"]
    heavy = np.where(np.arange(len(pairs)) < 5, 3.0, counts)
    found = selecting.learned(table, known, heavy)
    assert list(known) == ["comparisons"]
    expected = ps.BradleyTerryGP().fit(table.features, comparisons=pairs, outcomes=outcomes, sample_weight=heavy)
    np.testing.assert_allclose(found.decision_function(table.features), expected.decision_function(table.features))
    prior = selecting.learned(table, {}, None)
    assert prior.learned_.count() == 0
