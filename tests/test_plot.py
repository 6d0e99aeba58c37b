import sys
from itertools import pairwise

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.image import imread
from scipy.optimize import brentq
from scipy.stats import norm

import pairsmith as ps
from pairsmith import plot
from pairsmith.cli.output import draw_ranking
from support.simulate import labels_and_answers

pytestmark = pytest.mark.filterwarnings("ignore:the answers leave")


@pytest.fixture(autouse=True)
def close_figures():
    """Close the figures that a test leaves behind."""
    assert plt.get_fignums() == []
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def answered():
    """Return named items, and 120 answers, some of them ties."""
    X, known = labels_and_answers(n=12, d=3, m=120)
    outcomes = np.where(np.arange(120) % 10 == 0, 0, known["outcomes"])
    frame = pd.DataFrame(X, index=[f"item {row}" for row in range(12)], columns=list("abc"))
    return frame, known["comparisons"], outcomes


@pytest.fixture(scope="module")
def models(answered):
    frame, pairs, outcomes = answered
    every = (ps.BradleyTerry(), ps.BradleyTerryCV(), ps.BradleyTerryGP())
    return {type(model).__name__: model.fit(frame, comparisons=pairs, outcomes=outcomes) for model in every}


@pytest.fixture(scope="module")
def many():
    """Return a model of 500 items, and their features."""
    X, known = labels_and_answers(n=500, m=300)
    return ps.BradleyTerry().fit(X, **known), X


def labels_of(axis):
    return [label.get_text() for label in axis.get_ticklabels()]


def lines_of(ax):
    """Return the ends of all lines drawn by hlines or vlines, in the order drawn."""
    return np.array(next(part for part in ax.collections if isinstance(part, LineCollection)).get_segments())


@pytest.mark.parametrize("name", ["BradleyTerry", "BradleyTerryCV", "BradleyTerryGP"])
def test_a_ranking_shows_the_scores_intervals_and_ranks_of_the_model(models, answered, name):
    ranked = models[name].rank(answered[0], 0.75)
    ax = ps.plot.ranking(models[name], answered[0], level=0.75)
    segments = lines_of(ax)
    np.testing.assert_allclose(segments[:, 0, 0], ranked["low"])
    np.testing.assert_allclose(segments[:, 1, 0], ranked["high"])
    x, y = ax.lines[0].get_data()
    np.testing.assert_allclose(x, ranked["score"])
    np.testing.assert_array_equal(y, segments[:, 0, 1])
    assert labels_of(ax.yaxis) == list(ranked.index)
    assert list(ax.get_yticks()) == list(y) == sorted(y)
    assert ax.yaxis_inverted()  # the best is at the top
    assert ax.get_xlabel() == "score, with 75% intervals"
    assert ax.get_title() == "12 items, best first"
    low, high = ax.get_xlim()
    assert low <= ranked["low"].min() < ranked["high"].max() <= high
    if name == "BradleyTerryGP":
        (could_be,) = ax.child_axes
        ranges = [text.split(" to ") for text in labels_of(could_be.yaxis)]
        assert [int(ends[0]) for ends in ranges] == list(ranked["best"])
        assert [int(ends[-1]) for ends in ranges] == list(ranked["worst"])


