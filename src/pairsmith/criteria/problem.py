"""The vocabulary that select() and the criteria share: a problem, a model's estimate, and one run of a criterion.

`pairsmith.selection` makes these objects from the arguments of select() after checking them, so criteria trust them.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pairsmith.data import fingerprint
from pairsmith.data.arrays import Floats, Ints
from pairsmith.data.candidates import Remaining, Rows
from pairsmith.data.features import Features
from pairsmith.design.blas import single_threaded_blas
from pairsmith.design.information import Design, DesignPrior
from pairsmith.design.weights import AveragedWeights
from pairsmith.engine.backend import ProgressCallback
from pairsmith.engine.scan import Scan
from pairsmith.model.posterior import Posterior, empty_posterior

MAX_ITEMS_ON_ONE_THREAD = 1500  # BLAS is faster on one thread for matrices of up to this many items


class Goal(NamedTuple):
    """What the answers are for: the order of all items ("ranking"), or the order of the best `top` items ("top")."""

    name: str = "ranking"
    top: int = 0


RANKING = Goal()


@dataclass(frozen=True)
class ModelEstimate:
    """A model's estimate of the coefficients and of the items' scores.

    The coefficients are N(coef, covariance_root covariance_root'), and the mean score of an item is x'coef. Under a
    Gaussian process, items have effects of their own as well: `prior` holds what the model knows about both, and
    `joint` returns the joint distribution of the scores of some items, effects included.
    """

    coef: Floats
    covariance_root: Floats
    scores: Floats  # the mean scores of all items
    prior: DesignPrior | None = None
    joint: Callable[[Ints], Posterior] = empty_posterior


NO_MODEL = ModelEstimate(np.zeros(0), np.zeros((0, 0)), np.zeros(0))


@dataclass(frozen=True)
class Problem:
    """The task to pick k of the candidate pairs, given the labels and comparisons so far. It does not change."""

    features: Features
    k: int
    rows: Rows  # the candidate pairs
    taken: Ints  # the numbers (see Rows) of the candidate pairs that have been compared
    max_per_item: int | None
    ridge: float  # lambda of the information matrix
    extent: Floats  # the difference between the largest and the smallest value of each column
    labeled: Ints  # items with an absolute label
    comparisons: Ints  # compared pairs in the order in which they were passed: an outcome of +1 means the first item
    labels: npt.ArrayLike | None = None  # one for each item of `labeled`
    better: Any = None  # the better one of the two labels
    outcomes: npt.ArrayLike | None = None  # one for each pair of `comparisons`
    effect_variance: float | None = None  # of the items' own effects; None if they have none or `prior` is given
    prior: DesignPrior | None = None  # what a Gaussian process knows, labels and answers included
    unanswered: Ints = field(default_factory=lambda: np.zeros((0, 2), dtype=np.int64))  # compared pairs not in `prior`

    @property
    def compared(self) -> Ints:
        """The compared pairs, i < j."""
        return np.sort(self.comparisons, axis=1)

    def remaining(self) -> Remaining:
        """Return the pairs that may be picked first."""
        return Remaining.before_picks(self.rows, self.taken, self.max_per_item)

    def uncapped(self) -> Remaining:
        """Return the same pairs without the exposure cap, which the bound of the certificate ignores."""
        return Remaining.before_picks(self.rows, self.taken, None)

    def design(self, scores: Floats | AveragedWeights | None) -> Design:
        """Return the design before the first pick. With scores, answers have the weights p (1 - p) under them."""
        extent = self.extent
        if self.rows.is_list:  # items in none of the listed pairs do not matter, however large their features are
            listed = np.unique(self.rows.pairs(np.arange(len(self.rows))))
            extent = np.ptp(self.features.rows(listed), axis=0)
        prior = self.prior
        with single_threaded_blas() if self.touched <= MAX_ITEMS_ON_ONE_THREAD else nullcontext():
            if self.effect_variance is not None:
                assert not isinstance(scores, AveragedWeights)  # these come from a Gaussian process, as `prior` does
                prior = DesignPrior.from_answers(
                    self.features, self.effect_variance, self.labeled, self.compared, scores
                )
            if prior is not None:
                has_pairs = self.rows.degrees() > 0
                has_pairs[self.unanswered] = True
                prior = prior.among(has_pairs)
            design = Design(self.features, self.ridge, self.labeled, self.compared, scores, extent, prior)
            if design.effects is not None and len(self.unanswered):
                design.effects.reserve(2 * (len(self.unanswered) + self.k))
            for i, j in self.unanswered.tolist():
                design.add(i, j)
        return design

    @property
    def touched(self) -> int:
        """The number of items whose own effect is partly known before the first pick."""
        if self.prior is not None:
            return len(self.prior.items)
        return 0 if self.effect_variance is None else len(np.unique([*self.labeled, *self.comparisons.ravel()]))

    def fingerprint(self, objective: str, scores: Floats | AveragedWeights | None) -> dict[str, Any]:
        """Return what determines the greedy sequence, for a checkpoint to compare.

        If an entry differs, the error message names its key.
        """
        rows, compared = self.rows, self.compared
        means = scores.mean if isinstance(scores, AveragedWeights) else scores
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
        if self.prior is None:  # the key is there without effects, too: then a checkpoint with effects differs
            return {"item effects": self.effect_variance}
        prior = self.prior
        arrays = prior.items, prior.E, prior.shift, prior.rows if prior.root is None else prior.root
        return {"item effects": prior.variance, "posterior": fingerprint.of_arrays(*arrays)}


@dataclass(frozen=True)
class Run:
    """One run of a criterion: the problem, and the state that changes as pairs are picked.

    For every pick, the steps of a criterion add the pair to the design, take it from the remaining pairs, and yield a
    Step.
    """

    problem: Problem
    design: Design
    remaining: Remaining
    estimate: ModelEstimate  # NO_MODEL for a criterion that needs no model
    rng: np.random.Generator
    threads: int
    memory: int  # bytes that the search may use, besides the criterion's memory per pair
    report_progress: ProgressCallback
    pool_size: int | None = None  # pairs that the engine keeps between two scans; None: it chooses
    initial_design: Callable[[], Design] | None = None  # makes the design as it was before the first pick
    scan: Callable[..., Scan] = Scan  # how the engine and the certificate scan all pairs: here, or on a cluster
    goal: Goal = RANKING
    diagnostics: dict[str, Any] = field(default_factory=dict)  # counts and estimates that the steps report
