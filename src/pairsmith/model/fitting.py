"""Fitting the Gaussian process: from merged answers to variances, sites and a posterior.

`fit_gp` puts the model together: it learns the variances (or keeps those of an earlier fit), runs expectation
propagation and returns a `FittedGP`, which holds everything that predictions need and everything that is saved.
`sample_scores` draws true scores for simulations.
"""

from __future__ import annotations

import warnings
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from pairsmith.data.arrays import Floats, Ints
from pairsmith.design.blas import single_threaded_blas
from pairsmith.model.evidence import Answers
from pairsmith.model.posterior import GapSpacePosterior, Posterior, ScoreSpacePosterior, Sites, WeightSpacePosterior
from pairsmith.model.prior import PARTS, EarlierPosterior, FeatureMap, PartsForm, WeightSpaceParts, cheapest_form
from pairsmith.model.propagation import EPResult, propagate, sites_from_cavities
from pairsmith.model.variances import INITIAL_VARIANCES, LENGTH_SCALES, evaluate, maximise_evidence, sample_variances

THRESHOLD_VARIANCE = 4.0  # prior variance of the threshold that an item's score exceeds if its label is the better one
_SAMPLE_SIZE = 1000  # of items, and of answers among them, that variances are learned from if there are more of both
_MAX_ANSWERS_LEARNED_FROM = 10_000  # limits the sample however few items there are
_RELEARN_GROWTH = 1.2  # variances are learned again once there are this many times as many answers
_NATS_WORTH_A_SEARCH = 1.0  # another length scale this close to the best is worth a search for its own variances
_RARE_SCALE_PENALTY = 1.0  # nats against unusual length scales; few answers cannot tell scales apart
_FINAL_TOLERANCE = 0.001  # of expectation propagation once variances are known
_MAX_UNWARNED_CHANGE = 0.05  # the fit warns if expectation propagation ends with a larger change than this
_SINGLE_THREAD_ITEMS = 1500  # factorizations for this many items or fewer are faster on one thread


@dataclass(frozen=True)
class FittedGP:
    """A fitted Gaussian process: the variances, the answers with their sites, and the posterior that follows."""

    map: FeatureMap
    variances: dict[str, float]  # of PARTS
    scale: float  # the length scale of the smooth part
    items: Ints  # the numbers of the items that were compared or labelled, ascending
    linear: Floats  # (items, d) their linear coordinates
    threshold: bool  # whether the threshold of labels is one more item, the last
    answers: Answers  # between `items`, by their places there
    sites: Sites
    evidence: float
    learned_from: float  # the number of answers and labels when the variances were learned
    parts: WeightSpaceParts  # of `items` and the threshold
    posterior: WeightSpacePosterior  # of the scores of `items` and of the threshold

    def coordinates(self, linear: Floats) -> Floats:
        """Return Psi for items: each part's coordinates times the square root of its variance."""
        return np.hstack(_scaled_coordinates(self.map, linear, self.variances, self.scale))

    def answers_by_item(self, n: int) -> Answers:
        """Return the answers by item number, for n items; the threshold has number n."""
        number = np.append(self.items, n)
        return replace(self.answers, first=number[self.answers.first], second=number[self.answers.second])

    def count(self) -> int:
        """Return the number of answers to pairs of items, without labels."""
        return round(self.answers.part(self.answers.second < len(self.items)).total())

    @cached_property
    def propagated(self) -> EPResult[WeightSpacePosterior]:
        """The result of expectation propagation, which has the cavities."""
        return propagate(lambda _: self.posterior, self.answers, self.sites, sweeps=1)

    def variances_still_valid(self, fixed: dict[str, float], answers: Answers) -> bool:
        """Return whether the variances can be kept: the same parts are learned, from hardly more answers."""
        same = all(self.variances[name] == fixed[name] if name in fixed else self.variances[name] > 0 for name in PARTS)
        return same and answers.total() <= _RELEARN_GROWTH * self.learned_from

    def shares(self, Psi: Floats) -> dict[str, float]:
        """Return each part's share of the prior variance of the scores of items with these coordinates."""
        across = Psi.var(axis=0)
        d = self.parts.linear.shape[1]
        variance = {"linear": across[:d].sum(), "smooth": across[d:].sum(), "items": self.variances["items"]}
        total = sum(variance.values())
        return {name: float(value / total) if total > 0 else 0.0 for name, value in variance.items()}

    def joint(self, Psi: Floats, number: Ints) -> Posterior:
        """Return the posterior of the scores of items with these coordinates, followed by the threshold.

        `number` is an item's number in the fit, or -1 if it was not there.
        """
        posterior, n = self.posterior, len(Psi)
        coefficients = self.parts.prior(self.variances).features.T @ posterior.pull
        mean = np.append(Psi @ coefficients, 0.0)
        root = np.vstack([Psi @ posterior.root, np.zeros(len(posterior.root))])
        unseen_variance = np.append(np.full(n, self.variances["items"]), THRESHOLD_VARIANCE)
        at = np.searchsorted(self.items, number)
        compared = (number >= 0) & (at < len(self.items))
        compared[compared] = self.items[at[compared]] == number[compared]
        places, rows = np.flatnonzero(compared), at[compared]
        if self.threshold:
            places, rows = np.append(places, n), np.append(rows, len(self.items))
        mean[places], root[places], unseen_variance[places] = posterior.mean[rows], posterior.features[rows], 0.0
        return Posterior(mean, root, unseen_variance, places, posterior.effects[np.ix_(rows, rows)])


