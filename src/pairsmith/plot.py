"""Plots of a fitted model and of a forecast, drawn with matplotlib (`pip install 'pairsmith[plots]'`):

    ps.plot.ranking(model, X)                        scores with their intervals, best first
    ps.plot.calibration(model, X, pairs, outcomes)   predicted probabilities against the share that came true
    ps.plot.parts(model)                             how much of the scores the features explain
    ps.plot.forecast(forecast)                       the doubt after more answers, and the target

Each function draws into `ax`, or by default into a new pyplot figure, which a notebook shows by itself, and returns the
Axes. Text, dots and lines have the text colour of the current style. The areas and bars behind them have colours that
colour-blind people can tell apart and that are visible on white and on black.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri
from sklearn.utils.validation import check_is_fitted

from pairsmith.data.arrays import Floats, as_ordered_pairs
from pairsmith.data.names import printable, shortened
from pairsmith.data.options import as_integer
from pairsmith.data.outcomes import as_outcomes
from pairsmith.model.evidence import summed
from pairsmith.model.gaussian_process import BradleyTerryGP
from pairsmith.model.logistic import average

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["calibration", "forecast", "parts", "ranking"]

BLUE, SKY, ORANGE, GREY = "#0072b2", "#56b4e9", "#e69f00", "0.5"  # the first three are Okabe and Ito's
_PART_STYLES = {  # for each part of a score: a description, the colour of its bar, and the colour of text on the bar
    "linear": ("linear in the features", BLUE, "white"),
    "smooth": ("smooth in the features", SKY, "black"),
    "items": ("the item's own", ORANGE, "black"),
}
_ROW_HEIGHT, _MIN_ROW_HEIGHT = 0.2, 0.17  # inches: in a new figure, and at least
_MAX_ROWS = 40
_SHARE_OF_BEST, _SHARE_OF_WORST = 0.45, 0.2  # the shares of the rows for named items, if there are more items than rows
_MAX_NAME_LENGTH = 36  # characters
_MAX_DISTANCE_OF_TIE = 1e-9  # from 1/2; a prediction within it has no favourite
_PERCENTAGE_WIDTH = 0.45  # inches that a percentage needs on its bar


def __dir__() -> list[str]:
    return __all__


def ranking(model: Any, X: Any = None, *, top: int | None = None, level: float = 0.9, ax: Axes | None = None) -> Axes:
    """Plot scores with their intervals, best first, as `model.rank(X, level)` returns them.

    If there are more items than rows, the best and the worst items have one row each. The items in between are drawn
    closer together, as a line of scores in a band of intervals. If the model gives intervals of ranks, they are at the
    right.

    Parameters
    ----------
    model : fitted BradleyTerry, BradleyTerryCV or BradleyTerryGP
        The model whose ranking is plotted.
    X : array-like or data frame of shape (n_items, n_features), optional
        The items, as for `model.rank`. None is for a BradleyTerryGP without features.
    top : int, optional
        The number of best items to plot. By default all items are plotted.
    level : float, default 0.9
        The level of the intervals.
    ax : matplotlib.axes.Axes, optional
        The axes to draw into. By default a new figure is made.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> import pairsmith as ps
    >>> gp = ps.BradleyTerryGP().fit(n_items=3, comparisons=[(0, 1), (1, 2)], outcomes=[1, 1])
    >>> ax = ps.plot.ranking(gp, ax=Figure().subplots())
    >>> ax.get_title()
    '3 items, best first'
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['0', '1', '2']
    """
    _check_arguments(model, "rank", ax)
    top = None if top is None else as_integer(top, "top")
    _check_items(model, X)
    frame = model.rank(X, level)
    return draw_ranking(frame, level, top, _axes_or_new(ax, size_for(min(len(frame), top or len(frame)))))


def size_for(items: int) -> tuple[float, float]:
    """Return width and height, in inches, of a figure that shows the ranking of this many items."""
    return 7.0, 1.2 + _ROW_HEIGHT * min(items, _MAX_ROWS)


def draw_ranking(ranked: pd.DataFrame, level: float, top: int | None, ax: Axes) -> Axes:
    """Draw the table that `model.rank` returned, or its `top` best items (see `ranking`)."""
    n, drawn = len(ranked), ranked.iloc[:top]
    heights, n_best, n_worst = _row_heights(len(drawn), max(1, int(_size(ax)[1] / _MIN_ROW_HEIGHT)))
    named = np.r_[:n_best, len(drawn) - n_worst : len(drawn)]
    score, low, high = (drawn[name].to_numpy() for name in ("score", "low", "high"))
    ax.hlines(heights[named], low[named], high[named], color=BLUE, lw=2)
    ax.plot(score[named], heights[named], "o", color=_text_colour(), ms=4)
    ticks = {float(heights[at]): shortened(printable(str(drawn.index[at])), _MAX_NAME_LENGTH) for at in named}
    if len(named) < len(drawn):
        between = slice(n_best, len(drawn) - n_worst)
        ax.fill_betweenx(heights[between], low[between], high[between], color=BLUE, alpha=0.6, lw=0)
        ax.plot(score[between], heights[between], color=_text_colour(), lw=1.2)
        for edge in (heights[n_best - 1] + 0.5, *(heights[len(heights) - n_worst :][:1] - 0.5)):
            ax.axhline(edge, color=GREY, ls=":", lw=1)
        ticks |= {float(heights[at - 1]): f"rank {at:,}" for at in _round_numbers(n_best + 1, len(drawn) - n_worst)}
    fonts = fonts_for(ticks.values())
    ax.set_yticks(list(ticks), list(ticks.values()), fontsize=8, fontfamily=fonts, parse_math=False)  # "$" is a letter
    if "best" in drawn:
        _add_ranks(ax, heights[named], drawn.take(named), level)
    items = f"{n:,} item{'s' if n > 1 else ''}"
    ax.set(
        xlabel=f"score, with {100 * level:g}% intervals",
        title=f"{items}, best first" if len(drawn) == n else f"The best {len(drawn):,} of {items}",
        ylim=(heights[-1] + 0.75, -0.75),
    )
    ax.grid(axis="x", alpha=0.25)
    ax.spines[["left", "top", "right"]].set_visible(False)
    ax.tick_params(left=False)
    return ax


def fonts_for(texts: Iterable[str]) -> list[str]:
    """Return the font families of the current style, and installed ones with the characters that these lack.

    Warn about characters that no installed font has.
    """
    from matplotlib import font_manager, rcParams

    families = list(rcParams["font.family"])
    missing = {letter for text in texts for letter in text if not letter.isspace()}
    for family in families:
        missing -= _characters(font_manager.findfont(font_manager.FontProperties(family=[family])))
    if not missing:
        return families
    upright = [font for font in font_manager.fontManager.ttflist if font.style == "normal" and font.weight == 400]
    # The font "Last Resort" draws a box for every character.
    characters = {font.name: _characters(font.fname) & missing for font in upright if "Last Resort" not in font.name}
    while missing and characters:
        family = max(characters, key=lambda name: len(characters[name] & missing))
        if not characters[family] & missing:
            break
        families.append(family)
        missing -= characters[family]
    if missing:
        some = ", ".join(sorted(missing)[:5]) + (f" and {len(missing) - 5} more" if len(missing) > 5 else "")
        warnings.warn(
            f"no installed font has the characters {some}, so the plot shows boxes; install a font that has them (for"
            " Chinese, Japanese and Korean, Noto Sans CJK)",
            stacklevel=3,
        )
    return families


def _characters(path: str) -> set[str]:
    """Return the characters of the font in this file, or none if the file cannot be read."""
    from matplotlib.font_manager import get_font

    try:
        return set(map(chr, get_font(path).get_charmap()))
    except (OSError, RuntimeError):
        return set()


def _add_ranks(ax: Axes, heights: Floats, drawn: pd.DataFrame, level: float) -> None:
    """Write the intervals of ranks of these items at the right."""
    ranges = [
        f"{best:,} to {worst:,}" if best < worst else f"{best:,}"
        for best, worst in zip(drawn["best"], drawn["worst"], strict=True)
    ]
    right = ax.secondary_yaxis("right")
    right.set_yticks(heights, ranges, fontsize=8)
    right.tick_params(right=False)
    right.spines[:].set_visible(False)
    ax.annotate(
        f"rank, {100 * level:g}%", (1, 1), (4, 2), xycoords="axes fraction", textcoords="offset points", fontsize=8
    )


def _row_heights(n: int, rows: int) -> tuple[Floats, int, int]:
    """Return the height at which each of n items is drawn, in rows from the top.

    Also return how many of the best and of the worst items have a row of their own.
    """
    if n <= rows:
        return np.arange(n, dtype=np.float64), n, 0
    n_best, n_worst = max(1, int(_SHARE_OF_BEST * rows)), int(_SHARE_OF_WORST * rows)
    n_between, rows_between = n - n_best - n_worst, max(1, rows - n_best - n_worst)
    between = n_best - 0.5 + rows_between * (np.arange(n_between) + 0.5) / n_between
    worst = n_best + rows_between + np.arange(n_worst)
    return np.concatenate([np.arange(n_best), between, worst]), n_best, n_worst


def _round_numbers(low: int, high: int) -> list[int]:
    """Return a few round numbers from low to high."""
    from matplotlib.ticker import MaxNLocator

    return [int(at) for at in MaxNLocator(5, integer=True).tick_values(low, high) if low <= at <= high]


def calibration(
    model: Any,
    X: Any = None,
    pairs: npt.ArrayLike | None = None,
    outcomes: npt.ArrayLike | None = None,
    *,
    bins: int = 5,
    level: float = 0.9,
    ax: Axes | None = None,
) -> Axes:
    """Plot the share of answers that came true against their predicted probability.

    The points of a well calibrated model are on the diagonal. Which item of a pair comes first has no meaning, so each
    answer is counted for the favourite, the item that `model.compare` prefers. For each bin of probabilities from 1/2
    to 1, x is the mean probability of the favourites, and y is the share that they won, with a Wilson interval. A tie
    counts as half, and so does an answer without a favourite. The number of answers of each bin is above it.

    Parameters
    ----------
    model : fitted BradleyTerry, BradleyTerryCV or BradleyTerryGP
        The model whose predictions are checked.
    X : array-like or data frame of shape (n_items, n_features), optional
        The items, as for `model.compare`.
    pairs : array-like of int of shape (n_answers, 2), optional
        Pairs that the model was not fitted to. A BradleyTerryGP needs none: by default its own answers are used, and
        each pair is predicted from the other answers. This is leave-one-out, approximately, by the cavity of
        expectation propagation, with variances that were learned from all answers.
    outcomes : array-like of shape (n_answers,), optional
        The outcomes of `pairs`, as for `model.fit`.
    bins : int, default 5
        The number of bins of equal width.
    level : float, default 0.9
        The level of the intervals.
    ax : matplotlib.axes.Axes, optional
        The axes to draw into. By default a new figure is made.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> import pairsmith as ps
    >>> X = [[0.0], [1.0], [2.0], [3.0]]
    >>> model = ps.BradleyTerry(ridge=0.1).fit(X, comparisons=[(1, 0), (2, 3)], outcomes=[1, -1])
    >>> ax = ps.plot.calibration(model, X, [(3, 0), (2, 0)], [1, 1], ax=Figure().subplots())
    >>> ax.get_xlabel()
    'predicted probability that the favourite wins'
    """
    _check_arguments(model, "compare", ax)
    bins = as_integer(bins, "bins")
    if not isinstance(level, int | float | np.number) or not 0 < level < 1:
        raise ValueError(f"level must be between 0 and 1, got {level!r}")
    if pairs is None and outcomes is None:
        p, won, lost = _leave_one_out(model)
        whose = "answers, each left out\nin turn (approximately)"
    else:
        p, won, lost = _predict_held_out(model, X, pairs, outcomes)
        whose = "held-out answers"
    middle, count, predicted, came_true = _bin(p, won, lost, bins)
    low, high = _wilson_interval(came_true, count, level)
    ax = _axes_or_new(ax, (5.5, 5.0))
    ax.plot([0.5, 1], [0.5, 1], ls="--", color=GREY, lw=1, label="as predicted")
    ax.vlines(predicted, low, high, color=BLUE, lw=2)
    ax.plot(predicted, came_true, "o", color=_text_colour(), ms=5, clip_on=False, label=f"{count.sum():,g} {whose}")
    ax.set(
        xlim=(0.5, 1),
        ylim=(min(0.5, np.floor(10 * low.min()) / 10), 1.0),
        xlabel="predicted probability that the favourite wins",
        ylabel=f"share that it won, with {100 * level:g}% intervals",
    )
    counts = ax.secondary_xaxis("top")
    counts.set_xticks(middle, [f"{number:,g}" for number in count], fontsize=8)
    counts.tick_params(top=False)
    counts.set_xlabel("answers")
    counts.spines[:].set_visible(False)
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(alpha=0.25)
    ax.legend(loc="best", frameon=False, fontsize="small")
    return ax


def _predict_held_out(model: Any, X: Any, pairs: Any, outcomes: Any) -> tuple[Floats, Floats, Floats]:
    """Return P(first beats second) of each pair, and how many answers each of the two items won."""
    if pairs is None or outcomes is None:
        raise ValueError("pairs and outcomes belong together; give both or neither")
    ordered = as_ordered_pairs(pairs, "pairs")
    wins = as_outcomes(outcomes, len(ordered))
    _check_items(model, X)
    if len(ordered) == 0:
        raise ValueError("pairs is empty; give answers that the model was not fitted to")
    won = (wins + 1) / 2
    return model.compare(X, ordered), won, 1 - won


def _leave_one_out(model: Any) -> tuple[Floats, Floats, Floats]:
    """Return the same for the pairs that the model was fitted to, each predicted from all other answers."""
    if not isinstance(model, BradleyTerryGP):
        raise ValueError("pairs and outcomes are missing: give answers that the model was not fitted to")
    check_is_fitted(model)
    learned = model.fitted_
    is_pair = learned.answers.second < len(learned.items)  # otherwise a label: the threshold comes after the items
    answers, propagated = learned.answers.part(is_pair), learned.propagated
    if len(answers) == 0:
        raise ValueError("the model was fitted to no answers; give X, pairs and outcomes")
    mean = answers.slope * propagated.cavity_mean[is_pair] + answers.shift
    p = average(mean, answers.slope * np.sqrt(propagated.cavity_variance[is_pair]))
    return p, answers.won, answers.lost


def _bin(p: Floats, won: Floats, lost: Floats, bins: int) -> tuple[Floats, Floats, Floats, Floats]:
    """Return four arrays about the bins that are not empty.

    These are the middle of the bin, its number of answers, the mean probability of its favourites, and the share of the
    answers that they won.
    """
    total, favourite = won + lost, np.maximum(p, 1 - p)
    right = np.where(np.abs(p - 0.5) < _MAX_DISTANCE_OF_TIE, total / 2, np.where(p > 0.5, won, lost))
    number = np.minimum(((favourite - 0.5) * 2 * bins).astype(np.int64), bins - 1)
    count, predicted, came_true = (summed(number, values, bins) for values in (total, total * favourite, right))
    used = np.flatnonzero(count)
    return 0.5 + (used + 0.5) / (2 * bins), count[used], predicted[used] / count[used], came_true[used] / count[used]


def _wilson_interval(share: Floats, count: Floats, level: float) -> tuple[Floats, Floats]:
    """Return the Wilson interval: all q for which `share` is within z sqrt(q (1 - q) / count) of q."""
    z = float(ndtri((1 + level) / 2))
    center = (share + z**2 / (2 * count)) / (1 + z**2 / count)
    half = z / (1 + z**2 / count) * np.sqrt(share * (1 - share) / count + z**2 / (4 * count**2))
    return center - half, center + half


def parts(model: Any, *, ax: Axes | None = None) -> Axes:
    """Plot how much of the scores is linear in the features, smooth in them, and the items' own: `model.shares_`.

    The bar is the variance of the scores of the fitted items, under the variances that the model learned. Its segments
    are the contributions of the parts.

    Parameters
    ----------
    model : fitted BradleyTerryGP
        The model. The scores of the other models have one part only.
    ax : matplotlib.axes.Axes, optional
        The axes to draw into. By default a new figure is made.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> import pairsmith as ps
    >>> gp = ps.BradleyTerryGP(linear=1.0, smooth=1.0, items=1.0).fit([[0.0], [1.0], [2.0]])
    >>> ax = ps.plot.parts(gp, ax=Figure().subplots())
    >>> [text.get_text().split(":")[0] for text in ax.get_legend().get_texts()]
    ['linear in the features', 'smooth in the features', "the item's own"]
    """
    if not isinstance(model, BradleyTerryGP):
        raise ValueError(f"model must be a fitted BradleyTerryGP, whose scores have parts; got {type(model).__name__}")
    check_is_fitted(model)
    _check_arguments(model, "rank", ax)
    ax = _axes_or_new(ax, (7.0, 1.9))
    left, min_share_with_text = 0.0, _PERCENTAGE_WIDTH / _size(ax)[0]
    for name, (description, colour, text_colour) in _PART_STYLES.items():
        share = model.shares_[name]
        ax.barh(0, share, left=left, height=0.8, color=colour, label=f"{description}: {share:.0%}")
        if share >= min_share_with_text:
            ax.text(left + share / 2, 0, f"{share:.0%}", color=text_colour, ha="center", va="center")
        left += share
    ax.set(xlim=(0, 1), xlabel="share of the variance of scores", yticks=[])
    ax.xaxis.set_major_formatter(lambda at, _: f"{at:.0%}")
    ax.spines[["left", "top", "right"]].set_visible(False)
    ax.legend(loc="lower left", bbox_to_anchor=(0, 1), frameon=False, borderaxespad=0)
    return ax


def forecast(forecast: Any, *, ax: Axes | None = None) -> Axes:
    """Plot the doubt that the model will claim after more answers, with its interval, and the target.

    If the target is a reliability, plot the reliability instead. The dots are the share of pairs of items that are
    truly in the wrong order in the simulations.

    Parameters
    ----------
    forecast : Forecast
        The result of `ps.forecast`.
    ax : matplotlib.axes.Axes, optional
        The axes to draw into. By default a new figure is made.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> import pairsmith as ps
    >>> ahead = ps.forecast(n_items=6, answers=[10], simulations=2, n_jobs=1)
    >>> ps.plot.forecast(ahead, ax=Figure().subplots()).get_xlabel()
    'more answers (after 0)'
    """
    if not callable(getattr(forecast, "interval", None)):
        raise ValueError(f"forecast must be the result of ps.forecast, got {type(forecast).__name__}")
    _check_axes(ax)
    ax = _axes_or_new(ax, (7.0, 4.0))
    name, value = forecast.target or ("doubt", None)
    low, middle, high = forecast.interval(name)
    ax.fill_between(forecast.answers, low, high, color=BLUE, alpha=0.3, lw=0, label=f"{forecast.level:.0%} interval")
    ax.plot(forecast.answers, middle, color=BLUE, lw=2, label=f"{name}, as the model will claim it")
    if name == "doubt":
        wrong = forecast.wrong.mean(axis=0)
        ax.plot(forecast.answers, wrong, "o", color=_text_colour(), ms=4, label="truly in the wrong order")
        ax.yaxis.set_major_formatter(lambda at, _: f"{at:.0%}")
    if value is not None:
        ax.axhline(value, color=ORANGE, ls="--", lw=1.5, label="target")
    ax.set(
        xlabel=f"more answers (after {forecast.answers_so_far:,})",
        ylabel=name,
        xlim=(0, max(1, forecast.answers[-1])),
    )
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(alpha=0.25)
    ax.legend(frameon=False)
    return ax


def _check_arguments(model: Any, method: str, ax: Any) -> None:
    """Refuse a model without this method, and anything but Axes, before any work."""
    if isinstance(model, type) or not callable(getattr(model, method, None)):
        raise ValueError(
            f"model must be a fitted BradleyTerry, BradleyTerryCV or BradleyTerryGP, got {type(model).__name__}"
        )
    _check_axes(ax)


def _check_axes(ax: Any) -> None:
    if find_spec("matplotlib") is None:
        raise ValueError("plots need matplotlib; pip install 'pairsmith[plots]'")
    from matplotlib.axes import Axes

    if ax is not None and not isinstance(ax, Axes):
        raise ValueError(f"ax must be one matplotlib Axes, got {type(ax).__name__}")


def _check_items(model: Any, X: Any) -> None:
    """Refuse X=None if the model was fitted to features."""
    if X is None and getattr(model, "n_features_in_", None):
        raise ValueError(f"X is missing: the model was fitted to {model.n_features_in_} features")


def _axes_or_new(ax: Axes | None, size: tuple[float, float]) -> Axes:
    """Return `ax`, or the axes of a new figure of this size."""
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=size, layout="constrained")[1]


def _text_colour() -> str:
    """Return the text colour of the current style, which is visible on its background."""
    import matplotlib

    return str(matplotlib.rcParams["text.color"])


def _size(ax: Axes) -> tuple[float, float]:
    """Return width and height in inches, roughly: constrained layout may still change them."""
    box, dpi = ax.get_window_extent(), ax.figure.dpi
    return box.width / dpi, box.height / dpi
