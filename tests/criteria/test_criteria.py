"""The registry of criteria, and the behaviour that all criteria share."""

import inspect
import re
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy.special import expit

import pairsmith as ps
from pairsmith.criteria import CRITERIA, LOG_DET
from pairsmith.criteria.problem import ModelEstimate
from pairsmith.data.features import from_array
from support.definitions import information, problem

WITH_LINEAR_MODEL = [name for name, criterion in CRITERIA.items() if not criterion.needs_gaussian_process]


def test_names_are_keys_and_modules_are_loaded_only_when_called():
    assert all(name == criterion.name for name, criterion in CRITERIA.items())
    code = "import sys, pairsmith.criteria; print([m for m in ('numpy', 'numba', 'scipy') if m in sys.modules])"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed.strip() == "[]"


def test_the_docstring_of_select_names_every_criterion():
    described = inspect.getdoc(ps.select).split("objective : str")[1].split("goal : str")[0]
    assert re.findall(r'"([a-z-]+)"', described) == list(CRITERIA)


def test_the_table_in_the_docs_is_the_registry():
    page = (Path(__file__).parents[2] / "docs" / "criteria.md").read_text()
    rows = [line for line in page.splitlines() if line.startswith("| `")]
    yes = {True: "yes", False: ""}
    assert rows == [
        f"| `{each.name}` | {each.description} | {each.gain_description} | {yes[each.needs_model]}"
        f" | {yes[each.uses_engine]} | {yes[each.resumable]} | {yes[each.certifiable]} | {each.bytes_per_pair or ''} |"
        for each in CRITERIA.values()
    ]


@pytest.mark.parametrize("objective", WITH_LINEAR_MODEL)
def test_logdet_is_correct_whatever_a_gain_is(objective):
    X, model = problem(0)
    labeled, compared = [0, 3], [(1, 2), (4, 7)]
    answers = {"labeled": labeled, "comparisons": compared, "model": model}
    selection = ps.select(X, 5, ridge=0.5, objective=objective, random_state=0, **answers)
    scores = np.zeros(len(X))
    if CRITERIA[objective].weighting_scores:
        estimate = ModelEstimate(model.coef_, model.covariance_root_, X @ model.coef_)
        scores = CRITERIA[objective].weighting_scores(from_array(X), estimate)
    unit = 0.25 if CRITERIA[objective].weighting_scores is None else 1.0  # p (1 - p) where all scores are 0

    def defined(pairs):
        own = [expit(scores[i]) * expit(-scores[i]) / unit for i in labeled]
        each = [expit(scores[i] - scores[j]) * expit(scores[j] - scores[i]) / unit for i, j in pairs]
        return np.linalg.slogdet(information(X, pairs, each, 0.5, labeled, own))[1]

    assert selection.logdet_before == pytest.approx(defined(compared))
    for step in range(5):
        assert selection.logdet[step] == pytest.approx(defined([*compared, *selection.pairs[: step + 1]]))
    rises = np.diff(selection.logdet, prepend=selection.logdet_before)
    assert np.allclose(rises, selection.gains) == (CRITERIA[objective].gain_description == LOG_DET)


@pytest.mark.parametrize("objective", [name for name, each in CRITERIA.items() if each.resumable])
def test_a_resumed_run_is_a_whole_run(objective, tmp_path):
    X, model = problem(3, n=30, d=4)
    path, options = tmp_path / "run.json", {"objective": objective, "ridge": 1e-3, "labeled": [1, 2], "model": model}
    whole = ps.select(X, 8, **options)
    ps.select(X, 3, checkpoint=path, **options)
    resumed = ps.select(X, 8, checkpoint=path, **options)
    np.testing.assert_array_equal(resumed.pairs, whole.pairs)
    np.testing.assert_allclose(resumed.gains, whole.gains, rtol=1e-6)
    np.testing.assert_allclose(resumed.logdet, whole.logdet, rtol=1e-9)


@pytest.mark.parametrize("objective", WITH_LINEAR_MODEL)
def test_options_that_a_criterion_cannot_use_are_refused(objective):
    X, model = problem(0)
    criterion = CRITERIA[objective]
    for able, options, message in (
        (criterion.allows_paper_algorithms, {"algorithm": "scalar"}, "algorithm='scalar' is for objective='d-optimal'"),
        (criterion.uses_engine, {"algorithm": "engine"}, "algorithm='engine' is for objective='d-optimal'"),
        (criterion.uses_engine, {"pool_size": 10}, "pool_size is for the engine"),
        (criterion.certifiable, {"certify": True}, "certify bounds log det, which objective=.* does not maximise"),
    ):
        if able:
            assert len(ps.select(X, 3, objective=objective, model=model, **options)) == 3
        else:
            with pytest.raises(ValueError, match=message):
                ps.select(X, 3, objective=objective, model=model, **options)
    if not criterion.resumable:
        with pytest.raises(ValueError, match=r"checkpoint is for d-optimal, .*; leave it out"):
            ps.select(X, 3, objective=objective, model=model, checkpoint="run.json")


def test_the_smallest_pair_wins_among_equal_gains():
    X, model = np.zeros((5, 2)), problem(0, d=2)[1]
    for objective in set(WITH_LINEAR_MODEL) - {"mutual-information", "random"}:
        selection = ps.select(X, 5, ridge=1.0, objective=objective, model=model)
        assert selection.pairs.tolist() == [[0, 1], [0, 2], [0, 3], [0, 4], [1, 2]], objective


@pytest.mark.parametrize("objective", ["entropy", "a-optimal", "fisher", "mutual-information", "random"])
def test_a_run_ends_if_the_cap_leaves_no_pair(objective):
    """After 1-2, the path 0-1-2-3 has no pair left whose items are both below a cap of 1."""
    X = np.array([[0.0], [1.0], [1.1], [2.2]])
    model = ps.BradleyTerry(1.0).fit(X, comparisons=[(0, 3)], outcomes=[-1])
    for seed in range(20):
        options = {"max_per_item": 1, "ridge": 1.0, "objective": objective, "model": model, "random_state": seed}
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            selection = ps.select(X, 2, candidates=[(0, 1), (1, 2), (2, 3)], **options)
        is_stuck = selection.pairs.tolist() == [[1, 2]]
        assert is_stuck == (len(selection) == 1) == any("only 1 of k=2 pairs" in str(one.message) for one in warned)
        if is_stuck or objective not in ("entropy", "random"):
            break
    assert is_stuck or objective not in ("entropy", "random")