def fit_gp(
    linear: Floats,
    map: FeatureMap,
    answers: Answers,
    threshold: bool,
    fixed: dict[str, float],
    rng: np.random.Generator,
    previous: FittedGP | None = None,
    reuse_posterior: bool = True,
) -> FittedGP:
    """Fit the Gaussian process to answers between the items with these linear coordinates.

    Parameters
    ----------
    linear : (n, d) array
        Linear coordinates of all items.
    map : FeatureMap
        Gives the smooth coordinates.
    answers : Answers
        By item number; the threshold has number n.
    threshold : bool
        Whether there are labels.
    fixed : dict
        Variances that are not learned.
    rng : numpy.random.Generator
        Draws the sample that variances are learned from.
    previous : FittedGP, optional
        An earlier fit whose variances are kept, and whose sites the new ones start from.
    reuse_posterior : bool
        Whether the posterior may be updated from the one of `previous`. It must not if the variances of `previous`
        were replaced, because its posterior was computed under others.
    """
    n = len(linear)
    touched, place = np.unique(np.concatenate([answers.first, answers.second]), return_inverse=True)
    items = touched[touched < n]
    local = replace(answers, first=place[: len(answers)], second=place[len(answers) :])
    sites: Sites | None
    earlier = None
    if previous is not None:
        variances, scale, learned_from = previous.variances, previous.scale, previous.learned_from
        sites, earlier = _carry_over(previous, linear, answers, items, threshold, local)
    else:
        variances, scale, sites = _learn_variances(linear[items], map, local, threshold, fixed, rng)
        learned_from = answers.total()
    with _blas_threads(len(items)):
        parts = weight_space_parts(map, linear[items], threshold, variances, scale)
        form = cheapest_form(parts, local)
        result: EPResult[WeightSpacePosterior] | EPResult[ScoreSpacePosterior] | EPResult[GapSpacePosterior]
        if isinstance(form, WeightSpaceParts) and sites is not None and earlier is not None and reuse_posterior:
            result = form.propagate_from(variances, local, sites, earlier, _FINAL_TOLERANCE)
        else:
            result = form.propagate(variances, local, sites, _FINAL_TOLERANCE)
    if result.max_change > _MAX_UNWARNED_CHANGE:
        warnings.warn(
            f"the posterior has not settled: a difference of two scores still moves by {result.max_change:.2g} of its"
            " standard deviation; scores and intervals are rough, so look for answers with extreme weights",
            ConvergenceWarning,
            stacklevel=4,
        )
    posterior = result.posterior
    if not isinstance(posterior, WeightSpacePosterior):
        posterior = weight_space_posterior(parts, variances, local, result.sites)
    return FittedGP(
        map,
        variances,
        scale,
        items,
        linear[items],
        threshold,
        local,
        result.sites,
        result.evidence,
        learned_from,
        parts,
        posterior,
    )


