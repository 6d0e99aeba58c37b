"""Tests of experiments/model.py: its figures agree with the models."""

import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import sets

import model
import pairsmith as ps


def test_order_and_doubt_by_enumeration():
    rng = np.random.default_rng(1)
    mean, root = np.array([1.0, 1.0, 0.2, -1.0]), rng.standard_normal((4, 4))
    ordered = np.array([[0, 1], [0, 2], [3, 2], [1, 3], [2, 1]])
    right, doubt = model.order_and_doubt(mean, root @ root.T, ordered)
    assert right == pytest.approx((0.5 + 1 + 0 + 1 + 0) / 5)
    draws = mean + rng.standard_normal((200_000, 4)) @ root.T
    wrong = []
    for better, worse in ordered:
        above = np.mean(draws[:, better] > draws[:, worse])
        wrong.append(0.5 if mean[better] == mean[worse] else 1 - above if mean[better] > mean[worse] else above)
    assert doubt == pytest.approx(np.mean(wrong), abs=0.005)
    assert model.order_and_doubt(mean, np.zeros((4, 4)), ordered) == (
        right,
        0.1,
    )  # equal items count half
    assert np.isnan(model.order_and_doubt(mean, None, ordered)[1])


def test_figures_agree_with_the_models(monkeypatch, tmp_path):
    monkeypatch.setattr(sets, "trial", lambda name, seed, folder: sets.synthetic(seed, n=40, d=3))
    monkeypatch.setattr(model, "MODELS", ["GP", "linear", "choix, alpha 0.3"])
    rows = pd.DataFrame(model.run_quietly(model.repetition, data="synthetic", seed=2, folder=tmp_path, marks=[30]))
    assert rows.model.tolist() == model.MODELS
    rows = rows.set_index("model")
    trial, rng = sets.synthetic(2, n=40, d=3), np.random.default_rng([2, 7])
    pairs = trial.draw(30, rng)
    given = {"comparisons": pairs, "outcomes": trial.answer(pairs, rng)}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="the answers leave")
        gp, linear = ps.BradleyTerryGP().fit(trial.X, **given), ps.BradleyTerry().fit(trial.X, **given)
    assert len(trial.ordered) == 30 * 29 / 2
    assert rows.doubt["GP"] == pytest.approx(gp.doubt_, abs=1e-5)  # every pair of training items differs
    for name, fitted in (("GP", gp), ("linear", linear)):
        for column, X, ordered in (("right", trial.X, trial.ordered), ("right unseen", trial.unseen_X, trial.unseen)):
            scores = fitted.decision_function(X)
            right = np.mean([scores[better] > scores[worse] for better, worse in ordered])
            assert rows[column][name] == pytest.approx(right, abs=1e-5)
    assert rows["right unseen"].isna().tolist() == [name.startswith("choix") for name in model.MODELS]
    assert rows["right"]["choix, alpha 0.3"] > 0.55  # thirty answers to pairs of thirty items


def test_choix_scores_only_what_was_compared():
    pairs, outcomes = np.array([[4, 1], [1, 3]]), np.array([1, -1])
    for name in (*model.CHOIX_MAP, model.CHOIX_EP):
        mean, covariance = model.posterior_of_choix(name, 6, pairs, outcomes)
        assert np.all(mean[[0, 2, 5]] == 0)
        assert mean[4] > 0 > mean[1]
        assert mean[3] == pytest.approx(mean[4], abs=1e-4)
    assert np.all(np.diag(covariance)[[0, 2, 5]] == 10)
    assert np.all(np.diag(covariance)[[1, 3, 4]] < 10)


def test_rounds_ask_other_pairs_each_time(monkeypatch, tmp_path):
    monkeypatch.setattr(sets, "trial", lambda name, seed, folder: trial)
    trial, asked = sets.synthetic(0, n=40, d=3), []
    monkeypatch.setattr(model, "fit_named", lambda name, trial, pairs, outcomes: asked.append(pairs) or (told, told))

    def told():
        return np.zeros(30), None

    rows = model.run_rounds("synthetic", 0, "averaged", tmp_path, [20, 60])
    assert [row["K"] for row in rows] == [20, 60]
    assert [len(np.unique(pairs, axis=0)) for pairs in asked] == [20, 60]
    assert rows[0]["right"] == 0.5  # all the same


def test_rounds_under_the_model_call_select_with_it(monkeypatch):
    trial, calls = sets.synthetic(0, n=20, d=2), []
    chosen = SimpleNamespace(pairs=trial.pairs[:20])
    monkeypatch.setattr(ps, "select", lambda X, k, **given: calls.append((k, given)) or chosen)
    gp = ps.BradleyTerryGP(smooth=False, warm_start=True)
    for known in (0, 20):
        pairs = trial.pairs[:known]
        found = model.select_under_model(trial, pairs, trial.answer(pairs, np.random.default_rng(0)), gp)
        np.testing.assert_array_equal(found, chosen.pairs)
    (first, began), (second, went_on) = calls
    assert first == second == model.ROUND
    assert "objective" not in began | went_on  # whatever is the default under this model
    assert "comparisons" not in began
    np.testing.assert_array_equal(went_on["comparisons"], trial.pairs[:20])
    assert len(went_on["model"].fitted_.answers) == 20
