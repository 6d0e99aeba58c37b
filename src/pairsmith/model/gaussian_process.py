"""BradleyTerryGP, the estimator: a Gaussian process that learns what features do not explain.

    f_i = sqrt(a) x_i'beta + sqrt(b) phi(x_i)'gamma + sqrt(e) u_i,        beta, gamma, u ~ N(0, I)
    P(i beats j) = 1 / (1 + exp(-(f_i - f_j))),   P(label of i is the better one) = 1 / (1 + exp(-(f_i - t)))

A score has a part that is linear in the features, a part that is smooth in them, and an effect of the item's own, so
everything that the answers say about an item is learned, whether or not features explain it. The variances a, b and e
are learned from the answers (`variances`), and the posterior is by expectation propagation (`propagation`). A label is
an answer about the pair of its item and a threshold t ~ N(0, 4), which the model treats as one more item.
"""

from __future__ import annotations

import copy
import os
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from pairsmith.data import fingerprint
from pairsmith.data.arrays import Floats, Ints, as_ordered_pairs, check_row_numbers
from pairsmith.data.candidates import as_group_codes
from pairsmith.data.errors import ArgumentError
from pairsmith.data.options import as_generator, as_integer
from pairsmith.data.outcomes import as_outcomes
from pairsmith.data.user_features import check_table, check_unique
from pairsmith.model import ranking
from pairsmith.model.evidence import (
    as_item_table,
    check_input,
    check_order,
    merge_anonymous_answers,
    merge_answers,
    warn_of_islands,
    warn_of_unknown_items,
    why_unknown,
)
from pairsmith.model.fitting import FittedGP, fit_gp, sample_scores
from pairsmith.model.logistic import average
from pairsmith.model.posterior import Posterior, sample_items
from pairsmith.model.prior import PARTS, FeatureMap
from pairsmith.model.propagation import leave_one_out
from pairsmith.model.raters import fit_raters
from pairsmith.model.saving import SavedGP, storable_parameters
from pairsmith.model.variances import fixed_variances, without_feature_parts

if TYPE_CHECKING:
    import pandas as pd


