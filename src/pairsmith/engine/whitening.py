"""The items at one moment of the design: whitened, so that a pair's gain is a distance; and which pairs are gone."""

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
from pairsmith.engine.threads import Team
from pairsmith.engine.top_pairs import Hits, Items, renumber

# A table of max_t w(t) (t^2 + q), the largest weighted gain (`_across_the_score`), for q = 0 to 4; beyond, it is q / 4.
_Q, _T = np.linspace(0, 4, 400), np.linspace(0, 6, 601)
_LARGEST_WEIGHTED = np.max(logistic_weight(_T)[:, None] * (_T[:, None] ** 2 + _Q), axis=0) * (1 + 1e-4)

_SAMPLED_ITEMS = 300  # all pairs of so many items are a sample of all pairs
_SAMPLED_PAIRS = 20_000  # where only some pairs are candidates
_LONGEST_ITEMS = 400  # among so many of the longest items, the farthest pair is nearly always found
_FEW_NUMBERS = 1 << 20  # in differences of pairs: they are computed before a kernel would be compiled


@dataclass(frozen=True)
class Whitened:
    """All that a scan needs to know of the design between two picks; good until the next pick.

    Z, norms and what is derived from them may be in memory that the next `Scan.whiten` uses again. Where items have
    effects of their own, `own` is what those add, so that d_ij = |z_i - z_j|^2 + own_i + own_j - 2 E_ij, the last only
    for two items that are both touched (`design.effects`).
    """

    design: Design
    remaining: Remaining
    team: Team
    factors: tuple[Floats, ...]  # Z = X times each of them in turn
    norms: Floats  # |z_i|^2
    energy: Floats  # the mean square of each column of Z
    Z: Floats | None  # of all items, where there is memory for that; else parts are computed when needed
    own: Floats | None  # E_ii of each item, where items have effects of their own
    reach: Floats  # a squared length for each item, such that `needed` holds
    steepness: float  # |gamma| where `reach` leaves out what is along the score; else 0
    taken: Ints  # the numbers of the pairs that are gone, ascending
    involved: Bools  # items of which a pair is taken
    capped: bool  # whether any item is at its cap

    @classmethod
    def at(
        cls,
        design: Design,
        remaining: Remaining,
        team: Team,
        factors: tuple[Floats, ...],
        norms: Floats,
        energy: Floats,
        Z: Floats | None,
    ) -> Whitened:
        """The moment at which these factors, lengths and columns were measured: now."""
        taken = remaining.taken
        involved = np.zeros(design.n, dtype=bool)
        involved[remaining.rows.pairs(taken)] = True
        own = None if design.effects is None else design.effects.own()
        reach, steepness = norms, 0.0
        if design.scores is not None and Z is not None and own is None and design.averaged is None:
            reach, steepness = _across_the_score(Z, norms, energy, design.scores)
        capped = bool(remaining.full.any())
        return cls(
            design, remaining, team, factors, norms, energy, Z, own, reach, steepness, taken, involved, capped
        )  # fmt: skip

    def distance(self, gain: Any) -> Any:
        """d_ij must be at least this for a gain as large: weights are at most 1/4."""
        return gain if self.design.scores is None else 4 * self.product(gain)

    def product(self, gain: Any) -> Any:
        """d_ij, weighed by the scores alone, must be at least this for a gain as large; for -inf, any will do."""
        if self.design.averaged is None or np.all(gain == -np.inf):
            return gain
        return self.design.averaged.least_product(gain)

    def gain(self, product: Any) -> Any:
        """What a gain is at most where d_ij, weighed by the scores alone, is at most this: undoes `product`."""
        return product if self.design.averaged is None else self.design.averaged.most_gain(product)

    @property
    def every_pair_is_candidate(self) -> bool:
        return len(self.remaining.rows) == self.design.n * (self.design.n - 1) // 2

    def needed(self, floor: Any) -> Any:
        """(sqrt(reach_i) + sqrt(reach_j))^2 must be at least this for a gain to reach the floor."""
        if self.own is not None:  # two effects add that much at most
            return np.maximum(self.distance(floor) - 2 * self.own.max(), 0.0)
        if self.steepness == 0:
            return self.distance(floor)
        scaled = floor * self.steepness**2
        q = np.where(scaled >= 1, 4 * scaled, np.interp(scaled, _LARGEST_WEIGHTED, _Q) * (1 - 1e-3))
        return q / self.steepness**2

    def rows(self, items: Items) -> Floats:
        """Rows of Z."""
        if self.Z is not None:
            kept: Floats = self.Z[items]
            return kept
        features = self.design.points
        Z, step = np.empty((len(items), features.shape[1])), features.rows_at_once

        def work(low: int) -> None:
            Z[low : low + step] = features.project(items[low : low + step], *self.factors)

        self.team.share(work, range(0, len(items), step))
        return Z

    def gains(self, i: Items, j: Items) -> Floats:
        """d_ij, or w_ij d_ij, in float64."""
        weight = None if self.design.scores is None else self.design.weight(i, j)
        effects = self.design.effects
        beside: Floats | float = 0.0 if effects is None else effects.between(i, j)
        if self.Z is not None:
            Z = self.Z
        else:
            items, i, j = renumber(self.design.n, i, j)
            Z = self.rows(items)
        if len(i) * Z.shape[1] <= _FEW_NUMBERS:
            apart = Z[i] - Z[j]
            gains: Floats = np.einsum("ec,ec->e", apart, apart)
        else:
            gains = np.empty(len(i))
            pair_distances(Z, Z, i, j, gains)
        gains += beside
        return gains if weight is None else gains * weight

    @property
    def untouched(self) -> bool:
        """Whether there are pairs of which not both items are touched."""
        effects = self.design.effects
        return effects is None or effects.count < self.design.n

    def settled(self, hits: Hits, floor: float) -> Hits:
        """Of hits by the scores alone, those that reach the floor by their true weights, with their gains."""
        if self.design.averaged is None:
            return hits
        hits = Hits(hits.i, hits.j, self.gains(hits.i, hits.j))
        return hits.only(hits.gain >= floor)

    def both_touched(self, i: Items, j: Items) -> Bools:
        """Which of these pairs are of two items about whose effects something is known."""
        effects = self.design.effects
        if effects is None:
            return np.zeros(len(i), dtype=bool)
        both: Bools = (effects.place[i] >= 0) & (effects.place[j] >= 0)
        return both

    def gone(self, i: Items, j: Items) -> Bools:
        """Which of these pairs are taken or have an item at its cap."""
        full, taken = self.remaining.full, self.taken
        gone: Bools = full[i] | full[j] if self.capped else np.zeros(len(i), dtype=bool)
        if len(taken):
            suspects = np.flatnonzero(self.involved[i] & self.involved[j])
            numbers = self.remaining.rows.numbers(np.column_stack([i[suspects], j[suspects]]).astype(np.int64))
            at = np.minimum(np.searchsorted(taken, numbers), len(taken) - 1)
            gone[suspects[taken[at] == numbers]] = True
        return gone

    def sample(self) -> Floats:
        """Gains of some candidates, ascending, to guess from how they are distributed."""
        rng, rows = np.random.default_rng(0), self.remaining.rows
        if rows.groups is not None and len(rows.groups) == 2:
            n = len(rows.partner)
            gains = self._among(rows.partner[rng.choice(n, min(n, _SAMPLED_ITEMS), replace=False)].astype(np.int64))[2]
        else:
            gains = self.gains(*rows.pairs(rng.integers(len(rows), size=_SAMPLED_PAIRS)).T)
        return np.sort(gains)

    def far(self) -> Floats:
        """Gains of the candidates among the longest items, ascending: attained, and the last hardly ever exceeded."""
        count = min(self.design.n, _LONGEST_ITEMS)
        free = np.where(self.remaining.full, -1.0, self.reach if self.own is None else self.reach + self.own)
        i, j, gains = self._among(np.sort(np.argpartition(free, len(free) - count)[-count:]))
        allowed = ~self.gone(i, j)
        if not self.every_pair_is_candidate:
            allowed &= self.remaining.rows.numbers(np.column_stack([i, j])) >= 0
        return np.sort(gains[allowed]) * (1 - 1e-9)  # rounding included

    def _among(self, items: Ints) -> tuple[Ints, Ints, Floats]:
        """All pairs (i, j) of these items, and their gains, roughly."""
        Z, norms = self.rows(items), self.norms[items]
        i, j = np.triu_indices(len(items), 1)
        gains = np.maximum((norms[:, None] + norms[None, :] - 2 * (Z @ Z.T))[i, j], 0.0)
        if self.design.effects is not None:
            gains += self.design.effects.between(items[i], items[j])
        if self.design.scores is not None:
            gains *= self.design.weight(items[i], items[j])
        return items[i], items[j], gains


