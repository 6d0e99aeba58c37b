"""How many answers will it take? forecast() simulates what is to come, and says what will then be known.

A simulation draws true scores from all that is known of them (`model.imagined`), lets people who err as the model says
compare the pairs that select() picks round after round, and fits the model to their answers, as a campaign does. What
the model then claims, its doubt and its reliability, is what whoever asks will be told at that time. A simulation knows
its truth, so it also counts how many pairs of items then stand in the wrong order; the two agree where the model does
not deceive itself.
"""

from __future__ import annotations

import html
import threading
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import expit, logit
from scipy.stats import t as student

from pairsmith.data.arrays import Floats, Ints
from pairsmith.data.candidates import Candidates, WithinGroups, remaining_pairs
from pairsmith.data.options import as_generator, as_share, as_threads, as_whole
from pairsmith.design.blas import single_threaded_blas
from pairsmith.model.gaussian_process import BradleyTerryGP
from pairsmith.selection.models import check_gaussian_process, is_gaussian_process
from pairsmith.selection.problem import as_candidates
from pairsmith.selection.run import ProgressBar
from pairsmith.selection.select import select
from pairsmith.selection.start import start_from_posterior

if TYPE_CHECKING:
    import pandas as pd

SHOWN, TO_A_TARGET = (50, 100, 200, 400), (50, 100, 200, 400, 800, 1600)  # more answers, where nobody says how many
_LEAST_ROUND, _SHARE = 20, 0.2  # a round has so many pairs at least, and else so large a share of the answers so far
_MOST_ITEMS = 1000  # whose true order is compared with the ranking, drawn at random where there are more
_NEAREST = 1e-4  # figures are kept so far from 0 and 1 before their logits are taken
_ROUNDING = 1e-12  # of expit(logit(x))


class Needed(NamedTuple):
    """More answers that a target takes; None where it is not reached within those that were simulated."""

    about: int | None
    low: int | None
    high: int | None


