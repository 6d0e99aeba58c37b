"""The evidence that a model is fitted to: labels and answers, checked and merged, and the identity of the items.

`check_input` checks the arguments of `fit` for every model. `merge_answers` prepares them for the Gaussian process,
with one entry per pair, rater and side. The last functions explain why a fitted model does not recognise an item:
3 and "3" are different ids, so a table whose ids changed type, or gained spaces or zeros, looks like new items.
Ranking new items by their features is normal, but here it would silently ignore what the answers said.
"""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import _check_sample_weight, column_or_1d, validate_data

from pairsmith.data.arrays import (
    MAX_WEIGHT,
    MIN_WEIGHT,
    Bools,
    Floats,
    Ints,
    as_object_list,
    as_ordered_pairs,
    as_row_numbers,
    check_row_numbers,
    improper_weights,
    refuse_masked,
)
from pairsmith.data.errors import ArgumentError
from pairsmith.data.outcomes import as_outcomes
from pairsmith.data.user_features import check_table, check_unique

if TYPE_CHECKING:
    import pandas as pd

# Words for the types that pandas infers.
_TYPE_NAMES = {"string": "text", "integer": "whole numbers", "floating": "fractions", "datetime64": "dates"}
_WHOLE_NUMBER = re.compile(r"0*(\d+)(\.0+)?", re.ASCII)


@dataclass(frozen=True)
class CheckedInput:
    """The checked arguments of `fit`: labels of items and answers to pairs, in the order given."""

    X: Floats
    ids: Any  # the items' ids as a pandas index, or None
    labeled: Ints  # the items that have labels
    label_signs: Floats  # +1 where the label is the better one, else -1
    pairs: Ints
    wins: Floats  # +1 where the first item was preferred, -1 where the second, 0 for a tie
    weights: Floats  # of the labels, then of the answers
    classes: npt.NDArray[Any]  # the two labels, the better one last


def as_item_table(X: Any, n_items: int | None) -> Any:
    """Return X, or a table of `n_items` rows without columns if X is None."""
    if X is not None:
        if n_items is not None and n_items != len(X):
            raise ValueError(f"n_items={n_items}, but X has {len(X)} items; leave n_items out")
        return X
    if n_items is None:
        raise ValueError("X is None, so the number of items is unknown; give n_items=")
    if isinstance(n_items, bool) or not isinstance(n_items, int | np.integer) or n_items < 2:
        raise ValueError(f"n_items must be a whole number of at least 2, got {n_items!r}")
    return np.zeros((int(n_items), 0))


def check_input(
    estimator: Any,
    X: Any,
    y: Any,
    labeled: npt.ArrayLike | None,
    comparisons: npt.ArrayLike | None,
    outcomes: npt.ArrayLike | None,
    sample_weight: npt.ArrayLike | None,
    allow_empty: bool = False,
) -> CheckedInput:
    """Check the arguments of `fit`, and set the number and names of the features on the estimator.

    With `allow_empty`, there may be no features, and neither labels nor answers.
    """
    if (comparisons is None) != (outcomes is None):
        raise ValueError("comparisons and outcomes belong together; give both or neither")
    for name, values in (("y", y), ("sample_weight", sample_weight)):
        refuse_masked(values, name)
    X, ids = check_table(X)
    if ids is not None:
        check_unique(ids.to_numpy(dtype=object))
    if allow_empty and getattr(X, "shape", (1, 1))[1:] == (0,):
        X, estimator.n_features_in_ = np.zeros((len(X), 0)), 0
    elif labeled is None and comparisons is None and not (allow_empty and y is None):  # like any sklearn estimator
        X, y = validate_data(estimator, X, y, dtype=np.float64)
    else:
        X = validate_data(estimator, X, dtype=np.float64)
    _check_magnitude(X, 1e300 if allow_empty else 1e150, estimator)  # the linear model squares raw features
    items, labels = _check_labels(y, labeled, len(X))
    classes = classes_of(labels, estimator.better)
    pairs = as_ordered_pairs([] if comparisons is None else comparisons, "comparisons")
    check_row_numbers(pairs, len(X), "comparisons")
    wins = as_outcomes([] if outcomes is None else outcomes, len(pairs))
    total = len(items) + len(pairs)
    if total == 0 and not allow_empty:
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
    improper = improper_weights(weights)
    if improper.any():
        raise ValueError(
            f"sample_weight must be 0 or from {MIN_WEIGHT:g} to {MAX_WEIGHT:g}; number {int(np.argmax(improper))} is"
            f" {weights[improper][0]:g}"
        )
    label_signs = np.where(labels == classes[1], 1.0, -1.0) if len(labels) else np.zeros(0)
    return CheckedInput(X, ids, items, label_signs, pairs, wins, weights, classes)


