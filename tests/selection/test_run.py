"""Runs: the journal, progress, checkpoints and the certificate."""

import json
import time

import numpy as np
import pytest

import pairsmith as ps
from pairsmith.design.steps import Step
from pairsmith.files.checkpoint import Checkpoint
from pairsmith.selection.run import Journal
from support.oracle import logdet

X = np.random.default_rng(0).standard_normal((10, 3))


def test_a_journal_collects_the_columns_of_a_selection():
    began = time.perf_counter()
    journal = Journal(began, 2, False, None)
    assert journal.pairs.shape == (0, 2)
    journal.note(Step(0, 3, 0.5, -1.0))
    journal.note(Step(1, 2, 0.25, -0.75))
    assert journal.pairs.tolist() == [[0, 3], [1, 2]]
    assert journal.pairs.dtype == np.int64
    assert journal.gains.tolist() == [0.5, 0.25]
    assert journal.logdet.tolist() == [-1.0, -0.75]
    assert 0 <= journal.seconds[0] <= journal.seconds[1] <= time.perf_counter() - began


def test_an_interrupted_run_saves_its_checkpoint(tmp_path):
    saved = Checkpoint(tmp_path / "run.json", {})
    journal = Journal(time.perf_counter(), 5, False, saved)
    saved.next_save = np.inf  # so that only the journal saves
    saved.add(0, 1)
    with pytest.raises(KeyboardInterrupt), journal:
        raise KeyboardInterrupt
    assert json.loads((tmp_path / "run.json").read_text())["pairs"] == [[0, 1]]
    saved.next_save = np.inf
    saved.add(2, 3)
    journal.report_progress("scanning")
    assert json.loads((tmp_path / "run.json").read_text())["pairs"] == [[0, 1], [2, 3]]


def test_progress_goes_to_standard_error(capfd):
    ps.select(X, 5, ridge=0.1, progress=True)
    out, err = capfd.readouterr()
    assert out == ""
    assert "5/5" in err


def test_progress_counts_the_pairs_of_a_checkpoint(tmp_path, capfd):
    ps.select(X, 3, ridge=0.1, checkpoint=tmp_path / "run.json")
    ps.select(X, 5, ridge=0.1, checkpoint=tmp_path / "run.json", progress=True)
    assert "5/5" in capfd.readouterr().err


def test_a_checkpoint_with_an_impossible_pair_is_refused(tmp_path):
    path = tmp_path / "run.json"
    ps.select(X, 3, ridge=0.1, comparisons=[(0, 1)], checkpoint=path)
    content = json.loads(path.read_text())
    for pair in ([0, 1], [3, 3], [4, 2], [2, 10], content["pairs"][0]):
        path.write_text(json.dumps({**content, "pairs": [content["pairs"][0], pair]}))
        with pytest.raises(ValueError, match=r"holds the pair .*, which cannot be picked here; name another file"):
            ps.select(X, 3, ridge=0.1, comparisons=[(0, 1)], checkpoint=path)


def test_optimality_is_the_share_of_the_bound_that_the_picks_reach():
    selection = ps.select(X, 4, ridge=0.1, labeled=[2], certify=5)
    rise = logdet(X, 0.1, [2], selection.pairs) - logdet(X, 0.1, [2])
    assert selection.optimality == pytest.approx(rise / selection.bound)
    assert selection.optimality <= 1
    constant = ps.select(np.ones((4, 2)), 2, ridge=1.0, certify=True)  # no pair adds anything
    assert constant.optimality == 1.0


def test_warnings_point_to_the_line_that_called_select():
    far = np.array([[0.0], [1.0], [9.0], [2.0]])
    with pytest.warns(UserWarning, match="only 1 of k=2 pairs") as few_pairs:
        ps.select(far, 2, ridge=1.0, candidates=[(0, 1), (1, 2), (2, 3)], max_per_item=1)
    model = ps.BradleyTerry(1.0).fit(X, comparisons=[(0, 1)], outcomes=[1])
    model.covariance_root_ = 1e6 * np.eye(3)
    with pytest.warns(UserWarning, match="the model leaves scores open") as open_scores:
        ps.select(X, 2, objective="mutual-information", model=model)
    assert {warning.filename for warning in [*few_pairs, *open_scores]} == {__file__}
