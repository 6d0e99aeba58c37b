"""The Bradley-Terry model people end up with: a linear score learned from labels and comparisons together (Sec. 3.2).

The MAP estimate minimises

    ridge |beta|^2 + sum_i log(1 + exp(-y_i beta'x_i)) + sum_ij log(1 + exp(-y_ij beta'(x_i - x_j))),

which is logistic regression without intercept on the rows x_i and x_i - x_j, with C = 1 / (2 ridge) in scikit-learn's
terms. Around it the posterior is taken for N(beta, H^-1), H the Hessian (Laplace).
"""

from __future__ import annotations

import json
import os
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
from scipy.linalg import solve_triangular
from scipy.special import expit, log_expit, ndtr, ndtri
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, column_or_1d, validate_data

from pairsmith.data.arrays import Bools, Ints, as_items, check_items, refuse_masked
from pairsmith.data.frames import check_exact, without_ids
from pairsmith.files.write import write_whole
from pairsmith.model.logistic import auc, auc_of_comparisons, average, blocks, minimise

if TYPE_CHECKING:
    import pandas as pd

Floats = npt.NDArray[np.float64]

METRICS = "log-likelihood", "auc", "auc-labels", "auc-comparisons"
RIDGES = 0.5 * 1.5 ** np.arange(50, -50, -1.0)  # the paper's code: C = 1.5^i, i = -50 to 49
_VERSION = 1


