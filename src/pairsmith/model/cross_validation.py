"""The Bradley-Terry model with a ridge chosen by cross-validation (Sec. 6.1)."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy.special import log_expit

from pairsmith.data.arrays import Bools, Floats, as_row_numbers, check_row_numbers
from pairsmith.model.bradley_terry import BradleyTerry, RegressionData, regression_data
from pairsmith.model.logistic import auc, auc_of_comparisons, check_ridge, minimise

METRICS = "log-likelihood", "auc", "auc-labels", "auc-comparisons"
RIDGES = 0.5 * 1.5 ** np.arange(50, -50, -1.0)  # as in the paper's code: C = 1.5^i, i = -50 to 49
_MAX_SPLIT_ATTEMPTS = 50  # random splits, until one has data for training and for the metric
_MIN_RIDGE_WEIGHT = 1e-3  # ridges with a smaller share of the likelihood do not widen the posterior
_SCORE_TIE = 1e-12  # metrics that differ by less are equal, and the larger ridge wins


class BradleyTerryCV(BradleyTerry):
    """Bradley-Terry model with the ridge under which held-out data are likeliest.

    The default metric, the log likelihood, depends on the scale of the scores, and intervals do as well. An AUC, the
    paper's choice (Sec. 6.1), depends only on their order. Under the log likelihood the posterior also covers the
    uncertainty about the ridge: to H^-1 it adds the spread of the estimates over all ridges, weighted by the likelihood
    of the held-out data.

    Parameters
    ----------
    ridges : array-like of float, default=None
        The ridges to try; None for the paper's, 100 values from 3e8 down to 1e-9.
    metric : {"log-likelihood", "auc", "auc-labels", "auc-comparisons"}, default="log-likelihood"
        What to maximise on held-out data: the log likelihood of labels and answers; the AUC of labels or of
        comparisons; or with "auc" the mean of these two, or the one that exists.
    held_out : float, default=0.25
        The share that is held out if `fit` gets no validation items. For the log likelihood this is a share of the
        answers, in folds, until each was held out once; for an AUC it is a share of the items, held out once.
    refit : bool, default=True
        Fit the final model to all data, with the validation items included.
    random_state : int or None, default=0
        Seeds the choice of held-out data.
    better : object, default=None
        The better one of the two labels in y. Words need it; of two numbers the greater one is the better by default.

    Attributes
    ----------
    ridge_ : float
        The chosen ridge.
    ridges_ : ndarray
        The ridges, descending.
    scores_ : ndarray
        The metric for each of `ridges_`; a log likelihood is in nats per answer.
    auc_ : float
        The AUC of the held-out data under `ridge_`; NaN if it is not defined.
    n_validated_ : int
        The number of held-out labels and answers.
    coef_ : ndarray of shape (d,)
        The coefficients beta.
    covariance_root_ : ndarray of shape (d, d)
        C with C C' the covariance of the posterior.
    classes_ : ndarray of shape (2,)
        The two labels, the better one last.

    See Also
    --------
    BradleyTerry : the same model with a given ridge.

    Examples
    --------
    >>> import numpy as np
    >>> import pairsmith as ps
    >>> X = np.arange(6.0)[:, None]
    >>> pairs = [(i, j) for i in range(6) for j in range(i)]  # the item with the greater feature always wins
    >>> model = ps.BradleyTerryCV(ridges=[10.0, 1.0, 0.1]).fit(X, comparisons=pairs, outcomes=[1] * len(pairs))
    >>> model.ridge_
    0.1
    >>> model.rank(X).index.tolist()
    [5, 4, 3, 2, 1, 0]
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
        """Choose the ridge, and fit the model to labels, comparisons, or both.

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
            Weights of the labels, followed by those of the comparisons. Each is 0 or from 1e-9 to 1e6.
        validation : array-like of int, optional
            Rows of X to validate on. Training uses data about other items only.

        Returns
        -------
        BradleyTerryCV
            The fitted model.

        Raises
        ------
        ValueError
            If an argument is malformed, or if training or validation would have no data.
        """
        data = regression_data(self, X, y, labeled, comparisons, outcomes, sample_weight)
        if self.metric not in METRICS:
            raise ValueError(f"metric: {self.metric!r} is unknown; choose one of {', '.join(METRICS)}")
        ridges = np.atleast_1d(np.asarray(RIDGES if self.ridges is None else self.ridges, dtype=np.float64))
        if ridges.size == 0:
            raise ValueError("ridges is empty; give at least one positive number, or None")
        for ridge in ridges.ravel():
            check_ridge(ridge, "ridges")
        splits = self._splits(data, validation)
        self.classes_ = data.classes
        self.ridges_ = np.sort(ridges)[::-1]  # each fit starts from the one with the next larger ridge
        validated = np.any([test for _, test in splits], axis=0)
        margins = np.full((len(self.ridges_), len(data.y)), np.nan)  # beta'row of held-out rows, for each ridge
        for train, test in splits:
            training_data, test_rows, start = data.subset(train), data.rows[test], None
            for margin, ridge in zip(margins, self.ridges_, strict=True):
                start, _ = minimise(*training_data, float(ridge), start)
                margin[test] = test_rows @ start
        _, y, weights = data.subset(validated)
        log_likelihood = np.array([weights @ log_expit(y * margin[validated]) for margin in margins])
        if self.metric == "log-likelihood":
            self.scores_ = log_likelihood / weights.sum()
            self.n_validated_ = int(np.sum(validated[: data.total]))
        else:
            self.scores_ = np.array([_auc(data, margin, validated, self.metric) for margin in margins])
            self.n_validated_ = int(np.sum(validated & ~data.tie))
        best = int(np.argmax(self.scores_ >= self.scores_.max() - _SCORE_TIE))
        self.ridge_ = float(self.ridges_[best])
        self.auc_ = _auc(data, margins[best], validated, self.metric)
        use = np.ones(len(data.y), dtype=bool) if self.refit else splits[0][0]
        self._estimate(data, use, self.ridge_)
        if self.metric == "log-likelihood":
            self._widen(data, use, log_likelihood)
        return self

    def _widen(self, data: RegressionData, use: Bools, log_likelihood: Floats) -> None:
        """Add the spread of the estimates over likely ridges to the covariance of the posterior."""
        share = np.exp(log_likelihood - log_likelihood.max())
        share /= share.sum()
        deviations, start, training_data = [], self.coef_, data.subset(use)
        for at in np.flatnonzero(share > _MIN_RIDGE_WEIGHT):
            start, _ = minimise(*training_data, float(self.ridges_[at]), start)
            deviations.append(np.sqrt(share[at]) * (start - self.coef_))
        stacked = np.vstack([self.covariance_root_.T, *deviations])
        self.covariance_root_ = np.asarray(np.linalg.qr(stacked, mode="r")).T

    def _splits(self, data: RegressionData, validation: npt.ArrayLike | None) -> list[tuple[Bools, Bools]]:
        """Return pairs of masks over the rows of the data: to train on, and to test on."""
        if validation is not None:
            items = as_row_numbers(validation, "validation").ravel()
            check_row_numbers(items, data.n_items, "validation")
            attempts = iter([items])
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
            attempts = (rng.choice(data.n_items, count, replace=False) for _ in range(_MAX_SPLIT_ATTEMPTS))
        for items in attempts:
            test_items = np.zeros(data.n_items, dtype=bool)
            test_items[items] = True
            train = ~test_items[data.first] & ~test_items[data.second]
            test = test_items[data.first] & test_items[data.second] & (data.weights > 0)
            measurable = self.metric == "log-likelihood" or not np.isnan(
                _auc(data, np.zeros(len(data.y)), test, self.metric)
            )
            if train.any() and test.any() and measurable:
                return [(train, test)]
        needed = "labels or comparisons"
        if self.metric != "log-likelihood":
            needed = "for an AUC labels of more than one class, or a comparison,"
        raise ValueError(
            f"validation: {needed} are needed among the validation items, and training data among the others; give"
            " more data, or choose the ridge (BradleyTerry, --ridge)"
        )


