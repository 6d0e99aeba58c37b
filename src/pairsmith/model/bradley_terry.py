"""The paper's model: scores that are linear in the features, learned from labels and comparisons together (Sec. 3.2).

The MAP estimate minimises

    ridge |beta|^2 + sum_i log(1 + exp(-y_i beta'x_i)) + sum_ij log(1 + exp(-y_ij beta'(x_i - x_j))),

which is logistic regression without intercept on the rows x_i and x_i - x_j, with C = 1 / (2 ridge) in scikit-learn's
terms. The posterior is approximated by N(beta, H^-1) with the Hessian H (Laplace).
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

from pairsmith.data.arrays import Bools, Floats, Ints, as_ordered_pairs, check_row_numbers
from pairsmith.data.errors import ArgumentError
from pairsmith.data.features import Features, evenly_spaced_rows
from pairsmith.data.user_features import check_table
from pairsmith.model.evidence import check_input
from pairsmith.model.logistic import average, check_ridge, minimise, slices_in_cache
from pairsmith.model.saving import SavedModel

if TYPE_CHECKING:
    import pandas as pd

_PRIOR_SCORE_VARIANCE = 4.0  # of the usual ridge
_MAX_ROWS_FOR_RIDGE = 5000  # of the features, from which their spread is estimated


@dataclass(frozen=True)
class RegressionData:
    """Labels and answers as rows of one logistic regression.

    A label has the row x_first, and `second` is the same item; an answer has the row x_first - x_second. A tie is two
    rows of half the weight, one for each outcome: the second halves of all ties come last, after the `total` labels
    and answers.
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

    def subset(self, which: Bools) -> tuple[Floats, Floats, Floats]:
        """Return the rows, y and weights of a part of the data, without a copy if that is everything."""
        if which.all():
            return self.rows, self.y, self.weights
        return self.rows[which], self.y[which], self.weights[which]