@dataclass(frozen=True)
class Forecast:
    """What simulations say of the time after more answers: a row a simulation, a column a number of answers."""

    answers: Ints  # (m,) more answers, 0 first
    doubt: Floats  # (simulations, m) that the model claims
    wrong: Floats  # (simulations, m) the share of pairs of items that are in the wrong order
    reliability: Floats  # (simulations, m) that the model claims
    known: int  # answers that there were already
    pairs_left: int | None  # to ask about; None where pairs may be asked again
    variances: dict[str, float]  # of the parts of scores
    shown: Ints = field(repr=False)  # which of `answers` a table shows
    level: float = 0.9  # of the intervals: what happens is within them so often, if the model is right
    target: tuple[str, float] | None = None  # "doubt" or "reliability", and how much of it
    assumed: bool = False  # whether variances are those assumed before the first answer or label

    def interval(self, name: str) -> tuple[Floats, Floats, Floats]:
        """Low end, middle and high end of "doubt" or "reliability" after each number of `answers`."""
        return _interval(getattr(self, name), self.level)

    def to_frame(self) -> pd.DataFrame:
        """A table with a row for each number of further answers.

        `doubt` and `reliability` are what the model will claim, with the ends of their intervals, and `wrong` is the
        share of pairs of items that are then in the wrong order.
        """
        import pandas as pd

        columns: dict[str, Any] = {"answers": self.answers}
        for name in ("doubt", "reliability"):
            low, middle, high = self.interval(name)
            columns |= {name: middle, f"{name}_low": low, f"{name}_high": high}
            if name == "doubt":
                columns["wrong"] = self.wrong.mean(axis=0)
        return pd.DataFrame(columns)[np.isin(self.answers, self.shown)].reset_index(drop=True)

    def needed(self, *, doubt: float | None = None, reliability: float | None = None) -> Needed:
        """How many more answers it takes until the model claims so little doubt, or so much reliability."""
        name, value = _as_target(doubt, reliability) or self.target or (None, 0.0)
        if name is None:
            raise ValueError("needed: name a target, doubt= or reliability=")
        low, middle, high = self.interval(name)
        if name == "reliability":
            low, middle, high, value = -high, -middle, -low, -value
        return Needed(*(first_at(self.answers, curve, value) for curve in (middle, low, high)))

    def sentences(self) -> list[str]:
        """What is to come, in words."""
        last = int(self.answers[-1])
        (low, middle, high), (_, reliable, _) = self.interval("doubt"), self.interval("reliability")
        told = [
            f"Now, after {self.known:,} answer{'' if self.known == 1 else 's'}: doubt {middle[0]:.1%}, reliability"
            f" {reliable[0]:.2f}."
        ]
        if self.target is not None:
            told.insert(0, self._about_target(*self.target))
        if last == 0:
            return told
        told.append(
            f"After {last:,} more: doubt {middle[-1]:.1%} ({low[-1]:.1%} to {high[-1]:.1%}), reliability"
            f" {reliable[-1]:.2f}."
        )
        told.append(
            f"By {len(self.doubt)} simulations, with {self.level:.0%} intervals. Doubt is the chance that two items"
            " stand in the wrong order, as the model will claim it; in the simulations"
            f" {self.wrong[:, -1].mean():.1%} do in the end."
        )
        if self.assumed:
            parts = ", ".join(f"{name} {value:.2g}" for name, value in self.variances.items() if value > 0)
            told.append(
                f"How far scores lie apart is assumed before the first answer (variances: {parts}), and all depends on"
                " it; forecast again after some 50 answers."
            )
        return told

    def _about_target(self, name: str, value: float) -> str:
        wanted = f"{100 * value:.3g}% doubt" if name == "doubt" else f"A reliability of {value:.3g}"
        about, low, high = self.needed()
        last = int(self.answers[-1])
        if about == 0:
            return f"{wanted}: reached already."
        beyond = f"more than {last:,}" + (", all pairs that are left" if last == self.pairs_left else "")
        if about is None:
            return f"{wanted}: {beyond}" + ("." if low is None else f"; at best {_roughly(low)}.")
        until = beyond if high is None else _roughly(high)
        return f"{wanted}: about {_roughly(about)} more, {_roughly(low or 0)} to {until}."

    def _repr_html_(self) -> str:
        """How notebooks show it."""
        above = "<br/>".join(map(html.escape, self.sentences()))
        return (
            f"<div><p>{above}</p>{self.to_frame().to_html(index=False, border=0, float_format='{:.3f}'.format)}</div>"
        )


