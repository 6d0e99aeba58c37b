import numpy as np
import pytest

from pairsmith.model.feature_map import FeatureMap
from pairsmith.model.learned import THRESHOLD, _some, learn_from
from pairsmith.model.posterior import Answers, Posterior

N, D = 25, 3
X = np.random.default_rng(0).standard_normal((N, D))
MAP = FeatureMap.of(X, N, np.random.default_rng(0))
LINEAR = MAP.linear(X)
FIXED = {"linear": 1.5, "smooth": 0.8, "items": 0.4}


def answers_of(pairs, seed=0):
    won = (np.random.default_rng(seed).random(len(pairs)) < 0.6).astype(float)
    return Answers(*np.asarray(pairs).T, won, 1 - won, np.ones(len(pairs)), np.zeros(len(pairs)))


def learned_from(answers, threshold=False, previous=None):
    return learn_from(LINEAR, MAP, answers, threshold, FIXED, np.random.default_rng(0), previous)


def test_the_posterior_of_any_items_is_that_of_all_of_them_written_out():
    """Items compared, not compared, never seen, and the threshold: by one dense formula over all their scores."""
    rng = np.random.default_rng(1)
    pairs = [*(rng.choice(15, 2, replace=False) for _ in range(30)), (3, N), (7, N)]
    learned = learned_from(answers_of(pairs), threshold=True)
    new = MAP.linear(rng.standard_normal((4, D)))
    linear, number = np.vstack([LINEAR[[3, 20, 7]], new]), np.array([3, 20, 7, -1, -1, -1, -1])
    joint = learned.joint(learned.coordinates(linear), number)

    everyone = np.vstack([LINEAR, new])
    smooth = MAP.smooth(everyone, learned.scale)
    K = FIXED["linear"] * everyone @ everyone.T + FIXED["smooth"] * smooth @ smooth.T
    K += FIXED["items"] * np.eye(len(everyone))
    K = np.block([[K, np.zeros((len(K), 1))], [np.zeros((1, len(K))), np.array([[THRESHOLD]])]])
    place = np.append(learned.items, len(K) - 1)
    B = np.zeros((len(learned.answers), len(K)))
    B[np.arange(len(B)), place[learned.answers.first]] = 1
    B[np.arange(len(B)), place[learned.answers.second]] = -1
    L = B.T @ np.diag(learned.sites.tau) @ B
    covariance = np.linalg.solve(np.eye(len(K)) + K @ L, K)
    mean = covariance @ B.T @ learned.sites.nu
    wanted = np.array([3, 20, 7, N, N + 1, N + 2, N + 3, N + 4])
    np.testing.assert_allclose(joint.mean, mean[wanted], atol=1e-8)
    every = np.arange(8)
    np.testing.assert_allclose(joint.covariance(every, every), covariance[np.ix_(wanted, wanted)], atol=1e-8)


def test_what_was_learned_before_is_a_start_and_not_an_answer():
    rng = np.random.default_rng(2)
    pairs = np.array([rng.choice(N, 2, replace=False) for _ in range(60)])
    pairs = np.unique(np.sort(pairs, axis=1), axis=0)
    first, both = answers_of(pairs[:30]), answers_of(pairs)
    both.won[:30], both.lost[:30] = first.won, first.lost
    again = learned_from(both, previous=learned_from(first))
    cold = learned_from(both)
    np.testing.assert_allclose(again.posterior.mean, cold.posterior.mean, atol=2e-3)
    assert again.evidence == pytest.approx(cold.evidence, abs=1e-3)


def test_a_few_more_answers_move_the_posterior_that_is_there(monkeypatch):
    rng = np.random.default_rng(3)
    pairs = rng.permutation(np.column_stack(np.triu_indices(N, 1)))
    pairs = np.vstack([pairs[(pairs != 4).all(axis=1)], [[4, 9]]])  # only the last answer is about item 4
    moved = []
    monkeypatch.setattr(
        Posterior, "moved", lambda self, *given, move=Posterior.moved: moved.append(move(self, *given)) or moved[-1]
    )
    both = answers_of(pairs)
    first = both.part(np.arange(len(pairs) - 2))
    label = answers_of([(0, N)])
    for before, after in ((first, both), (first.joined(label), both.joined(label))):
        threshold = len(after) > len(both)
        previous = learned_from(before, threshold)
        moved.clear()
        again, cold = learned_from(after, threshold, previous), learned_from(after, threshold)
        assert moved
        np.testing.assert_allclose(again.posterior.mean, cold.posterior.mean, atol=2e-3)
        np.testing.assert_allclose(again.posterior.effects, cold.posterior.effects, atol=2e-3)
        assert again.evidence == pytest.approx(cold.evidence, abs=1e-3)
        # Where answers are gone, there is no posterior to go on from.
        moved.clear()
        fewer = before.part(np.arange(5, len(before)))
        again, cold = learned_from(fewer, threshold, previous), learned_from(fewer, threshold)
        assert not moved
        np.testing.assert_allclose(again.posterior.mean, cold.posterior.mean, atol=2e-3)


def test_a_sample_of_many_answers_is_of_items_that_meet_again():
    rng = np.random.default_rng(3)
    n, count = 2000, 20_000
    pairs = np.array([rng.choice(n, 2, replace=False) for _ in range(count)])
    linear, some, threshold = _some(np.zeros((n, 1)), answers_of(pairs), False, rng)
    assert 900 < len(some) < 1300
    assert not threshold
    often = np.bincount(np.concatenate([some.first, some.second]))
    assert len(often) == len(linear)
    assert often.mean() > 2 * 2 * 1000 / n  # so often an item would be in 1,000 answers drawn at random, and more
