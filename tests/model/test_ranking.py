"""Rankings of items, of items within groups, and of their authors."""

import numpy as np
import pytest
from scipy.stats import norm, t

import pairsmith as ps
from pairsmith.model.posterior import Posterior
from pairsmith.model.ranking import (
    author_weights,
    certainty,
    group_members,
    rank_authors,
    rank_items,
    rank_within_groups,
)


def posterior(n=12, seed=0):
    """Return a posterior, its mean and its dense covariance."""
    rng = np.random.default_rng(seed)
    compared = np.sort(rng.choice(n, n - 3, replace=False))
    root = rng.standard_normal((n - 3, n - 3)) / 2
    own = np.full(n, 0.7)
    own[compared] = 0.0
    joint = Posterior(rng.standard_normal(n), rng.standard_normal((n, 2)) / 2, own, compared, root @ root.T)
    S = joint.root @ joint.root.T + np.diag(own)
    S[np.ix_(compared, compared)] += root @ root.T
    return joint, joint.mean, S


def test_scores_within_groups_are_relative_to_the_group_mean():
    joint, mean, S = posterior()
    groups = np.array(list("abcb") * 3)
    table = rank_within_groups(joint, None, groups, np.random.default_rng(0), 0.9)
    assert list(dict.fromkeys(table["group"])) == ["a", "b", "c"]
    draws = np.random.default_rng(1).multivariate_normal(mean, S, 40_000)
    for group, own in table.groupby("group"):
        rows = np.flatnonzero(groups == group)
        apart = draws[:, rows] - draws[:, rows].mean(axis=1, keepdims=True)
        assert sorted(own.index) == list(rows)
        assert list(own["rank"]) == list(range(1, len(rows) + 1))
        place = np.searchsorted(rows, own.index)
        np.testing.assert_allclose(own["score"], mean[own.index] - mean[rows].mean())
        np.testing.assert_allclose(own["error"], apart.std(axis=0)[place], rtol=0.03)
        above = (apart[:, place[:-1]] > apart[:, place[1:]]).mean(axis=0)
        np.testing.assert_allclose(own["above_next"][:-1], above, atol=0.01)
        assert own["worst"].max() <= len(rows)


@pytest.mark.parametrize("groups", [None, np.array([0, 0, 0, 0, 1, 1, 1, 2, 2, 2, 2, 2])])
def test_author_intervals_allow_for_other_items_of_the_author(groups):
    """Compare with draws from the posterior, perturbed as if the authors had made other items."""
    joint, mean, S = posterior()
    rng, level = np.random.default_rng(1), 0.8
    by = np.array(list("xyzz") * 3)
    table = rank_authors(joint, by, groups, np.random.default_rng(0), level)
    names = np.array(list("xyz"))
    X = (by[:, None] == names).astype(float)
    if groups is not None:
        X = np.hstack([X, np.eye(3)[groups]])
    draws = rng.multivariate_normal(mean, S, 40_000)

    def least_squares(scores):
        found = np.linalg.lstsq(X, scores.T, rcond=None)[0]
        return found[:3].T - found[:3].mean(axis=0)[:, None], scores - (X @ found).T

    at_hand, rest = least_squares(draws)
    freedom = 12 - 3 - (0 if groups is None else 2)
    spread = np.mean(np.sum(rest**2, axis=1)) / freedom * (t.ppf(0.9, freedom) / norm.ppf(0.9)) ** 2
    theirs = least_squares(draws + np.sqrt(spread) * rng.standard_normal(draws.shape))[0]
    order = [list(names).index(name) for name in table.index]
    theirs = theirs[:, order]
    np.testing.assert_allclose(table["score"], at_hand.mean(axis=0)[order], atol=0.02)
    np.testing.assert_allclose(table["error"], theirs.std(axis=0), rtol=0.03)
    np.testing.assert_allclose(table["low"], np.quantile(theirs, 0.1, axis=0), atol=0.03)
    np.testing.assert_allclose(table["above_next"][:-1], (np.diff(theirs) < 0).mean(axis=0), atol=0.01)
    assert dict(table["items"]) == {"x": 3, "y": 3, "z": 6}
    assert list(table["score"]) == sorted(table["score"], reverse=True)