def forecast(
    X: Any = None,
    items: Any = None,
    *,
    model: BradleyTerryGP | None = None,
    n_items: int | None = None,
    doubt: float | None = None,
    reliability: float | None = None,
    answers: Iterable[int] | None = None,
    candidates: Candidates | npt.ArrayLike | None = None,
    ask_again: bool = False,
    simulations: int = 8,
    level: float = 0.9,
    random_state: Any = 0,
    n_jobs: int | None = None,
    progress: bool = False,
) -> Forecast:
    """Foretell what will be known after more answers, and how many a target takes.

    Pairs are asked in rounds that `select` designs under the model; a round has a fifth as many pairs as there are
    answers so far, but at least 20.

    Parameters
    ----------
    X : the items, as `select` takes them; None where they have no features.
    items : the items where the model comes first: forecast(gp, X) is forecast(X, model=gp).
    model : fitted BradleyTerryGP
        What is known of these items. None is the model before the first answer: then how far scores lie apart is
        assumed, as it is by BradleyTerryGP; other variances are those of a model like
        `BradleyTerryGP(items=2.0).fit(X)`.
    n_items : how many items there are, where X and model are None.
    doubt, reliability : float
        A target, one of the two: simulations end once it is reached for sure, and `needed()` says when.
    answers : numbers of further answers to tell of. None is 50, 100, 200 and 400, and up to 1,600 for a target.
    candidates : which pairs may be asked, as for `select`; with groups, doubt and reliability are those within groups.
    ask_again : bool
        Whether a round may ask what earlier ones did, as campaigns with answers_per_pair="auto" may. Else each pair is
        asked once, and those that the model has answers to are not asked again.
    simulations : int
        More make the intervals steadier, not narrower.
    level : of the intervals.
    random_state : None, int or numpy.random.Generator
    n_jobs : threads; the result does not depend on it.
    progress : whether to show a progress bar on standard error.

    Returns
    -------
    Forecast
    """
    target, threads, rng = _as_target(doubt, reliability), as_threads(n_jobs), as_generator(random_state)
    count, level = as_whole(simulations, "simulations", least=2), as_share(level, "level")
    if is_gaussian_process(X) and model is None:
        X, model = items, X
    elif items is not None:
        raise ValueError("items is for a model that comes first, as in forecast(gp, X); leave it out")
    wanted = _as_numbers((SHOWN if target is None else TO_A_TARGET) if answers is None else answers)
    allowed = None if candidates is None else as_candidates(candidates)
    if model is not None and n_items is not None:
        raise ValueError("n_items is for X=None without a model; leave it out, as the model knows it")
    model = BradleyTerryGP().fit(X, n_items=n_items) if model is None else model
    check_gaussian_process(model)
    model.linear_of_own(X)  # which refuses other items
    asked = start_from_posterior(model, X).answered
    assert asked is not None
    every = remaining_pairs(allowed, model.n_items_, asked[:0]).at_most()
    left = None if ask_again else remaining_pairs(allowed, model.n_items_, asked).at_most()
    if every == 0 or left == 0:
        nothing = "there is only one item" if allowed is None else "candidates has no pair"
        why = "every pair has been answered" if every else nothing
        raise ValueError(f"{why}; there is none left to ask about, and nothing to forecast")
    last = wanted[-1] if left is None else min(left, wanted[-1])
    shown = np.array([0, *(number for number in wanted if number < last), last])
    with single_threaded_blas():
        truths = model.imagined(X, rng, count)
        imagined = [
            _Simulation(X, model, truth, None if ask_again else asked, allowed, every, own)
            for truth, own in zip(truths, rng.spawn(count), strict=True)
        ]
        _run(imagined, shown, target, level, threads, progress)
    figures = np.array([simulation.figures for simulation in imagined])  # (simulations, rounds, 4)
    return Forecast(
        answers=figures[0, :, 0].astype(np.int64),
        doubt=figures[:, :, 1],
        wrong=figures[:, :, 2],
        reliability=figures[:, :, 3],
        known=model.learned_.count(),
        pairs_left=left,
        variances=dict(model.learned_.variances),
        assumed=len(model.learned_.answers) == 0,
        shown=shown,
        level=level,
        target=target,
    )


class _Simulation:
    """A campaign that goes on from here, with the truth known."""

    def __init__(
        self,
        X: Any,
        model: BradleyTerryGP,
        truth: Floats,
        asked: Ints | None,
        candidates: Candidates | None,
        most: int,
        rng: np.random.Generator,
    ) -> None:
        """`asked` are the pairs that are not asked again, or None where all may be; a round has `most` at most."""
        self.X, self.model, self.truth, self.asked = X, model, truth, asked
        self.candidates, self.most, self.rng = candidates, most, rng
        self.groups = candidates.codes if isinstance(candidates, WithinGroups) else None
        n = len(truth)
        self.judged = np.arange(n) if n <= _MOST_ITEMS else rng.choice(n, _MOST_ITEMS, replace=False)
        self.figures = [
            self._figures(0)
        ]  # after each round: more answers, doubt, share in the wrong order, reliability

    def answer(self, low: int, high: int, stop: threading.Event) -> None:
        """From so many further answers to so many."""
        done = low
        while done < high and not stop.is_set():
            size = min(high - done, self.most, max(_LEAST_ROUND, int(_SHARE * self.model.learned_.count())))
            pairs = self._round(size)
            gap = self.truth[pairs[:, 0]] - self.truth[pairs[:, 1]]
            outcomes = np.where(self.rng.random(size) < expit(gap), 1, -1)
            self.model = self.model.with_answers(self.X, pairs, outcomes)
            if self.asked is not None:
                self.asked = np.vstack([self.asked, pairs])
            done += size
            self.figures.append(self._figures(done))

    def _round(self, size: int) -> Ints:
        """The pairs that are asked next."""
        how: dict[str, Any] = {"candidates": self.candidates, "random_state": self.rng, "n_jobs": 1}
        return select(self.X, size, model=self.model, comparisons=self.asked, **how).pairs

    def _figures(self, done: int) -> tuple[float, float, float, float]:
        model = self.model
        if self.groups is None:
            doubt, reliability = model.doubt_, model.reliability_
        else:
            doubt, reliability = model.certainty(self.X, self.groups)
        ranked, truth = model.decision_function(self.X)[self.judged], self.truth[self.judged]
        agree = np.sign(ranked[:, None] - ranked) * np.sign(truth[:, None] - truth)
        compared = ~np.eye(len(truth), dtype=bool)
        if self.groups is not None:
            compared &= self.groups[self.judged][:, None] == self.groups[self.judged]
        wrong = 0.5 - agree[compared].mean() / 2 if compared.any() else 0.0  # a pair that is ranked level is half wrong
        return done, doubt, float(wrong), reliability