class BradleyTerryGP(ClassifierMixin, BaseEstimator):
    """Bradley-Terry model whose scores are a Gaussian process, with an effect of each item's own.

    The score of an item is the sum of a part that is linear in its features, a part that is smooth in them, and an
    effect of its own. Item i beats item j with probability 1 / (1 + exp(-(f_i - f_j))). Labels compare a score with a
    threshold, which is learned too. How large each part is follows from the answers, unless it is given. The posterior
    is by expectation propagation, so that intervals and `doubt_` can be trusted also where answers hardly err.

    Parameters
    ----------
    linear, smooth, items : "auto", float or False, default="auto"
        The variance of each part of the scores: learned from the answers, fixed at a value, or the part is left out.
    landmarks : int, default=500
        The most items that carry the smooth part. More landmarks follow finer detail and take longer.
    better : object, default=None
        The better one of the two labels in y. Words need it; of two numbers the greater one is the better by default.
    warm_start : bool, default=False
        Continue from the last fit if `fit` gets the same items: keep its landmarks, and keep its variances until there
        are a fifth more answers. This is meant for rounds of planning. Early rounds leave many items unconnected, so
        the fit does not warn about that.
    random_state : int or None, default=0
        Seeds the choice of landmarks, and the draws from which ranks are counted.

    Attributes
    ----------
    doubt_ : float
        The mean probability that two items stand in the wrong order.
    reliability_ : float
        The share of the variance of scores that is known (scale separation reliability). With more than 3,000 items,
        this, `doubt_` and `shares_` are computed from a random sample of 3,000.
    variances_ : dict
        The variance of each part, and the length `scale` of the smooth part, as a share of the median squared distance.
    shares_ : dict
        Each part's share of the prior variance of scores.
    evidence_ : float
        The log marginal likelihood of the answers.
    leave_one_out_ : DataFrame
        Each answer as all other answers predict it.
    raters_ : DataFrame or None
        One row per rater, if `fit` got `raters`: the number of answers, slope (how well the rater tells items apart)
        and bias (towards the item shown first) with their errors, infit, and agreement with all others.
    classes_ : ndarray of shape (2,)
        The two labels, the better one last.
    n_items_ : int
        The number of items of the fit.

    See Also
    --------
    BradleyTerry : scores that are linear in the features.

    Examples
    --------
    Without features, four items and the answers to all six pairs, each asked five times:

    >>> import pairsmith as ps
    >>> pairs = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)] * 5
    >>> model = ps.BradleyTerryGP().fit(n_items=4, comparisons=pairs, outcomes=["first"] * 30)
    >>> model.rank().index.tolist()
    [0, 1, 2, 3]
    >>> bool(model.compare(None, [(0, 3)])[0] > 0.95)
    True
    >>> bool(model.doubt_ < 0.1)
    True
    """

    fitted_: FittedGP

    def __init__(
        self,
        linear: Any = "auto",
        smooth: Any = "auto",
        items: Any = "auto",
        landmarks: int = 500,
        better: Any = None,
        warm_start: bool = False,
        random_state: int | None = 0,
    ) -> None:
        self.linear = linear
        self.smooth = smooth
        self.items = items
        self.landmarks = landmarks
        self.better = better
        self.warm_start = warm_start
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def fit(
        self,
        X: Any = None,
        y: Any = None,
        *,
        labeled: npt.ArrayLike | None = None,
        comparisons: npt.ArrayLike | None = None,
        outcomes: npt.ArrayLike | None = None,
        sample_weight: npt.ArrayLike | None = None,
        raters: Any = None,
        shown_first: Any = None,
        n_items: int | None = None,
    ) -> Self:
        """Fit the model to labels, answers to pairs, or both. Without either, the fitted model is the prior.

        Parameters
        ----------
        X : array-like or data frame of shape (N, d), optional
            Features of the items. The column `id` or the index of a data frame names the items. Without features, give
            `n_items` instead.
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
        raters : array-like of shape (m,), optional
            Who gave each answer. The model then learns how well each rater tells items apart.
        shown_first : array-like of shape (m,), optional
            The row of the item that was shown first in each comparison, or -1 if that is unknown. The model then learns
            how much each rater prefers a side. The order within a pair of `comparisons` carries no such information.
        n_items : int, optional
            The number of items if X is None.

        Returns
        -------
        BradleyTerryGP
            The fitted model.

        Raises
        ------
        ValueError
            If an argument is malformed.
        """
        fixed, landmarks, rng = self._fixed_variances(), as_integer(self.landmarks, "landmarks"), self._rng()
        checked = check_input(
            self, as_item_table(X, n_items), y, labeled, comparisons, outcomes, sample_weight, allow_empty=True
        )
        merged = merge_answers(checked, raters, shown_first)
        answers, self._places, print_of_X = merged.answers, merged.places, fingerprint.of_arrays(checked.X)
        same_items = self.warm_start and print_of_X == getattr(self, "fingerprint_", None)
        map = self.fitted_.map if same_items else FeatureMap.fit(checked.X, landmarks, rng)
        fixed = without_feature_parts(fixed) if not map.used.any() else fixed
        keep_variances = same_items and self.fitted_.variances_still_valid(fixed, answers)
        previous = self.fitted_ if keep_variances else None
        self.classes_, self.n_items_ = checked.classes, len(checked.X)
        self.ids_, self.fingerprint_ = checked.ids, print_of_X
        linear, threshold = map.linear(checked.X), len(checked.labeled) > 0
        self.fitted_ = fit_gp(linear, map, answers, threshold, fixed, rng, previous)
        self.raters_ = None
        if merged.rater_names:
            fit_again = partial(fit_gp, linear, map, threshold=threshold, fixed=fixed, rng=rng)
            self.fitted_, self.raters_ = fit_raters(self.fitted_, merged, fit_again, previous is None)
        self._set_results(linear)
        if not self.warm_start:  # early rounds always have islands
            warn_of_islands(answers, self.n_items_)
        return self

    def with_answers(self, X: Any, comparisons: npt.ArrayLike, outcomes: npt.ArrayLike) -> BradleyTerryGP:
        """Return a new model with more answers about the items of the fit; this one does not change.

        The earlier answers are not needed, so this works for a loaded model. As with `warm_start`, the variances are
        kept until there are a fifth more answers.

        Parameters
        ----------
        X : array-like, data frame or None
            The items of the fit, in the same order.
        comparisons : array-like of shape (m, 2)
            Pairs of row numbers.
        outcomes : array-like of shape (m,)
            +1, -1, 0 or words, by an average rater without a preference for a side.

        Returns
        -------
        BradleyTerryGP
            The new model. It has neither `leave_one_out_` nor `raters_`.
        """
        linear = self.own_coordinates(X)
        pairs = as_ordered_pairs(comparisons, "comparisons")
        check_row_numbers(pairs, self.n_items_, "comparisons")
        wins = as_outcomes(outcomes, len(pairs))
        answers = self.fitted_.answers_by_item(self.n_items_).joined(merge_anonymous_answers(pairs, wins))
        fixed, rng = self._fixed_variances(), self._rng()
        fixed = without_feature_parts(fixed) if not self.fitted_.map.used.any() else fixed
        previous = self.fitted_ if self.fitted_.variances_still_valid(fixed, answers) else None
        model = copy.copy(self)
        model.__dict__.pop("_places", None)
        model.raters_ = None
        model.fitted_ = fit_gp(linear, self.fitted_.map, answers, self.fitted_.threshold, fixed, rng, previous)
        model._set_results(linear)
        return model

    def imagined(self, X: Any, rng: np.random.Generator, count: int) -> Floats:
        """Draw (count, n) scores of the items of the fit, X, from the posterior of scores and variances."""
        fixed = self._fixed_variances()
        free = tuple(name for name in PARTS if name not in fixed)
        return sample_scores(self.fitted_, self.own_coordinates(X), free, rng, count)

    def _fixed_variances(self) -> dict[str, float]:
        return fixed_variances(linear=self.linear, smooth=self.smooth, items=self.items)

    def _rng(self) -> np.random.Generator:
        return as_generator(self.random_state)

    def _set_results(self, linear: Floats, summary: dict[str, float] | None = None) -> None:
        """Set the attributes that follow from the fit; `linear` holds the coordinates of all items for the summary."""
        self.variances_ = self.fitted_.variances | {"scale": self.fitted_.scale}
        self.evidence_ = self.fitted_.evidence
        self._linear, self._summary = linear, summary

    def _summary_value(self, name: str) -> float:
        """Return doubt, reliability or the share of a part. They are computed on first use, since rounds need none."""
        check_is_fitted(self)
        if self._summary is None:
            rng = self._rng()
            sample = sample_items(self.n_items_, rng)
            Psi = self.fitted_.coordinates(self._linear[sample])
            posterior = self.fitted_.joint(Psi, sample).without_last()
            certainty = {"doubt": posterior.doubt(rng), "reliability": posterior.reliability()}
            self._summary = certainty | self.fitted_.shares(Psi)
        return self._summary[name]

    @property
    def doubt_(self) -> float:
        """The mean probability that two of the items stand in the wrong order."""
        return self._summary_value("doubt")

    @property
    def reliability_(self) -> float:
        """The share of the variance of scores that is known (scale separation reliability)."""
        return self._summary_value("reliability")

    @property
    def shares_(self) -> dict[str, float]:
        """Each part's share of the prior variance of scores."""
        return {name: self._summary_value(name) for name in PARTS}

    @property
    def leave_one_out_(self) -> pd.DataFrame:
        """Each answer to `comparisons` as all others predict it: `gap`, its `error`, and `p`, P(first preferred).

        These approximate the predictions of a fit without the answer, for all answers at once, by the cavities of
        expectation propagation.
        """
        if not hasattr(self, "_places"):
            raise AttributeError(
                "leave_one_out_ exists only after fit; a model that was loaded, or was given more answers, has lost it"
            )
        return leave_one_out(self.fitted_.answers, self.fitted_.propagated, self._places)

    def known(self, X: Any = None) -> npt.NDArray[np.bool_]:
        """Return which of the items X were in the fit; the others are ranked by their features alone."""
        check_is_fitted(self)
        if X is None:
            return np.ones(self.n_items_, dtype=bool)
        X, ids = check_table(X)
        return self._item_numbers(np.ascontiguousarray(X, dtype=np.float64), ids) >= 0

    def decision_function(self, X: Any = None) -> Floats:
        """Return the posterior mean of each item's score minus the threshold of labels."""
        posterior, n, _ = self._scores(X)
        above: Floats = posterior.mean[:n] - posterior.mean[n]
        return above

    def predict(self, X: Any = None) -> npt.NDArray[Any]:
        """Return the likelier label of each item."""
        better = self.decision_function(X) > 0
        labels: npt.NDArray[Any] = np.asarray(self.classes_)[better.astype(int)]
        return labels

    def predict_proba(self, X: Any = None) -> Floats:
        """Return the probabilities of the labels in `classes_` for each item, averaged over the posterior."""
        posterior, n, _ = self._scores(X)
        mean, variance = posterior.gaps(np.arange(n), np.full(n, n))
        p = average(mean, np.sqrt(variance))
        return np.column_stack([1 - p, p])

    def compare(self, X: Any, pairs: npt.ArrayLike) -> Floats:
        """Return the probability that the first item of each pair beats the second, averaged over the posterior.

        Parameters
        ----------
        X : array-like, data frame or None
            Features of the items, of the fit or new ones; None for a model without features.
        pairs : array-like of shape (m, 2)
            Pairs of row numbers of X.

        Returns
        -------
        ndarray of shape (m,)
            The probabilities.
        """
        linear, number, _ = self.placed(X)
        pairs = as_ordered_pairs(pairs, "pairs")
        check_row_numbers(pairs, len(linear), "pairs")
        items, place = np.unique(pairs, return_inverse=True)
        posterior = self.fitted_.joint(self.fitted_.coordinates(linear[items]), number[items])
        mean, variance = posterior.gaps(*place.reshape(-1, 2).T)
        return average(mean, np.sqrt(variance))

    def rank(
        self,
        X: Any = None,
        level: float = 0.9,
        top: int | None = None,
        *,
        groups: npt.ArrayLike | None = None,
        by: npt.ArrayLike | None = None,
    ) -> pd.DataFrame:
        """Rank items, items within groups, or the authors of items, best first.

        Everything follows from the joint posterior of the scores, which includes each item's own effect.
        Intervals take the variances for known, so they are somewhat too narrow after 100 answers or fewer;
        docs/model.md reports how often they cover the truth.

        Parameters
        ----------
        X : array-like or data frame of shape (N, d), optional
            Features of the items, of the fit or new ones; None for a model without features.
        level : float, default=0.9
            The level of the intervals.
        top : int, optional
            Add the column `in_top`, the probability that an item is among this many best.
        groups : array-like of shape (N,), optional
            The group of each item. Each group gets a ranking of its own, named in the column `group`; scores are
            relative to the mean of the group.
        by : array-like of shape (N,), optional
            Who made each item. The authors are ranked instead of the items. A score is the mean over an author's items
            minus the mean over authors; with `groups` too, it is the author's part in a least-squares fit of authors
            and groups together. Scores are about everything that an author could make, so intervals allow for the items
            being a sample. X must have a column for each author: otherwise the prior takes all items for alike, pulls
            authors together, and intervals are too narrow.

        Returns
        -------
        DataFrame
            One row per item (or author), indexed by its id or row number. Columns: `rank`, `score`, its standard
            `error`, the interval of the score from `low` to `high`, `above_next`, the probability that the item is
            above the next one, and the interval of the rank from `best` to `worst`.
        """
        if not isinstance(level, int | float | np.number) or not 0 < level < 1:
            raise ArgumentError("level", f" must be between 0 and 1, got {level!r}")
        linear, number, ids = self.placed(X)
        check_order(X, ids, groups=groups, by=by)
        posterior, n = self.fitted_.joint(self.fitted_.coordinates(linear), number), len(linear)
        if top is not None and (isinstance(top, bool) or not isinstance(top, int | np.integer) or not 1 <= top <= n):
            raise ArgumentError("top", f" must be a number of items from 1 to {n}, got {top!r}")
        posterior, rng = posterior.without_last(), self._rng()
        if by is not None:
            if top is not None:
                raise ArgumentError("top", " is about items, but by= ranks their authors; leave one out")
            return ranking.rank_authors(posterior, by, groups, rng, level)
        if groups is not None:
            return ranking.rank_within_groups(posterior, ids, groups, rng, level, top)
        return ranking.rank_items(posterior, ids, rng, level, top)

    def certainty(self, X: Any = None, groups: Any = None) -> tuple[float, float]:
        """Return the doubt and reliability of the order of these items, or of the order within groups.

        Parameters
        ----------
        X : array-like or data frame of shape (N, d), optional
            Features of the items, of the fit or new ones; None for a model without features.
        groups : array-like of shape (N,), optional
            The group of each item. Without groups, more than 3,000 items are represented by a random sample of 3,000.

        Returns
        -------
        doubt, reliability : float
            As in the attributes `doubt_` and `reliability_`.
        """
        linear, number, ids = self.placed(X)
        check_order(X, ids, groups=groups)
        codes, rng = as_group_codes(groups, len(linear)), self._rng()
        sample = sample_items(len(linear), rng) if codes is None else np.arange(len(linear))
        posterior = self.fitted_.joint(self.fitted_.coordinates(linear[sample]), number[sample])
        return ranking.certainty(posterior.without_last(), codes, rng)

    def save(self, path: str | os.PathLike[str], recipe: Any = None) -> None:
        """Write the fitted model as plain JSON, without the table of raters.

        Parameters
        ----------
        path : path-like
            The file, which is written whole or not at all.
        recipe : Recipe, optional
            The `ps.Recipe` that made the features. It is kept in the same file, where `ps.Recipe.load` and
            `pairsmith rank` find it.
        """
        check_is_fitted(self)
        names: npt.NDArray[Any] = getattr(self, "feature_names_in_", np.arange(self.n_features_in_))
        ids = None if self.ids_ is None else self.ids_.to_list()
        summary = {"doubt": self.doubt_, "reliability": self.reliability_} | self.shares_
        SavedGP(
            self.fitted_,
            storable_parameters(self.get_params()),
            np.asarray(self.classes_),
            names.tolist(),
            ids,
            self.n_items_,
            self.fingerprint_,
            summary,
        ).write(path, None if recipe is None else recipe.to_json())

    @staticmethod
    def load(path: str | os.PathLike[str]) -> BradleyTerryGP:
        """Read a model that `save` wrote."""
        import pandas as pd

        saved = SavedGP.read(path)
        model = BradleyTerryGP(**saved.parameters)
        model.fitted_, model.classes_, model.n_items_ = saved.fitted, saved.classes, saved.n_items
        model.raters_ = None
        model._set_results(np.zeros((0, 0)), saved.summary)
        model.ids_ = None if saved.ids is None else pd.Index(saved.ids)
        model.fingerprint_, model.n_features_in_ = saved.fingerprint, len(saved.features)
        if saved.features and all(isinstance(name, str) for name in saved.features):
            model.feature_names_in_ = np.array(saved.features, dtype=object)
        return model

    def placed(self, X: Any = None, expected: bool = False) -> tuple[Floats, Ints, Any]:
        """Return the linear coordinates of the items X, their numbers in the fit (-1 if new), and their ids.

        Warn if the ids of known items seem to be written differently. With `expected`, or if X has as many items as the
        fit, also warn if X holds no item of the fit.
        """
        linear, number, ids = self._located(X)
        if len(self.fitted_.answers):
            warn_of_unknown_items(self.ids_, ids, number, expected or len(number) == self.n_items_)
        return linear, number, ids

    def _located(self, X: Any) -> tuple[Floats, Ints, Any]:
        """Do what `placed` does, without warnings."""
        check_is_fitted(self)
        if X is None:
            if self.n_features_in_:
                raise ValueError(f"X is missing: the model was fitted to {self.n_features_in_} features")
            return np.zeros((self.n_items_, 0)), np.arange(self.n_items_), self.ids_
        X, ids = check_table(X)
        if self.n_features_in_ == 0 and getattr(X, "shape", (1, 1))[1:] == (0,):
            X = np.zeros((len(X), 0))
        else:
            X = validate_data(self, X, reset=False, dtype=np.float64, order="C")
        return self.fitted_.map.linear(X), self._item_numbers(X, ids), ids

    def own_coordinates(self, X: Any = None) -> Floats:
        """Return the linear coordinates of the items of the fit; refuse other items, or another order."""
        linear, number, ids = self._located(X)
        if not np.array_equal(number, np.arange(self.n_items_)):
            reason = why_unknown(self.ids_, ids, number)
            raise ValueError(
                "X must have the items that the model was fitted to, all of them and in that order"
                + (f"; {reason}" if reason else "")
            )
        return linear

    def _scores(self, X: Any) -> tuple[Posterior, int, Any]:
        """Return the posterior of the scores of X and of the threshold, the number of items, and their ids."""
        linear, number, ids = self.placed(X)
        return self.fitted_.joint(self.fitted_.coordinates(linear), number), len(linear), ids

    def _item_numbers(self, X: Floats, ids: Any) -> Ints:
        """Return each item's number in the fit, -1 for others: by ids, or if there are none, by the whole table."""
        if ids is not None:
            check_unique(ids.to_numpy(dtype=object))
        if ids is not None and self.ids_ is not None:
            numbers: Ints = self.ids_.get_indexer(ids).astype(np.int64)
            return numbers
        if len(X) == self.n_items_ and fingerprint.of_arrays(X) == self.fingerprint_:
            return np.arange(len(X))
        return np.full(len(X), -1)
