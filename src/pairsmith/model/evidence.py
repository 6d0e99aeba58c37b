"""What a model is fitted to: absolute labels, and answers to pairs with their outcomes, checked."""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components
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
    one_for_each,
    refuse_masked,
)
from pairsmith.data.outcomes import as_outcomes
from pairsmith.data.user_features import check_unique, checked_table

if TYPE_CHECKING:
    import pandas as pd


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
            raise ValueError(
                f"labels: {what}, and nothing says which is the better; say it, with better={found.tolist()[0]!r} for"
                " example, or use the labels -1 and +1"
            )
        return found
    best = [label == better for label in found.tolist()]
    if len(found) == 2 and any(best):
        return found if best[1] else found[::-1]
    if len(found) == 2 or isinstance(better, str) != words:
        raise ValueError(f"better={better!r} is none of the labels, which are {told}; name one of them")
    if not best[0]:
        warnings.warn(f"no label is {better!r}: all are {told}, and count as the worse", stacklevel=2)
    other = found[0] if not best[0] else f"not {better}" if words else 0
    return np.array([other, better], dtype=None if kind == "U" else found.dtype)


@dataclass(frozen=True)
class Answers:
    """Pairs of items, each once for everyone who answered it, and how often either of the two won (a tie is half)."""

    first: Ints
    second: Ints
    won: Floats
    lost: Floats
    slope: Floats
    shift: Floats

    def __len__(self) -> int:
        return len(self.first)

    def total(self) -> float:
        """How many answers there are, each as often as it was given."""
        return float(np.sum(self.won + self.lost))

    def part(self, which: Ints | Bools) -> Answers:
        """Some of them."""
        return Answers(*(getattr(self, field.name)[which] for field in fields(self)))

    def joined(self, others: Answers) -> Answers:
        """These, and then others."""
        return Answers(
            *(np.concatenate([getattr(self, field.name), getattr(others, field.name)]) for field in fields(self))
        )

    def graph(self, weights: Floats, n: int) -> csr_array:
        """B'diag(weights)B, B the matrix with +1 for the first and -1 for the second of each pair."""
        i, j = self.first, self.second
        rows, columns = np.concatenate([i, j, i, j]), np.concatenate([i, j, j, i])
        return coo_array(
            (np.concatenate([weights, weights, -weights, -weights]), (rows, columns)), shape=(n, n)
        ).tocsr()

    def matrix(self, n: int) -> csr_array:
        """B: a row for each pair, +1 for its first item and -1 for its second."""
        rows = np.arange(len(self))
        signs = np.concatenate([np.ones(len(self)), -np.ones(len(self))])
        places = np.concatenate([rows, rows]), np.concatenate([self.first, self.second])
        return coo_array((signs, places), shape=(len(self), n)).tocsr()

    def spread(self, values: Floats, n: int) -> Floats:
        """B'values."""
        return summed(self.first, values, n) - summed(self.second, values, n)


def summed(places: Ints, values: Floats, n: int) -> Floats:
    """How much of the values falls on each of n places."""
    return np.bincount(places, values, n).astype(np.float64)


@dataclass(frozen=True)
class Places:
    """Where each answer that `fit` was given is among the merged ones."""

    place: Ints  # -1 where its weight is 0
    turned: Bools  # whether the pair is the other way round there


class Merged(NamedTuple):
    """Labels and answers, with one entry for each pair, rater and side."""

    answers: Answers
    rater: Ints  # number of the rater, -1 for labels
    side: Floats  # 1 where the first item was shown first, 0 where nobody knows what was
    names: list[Any]  # of the raters
    places: Places


def merged(given: Given, raters: Any = None, shown_first: Any = None) -> Merged:
    """Merge labels and answers.

    The item shown first comes first in its pair. Where that is unknown the smaller number does, so the way in which a
    pair was written down says nothing.
    """
    n, labels = len(given.X), len(given.labeled)
    rater, names = _numbered(raters, len(given.pairs))
    if raters is None and shown_first is not None:
        raise ValueError("shown_first tells how much raters prefer a side; give raters= too, or leave it out")
    first, second = given.pairs.T
    shown = _as_shown_first(shown_first, given.pairs)
    turned = np.where(shown < 0, first > second, shown == second)
    first, second = np.where(turned, second, first), np.where(turned, first, second)
    wins = np.where(turned, -given.wins, given.wins)
    first, second = np.concatenate([given.labeled, first]), np.concatenate([np.full(labels, n), second])
    rater = np.concatenate([np.full(labels, -1), rater])
    known = np.concatenate([np.zeros(labels, dtype=np.int64), shown >= 0])
    share = np.concatenate([(given.side + 1) / 2, (wins + 1) / 2])
    used = given.weights > 0
    # Raters are sorted by name: the order of the answers must not change the order of a sum.
    by_name = np.argsort([str(name) for name in names], kind="stable")
    place_of = np.append(np.argsort(by_name), -1)
    keys = np.column_stack([first, second, place_of[rater], known])[used]
    unique, place = np.unique(keys, axis=0, return_inverse=True)
    place = place.ravel()
    won = summed(place, (given.weights * share)[used], len(unique))
    lost = summed(place, (given.weights * (1 - share))[used], len(unique))
    plain = np.ones(len(unique))
    places = np.full(len(used), -1)
    places[used] = place
    return Merged(
        Answers(unique[:, 0], unique[:, 1], won, lost, plain, 0 * plain),
        np.append(by_name, -1)[unique[:, 2]],
        unique[:, 3].astype(np.float64),
        names if raters is not None else [],
        Places(places[labels:], turned),
    )