def _learn_variances(
    linear: Floats,
    map: FeatureMap,
    answers: Answers,
    threshold: bool,
    fixed: dict[str, float],
    rng: np.random.Generator,
) -> tuple[dict[str, float], float, Sites | None]:
    """Return the likeliest variances and length scale, and the sites of the answers unless only a sample was used."""
    start = INITIAL_VARIANCES | fixed
    free = tuple(name for name in PARTS if name not in fixed)
    if len(answers) == 0 or not free:
        return start, LENGTH_SCALES[0], None
    n_answers = len(answers)
    if n_answers > _SAMPLE_SIZE and (len(linear) > _SAMPLE_SIZE or n_answers > _MAX_ANSWERS_LEARNED_FROM):
        linear, answers, threshold = _sample_answers(linear, answers, threshold, rng)
    scale = LENGTH_SCALES[0]

    def form_at(scale: float) -> PartsForm:
        return cheapest_form(weight_space_parts(map, linear, threshold, start, scale), answers)

    with _blas_threads(len(linear)):
        best = maximise_evidence(form_at(scale), answers, start, free)
        if start["smooth"] > 0 and "smooth" in free:
            # The best variances are similar at all length scales, so one evaluation tells whether another scale is
            # worth a search. They are not similar if this scale is so wrong that everything was taken for noise; then
            # the search at another scale has to begin from the initial variances.
            others = {other: form_at(other) for other in LENGTH_SCALES[1:]}
            from_best, from_start = (
                [(other, evaluate(parts, answers, variances, best.result.sites)) for other, parts in others.items()]
                for variances in (best.variances, start)
            )
            worth_a_search = best.log_density - _NATS_WORTH_A_SEARCH
            all_noise = best.result.evidence < -np.log(2) * answers.total() + _NATS_WORTH_A_SEARCH
            likeliest = max(from_best, key=lambda candidate: candidate[1].log_density)
            candidates = [likeliest] if likeliest[1].log_density > worth_a_search else []
            candidates += [one for one in from_start if all_noise or one[1].log_density > worth_a_search]
            best_penalised = best.log_density
            for other, evaluation in candidates:
                again = maximise_evidence(others[other], answers, evaluation.variances, free, evaluation.result.sites)
                if again.log_density - _RARE_SCALE_PENALTY > best_penalised:
                    best, scale, best_penalised = again, other, again.log_density - _RARE_SCALE_PENALTY
    return best.variances, scale, None if len(answers) < n_answers else best.result.sites


def _sample_answers(
    linear: Floats, answers: Answers, threshold: bool, rng: np.random.Generator
) -> tuple[Floats, Answers, bool]:
    """Return the answers among a random sample of items, so that items still meet more than once.

    The sample has as many items as it takes for _SAMPLE_SIZE items and answers, or fewer if those gave more than
    _MAX_ANSWERS_LEARNED_FROM answers. All answers would be better: designed pairs ask about what earlier answers left
    open, and without those answers theirs look like noise. So a sample of designed answers makes the variances too
    small and the doubt too large.
    """
    n = len(linear)
    order = np.append(rng.permutation(n), -1)
    joins_at = np.empty(n + 1)  # position of an item in the random order; the threshold is there from the beginning
    joins_at[order] = np.append(np.arange(n), -1)
    complete_at = np.maximum(joins_at[answers.first], joins_at[answers.second])
    by_position = np.sort(complete_at)
    last = max(by_position[_SAMPLE_SIZE], _SAMPLE_SIZE - 1)
    if len(answers) > _MAX_ANSWERS_LEARNED_FROM:
        last = min(last, by_position[_MAX_ANSWERS_LEARNED_FROM])
    kept = np.flatnonzero(complete_at <= last)
    sample = answers.part(kept)
    touched, place = np.unique(np.concatenate([sample.first, sample.second]), return_inverse=True)
    sample = replace(sample, first=place[: len(kept)], second=place[len(kept) :])
    return linear[touched[touched < n]], sample, threshold and bool(touched[-1] == n)


def _scaled_coordinates(map: FeatureMap, linear: Floats, variances: dict[str, float], scale: float) -> list[Floats]:
    """Return the coordinates of the linear and the smooth part, times the square roots of their variances."""
    smooth = map.smooth(linear, scale) if variances["smooth"] > 0 and linear.shape[1] else np.zeros((len(linear), 0))
    linear = linear if variances["linear"] > 0 else linear[:, :0]
    smooth *= np.sqrt(variances["smooth"])  # in place: the array is fresh, and large for many items
    return [np.sqrt(variances["linear"]) * linear, smooth]


