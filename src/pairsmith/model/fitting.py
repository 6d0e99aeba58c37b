"""What the Gaussian-process model has learned from answers: all of it, and no more than that, is saved."""

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
from pairsmith.model.posterior import GapPosterior, Joint, Posterior, ScorePosterior, Sites
from pairsmith.model.prior import PARTS, FeatureMap, Known, Parts, cheaper
from pairsmith.model.propagation import Propagated, propagate, told_alone
from pairsmith.model.variances import SCALES, USUAL, drawn, evaluate, learn

THRESHOLD = 4.0  # the variance of what an item's score has to exceed for its label to be the better one
_SAMPLE = 1000  # items, and answers among them, that variances are learned from, where there are more of both
_MOST_ANSWERS = 10_000  # that variances are learned from, however few the items are
_GROWTH = 1.2  # variances are learned again once there are this many times as many answers
_CLOSE = 1.0  # nats below the best evidence from which another scale is worth a search for its own variances
_RARER = 1.0  # nats by which another scale is less likely beforehand than the usual one; few answers cannot tell
_FINELY = 0.001  # the tolerance of expectation propagation once variances are known ...
_UNSETTLED = 0.05  # ... and what is worth telling of where it ends before it has reached that
_SMALL = 1500  # items up to which factorizations are faster on one thread


@dataclass(frozen=True)
class Learned:
    """Variances, and the sites of the answers under them: the posterior follows from these."""

    map: FeatureMap
    variances: dict[str, float]  # of PARTS
    scale: float  # of the smooth part
    items: Ints  # that were compared or labelled, by their numbers, ascending
    linear: Floats  # (items, d) their linear coordinates
    threshold: bool  # whether one more item, the last, is the threshold of labels
    answers: Answers  # between `items`, by their places there
    sites: Sites
    evidence: float
    learned_from: float  # so many answers and labels there were when the variances were learned
    parts: Parts  # the coordinates of `items`, and of the threshold
    posterior: Posterior  # of the scores of `items`, and of the threshold

    def coordinates(self, linear: Floats) -> Floats:
        """Psi of items: each part's coordinates times the square root of its variance."""
        return np.hstack(_features(self.map, linear, self.variances, self.scale))

    def numbered(self, n: int) -> Answers:
        """The answers by the numbers of the items, of which there are n; the threshold comes after the last."""
        number = np.append(self.items, n)
        return replace(self.answers, first=number[self.answers.first], second=number[self.answers.second])

    def count(self) -> int:
        """How many answers to pairs of items these are; labels are none."""
        return round(self.answers.part(self.answers.second < len(self.items)).total())

    @cached_property
    def propagated(self) -> Propagated[Posterior]:
        """The posterior, with what all other answers say of each."""
        return propagate(lambda _: self.posterior, self.answers, self.sites, sweeps=1)

    def still_holds(self, fixed: dict[str, float], answers: Answers) -> bool:
        """Whether these variances will do: the same parts are asked for, and there are hardly more answers."""
        same = all(self.variances[name] == fixed[name] if name in fixed else self.variances[name] > 0 for name in PARTS)
        return same and answers.total() <= _GROWTH * self.learned_from

    def shares(self, Psi: Floats) -> dict[str, float]:
        """Of the variance that scores of items with these coordinates have beforehand: how much is of each part."""
        across = Psi.var(axis=0)
        d = self.parts.linear.shape[1]
        found = {"linear": across[:d].sum(), "smooth": across[d:].sum(), "items": self.variances["items"]}
        total = sum(found.values())
        return {name: float(value / total) if total > 0 else 0.0 for name, value in found.items()}

    def joint(self, Psi: Floats, number: Ints) -> Joint:
        """The posterior of the scores of items with these coordinates and, last, of the threshold.

        `number` is an item's number where it was there when the model was fitted, else -1.
        """
        posterior, n = self.posterior, len(Psi)
        weights = self.parts.prior(self.variances).features.T @ posterior.pull
        mean = np.append(Psi @ weights, 0.0)
        spread = np.vstack([Psi @ posterior.root, np.zeros(len(posterior.root))])
        own = np.append(np.full(n, self.variances["items"]), THRESHOLD)
        at = np.searchsorted(self.items, number)
        known = (number >= 0) & (at < len(self.items))
        known[known] = self.items[at[known]] == number[known]
        places, rows = np.flatnonzero(known), at[known]
        if self.threshold:
            places, rows = np.append(places, n), np.append(rows, len(self.items))
        mean[places], spread[places], own[places] = posterior.mean[rows], posterior.features[rows], 0.0
        return Joint(mean, spread, own, places, posterior.effects[np.ix_(rows, rows)])


