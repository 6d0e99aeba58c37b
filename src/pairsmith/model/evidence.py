"""What a model is fitted to: absolute labels, and answers to pairs with their outcomes, checked."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import _check_sample_weight, column_or_1d, validate_data

from pairsmith.data.arrays import (
    LEAST_WEIGHT,
    MOST_WEIGHT,
    Bools,
    Floats,
    Ints,
    as_items,
    as_ordered_pairs,
    check_items,
    improper_weights,
    refuse_masked,
)
from pairsmith.data.errors import ArgumentError
from pairsmith.data.outcomes import as_outcomes
from pairsmith.data.user_features import check_unique, checked_table
from pairsmith.model.logistic import slices_in_cache

if TYPE_CHECKING:
    from pairsmith.model.bradley_terry import BradleyTerry


@dataclass(frozen=True)
class Evidence:
    """Labels and answers, checked, as rows of one logistic regression.

    A label's row is x_first, and `second` is the same item; an answer's row is x_first - x_second. A tie is two rows of
    half the weight, one for either outcome: the second halves of all ties come last, after the `total` labels and
    answers.
    """

    rows: Floats
    first: Ints
    second: Ints
    y: Floats  # +1 where the label is the better one or the first item was preferred, else -1
    weights: Floats
    tie: Bools  # whether a row is half a tie
    total: int
    classes: npt.NDArray[Any]  # the two labels, the better one last
    n_items: int

    def part(self, which: Bools) -> tuple[Floats, Floats, Floats]:
        """The rows, y and weights of a part of the evidence; of all of it without a copy."""
        if which.all():
            return self.rows, self.y, self.weights
        return self.rows[which], self.y[which], self.weights[which]


@dataclass(frozen=True)
class Given:
    """What `fit` was given, checked: labels of items and answers to pairs of them, in the order given."""

    X: Floats
    names: Any  # the items' ids as a pandas index, or None
    labeled: Ints
    side: Floats  # +1 where the label is the better one, else -1
    pairs: Ints
    wins: Floats  # +1 where the first was preferred, -1 where the second, 0 for a tie
    weights: Floats  # of the labels, then of the answers
    classes: npt.NDArray[Any]


def items_of(X: Any, n_items: int | None) -> Any:
    """X, or a table without columns where there are no features."""
    if X is not None:
        if n_items is not None and n_items != len(X):
            raise ValueError(f"n_items={n_items}, but X has {len(X)} items; leave n_items out")
        return X
    if n_items is None:
        raise ValueError("X is None, so say how many items there are: n_items=")
    if isinstance(n_items, bool) or not isinstance(n_items, int | np.integer) or n_items < 2:
        raise ValueError(f"n_items must be a whole number of at least 2, got {n_items!r}")
    return np.zeros((int(n_items), 0))


def check(
    estimator: Any,
    X: Any,
    y: Any,
    labeled: npt.ArrayLike | None,
    comparisons: npt.ArrayLike | None,
    outcomes: npt.ArrayLike | None,
    sample_weight: npt.ArrayLike | None,
    spare: bool = False,
) -> Given:
    """Check what `fit` was given; the estimator learns how many features there are, and their names.

    `spare` says that a model does without features, labels and answers where there are none.
    """
    if (comparisons is None) != (outcomes is None):
        raise ValueError("comparisons and outcomes belong together; give both or neither")
    for name, given in (("y", y), ("sample_weight", sample_weight)):
        refuse_masked(given, name)
    X, names = checked_table(X)
    if names is not None:
        check_unique(names.to_numpy(dtype=object))
    if spare and getattr(X, "shape", (1, 1))[1:] == (0,):
        X, estimator.n_features_in_ = np.zeros((len(X), 0)), 0
    elif labeled is None and comparisons is None and not (spare and y is None):  # as any estimator of scikit-learn is
        X, y = validate_data(estimator, X, y, dtype=np.float64)
    else:
        X = validate_data(estimator, X, dtype=np.float64)
    _check_size(X, 1e300 if spare else 1e150, estimator)  # a linear model squares features as they are
    items, labels = _labels(y, labeled, len(X))
    classes = classes_of(labels, estimator.better)
    pairs = as_ordered_pairs([] if comparisons is None else comparisons, "comparisons")
    check_items(pairs, len(X), "comparisons")
    wins = as_outcomes([] if outcomes is None else outcomes, len(pairs))
    total = len(items) + len(pairs)
    if total == 0 and not spare:
        raise ValueError("y and comparisons are both empty; the model needs one of them to learn from")
    weights = np.zeros(0)
    if total or sample_weight is not None:
        try:
            weights = _check_sample_weight(
                sample_weight, np.empty((total, 1)), dtype=np.float64, ensure_non_negative=True
            )
        except ValueError as error:
            raise ValueError(
                f"{error} Give one weight for each of {len(items)} labels and {len(pairs)} comparisons, in that order"
            ) from None
    odd = improper_weights(weights)
    if odd.any():
        raise ValueError(
            f"sample_weight must be 0 or from {LEAST_WEIGHT:g} to {MOST_WEIGHT:g}; number {int(np.argmax(odd))} is"
            f" {weights[odd][0]:g}"
        )
    side = np.where(labels == classes[1], 1.0, -1.0) if len(labels) else np.zeros(0)
    return Given(X, names, items, side, pairs, wins, weights, classes)


def _check_size(X: Floats, most: float, estimator: Any) -> None:
    """Refuse a column whose numbers are beyond what the model can compute with."""
    largest = np.abs(X).max(axis=0, initial=0.0)
    for at in np.flatnonzero(largest > most):
        name = getattr(estimator, "feature_names_in_", range(len(largest)))[at]
        raise ValueError(
            f"X: column {name!r} has numbers up to {largest[at]:.1e}, beyond {most:.0e}, where this model overflows;"
            " rescale it"
        )


def gather(estimator: BradleyTerry, *given: Any) -> Evidence:
    """What `fit` was given, checked, as rows of a regression."""
    found = check(estimator, *given)
    items, pairs, wins, weights = found.labeled, found.pairs, found.wins, found.weights
    total, tied = len(items) + len(pairs), np.flatnonzero(wins == 0)
    first = np.concatenate([items, pairs[:, 0], pairs[tied, 0]])
    second = np.concatenate([items, pairs[:, 1], pairs[tied, 1]])
    tie = np.concatenate([np.zeros(len(items), dtype=bool), wins == 0, np.ones(len(tied), dtype=bool)])
    return Evidence(
        _differences(found.X, first, second, len(items)),
        first,
        second,
        np.concatenate([found.side, np.where(wins == 0, 1.0, wins), np.full(len(tied), -1.0)]),
        np.concatenate([weights * np.where(tie[:total], 0.5, 1.0), weights[len(items) + tied] / 2]),
        tie,
        total,
        found.classes,
        len(found.X),
    )


def _labels(y: Any, labeled: npt.ArrayLike | None, n: int) -> tuple[Ints, npt.NDArray[Any]]:
    """The items that have labels, and these."""
    items = np.arange(n) if labeled is None else as_items(labeled, "labeled").ravel()
    check_items(items, n, "labeled")
    if y is None:
        if labeled is not None:
            raise ValueError("labeled names items without labels; give y, one label for each")
        items = items[:0]
    labels = column_or_1d([] if y is None else y, warn=True)
    if len(labels) != len(items):
        which = "rows of X; say with labeled= which they are of" if labeled is None else "items in labeled"
        raise ValueError(f"y has {len(labels)} labels for {len(items)} {which}")
    return items, labels


def _differences(X: Floats, first: Ints, second: Ints, labels: int) -> Floats:
    """x_first, less x_second but for the labels, which come before the answers."""
    rows = np.empty((len(first), X.shape[1]))
    for part in slices_in_cache(len(first)):
        np.take(X, first[part], axis=0, out=rows[part])
    for part in slices_in_cache(len(first), labels):
        rows[part] -= X[second[part]]
    return rows


def classes_of(labels: npt.NDArray[Any], better: Any = None) -> npt.NDArray[Any]:
    """The two labels that there are, or could be, the better one last."""
    if len(labels) == 0:
        return np.array([-1, 1])
    check_classification_targets(labels)
    if type_of_target(labels) != "binary":
        raise ValueError(
            f"Only binary classification is supported. The type of the target is {type_of_target(labels)}."
        )
    found = np.unique(labels)
    kind, told = found.dtype.kind, " and ".join(map(repr, found.tolist()))
    words = kind not in "biuf"
    if len(found) == 1 and not words:  # where the other one goes without saying
        usual = [[False, True]] if kind == "b" else [[0, 1]] if kind == "u" else [[-1, 1], [0, 1]]
        pair: Any = next((pair for pair in usual if found[0] in pair and (better is None or better in pair)), found)
        found = np.array(pair).astype(found.dtype)
    if better is None:
        if words or len(found) == 1:
            what = f"{told} are words" if len(found) == 2 else f"{told} is a single class"
            raise ArgumentError(
                "better",
                f" is missing: of the labels, {what}, and nothing says which is the better; name it, for example"
                f" {found.tolist()[0]!r}, or use the labels -1 and +1",
            )
        return found
    best = [label == better for label in found.tolist()]
    if len(found) == 2 and any(best):
        return found if best[1] else found[::-1]
    if len(found) == 2 or isinstance(better, str) != words:
        raise ArgumentError("better", f"={better!r} is none of the labels, which are {told}; name one of them")
    if not best[0]:
        warnings.warn(f"no label is {better!r}: all are {told}, and count as the worse", stacklevel=2)
    other = found[0] if not best[0] else f"not {better}" if words else 0
    return np.array([other, better], dtype=None if kind == "U" else found.dtype)