def weight_space_parts(
    map: FeatureMap, linear: Floats, threshold: bool, variances: dict[str, float], scale: float
) -> WeightSpaceParts:
    """Return the coordinates of items, followed by the threshold, without parts whose variance is 0."""
    units = {name: float(variances[name] > 0) for name in PARTS}
    linear, smooth = _scaled_coordinates(map, linear, units, scale)
    if not threshold:
        return WeightSpaceParts(linear, smooth)
    linear, smooth = (np.vstack([part, np.zeros(part.shape[1])]) for part in (linear, smooth))
    return WeightSpaceParts(linear, smooth, np.array([THRESHOLD_VARIANCE]))


def weight_space_posterior(
    parts: WeightSpaceParts, variances: dict[str, float], answers: Answers, sites: Sites
) -> WeightSpacePosterior:
    """Return the posterior of the scores of the compared items and of the threshold."""
    with _blas_threads(len(parts.linear)):
        return WeightSpacePosterior.from_sites(parts.prior(variances), answers, sites)


def _carry_over(
    previous: FittedGP, linear: Floats, answers: Answers, items: Ints, threshold: bool, local: Answers
) -> tuple[Sites, EarlierPosterior | None]:
    """Return sites to start from, and the earlier posterior unless it counts answers that are gone.

    Answers that `previous` had keep their sites. New answers start with the site that they would have as the only new
    one. `answers` number the items as `linear` does, and `local` numbers them by their places in `items`.
    """

    def pair_codes(local: Answers, numbers: Ints, has_threshold: bool) -> Ints:
        number = np.append(numbers, -1) if has_threshold else numbers
        return number[local.first] * (1 << 31) + number[local.second]

    before = pair_codes(previous.answers, previous.items, previous.threshold)
    now = pair_codes(local, items, threshold)
    order = np.argsort(before, kind="stable")
    at = np.minimum(np.searchsorted(before[order], now), max(0, len(before) - 1))
    same = before[order][at] == now if len(before) else np.zeros(len(now), dtype=bool)
    tau, nu = np.empty(len(local)), np.empty(len(local))
    tau[same], nu[same] = previous.sites.tau[order][at[same]], previous.sites.nu[order][at[same]]
    new = answers.part(~same)
    number, place = np.unique(np.concatenate([new.first, new.second, [len(linear)]]), return_inverse=True)
    posterior = previous.joint(previous.coordinates(linear[number[:-1]]), number[:-1])
    mean, variance = posterior.gaps(place[: len(new)], place[len(new) : -1])
    tau[~same], nu[~same] = sites_from_cavities(mean, variance, new)
    if np.count_nonzero(same) < len(before) or previous.threshold != threshold:
        return Sites(tau, nu), None
    rows = np.searchsorted(items, np.append(previous.items, len(linear)) if threshold else previous.items)
    return Sites(tau, nu), EarlierPosterior(previous.posterior, rows, np.where(same, tau, 0.0))


def sample_scores(
    fitted: FittedGP, linear: Floats, free: tuple[str, ...], rng: np.random.Generator, count: int
) -> Floats:
    """Draw (count, n) scores of all n items of the fit from the posterior, the variances included.

    The posterior of the scores takes the variances for known, but few answers hardly determine them, and they matter
    most for how soon an order will be known. So each draw first draws the `free` variances, and then the scores given
    these. Without answers the variances are those that the model assumes. `linear` holds the items' linear coordinates.
    """
    n, answers = len(linear), fitted.answers_by_item(len(linear))
    unknown = [name for name in free if fitted.variances[name] > 0] if len(answers) else []
    if not unknown:
        return fitted.joint(fitted.coordinates(linear), np.arange(n)).without_last().draws(rng, count)
    parts = cheapest_form(
        weight_space_parts(fitted.map, fitted.linear, fitted.threshold, fitted.variances, fitted.scale), fitted.answers
    )
    draws = sample_variances(parts, fitted.answers, fitted.variances, tuple(unknown), fitted.sites, rng, count)
    scores = np.empty((count, n))
    for at, variances in enumerate(draws):
        start = replace(fitted, variances=variances)
        under = fit_gp(linear, fitted.map, answers, fitted.threshold, {}, rng, start, reuse_posterior=False)
        scores[at] = under.joint(under.coordinates(linear), np.arange(n)).without_last().draws(rng, 1)[0]
    return scores


def _blas_threads(items: int) -> AbstractContextManager[None]:
    return single_threaded_blas() if items <= _SINGLE_THREAD_ITEMS else nullcontext()
