"""Tests of experiments/worth.py: which pairs each rule asks about, and how rules are judged."""

import warnings
from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import sets
import worth

import model
import pairsmith as ps


@pytest.fixture
def forty(monkeypatch):
    """Make every set thirty training items and ten unseen ones."""
    monkeypatch.setattr(sets, "trial", lambda name, seed, folder: sets.synthetic(seed, n=40, d=3))


def right_by_hand(gp, X, ordered):
    scores = gp.decision_function(X)
    return np.mean([scores[better] > scores[worse] for better, worse in ordered])


def test_balanced_pairs_have_each_item_equally_often():
    everyone = np.array(list(combinations(range(8), 2)))
    trial = sets.Trial(np.eye(8), everyone, np.ones(28), everyone, np.eye(2), everyone[:1])
    pairs = worth.balanced_pairs(trial, 28, np.random.default_rng(0))
    assert set(map(tuple, pairs.tolist())) == set(combinations(range(8), 2))
    for k in range(1, 29):
        counts = np.bincount(pairs[:k].ravel(), minlength=8)
        assert np.ptp(counts) <= (0 if k in (4, 28) else 1 if k < 4 else 2)  # the last of a round may have met before
    assert not np.array_equal(pairs, worth.balanced_pairs(trial, 28, np.random.default_rng(1)))
    star = trial._replace(pairs=everyone[:7])  # whom nobody compares with others cannot be asked about as often
    assert len(np.unique(worth.balanced_pairs(star, 10, np.random.default_rng(0)), axis=0)) == 7


@pytest.mark.usefixtures("forty")
def test_random_pairs_are_the_same_for_all_models_and_for_any_number_of_answers(tmp_path):
    given = {"data": "synthetic", "seed": 1, "folder": tmp_path}
    short, long = (
        {row["K"]: row for row in model.run_quietly(worth.repetition, **given, rule="random", marks=marks)}
        for marks in ([40], [20, 40])
    )
    assert short[40] == pytest.approx(long[40], nan_ok=True)
    trial, rng = sets.synthetic(1, n=40, d=3), np.random.default_rng([1, 7])
    pairs = trial.draw(len(trial.pairs), rng)
    outcomes = trial.answer(pairs, rng)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="the answers leave")
        gp = ps.BradleyTerryGP().fit(trial.X, comparisons=pairs[:40], outcomes=outcomes[:40])
    assert long[40]["right"] == pytest.approx(right_by_hand(gp, trial.X, trial.ordered), abs=1e-5)
    assert long[40]["right unseen"] == pytest.approx(right_by_hand(gp, trial.unseen_X, trial.unseen), abs=1e-5)
    bits = -np.log2([gp.compare(trial.X, pair[None])[0] if won > 0 else 1 - gp.compare(trial.X, pair[None])[0]
                     for pair, won in zip(pairs[40:60], outcomes[40:60], strict=True)])  # fmt: skip
    assert long[40]["bits"] == pytest.approx(bits.mean(), abs=1e-4)
    assert long[40]["doubt"] == pytest.approx(gp.doubt_, abs=1e-5)  # every pair of training items differs
    rows = worth.repetition(**given, rule=worth.CHOIX, marks=[20, 40])
    assert [(row["K"], row["model"]) for row in rows] == [(k, name) for k in (20, 40, 60) for name in model.CHOIX_MAP]
    mean, _ = model.posterior_of_choix("choix, alpha 0.01", 30, pairs[:60], outcomes[:60])
    assert rows[4]["right"] == np.mean([(mean[i] > mean[j]) + 0.5 * (mean[i] == mean[j]) for i, j in trial.ordered])
    assert np.isnan(rows[4]["right unseen"])


@pytest.mark.usefixtures("forty")
def test_bits_of_a_round_use_the_model_that_designed_it(tmp_path):
    given = {"data": "synthetic", "seed": 0, "rule": "order", "folder": tmp_path, "marks": [20, 40]}
    first, last = model.run_quietly(worth.repetition, **given)
    assert np.isnan(last["bits"])  # nothing was asked after these
    assert 0.3 < first["bits"] < 1.5
    trial, rng = sets.synthetic(0, n=40, d=3), np.random.default_rng([0, 8])
    nothing = np.zeros((0, 2), dtype=int), np.zeros(0, dtype=int)
    pairs = worth.design_round(trial, nothing, ps.BradleyTerryGP().fit(trial.X), rng)
    outcomes = trial.answer(pairs, rng)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="the answers leave")
        gp = ps.BradleyTerryGP().fit(trial.X, comparisons=pairs, outcomes=outcomes)
    following = worth.design_round(trial, (pairs, outcomes), gp, rng)
    chances, won = gp.compare(trial.X, following), trial.answer(following, rng) > 0
    assert first["bits"] == pytest.approx(-np.log2(np.where(won, chances, 1 - chances)).mean(), abs=1e-4)


