"""WhitenedItems items: a snapshot of the design between two picks, in which a pair's gain is a squared distance."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from pairsmith.data.arrays import Bools, Floats, Ints
from pairsmith.data.candidates import Remaining
from pairsmith.design.information import Design
from pairsmith.design.kernels import pair_distances
from pairsmith.design.weights import logistic_weight
from pairsmith.engine.threads import ThreadTeam
from pairsmith.engine.top_pairs import Hits, Items, renumber

# A table of max_t w(t) (t^2 + q), the largest weighted gain (`_norms_across_score`), for q = 0 to 4; beyond, it is q/4.
_Q, _T = np.linspace(0, 4, 400), np.linspace(0, 6, 601)
_LARGEST_WEIGHTED_GAIN = np.max(logistic_weight(_T)[:, None] * (_T[:, None] ** 2 + _Q), axis=0) * (1 + 1e-4)

_SAMPLED_ITEMS = 300  # their pairs are the sample of the candidates, if these form one group
_SAMPLED_PAIRS = 20_000  # the size of the sample otherwise
_LONGEST_ITEMS = 400  # these items nearly always include the farthest pair
_MAX_NUMBERS_BY_NUMPY = 1 << 20  # for so few differences, NumPy is done before a kernel would be compiled


@dataclass
class WhitenedItems:
    """The items as a scan sees them: whitened, with norms and the pairs that are gone. It is valid until the next pick.

    Z, the norms and whatever is derived from them may share memory that the next `Scan.whiten` overwrites.

    With item effects, d_ij = |z_i - z_j|^2 + own_i + own_j - 2 E_ij, where E_ij is 0 unless both items are touched
    (`pairsmith.design.effects`).
    """

    design: Design
    remaining: Remaining
    team: ThreadTeam
    factors: tuple[Floats, ...]  # Z is X times each factor in turn
    squared_norms: Floats  # |z_i|^2
    energy: Floats  # the mean square of each column of Z
    Z: Floats | None  # None if it does not fit in memory: rows are then computed when they are needed

    def __post_init__(self) -> None:
        design, remaining = self.design, self.remaining
        self.own = None if design.effects is None else design.effects.variances()  # E_ii of each item
        self.taken = remaining.taken  # the numbers of the pairs that were compared or picked, ascending
        self._in_taken_pair = np.zeros(design.n, dtype=bool)
        self._in_taken_pair[remaining.rows.pairs(self.taken)] = True
        self._any_full = bool(remaining.full.any())  # whether an item is at its exposure cap
        # Squared lengths that rule out pairs (`min_squared_span`), and |gamma| if they leave out the score's direction.
        self.pruning_norms, self.score_slope = self.squared_norms, 0.0
        if design.scores is not None and self.Z is not None and self.own is None and design.averaged is None:
            self.pruning_norms, self.score_slope = _norms_across_score(
                self.Z, self.squared_norms, self.energy, design.scores
            )

    # The next four methods relate gains to distances and lengths. They take a number or an array.

    def product(self, gain: Any) -> Any:
        """Return the least score-weighted d_ij of a pair with this gain.

        The score-weighted d_ij is the gain itself, except under averaged weights, which depend on more than the scores.
        A gain of -inf stays -inf.
        """
        if self.design.averaged is None or np.all(gain == -np.inf):
            return gain
        return self.design.averaged.min_product(gain)

    def gain(self, product: Any) -> Any:
        """Return the largest gain of a pair with this score-weighted d_ij: the inverse of `product`."""
        return product if self.design.averaged is None else self.design.averaged.max_gain(product)

    def min_distance(self, gain: Any) -> Any:
        """Return the least d_ij of a pair with this gain: a weight is at most 1/4."""
        return gain if self.design.scores is None else 4 * self.product(gain)

    def min_squared_span(self, gain: Any) -> Any:
        """Return the least (sqrt(a_i) + sqrt(a_j))^2, with a the pruning norms, of a pair with this gain."""
        if self.own is not None:  # two effects add at most twice the largest variance
            return np.maximum(self.min_distance(gain) - 2 * self.own.max(), 0.0)
        if self.score_slope == 0:
            return self.min_distance(gain)
        scaled = gain * self.score_slope**2
        q = np.where(scaled >= 1, 4 * scaled, np.interp(scaled, _LARGEST_WEIGHTED_GAIN, _Q) * (1 - 1e-3))
        return q / self.score_slope**2

    def rows(self, items: Items) -> Floats:
        """Return rows of Z."""
        if self.Z is not None:
            stored: Floats = self.Z[items]
            return stored
        features = self.design.points
        Z, step = np.empty((len(items), features.shape[1])), features.rows_at_once

        def work(low: int) -> None:
            Z[low : low + step] = features.project(items[low : low + step], *self.factors)

        self.team.share(work, range(0, len(items), step))
        return Z

    def gains(self, i: Items, j: Items) -> Floats:
        """Return w_ij d_ij of pairs in float64."""
        weight = None if self.design.scores is None else self.design.weight(i, j)
        effects = self.design.effects
        effect_variance: Floats | float = 0.0 if effects is None else effects.difference_variances(i, j)
        Z = self.Z
        if Z is None:
            items, i, j = renumber(self.design.n, i, j)
            Z = self.rows(items)
        if len(i) * Z.shape[1] <= _MAX_NUMBERS_BY_NUMPY:
            differences = Z[i] - Z[j]
            gains: Floats = np.einsum("ec,ec->e", differences, differences)
        else:
            gains = np.empty(len(i))
            pair_distances(Z, Z, i, j, gains)
        gains += effect_variance
        return gains if weight is None else gains * weight

    def with_true_gains(self, hits: Hits, floor: float) -> Hits:
        """Return the hits whose true gain reaches the floor, with that gain. Only averaged weights need this step."""
        if self.design.averaged is None:
            return hits
        hits = Hits(hits.i, hits.j, self.gains(hits.i, hits.j))
        return hits.only(hits.gain >= floor)

    @property
    def all_pairs_are_candidates(self) -> bool:
        """Whether no pair of items is excluded from the start."""
        return len(self.remaining.rows) == self.design.n * (self.design.n - 1) // 2

    @property
    def any_untouched(self) -> bool:
        """Whether some item is untouched. Without item effects, every item is."""
        effects = self.design.effects
        return effects is None or effects.count < self.design.n

    def both_touched(self, i: Items, j: Items) -> Bools:
        """Return a mask of the pairs whose two items are both touched."""
        effects = self.design.effects
        if effects is None:
            return np.zeros(len(i), dtype=bool)
        both: Bools = (effects.place[i] >= 0) & (effects.place[j] >= 0)
        return both

    def gone(self, i: Items, j: Items) -> Bools:
        """Return a mask of the pairs that are taken or have an item at its exposure cap."""
        full, taken = self.remaining.full, self.taken
        gone: Bools = full[i] | full[j] if self._any_full else np.zeros(len(i), dtype=bool)
        if len(taken):
            suspects = np.flatnonzero(self._in_taken_pair[i] & self._in_taken_pair[j])
            numbers = self.remaining.rows.numbers(np.column_stack([i[suspects], j[suspects]]).astype(np.int64))
            at = np.minimum(np.searchsorted(taken, numbers), len(taken) - 1)
            gone[suspects[taken[at] == numbers]] = True
        return gone

    def sample(self) -> Floats:
        """Return the gains of a random sample of the candidates, ascending."""
        rng, rows = np.random.default_rng(0), self.remaining.rows
        if rows.groups is not None and len(rows.groups) == 2:
            n = len(rows.partner)
            items = rows.partner[rng.choice(n, min(n, _SAMPLED_ITEMS), replace=False)].astype(np.int64)
            gains = self._gains_among(items)[2]
        else:
            gains = self.gains(*rows.pairs(rng.integers(len(rows), size=_SAMPLED_PAIRS)).T)
        return np.sort(gains)

    def far(self) -> Floats:
        """Return the gains of the remaining candidates among the longest items, ascending.

        These gains are attained. The largest of them is hardly ever exceeded.
        """
        count = min(self.design.n, _LONGEST_ITEMS)
        lengths = self.pruning_norms if self.own is None else self.pruning_norms + self.own
        lengths = np.where(self.remaining.full, -1.0, lengths)
        i, j, gains = self._gains_among(np.sort(np.argpartition(lengths, len(lengths) - count)[-count:]))
        allowed = ~self.gone(i, j)
        if not self.all_pairs_are_candidates:
            allowed &= self.remaining.rows.numbers(np.column_stack([i, j])) >= 0
        return np.sort(gains[allowed]) * (1 - 1e-9)  # allows for rounding

    def _gains_among(self, items: Ints) -> tuple[Ints, Ints, Floats]:
        """Return all pairs (i, j) of the items and their gains, up to rounding."""
        Z, squared_norms = self.rows(items), self.squared_norms[items]
        i, j = np.triu_indices(len(items), 1)
        gains = np.maximum((squared_norms[:, None] + squared_norms[None, :] - 2 * (Z @ Z.T))[i, j], 0.0)
        if self.design.effects is not None:
            gains += self.design.effects.difference_variances(items[i], items[j])
        if self.design.scores is not None:
            gains *= self.design.weight(items[i], items[j])
        return items[i], items[j], gains


def whiten(features: Any, which: Any, factors: tuple[Floats, ...], out: Floats | None = None) -> Floats:
    """Return rows of Z = X F_1 F_2 ..., written to `out` if it is given."""
    Z: Floats = reduce(np.matmul, factors[:-1], features.rows(which))
    return np.matmul(Z, factors[-1], out=out)


def _norms_across_score(Z: Floats, squared_norms: Floats, energy: Floats, scores: Floats) -> tuple[Floats, float]:
    """Return squared norms of the items without their component along the score, and |gamma|.

    Scores are linear in Z: t = s_i - s_j = gamma'(z_i - z_j). So d_ij = t^2 / |gamma|^2 + |across|^2, where `across` is
    the component of z_i - z_j orthogonal to gamma. Pairs far apart in score have a small weight w(t):

        |gamma|^2 w d_ij <= max_t w(t) (t^2 + q),    q = |gamma|^2 |across|^2.

    The maximum is 0.44 for q = 0, and q / 4 for q >= 4.

    If this bounds weighted gains no better, or if gamma cannot be recovered from the scores, return `squared_norms`
    and 0.
    """
    n, d = Z.shape
    width = np.sqrt(energy) + 1e-300
    sample = slice(None, None, max(1, n // (8 * d + 100)))
    design_matrix = np.column_stack([Z[sample] / width, np.ones(len(Z[sample]))])
    fitted = np.linalg.lstsq(design_matrix, scores[sample], rcond=1e-12)[0]
    gamma, constant = fitted[:-1] / width, fitted[-1]
    slope = float(np.linalg.norm(gamma))
    along = Z @ gamma
    exact = np.max(np.abs(along + constant - scores)) <= 1e-6 * np.ptp(scores)
    if not exact or slope == 0 or not np.isfinite(slope):
        return squared_norms, 0.0  # rounding may have lost gamma's direction in Z
    across = np.maximum(squared_norms - (along / slope) ** 2, 0.0) + 1e-12 * squared_norms
    largest = max(4 * float(across.max()), 4 / slope**2)
    if largest < 4 * float(squared_norms.max()):
        return across, slope
    return squared_norms, 0.0
