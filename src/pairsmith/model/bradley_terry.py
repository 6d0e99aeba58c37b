"""The Bradley-Terry model people end up with: a linear score learned from labels and comparisons together (Sec. 3.2).

The MAP estimate minimises

    ridge |beta|^2 + sum_i log(1 + exp(-y_i beta'x_i)) + sum_ij log(1 + exp(-y_ij beta'(x_i - x_j))),

which is logistic regression without intercept on the rows x_i and x_i - x_j, with C = 1 / (2 ridge) in scikit-learn's
terms. Around it the posterior is taken for N(beta, H^-1), H the Hessian (Laplace).
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
from scipy.linalg import solve_triangular
from scipy.special import expit, ndtr, ndtri
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from pairsmith.data.arrays import Bools, Floats, Ints, as_ordered_pairs, check_items
from pairsmith.data.features import Features, some_rows
from pairsmith.data.user_features import checked_table
from pairsmith.model.evidence import check
from pairsmith.model.logistic import average, check_ridge, minimise, slices_in_cache
from pairsmith.model.saving import SavedModel

if TYPE_CHECKING:
    import pandas as pd


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
        outcomes : +1 where the first was preferred, -1 where the second, 0 for a tie (half a win each way); or the
            words first, second and tie.
        sample_weight : weights of the labels, followed by those of the comparisons; a pair asked five times weighs 5.
            Each is 0 or from 1e-9 to 1e6.
        """
        evidence = gather(self, X, y, labeled, comparisons, outcomes, sample_weight)
        check_ridge(self.ridge, "ridge")
        self.classes_ = evidence.classes
        self._learn(evidence, np.ones(len(evidence.y), dtype=bool), float(self.ridge))
        return self

    def _learn(self, evidence: Evidence, use: Bools, ridge: float) -> None:
        """Set the estimate and its posterior from these rows of the evidence."""
        self.coef_, factor = minimise(*evidence.part(use), ridge)
        # Signs of rows depend on which item of a pair came first; without them equal evidence gives equal files.
        factor = np.where(np.diag(factor) < 0, -1.0, 1.0)[:, None] * factor
        self.covariance_root_ = solve_triangular(factor, np.eye(len(factor)))

    def decision_function(self, X: Any) -> Floats:
        """The scores beta'x."""
        check_is_fitted(self)
        scores: Floats = self._features(X)[0] @ self.coef_
        return scores

    def _features(self, X: Any) -> tuple[Floats, Any]:
        """X as the model knows it, and the items' ids where X has any."""
        X, names = checked_table(X)
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
        ordered = as_ordered_pairs(pairs, "pairs")
        check_items(ordered, len(X), "pairs")
        i, j = ordered.T
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

    def save(self, path: str | os.PathLike[str], recipe: Any = None) -> None:
        """Write the fitted model as plain JSON, whole or not at all; a `ps.Recipe` that made the features with it."""
        check_is_fitted(self)
        names: npt.NDArray[Any] = getattr(self, "feature_names_in_", np.arange(self.n_features_in_))
        ridge = float(
            getattr(self, "ridge_", getattr(self, "ridge", np.nan))
        )  # a chosen one, or the one that was given
        SavedModel(ridge, np.asarray(self.classes_), names.tolist(), self.coef_, self.covariance_root_).write(
            path, None if recipe is None else recipe.to_json()
        )

    @staticmethod
    def load(path: str | os.PathLike[str]) -> BradleyTerry:
        """Read what `save` wrote."""
        saved = SavedModel.read(path)
        model = BradleyTerry(saved.ridge)
        model.classes_ = saved.classes
        model.coef_, model.covariance_root_ = saved.coef, saved.covariance_root
        model.n_features_in_ = len(saved.features)
        if all(isinstance(name, str) for name in saved.features):
            model.feature_names_in_ = np.array(saved.features, dtype=object)
        return model


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


def _differences(X: Floats, first: Ints, second: Ints, labels: int) -> Floats:
    """x_first, less x_second but for the labels, which come before the answers."""
    rows = np.empty((len(first), X.shape[1]))
    for part in slices_in_cache(len(first)):
        np.take(X, first[part], axis=0, out=rows[part])
    for part in slices_in_cache(len(first), labels):
        rows[part] -= X[second[part]]
    return rows


def usual_ridge(features: Features) -> float:
    """The ridge under which scores have a standard deviation of 2 before any answer.

    The penalty ridge |beta|^2 is that of beta ~ N(0, I / (2 ridge)), so that the score of an item at x from the mean
    has the variance |x|^2 / (2 ridge); it is 4 for the mean of |x|^2.
    """
    some = some_rows(features, 5000)
    spread = float(np.mean(np.sum((some - some.mean(axis=0)) ** 2, axis=1)))
    return spread / 8 if spread > 0 else 1.0