def _check_magnitude(X: Floats, limit: float, estimator: Any) -> None:
    """Refuse a column whose numbers are so large that the model would overflow."""
    largest = np.abs(X).max(axis=0, initial=0.0)
    for column in np.flatnonzero(largest > limit):
        name = getattr(estimator, "feature_names_in_", range(len(largest)))[column]
        raise ValueError(
            f"X: column {name!r} has numbers up to {largest[column]:.1e}, beyond {limit:.0e}, where this model"
            " overflows; rescale it"
        )


def _check_labels(y: Any, labeled: npt.ArrayLike | None, n: int) -> tuple[Ints, npt.NDArray[Any]]:
    """Return the items that have labels, and their labels."""
    items = np.arange(n) if labeled is None else as_row_numbers(labeled, "labeled").ravel()
    check_row_numbers(items, n, "labeled")
    if y is None:
        if labeled is not None:
            raise ValueError("labeled names items, but y is missing; give y, one label for each")
        items = items[:0]
    labels = column_or_1d([] if y is None else y, warn=True)
    if len(labels) != len(items):
        which = "rows of X; give labeled=, the rows that they belong to" if labeled is None else "items in labeled"
        raise ValueError(f"y has {len(labels)} labels for {len(items)} {which}")
    return items, labels


def classes_of(labels: npt.NDArray[Any], better: Any = None) -> npt.NDArray[Any]:
    """Return the two labels, the better one last. If only one occurs, the other is inferred where that is safe."""
    if len(labels) == 0:
        return np.array([-1, 1])
    check_classification_targets(labels)
    if type_of_target(labels) != "binary":
        raise ValueError(
            f"Only binary classification is supported. The type of the target is {type_of_target(labels)}."
        )
    classes = np.unique(labels)
    kind, listed = classes.dtype.kind, " and ".join(map(repr, classes.tolist()))
    words = kind not in "biuf"
    if len(classes) == 1 and not words:  # a single number usually belongs to {-1, 1} or {0, 1}
        usual = [[False, True]] if kind == "b" else [[0, 1]] if kind == "u" else [[-1, 1], [0, 1]]
        pair: Any = next((pair for pair in usual if classes[0] in pair and (better is None or better in pair)), classes)
        classes = np.array(pair).astype(classes.dtype)
    if better is None:
        if words or len(classes) == 1:
            example = repr(classes.tolist()[0])
            problem = f"{listed} are words" if len(classes) == 2 else f"{listed} is a single class"
            raise ArgumentError(
                "better",
                f" is missing: of the labels, {problem}, and nothing says which is the better; name it, for example"
                f" {example}, or use the labels -1 and +1",
            )
        return classes
    is_better = [label == better for label in classes.tolist()]
    if len(classes) == 2 and any(is_better):
        return classes if is_better[1] else classes[::-1]
    if len(classes) == 2 or isinstance(better, str) != words:
        raise ArgumentError("better", f"={better!r} is none of the labels, which are {listed}; name one of them")
    if not is_better[0]:
        warnings.warn(f"no label is {better!r}: all are {listed}, and count as the worse", stacklevel=2)
    other = classes[0] if not is_better[0] else f"not {better}" if words else 0
    return np.array([other, better], dtype=None if kind == "U" else classes.dtype)


@dataclass(frozen=True)
class Answers:
    """Merged answers: one entry per pair of items, with the number of wins of either item (a tie counts half each).

    The first item wins with probability sigma(slope (f_first - f_second) + shift).
    """

    first: Ints
    second: Ints
    won: Floats
    lost: Floats
    slope: Floats
    shift: Floats

    def __len__(self) -> int:
        return len(self.first)

    def total(self) -> float:
        """Return the total weight of the answers."""
        return float(np.sum(self.won + self.lost))

    def part(self, which: Ints | Bools) -> Answers:
        """Return the selected entries."""
        return Answers(*(getattr(self, field.name)[which] for field in fields(self)))

    def joined(self, others: Answers) -> Answers:
        """Return these entries followed by others."""
        return Answers(
            *(np.concatenate([getattr(self, field.name), getattr(others, field.name)]) for field in fields(self))
        )

    def laplacian(self, weights: Floats, n: int) -> csr_array:
        """Return B'diag(weights)B, the weighted Laplacian of the graph of answers over n items."""
        i, j = self.first, self.second
        rows, columns = np.concatenate([i, j, i, j]), np.concatenate([i, j, j, i])
        return coo_array(
            (np.concatenate([weights, weights, -weights, -weights]), (rows, columns)), shape=(n, n)
        ).tocsr()

    def incidence(self, n: int) -> csr_array:
        """Return B: one row per entry, with +1 at its first item and -1 at its second."""
        rows = np.arange(len(self))
        signs = np.concatenate([np.ones(len(self)), -np.ones(len(self))])
        places = np.concatenate([rows, rows]), np.concatenate([self.first, self.second])
        return coo_array((signs, places), shape=(len(self), n)).tocsr()

    def net_by_item(self, values: Floats, n: int) -> Floats:
        """Return B'values: per item, the sum over entries where it is first minus those where it is second."""
        return summed(self.first, values, n) - summed(self.second, values, n)