def learn_from(
    linear: Floats,
    map: FeatureMap,
    answers: Answers,
    threshold: bool,
    fixed: dict[str, float],
    rng: np.random.Generator,
    previous: Learned | None = None,
    go_on: bool = True,
) -> Learned:
    """What answers to pairs of these items tell.

    `answers` number the items as `linear` does, and the threshold comes after the last. Variances are those `fixed`,
    those of `previous` where it is given, or the likeliest. With `go_on`, the posterior of `previous` is the start of
    the new one; that is wrong where the variances of `previous` were replaced, as its posterior is then of others.
    """
    n = len(linear)
    touched, place = np.unique(np.concatenate([answers.first, answers.second]), return_inverse=True)
    items = touched[touched < n]
    own = replace(answers, first=place[: len(answers)], second=place[len(answers) :])
    sites: Sites | None
    known = None
    if previous is not None:
        variances, scale, learned_from = previous.variances, previous.scale, previous.learned_from
        sites, known = _carried_over(previous, linear, answers, items, threshold, own)
    else:
        variances, scale, sites = _likeliest(linear[items], map, own, threshold, fixed, rng)
        learned_from = answers.total()
    known = known if go_on else None
    with _threads(len(items)):
        parts = parts_of(map, linear[items], threshold, variances, scale)
        form = cheaper(parts, own)
        found: Propagated[Posterior] | Propagated[ScorePosterior] | Propagated[GapPosterior]
        if isinstance(form, Parts) and sites is not None and known is not None:
            found = form.propagate_from(variances, own, sites, known, _FINELY)
        else:
            found = form.propagate(variances, own, sites, _FINELY)
    if found.moving > _UNSETTLED:
        warnings.warn(
            f"the posterior has not settled: a difference of two scores still moves by {found.moving:.2g} of its"
            " standard deviation; scores and intervals are rough, so look for answers with extreme weights",
            ConvergenceWarning,
            stacklevel=4,
        )
    posterior = (
        found.posterior if isinstance(found.posterior, Posterior) else posterior_of(parts, variances, own, found.sites)
    )
    return Learned(
        map,
        variances,
        scale,
        items,
        linear[items],
        threshold,
        own,
        found.sites,
        found.evidence,
        learned_from,
        parts,
        posterior,
    )


def _likeliest(
    linear: Floats,
    map: FeatureMap,
    answers: Answers,
    threshold: bool,
    fixed: dict[str, float],
    rng: np.random.Generator,
) -> tuple[dict[str, float], float, Sites | None]:
    """The variances and the scale of the smooth part that the answers speak for; the sites of all answers, if known."""
    start = USUAL | fixed
    free = tuple(name for name in PARTS if name not in fixed)
    if len(answers) == 0 or not free:
        return start, SCALES[0], None
    there = len(answers)
    if there > _SAMPLE and (len(linear) > _SAMPLE or there > _MOST_ANSWERS):
        linear, answers, threshold = _some(linear, answers, threshold, rng)
    scale = SCALES[0]
    with _threads(len(linear)):
        best = learn(cheaper(parts_of(map, linear, threshold, start, scale), answers), answers, start, free)
        if start["smooth"] > 0 and "smooth" in free:
            # At other scales of the smooth part the variances are about the same: one look tells whether to go on. But
            # where this scale was so wrong that all was taken for noise, they are not, and it is worth a start anew.
            others = {other: cheaper(parts_of(map, linear, threshold, start, other), answers) for other in SCALES[1:]}
            same, anew = (
                [(other, evaluate(parts, answers, variances, best.found.sites)) for other, parts in others.items()]
                for variances in (best.variances, start)
            )
            close = best.worth - _CLOSE
            noise = best.found.evidence < -np.log(2) * answers.total() + _CLOSE
            looks = [look for look in [max(same, key=lambda look: look[1].worth)] if look[1].worth > close]
            looks += [look for look in anew if noise or look[1].worth > close]
            most = best.worth
            for other, found in looks:
                again = learn(others[other], answers, found.variances, free, found.found.sites)
                if again.worth - _RARER > most:
                    best, scale, most = again, other, again.worth - _RARER
    return best.variances, scale, None if len(answers) < there else best.found.sites


def _some(linear: Floats, answers: Answers, threshold: bool, rng: np.random.Generator) -> tuple[Floats, Answers, bool]:
    """The answers among some of the items, drawn at random, so that items still meet more than once.

    As many items as it takes for _SAMPLE of both, or fewer where these gave more than _MOST_ANSWERS. All answers are
    better: a design asks about what the answers before left open, and without those its answers are taken for noise.
    Variances learned from a half of 2,400 answers to 300 items were too small by half, and the doubt too large.
    """
    n = len(linear)
    order = np.append(rng.permutation(n), -1)
    when = np.empty(n + 1)  # an item joins; the threshold is there from the beginning
    when[order] = np.append(np.arange(n), -1)
    complete = np.maximum(when[answers.first], when[answers.second])
    by_answers = np.sort(complete)
    last = max(by_answers[_SAMPLE], _SAMPLE - 1)
    if len(answers) > _MOST_ANSWERS:
        last = min(last, by_answers[_MOST_ANSWERS])
    kept = np.flatnonzero(complete <= last)
    chosen = answers.part(kept)
    touched, place = np.unique(np.concatenate([chosen.first, chosen.second]), return_inverse=True)
    chosen = replace(chosen, first=place[: len(kept)], second=place[len(kept) :])
    return linear[touched[touched < n]], chosen, threshold and bool(touched[-1] == n)


