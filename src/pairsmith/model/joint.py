"""What a Gaussian posterior says about the order of items: ranks, doubt, reliability."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cholesky
from scipy.special import ndtr

from pairsmith.data.arrays import Floats, Ints

_DRAWS, _FEW_DRAWS = 2000, 500  # of the joint posterior, for ranks; for many items, or a chance that need not be exact
_MOST_SCORES = 10_000_000  # that are drawn for ranks, unless these would be too few draws
_MOST_ITEMS = 3000  # so many, drawn at random, stand for all where pairs of items are averaged over
_ROWS = 512  # items whose pairs are looked at at a time


@dataclass(frozen=True)
class Joint:
    """Scores of items, N(mean, effects + spread spread' + own I).

    `effects` is the covariance of the effects of the items `compared`; all others have an effect of variance `own` of
    which nothing is known.
    """

    mean: Floats  # (n,)
    spread: Floats  # (n, p)
    own: Floats  # (n,) zero where compared
    compared: Ints  # places of the items that `effects` is of
    effects: Floats

    def without_last(self) -> Joint:
        """Of all items but the last."""
        return self.part(np.arange(len(self.mean) - 1))

    def part(self, rows: Ints) -> Joint:
        """Of these items only, in this order."""
        place = np.full(len(self.mean), -1)
        place[self.compared] = np.arange(len(self.compared))
        kept = place[rows]
        compared = np.flatnonzero(kept >= 0)
        effects = self.effects[np.ix_(kept[compared], kept[compared])]
        return Joint(self.mean[rows], self.spread[rows], self.own[rows], compared, effects)

    def combined(self, weights: Floats) -> Joint:
        """Of the sums `weights` f of the scores."""
        those = weights[:, self.compared]
        effects = those @ self.effects @ those.T + (weights * self.own) @ weights.T
        count = len(weights)
        return Joint(weights @ self.mean, weights @ self.spread, np.zeros(count), np.arange(count), effects)

    def variance(self) -> Floats:
        """Of each score."""
        found: Floats = np.einsum("ia,ia->i", self.spread, self.spread) + self.own
        found[self.compared] += np.diag(self.effects)
        return found

    def covariance(self, rows: Ints, columns: Ints) -> Floats:
        """Between the scores of these items."""
        found = self.spread[rows] @ self.spread[columns].T
        found += np.where(rows[:, None] == columns[None, :], self.own[columns], 0.0)
        place = np.full(len(self.mean), -1)
        place[self.compared] = np.arange(len(self.compared))
        i, j = np.flatnonzero(place[rows] >= 0), np.flatnonzero(place[columns] >= 0)
        found[np.ix_(i, j)] += self.effects[np.ix_(place[rows[i]], place[columns[j]])]
        return found

    def gaps(self, i: Ints, j: Ints) -> tuple[Floats, Floats]:
        """Mean and variance of f_i - f_j for pairs of different items."""
        apart = self.spread[i] - self.spread[j]
        variance = np.einsum("ea,ea->e", apart, apart) + self.own[i] + self.own[j]
        place = np.full(len(self.mean), -1)
        place[self.compared] = np.arange(len(self.compared))
        for one, other, sign in ((i, i, 1.0), (j, j, 1.0), (i, j, -2.0)):
            both = (place[one] >= 0) & (place[other] >= 0)
            variance[both] += sign * self.effects[place[one[both]], place[other[both]]]
        return self.mean[i] - self.mean[j], np.maximum(variance, 0.0)

    def doubt(self, rng: np.random.Generator) -> float:
        """The mean, over pairs of items, of the probability that they stand in the wrong order; 0 without a pair."""
        n = len(self.mean)
        if n < 2:
            return 0.0
        some = some_of(n, rng)
        variance, total = self.variance()[some], 0.0
        for low in range(0, len(some), _ROWS):
            rows = some[low : low + _ROWS]
            across = variance[low : low + _ROWS, None] + variance - 2 * self.covariance(rows, some)
            gap = np.abs(self.mean[rows][:, None] - self.mean[some])
            with np.errstate(divide="ignore", invalid="ignore"):
                wrong = np.where(across > 0, ndtr(-gap / np.sqrt(np.maximum(across, 0.0))), 0.5)
            total += float(wrong.sum()) - float(np.trace(wrong[:, low : low + len(rows)]))
        return total / (len(some) * (len(some) - 1))

    def reliability(self) -> float:
        """The share of the variance of scores that is known: var(mean) / (var(mean) + mean posterior variance).

        Without features this is the scale separation reliability of comparative judgement.
        """
        known, unknown = self.spreads()
        return known / (known + unknown) if known + unknown > 0 else 0.0

    def spreads(self) -> tuple[float, float]:
        """The variance of the means, and the mean posterior variance.

        What all scores have in common is left out of both: comparisons do not tell it, and no order depends on it.
        """
        n = len(self.mean)
        total = self.spread.sum(axis=0)
        shared = float(total @ total) + float(self.own.sum()) + float(self.effects.sum())
        return float(np.var(self.mean)), float(self.variance().mean()) - shared / n**2

    def draws(self, rng: np.random.Generator, count: int = _DRAWS) -> Floats:
        """(count, n) scores drawn from the joint posterior."""
        found = rng.standard_normal((count, self.spread.shape[1])) @ self.spread.T + self.mean
        if len(self.compared):
            found[:, self.compared] += rng.standard_normal((count, len(self.compared))) @ _root(self.effects).T
        return found + rng.standard_normal((count, len(self.mean))) * np.sqrt(self.own)

    def ranks(self, rng: np.random.Generator, level: float, top: int | None) -> tuple[Ints, Ints, Floats | None]:
        """From which to which rank, 1 the best, each item is at this level; and P(it is among the best `top`)."""
        scores = self.draws(rng, max(_FEW_DRAWS, min(_DRAWS, _MOST_SCORES // max(1, len(self.mean)))))
        order = np.argsort(-scores, axis=1)
        ranks = np.empty(scores.shape, dtype=np.int32)
        np.put_along_axis(ranks, order, np.arange(1, scores.shape[1] + 1, dtype=np.int32)[None, :], axis=1)
        low, high = np.quantile(ranks, [(1 - level) / 2, (1 + level) / 2], axis=0, method="nearest")
        among = None if top is None else (ranks <= top).mean(axis=0)
        return low.astype(np.int64), high.astype(np.int64), among

    def among_best(self, rng: np.random.Generator, top: int) -> Floats:
        """P(an item is among the best `top`), of each."""
        scores = self.draws(rng, _FEW_DRAWS)
        best = np.argpartition(-scores, top - 1, axis=1)[:, :top]
        found: Floats = np.bincount(best.ravel(), minlength=scores.shape[1]) / len(scores)
        return found


def _root(covariance: Floats) -> Floats:
    """R with R R' the covariance: its Cholesky factor, the fastest to find, or where there is none, another."""
    try:
        root: Floats = cholesky(covariance, lower=True)
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(covariance)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
    return root


def some_of(n: int, rng: np.random.Generator) -> Ints:
    """All of n items, or of too many so many drawn at random: where pairs are averaged over, they stand for all."""
    return np.arange(n) if n <= _MOST_ITEMS else np.sort(rng.choice(n, _MOST_ITEMS, replace=False))


def no_scores(_items: Ints) -> Joint:
    """Of no items, whichever are asked for."""
    return Joint(np.zeros(0), np.zeros((0, 0)), np.zeros(0), np.zeros(0, dtype=np.int64), np.zeros((0, 0)))