def summed(indices: Ints, values: Floats, n: int) -> Floats:
    """Sum the values that share an index, for indices 0 to n - 1."""
    return np.bincount(indices, values, n).astype(np.float64)


@dataclass(frozen=True)
class AnswerPlaces:
    """The merged entry that each original answer went into."""

    index: Ints  # -1 if the answer's weight is 0
    swapped: Bools  # whether the entry has the two items the other way round


@dataclass(frozen=True)
class MergedAnswers:
    """Labels and answers with one entry per pair, rater and side."""

    answers: Answers
    rater: Ints  # the index of the rater of each entry, -1 for labels
    side: Floats  # 1 where the first item was shown first, 0 where that is unknown
    rater_names: list[Any]  # empty if the raters are not known
    places: AnswerPlaces


def merge_answers(checked: CheckedInput, raters: Any = None, shown_first: Any = None) -> MergedAnswers:
    """Merge labels and answers that are about the same pair, rater and side.

    A label is an answer about the pair of its item and the threshold, which is numbered after the last item. The item
    that was shown first comes first in its pair. Where that is unknown, the item with the smaller number comes first,
    so the order in which a pair was written down carries no information.
    """
    n, labels = len(checked.X), len(checked.labeled)
    rater, names = _rater_indices(raters, len(checked.pairs))
    if raters is None and shown_first is not None:
        raise ValueError("shown_first tells how much raters prefer a side; give raters= too, or leave it out")
    first, second = checked.pairs.T
    shown = _as_shown_first(shown_first, checked.pairs)
    swapped = np.where(shown < 0, first > second, shown == second)
    first, second = np.where(swapped, second, first), np.where(swapped, first, second)
    wins = np.where(swapped, -checked.wins, checked.wins)
    first, second = np.concatenate([checked.labeled, first]), np.concatenate([np.full(labels, n), second])
    rater = np.concatenate([np.full(labels, -1), rater])
    side = np.concatenate([np.zeros(labels, dtype=np.int64), shown >= 0])
    share = np.concatenate([(checked.label_signs + 1) / 2, (wins + 1) / 2])
    used = checked.weights > 0
    # Sort raters by name, so that the order of the answers does not change the order of summation.
    by_name = np.argsort([str(name) for name in names], kind="stable")
    place_of_rater = np.append(np.argsort(by_name), -1)
    keys = np.column_stack([first, second, place_of_rater[rater], side])[used]
    unique, entry = np.unique(keys, axis=0, return_inverse=True)
    entry = entry.ravel()
    won = summed(entry, (checked.weights * share)[used], len(unique))
    lost = summed(entry, (checked.weights * (1 - share))[used], len(unique))
    slopes = np.ones(len(unique))
    index = np.full(len(used), -1)
    index[used] = entry
    return MergedAnswers(
        Answers(unique[:, 0], unique[:, 1], won, lost, slopes, 0 * slopes),
        np.append(by_name, -1)[unique[:, 2]],
        unique[:, 3].astype(np.float64),
        names if raters is not None else [],
        AnswerPlaces(index[labels:], swapped),
    )


def merge_anonymous_answers(pairs: Ints, wins: Floats) -> Answers:
    """Merge the answers of an average rater without a side bias: one entry per pair."""
    swapped = pairs[:, 0] > pairs[:, 1]
    unique, entry = np.unique(np.sort(pairs, axis=1), axis=0, return_inverse=True)
    share = (np.where(swapped, -wins, wins) + 1) / 2
    won, lost = (summed(entry.ravel(), of, len(unique)) for of in (share, 1 - share))
    return Answers(unique[:, 0], unique[:, 1], won, lost, np.ones(len(unique)), np.zeros(len(unique)))


def _rater_indices(raters: Any, count: int) -> tuple[Ints, list[Any]]:
    """Return the index of the rater of each answer, and the raters' names. Without raters, all answers share one."""
    import pandas as pd

    if raters is None:
        return np.zeros(count, dtype=np.int64), [None]
    people = as_object_list(raters, "raters", "comparison")
    if len(people) != count:
        raise ValueError(f"raters names {len(people)} people for {count} comparisons; give one for each")
    rater, names = pd.factorize(people)
    if np.any(rater < 0):
        raise ValueError(f"raters: answer number {int(np.argmax(rater < 0))} has none; give every answer one")
    return rater.astype(np.int64), list(names)