def _run(
    imagined: Sequence[_Simulation],
    marks: Ints,
    target: tuple[str, float] | None,
    level: float,
    threads: int,
    progress: bool,
) -> None:
    """Bring all simulations to each of the marks in turn; no further than a target needs."""
    stop, bar = threading.Event(), ProgressBar(progress, len(imagined) * (len(marks) - 1))
    with ThreadPoolExecutor(threads) as pool:
        bar.start()
        try:
            for low, high in pairwise(marks.tolist()):
                if target is not None and _reached(imagined, target, level):
                    return
                bar.describe(f"{high:,} more answers")
                for done in as_completed([pool.submit(one.answer, low, high, stop) for one in imagined]):
                    done.result()
                    bar.advance()
        finally:
            stop.set()  # whoever interrupts this does not wait for all that is left
            bar.stop()


def _reached(imagined: Sequence[_Simulation], target: tuple[str, float], level: float) -> bool:
    """Whether the model claims it by now, whatever is the truth: at the worse end of the interval."""
    _, doubt, _, reliability = np.array([one.figures[-1] for one in imagined]).T
    name, value = target
    if name == "doubt":
        return bool(_interval(doubt, level)[2] <= value)
    return bool(_interval(reliability, level)[0] >= value)


def _interval(drawn: Floats, level: float) -> tuple[Floats, Floats, Floats]:
    """Low end, middle and high end of where one more simulation would be: by Student's t, for its logit."""
    drawn = logit(np.clip(drawn, _NEAREST, 1 - _NEAREST))
    count, middle = len(drawn), drawn.mean(axis=0)
    width = student.ppf((1 + level) / 2, count - 1) * drawn.std(axis=0, ddof=1) * np.sqrt(1 + 1 / count)
    return expit(middle - width), expit(middle), expit(middle + width)


def first_at(answers: Ints, falling: Floats, target: float) -> int | None:
    """After how many answers a curve is down at the target, by a straight line between two rounds; None: never."""
    below = np.flatnonzero(falling <= target + _ROUNDING)
    if len(below) == 0:
        return None
    at = int(below[0])
    if at == 0:
        return 0
    share = (falling[at - 1] - target) / (falling[at - 1] - falling[at])
    return max(1, round(float(answers[at - 1] + share * (answers[at] - answers[at - 1]))))


def _roughly(number: int) -> str:
    """By its first two digits."""
    return f"{float(f'{number:.2g}'):,.0f}"


def _as_target(doubt: Any, reliability: Any) -> tuple[str, float] | None:
    if doubt is not None and reliability is not None:
        raise ValueError("doubt and reliability are both targets; give one of them")
    if doubt is not None:
        return "doubt", as_share(doubt, "doubt")
    return None if reliability is None else ("reliability", as_share(reliability, "reliability"))


def _as_numbers(answers: Iterable[int]) -> list[int]:
    """Ascending numbers of answers."""
    if isinstance(answers, np.ndarray):
        answers = answers.ravel()
    given = answers if isinstance(answers, Iterable) else [answers]
    found = sorted({as_whole(number, "answers") for number in given})
    if not found:
        raise ValueError("answers is empty; name at least one number of further answers")
    return found
