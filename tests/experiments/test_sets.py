"""Tests of experiments/sets.py: who answers, and what is true."""

from itertools import combinations

import common
import numpy as np
import pytest
import sets

import pairsmith as ps
from pairsmith.datasets.base import of_scores


@pytest.fixture
def graded(monkeypatch):
    """Twelve items with some equal grades."""
    grades = np.array([3, 1, 2, 2, 5, 4, 1, 3, 0, 2, 5, 1])
    pairs, outcomes = of_scores(grades.astype(float))
    data = ps.datasets.Dataset("graded", np.column_stack([grades, np.arange(12)]), "", pairs=pairs, outcomes=outcomes)
    monkeypatch.setattr(common, "data_set", lambda *_, ties: data)
    return grades


def test_a_trial_asks_about_what_differs_and_judges_by_all_of_it(graded, tmp_path):
    trial = sets.trial("graded", 3, tmp_path)
    training, unseen = trial.X[:, 1].astype(int), trial.unseen_X[:, 1].astype(int)
    assert len(unseen) == 3
    assert sorted([*training, *unseen]) == list(range(12))
    for items, ordered in ((training, trial.ordered), (unseen, trial.unseen)):
        true = {(i, j) for i, one in enumerate(items) for j, two in enumerate(items) if graded[one] > graded[two]}
        assert set(map(tuple, ordered.tolist())) == true
    assert trial.above.tolist() == [int(np.sum(graded[training] > graded[one])) for one in training]
    asked = {(i, j) for i, j in combinations(range(9), 2) if graded[training[i]] != graded[training[j]]}
    assert set(map(tuple, trial.pairs.tolist())) == asked
    rng = np.random.default_rng(0)
    for pairs in (trial.pairs, trial.pairs[:, ::-1]):
        first, second = graded[training[pairs]].T
        np.testing.assert_array_equal(trial.answer(pairs, rng), np.sign(first - second))
    equal = next(pair for pair in combinations(range(9), 2) if pair not in asked)
    with pytest.raises(ValueError, match="nobody can answer"):
        trial.answer(np.array([equal]), rng)


def test_answers_are_drawn_from_the_votes_of_their_pair():
    votes = np.array([[1, 0], [0, 1], [1, 0], [1, 0], [2, 1]])
    pairs, chance = sets._vote_shares(votes)
    assert pairs.tolist() == [[0, 1], [1, 2]]
    assert chance.tolist() == [0.25, 0.0]
    trial = sets.Trial(np.eye(3), pairs, chance, pairs, np.eye(3), pairs)
    outcomes = trial.answer(np.repeat([[1, 0], [2, 1]], 2000, axis=0), np.random.default_rng(0))
    assert np.mean(outcomes[:2000] == 1) == pytest.approx(0.75, abs=0.03)
    assert np.all(outcomes[2000:] == 1)


def test_the_reliability_of_votes_is_how_well_their_scores_fit_the_true_ones():
    rng = np.random.default_rng(0)
    true = rng.standard_normal(150)
    pairs = np.array([rng.choice(150, 2, replace=False) for _ in range(2400)])
    first = rng.random(len(pairs)) < 1 / (1 + np.exp(true[pairs[:, 1]] - true[pairs[:, 0]]))
    votes = np.where(first[:, None], pairs, pairs[:, ::-1])
    trial = sets.trial_from_votes(true[:, None], votes, 1)
    half = votes[np.random.default_rng([1, 5]).random(len(votes)) >= 0.5]
    fit = np.corrcoef(sets.fit_scores(half, 150), true)[0, 1] ** 2
    assert trial.reliability == pytest.approx(fit, abs=0.06)
    assert 0.6 < fit < 0.85
    better, worse = trial.ordered.T
    assert 0.7 < np.mean(trial.X[better, 0] > trial.X[worse, 0]) < 0.85


def test_files_of_voted_sets(tmp_path, monkeypatch):
    monkeypatch.setattr(sets, "TEXT_DIMENSIONS", 2)
    for name in ("dar", "humour", "molskill"):
        (tmp_path / name).mkdir()
    rows = [f"{n},{39 + n % 4},{-6 - n // 4},{1 + n},{2 + n},{10 + n},{100 * n}" for n in range(12)]
    (tmp_path / "dar" / "areas.csv").write_text("\n".join(["id,x,y,area,perimeter,corners,Total", *rows]))
    votes = [f"{n},{m}" for n, m in combinations(range(12), 2)] * 30
    (tmp_path / "dar" / "comparisons.csv").write_text("\n".join(["loser,winner", *votes]))
    texts = [f'{n},"{"a big joke " * n} of number {n % 3}"' for n in range(12)]
    (tmp_path / "humour" / "texts.csv").write_text("\n".join(["id,text", *texts]))
    (tmp_path / "humour" / "pairs.csv").write_text("\n".join(["loser,winner", *votes]))
    smiles = [f"{'C' * (n + 1)}OC,{'N' * (n + 1)}CO,x,y,{n % 2}" for n in range(12)]
    header = "smiles_i,smiles_j,chembl_id_i,chembl_id_j,label"
    (tmp_path / "molskill" / "production_public.csv").write_text("\n".join([header, *smiles]))
    for name in ("dar", "humour"):
        trial = sets.trial(name, 0, tmp_path)
        assert (len(trial.X), len(trial.unseen_X)) == (9, 3)
        assert np.all(trial.answer(trial.pairs, np.random.default_rng(0)) == -1)  # the later one won throughout
        assert np.all(trial.ordered[:, 0] > trial.ordered[:, 1])
    trial = sets.trial("molskill", 0, tmp_path)
    assert (len(trial.X), len(trial.unseen_X), len(trial.pairs), len(trial.unseen)) == (18, 6, 9, 3)
    assert len(trial.ordered) == 0
    assert set(trial.unseen.ravel()) == set(range(6))


def test_raw_texts_are_in_the_order_of_the_features_that_were_given(tmp_path):
    (tmp_path / "production_public.csv").write_text("smiles_i,smiles_j,label\nCC,CO,1\nN,CC,0\nCO,CO,1\n")
    assert sets.smiles(tmp_path).tolist() == ["CC", "CO", "N"]
    numbers, votes = np.arange(3)[:, None], np.array([[0, 1], [0, 2]] * 4)
    trial = sets.trial_from_molecules(numbers, votes, 0)
    held = trial.unseen_X[:, 0][trial.unseen]
    assert {tuple(pair) for pair in held.tolist()} <= {(0, 1), (0, 2)}


@pytest.mark.parametrize("name", sets.SIMULATED)
def test_people_who_err_as_the_model_says(name, tmp_path):
    trial = sets.trial(name, 3, tmp_path)
    assert len(trial.pairs) == len(trial.X) * (len(trial.X) - 1) // 2
    better = np.where(trial.chance[:, None] > 0.5, trial.pairs, trial.pairs[:, ::-1])
    assert set(map(tuple, trial.ordered.tolist())) <= set(map(tuple, better.tolist()))
    sure = np.mean(np.abs(trial.chance - 0.5))
    assert sure < 0.15 if name == "weak" else sure > 0.25
    again, other = sets.trial(name, 3, tmp_path), sets.trial(name, 4, tmp_path)
    np.testing.assert_array_equal(again.chance, trial.chance)
    assert not np.array_equal(other.X, trial.X)