def _as_shown_first(shown_first: Any, pairs: Ints) -> Ints:
    """Return the item that was shown first for each answer, -1 where that is unknown."""
    import pandas as pd

    shown = np.full(len(pairs), -1)
    if shown_first is None:
        return shown
    refuse_masked(shown_first, "shown_first")
    values = as_object_list(shown_first, "shown_first", "comparison")
    if len(values) != len(pairs):
        raise ValueError(f"shown_first names {len(values)} items for {len(pairs)} comparisons; give one for each")
    known = ~pd.isna(values)
    known[known] = values[known] != -1
    shown[known] = as_row_numbers(values[known].tolist(), "shown_first")
    wrong = known & np.all(shown[:, None] != pairs, axis=1)
    if wrong.any():
        at = int(np.argmax(wrong))
        raise ValueError(
            f"shown_first: answer number {at} names item {shown[at]}, but compares {pairs[at, 0]} and {pairs[at, 1]};"
            " name one of these, or -1 where it is unknown"
        )
    return shown


def warn_of_islands(answers: Answers, n: int) -> None:
    """Warn if the answers leave groups of items unconnected; only the prior relates scores across such groups."""
    if len(answers) == 0:
        return
    _, island = connected_components(answers.laplacian(np.ones(len(answers)), n + 1), directed=False)
    islands = int(np.sum(np.bincount(island) > 1))
    if islands > 1:
        warnings.warn(
            f"the answers leave the items in {islands} islands that were never compared with each other; only the"
            " features and the prior say how one island stands to another",
            stacklevel=3,
        )


def warn_of_unknown_items(model_ids: pd.Index | None, ids: pd.Index | None, number: Ints, expected: bool) -> None:
    """Warn if X probably holds items of the fit that the model does not recognise.

    `number` holds -1 for each item of X that the model does not know. With `expected`, X should hold items of the fit,
    so the function also warns if it holds none.
    """
    known = int(np.sum(number >= 0))
    if known == len(number):
        return
    reason = why_unknown(model_ids, ids, number)
    if reason:
        warnings.warn(
            f"{reason}. The model knows {known} of the {len(number)} items of X, and ranks the others by their features"
            " alone; give X the ids of the fit",
            stacklevel=4,
        )
    elif expected and known == 0:
        by = "by ids, or by the whole table: the same rows, in order, to the last digit"
        warnings.warn(
            "no item of X is one that the model was fitted to, so only their features count; it knows items"
            f" {by if ids is None or model_ids is None else 'by their ids'}",
            stacklevel=4,
        )


def why_unknown(model_ids: pd.Index | None, ids: pd.Index | None, number: Ints) -> str:
    """Say how the unknown ids differ from the model's; empty if X or the model has no ids, or if the ids are new."""
    if model_ids is None or ids is None or not np.any(number < 0):
        return ""
    unknown = ids[number < 0]
    by_normal_form = dict(zip(map(_normalised, model_ids), model_ids.tolist(), strict=True))
    kind, model_kind = _type_name(unknown), _type_name(model_ids)
    types_differ = f"X's ids are {kind}, the model's are {model_kind}"
    for name in unknown.tolist():
        if _normalised(name) in by_normal_form:
            how = types_differ if kind != model_kind else "X's ids are written differently from the model's"
            return f"{how}: {name!r} is not {by_normal_form[_normalised(name)]!r}"
    return types_differ if kind != model_kind and np.all(number < 0) else ""


def check_order(X: Any, ids: pd.Index | None, **arguments: Any) -> None:
    """Refuse a Series that is indexed by the ids of X in another order, because values are taken row by row."""
    import pandas as pd

    for argument, values in arguments.items():
        if ids is None or not isinstance(values, pd.Series) or isinstance(values.index, pd.RangeIndex):
            continue
        same_rows = values.index.equals(ids) or (isinstance(X, pd.DataFrame) and values.index.equals(X.index))
        if not same_rows and set(values.index) == set(ids):
            raise ValueError(f"{argument} has the ids of X in another order; reorder it with {argument}.loc[ids of X]")


def _normalised(name: Any) -> str:
    """Return an id as text without surrounding spaces, and a whole number without leading zeros and decimals."""
    text = str(name).strip()
    whole = _WHOLE_NUMBER.fullmatch(text)
    return whole.group(1) if whole else text


def _type_name(ids: pd.Index) -> str:
    from pandas.api.types import infer_dtype

    return _TYPE_NAMES.get(infer_dtype(ids, skipna=False), "of another type")