def _folds(data: RegressionData, count: int, rng: np.random.Generator) -> list[tuple[Bools, Bools]]:
    """Split answers and labels into folds, as (train, test) masks.

    All answers to one pair share a fold, because one of them predicts the others. Those of weight 0 are in no fold.
    """
    used = data.weights > 0
    codes = np.minimum(data.first, data.second) * data.n_items + np.maximum(data.first, data.second)
    pairs, pair = np.unique(codes[used], return_inverse=True)
    if len(pairs) < 2:
        raise ValueError(
            "cross-validation holds data out, and one sample (a single pair or label) leaves nothing to hold out; give"
            " more data, or choose the ridge (BradleyTerry, --ridge)"
        )
    fold = np.full(len(codes), -1)
    fold[used] = (rng.permutation(len(pairs)) % count)[pair]
    return [((fold >= 0) & (fold != at), fold == at) for at in range(min(count, len(pairs)))]


def _auc(data: RegressionData, margins: Floats, rows: Bools, metric: str) -> float:
    """Return the AUC of the margins beta'row on these rows, without ties.

    It is NaN if there is neither a comparison nor labels of both classes.
    """
    is_label = data.first == data.second
    aucs = []
    if metric != "auc-comparisons":
        labels = rows & is_label & (data.weights > 0)
        if len(np.unique(data.y[labels])) == 2:
            aucs.append(auc(data.y[labels], margins[labels], data.weights[labels]))
    if metric != "auc-labels":
        answers = rows & ~is_label & ~data.tie & (data.weights > 0)
        if answers.any():
            aucs.append(auc_of_comparisons(data.y[answers], margins[answers], data.weights[answers]))
    return float(np.mean(aucs)) if aucs else np.nan