def whiten(features: Any, which: Any, factors: tuple[Floats, ...], out: Floats | None = None) -> Floats:
    """Rows of Z = X F_1 F_2 ..., the last product into `out` where that is given."""
    Z: Floats = reduce(np.matmul, factors[:-1], features.rows(which))
    return np.matmul(Z, factors[-1], out=out)


def _across_the_score(Z: Floats, norms: Floats, energy: Floats, scores: Floats) -> tuple[Floats, float]:
    """Squared lengths without what is along the score, where that bounds weighted gains better, and |gamma|.

    Scores are linear, t = s_i - s_j = gamma'(z_i - z_j), so d_ij = t^2 / |gamma|^2 + |across|^2. Pairs far apart in
    score weigh little: |gamma|^2 w d_ij <= max_t w(t) (t^2 + q), q = |gamma|^2 |across|^2, which is q / 4 from
    q = 4 on and 0.44 for q = 0. Where nothing is gained by this, or gamma cannot be found, the norms themselves and 0.
    """
    n, d = Z.shape
    width = np.sqrt(energy) + 1e-300
    some = slice(None, None, max(1, n // (8 * d + 100)))
    design_matrix = np.column_stack([Z[some] / width, np.ones(len(Z[some]))])
    fitted = np.linalg.lstsq(design_matrix, scores[some], rcond=1e-12)[0]
    gamma, constant = fitted[:-1] / width, fitted[-1]
    steepness = float(np.linalg.norm(gamma))
    along = Z @ gamma
    exact = np.max(np.abs(along + constant - scores)) <= 1e-6 * np.ptp(scores)
    if not exact or steepness == 0 or not np.isfinite(steepness):
        return norms, 0.0  # a direction that Z has lost: then nothing is set aside
    across = np.maximum(norms - (along / steepness) ** 2, 0.0) + 1e-12 * norms
    most = max(4 * float(across.max()), 4 / steepness**2)
    if most < 4 * float(norms.max()):
        return across, steepness
    return norms, 0.0
