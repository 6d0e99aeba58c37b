"""A model that learns what the answers say, and knows what it does not know.

    f_i = sqrt(a) x_i'beta + sqrt(b) phi(x_i)'gamma + sqrt(e) u_i,        beta, gamma, u ~ N(0, I)
    P(i beats j) = 1 / (1 + exp(-(f_i - f_j))),   P(label of i is the better one) = 1 / (1 + exp(-(f_i - t)))

A score has a part that is linear in the features, a part that is smooth in them, and an effect of the item's own, so
that nothing an item's answers say is lost because features do not say it. How large each part is, the variances a, b
and e, is learned from the answers (`variances`), the posterior comes by expectation propagation. A label is an answer
to the pair of an item and a threshold t ~ N(0, 4), which is one more item here.
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
from pairsmith.data.arrays import Floats, Ints, as_ordered_pairs, check_items
from pairsmith.data.candidates import as_codes
from pairsmith.data.options import as_generator, as_whole
from pairsmith.data.outcomes import as_outcomes
from pairsmith.data.user_features import check_unique, checked_table
from pairsmith.model import ranking
from pairsmith.model import raters as rating
from pairsmith.model.evidence import (
    check,
    check_order,
    items_of,
    merged,
    of_nobody,
    tell_islands,
    warn_of_unknown_items,
    why_unknown,
)
from pairsmith.model.fitting import Learned, imagined_scores, learn_from
from pairsmith.model.logistic import average
from pairsmith.model.posterior import Joint, some_of
from pairsmith.model.prior import PARTS, FeatureMap
from pairsmith.model.propagation import left_out
from pairsmith.model.saving import SavedGP, storable_parameters
from pairsmith.model.variances import fixed_variances, without_features

if TYPE_CHECKING:
    import pandas as pd


class BradleyTerryGP(ClassifierMixin, BaseEstimator):
    """Scores that are linear and smooth in the features, with an effect of each item's own (see the module).

    Parameters
    ----------
    linear, smooth, items : "auto", a variance, or False
        How large each part of the scores is: by the evidence of the answers, as given, or not there.
    landmarks : int
        So many items at most carry the smooth part: more follow finer detail, and take longer.
    better : the better one of the two labels in y; words need it.
    warm_start : bool
        Whether `fit`, of the same items, goes on from the last one: its landmarks are kept, and its variances until
        there are a fifth more answers. So it is for rounds, in which islands of items that nothing connects yet are not
        worth a warning.
    random_state : int
        Seeds which items are landmarks, and the draws that ranks are counted in.

    Attributes
    ----------
    variances_ : of the parts, and the `scale` of the smooth one, as a share of the median squared distance of items.
    shares_ : of the variance of scores, of each part. evidence_ : log of the probability of the answers.
    doubt_ : the mean probability that two of the items stand in the wrong order.
    reliability_ : the share of the variance of scores that is known (scale separation reliability).
        Of more than 3,000 items, these three are figures of so many drawn at random.
    left_out_ : each answer as all others predict it.
    raters_ : a table of who answered, where `fit` was told.
    classes_ : the two labels, the better one last. n_items_ : how many items there were.
    """

    learned_: Learned  # all that the rest follows from

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
        """Fit to absolute labels, answers to pairs, or both; without either, to the prior.

        Parameters
        ----------
        X : (N, d) features of the items, which the column `id` or the index of a frame names. None: there are none, and
            `n_items` says how many items there are.
        y, labeled, comparisons, outcomes, sample_weight : as of BradleyTerry.fit.
        raters : who gave each of the answers to `comparisons`.
        shown_first : for each of `comparisons`, the row of the item that was shown first, or -1 if that is unknown. How
            much a rater prefers a side is learned from these answers; the order within a pair does not matter.
        """
        fixed, landmarks, rng = self._fixed(), as_whole(self.landmarks, "landmarks"), as_generator(self.random_state)
        given = check(self, items_of(X, n_items), y, labeled, comparisons, outcomes, sample_weight, spare=True)
        by_rater = merged(given, raters, shown_first)
        answers, self._places, print_of_X = by_rater.answers, by_rater.places, fingerprint.of_arrays(given.X)
        same_items = self.warm_start and print_of_X == getattr(self, "fingerprint_", None)
        map = self.learned_.map if same_items else FeatureMap.of(given.X, landmarks, rng)
        fixed = without_features(fixed) if not map.used.any() else fixed
        previous = self.learned_ if same_items and self.learned_.still_holds(fixed, answers) else None
        self.classes_, self.n_items_ = given.classes, len(given.X)
        self.ids_, self.fingerprint_ = given.names, print_of_X
        problem = map.linear(given.X), map
        labels = len(given.labeled) > 0
        self.learned_ = learn_from(*problem, answers, labels, fixed, rng, previous)
        self.raters_ = None
        if by_rater.names:
            again = partial(learn_from, *problem, threshold=labels, fixed=fixed, rng=rng)
            self.learned_, self.raters_ = rating.weighed(self.learned_, by_rater, again, previous is None)
        self._conclude(problem[0])
        if not self.warm_start:  # in rounds there are always islands at first
            tell_islands(answers, self.n_items_)
        return self

    def with_answers(self, X: Any, comparisons: npt.ArrayLike, outcomes: npt.ArrayLike) -> BradleyTerryGP:
        """Another model, of more answers about the items that this one was fitted to; this one stays as it is.

        It needs none of the earlier answers, so a loaded model will do. The new ones are those of an average rater
        without a side. As with warm_start, variances are kept until there are a fifth more answers.
        """
        linear = self.linear_of_own(X)
        pairs = as_ordered_pairs(comparisons, "comparisons")
        check_items(pairs, self.n_items_, "comparisons")
        wins = as_outcomes(outcomes, len(pairs))
        before, more = self.learned_.numbered(self.n_items_), of_nobody(pairs, wins)
        answers = before.joined(more)
        fixed, rng = self._fixed(), as_generator(self.random_state)
        fixed = without_features(fixed) if not self.learned_.map.used.any() else fixed
        previous = self.learned_ if self.learned_.still_holds(fixed, answers) else None
        found = copy.copy(self)
        found.__dict__.pop("_places", None)
        found.raters_ = None
        found.learned_ = learn_from(linear, self.learned_.map, answers, self.learned_.threshold, fixed, rng, previous)
        found._conclude(linear)
        return found

    def imagined(self, X: Any, rng: np.random.Generator, count: int) -> Floats:
        """(count, n) scores of the items that it was fitted to, as they could be: see `model.imagined`."""
        fixed = self._fixed()
        free = tuple(name for name in PARTS if name not in fixed)
        return imagined_scores(self.learned_, self.linear_of_own(X), free, rng, count)

    def _fixed(self) -> dict[str, float]:
        """The variances that are not learned."""
        return fixed_variances(linear=self.linear, smooth=self.smooth, items=self.items)

    def _conclude(self, linear: Floats, figures: dict[str, float] | None = None) -> None:
        """What follows from what was learned; `linear` are the coordinates of all items, unless figures are known."""
        self.variances_ = self.learned_.variances | {"scale": self.learned_.scale}
        self.evidence_ = self.learned_.evidence
        self._linear, self._figures = linear, figures

    def _figure(self, name: str) -> float:
        """Doubt, reliability or the share of a part: computed when the first is asked for, as rounds need none."""
        check_is_fitted(self)
        if self._figures is None:
            rng = as_generator(self.random_state)
            some = some_of(self.n_items_, rng)
            Psi = self.learned_.coordinates(self._linear[some])
            joint = self.learned_.joint(Psi, some).without_last()
            known = {"doubt": joint.doubt(rng), "reliability": joint.reliability()}
            self._figures = known | self.learned_.shares(Psi)
        return self._figures[name]

    @property
    def doubt_(self) -> float:
        """The mean probability that two of the items stand in the wrong order."""
        return self._figure("doubt")

    @property
    def reliability_(self) -> float:
        """The share of the variance of scores that is known (scale separation reliability)."""
        return self._figure("reliability")

    @property
    def shares_(self) -> dict[str, float]:
        """Of the variance of scores, of each part."""
        return {name: self._figure(name) for name in PARTS}

    @property
    def left_out_(self) -> pd.DataFrame:
        """Each answer to `comparisons` as all others predict it: `gap`, its `error` and `p`, P(first preferred).

        About what a fit without it would say (by the cavity of expectation propagation), for all answers at once.
        """
        if not hasattr(self, "_places"):
            raise AttributeError(
                "left_out_ is there after fit; a model that was loaded, or was given more answers, has lost it"
            )
        return left_out(self.learned_.answers, self.learned_.propagated, self._places)

    def known(self, X: Any = None) -> npt.NDArray[np.bool_]:
        """Which of these items were there at the fit; the others are ranked by their features alone."""
        check_is_fitted(self)
        if X is None:
            return np.ones(self.n_items_, dtype=bool)
        X, names = checked_table(X)
        return self._numbers(np.ascontiguousarray(X, dtype=np.float64), names) >= 0

    def decision_function(self, X: Any = None) -> Floats:
        """How far scores are above the threshold of labels, in the mean of the posterior."""
        joint, n, _ = self._scores(X)
        above: Floats = joint.mean[:n] - joint.mean[n]
        return above

    def predict(self, X: Any = None) -> npt.NDArray[Any]:
        better = self.decision_function(X) > 0
        labels: npt.NDArray[Any] = np.asarray(self.classes_)[better.astype(int)]
        return labels

    def predict_proba(self, X: Any = None) -> Floats:
        """P(the label is the worse one) and P(it is the better one), averaged over the posterior."""
        joint, n, _ = self._scores(X)
        mean, variance = joint.gaps(np.arange(n), np.full(n, n))
        p = average(mean, np.sqrt(variance))
        return np.column_stack([1 - p, p])

    def compare(self, X: Any, pairs: npt.ArrayLike) -> Floats:
        """P(first beats second) for pairs of rows of X, averaged over the posterior."""
        linear, number, _ = self.placed(X)
        pairs = as_ordered_pairs(pairs, "pairs")
        check_items(pairs, len(linear), "pairs")
        items, place = np.unique(pairs, return_inverse=True)
        joint = self.learned_.joint(self.learned_.coordinates(linear[items]), number[items])
        mean, variance = joint.gaps(*place.reshape(-1, 2).T)
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
        """Items, best first: score, error, interval, P(above the next item), and the ranks each could have.

        The index names the items. `low` and `high` are the interval of the score at this level, `best` and `worst` that
        of the rank; with `top`, `in_top` is the probability of being among so many best. All are by the joint posterior
        of the scores, what is unknown of each item included.

        With `groups`, one for each item, each group has a ranking of its own: the column `group` names it, and scores
        are those above the mean of the group. With `by`, who made each item, the makers are ranked instead of the
        items: a score is the mean over a maker's items, above that of all makers; with `groups` too, what least squares
        make of makers and groups together (`pairsmith.model.ranking`). It is about all that they could make: intervals
        count that these items are a sample of it. X must have a column for each maker, or the prior, to which all items
        are alike, draws makers together, and intervals are too narrow. Intervals take variances for known, and are
        somewhat too narrow after 100 answers or fewer; docs/model.md says how often they cover the truth.
        """
        if not isinstance(level, int | float | np.number) or not 0 < level < 1:
            raise ValueError(f"level must be between 0 and 1, got {level!r}")
        linear, number, names = self.placed(X)
        check_order(X, names, groups=groups, by=by)
        joint, n = self.learned_.joint(self.learned_.coordinates(linear), number), len(linear)
        if top is not None and (isinstance(top, bool) or not isinstance(top, int | np.integer) or not 1 <= top <= n):
            raise ValueError(f"top must be a number of items from 1 to {n}, got {top!r}")
        joint, rng = joint.without_last(), as_generator(self.random_state)
        if by is not None:
            if top is not None:
                raise ValueError("top is of items, and by ranks those who made them; leave one out")
            return ranking.ranked_authors(joint, by, groups, rng, level)
        if groups is not None:
            return ranking.ranked_in_groups(joint, names, groups, rng, level, top)
        return ranking.ranked(joint, names, rng, level, top)

    def certainty(self, X: Any = None, groups: Any = None) -> tuple[float, float]:
        """Doubt and reliability of the order of these items; with `groups`, of the order within each.

        Of more than 3,000 items without groups, so many drawn at random stand for all.
        """
        linear, number, names = self.placed(X)
        check_order(X, names, groups=groups)
        codes, rng = as_codes(groups, len(linear)), as_generator(self.random_state)
        some = some_of(len(linear), rng) if codes is None else np.arange(len(linear))
        joint = self.learned_.joint(self.learned_.coordinates(linear[some]), number[some])
        return ranking.certainty(joint.without_last(), codes, rng)

    def save(self, path: str | os.PathLike[str], recipe: Any = None) -> None:
        """Write the fitted model as plain JSON, whole or not at all; the table of raters is not in it.

        A `ps.Recipe` that made the features is kept with it: `ps.Recipe.load` finds it there, and so does
        `pairsmith rank`.
        """
        check_is_fitted(self)
        names: npt.NDArray[Any] = getattr(self, "feature_names_in_", np.arange(self.n_features_in_))
        ids = None if self.ids_ is None else self.ids_.to_list()
        figures = {"doubt": self.doubt_, "reliability": self.reliability_} | self.shares_
        SavedGP(
            self.learned_,
            storable_parameters(self.get_params()),
            np.asarray(self.classes_),
            names.tolist(),
            ids,
            self.n_items_,
            self.fingerprint_,
            figures,
        ).write(path, None if recipe is None else recipe.to_json())

    @staticmethod
    def load(path: str | os.PathLike[str]) -> BradleyTerryGP:
        """Read what `save` wrote."""
        import pandas as pd

        saved = SavedGP.read(path)
        model = BradleyTerryGP(**saved.parameters)
        model.learned_, model.classes_, model.n_items_ = saved.learned, saved.classes, saved.n_items
        model.raters_ = None
        model._conclude(np.zeros((0, 0)), saved.figures)
        model.ids_ = None if saved.ids is None else pd.Index(saved.ids)
        model.fingerprint_, model.n_features_in_ = saved.fingerprint, len(saved.features)
        if saved.features and all(isinstance(name, str) for name in saved.features):
            model.feature_names_in_ = np.array(saved.features, dtype=object)
        return model

    def placed(self, X: Any = None, expected: bool = False) -> tuple[Floats, Ints, Any]:
        """Items as the model sees them: linear coordinates, who of those it was fitted to each is (or -1), and ids.

        Warn if the ids of known items seem to be written differently; with `expected`, or if X has as many items as the
        fit, also if X holds none of them.
        """
        linear, number, names = self._located(X)
        if len(self.learned_.answers):
            warn_of_unknown_items(self.ids_, names, number, expected or len(number) == self.n_items_)
        return linear, number, names

    def _located(self, X: Any) -> tuple[Floats, Ints, Any]:
        """The same without a warning."""
        check_is_fitted(self)
        if X is None:
            if self.n_features_in_:
                raise ValueError(f"X is missing: the model was fitted to {self.n_features_in_} features")
            return np.zeros((self.n_items_, 0)), np.arange(self.n_items_), self.ids_
        X, names = checked_table(X)
        if self.n_features_in_ == 0 and getattr(X, "shape", (1, 1))[1:] == (0,):
            X = np.zeros((len(X), 0))
        else:
            X = validate_data(self, X, reset=False, dtype=np.float64, order="C")
        return self.learned_.map.linear(X), self._numbers(X, names), names

    def linear_of_own(self, X: Any = None) -> Floats:
        """Linear coordinates of the items that it was fitted to; other items, or another order, are refused."""
        linear, number, names = self._located(X)
        if not np.array_equal(number, np.arange(self.n_items_)):
            why = why_unknown(self.ids_, names, number)
            raise ValueError(
                "X must have the items that the model was fitted to, all of them and in that order"
                + (f"; {why}" if why else "")
            )
        return linear

    def _scores(self, X: Any) -> tuple[Joint, int, Any]:
        """The joint posterior of these items and the threshold, how many items, and their ids where X has any."""
        linear, number, names = self.placed(X)
        return self.learned_.joint(self.learned_.coordinates(linear), number), len(linear), names

    def _numbers(self, X: Floats, names: Any) -> Ints:
        """Which of the items it was fitted to these are, -1 for others: by ids, or else by the features of all."""
        if names is not None:
            check_unique(names.to_numpy(dtype=object))
        if names is not None and self.ids_ is not None:
            found: Ints = self.ids_.get_indexer(names).astype(np.int64)
            return found
        if len(X) == self.n_items_ and fingerprint.of_arrays(X) == self.fingerprint_:
            return np.arange(len(X))
        return np.full(len(X), -1)
