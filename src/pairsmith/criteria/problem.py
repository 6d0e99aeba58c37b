"""What is asked of select(), checked once, at the door: inner code trusts it."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from pairsmith.data import fingerprint
from pairsmith.data.arrays import Floats, Ints, as_items, as_pairs, check_items, refuse_masked
from pairsmith.data.candidates import (
    AllPairs,
    Among,
    Candidates,
    PairList,
    Remaining,
    Rows,
    WithinGroups,
    remaining_pairs,
)
from pairsmith.data.errors import ArgumentError
from pairsmith.data.features import Features, extremes
from pairsmith.data.options import as_positive, as_whole
from pairsmith.data.ridge import as_ridge
from pairsmith.design.blas import single_threaded_blas
from pairsmith.design.information import Beginning, Design
from pairsmith.design.weights import Averaged

_LARGEST_EFFECTS = 1e9  # up to which gains keep six digits
_FEW_TOUCHED = 1500  # items up to which one thread is faster


@dataclass(frozen=True)
class Problem:
    """Pick k of these pairs of these items, given what is known. Nothing here changes as pairs are picked."""

    features: Features
    k: int
    rows: Rows  # the candidate pairs
    taken: Ints  # pair numbers (see Rows) of those compared already
    max_per_item: int | None
    ridge: float  # lambda of the information matrix
    extent: Floats  # how far apart items are in each column
    labeled: Ints  # items with an absolute label
    comparisons: Ints  # pairs compared already, in the order given: an outcome of +1 means the first
    labels: npt.ArrayLike | None = None  # of `labeled`
    better: Any = None  # the better one of the two labels
    outcomes: npt.ArrayLike | None = None  # of `comparisons`
    # The variance of effects of the items' own; or what a model knows, labels and answers included.
    item_effects: float | Beginning | None = None
    unanswered: Ints = field(default_factory=lambda: np.zeros((0, 2), dtype=np.int64))  # asked, but new to that model

    @property
    def compared(self) -> Ints:
        """The pairs compared already, i < j."""
        return np.sort(self.comparisons, axis=1)

    def remaining(self) -> Remaining:
        """What may be picked, before the first pick."""
        return Remaining.before_picks(self.rows, self.taken, self.max_per_item)

    def uncapped(self) -> Remaining:
        """The same without the exposure cap: for the certificate, whose bound ignores the cap."""
        return Remaining.before_picks(self.rows, self.taken, None)

    def design(self, scores: Floats | Averaged | None) -> Design:
        """What is known before the first pick; answers are weighed by p (1 - p) under the scores, if there are any."""
        extent = self.extent
        if self.rows.is_list:  # items in none of the pairs of a list do not matter, however far out they are
            listed = np.unique(self.rows.pairs(np.arange(len(self.rows))))
            extent = np.ptp(self.features.rows(listed), axis=0)
        # For small factorizations threads are far slower.
        with single_threaded_blas() if self.touched <= _FEW_TOUCHED else nullcontext():
            known = self.item_effects
            if known is not None:
                if not isinstance(known, Beginning):
                    assert not isinstance(scores, Averaged)  # which come with what a model knows
                    known = Beginning.after(self.features, known, self.labeled, self.compared, scores)
                concerned = self.rows.degrees() > 0
                concerned[self.unanswered] = True
                known = known.among(concerned)
            design = Design(self.features, self.ridge, self.labeled, self.compared, scores, extent, known)
            if design.effects is not None and len(self.unanswered):
                design.effects.make_room(2 * (len(self.unanswered) + self.k))
            for i, j in self.unanswered.tolist():
                design.add(i, j)
        return design

    @property
    def touched(self) -> int:
        """How many items have effects of which something is known before the first pick."""
        if isinstance(self.item_effects, Beginning):
            return len(self.item_effects.items)
        return 0 if self.item_effects is None else len(np.unique([*self.labeled, *self.comparisons.ravel()]))

    def fingerprint(self, objective: str, scores: Floats | Averaged | None) -> dict[str, Any]:
        """What decides the greedy sequence, for a checkpoint to compare.

        Keys appear in the error message when they differ.
        """
        rows, compared = self.rows, self.compared
        means = scores.mean if isinstance(scores, Averaged) else scores
        return {
            "items": self.features.shape[0],
            "ridge": self.ridge,
            "max_per_item": self.max_per_item,
            "objective": objective,
            "features": fingerprint.of_features(self.features),
            "candidates": fingerprint.of_arrays(rows.partner, rows.first, rows.count),
            "labeled items": fingerprint.of_arrays(*np.unique(self.labeled, return_counts=True)),
            "comparisons": fingerprint.of_arrays(compared[np.lexsort(compared.T)]),
            **({} if means is None else {"model": fingerprint.of_arrays(means)}),
            **self._fingerprint_of_effects(),
        }

    def _fingerprint_of_effects(self) -> dict[str, Any]:
        known = self.item_effects
        if isinstance(known, Beginning):
            arrays = known.items, known.E, known.shift, known.rows if known.root is None else known.root
            return {"item effects": known.variance, "posterior": fingerprint.of_arrays(*arrays)}
        return {"item effects": known}  # None as well: a file that speaks of effects is of another problem


def as_problem(
    features: Features,
    k: Any,
    *,
    labeled: npt.ArrayLike | None = None,
    labels: npt.ArrayLike | None = None,
    better: Any = None,
    comparisons: npt.ArrayLike | None = None,
    outcomes: npt.ArrayLike | None = None,
    candidates: Candidates | npt.ArrayLike | None = None,
    max_per_item: int | None = None,
    ridge: float | str = "auto",
    item_effects: float | Beginning | None = None,
    answered: Ints | None = None,
) -> Problem:
    """The arguments of select(), checked; what is wrong is a ValueError of one line.

    `answered` are the pairs i < j whose answers `item_effects`, what a model knows, has counted in.
    """
    n = features.shape[0]
    k = as_whole(k, "k")
    for name, given in (("labels", labels), ("outcomes", outcomes)):
        refuse_masked(given, name)
    known = as_items([] if labeled is None else labeled, "labeled")
    if known.ndim != 1:
        raise ValueError(f"labeled must be a list of row numbers, got an array of shape {known.shape}")
    check_items(known, n, "labeled")
    compared = as_pairs([] if comparisons is None else comparisons, "comparisons")
    check_items(compared, n, "comparisons")
    cap = None if max_per_item is None else as_whole(max_per_item, "max_per_item")
    remaining = remaining_pairs(as_candidates(candidates), n, compared, cap)
    _check_enough(remaining, k, cap)
    if item_effects is not None and not isinstance(item_effects, Beginning):
        item_effects = as_positive(item_effects, "item_effects")
        if item_effects > _LARGEST_EFFECTS:  # E is no root: a difference of two of its entries loses digits
            raise ArgumentError(
                "item_effects",
                f"={item_effects:.1e} is more than {_LARGEST_EFFECTS:.0e}, beside which gains lose their"
                " digits; rescale",
            )
    unanswered = compared if answered is not None else compared[:0]
    if answered is not None and len(answered):
        unanswered = compared[~np.isin(compared @ np.array([n, 1]), answered @ np.array([n, 1]))]
    high, low = bounds = extremes(features)
    return Problem(
        features=features,
        k=k,
        rows=remaining.rows,
        taken=remaining.taken,
        max_per_item=cap,
        ridge=as_ridge(ridge, features, bounds),
        extent=high - low,
        labeled=known,
        comparisons=as_items([] if comparisons is None else comparisons, "comparisons").reshape(-1, 2),
        labels=labels,
        better=better,
        outcomes=outcomes,
        item_effects=item_effects,
        unanswered=unanswered,
    )


def as_candidates(candidates: Any) -> Candidates | None:
    if candidates is None or isinstance(candidates, AllPairs | WithinGroups | Among | PairList):
        return candidates
    return PairList(candidates)


def _check_enough(remaining: Remaining, k: int, max_per_item: int | None) -> None:
    """Refuse to look for more pairs than there are."""
    total, taken = len(remaining.rows), len(remaining.taken)
    if k > total - taken:
        already = f" ({taken} of {total} are compared already)" if taken else ""
        raise ValueError(f"k={k} pairs asked for, but only {total - taken} candidate pairs are left{already}; lower k")
    if max_per_item is not None and k > remaining.at_most():
        raise ArgumentError(
            "max_per_item",
            f"={max_per_item} allows at most {remaining.at_most()} pairs, fewer than k={k}; lower k or raise the cap",
        )
