"""Forecasts of how many more answers a ranking needs: forecast() simulates them.

A simulation draws true scores from everything that is known about them (`model.imagined`). Simulated people, who err
as often as the model says, compare the pairs that select() picks round after round, and the model is fitted to their
answers, as in a campaign. The doubt and reliability that the model then claims are what a user will be shown at that
point. A simulation knows the true scores, so it also counts the pairs of items in the wrong order. Both agree if the
model's assumptions hold.
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
from pairsmith.data.options import as_fraction, as_generator, as_integer, as_threads
from pairsmith.design.blas import single_threaded_blas
from pairsmith.model.gaussian_process import BradleyTerryGP
from pairsmith.selection.models import check_gaussian_process, is_gaussian_process
from pairsmith.selection.problem import as_candidates
from pairsmith.selection.run import ProgressBar
from pairsmith.selection.select import select
from pairsmith.selection.start import start_from_posterior

if TYPE_CHECKING:
    import pandas as pd

_DEFAULT_ANSWERS = (50, 100, 200, 400)  # numbers of further answers if the user names none
_DEFAULT_ANSWERS_TO_TARGET = (50, 100, 200, 400, 800, 1600)
_MIN_ROUND, _ROUND_SHARE = 20, 0.2  # pairs per round: at least 20, otherwise this share of the answers so far
_MAX_JUDGED_ITEMS = 1000  # items whose true order is compared with the ranking, a random sample if there are more
_LOGIT_MARGIN = 1e-4  # figures are kept this far from 0 and 1 before their logits are taken
_ROUNDING = 1e-12  # rounding error of expit(logit(x))


class AnswersNeeded(NamedTuple):
    """How many more answers a target takes; None if the simulations end before it is reached."""

    about: int | None
    low: int | None
    high: int | None


@dataclass(frozen=True)
class Forecast:
    """What simulations say about the time after more answers.

    The arrays of figures have one row per simulation and one column per entry of `answers`.

    Attributes
    ----------
    answers : array of int of shape (n_points,)
        Numbers of further answers. The first is 0.
    doubt : array of shape (n_simulations, n_points)
        The doubt that the model claims: the expected share of pairs of items in the wrong order.
    wrong : array of shape (n_simulations, n_points)
        The share of pairs of items that truly are in the wrong order.
    reliability : array of shape (n_simulations, n_points)
        The reliability that the model claims.
    answers_so_far : int
        The number of answers that the model was fitted to.
    pairs_left : int or None
        The number of pairs that can still be asked; None if pairs may be asked again.
    variances : dict of str to float
        The variance of each part of the scores.
    table_answers : array of int
        The entries of `answers` that `to_frame` lists.
    level : float
        The level of the intervals: the probability that an interval holds, if the model's assumptions hold.
    target : tuple of (str, float), or None
        "doubt" or "reliability", and the value to reach.
    variances_are_assumed : bool
        Whether the variances are assumptions, because the model has no answers or labels yet.

    Examples
    --------
    >>> import pairsmith as ps
    >>> forecast = ps.forecast([[0.0], [1.0], [2.0], [4.0]], answers=[6], simulations=2, n_jobs=1)
    >>> forecast.answers.tolist(), forecast.answers_so_far, forecast.doubt.shape
    ([0, 6], 0, (2, 2))
    >>> low, middle, high = forecast.interval("doubt")
    >>> bool((low <= middle).all() and (middle <= high).all())
    True
    """

    answers: Ints
    doubt: Floats
    wrong: Floats
    reliability: Floats
    answers_so_far: int
    pairs_left: int | None
    variances: dict[str, float]
    table_answers: Ints = field(repr=False)
    level: float = 0.9
    target: tuple[str, float] | None = None
    variances_are_assumed: bool = False

    def interval(self, name: str) -> tuple[Floats, Floats, Floats]:
        """Return intervals of a figure after each number of answers.

        Parameters
        ----------
        name : str
            "doubt" or "reliability".

        Returns
        -------
        low, middle, high : arrays of shape (n_points,)
            The ends and the middle of the interval for each entry of `answers`.
        """
        return _interval(getattr(self, name), self.level)

    def to_frame(self) -> pd.DataFrame:
        """Return a table with one row per number of further answers.

        Returns
        -------
        pandas.DataFrame
            With the columns answers, doubt and reliability, which the model will claim, the ends of their intervals
            (doubt_low, doubt_high, reliability_low, reliability_high), and wrong, the true share of pairs of items in
            the wrong order.
        """
        import pandas as pd

        columns: dict[str, Any] = {"answers": self.answers}
        for name in ("doubt", "reliability"):
            low, middle, high = self.interval(name)
            columns |= {name: middle, f"{name}_low": low, f"{name}_high": high}
            if name == "doubt":
                columns["wrong"] = self.wrong.mean(axis=0)
        return pd.DataFrame(columns)[np.isin(self.answers, self.table_answers)].reset_index(drop=True)

    def needed(self, *, doubt: float | None = None, reliability: float | None = None) -> AnswersNeeded:
        """Return how many more answers it takes until the model claims the target.

        Parameters
        ----------
        doubt, reliability : float, optional
            The target, one of the two. By default the target of the forecast.

        Returns
        -------
        AnswersNeeded
            A named tuple of `about`, `low` and `high`. Each is None if the simulations end before the target.
        """
        name, value = _as_target(doubt, reliability) or self.target or (None, 0.0)
        if name is None:
            raise ValueError("needed: name a target, doubt= or reliability=")
        low, middle, high = self.interval(name)
        if name == "reliability":
            low, middle, high, value = -high, -middle, -low, -value
        return AnswersNeeded(*(first_crossing(self.answers, curve, value) for curve in (middle, low, high)))

    def sentences(self) -> list[str]:
        """Describe the forecast in sentences."""
        last = int(self.answers[-1])
        (low, middle, high), (_, reliability, _) = self.interval("doubt"), self.interval("reliability")
        sentences = [
            f"Now, after {self.answers_so_far:,} answer{'' if self.answers_so_far == 1 else 's'}: doubt"
            f" {middle[0]:.1%}, reliability {reliability[0]:.2f}."
        ]
        if self.target is not None:
            sentences.insert(0, self._sentence_about_target(*self.target))
        if last == 0:
            return sentences
        sentences.append(
            f"After {last:,} more: doubt {middle[-1]:.1%} ({low[-1]:.1%} to {high[-1]:.1%}), reliability"
            f" {reliability[-1]:.2f}."
        )
        sentences.append(
            f"By {len(self.doubt)} simulations, with {self.level:.0%} intervals. Doubt is the chance that two items"
            " stand in the wrong order, as the model will claim it; in the simulations"
            f" {self.wrong[:, -1].mean():.1%} do in the end."
        )
        if self.variances_are_assumed:
            parts = ", ".join(f"{name} {value:.2g}" for name, value in self.variances.items() if value > 0)
            sentences.append(
                f"How far scores lie apart is assumed before the first answer (variances: {parts}), and all depends on"
                " it; forecast again after some 50 answers."
            )
        return sentences

    def _sentence_about_target(self, name: str, value: float) -> str:
        goal = f"{100 * value:.3g}% doubt" if name == "doubt" else f"A reliability of {value:.3g}"
        about, low, high = self.needed()
        last = int(self.answers[-1])
        if about == 0:
            return f"{goal}: reached already."
        beyond = f"more than {last:,}" + (", all pairs that are left" if last == self.pairs_left else "")
        if about is None:
            return f"{goal}: {beyond}" + ("." if low is None else f"; at best {roughly(low)}.")
        until = beyond if high is None else roughly(high)
        return f"{goal}: about {roughly(about)} more, {roughly(low or 0)} to {until}."

    def _repr_html_(self) -> str:
        """Return the sentences and the table as HTML, for notebooks."""
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
    """Forecast doubt and reliability after more answers, and how many answers a target takes.

    The forecast simulates rounds of pairs that `select` picks under the model. A round has a fifth as many pairs as
    there are answers so far, but at least 20.

    Parameters
    ----------
    X : array-like or data frame of shape (n_items, n_features), or fitted BradleyTerryGP, optional
        The items, as `select` takes them. None means items without features. The model may also come first:
        forecast(gp, X) is forecast(X, model=gp).
    items : array-like or data frame, optional
        The items, if the model comes first.
    model : fitted BradleyTerryGP, optional
        What is known about the items. By default this is `BradleyTerryGP().fit(X)`, the model before the first answer,
        which assumes how far the scores lie apart. For other assumptions, pass a model such as
        `BradleyTerryGP(items=2.0).fit(X)`.
    n_items : int, optional
        The number of items, if X and model are None.
    doubt, reliability : float, optional
        A target, one of the two. The simulations end once it is certain that the target is reached.
    answers : iterable of int, optional
        Numbers of further answers to forecast for. By default 50, 100, 200 and 400, with a target up to 1,600.
    candidates : AllPairs, WithinGroups, Among, PairList or array-like of shape (n_candidates, 2), optional
        The pairs that may be asked. With groups, doubt and reliability are about pairs within groups.
    ask_again : bool, default False
        Whether a pair may be asked in several rounds, as in campaigns with answers_per_pair="auto". By default a pair
        is asked once, and pairs with an answer in the model are not asked again.
    simulations : int, default 8
        The number of simulations. More simulations make the intervals more stable, not narrower.
    level : float, default 0.9
        The level of the intervals.
    random_state : None, int or numpy.random.Generator, default 0
        The seed of the simulations.
    n_jobs : int, optional
        The number of threads. None and -1 mean all cores, -2 all but one. The result does not depend on it.
    progress : bool, default False
        Whether to show a progress bar on standard error.

    Returns
    -------
    Forecast
        The simulated figures; `needed()` says how many answers a target takes.

    Raises
    ------
    ValueError
        If an argument is invalid, or if no pair is left to ask about.

    Examples
    --------
    >>> import pairsmith as ps
    >>> forecast = ps.forecast(n_items=6, answers=[10], simulations=2, n_jobs=1)
    >>> forecast.to_frame()["answers"].tolist()
    [0, 10]
    >>> forecast.needed(doubt=0.45).about is not None
    True
    """
    target, threads, rng = _as_target(doubt, reliability), as_threads(n_jobs), as_generator(random_state)
    count, level = as_integer(simulations, "simulations", least=2), as_fraction(level, "level")
    if is_gaussian_process(X) and model is None:
        X, model = items, X
    elif items is not None:
        raise ValueError("items is for a model that comes first, as in forecast(gp, X); leave it out")
    default_answers = _DEFAULT_ANSWERS if target is None else _DEFAULT_ANSWERS_TO_TARGET
    requested = _as_numbers(default_answers if answers is None else answers)
    allowed = as_candidates(candidates)
    if model is not None and n_items is not None:
        raise ValueError("n_items is for X=None without a model; leave it out, since the model determines it")
    model = BradleyTerryGP().fit(X, n_items=n_items) if model is None else model
    check_gaussian_process(model)
    model.own_coordinates(X)  # refuses other items
    answered = start_from_posterior(model, X).answered
    assert answered is not None
    total = remaining_pairs(allowed, model.n_items_, answered[:0]).max_picks()
    left = None if ask_again else remaining_pairs(allowed, model.n_items_, answered).max_picks()
    if total == 0 or left == 0:
        nothing = "there is only one item" if allowed is None else "candidates has no pair"
        why = "every pair has been answered" if total else nothing
        raise ValueError(f"{why}; there is none left to ask about, and nothing to forecast")
    last = requested[-1] if left is None else min(left, requested[-1])
    marks = np.array([0, *(number for number in requested if number < last), last])
    with single_threaded_blas():
        truths = model.imagined(X, rng, count)
        simulated = [
            _Simulation(X, model, truth, None if ask_again else answered, allowed, total, own_rng)
            for truth, own_rng in zip(truths, rng.spawn(count), strict=True)
        ]
        _run(simulated, marks, target, level, threads, progress)
    figures = np.array([simulation.figures for simulation in simulated])  # (simulations, rounds, 4)
    return Forecast(
        answers=figures[0, :, 0].astype(np.int64),
        doubt=figures[:, :, 1],
        wrong=figures[:, :, 2],
        reliability=figures[:, :, 3],
        answers_so_far=model.fitted_.count(),
        pairs_left=left,
        variances=dict(model.fitted_.variances),
        variances_are_assumed=len(model.fitted_.answers) == 0,
        table_answers=marks,
        level=level,
        target=target,
    )


class _Simulation:
    """A simulated campaign from now on, whose true scores are known."""

    def __init__(
        self,
        X: Any,
        model: BradleyTerryGP,
        true_scores: Floats,
        closed: Ints | None,
        candidates: Candidates | None,
        max_round: int,
        rng: np.random.Generator,
    ) -> None:
        """Start from the model. `closed` are the pairs that are not asked again; None: every pair may be."""
        self.X, self.model, self.true_scores, self.closed = X, model, true_scores, closed
        self.candidates, self.max_round, self.rng = candidates, max_round, rng
        self.groups = candidates.codes if isinstance(candidates, WithinGroups) else None
        n = len(true_scores)
        self.judged = np.arange(n) if n <= _MAX_JUDGED_ITEMS else rng.choice(n, _MAX_JUDGED_ITEMS, replace=False)
        # After each round: further answers, doubt, share of pairs in the wrong order, reliability.
        self.figures = [self._figures(0)]

    def answer(self, low: int, high: int, stop: threading.Event) -> None:
        """Simulate the further answers from number `low` to number `high`, in rounds."""
        done = low
        while done < high and not stop.is_set():
            size = min(high - done, self.max_round, max(_MIN_ROUND, int(_ROUND_SHARE * self.model.fitted_.count())))
            pairs = self._next_round(size)
            gap = self.true_scores[pairs[:, 0]] - self.true_scores[pairs[:, 1]]
            outcomes = np.where(self.rng.random(size) < expit(gap), 1, -1)
            self.model = self.model.with_answers(self.X, pairs, outcomes)
            if self.closed is not None:
                self.closed = np.vstack([self.closed, pairs])
            done += size
            self.figures.append(self._figures(done))

    def _next_round(self, size: int) -> Ints:
        return select(
            self.X,
            size,
            model=self.model,
            comparisons=self.closed,
            candidates=self.candidates,
            random_state=self.rng,
            n_jobs=1,
        ).pairs

    def _figures(self, done: int) -> tuple[float, float, float, float]:
        model = self.model
        if self.groups is None:
            doubt, reliability = model.doubt_, model.reliability_
        else:
            doubt, reliability = model.certainty(self.X, self.groups)
        scores, truth = model.decision_function(self.X)[self.judged], self.true_scores[self.judged]
        agreement = np.sign(scores[:, None] - scores) * np.sign(truth[:, None] - truth)
        counted = ~np.eye(len(truth), dtype=bool)
        if self.groups is not None:
            counted &= self.groups[self.judged][:, None] == self.groups[self.judged]
        wrong = 0.5 - agreement[counted].mean() / 2 if counted.any() else 0.0  # two equal scores count as half wrong
        return done, doubt, float(wrong), reliability


def _run(
    simulations: Sequence[_Simulation],
    marks: Ints,
    target: tuple[str, float] | None,
    level: float,
    threads: int,
    progress: bool,
) -> None:
    """Run all simulations up to each of the marks in turn, and stop once the target is certain to be reached."""
    stop, bar = threading.Event(), ProgressBar(progress, len(simulations) * (len(marks) - 1))
    with ThreadPoolExecutor(threads) as pool:
        bar.start()
        try:
            for low, high in pairwise(marks.tolist()):
                if target is not None and _is_reached(simulations, target, level):
                    return
                bar.describe(f"{high:,} more answers")
                for done in as_completed([pool.submit(one.answer, low, high, stop) for one in simulations]):
                    done.result()
                    bar.advance()
        finally:
            stop.set()  # after an interruption, do not wait for all remaining rounds
            bar.stop()


def _is_reached(simulations: Sequence[_Simulation], target: tuple[str, float], level: float) -> bool:
    """Return whether the worse end of the interval has reached the target."""
    _, doubt, _, reliability = np.array([one.figures[-1] for one in simulations]).T
    name, value = target
    if name == "doubt":
        return bool(_interval(doubt, level)[2] <= value)
    return bool(_interval(reliability, level)[0] >= value)


def _interval(figures: Floats, level: float) -> tuple[Floats, Floats, Floats]:
    """Return low end, middle and high end of the prediction interval for one more simulation.

    It is Student's t interval for the logits of the figures.
    """
    logits = logit(np.clip(figures, _LOGIT_MARGIN, 1 - _LOGIT_MARGIN))
    count, middle = len(logits), logits.mean(axis=0)
    width = student.ppf((1 + level) / 2, count - 1) * logits.std(axis=0, ddof=1) * np.sqrt(1 + 1 / count)
    return expit(middle - width), expit(middle), expit(middle + width)


def first_crossing(answers: Ints, falling: Floats, target: float) -> int | None:
    """Return the number of answers at which a falling curve reaches the target, interpolated linearly; None: never."""
    below = np.flatnonzero(falling <= target + _ROUNDING)
    if len(below) == 0:
        return None
    at = int(below[0])
    if at == 0:
        return 0
    share = (falling[at - 1] - target) / (falling[at - 1] - falling[at])
    return max(1, round(float(answers[at - 1] + share * (answers[at] - answers[at - 1]))))


def roughly(number: int) -> str:
    """Format a number with two significant digits."""
    return f"{float(f'{number:.2g}'):,.0f}"


def _as_target(doubt: Any, reliability: Any) -> tuple[str, float] | None:
    if doubt is not None and reliability is not None:
        raise ValueError("doubt and reliability are both targets; give one of them")
    if doubt is not None:
        return "doubt", as_fraction(doubt, "doubt")
    return None if reliability is None else ("reliability", as_fraction(reliability, "reliability"))


def _as_numbers(answers: Iterable[int]) -> list[int]:
    """Return numbers of answers as a sorted list without duplicates."""
    if isinstance(answers, np.ndarray):
        answers = answers.ravel()
    numbers = answers if isinstance(answers, Iterable) else [answers]
    ascending = sorted({as_integer(number, "answers") for number in numbers})
    if not ascending:
        raise ValueError("answers is empty; name at least one number of further answers")
    return ascending
