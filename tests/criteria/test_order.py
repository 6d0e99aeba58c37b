"""The criterion `order`: its gains against full posterior covariances, and what they mean."""

import itertools
import warnings
from contextlib import nullcontext

import numpy as np
import pytest
from scipy.special import expit, ndtr, xlogy

import pairsmith as ps
from pairsmith.criteria import order
from pairsmith.criteria.kernels import importance

N, D = 14, 3


def fitted(seed=0, count=25, **options):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((N, D))
    scores = 1.5 * X[:, 0] + rng.standard_normal(N)
    pairs = np.array([rng.choice(N - 2, 2, replace=False) for _ in range(count)]).reshape(-1, 2)  # two stay untouched
    outcomes = np.where(rng.random(count) < expit(scores[pairs[:, 0]] - scores[pairs[:, 1]]), 1, -1)
    model = ps.BradleyTerryGP(**options)
    with pytest.warns(UserWarning, match="islands") if count == 4 else nullcontext():
        model.fit(X, comparisons=pairs, outcomes=outcomes)
    return X, pairs, model


def mean_and_covariance(model, X):
    """Return the posterior mean and covariance of the scores."""
    joint, _, _ = model._scores(X)
    every = np.arange(len(X))
    return joint.mean[:-1], joint.without_last().covariance(every, every)


def worth(mean, before, after):
    """Return half of omega times the decrease of v, summed over all pairs of items one at a time."""
    total = 0.0
    for k, other in itertools.combinations(range(len(mean)), 2):
        b = np.zeros(len(mean))
        b[k], b[other] = 1, -1
        v = b @ before @ b
        z = (mean[k] - mean[other]) / np.sqrt(v)
        density = np.exp(-(z**2)) / (2 * np.pi)
        total += 0.5 * density / (ndtr(z) * ndtr(-z)) / v * (v - b @ after @ b)
    return total


def weight(mean, C, i, j):
    v = C[i, i] + C[j, j] - 2 * C[i, j]
    k = 1 / np.sqrt(1 + np.pi * v / 8)
    p = expit(k * (mean[i] - mean[j]))
    return k * p * (1 - p)


def conditioned(C, pairs, weights):
    """Return the covariance C after answers to pairs with these weights."""
    B = np.zeros((len(pairs), len(C)))
    for e, (i, j) in enumerate(pairs):
        B[e, i], B[e, j] = 1, -1
    noise = np.diag(1 / np.asarray(weights))
    return C - C @ B.T @ np.linalg.solve(B @ C @ B.T + noise, B @ C)


def test_every_pick_has_the_largest_gain():
    X, answered, model = fitted()
    mean, C = mean_and_covariance(model, X)
    gone = {tuple(sorted(pair)) for pair in answered.tolist()}
    left = [pair for pair in itertools.combinations(range(N), 2) if pair not in gone]
    weights = {pair: weight(mean, C, *pair) for pair in left}
    found = ps.select(X, 6, model=model, comparisons=answered)
    assert found.objective == "order"
    taken, before = [], 0.0
    for pair, gain in zip(found.pairs.tolist(), found.gains, strict=True):
        after = {
            one: conditioned(C, [*taken, one], [weights[e] for e in [*taken, one]]) for one in left if one not in taken
        }
        worths = {one: worth(mean, C, cov) - before for one, cov in after.items()}
        best = max(worths.values())
        assert worths[tuple(pair)] == pytest.approx(best, rel=1e-9)
        assert gain == pytest.approx(best, rel=1e-7)
        taken.append(tuple(pair))
        before += best


def test_a_gain_is_the_information_about_the_order_in_nats():
    """For a small change of the variance, compare with the mutual information of the order and an answer, in nats."""
    m, v, delta = 0.7, 1.3, 1e-4
    nodes, shares = np.polynomial.hermite_e.hermegauss(60)
    shares = shares / shares.sum()

    def entropy(p):
        return -(xlogy(p, p) + xlogy(1 - p, 1 - p))

    # An answer moves the mean by N(0, delta) and leaves the variance v - delta.
    told = entropy(ndtr(m / np.sqrt(v))) - shares @ entropy(ndtr((m + np.sqrt(delta) * nodes) / np.sqrt(v - delta)))
    covariance = np.diag([v / 2, v / 2])
    omega = importance(np.array([m, 0.0]), covariance)[0, 1]
    assert told == pytest.approx(0.5 * omega * delta, rel=1e-3)