def test_authors_of_one_item_each_cause_a_warning():
    joint, _, S = posterior()
    with pytest.warns(UserWarning, match="intervals are about these items only"):
        table = rank_authors(joint, np.arange(12), None, np.random.default_rng(0), 0.9).sort_index()
    centred = np.eye(12) - 1 / 12
    np.testing.assert_allclose(table["error"], np.sqrt(np.diag(centred @ S @ centred)))


def test_groups_change_nothing_if_every_author_is_in_every_group():
    author, group = np.tile(np.arange(3), 4), np.repeat(np.arange(4), 3)
    np.testing.assert_allclose(
        author_weights(author, group, list("xyz")), author_weights(author, None, list("xyz")), atol=1e-12
    )


def test_author_scores_are_adjusted_for_the_difficulty_of_groups():
    """If scores are exactly author plus group, the author's part is recovered."""
    rng = np.random.default_rng(3)
    author, group = np.array([0, 1, 1, 2, 0, 2, 3, 3, 1]), np.array([0, 0, 1, 1, 2, 2, 2, 3, 3])
    skill, ease = rng.standard_normal(4), 5 * rng.standard_normal(4)
    weights = author_weights(author, group, list("wxyz"))
    np.testing.assert_allclose(weights @ (skill[author] + ease[group]), skill - skill.mean(), atol=1e-10)
    # The same by least squares, written out.
    X = np.hstack([np.eye(4)[author], np.eye(4)[group]])
    scores = rng.standard_normal(9)
    found = np.linalg.lstsq(X, scores, rcond=None)[0][:4]
    np.testing.assert_allclose(weights @ scores, found - found.mean(), atol=1e-10)


def test_unconnected_authors_and_invalid_groups_are_refused():
    joint, *_ = posterior()
    rng = np.random.default_rng(0)
    by, groups = list("xyxyxyzvzvzv"), list("aabbccddeeff")
    with pytest.raises(ValueError, match="by: 'x' and 'z' have no items in the same group"):
        rank_authors(joint, by, groups, rng, 0.9)
    with pytest.raises(ValueError, match="by names only 'x'; a ranking needs at least two"):
        rank_authors(joint, ["x"] * 12, None, rng, 0.9)
    with pytest.raises(ValueError, match="by has 3 values, but there are 12 items"):
        rank_authors(joint, list("xyz"), None, rng, 0.9)
    for odd in ("ab" * 6, [["a"]] * 12):
        with pytest.raises(ValueError, match="groups must be a list with one for each item"):
            rank_within_groups(joint, None, odd, rng, 0.9)
    with pytest.raises(ValueError, match="groups has no value for item 1"):
        rank_within_groups(joint, None, ["a", None] * 6, rng, 0.9)


def answered_prompts(seed, skill=(1.5, 0.0, -1.5), spread=0.3):
    """Return author and prompt of 36 texts, three for each of twelve prompts, and 144 answers about them."""
    rng = np.random.default_rng(seed)
    author, prompt = np.tile(np.arange(3), 12), np.repeat(np.arange(12), 3)
    truth = np.array(skill)[author] + spread * rng.standard_normal(36) + 2 * rng.standard_normal(12)[prompt]
    pairs = np.array([(3 * p + i, 3 * p + j) for p in range(12) for i, j in ((0, 1), (0, 2), (1, 2)) for _ in range(4)])
    wins = np.where(rng.random(len(pairs)) < 1 / (1 + np.exp(truth[pairs[:, 1]] - truth[pairs[:, 0]])), 1, -1)
    return author, prompt, {"comparisons": pairs, "outcomes": wins}


