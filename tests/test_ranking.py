"""Rankings of all items and of each group, against draws from the posterior."""

import numpy as np
import pytest

from pairsmith.model.gaussian_process import BradleyTerryGP
from pairsmith.model.joint import Joint
from pairsmith.model.ranking import certainty, members, ranked


@pytest.fixture
def joint():
    """Nine items, of which five were compared."""
    rng = np.random.default_rng(0)
    root = rng.standard_normal((5, 5))
    compared = np.array([0, 2, 3, 6, 8])
    own = np.full(9, 0.4)
    own[compared] = 0
    return Joint(rng.standard_normal(9), 0.5 * rng.standard_normal((9, 2)), own, compared, 0.2 * root @ root.T)


@pytest.fixture
def groups():
    return np.array([1, 0, 1, 1, 0, 0, 1, 0, 0])


def draws_of(joint, count=200_000):
    covariance = joint.spread @ joint.spread.T + np.diag(joint.own)
    covariance[np.ix_(joint.compared, joint.compared)] += joint.effects
    return np.random.default_rng(1).multivariate_normal(joint.mean, covariance, size=count)


def test_each_group_has_a_ranking_of_its_own(joint, groups):
    table = ranked(joint, None, 0.9, 2, groups, np.random.default_rng(0))
    scores = draws_of(joint)
    assert table["rank"].tolist() == [1, 2, 3, 4, 5, 1, 2, 3, 4]
    for group, part in ((0, table[:5]), (1, table[5:])):
        items = np.flatnonzero(groups == group)
        assert part.index.tolist() == sorted(items, key=lambda item: -joint.mean[item])
        ranks = 1 + (scores[:, items, None] < scores[:, None, items]).sum(axis=2)
        for at, item in enumerate(items):
            row = part.loc[item]
            assert row["in_top"] == pytest.approx(np.mean(ranks[:, at] <= 2), abs=0.04)
            within = (ranks[:, at] >= row["best"]) & (ranks[:, at] <= row["worst"])
            assert within.mean() > 0.88
        assert np.isnan(part["above_next"].iloc[-1])


def test_certainty_is_about_pairs_of_one_group(joint, groups):
    scores = draws_of(joint)
    i, j = np.triu_indices(9, 1)
    wrong = ((scores[:, i] > scores[:, j]) != (joint.mean[i] > joint.mean[j])).mean(axis=0)
    same = groups[i] == groups[j]
    doubt, reliability = certainty(joint, groups, np.random.default_rng(0))
    assert doubt == pytest.approx(wrong[same].mean(), abs=0.003)
    # The variance within groups of draws is what is known and what is not, together.
    within = sum(scores[:, groups == group].var(axis=1).mean() * np.sum(groups == group) for group in (0, 1))
    known = sum(joint.mean[groups == group].var() * np.sum(groups == group) for group in (0, 1))
    assert reliability == pytest.approx(known / within, abs=0.01)
    assert certainty(joint, None, np.random.default_rng(0)) == (
        pytest.approx(joint.doubt(np.random.default_rng(0))),
        pytest.approx(joint.reliability()),
    )


def test_members():
    assert [rows.tolist() for rows in members(np.array([1, 0, 1, 2]), 4)] == [[1], [0, 2], [3]]
    assert [rows.tolist() for rows in members(None, 3)] == [[0, 1, 2]]


def test_the_model_ranks_groups_by_their_names():
    X = np.random.default_rng(0).standard_normal((6, 2))
    groups = ["b", "a", "b", "a", "b", "a"]
    model = BradleyTerryGP(warm_start=True).fit(
        X, comparisons=[[0, 2], [2, 4], [1, 3], [3, 5]], outcomes=[1, 1, -1, -1]
    )
    table = model.rank(X, top=1, groups=groups)
    assert table.index.tolist() == [0, 2, 4, 5, 3, 1]
    assert table["rank"].tolist() == [1, 2, 3, 1, 2, 3]
    assert table["in_top"][:3].sum() == pytest.approx(1)
    assert model.certainty(X) == (pytest.approx(model.doubt_, abs=1e-6), pytest.approx(model.reliability_))
    with pytest.raises(ValueError, match="groups names 2 items, but X has 6"):
        model.rank(X, groups=["a", "b"])
    with pytest.raises(ValueError, match="item 1 has no group"):
        model.rank(X, groups=["a", None, "a", "a", "a", "a"])