@pytest.mark.parametrize("rule", [*worth.ROUND_RULES, *worth.GOAL_RULES])
@pytest.mark.usefixtures("forty")
def test_rounds_ask_anew_and_are_judged_by_a_model_fitted_anew(rule, tmp_path, monkeypatch):
    learned, told = [], worth.figures_of_model
    monkeypatch.setattr(worth, "figures_of_model", lambda trial, gp: learned.append(gp.fitted_) or told(trial, gp))
    (row,) = model.run_quietly(worth.repetition, data="synthetic", seed=0, rule=rule, folder=tmp_path, marks=[60])
    assert row["K"] == 60
    assert row["seconds"] > 0
    assert row["right"] > 0.6
    (last,) = learned
    answers, trial = last.answers, sets.synthetic(0, n=40, d=3)
    assert len(answers) == 60  # that many different pairs
    pairs = last.items[np.column_stack([answers.first, answers.second])]
    outcomes = np.where(answers.won > answers.lost, 1, -1)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="the answers leave")
        gp = ps.BradleyTerryGP().fit(trial.X, comparisons=pairs, outcomes=outcomes)
    assert row["right"] == pytest.approx(right_by_hand(gp, trial.X, trial.ordered), abs=1e-5)


def test_one_pair_in_ten_is_random_and_conditions_the_design(monkeypatch):
    trial, rng = sets.synthetic(0, n=20, d=2), np.random.default_rng(0)
    calls = []

    def select(X, k, **given):
        calls.append((k, given))
        return SimpleNamespace(pairs=np.zeros((k, 2), dtype=int))

    monkeypatch.setattr(ps, "select", select)
    known = trial.pairs[::2][:, ::-1]
    chosen = worth.design_round_with_random(trial, (known, np.ones(len(known), dtype=int)), "gp", rng)
    ((k, given),) = calls
    assert (len(chosen), k, given["model"]) == (20, 18, "gp")
    assert given["random_state"] == len(known) + 2  # of thousands of items, each round looks at others
    np.testing.assert_array_equal(given["comparisons"], np.vstack([known, chosen[:2]]))
    assert {tuple(pair) for pair in chosen[:2].tolist()} <= set(map(tuple, trial.pairs[1::2].tolist()))


def test_figures_of_top_by_enumeration(monkeypatch):
    monkeypatch.setattr(worth, "TOP", 3)
    scores = np.array([5.0, 1.0, 4.0, 4.0, 4.0, 2.0])
    above = np.array([np.sum(scores > own) for own in scores])
    # Four items have fewer than three above them. The three first by these means are 2, 1 and 0.
    mean = np.array([0.5, 0.8, 0.9, 0.5, 0.1, 0.0])
    assert worth.figures_of_top(mean, above) == (pytest.approx(2 / 3), pytest.approx((0 + 0.5 + 1) / 3))
    assert worth.figures_of_top(scores, above) == (1.0, 1.0)
    found, ordered = worth.figures_of_top(mean, np.zeros(6, dtype=int))  # all the same
    assert found == 1
    assert np.isnan(ordered)


def test_large_sets_and_minor_rules_have_fewer_repetitions():
    todo = pd.DataFrame(worth.units(["diabetes", "humour", "molskill"], worth.RULES, 50))
    counts = todo.groupby(["data", "rule"]).seed.nunique().unstack()
    assert counts.loc["diabetes", ["order", "random", worth.CHOIX, "goal top"]].tolist() == [50, 50, 50, 10]
    assert counts.loc["humour", ["order", worth.CHOIX]].tolist() == [10, 10]
    assert counts.loc[["humour", "molskill"], worth.MINOR_RULES].isna().all(axis=None)
    assert np.isnan(counts.loc["molskill", worth.CHOIX])
    assert todo.seed.is_monotonic_increasing