def test_author_intervals_cover_the_true_skill():
    """Items of one author differ much, so intervals about these items alone would cover too little."""
    covered = []
    for seed in range(12):
        skill = np.random.default_rng([seed, 1]).standard_normal(3)
        author, prompt, known = answered_prompts(seed, skill, spread=1.0)
        X = np.eye(3)[author]
        model = ps.BradleyTerryGP(smooth=False, warm_start=True).fit(X, **known)
        table = model.rank(X, by=author, groups=prompt).sort_index()
        own = skill - skill.mean()
        covered += list((table["low"] < own) & (own < table["high"]))
    assert np.mean(covered) > 0.8


def test_estimator_ranks_items_groups_and_authors():
    author, prompt, known = answered_prompts(0)
    X = np.eye(3)[author]
    model = ps.BradleyTerryGP(warm_start=True).fit(X, **known)
    names = np.array(["good", "fair", "poor"])[author]
    table = model.rank(X, by=names, groups=prompt)
    assert list(table.index) == ["good", "fair", "poor"]
    assert (table["above_next"][:-1] > 0.95).all()
    within = model.rank(X, groups=prompt)
    assert len(within) == 36
    assert (within.groupby("group")["score"].mean().abs() < 1e-9).all()
    with pytest.raises(ValueError, match="top is about items"):
        model.rank(X, by=names, top=2)


def test_item_alone_in_its_group_is_first_without_doubt():
    joint, *_ = posterior(4)
    table = rank_within_groups(joint, None, ["a", "b", "b", "b"], np.random.default_rng(0), 0.9, top=1)
    assert table.iloc[0][["rank", "score", "error", "best", "worst", "in_top"]].tolist() == [1, 0, 0, 1, 1, 1]


def test_all_items_are_ranked_by_the_scores_themselves():
    joint, mean, S = posterior()
    table = rank_items(joint, None, np.random.default_rng(0), 0.9)
    np.testing.assert_allclose(table["score"], np.sort(mean)[::-1])
    np.testing.assert_allclose(table["error"], np.sqrt(np.diag(S))[table.index])


@pytest.fixture
def joint():
    """Return the posterior of nine items, five of them compared."""
    rng = np.random.default_rng(0)
    root = rng.standard_normal((5, 5))
    compared = np.array([0, 2, 3, 6, 8])
    own = np.full(9, 0.4)
    own[compared] = 0
    return Posterior(rng.standard_normal(9), 0.5 * rng.standard_normal((9, 2)), own, compared, 0.2 * root @ root.T)


@pytest.fixture
def groups():
    return np.array([1, 0, 1, 1, 0, 0, 1, 0, 0])


def draws_of(joint, count=200_000):
    covariance = joint.root @ joint.root.T + np.diag(joint.unseen_variance)
    covariance[np.ix_(joint.compared, joint.compared)] += joint.compared_effects
    return np.random.default_rng(1).multivariate_normal(joint.mean, covariance, size=count)


def test_certainty_averages_over_pairs_of_the_same_group(joint, groups):
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


def test_group_members_lists_the_items_of_each_group():
    assert [rows.tolist() for rows in group_members(np.array([1, 0, 1, 2]), 4)] == [[1], [0, 2], [3]]
    assert [rows.tolist() for rows in group_members(None, 3)] == [[0, 1, 2]]


def test_certainty_of_the_estimator_is_its_doubt_and_reliability():
    X = np.random.default_rng(0).standard_normal((6, 2))
    model = ps.BradleyTerryGP(warm_start=True).fit(X, comparisons=[[0, 2], [2, 4], [1, 3]], outcomes=[1, 1, -1])
    assert model.certainty(X) == (pytest.approx(model.doubt_, abs=1e-6), pytest.approx(model.reliability_))
    assert model.certainty(X, list("bababa")) != model.certainty(X)