class BradleyTerry(ClassifierMixin, BaseEstimator):
    """Scores s = beta'x with P(i beats j) = 1 / (1 + exp(-(s_i - s_j))) and P(y_i = +1) = 1 / (1 + exp(-s_i)).

    Parameters
    ----------
    ridge : float
        The penalty ridge |beta|^2: a normal prior of variance 1 / (2 ridge) on each coefficient.
    better : the better one of the two labels in y. Words need it; of numbers the greater one is, unless this says
        otherwise. Scorers of scikit-learn such as "roc_auc" take the alphabetically last word for it whatever is said
        here: for them, give y == "high" instead of words.

    Attributes
    ----------
    coef_ : (d,) beta.
    covariance_root_ : (d, d) C with C C' = H^-1, the posterior's covariance.
    classes_ : the two labels, the better one last.
    """

    better: Any

    def __init__(self, ridge: float = 1.0, better: Any = None) -> None:
        self.ridge = ridge
        self.better = better

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        labeled: npt.ArrayLike | None = None,
        comparisons: npt.ArrayLike | None = None,
        outcomes: npt.ArrayLike | None = None,
        sample_weight: npt.ArrayLike | None = None,
    ) -> Self:
        """Fit to absolute labels, comparisons, or both.

        Parameters
        ----------
        X : (N, d) features of the items. The column `id` of a frame or an Arrow table is no feature, but their names.
        y : absolute labels, of the rows `labeled`, or of all rows. Of two numbers the greater one is the better; words
            need `better`.
        labeled : row numbers that y belongs to.
        comparisons : (m, 2) pairs of row numbers.
        outcomes : +1 where the first was preferred, -1 where the second, 0 for a tie (half a win each way).
        sample_weight : weights of the labels, followed by those of the comparisons; a pair asked five times weighs 5.
        """
        data = _Data(self, X, y, labeled, comparisons, outcomes, sample_weight)
        _check_ridge(self.ridge, "ridge")
        self.classes_ = data.classes
        self._learn(data, np.ones(len(data.y), dtype=bool), float(self.ridge))
        return self

    def _learn(self, data: _Data, use: Bools, ridge: float, start: Floats | None = None) -> None:
        rows, y, weights = (part if use.all() else part[use] for part in (data.rows, data.y, data.weights))
        self.coef_, factor = minimise(rows, y, weights, ridge, start)
        self.covariance_root_ = solve_triangular(factor, np.eye(len(factor)))

    def decision_function(self, X: Any) -> Floats:
        """The scores beta'x."""
        check_is_fitted(self)
        scores: Floats = self._features(X)[0] @ self.coef_
        return scores

    def _features(self, X: Any) -> tuple[Floats, Any]:
        """X as the model knows it, and the items' ids where X has any."""
        X, names = without_ids(X)
        check_exact(X, names)
        return validate_data(self, X, reset=False, dtype=np.float64, order="C"), names

    def predict(self, X: Any) -> npt.NDArray[Any]:
        better = self.decision_function(X) > 0
        labels: npt.NDArray[Any] = np.asarray(self.classes_)[better.astype(int)]
        return labels

    def predict_proba(self, X: Any) -> Floats:
        scores = self.decision_function(X)
        return np.column_stack([expit(-scores), expit(scores)])

    def compare(self, X: Any, pairs: npt.ArrayLike, integrate: bool = False) -> Floats:
        """P(first beats second) for pairs of rows of X: at beta, or averaged over the posterior."""
        check_is_fitted(self)
        X, _ = self._features(X)
        i, j = _as_comparisons(pairs, len(X), "pairs").T
        difference = X[i] - X[j]
        mean: Floats = difference @ self.coef_
        if not integrate:
            return np.asarray(expit(mean))
        return average(mean, np.linalg.norm(difference @ self.covariance_root_, axis=1))

    def rank(self, X: Any, level: float = 0.9) -> pd.DataFrame:
        """Items, best first: score, standard error, interval at this level, and P(above the next item).

        The index names the items: the column `id` or the index of a frame, or row numbers. Errors, intervals and
        P(above the next) count what the answers leave open about beta. They take for granted that scores are linear in
        the features: what features do not explain of an item is not in them. With item effects of standard deviation 1
        beside linear scores, 90% intervals cover 40, 25 and 12% of the true scores after 300, 1,000 and 5,000 answers.
        """
        import pandas as pd

        check_is_fitted(self)
        if not isinstance(level, int | float | np.number) or not 0 < level < 1:
            raise ValueError(f"level must be between 0 and 1, got {level!r}")
        X, names = self._features(X)
        scores = X @ self.coef_
        order = np.argsort(-scores, kind="stable")
        error = np.linalg.norm(X @ self.covariance_root_, axis=1)[order]
        gap = np.linalg.norm((X[order[:-1]] - X[order[1:]]) @ self.covariance_root_, axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            above = ndtr((scores[order[:-1]] - scores[order[1:]]) / gap)
        above = np.where(gap > 0, above, 0.5)  # the same features
        width = ndtri((1 + level) / 2)
        return pd.DataFrame(
            {
                "rank": np.arange(1, len(X) + 1),
                "score": scores[order],
                "error": error,
                "low": scores[order] - width * error,
                "high": scores[order] + width * error,
                "above_next": np.append(above, np.nan),
            },
            index=pd.RangeIndex(len(X))[order] if names is None else names[order],
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model as plain JSON, whole or not at all."""
        check_is_fitted(self)
        content = {
            "pairsmith model": _VERSION,
            "ridge": float(getattr(self, "ridge_", getattr(self, "ridge", np.nan))),
            "classes": np.asarray(self.classes_).tolist(),
            "features": getattr(self, "feature_names_in_", np.arange(self.n_features_in_)).tolist(),
            "coef": self.coef_.tolist(),
        }
        rows = ",\n  ".join(json.dumps(row) for row in self.covariance_root_.tolist())
        text = json.dumps(content, indent=1)[:-2] + f',\n "covariance root": [\n  {rows}\n ]\n}}\n'
        write_whole(path, lambda part: part.write_text(text, encoding="utf-8"))

    @staticmethod
    def load(path: str | os.PathLike[str]) -> BradleyTerry:
        """Read what `save` wrote."""
        if Path(path).exists() and not Path(path).is_file():  # a device may never end
            raise ValueError(f"{path} is no file; name one that BradleyTerry.save or pairsmith fit wrote")
        try:
            content = json.loads(Path(path).read_text(encoding="utf-8"))
            version = content["pairsmith model"]
            if version != _VERSION:
                raise ValueError(
                    f"{path} was written by another version of pairsmith (format {version}, not {_VERSION}); fit again"
                )
            model = BradleyTerry(float(content["ridge"]))
            model.classes_ = np.array(content["classes"])
            model.coef_ = np.array(content["coef"], dtype=np.float64)
            model.covariance_root_ = np.array(content["covariance root"], dtype=np.float64)
            names = content["features"]
            model.n_features_in_ = len(names)
            if all(isinstance(name, str) for name in names):
                model.feature_names_in_ = np.array(names, dtype=object)
            d = len(names)
            if model.coef_.shape != (d,) or model.covariance_root_.shape != (d, d) or len(model.classes_) != 2:
                raise TypeError
            if not (np.isfinite(model.coef_).all() and np.isfinite(model.covariance_root_).all()):
                raise TypeError
            _check_ridge(model.ridge, "ridge")
        except FileNotFoundError:
            raise ValueError(f"{path}: there is no such file") from None
        except OSError as error:
            raise ValueError(f"{path} cannot be read: {error.strerror}") from None
        except (KeyError, TypeError, ValueError, RecursionError) as error:
            if "another version" in str(error):
                raise
            raise ValueError(
                f"{path} is no model of pairsmith; make one with BradleyTerry.save or pairsmith fit"
            ) from None
        return model


class BradleyTerryCV(BradleyTerry):
    """Bradley-Terry with the ridge under which held-out answers are likeliest, or, as the paper has it, ordered best.

    A log likelihood sees the scale of the scores, which intervals depend on; an AUC (Sec. 6.1) sees only their order.
    What is left open about the ridge counts as well: `covariance_root_` is that of H^-1 plus the spread of the
    estimates over all ridges, each weighted by the likelihood of what was held out from it.

    Parameters
    ----------
    ridges : the ridges to try; None for the paper's, 100 from 3e8 down to 1e-9.
    metric : "log-likelihood", of labels and answers; or the paper's "auc" (the mean of the next two, or the one there
        is), "auc-labels" and "auc-comparisons".
    held_out : where `fit` is not told what to validate on: for the log likelihood the share of the answers that is held
        out at a time, in folds, until each was held out once; for an AUC the share of items, held out once.
    refit : whether the final fit is to everything, the validation items included.
    random_state : seeds what is held out.
    better : as of BradleyTerry.

    Attributes
    ----------
    ridge_ : the ridge chosen. scores_ : the metric for each of ridges_, a log likelihood in nats an answer.
    auc_ : the AUC of what was held out, under ridge_; nan where there is none. n_validated_ : how much that was.
    """

    def __init__(
        self,
        ridges: npt.ArrayLike | None = None,
        metric: str = "log-likelihood",
        held_out: float = 0.25,
        refit: bool = True,
        random_state: int | None = 0,
        better: Any = None,
    ) -> None:
        self.ridges = ridges
        self.metric = metric
        self.held_out = held_out
        self.refit = refit
        self.random_state = random_state
        self.better = better

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        labeled: npt.ArrayLike | None = None,
        comparisons: npt.ArrayLike | None = None,
        outcomes: npt.ArrayLike | None = None,
        sample_weight: npt.ArrayLike | None = None,
        validation: npt.ArrayLike | None = None,
    ) -> Self:
        """As BradleyTerry.fit. `validation` names the rows of X to validate on: no item is on both sides."""
        data = _Data(self, X, y, labeled, comparisons, outcomes, sample_weight)
        if self.metric not in METRICS:
            raise ValueError(f"metric: {self.metric!r} is unknown; choose one of {', '.join(METRICS)}")
        ridges = np.atleast_1d(np.asarray(RIDGES if self.ridges is None else self.ridges, dtype=np.float64))
        if ridges.size == 0:
            raise ValueError("ridges is empty; give at least one positive number, or None")
        for ridge in ridges.ravel():
            _check_ridge(ridge, "ridges")
        splits = self._splits(data, validation)
        self.classes_ = data.classes
        self.ridges_ = np.sort(ridges)[::-1]  # from simple to free, each fit starting from the one before
        seen = np.any([held for _, held in splits], axis=0)
        margins = np.full((len(self.ridges_), len(data.y)), np.nan)  # beta'row of what was held out, a row a ridge
        for train, held in splits:
            start = None
            for margin, ridge in zip(margins, self.ridges_, strict=True):
                start, _ = minimise(data.rows[train], data.y[train], data.weights[train], float(ridge), start)
                margin[held] = data.rows[held] @ start
        likelihood = np.array([data.weights[seen] @ log_expit(data.y[seen] * margin[seen]) for margin in margins])
        if self.metric == "log-likelihood":
            self.scores_ = likelihood / data.weights[seen].sum()
            self.n_validated_ = int(np.sum(seen[: data.total]))
        else:
            self.scores_ = np.array([_auc(data, margin, seen, self.metric) for margin in margins])
            self.n_validated_ = int(np.sum(seen & ~data.tie))
        best = int(np.argmax(self.scores_ >= self.scores_.max() - 1e-12))
        self.ridge_ = float(self.ridges_[best])
        self.auc_ = _auc(data, margins[best], seen, self.metric)
        use = np.ones(len(data.y), dtype=bool) if self.refit else splits[0][0]
        self._learn(data, use, self.ridge_)
        if self.metric == "log-likelihood":
            self._widen(data, use, likelihood)
        return self

    def _widen(self, data: _Data, use: Bools, likelihood: Floats) -> None:
        """Add to the posterior's covariance how far the estimate moves over ridges that are as likely as this one."""
        share = np.exp(likelihood - likelihood.max())
        share /= share.sum()
        moved, start = [], self.coef_
        for at in np.flatnonzero(share > 1e-3):
            start, _ = minimise(data.rows[use], data.y[use], data.weights[use], float(self.ridges_[at]), start)
            moved.append(np.sqrt(share[at]) * (start - self.coef_))
        both = np.vstack([self.covariance_root_.T, *moved])
        self.covariance_root_ = np.asarray(np.linalg.qr(both, mode="r")).T

    def _splits(self, data: _Data, validation: npt.ArrayLike | None) -> list[tuple[Bools, Bools]]:
        """Which rows of the data are to train on, and which are held out from that."""
        if validation is not None:
            items = as_items(validation, "validation").ravel()
            check_items(items, data.n_items, "validation")
            tries = iter([items])
        else:
            if not isinstance(self.held_out, float | np.floating) or not 0 < self.held_out < 1:
                raise ValueError(f"held_out must be a share between 0 and 1, got {self.held_out!r}")
            try:
                rng = np.random.default_rng(self.random_state)
            except (TypeError, ValueError):
                raise ValueError(f"random_state must be None or a whole number, got {self.random_state!r}") from None
            if self.metric == "log-likelihood":
                if not self.refit:
                    raise ValueError("refit=False needs one set to train on; name items to validate on: validation=")
                return _folds(data, max(2, round(1 / self.held_out)), rng)
            count = max(1, round(self.held_out * data.n_items))
            tries = (rng.choice(data.n_items, count, replace=False) for _ in range(50))
        for items in tries:
            held = np.zeros(data.n_items, dtype=bool)
            held[items] = True
            train = ~held[data.first] & ~held[data.second]
            seen = held[data.first] & held[data.second] & (data.weights > 0)
            measurable = self.metric == "log-likelihood" or not np.isnan(
                _auc(data, np.zeros(len(data.y)), seen, self.metric)
            )
            if train.any() and seen.any() and measurable:
                return [(train, seen)]
        needed = "labels or comparisons"
        if self.metric != "log-likelihood":
            needed = "for an AUC labels of more than one class, or a comparison,"
        raise ValueError(
            f"validation: {needed} are needed among the validation items, and training data among the others; give"
            " more data, or choose the ridge (BradleyTerry, --ridge)"
        )


def _folds(data: _Data, count: int, rng: np.random.Generator) -> list[tuple[Bools, Bools]]:
    """So many folds of the answers and labels; all answers to one pair are in the same, or they would tell each other.

    Zero weights count as not being there.
    """
    there = data.weights > 0
    codes = np.minimum(data.first, data.second) * data.n_items + np.maximum(data.first, data.second)
    pairs, pair = np.unique(codes[there], return_inverse=True)
    if len(pairs) < 2:
        raise ValueError(
            "a ridge is chosen by what is held out, and one sample (a single pair or label) leaves nothing to hold out;"
            " give more data, or choose the ridge (BradleyTerry, --ridge)"
        )
    fold = np.full(len(codes), -1)
    fold[there] = (rng.permutation(len(pairs)) % count)[pair]
    return [((fold >= 0) & (fold != at), fold == at) for at in range(min(count, len(pairs)))]


class _Data:
    """Labels and comparisons, checked, as rows of one logistic regression.

    A row is x_first, or x_first - x_second where the two differ, with y = +1 or -1; a tie is two of half the weight.
    """

    def __init__(
        self,
        estimator: BradleyTerry,
        X: Any,
        y: Any,
        labeled: npt.ArrayLike | None,
        comparisons: npt.ArrayLike | None,
        outcomes: npt.ArrayLike | None,
        sample_weight: npt.ArrayLike | None,
    ) -> None:
        plain = labeled is None and comparisons is None
        if (comparisons is None) != (outcomes is None):
            raise ValueError("comparisons and outcomes belong together; give both or neither")
        for name, given in (("y", y), ("sample_weight", sample_weight)):
            refuse_masked(given, name)
        X, names = without_ids(X)
        check_exact(X, names)
        if plain:
            X, y = validate_data(estimator, X, y, dtype=np.float64)
        else:
            X = validate_data(estimator, X, dtype=np.float64)
        self.n_items = len(X)
        items = np.arange(self.n_items) if labeled is None else as_items(labeled, "labeled").ravel()
        check_items(items, self.n_items, "labeled")
        if y is None:
            if labeled is not None:
                raise ValueError("labeled names items without labels; give y, one label for each")
            items = items[:0]
        labels = column_or_1d([] if y is None else y, warn=True)
        if len(labels) != len(items):
            which = "rows of X; say with labeled= which they are of" if labeled is None else "items in labeled"
            raise ValueError(f"y has {len(labels)} labels for {len(items)} {which}")
        self.classes = classes_of(labels, estimator.better)
        pairs = _as_comparisons([] if comparisons is None else comparisons, self.n_items, "comparisons")
        wins = _as_outcomes([] if outcomes is None else outcomes, len(pairs))
        self.total = total = len(items) + len(pairs)  # rows; those after are the second halves of ties
        if total == 0:
            raise ValueError("y and comparisons are both empty; the model needs one of them to learn from")
        try:
            weights = _check_sample_weight(
                sample_weight, np.empty((total, 1)), dtype=np.float64, ensure_non_negative=True
            )
        except ValueError as error:
            raise ValueError(
                f"{error} Give one weight for each of {len(items)} labels and {len(pairs)} comparisons, in that order"
            ) from None
        side = np.where(labels == self.classes[1], 1.0, -1.0) if len(labels) else np.zeros(0)
        tied = np.flatnonzero(wins == 0)
        self.first = np.concatenate([items, pairs[:, 0], pairs[tied, 0]])
        self.second = np.concatenate([items, pairs[:, 1], pairs[tied, 1]])
        self.y = np.concatenate([side, np.where(wins == 0, 1.0, wins), np.full(len(tied), -1.0)])
        self.tie = np.concatenate([np.zeros(len(items), dtype=bool), wins == 0, np.ones(len(tied), dtype=bool)])
        half = np.where(self.tie[:total], 0.5, 1.0)
        self.weights = np.concatenate([weights * half, weights[len(items) + tied] / 2])
        self.rows = np.empty((len(self.first), X.shape[1]))
        for part in blocks(len(self.first)):
            np.take(X, self.first[part], axis=0, out=self.rows[part])
        for part in blocks(len(self.first), len(items)):
            self.rows[part] -= X[self.second[part]]


def _auc(data: _Data, margins: Floats, rows: Bools, metric: str) -> float:
    """The area under the ROC curve on these rows of the data by their beta'row, nan where there is none.

    Ties do not count.
    """
    single = data.first == data.second
    parts = []
    if metric != "auc-comparisons":
        own = rows & single & (data.weights > 0)
        if len(np.unique(data.y[own])) == 2:
            parts.append(auc(data.y[own], margins[own], data.weights[own]))
    if metric != "auc-labels":
        own = rows & ~single & ~data.tie & (data.weights > 0)
        if own.any():
            parts.append(auc_of_comparisons(data.y[own], margins[own], data.weights[own]))
    return float(np.mean(parts)) if parts else np.nan


def _check_ridge(ridge: Any, name: str) -> None:
    if isinstance(ridge, bool) or not isinstance(ridge, int | float | np.number) or not 1e-300 < ridge < 1e300:
        raise ValueError(f"{name} must be a positive number, from 1e-300 to 1e300, got {ridge!r}")


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


def _as_comparisons(pairs: npt.ArrayLike, n: int, name: str) -> Ints:
    """An (m, 2) array of different rows, in the order given: the first is who `outcomes` speak of."""
    array = as_items(pairs, name)
    if array.size == 0:
        return np.zeros((0, 2), dtype=np.int64)
    if array.ndim != 2 or array.shape[1] != 2:
        raise ValueError(f"{name} must have two columns, one pair a row; got shape {array.shape}")
    check_items(array, n, name)
    same = array[:, 0] == array[:, 1]
    if np.any(same):
        raise ValueError(
            f"{name}: row {int(np.argmax(same))} pairs item {array[np.argmax(same), 0]} with itself; remove it"
        )
    return array


def _as_outcomes(outcomes: npt.ArrayLike, count: int) -> Floats:
    refuse_masked(outcomes, "outcomes")
    try:
        if np.asarray(outcomes).dtype.kind == "b":
            raise TypeError
        wins = np.asarray(outcomes, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError("outcomes must be +1 (first preferred), -1 (second) or 0 (tie)") from None
    if wins.shape != (count,):
        raise ValueError(f"outcomes has shape {wins.shape} for {count} comparisons; give one for each")
    wrong = ~np.isin(wins, (-1.0, 0.0, 1.0))
    if wrong.any():
        raise ValueError(
            f"outcomes must be +1 (first preferred), -1 (second) or 0 (tie); number {int(np.argmax(wrong))} is"
            f" {wins[wrong][0]:g}"
        )
    return wins
