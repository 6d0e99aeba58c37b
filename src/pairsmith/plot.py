"""Pictures of a fitted model and of a forecast, drawn with matplotlib (`pip install 'pairsmith[plots]'`):

    ps.plot.ranking(model, X)                        scores with their intervals, best first
    ps.plot.calibration(model, X, pairs, outcomes)   whether what it predicts comes true as often as it says
    ps.plot.parts(model)                             how much of the scores features explain
    ps.plot.forecast(forecast)                              the doubt that is to come, and where a target is reached

Each draws into `ax`, or else into a new figure of pyplot's, which a notebook shows by itself, and returns the Axes.
Texts, dots and lines have the colour of texts in the style in use, and what lies behind them colours that are safe for
the colour-blind and seen on white and on black.
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
from pairsmith.data.options import as_whole
from pairsmith.data.outcomes import as_outcomes
from pairsmith.model.gaussian_process import BradleyTerryGP
from pairsmith.model.logistic import average
from pairsmith.model.posterior import summed

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

BLUE, SKY, ORANGE, GREY = "#0072b2", "#56b4e9", "#e69f00", "0.5"  # the first three are Okabe and Ito's
PARTS = {  # of a score: what it is, its colour, and that of the text on it
    "linear": ("linear in the features", BLUE, "white"),
    "smooth": ("smooth in the features", SKY, "black"),
    "items": ("the item's own", ORANGE, "black"),
}
_ROW, _LEAST_ROW = 0.2, 0.17  # inches that an item with a name takes, and at least needs
_MOST_ROWS = 40
_FIRST, _LAST = 0.45, 0.2  # of the rows, where there are more items: for the best and the worst, with names
_LONGEST = 36  # characters of a name
_UNDECIDED = 1e-9  # as near as this to 1/2 a prediction has no favourite
_PERCENTAGE = 0.45  # inches that one needs, to be written on its bar


def ranking(model: Any, X: Any = None, *, top: int | None = None, level: float = 0.9, ax: Axes | None = None) -> Axes:
    """Scores with their intervals, best first: what `model.rank(X, level)` says.

    Where there are more items than rows, the best and the worst have a row each, and those between are drawn closer
    together, as a line of scores in a band of intervals. At the right are the ranks that an item could have, at this
    level, where the model tells them.

    Parameters
    ----------
    model : a fitted BradleyTerry, BradleyTerryCV or BradleyTerryGP.
    X : the items, as for `model.rank`; None for a BradleyTerryGP without features.
    top : only so many of the best. level : of the intervals. ax : where to draw.
    """
    _check(model, "rank", ax)
    top = None if top is None else as_whole(top, "top")
    _check_items(model, X)
    frame = model.rank(X, level)
    return draw_ranking(frame, level, top, _axes(ax, size_for(min(len(frame), top or len(frame)))))


def size_for(items: int) -> tuple[float, float]:
    """Width and height, in inches, of a figure of the ranking of so many items."""
    return 7.0, 1.2 + _ROW * min(items, _MOST_ROWS)


def draw_ranking(ranked: pd.DataFrame, level: float, top: int | None, ax: Axes) -> Axes:
    """Draw what `rank` of a model gave, or only so many of the best; see `ranking`."""
    n, shown = len(ranked), ranked.iloc[:top]
    place, first, last = _places(len(shown), max(1, int(_size(ax)[1] / _LEAST_ROW)))
    named = np.r_[:first, len(shown) - last : len(shown)]
    score, low, high = (shown[name].to_numpy() for name in ("score", "low", "high"))
    ax.hlines(place[named], low[named], high[named], color=BLUE, lw=2)
    ax.plot(score[named], place[named], "o", color=_ink(), ms=4)
    ticks = {float(place[at]): shortened(printable(str(shown.index[at])), _LONGEST) for at in named}
    if len(named) < len(shown):
        between = slice(first, len(shown) - last)
        ax.fill_betweenx(place[between], low[between], high[between], color=BLUE, alpha=0.6, lw=0)
        ax.plot(score[between], place[between], color=_ink(), lw=1.2)
        for edge in (place[first - 1] + 0.5, *(place[len(place) - last :][:1] - 0.5)):
            ax.axhline(edge, color=GREY, ls=":", lw=1)
        ticks |= {float(place[at - 1]): f"rank {at:,}" for at in _round_numbers(first + 1, len(shown) - last)}
    fonts = fonts_for(ticks.values())
    ax.set_yticks(list(ticks), list(ticks.values()), fontsize=8, fontfamily=fonts, parse_math=False)  # "$" is a letter
    if "best" in shown:
        _add_ranks(ax, place[named], shown.take(named), level)
    items = f"{n:,} item{'s' if n > 1 else ''}"
    ax.set(
        xlabel=f"score, with {100 * level:g}% intervals",
        title=f"{items}, best first" if len(shown) == n else f"The best {len(shown):,} of {items}",
        ylim=(place[-1] + 0.75, -0.75),
    )
    ax.grid(axis="x", alpha=0.25)
    ax.spines[["left", "top", "right"]].set_visible(False)
    ax.tick_params(left=False)
    return ax


def fonts_for(texts: Iterable[str]) -> list[str]:
    """The families of the style in use and, where they lack characters of these texts, installed ones that have them.

    Characters that no font has are told by a warning.
    """
    from matplotlib import font_manager, rcParams

    families = list(rcParams["font.family"])
    missing = {letter for text in texts for letter in text if not letter.isspace()}
    for family in families:
        missing -= _characters(font_manager.findfont(font_manager.FontProperties(family=[family])))
    if not missing:
        return families
    upright = [font for font in font_manager.fontManager.ttflist if font.style == "normal" and font.weight == 400]
    # The last resort has a picture of a box for everything.
    has = {font.name: _characters(font.fname) & missing for font in upright if "Last Resort" not in font.name}
    while missing and has:
        family = max(has, key=lambda name: len(has[name] & missing))
        if not has[family] & missing:
            break
        families.append(family)
        missing -= has[family]
    if missing:
        some = ", ".join(sorted(missing)[:5]) + (f" and {len(missing) - 5} more" if len(missing) > 5 else "")
        warnings.warn(
            f"no font that is installed has the characters {some}, which are boxes in the plot; install one that has"
            " them (for Chinese, Japanese and Korean, Noto Sans CJK)",
            stacklevel=3,
        )
    return families


def _characters(path: str) -> set[str]:
    """What the font of this file has; nothing where it cannot be read."""
    from matplotlib.font_manager import get_font

    try:
        return set(map(chr, get_font(path).get_charmap()))
    except (OSError, RuntimeError):
        return set()


def _add_ranks(ax: Axes, place: Floats, shown: pd.DataFrame, level: float) -> None:
    """At the right, the ranks that these items could have."""
    ranges = [
        f"{best:,} to {worst:,}" if best < worst else f"{best:,}"
        for best, worst in zip(shown["best"], shown["worst"], strict=True)
    ]
    right = ax.secondary_yaxis("right")
    right.set_yticks(place, ranges, fontsize=8)
    right.tick_params(right=False)
    right.spines[:].set_visible(False)
    ax.annotate(
        f"rank, {100 * level:g}%", (1, 1), (4, 2), xycoords="axes fraction", textcoords="offset points", fontsize=8
    )


def _places(n: int, rows: int) -> tuple[Floats, int, int]:
    """How far down each of n items is drawn, in rows, and how many of the first and the last have one of their own."""
    if n <= rows:
        return np.arange(n, dtype=np.float64), n, 0
    first, last = max(1, int(_FIRST * rows)), int(_LAST * rows)
    between, height = n - first - last, max(1, rows - first - last)
    middle = first - 0.5 + height * (np.arange(between) + 0.5) / between
    return np.concatenate([np.arange(first), middle, first + height + np.arange(last)]), first, last


def _round_numbers(low: int, high: int) -> list[int]:
    """A few round ones, from low to high."""
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
    """Predicted probabilities against the share of answers that came true: on the diagonal where a model is honest.

    Which item of a pair is called the first says nothing, so each answer is looked at from the side of the item that
    `model.compare` prefers, its favourite: x is the mean probability of favourites in a bin, from 1/2 to 1, and y how
    often they won, a tie as half (where no item is preferred, half too), with a Wilson interval. The number of answers
    in a bin stands above it.

    Parameters
    ----------
    model : a fitted BradleyTerry, BradleyTerryCV or BradleyTerryGP.
    X, pairs, outcomes : answers that the model was not fitted to, as for its `fit`. A BradleyTerryGP without them is
        held against the answers it was fitted to, each pair predicted from what the others say of it: the cavity of
        expectation propagation, which is leave-one-out, approximately, with variances that all answers had a part in.
    bins : how many, of equal width. level : of the intervals. ax : where to draw.
    """
    _check(model, "compare", ax)
    bins = as_whole(bins, "bins")
    if not isinstance(level, int | float | np.number) or not 0 < level < 1:
        raise ValueError(f"level must be between 0 and 1, got {level!r}")
    if pairs is None and outcomes is None:
        p, won, lost = _left_out(model)
        whose = "answers, each left out\nin turn (approximately)"
    else:
        p, won, lost = _held_out(model, X, pairs, outcomes)
        whose = "held-out answers"
    middle, count, predicted, came_true = _binned(p, won, lost, bins)
    low, high = _wilson(came_true, count, level)
    ax = _axes(ax, (5.5, 5.0))
    ax.plot([0.5, 1], [0.5, 1], ls="--", color=GREY, lw=1, label="as predicted")
    ax.vlines(predicted, low, high, color=BLUE, lw=2)
    ax.plot(predicted, came_true, "o", color=_ink(), ms=5, clip_on=False, label=f"{count.sum():,g} {whose}")
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


def _held_out(model: Any, X: Any, pairs: Any, outcomes: Any) -> tuple[Floats, Floats, Floats]:
    """P(first beats second), and how much of each answer was for either."""
    if pairs is None or outcomes is None:
        raise ValueError("pairs and outcomes belong together; give both or neither")
    ordered = as_ordered_pairs(pairs, "pairs")
    wins = as_outcomes(outcomes, len(ordered))
    _check_items(model, X)
    if len(ordered) == 0:
        raise ValueError("pairs is empty; give answers that the model was not fitted to")
    won = (wins + 1) / 2
    return model.compare(X, ordered), won, 1 - won


def _left_out(model: Any) -> tuple[Floats, Floats, Floats]:
    """The same for the pairs that the model was fitted to, from what all others say."""
    if not isinstance(model, BradleyTerryGP):
        raise ValueError("pairs and outcomes are missing: give answers that the model was not fitted to")
    check_is_fitted(model)
    learned = model.learned_
    asked = learned.answers.second < len(learned.items)  # the others are labels: the threshold comes after the items
    answers, found = learned.answers.part(asked), learned.propagated
    if len(answers) == 0:
        raise ValueError("the model was fitted to no answers; give X, pairs and outcomes")
    mean = answers.slope * found.cavity_mean[asked] + answers.shift
    p = average(mean, answers.slope * np.sqrt(found.cavity_variance[asked]))
    return p, answers.won, answers.lost


def _binned(p: Floats, won: Floats, lost: Floats, bins: int) -> tuple[Floats, Floats, Floats, Floats]:
    """Of each bin that is not empty: its middle, how many answers, the mean probability of favourites, and their wins.

    The latter as a share of the answers.
    """
    total, favourite = won + lost, np.maximum(p, 1 - p)
    right = np.where(np.abs(p - 0.5) < _UNDECIDED, total / 2, np.where(p > 0.5, won, lost))
    place = np.minimum(((favourite - 0.5) * 2 * bins).astype(np.int64), bins - 1)
    count, predicted, came_true = (summed(place, values, bins) for values in (total, total * favourite, right))
    used = np.flatnonzero(count)
    return 0.5 + (used + 0.5) / (2 * bins), count[used], predicted[used] / count[used], came_true[used] / count[used]


def _wilson(share: Floats, count: Floats, level: float) -> tuple[Floats, Floats]:
    """The Wilson interval: all q for which `share` is within z sqrt(q (1 - q) / count) of q."""
    z = float(ndtri((1 + level) / 2))
    center = (share + z**2 / (2 * count)) / (1 + z**2 / count)
    half = z / (1 + z**2 / count) * np.sqrt(share * (1 - share) / count + z**2 / (4 * count**2))
    return center - half, center + half


def parts(model: Any, *, ax: Axes | None = None) -> Axes:
    """How much of the scores is linear in the features, smooth in them, and the item's own: `model.shares_`.

    The bar is the variance that the scores of the items the model was fitted to have under the variances it learned;
    it is cut in what each part contributes.

    Parameters
    ----------
    model : a fitted BradleyTerryGP; the scores of other models have one part only. ax : where to draw.
    """
    if not isinstance(model, BradleyTerryGP):
        raise ValueError(f"model must be a fitted BradleyTerryGP, whose scores have parts; got {type(model).__name__}")
    check_is_fitted(model)
    _check(model, "rank", ax)
    ax = _axes(ax, (7.0, 1.9))
    left, wide_enough = 0.0, _PERCENTAGE / _size(ax)[0]
    for name, (what, colour, ink) in PARTS.items():
        share = model.shares_[name]
        ax.barh(0, share, left=left, height=0.8, color=colour, label=f"{what}: {share:.0%}")
        if share >= wide_enough:
            ax.text(left + share / 2, 0, f"{share:.0%}", color=ink, ha="center", va="center")
        left += share
    ax.set(xlim=(0, 1), xlabel="share of the variance of scores", yticks=[])
    ax.xaxis.set_major_formatter(lambda at, _: f"{at:.0%}")
    ax.spines[["left", "top", "right"]].set_visible(False)
    ax.legend(loc="lower left", bbox_to_anchor=(0, 1), frameon=False, borderaxespad=0)
    return ax


def forecast(forecast: Any, *, ax: Axes | None = None) -> Axes:
    """The doubt that the model will claim after more answers, with its interval, and its target.

    The dots are the share of pairs of items that are then in the wrong order in the simulations.

    Parameters
    ----------
    forecast : what ps.forecast gave. ax : where to draw.
    """
    if not callable(getattr(forecast, "interval", None)):
        raise ValueError(f"forecast must be what ps.forecast gives, got {type(forecast).__name__}")
    _check_place(ax)
    ax = _axes(ax, (7.0, 4.0))
    name, value = forecast.target or ("doubt", None)
    low, middle, high = forecast.interval(name)
    ax.fill_between(forecast.answers, low, high, color=BLUE, alpha=0.3, lw=0, label=f"{forecast.level:.0%} interval")
    ax.plot(forecast.answers, middle, color=BLUE, lw=2, label=f"{name}, as the model will claim it")
    if name == "doubt":
        ax.plot(
            forecast.answers, forecast.wrong.mean(axis=0), "o", color=_ink(), ms=4, label="truly in the wrong order"
        )
        ax.yaxis.set_major_formatter(lambda at, _: f"{at:.0%}")
    if value is not None:
        ax.axhline(value, color=ORANGE, ls="--", lw=1.5, label="target")
    ax.set(xlabel=f"more answers (after {forecast.known:,})", ylabel=name, xlim=(0, max(1, forecast.answers[-1])))
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(alpha=0.25)
    ax.legend(frameon=False)
    return ax


def _check(model: Any, method: str, ax: Any) -> None:
    """Refuse what cannot be drawn, and where it cannot, before any work."""
    if isinstance(model, type) or not callable(getattr(model, method, None)):
        raise ValueError(
            f"model must be a fitted BradleyTerry, BradleyTerryCV or BradleyTerryGP, got {type(model).__name__}"
        )
    _check_place(ax)


def _check_place(ax: Any) -> None:
    if find_spec("matplotlib") is None:
        raise ValueError("plots need matplotlib; pip install 'pairsmith[plots]'")
    from matplotlib.axes import Axes

    if ax is not None and not isinstance(ax, Axes):
        raise ValueError(f"ax must be one matplotlib Axes, got {type(ax).__name__}")


def _check_items(model: Any, X: Any) -> None:
    """Refuse a model with features without those of the items."""
    if X is None and getattr(model, "n_features_in_", None):
        raise ValueError(f"X is missing: the model was fitted to {model.n_features_in_} features")


def _axes(ax: Axes | None, size: tuple[float, float]) -> Axes:
    """Where to draw: `ax`, or the only axes of a new figure."""
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=size, layout="constrained")[1]


def _ink() -> str:
    """The colour of texts, which is seen on the background."""
    import matplotlib

    return str(matplotlib.rcParams["text.color"])


def _size(ax: Axes) -> tuple[float, float]:
    """Width and height in inches, roughly: constrained layout may still change them."""
    box, dpi = ax.get_window_extent(), ax.figure.dpi
    return box.width / dpi, box.height / dpi