def _features(map: FeatureMap, linear: Floats, variances: dict[str, float], scale: float) -> list[Floats]:
    smooth = map.smooth(linear, scale) if variances["smooth"] > 0 and linear.shape[1] else np.zeros((len(linear), 0))
    straight = linear if variances["linear"] > 0 else linear[:, :0]
    smooth *= np.sqrt(variances["smooth"])  # nobody else has it, and of many items it is large
    return [np.sqrt(variances["linear"]) * straight, smooth]


def parts_of(map: FeatureMap, linear: Floats, threshold: bool, variances: dict[str, float], scale: float) -> Parts:
    """The coordinates of items, and last of the threshold, without the parts that are switched off."""
    units = {name: float(variances[name] > 0) for name in PARTS}
    straight, smooth = _features(map, linear, units, scale)
    if not threshold:
        return Parts(straight, smooth)
    straight, smooth = (np.vstack([part, np.zeros(part.shape[1])]) for part in (straight, smooth))
    return Parts(straight, smooth, np.array([THRESHOLD]))


def posterior_of(parts: Parts, variances: dict[str, float], answers: Answers, sites: Sites) -> Posterior:
    """Of the scores of the items that were compared, and of the threshold."""
    with _threads(len(parts.linear)):
        return Posterior.of(parts.prior(variances), answers, sites)


def _carried_over(
    previous: Learned, linear: Floats, answers: Answers, items: Ints, threshold: bool, own: Answers
) -> tuple[Sites, Known | None]:
    """The sites that answers had before; new ones begin with what they tell beside all that was known.

    And the posterior of before, or None where it counted answers that are gone.
    `answers` number the items as `linear` does, `own` are the same by their places in `items`.
    """

    def codes(own: Answers, numbers: Ints, last: bool) -> Ints:
        named = np.append(numbers, -1) if last else numbers
        return named[own.first] * (1 << 31) + named[own.second]

    before, now = codes(previous.answers, previous.items, previous.threshold), codes(own, items, threshold)
    order = np.argsort(before, kind="stable")
    at = np.minimum(np.searchsorted(before[order], now), max(0, len(before) - 1))
    same = before[order][at] == now if len(before) else np.zeros(len(now), dtype=bool)
    tau, nu = np.empty(len(own)), np.empty(len(own))
    tau[same], nu[same] = previous.sites.tau[order][at[same]], previous.sites.nu[order][at[same]]
    new = answers.part(~same)
    number, place = np.unique(np.concatenate([new.first, new.second, [len(linear)]]), return_inverse=True)
    joint = previous.joint(previous.coordinates(linear[number[:-1]]), number[:-1])
    mean, variance = joint.gaps(place[: len(new)], place[len(new) : -1])
    tau[~same], nu[~same] = told_alone(mean, variance, new)
    if np.count_nonzero(same) < len(before) or previous.threshold != threshold:
        return Sites(tau, nu), None
    places = np.searchsorted(items, np.append(previous.items, len(linear)) if threshold else previous.items)
    return Sites(tau, nu), Known(previous.posterior, places, np.where(same, tau, 0.0))


def _threads(items: int) -> AbstractContextManager[None]:
    return single_threaded_blas() if items <= _SMALL else nullcontext()


def imagined_scores(
    learned: Learned, linear: Floats, free: tuple[str, ...], rng: np.random.Generator, count: int
) -> Floats:
    """(count, n) scores of all n items that the model was fitted to, of which these are the linear coordinates.

    Variances that are not `free` are taken for known; with no answers at all, all are those that the model assumes.
    """
    n, answers = len(linear), learned.numbered(len(linear))
    unknown = [name for name in free if learned.variances[name] > 0] if len(answers) else []
    if not unknown:
        return learned.joint(learned.coordinates(linear), np.arange(n)).without_last().draws(rng, count)
    parts = cheaper(
        parts_of(learned.map, learned.linear, learned.threshold, learned.variances, learned.scale), learned.answers
    )
    variances = drawn(parts, learned.answers, learned.variances, tuple(unknown), learned.sites, rng, count)
    found = np.empty((count, n))
    for at, own in enumerate(variances):
        under = replace(learned, variances=own)
        under = learn_from(linear, learned.map, answers, learned.threshold, {}, rng, under, go_on=False)
        found[at] = under.joint(under.coordinates(linear), np.arange(n)).without_last().draws(rng, 1)[0]
    return found
