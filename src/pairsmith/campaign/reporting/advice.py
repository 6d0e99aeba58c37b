"""What the figures of a report mean, in sentences: how sure the ranking is, and whether to stop.

The functions are pure; `report` collects the figures.

Whether to stop depends on the doubt that was reached and on what more answers would bring. It never depends on doubt
falling slowly, because doubt also falls slowly when people flip coins. The advice is never to stop on a figure that
could not be checked: the model's doubt holds if the model is not overconfident and if all raters judge alike. The
first is checked on random pairs, the second on pairs that several raters answered.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pairsmith.campaign import counted
from pairsmith.campaign.reporting.calibration import COIN_FLIPS, CONSISTENT, UNDECIDED, Calibration, SharedPairs
from pairsmith.campaign.reporting.dashboard import ADVICE_HORIZON, MIN_ADVICE_HORIZON
from pairsmith.forecasting import roughly

MIN_ANSWERS = 40  # for advice
DOUBT_TO_STOP = 0.05  # at which a ranking is done
DOUBT_TO_STOP_IF_FLAT = 0.1  # at which it is done if more answers bring little
LITTLE_GAIN = 0.01  # doubt that falls by less than this over `ADVICE_HORIZON` is little gain


@dataclass(frozen=True)
class Top:
    """How sure the best items are."""

    size: int
    expected: float  # how many of the first `size` items are expected to be among the true best
    sure: Sequence[str]  # ids of the items that are among the best with a probability of at least 95%


@dataclass(frozen=True)
class Figures:
    """The figures that the advice is based on."""

    answers: int
    doubt: float
    open_pairs: int  # that may still be asked
    explained: float | None  # the share of the scores' variance that features explain; None without features
    top: Top | None = None
    groups: tuple[int, int] | None = None  # the number of groups, and of those whose first item is the best with 90%
    calibration: Calibration | None = None
    raters: int = 1  # people and programs who answered
    shared_pairs: SharedPairs | None = None  # whether raters agree on the same pairs
    consistency: str = CONSISTENT  # see `calibration.consistency`
    uncertain: Sequence[tuple[str, int, int]] = ()  # id, best and worst rank
    never_compared: int = 0  # items
    disputed: Sequence[tuple[str, int, int]] = ()  # id, answers that contradict all others, answers
    forecast: dict[str, Any] | None = None  # as `forecasts.anchor` returns it for these answers and this doubt
    forecast_pending: bool = False


def advise(figures: Figures | None) -> dict[str, Any]:
    """Return whether to `stop`, the reason (`text`), and further sentences (`more`)."""
    if figures is not None and figures.answers < MIN_ANSWERS and figures.open_pairs == 0:  # no more answers can come
        given = counted(figures.answers, "answer")
        are = "is" if figures.answers == 1 else "are"
        text = (
            f"Every pair has been answered. {given} {are} too few to tell how far to trust the ranking: that takes"
            f" {MIN_ANSWERS}."
        )
        return {"stop": False, "text": text, "more": []}
    if figures is None or figures.answers < MIN_ANSWERS:
        return {"stop": False, "text": f"Too early to tell: advice comes after {MIN_ANSWERS} answers.", "more": []}
    stop, text = verdict(figures)
    more = [sentence for describe in DESCRIPTIONS for sentence in describe(figures)]
    return {"stop": stop, "text": text, "more": more}


def verdict(figures: Figures) -> tuple[bool, str]:
    """Return whether to stop, and why."""
    chance = f"the chance that two items are in the wrong order is {figures.doubt:.1%}"
    if figures.consistency == COIN_FLIPS:
        return False, (
            "The answers contradict each other as if they were coin flips, and more answers will not help. Check the"
            " question, the raters, and whether the items differ at all."
        )
    keep_going = "Every pair has been answered" if figures.open_pairs == 0 else "Keep going"
    if figures.consistency == UNDECIDED:
        return False, (
            f"{keep_going}: nothing shows yet that the answers are better than coin flips. The model says that"
            f" {chance}, but do not rely on it."
        )
    if is_overconfident(figures.calibration):
        return False, f"{keep_going}: the model says that {chance}, but it is surer than it should be (see below)."
    if is_overconfident(figures.shared_pairs):
        return False, (
            f"The raters do not judge alike: the model says that {chance}, but raters who answered the same pairs"
            " disagree more often than it expected (see below)."
        )
    if figures.open_pairs == 0:
        return _stop(figures, f"every pair has been answered, and {chance}")
    if figures.doubt <= DOUBT_TO_STOP:
        return _stop(figures, chance)
    ahead = _look_ahead(figures)
    if ahead is None:
        return False, f"Keep going if you need more certainty: {chance}."
    more, low, middle, high = ahead
    gain = f"{counted(more, 'more answer')} would bring it to about {middle:.1%} ({low:.1%} to {high:.1%})"
    if figures.doubt <= DOUBT_TO_STOP_IF_FLAT and figures.doubt - middle < LITTLE_GAIN:
        return _stop(figures, f"{chance}, and {gain}")
    return False, f"Keep going if you need more certainty: {chance}; {gain}."


def _stop(figures: Figures, why: str) -> tuple[bool, str]:
    """Advise to stop for this reason, or name the assumptions that could not be checked."""
    one_rater = figures.raters < 2
    assumptions = []
    if one_rater:
        assumptions.append("everybody judges like this one rater")
    elif figures.shared_pairs is None or figures.shared_pairs.expected is None:
        assumptions.append("all raters judge alike")
    is_calibrated = figures.calibration is not None and figures.calibration.expected is not None
    if not is_calibrated:
        assumptions.append("the model is right")
    if not assumptions:
        return True, f"You can stop: {why}."
    enough = " Stop if the judgement of one rater is enough." if one_rater and is_calibrated else ""
    text = f"{why[0].upper()}{why[1:]}, if {' and '.join(assumptions)}. This could not be checked (see below).{enough}"
    return False, text


def is_overconfident(measured: Calibration | SharedPairs | None) -> bool:
    """Return whether fewer predictions came true, or fewer raters agreed, than the model expected, beyond chance."""
    if measured is None or measured.expected is None or measured.agreement.high is None:
        return False
    return measured.agreement.high < measured.expected


def describe_calibration(figures: Figures) -> Iterator[str]:
    calibration = figures.calibration
    if calibration is None:
        return
    right = calibration.agreement
    if right.value is None or calibration.expected is None:
        yield f"These figures are not checked yet: there are too few random pairs ({right.number})."
        return
    came_true = (
        f"The model predicted {right.value:.0%} ({right.low:.0%} to {right.high:.0%}) of the answers to {right.number}"
        " random pairs"
    )
    if is_overconfident(calibration):
        yield f"{came_true}, fewer than the {calibration.expected:.0%} it expected: it is surer than it should be."
    else:
        yield f"{came_true}; it expected {calibration.expected:.0%}."


def describe_agreement(figures: Figures) -> Iterator[str]:
    shared = figures.shared_pairs
    if shared is None:
        return
    agreement = shared.agreement
    if figures.raters < 2:
        yield "Agreement with other raters is not checked: all answers are from one rater."
    elif agreement.value is None or shared.expected is None:
        yield (
            f"Agreement between raters is not checked yet: too few answers ({agreement.number}) are to pairs that"
            " others answered before."
        )
    else:
        agree = (
            f"Of {agreement.number} answers to pairs that another rater had answered before, {agreement.value:.0%}"
            f" ({agreement.low:.0%} to {agreement.high:.0%}) agree with that rater"
        )
        if is_overconfident(shared):
            yield f"{agree}, fewer than the {shared.expected:.0%} that the model expected."
        else:
            yield f"{agree}; the model expected {shared.expected:.0%}."


def describe_top(figures: Figures) -> Iterator[str]:
    if figures.top is not None:
        size, sure = figures.top.size, list(figures.top.sure)
        named = f" Almost certainly among them: {_join(sure)}." if sure else " None of them is almost certain to be."
        yield f"Of the first {size} items, about {figures.top.expected:.1f} are among the true {size} best.{named}"
    if figures.groups is not None:
        count, sure_groups = figures.groups
        yield f"In {sure_groups} of {counted(count, 'group')}, the first item is the best with 90% probability or more."


def describe_features(figures: Figures) -> Iterator[str]:
    if figures.explained is None:
        return
    if figures.explained < 0.1:
        yield "Features say hardly anything about the scores, so each item has to be compared."
    else:
        yield f"Features explain {figures.explained:.0%} of how scores differ; the rest is particular to each item."


def describe_forecast(figures: Figures) -> Iterator[str]:
    """Say how many more answers bring the doubt down to each target."""
    if figures.forecast_pending and figures.consistency != COIN_FLIPS:
        yield "What more answers would bring is being computed."
    if figures.forecast is None or figures.consistency == COIN_FLIPS or not figures.forecast["points"]:
        return
    horizon = figures.forecast["points"][-1][0] - figures.answers
    needed = []
    for target, about, low, high in figures.forecast["needed"]:
        if about is None:
            needed.append(f"more than {roughly(horizon)} for {target:.0%}")
            break
        at_most = f"more than {roughly(horizon)}" if high is None else roughly(high)
        needed.append(f"about {roughly(about)} ({roughly(low or 1)} to {at_most}) for {target:.0%}")
    if needed:
        yield f"More answers needed to bring down the doubt: {'; '.join(needed)}."


def describe_uncertain_items(figures: Figures) -> Iterator[str]:
    if figures.never_compared:
        has = "has" if figures.never_compared == 1 else "have"
        yield f"{counted(figures.never_compared, 'item')} {has} not been compared by anybody yet."
    if figures.uncertain:
        named = [f"{name} (rank {best} to {worst})" for name, best, worst in figures.uncertain]
        yield f"Most uncertain: {_join(named)}."


def describe_disputed_items(figures: Figures) -> Iterator[str]:
    if figures.disputed:
        named = [f"{name} ({against} of {counted(total, 'answer')})" for name, against, total in figures.disputed]
        yield f"Most disputed, by the number of answers that contradict all others: {_join(named)}."


DESCRIPTIONS = (
    describe_calibration,
    describe_agreement,
    describe_forecast,
    describe_top,
    describe_features,
    describe_uncertain_items,
    describe_disputed_items,
)


def _look_ahead(figures: Figures) -> tuple[int, float, float, float] | None:
    """Return a number of more answers, and the low end, middle and high end of the doubt then; None if unknown."""
    points = figures.forecast["points"] if figures.forecast else []
    if not points:
        return None
    horizon = max(MIN_ADVICE_HORIZON, round(ADVICE_HORIZON * figures.answers))
    more = min(horizon, points[-1][0] - figures.answers)
    at, *ends = np.array(points, dtype=np.float64).T
    low, middle, high = (float(np.interp(figures.answers + more, at, end)) for end in ends)
    return more, low, middle, high


def _join(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