def test_pairs_of_equal_items_have_no_importance():
    """Their difference is certain, even if rounding leaves a positive variance."""
    left_over = 0
    for seed in range(50):
        rng = np.random.default_rng(seed)
        rows = rng.integers(0, 10, 20)
        root = rng.standard_normal((10, 4))[rows] @ rng.standard_normal((4, 4))
        own = np.array([row @ row for row in root])
        covariance = root @ root.T
        v = own[:, None] + own - 2 * covariance
        np.fill_diagonal(covariance, own)
        same = rows[:, None] == rows
        left_over += np.count_nonzero(v[same] > 0)
        found = importance(rng.standard_normal(10)[rows], covariance)
        assert np.all(found[same] == 0)
        assert np.all(found[~same] > 0)
    assert left_over > 0


def test_unanswered_pairs_condition_the_design():
    X, answered, model = fitted()
    first = ps.select(X, 8, model=model, comparisons=answered)
    later = ps.select(X, 4, model=model, comparisons=[*answered.tolist(), *first.pairs[:4].tolist()])
    np.testing.assert_array_equal(later.pairs, first.pairs[4:])


def test_all_pairs_are_alike_without_features_and_answers():
    bare = ps.BradleyTerryGP().fit(n_items=9)
    found = ps.select(None, 4, model=bare)
    assert len(np.unique(found.pairs)) == 8  # all pairs are worth the same until an item is in a pick
    X, _, model = fitted(count=4)
    assert len(ps.select(X, 5, model=model)) == 5


def test_equal_pairs_are_picked_in_a_random_but_repeatable_order():
    bare = ps.BradleyTerryGP().fit(n_items=200)
    usual, again, *others = (ps.select(None, 50, model=bare, random_state=seed).pairs for seed in (None, None, 1, 2))
    np.testing.assert_array_equal(usual, again)
    assert len({frozenset(map(tuple, found.tolist())) for found in (usual, *others)}) == 3
    for found in (usual, *others):
        assert (found[:, 0] < found[:, 1]).all()
        apart = found[:, 1] - found[:, 0]
        assert 45 < apart.mean() < 90  # of random pairs 67 on average, with an error of 7


def test_on_a_table_sorted_by_quality_it_is_no_worse_than_random_pairs():
    """Without features all pairs have the same gain at first, and neighbours would be the worst choice."""
    n, scores = 60, np.linspace(3, -3, 60)
    every = list(itertools.combinations(range(n), 2))

    def in_order(seed, designed):
        rng = np.random.default_rng(seed)
        model, pairs, outcomes = ps.BradleyTerryGP(warm_start=True).fit(n_items=n), np.zeros((0, 2), int), np.zeros(0)
        while len(pairs) < 80:
            if designed:
                new = ps.select(None, 20, model=model, comparisons=pairs).pairs
            else:
                left = [pair for pair in every if pair not in set(map(tuple, pairs.tolist()))]
                new = rng.permutation(left)[:20]
            won = rng.random(20) < expit(scores[new[:, 0]] - scores[new[:, 1]])
            pairs, outcomes = np.vstack([pairs, new]), np.append(outcomes, np.where(won, 1, -1))
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", message=".*islands")
                model.fit(n_items=n, comparisons=pairs, outcomes=outcomes)
        mean = model.decision_function()
        return np.mean([(1 + np.sign(mean[i] - mean[j])) / 2 for i, j in every])

    gaps = [in_order(seed, True) - in_order(seed, False) for seed in range(8)]
    assert np.mean(gaps) > -0.03  # far lower if the first of equal pairs were neighbours


def test_goal_top_asks_about_the_best_items():
    rng = np.random.default_rng(1)
    n = 60
    scores = np.linspace(3, -3, n)
    pairs = np.array([rng.choice(n, 2, replace=False) for _ in range(400)])
    outcomes = np.where(rng.random(400) < expit(scores[pairs[:, 0]] - scores[pairs[:, 1]]), 1, -1)
    model = ps.BradleyTerryGP().fit(n_items=n, comparisons=pairs, outcomes=outcomes)
    everywhere, above = (ps.select(None, 20, model=model, **goal) for goal in ({}, {"goal": "top", "top": 5}))
    assert np.mean(above.pairs) < 15 < np.mean(everywhere.pairs)