class BradleyTerry(ClassifierMixin, BaseEstimator):
    """Bradley-Terry model whose scores are linear in the features.

    The score of an item is s = beta'x. Item i beats item j with probability 1 / (1 + exp(-(s_i - s_j))), and the label
    of item i is the better one with probability 1 / (1 + exp(-s_i)). The estimate of beta is the mode of the posterior
    under a normal prior; the posterior itself is approximated by a normal distribution (Laplace).

    Parameters
    ----------
    ridge : float, default=1.0
        The penalty ridge |beta|^2, which is a normal prior of variance 1 / (2 ridge) on each coefficient.
    better : object, default=None
        The better one of the two labels in y. Words need it; of two numbers the greater one is the better by default.
        Scorers of scikit-learn such as "roc_auc" ignore it and take the alphabetically last word: for them, give
        y == "high" instead of words.

    Attributes
    ----------
    coef_ : ndarray of shape (d,)
        The coefficients beta.
    covariance_root_ : ndarray of shape (d, d)
        C with C C' = H^-1, the covariance of the posterior.
    classes_ : ndarray of shape (2,)
        The two labels, the better one last.
    n_features_in_ : int
        The number of features.

    See Also
    --------
    BradleyTerryCV : chooses the ridge by cross-validation.
    BradleyTerryGP : also learns what the features do not explain.

    Examples
    --------
    >>> import pairsmith as ps
    >>> X = [[0.0], [1.0], [2.0]]
    >>> model = ps.BradleyTerry(ridge=0.1).fit(X, comparisons=[(2, 1), (1, 0), (2, 0)], outcomes=[1, 1, 1])
    >>> model.rank(X).index.tolist()
    [2, 1, 0]
    >>> model.compare(X, [(2, 0)]).round(2)
    array([0.97])
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
        """Fit the model to labels, comparisons, or both.

        Parameters
        ----------
        X : array-like or data frame of shape (N, d)
            Features of the items. A column `id` of a data frame or an Arrow table names the items and is no feature.
        y : array-like, optional
            Labels of the rows `labeled`, or of all rows. There are two: of numbers the greater one is the better, and
            words need `better`.
        labeled : array-like of int, optional
            The row numbers that y belongs to.
        comparisons : array-like of shape (m, 2), optional
            Pairs of row numbers.
        outcomes : array-like of shape (m,), optional
            +1 where the first item was preferred, -1 where the second, 0 for a tie (half a win each way); or the words
            "first", "second" and "tie".
        sample_weight : array-like, optional
            Weights of the labels, followed by those of the comparisons. A pair that was asked five times with the same
            outcome can be given once with weight 5. Each is 0 or from 1e-9 to 1e6.

        Returns
        -------
        BradleyTerry
            The fitted model.

        Raises
        ------
        ValueError
            If there are neither labels nor comparisons, or if an argument is malformed.
        """
        data = regression_data(self, X, y, labeled, comparisons, outcomes, sample_weight)
        check_ridge(self.ridge, "ridge")
        self.classes_ = data.classes
        self._estimate(data, np.ones(len(data.y), dtype=bool), float(self.ridge))
        return self

    def _estimate(self, data: RegressionData, use: Bools, ridge: float) -> None:
        """Set the estimate and its posterior from these rows of the data."""
        self.coef_, factor = minimise(*data.subset(use), ridge)
        # The signs of rows depend on which item of a pair came first; without them equal evidence gives equal files.
        factor = np.where(np.diag(factor) < 0, -1.0, 1.0)[:, None] * factor
        self.covariance_root_ = solve_triangular(factor, np.eye(len(factor)))

    def decision_function(self, X: Any) -> Floats:
        """Return the scores beta'x of the items X."""
        check_is_fitted(self)
        scores: Floats = self._features(X)[0] @ self.coef_
        return scores

    def _features(self, X: Any) -> tuple[Floats, Any]:
        """Return X as a validated array, and the items' ids if X has any."""
        X, ids = check_table(X)
        return validate_data(self, X, reset=False, dtype=np.float64, order="C"), ids

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the likelier label of each item."""
        better = self.decision_function(X) > 0
        labels: npt.NDArray[Any] = np.asarray(self.classes_)[better.astype(int)]
        return labels

    def predict_proba(self, X: Any) -> Floats:
        """Return the probabilities of the labels in `classes_` for each item, at the estimate."""
        scores = self.decision_function(X)
        return np.column_stack([expit(-scores), expit(scores)])

    def compare(self, X: Any, pairs: npt.ArrayLike, integrate: bool = False) -> Floats:
        """Return the probability that the first item of each pair beats the second.

        Parameters
        ----------
        X : array-like or data frame of shape (N, d)
            Features of the items.
        pairs : array-like of shape (m, 2)
            Pairs of row numbers of X.
        integrate : bool, default=False
            Average over the posterior instead of using the estimate.

        Returns
        -------
        ndarray of shape (m,)
            The probabilities.
        """
        check_is_fitted(self)
        X, _ = self._features(X)
        ordered = as_ordered_pairs(pairs, "pairs")
        check_row_numbers(ordered, len(X), "pairs")
        i, j = ordered.T
        difference = X[i] - X[j]
        mean: Floats = difference @ self.coef_
        if not integrate:
            return np.asarray(expit(mean))
        return average(mean, np.linalg.norm(difference @ self.covariance_root_, axis=1))

    def rank(self, X: Any, level: float = 0.9) -> pd.DataFrame:
        """Rank items, best first.

        Errors and intervals describe what the answers leave open about beta. They assume that scores are linear in the
        features, so they are too narrow where features do not explain the scores, and more so with more answers.
        `BradleyTerryGP` does not assume it.

        Parameters
        ----------
        X : array-like or data frame of shape (N, d)
            Features of the items.
        level : float, default=0.9
            The level of the intervals.

        Returns
        -------
        DataFrame
            One row per item, indexed by the column `id` or the index of a data frame, or by row number. Columns:
            `rank`, `score`, its standard `error`, the interval from `low` to `high`, and `above_next`, the probability
            that the item is above the next one.
        """
        import pandas as pd

        check_is_fitted(self)
        if not isinstance(level, int | float | np.number) or not 0 < level < 1:
            raise ArgumentError("level", f" must be between 0 and 1, got {level!r}")
        X, ids = self._features(X)
        scores = X @ self.coef_
        order = np.argsort(-scores, kind="stable")
        error = np.linalg.norm(X @ self.covariance_root_, axis=1)[order]
        gap_error = np.linalg.norm((X[order[:-1]] - X[order[1:]]) @ self.covariance_root_, axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            above = ndtr((scores[order[:-1]] - scores[order[1:]]) / gap_error)
        above = np.where(gap_error > 0, above, 0.5)  # 0 if two items have the same features
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
            index=pd.RangeIndex(len(X))[order] if ids is None else ids[order],
        )

    def save(self, path: str | os.PathLike[str], recipe: Any = None) -> None:
        """Write the fitted model as plain JSON.

        Parameters
        ----------
        path : path-like
            The file, which is written whole or not at all.
        recipe : Recipe, optional
            The `ps.Recipe` that made the features; it is kept in the same file.
        """
        check_is_fitted(self)
        names: npt.NDArray[Any] = getattr(self, "feature_names_in_", np.arange(self.n_features_in_))
        ridge = float(getattr(self, "ridge_", getattr(self, "ridge", np.nan)))  # BradleyTerryCV chose it as ridge_
        SavedModel(ridge, np.asarray(self.classes_), names.tolist(), self.coef_, self.covariance_root_).write(
            path, None if recipe is None else recipe.to_json()
        )

    @staticmethod
    def load(path: str | os.PathLike[str]) -> BradleyTerry:
        """Read a model that `save` wrote."""
        saved = SavedModel.read(path)
        model = BradleyTerry(saved.ridge)
        model.classes_ = saved.classes
        model.coef_, model.covariance_root_ = saved.coef, saved.covariance_root
        model.n_features_in_ = len(saved.features)
        if all(isinstance(name, str) for name in saved.features):
            model.feature_names_in_ = np.array(saved.features, dtype=object)
        return model


def regression_data(estimator: BradleyTerry, *arguments: Any) -> RegressionData:
    """Check the arguments of `fit`, and return them as rows of a logistic regression."""
    checked = check_input(estimator, *arguments)
    items, pairs, wins, weights = checked.labeled, checked.pairs, checked.wins, checked.weights
    total, tied = len(items) + len(pairs), np.flatnonzero(wins == 0)
    first = np.concatenate([items, pairs[:, 0], pairs[tied, 0]])
    second = np.concatenate([items, pairs[:, 1], pairs[tied, 1]])
    tie = np.concatenate([np.zeros(len(items), dtype=bool), wins == 0, np.ones(len(tied), dtype=bool)])
    return RegressionData(
        _feature_differences(checked.X, first, second, len(items)),
        first,
        second,
        np.concatenate([checked.label_signs, np.where(wins == 0, 1.0, wins), np.full(len(tied), -1.0)]),
        np.concatenate([weights * np.where(tie[:total], 0.5, 1.0), weights[len(items) + tied] / 2]),
        tie,
        total,
        checked.classes,
        len(checked.X),
    )


def _feature_differences(X: Floats, first: Ints, second: Ints, labels: int) -> Floats:
    """Return x_first for the labels, which come first, and x_first - x_second for the answers."""
    rows = np.empty((len(first), X.shape[1]))
    for part in slices_in_cache(len(first)):
        np.take(X, first[part], axis=0, out=rows[part])
    for part in slices_in_cache(len(first), labels):
        rows[part] -= X[second[part]]
    return rows


def default_ridge(features: Features) -> float:
    """Return the ridge under which scores have a prior standard deviation of 2.

    The penalty ridge |beta|^2 is the prior beta ~ N(0, I / (2 ridge)). So the score of an item at a distance |x| from
    the mean has the prior variance |x|^2 / (2 ridge), and this is 4 for the mean of |x|^2.
    """
    sample = evenly_spaced_rows(features, _MAX_ROWS_FOR_RIDGE)
    spread = float(np.mean(np.sum((sample - sample.mean(axis=0)) ** 2, axis=1)))
    return spread / (2 * _PRIOR_SCORE_VARIANCE) if spread > 0 else 1.0