def test_with_many_items_the_best_and_worst_have_names_and_the_others_are_a_band(many):
    model, X = many
    ranked = model.rank(X)
    ax = ps.plot.ranking(model, X)
    dots, line, above, below = ax.lines
    first = next(at for at, step in enumerate(np.diff(dots.get_ydata())) if step > 1) + 1
    last = len(dots.get_xdata()) - first
    named = np.r_[:first, 500 - last : 500]
    assert first >= 15
    assert last >= 5
    np.testing.assert_allclose(dots.get_xdata(), ranked["score"].iloc[named])
    np.testing.assert_allclose(lines_of(ax)[:, :, 0], ranked[["low", "high"]].iloc[named])
    np.testing.assert_allclose(line.get_xdata(), ranked["score"].iloc[first : 500 - last])
    y = line.get_ydata()
    edges = [edge.get_ydata()[0] for edge in (above, below)]
    assert dots.get_ydata()[first - 1] < edges[0] < y[0] < y[-1] < edges[1] < dots.get_ydata()[first]
    corners = next(part for part in ax.collections if isinstance(part, PolyCollection)).get_paths()[0].vertices
    between = ranked.iloc[first : 500 - last]
    for height, low, high in zip(y, between["low"], between["high"], strict=True):
        np.testing.assert_allclose(np.unique(corners[corners[:, 1] == height, 0]), [low, high])
    heights = dict(zip(labels_of(ax.yaxis), ax.get_yticks(), strict=True))
    assert heights["rank 100"] == y[100 - 1 - first]
    assert [name for name in heights if not name.startswith("rank")] == [str(name) for name in ranked.index[named]]


def test_scores_fill_the_axis_also_far_from_zero(many):
    ranked = many[0].rank(many[1])
    ranked[["score", "low", "high"]] += 1000
    low, high = ps.plot.draw_ranking(ranked, 0.9, None, plt.subplots()[1]).get_xlim()
    spread = ranked["high"].max() - ranked["low"].min()
    assert ranked["low"].min() - 0.1 * spread < low < high < ranked["high"].max() + 0.1 * spread


def test_top_draws_only_the_best_items(many):
    model, X = many
    ax = ps.plot.ranking(model, X, top=7)
    np.testing.assert_allclose(ax.lines[0].get_xdata(), model.rank(X)["score"].iloc[:7])
    assert ax.get_title() == "The best 7 of 500 items"
    assert ps.plot.ranking(model, X[:3], top=7).get_title() == "3 items, best first"


@pytest.mark.parametrize("n", [1, 12, 40, 41, 60, 500])
@pytest.mark.parametrize("height", [None, 2.0, 4.0])
def test_names_do_not_overlap(many, n, height):
    ax = None if height is None else plt.subplots(figsize=(5, height), layout="constrained")[1]
    ax = ps.plot.ranking(many[0], many[1][:n], ax=ax)
    ax.figure.draw_without_rendering()
    boxes = [label.get_window_extent() for label in ax.get_yticklabels()]
    order = sorted(boxes, key=lambda box: -box.y0)
    assert all(upper.y0 > lower.y0 + 0.6 * lower.height for upper, lower in pairwise(order))
    assert len(boxes) >= min(n, 3 if height is None else 1)


def test_names_are_not_parsed_as_formulas(answered):
    names = ["$a$", "\\alpha$b_{", "$c^", "x" * 200 + "1", "x" * 200 + "2", "new\nline"]
    X = answered[0][:6].set_axis(names)
    ax = ps.plot.ranking(ps.BradleyTerry().fit(X, comparisons=[(0, 1), (2, 3)], outcomes=[1, 1]), X)
    ax.figure.draw_without_rendering()
    labels = labels_of(ax.yaxis)
    assert {"$a$", "\\alpha$b_{", "$c^", "new\\nline"} < set(labels)
    assert len(set(labels)) == 6
    assert max(map(len, labels)) <= 40


def test_a_ranking_of_items_without_features():
    model = ps.BradleyTerryGP().fit(n_items=5)
    ax = ps.plot.ranking(model)
    np.testing.assert_allclose(ax.lines[0].get_xdata(), 0, atol=1e-12)
    assert labels_of(ax.yaxis) == list("01234")