def test_caps_groups_and_lists_are_respected():
    X, _, model = fitted()
    capped = ps.select(X, 6, model=model, max_per_item=1)
    assert len(np.unique(capped.pairs)) == 12
    groups = np.arange(N) % 3
    within = ps.select(X, 6, model=model, candidates=ps.WithinGroups(groups)).pairs
    assert (groups[within[:, 0]] == groups[within[:, 1]]).all()
    some = [(0, 1), (2, 9), (4, 13)]
    assert set(map(tuple, ps.select(X, 3, model=model, candidates=some).pairs.tolist())) == set(some)


def test_with_many_items_a_sample_is_considered(monkeypatch):
    monkeypatch.setattr(order, "MAX_SAMPLED_ITEMS", 8)
    X, _, model = fitted()
    found = ps.select(X, 4, model=model)
    assert found.diagnostics["items looked at"] == 8
    assert len(np.unique(found.pairs)) <= 8
    np.testing.assert_array_equal(ps.select(X, 4, model=model).pairs, found.pairs)
    later = [ps.select(X, 4, model=model, comparisons=found.pairs[:count]).pairs for count in range(1, 5)]
    assert len(np.unique(np.concatenate([found.pairs, *later]))) > 8  # other rounds draw other samples


def test_a_new_sample_is_drawn_after_half_as_many_picks(monkeypatch):
    """Each pick has the largest gain in the sample at its step, given all picks before it."""
    X, answered, model = fitted()
    mean, C = mean_and_covariance(model, X)
    samples = [np.arange(8), np.array([0, 3, 5, 6, 9, 10, 12, 13])]
    monkeypatch.setattr(order, "MAX_SAMPLED_ITEMS", 8)
    coming = iter(samples)
    monkeypatch.setattr(order, "_sample_items", lambda _remaining, _rng: next(coming))
    found = ps.select(X, 8, model=model, comparisons=answered)
    gone = {tuple(sorted(pair)) for pair in answered.tolist()}
    taken = []
    for at, (pair, gain) in enumerate(zip(found.pairs.tolist(), found.gains, strict=True)):
        items = samples[at // 4]

        def told(pairs, items=items):
            weights = [weight(mean, C, *pair) for pair in pairs]
            after = conditioned(C, pairs, weights) if pairs else C
            return worth(mean[items], C[np.ix_(items, items)], after[np.ix_(items, items)])

        left = [one for one in itertools.combinations(items.tolist(), 2) if one not in gone and one not in taken]
        worths = {one: told([*taken, one]) - told(taken) for one in left}
        assert worths[tuple(pair)] == pytest.approx(max(worths.values()), rel=1e-9)
        assert gain == pytest.approx(max(worths.values()), rel=1e-7)
        taken.append(tuple(pair))
    assert found.diagnostics["items looked at"] == len(set(samples[0]) | set(samples[1]))


@pytest.mark.parametrize("cap", [None, 3])
def test_all_candidates_can_be_picked_however_few_there_are(monkeypatch, cap):
    monkeypatch.setattr(order, "MAX_SAMPLED_ITEMS", 4)
    monkeypatch.setattr(order, "MAX_SAMPLED_ITEMS_IF_SPARSE", 6)
    X, _, model = fitted()
    groups = np.arange(N) // 2  # one pair each
    found = ps.select(X, N // 2, model=model, candidates=ps.WithinGroups(groups), max_per_item=cap)
    np.testing.assert_array_equal(np.sort(found.pairs, axis=None), np.arange(N))
    first = ps.select(X, 3, model=model, candidates=ps.WithinGroups(groups), max_per_item=cap)
    assert first.diagnostics["items looked at"] == 6
    every = ps.select(X, 91 if cap is None else 15, model=model, max_per_item=cap).pairs
    assert len({tuple(pair) for pair in every.tolist()}) == len(every) == (91 if cap is None else 15)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"objective": "order", "model": None}, "needs a BradleyTerryGP as model"),
        ({"goal": "best"}, "goal: 'best' is unknown"),
        ({"goal": "top"}, "goal='top' goes with"),
        ({"top": 3}, "goal='top' goes with"),
        ({"goal": "top", "top": 99}, "top=99 exceeds the 14 items"),
        ({"objective": "d-optimal", "goal": "top"}, "goal and top are for objective='order'"),
        ({"certify": True}, "certify bounds log det"),
    ],
)
def test_options_that_do_not_fit_are_refused(options, message):
    X, _, model = fitted()
    with pytest.raises(ValueError, match=message):
        ps.select(X, 3, **({"model": model} | options))