def _numbered(raters: Any, count: int) -> tuple[Ints, list[Any]]:
    """Return the number of the rater of each answer, and the raters' names; without raters all answers are of one."""
    import pandas as pd

    if raters is None:
        return np.zeros(count, dtype=np.int64), [None]
    people = one_for_each(raters, "raters", "comparison")
    if len(people) != count:
        raise ValueError(f"raters names {len(people)} people for {count} comparisons; give one for each")
    rater, found = pd.factorize(people)
    if np.any(rater < 0):
        raise ValueError(f"raters: answer number {int(np.argmax(rater < 0))} has none; give every answer one")
    return rater.astype(np.int64), list(found)


def _as_shown_first(shown_first: Any, pairs: Ints) -> Ints:
    """Return the item that was shown first for each answer, -1 where that is unknown."""
    import pandas as pd

    shown = np.full(len(pairs), -1)
    if shown_first is None:
        return shown
    refuse_masked(shown_first, "shown_first")
    values = one_for_each(shown_first, "shown_first", "comparison")
    if len(values) != len(pairs):
        raise ValueError(f"shown_first names {len(values)} items for {len(pairs)} comparisons; give one for each")
    told = ~pd.isna(values)
    told[told] = values[told] != -1
    shown[told] = as_items(values[told].tolist(), "shown_first")
    wrong = told & np.all(shown[:, None] != pairs, axis=1)
    if wrong.any():
        at = int(np.argmax(wrong))
        raise ValueError(
            f"shown_first: answer number {at} names item {shown[at]}, but compares {pairs[at, 0]} and {pairs[at, 1]};"
            " name one of these, or -1 where it is unknown"
        )
    return shown


def of_nobody(pairs: Ints, wins: Floats) -> Answers:
    """Answers of nobody in particular, each pair once."""
    turned = pairs[:, 0] > pairs[:, 1]
    unique, place = np.unique(np.sort(pairs, axis=1), axis=0, return_inverse=True)
    share = (np.where(turned, -wins, wins) + 1) / 2
    won, lost = (summed(place.ravel(), of, len(unique)) for of in (share, 1 - share))
    return Answers(unique[:, 0], unique[:, 1], won, lost, np.ones(len(unique)), np.zeros(len(unique)))


def tell_islands(answers: Answers, n: int) -> None:
    """Say once where answers leave items unconnected: only the prior holds their scores together."""
    if len(answers) == 0:
        return
    _, island = connected_components(answers.graph(np.ones(len(answers)), n + 1), directed=False)
    large = int(np.sum(np.bincount(island) > 1))
    if large > 1:
        warnings.warn(
            f"the answers leave the items in {large} islands that were never compared with each other; how these stand"
            " to each other is told by the features and the prior alone",
            stacklevel=3,
        )


# What pandas infers, in words.
_KINDS = {"string": "text", "integer": "whole numbers", "floating": "fractions", "datetime64": "dates"}
_WHOLE_NUMBER = re.compile(r"0*(\d+)(\.0+)?", re.ASCII)


def warn_of_unknown_items(ids: pd.Index | None, names: pd.Index | None, number: Ints, expected: bool) -> None:
    """Warn where items with the ids `names` are probably those of a model with these `ids`, but are not recognised.

    `number` holds -1 for each item that the model does not know. With `expected`, X is likely to hold items that the
    model was fitted to, so it is worth a warning if it holds none.
    """
    known = int(np.sum(number >= 0))
    if known == len(number):
        return
    why = why_unknown(ids, names, number)
    if why:
        warnings.warn(
            f"{why}. The model knows {known} of the {len(number)} items of X, and ranks the others by their features"
            " alone; give X the ids of the fit",
            stacklevel=4,
        )
    elif expected and known == 0:
        by = "by the whole table, in its order and to the last digit, or by ids"
        warnings.warn(
            "no item of X is one that the model was fitted to, so that only their features count; it knows items"
            f" {by if names is None or ids is None else 'by their ids'}",
            stacklevel=4,
        )


def why_unknown(ids: pd.Index | None, names: pd.Index | None, number: Ints) -> str:
    """Say how the unknown ids differ from the model's; empty if X or the model has no ids, or if they just are new."""
    if ids is None or names is None or not np.any(number < 0):
        return ""
    unknown, model_ids = names[number < 0], dict(zip(map(_normalised, ids), ids.tolist(), strict=True))
    kind, model_kind = _kind(unknown), _kind(ids)
    differ = f"X's ids are {kind}, the model's are {model_kind}"
    for name in unknown.tolist():
        if _normalised(name) in model_ids:
            how = differ if kind != model_kind else "X's ids are written differently from the model's"
            return f"{how}: {name!r} is not {model_ids[_normalised(name)]!r}"
    return differ if kind != model_kind and np.all(number < 0) else ""


def check_order(X: Any, names: pd.Index | None, **arguments: Any) -> None:
    """Refuse a Series that is indexed by the ids of X, but in another order: values are taken row by row."""
    import pandas as pd

    for argument, values in arguments.items():
        if names is None or not isinstance(values, pd.Series) or isinstance(values.index, pd.RangeIndex):
            continue
        same_rows = values.index.equals(names) or (isinstance(X, pd.DataFrame) and values.index.equals(X.index))
        if not same_rows and set(values.index) == set(names):
            raise ValueError(f"{argument} has the ids of X in another order; reorder it with {argument}.loc[ids of X]")


def _normalised(name: Any) -> str:
    """Return an id as text without spaces around it, and a whole number without leading zeros and decimals."""
    text = str(name).strip()
    whole = _WHOLE_NUMBER.fullmatch(text)
    return whole.group(1) if whole else text


def _kind(ids: pd.Index) -> str:
    from pandas.api.types import infer_dtype

    return _KINDS.get(infer_dtype(ids, skipna=False), "of another type")