def by_hand(p, outcomes, bins, level):
    """Return x, y, low, high and count of each bin, one answer at a time; a tie is half a win."""
    found = [[] for _ in range(bins)]
    for probability, outcome in zip(p, outcomes, strict=True):
        if probability < 0.5:
            probability, outcome = 1 - probability, -outcome
        found[min(bins - 1, int((probability - 0.5) // (0.5 / bins)))].append((probability, outcome))
    rows = []
    for own in filter(None, found):
        share, allowed = np.mean([(1 + outcome) / 2 for _, outcome in own]), norm.ppf((1 + level) / 2) ** 2 / len(own)
        assert 0 < share < 1

        def outside(q, share=share, allowed=allowed):
            """Return by how much q is outside of the Wilson interval."""
            return (share - q) ** 2 - allowed * q * (1 - q)

        ends = brentq(outside, 0, share), brentq(outside, share, 1)
        rows.append([np.mean([one for one, _ in own]), share, *ends, len(own)])
    return np.array(rows).T


@pytest.mark.parametrize("bins", [4, 5])
@pytest.mark.parametrize("turned", [False, True])
def test_calibration_counts_what_came_true(models, answered, bins, turned):
    frame, pairs, outcomes = answered
    model = models["BradleyTerry"]
    x, y, low, high, count = by_hand(model.compare(frame, pairs), outcomes, bins, 0.8)
    if turned:  # the order within a pair has no meaning
        pairs, outcomes = pairs[:, ::-1], -outcomes
    ax = ps.plot.calibration(model, frame, pairs, outcomes, bins=bins, level=0.8)
    np.testing.assert_allclose(ax.lines[1].get_data(), [x, y], atol=1e-12)
    assert ax.lines[1].get_label() == "120 held-out answers"
    np.testing.assert_array_equal(ax.lines[0].get_data(), [[0.5, 1], [0.5, 1]])
    np.testing.assert_allclose(lines_of(ax)[:, :, 1], np.column_stack([low, high]))
    assert [float(text) for text in labels_of(ax.child_axes[0].xaxis)] == list(count)
    assert ax.get_ylim()[0] <= low.min()


def test_half_of_the_answers_without_a_favourite_come_true():
    """Files of winners and losers always name the winner first, which must not look like a good prediction."""
    X = [[1], [1], [2], [3]]
    model = ps.BradleyTerry().fit(X, comparisons=[(2, 0)], outcomes=[1])
    ax = ps.plot.calibration(model, X, [(0, 1)] * 6, [1] * 6)
    np.testing.assert_allclose(ax.lines[1].get_data(), [[0.5], [0.5]])


def test_a_gaussian_process_is_checked_by_leaving_out_each_of_its_answers():
    """The oracle refits the model without each pair, with the same variances."""
    X, known = labels_and_answers(n=25, d=2, m=40)
    fixed = {"linear": 2.0, "smooth": False, "items": 1.0}
    model = ps.BradleyTerryGP(**fixed).fit(X, **known)  # labels do not count
    pairs, outcomes = known["comparisons"], known["outcomes"]
    p = np.empty(40)
    for number, pair in enumerate(np.sort(pairs, axis=1)):
        other = np.any(np.sort(pairs, axis=1) != pair, axis=1)
        kept = known | {"comparisons": pairs[other], "outcomes": outcomes[other]}
        p[number] = ps.BradleyTerryGP(**fixed).fit(X, **kept).compare(X, pairs[[number]])[0]
    x, y, _, _, count = by_hand(p, outcomes, 1, 0.9)
    ax = ps.plot.calibration(model, bins=1)
    assert ax.lines[1].get_label() == "40 answers, each left out\nin turn (approximately)"
    np.testing.assert_allclose(ax.lines[1].get_xdata(), x, atol=0.005)
    np.testing.assert_allclose(ax.lines[1].get_ydata(), y)
    fitted = model.compare(X, pairs)
    assert np.mean(np.maximum(fitted, 1 - fitted)) > x + 0.02  # fitted answers would look more certain
    assert count == 40


def test_a_loaded_model_gives_the_same_plots(models, tmp_path):
    models["BradleyTerryGP"].save(tmp_path / "model.json")
    loaded = ps.BradleyTerryGP.load(tmp_path / "model.json")
    for draw in (ps.plot.calibration, ps.plot.parts):
        before, after = draw(models["BradleyTerryGP"]), draw(loaded)
        for one, other in zip(before.lines, after.lines, strict=True):
            np.testing.assert_allclose(one.get_data(), other.get_data(), atol=1e-6)
        assert [patch.get_width() for patch in before.patches] == [patch.get_width() for patch in after.patches]


def test_parts_shows_the_shares_of_the_model(models):
    shares = models["BradleyTerryGP"].shares_
    ax = ps.plot.parts(models["BradleyTerryGP"])
    np.testing.assert_allclose([patch.get_width() for patch in ax.patches], list(shares.values()))
    np.testing.assert_allclose([patch.get_x() for patch in ax.patches], np.cumsum([0, *shares.values()])[:3])
    assert ax.get_xlim() == (0, 1)
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert texts == [
        f"linear in the features: {shares['linear']:.0%}",
        f"smooth in the features: {shares['smooth']:.0%}",
        f"the item's own: {shares['items']:.0%}",
    ]


def test_plots_draw_into_the_given_axes_only(models, answered):
    frame, pairs, outcomes = answered
    model, before = models["BradleyTerryGP"], matplotlib.get_backend()
    matplotlib.use("svg")
    try:
        figure, axes = plt.subplots(1, 3)
        assert ps.plot.ranking(model, frame, ax=axes[0]) is axes[0]
        assert ps.plot.calibration(model, frame, pairs, outcomes, ax=axes[1]) is axes[1]
        assert ps.plot.parts(model, ax=axes[2]) is axes[2]
        assert plt.get_fignums() == [figure.number]
        assert ps.plot.parts(model).figure is plt.gcf()  # what a notebook shows
        assert matplotlib.get_backend() == "svg"
    finally:
        plt.close("all")
        matplotlib.use(before)


def test_the_command_line_draws_the_same_without_a_screen(models, answered, tmp_path, monkeypatch):
    model, frame = models["BradleyTerryGP"], answered[0]
    ps.plot.ranking(model, frame).figure.savefig(tmp_path / "here.png", dpi=120)
    plt.close("all")
    monkeypatch.setattr(plt, "figure", None)  # as where its backend cannot work
    draw_ranking(model.rank(frame).rename_axis("id").reset_index(), tmp_path / "there.png", 0.9)
    np.testing.assert_array_equal(imread(tmp_path / "here.png"), imread(tmp_path / "there.png"))
    assert plt.get_fignums() == []


@pytest.mark.parametrize(
    ("call", "what"),
    [
        (lambda m, X, p, y: ps.plot.ranking("model.json", X), "model must be a fitted BradleyTerry"),
        (lambda m, X, p, y: ps.plot.ranking(ps.BradleyTerryGP, X), "model must be a fitted BradleyTerry"),
        (lambda m, X, p, y: ps.plot.ranking(ps.BradleyTerryGP(), X), "not fitted"),
        (lambda m, X, p, y: ps.plot.ranking(m, X, level=90), "level must be between 0 and 1"),
        (lambda m, X, p, y: ps.plot.ranking(m), "X is missing"),
        (lambda m, X, p, y: ps.plot.ranking(m, X, top=0), "top must be at least 1"),
        (lambda m, X, p, y: ps.plot.ranking(m, X, ax=[]), "ax must be one matplotlib Axes, got list"),
        (lambda m, X, p, y: ps.plot.calibration(m, X), "pairs and outcomes are missing"),
        (lambda m, X, p, y: ps.plot.calibration(m, X, p), "belong together"),
        (lambda m, X, p, y: ps.plot.calibration(m, None, p, y), "X is missing"),
        (lambda m, X, p, y: ps.plot.calibration(m, X, p, y[:3]), r"outcomes has shape \(3,\) for 120"),
        (lambda m, X, p, y: ps.plot.calibration(m, X, p, y + 2), "outcomes must be"),
        (lambda m, X, p, y: ps.plot.calibration(m, X, p + 9, y), "pairs holds"),
        (lambda m, X, p, y: ps.plot.calibration(m, X, [], []), "pairs is empty"),
        (lambda m, X, p, y: ps.plot.calibration(m, X, p, y, level=1), "level must be between 0 and 1"),
        (lambda m, X, p, y: ps.plot.calibration(m, X, p, y, bins=0), "bins must be at least 1"),
        (lambda m, X, p, y: ps.plot.calibration(ps.BradleyTerryGP().fit(X)), "fitted to no answers"),
        (lambda m, X, p, y: ps.plot.parts(m), "model must be a fitted BradleyTerryGP"),
        (lambda m, X, p, y: ps.plot.parts(ps.BradleyTerryGP()), "not fitted"),
    ],
)
def test_invalid_arguments_get_a_one_line_error(models, answered, call, what):
    with pytest.raises(ValueError, match=what) as error:
        call(models["BradleyTerry"], *answered)
    assert "\n" not in str(error.value)
    assert plt.get_fignums() == []


def test_without_matplotlib_the_error_says_what_to_install(models, answered, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for draw in (
        lambda: ps.plot.ranking(models["BradleyTerry"], answered[0]),
        lambda: ps.plot.parts(models["BradleyTerryGP"]),
    ):
        with pytest.raises(ValueError, match=r"^plots need matplotlib; pip install 'pairsmith\[plots\]'$"):
            draw()


def test_a_forecast_is_drawn_with_its_interval_its_target_and_the_true_share():
    doubt = np.array([[0.3, 0.2, 0.1], [0.3, 0.22, 0.14]])
    answers = np.array([0, 50, 100])
    ahead = ps.Forecast(
        answers, doubt, doubt + 0.01, 1 - doubt, 40, 300, {"items": 1.0}, answers, target=("doubt", 0.15)
    )
    ax = ps.plot.forecast(ahead)
    low, middle, high = ahead.interval("doubt")
    claimed, wrong, target = ax.lines
    np.testing.assert_allclose(claimed.get_xydata(), np.column_stack([answers, middle]))
    np.testing.assert_allclose(wrong.get_ydata(), [0.31, 0.22, 0.13])
    assert set(target.get_ydata()) == {0.15}
    (band,) = ax.collections
    corners = band.get_paths()[0].vertices
    assert {(50, low[1]), (50, high[1])} <= {tuple(corner) for corner in corners}
    assert ax.get_xlabel() == "more answers (after 40)"
    assert len(ps.plot.forecast(ahead, ax=plt.subplots()[1]).lines) == 3
    with pytest.raises(ValueError, match=r"forecast must be the result of ps\.forecast, got ndarray"):
        ps.plot.forecast(doubt)
    with pytest.raises(ValueError, match="ax must be one matplotlib Axes, got int"):
        ps.plot.forecast(ahead, ax=3)


def test_a_font_with_the_characters_is_chosen(recwarn):
    """The current family has hardly any letters, but another installed one has them."""
    with matplotlib.rc_context({"font.family": ["STIXSizeOneSym"]}):
        first, *others = plot.fonts_for(["abc ü"])
        assert first == "STIXSizeOneSym"
        assert len(others) == 1
    characters = matplotlib.font_manager.get_font(matplotlib.font_manager.findfont(others[0])).get_charmap()
    assert set(map(ord, "abcü")) <= characters.keys()
    assert plot.fonts_for(["abc ü"]) == ["sans-serif"]
    assert list(recwarn) == []


def test_characters_that_no_font_has_are_warned_about_once():
    nowhere = [chr(code) for code in range(0x1FB70, 0x1FB78)]  # pieces of boxes, of Unicode 13
    has = [plot._characters(font.fname) for font in matplotlib.font_manager.fontManager.ttflist
           if "Last Resort" not in font.name]  # fmt: skip
    odd = [letter for letter in [*nowhere, *map(chr, range(0x323B0, 0x323C0))] if not any(letter in one for one in has)]
    assert len(odd) > 5
    first = ", ".join(sorted(odd)[:5])
    with pytest.warns(
        UserWarning, match=f"has the characters {first} and {len(odd) - 5} more, so the plot shows boxes"
    ) as warned:
        plot.fonts_for(["a", *odd])
    assert len(warned) == 1
