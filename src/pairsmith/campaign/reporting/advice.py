"""What the figures of a report mean, in sentences: how sure the ranking is, what more answers would bring, and whether
to stop. Pure functions; `report` has the figures.

Whether to stop is decided by the level that was reached and by what more answers would bring, never because doubt
hardly falls: it also hardly falls where people flip coins. Nobody is told to stop on a figure that could not be
checked: the model's doubt holds if it is not too sure, and if all raters judge alike. The first is checked on random
pairs, the second on pairs that several raters answered.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pairsmith.campaign import counted
from pairsmith.campaign.reporting.calibration import SharedPairs, Yardstick

FEW = 40  # answers before which no advice is given
SURE, FAIRLY_SURE = 0.05, 0.1  # doubt at which a ranking is done, and at which it is where more answers bring little
LITTLE = 0.01  # doubt that falls by less than this is little for a quarter more answers
COINS, OPEN, FINE = "coins", "open", "fine"  # whether answers contradict each other, see `yardstick.consistency`


@dataclass(frozen=True)
class Top:
    """How sure the best items are: of the `size` shown first, how many are expected to be among the true ones."""

    size: int
    expected: float
    sure: Sequence[str]  # in with at least 95%


@dataclass(frozen=True)
class Figures:
    """All that is advised upon."""

    answers: int
    doubt: float
    left: int  # pairs that may still be asked
    explained: float | None  # by features, of how scores differ; None where there are none
    top: Top | None = None
    groups: tuple[int, int] | None = None  # how many, and in how many the first is the best with 90%
    yardstick: Yardstick | None = None
    raters: int = 1  # who answered, people and programs
    shared: SharedPairs | None = None  # whether they agree on the same pairs
    consistency: str = FINE
    uncertain: Sequence[tuple[str, int, int]] = ()  # id, best and worst rank
    untouched: int = 0  # items that nobody has compared
    disputed: Sequence[tuple[str, int, int]] = ()  # id, answers against what the others say, answers
    outlook: dict[str, Any] | None = None  # as `outlook.anchor` gives it for these answers and this doubt
    forecast_pending: bool = False  # whether a forecast is to come


def advise(figures: Figures | None) -> dict[str, Any]:
    """Whether to `stop`, why (`text`), and what else there is to say (`more`)."""
    if figures is not None and figures.answers < FEW and figures.left == 0:  # of few items, FEW may never come
        given = counted(figures.answers, "answer")
        do = "does" if figures.answers == 1 else "do"
        few = f"Every pair has been answered; {given}, fewer than {FEW}, {do} not tell how far to trust the ranking."
        return {"stop": False, "text": few, "more": []}
    if figures is None or figures.answers < FEW:
        return {"stop": False, "text": f"Too early to tell: advice comes after {FEW} answers.", "more": []}
    stop, text = verdict(figures)
    more = [sentence for about in ABOUT for sentence in about(figures)]
    return {"stop": stop, "text": text, "more": more}


def verdict(figures: Figures) -> tuple[bool, str]:
    """Whether to stop, and why."""
    chance = f"the chance that two items stand in the wrong order is {figures.doubt:.1%}"
    if figures.consistency == COINS:
        return False, (
            "The answers contradict each other: they are as if coins had been flipped, and more of them will not help."
            " Look at the question, at the raters, and at whether the items differ at all."
        )
    go_on = "Every pair has been answered" if figures.left == 0 else "Go on"
    if figures.consistency == OPEN:
        return False, (
            f"{go_on}: nothing shows yet that the answers are better than coin flips. By the model"
            f" {chance}, but that is not to be relied on."
        )
    if too_sure(figures.yardstick):
        return False, f"{go_on}: the model says that {chance}, but it is surer than it should be (see below)."
    if too_sure(figures.shared):
        return False, (
            f"The raters do not judge alike: the model says that {chance}, but those who answered the same pairs"
            " disagree more often than it expected (see below)."
        )
    if figures.left == 0:
        return _stop(figures, f"every pair has been answered, and {chance}")
    if figures.doubt <= SURE:
        return _stop(figures, chance)
    coming = _ahead(figures)
    if coming is None:
        return False, f"Go on where that is not sure enough: {chance}."
    more, low, middle, high = coming
    bring = f"{counted(more, 'more answer')} would bring it to about {middle:.1%} ({low:.1%} to {high:.1%})"
    if figures.doubt <= FAIRLY_SURE and figures.doubt - middle < LITTLE:
        return _stop(figures, f"{chance}, and {bring}")
    return False, f"Go on where that is not sure enough: {chance}; {bring}."


def _stop(figures: Figures, why: str) -> tuple[bool, str]:
    """Advise to stop for this reason, or tell what it takes for granted."""
    alone = figures.raters < 2
    granted = []
    if alone:
        granted.append("everybody judges as this one rater does")
    elif figures.shared is None or figures.shared.expected is None:
        granted.append("all raters judge alike")
    trusted = figures.yardstick is not None and figures.yardstick.expected is not None
    if not trusted:
        granted.append("the model is right")
    if not granted:
        return True, f"You can stop: {why}."
    enough = " Stop if the judgement of one rater is enough." if alone and trusted else ""
    text = f"{why[0].upper()}{why[1:]}, if {' and '.join(granted)}. This could not be checked (see below).{enough}"
    return False, text


def too_sure(found: Yardstick | SharedPairs | None) -> bool:
    """Whether fewer of these pairs came out as foretold, or alike, than the model expected, beyond chance."""
    if found is None or found.expected is None or found.agreement.high is None:
        return False
    return found.agreement.high < found.expected


def about_trust(figures: Figures) -> Iterator[str]:
    found = figures.yardstick
    if found is None:
        return
    n = found.agreement.number
    if found.agreement.value is None or found.expected is None:
        yield f"Whether these figures are true is not checked: there are too few random pairs yet ({n})."
        return
    seen = (
        f"Of {n} random pairs {found.agreement.value:.0%} ({found.agreement.low:.0%} to {found.agreement.high:.0%})"
        " were answered as the model had foretold"
    )
    if too_sure(found):
        yield f"{seen}, fewer than the {found.expected:.0%} it expected: it is surer than it should be."
    else:
        yield f"{seen}; it expected {found.expected:.0%}."


def about_raters(figures: Figures) -> Iterator[str]:
    """Whether raters judge alike."""
    found = figures.shared
    if found is None:
        return
    n = found.agreement.number
    if figures.raters < 2:
        yield "Whether others would agree is not checked: all answers are from one rater."
    elif found.agreement.value is None or found.expected is None:
        yield f"Whether raters judge alike is not checked: too few answers are to pairs that others answered too ({n})."
    else:
        seen = (
            f"Of {n} answers to pairs that another rater had answered before, {found.agreement.value:.0%}"
            f" ({found.agreement.low:.0%} to {found.agreement.high:.0%}) agree with that rater"
        )
        if too_sure(found):
            yield f"{seen}, fewer than the {found.expected:.0%} that the model expected."
        else:
            yield f"{seen}; the model expected {found.expected:.0%}."


def about_top(figures: Figures) -> Iterator[str]:
    if figures.top is not None:
        size, sure = figures.top.size, list(figures.top.sure)
        named = f" Surely among them: {_listed(sure)}." if sure else " None of them is among them for sure."
        expected = f"{figures.top.expected:.1f} are expected to be among the true {size} best"
        yield f"Of the {size} items shown first, {expected}.{named}"
    if figures.groups is not None:
        count, known = figures.groups
        yield f"In {known} of {counted(count, 'group')} the item shown first is the best with 90% probability or more."


def about_features(figures: Figures) -> Iterator[str]:
    if figures.explained is None:
        return
    if figures.explained < 0.1:
        yield "Features say hardly anything about the scores: each item has to be compared to be known."
    else:
        yield f"Features explain {figures.explained:.0%} of how scores differ; the rest is the items' own."


def about_more(figures: Figures) -> Iterator[str]:
    """How many more answers for which doubt."""
    if figures.forecast_pending and figures.consistency != COINS:
        yield "What more answers would bring is being computed."
    if figures.outlook is None or figures.consistency == COINS or not figures.outlook["points"]:
        return
    last = figures.outlook["points"][-1][0] - figures.answers
    told = []
    for target, about, low, high in figures.outlook["needed"]:
        if about is None:
            told.append(f"{target:.0%} takes more than {_roughly(last)}")
            break
        until = f"more than {_roughly(last)}" if high is None else _roughly(high)
        told.append(f"{target:.0%} takes about {_roughly(about)} ({_roughly(low or 1)} to {until})")
    if told:
        yield f"More answers: doubt of {'; '.join(told)}."


def about_uncertain(figures: Figures) -> Iterator[str]:
    if figures.untouched:
        was = "was" if figures.untouched == 1 else "were"
        yield f"{counted(figures.untouched, 'item')} {was} not compared by anybody yet."
    if figures.uncertain:
        named = [f"{name} (rank {best} to {worst})" for name, best, worst in figures.uncertain]
        yield f"Most uncertain: {_listed(named)}."


def about_disputed(figures: Figures) -> Iterator[str]:
    if figures.disputed:
        named = [f"{name} ({against} of {counted(total, 'answer')})" for name, against, total in figures.disputed]
        yield f"Most disputed, by answers against what all others say: {_listed(named)}."


ABOUT = (about_trust, about_raters, about_more, about_top, about_features, about_uncertain, about_disputed)


def _ahead(figures: Figures) -> tuple[int, float, float, float] | None:
    """A quarter more answers, and the doubt then: low end, middle and high end. None where nothing is foretold."""
    points = figures.outlook["points"] if figures.outlook else []
    if not points:
        return None
    more = min(max(25, round(figures.answers / 4)), points[-1][0] - figures.answers)
    at, *ends = np.array(points, dtype=np.float64).T
    low, middle, high = (float(np.interp(figures.answers + more, at, end)) for end in ends)
    return more, low, middle, high


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _roughly(number: int) -> str:
    """By its first two digits."""
    return f"{float(f'{number:.2g}'):,.0f}"
