"""Tables and pictures of model.py: the figures, the targets, and how much the figures miss them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import common
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import sets
from rich.table import Table

TARGETS_AT_1000 = {"diabetes": 0.87, "digits": 0.94, "camra": 0.915, "netflix": 0.92}
MARGIN = 0.01  # allowed below the best rival
# Targets for claimed doubt minus truth: on each set, on average over sets, and on average after designed rounds.
MAX_DOUBT_ERROR, MAX_MEAN_DOUBT_ERROR, MAX_MEAN_DOUBT_ERROR_IN_ROUNDS = 0.08, 0.03, 0.05
MIN_DOUBT_ANSWERS = 100  # the targets hold from here on
NAMES = {"breast_cancer": "breast cancer", "netflix": "Netflix", "camra": "CAMRa", "dar": "Dar es Salaam",
         "molskill": "molecules"}  # fmt: skip
COLOURS = {
    "GP": "#d55e00",
    "GP, not smooth": "#e69f00",
    "GP, not linear": "#cc79a7",
    "linear": "#0072b2",
    "linear, ridge by CV": "#56b4e9",
    "choix": "#009e73",
    "choix, EP": "#009e73",
}
OVERVIEW_AT = (200, 2000)  # answers
WITH_DOUBT = ("GP", "linear", "linear, ridge by CV", "choix, EP")
FIGURES = ["right", "right unseen", "doubt", "wrong", "off", "doubt unseen", "seconds"]


def name_of(data: Any) -> str:
    """Return the name of a set for tables and pictures."""
    return NAMES.get(str(data), str(data))


def true_wrong(right: Any, reliability: Any) -> Any:
    """Return the share of pairs in the wrong order by the true scores, given `right`, the share by estimated scores.

    Two normal scores of correlation r order 1 - arccos(r) / pi of the pairs alike. The errors of the estimated scores
    are independent of the model's, so they lower the correlation by a factor of sqrt(reliability).
    """
    correlation = np.cos(np.pi * (1 - right)) / np.sqrt(reliability)
    return np.arccos(np.clip(correlation, -1, 1)) / np.pi


def add_truth(raw: pd.DataFrame) -> pd.DataFrame:
    """Add the true share of pairs in the wrong order and the error of the claim, and sort sets in their usual order."""
    wrong = true_wrong(raw["right"], raw["reliability"])
    usual = raw["data"].map(sets.SETS.index)
    return raw.assign(wrong=wrong, off=raw["doubt"] - wrong).iloc[np.argsort(usual, kind="stable")]


def save(results: Path, rule: str) -> None:
    """Write means over all repetitions, standard errors and shortfalls to CSV files."""
    stored = (pd.read_csv(results / f"{name}-repetitions.csv.gz") for name in ("model", "model-rounds"))
    raw, rounds = map(add_truth, stored)
    rounds = rounds[rounds.rule == rule]
    for name, table in (("model", raw), ("model-rounds", rounds)):
        groups = table.groupby([*(["rule"] if "rule" in table else []), "data", "model", "K"], sort=False)
        means = groups[FIGURES].agg(["mean", "sem"])
        means.columns = [label if what == "mean" else f"{label} error" for label, what in means.columns]
        means = means.assign(reliability=groups.reliability.mean(), repetitions=groups.seed.nunique()).reset_index()
        means.to_csv(results / f"{name}.csv", index=False, float_format="%.5f")
    pd.DataFrame(check_targets(raw, rounds)).to_csv(results / "model-asked.csv", index=False, float_format="%.5f")


# Targets


def check_targets(raw: pd.DataFrame, rounds: pd.DataFrame) -> list[dict[str, Any]]:
    """Return a row per target, set and K: the figure, the target, and the shortfall with its 95% error.

    A shortfall of zero or less means that the target is reached.
    """
    rows = []
    for (data, k), part in raw.groupby(["data", "K"], sort=False):
        where = {"data": data, "K": k}
        for what, column, kinds in (
            ("training", "right", ("linear", "choix")),
            ("unseen", "right unseen", ("linear", "GP, ")),
        ):
            wide = part.pivot_table(index="seed", columns="model", values=column)
            rivals = wide[[name for name in wide if str(name).startswith(kinds)]]
            if rivals.size:
                best = rivals.mean().idxmax()
                rows.append({"what": what, **where, "rival": best, **_shortfall(wide["GP"], rivals[best] - MARGIN)})
        own = part[part.model == "GP"].set_index("seed")
        if k == 1000 and data in TARGETS_AT_1000:
            rows.append({"what": "training, figure", **where, **_shortfall(own["right"], TARGETS_AT_1000[str(data)])})
    for what, table, limit, average in (
        ("doubt", raw, MAX_DOUBT_ERROR, MAX_MEAN_DOUBT_ERROR),
        ("doubt in rounds", rounds, None, MAX_MEAN_DOUBT_ERROR_IN_ROUNDS),
    ):
        for k, part in table[(table.model == "GP") & (table.K >= MIN_DOUBT_ANSWERS)].groupby("K"):
            off = part.groupby("data", sort=False)["off"].agg(["mean", "sem"]).dropna(subset="mean")
            for data, (mean, error) in off.iterrows():
                short = abs(mean) - limit if limit is not None else np.nan
                rows.append({"what": what, "data": data, "K": k, "found": mean, "asked": limit, "short": short,
                             "error": 1.96 * error})  # fmt: skip
            if len(off):
                found = float(off["mean"].abs().mean())
                rows.append({"what": what, "data": "average", "K": k, "found": found, "asked": average,
                             "short": found - average, "error": np.nan})  # fmt: skip
    return rows


def _shortfall(found: pd.Series, wanted: Any) -> dict[str, float]:
    gap = wanted - found
    return {
        "found": found.mean(),
        "asked": float(np.mean(wanted)),
        "short": gap.mean(),
        "error": 1.96 * gap.sem() if len(gap) > 1 else np.nan,
    }


# Tables


Rows = tuple[list[str], list[list[str]]]


def tables(means: pd.DataFrame, rounds: pd.DataFrame, found: pd.DataFrame) -> dict[str, tuple[str, Rows]]:
    """Return title, head and cells of each table by a short name."""
    return {
        "overview": ("Training items: share of pairs in the right order, and doubt of the GP", _overview(means)),
        "asked": (f"Targets, {means.repetitions.min()} repetitions or more", _summary(found)),
        "training": ("Training items: share of pairs in the right order", _orders(means, found, "training", "right")),
        "unseen": ("Unseen items: the same", _orders(means, found, "unseen", "right unseen")),
        "doubt": ("Pairs in the wrong order, claimed / true, in percent", _doubts(means, found, "doubt")),
        "rounds": ("The same after designed rounds", _doubts(rounds, found, "doubt in rounds")),
        "seconds": ("CPU seconds per fit, minimum and maximum over sets", _seconds(means)),
    }


def _overview(means: pd.DataFrame) -> Rows:
    """Return one line per set: the GP, a linear model and choix after few and many answers, and the GP's doubt."""
    names = ("GP", "linear", "choix")
    head = ["set"]
    for k in OVERVIEW_AT:
        head += [*(f"{name}, K = {k:,}" for name in names), f"doubt claimed / true, K = {k:,}"]
    cells = []
    for data, part in means.dropna(subset="right").groupby("data", sort=False):
        line = [name_of(data)]
        for k in OVERVIEW_AT:
            at = part[k == part.K]
            shares = [at.right[at.model.str.startswith("choix, alpha") if name == "choix" else at.model == name].max()
                      for name in names]  # fmt: skip
            line += ["" if np.isnan(share) else f"{share:.3f}" for share in shares]
            own = at[at.model == "GP"]
            line.append(next((f"{100 * row.doubt:.1f} / {100 * row.wrong:.1f}" for row in own.itertuples()), ""))
        cells.append(line)
    return head, cells


def _summary(found: pd.DataFrame) -> Rows:
    """Return one line per target: how many cells reach it, and which miss it by how much."""
    points = [100 * error for error in (MAX_DOUBT_ERROR, MAX_MEAN_DOUBT_ERROR, MAX_MEAN_DOUBT_ERROR_IN_ROUNDS)]
    words = {
        "training": f"training items: at least the better of linear and choix, minus {MARGIN}",
        "training, figure": "training items, K = 1,000: at least "
        + ", ".join(f"{value} {name_of(name)}" for name, value in TARGETS_AT_1000.items()),
        "unseen": f"unseen items: at least the better of linear and smooth, minus {MARGIN}",
        "doubt": f"claimed doubt within {points[0]:.0f} points of the truth on each set, K >= {MIN_DOUBT_ANSWERS}",
        "doubt, average": f"... within {points[1]:.0f} on average over sets",
        "doubt in rounds, average": f"after designed rounds within {points[2]:.0f} on average over sets",
    }
    labelled = found.dropna(subset="short")
    labelled = labelled.assign(what=labelled.what + np.where(labelled.data == "average", ", average", ""))
    cells = []
    for what, text in words.items():
        own = labelled[labelled.what == what]
        missed = own[own.short > 0].sort_values("short", ascending=False)
        sets_missed = missed.data.replace({**NAMES, "average": ""})
        listed = ", ".join(
            f"{name} at {row.K:,} by {_miss(row)}".strip()
            for name, row in zip(sets_missed, missed.itertuples(), strict=True)
        )
        cells.append([text, f"{len(own) - len(missed)} of {len(own)}", listed])
    return ["target", "reached", "missed"], cells


def _miss(row: Any) -> str:
    """Format a shortfall with its error, as a share of pairs or as points of doubt."""
    percent = str(row.what).startswith("doubt")
    short, error = (f"{100 * value:.1f}" if percent else f"{value:.3f}" for value in (row.short, row.error))
    return short + ("" if np.isnan(row.error) else f" ± {error}") + (" points" if percent else "")


def _orders(means: pd.DataFrame, found: pd.DataFrame, what: str, column: str) -> Rows:
    marks = sorted(means.K.unique())
    missed = found[(found.what == what) & (found.short > 0)].set_index(["data", "K"], drop=False)
    cells = []
    for data, part in means.dropna(subset=column).groupby("data", sort=False):
        wide = part.pivot_table(index="model", columns="K", values=column, sort=False)
        choix = wide[wide.index.str.startswith("choix, alpha")]
        if len(choix):
            wide.loc["choix"] = choix.max()  # the better alpha, in hindsight
        for model in [name for name in COLOURS if name in wide.index and name != "choix, EP"]:
            line = []
            for k in marks:
                value = wide.loc[model].get(k, np.nan)
                cell = "" if np.isnan(value) else f"{value:.3f}"
                if model == "GP" and (data, k) in missed.index:
                    cell += f", short by {_miss(missed.loc[(data, k)])}"
                line.append(cell)
            cells.append([name_of(data) if model == "GP" else "", model, *line])
    return ["set", "model", *(f"K = {k:,}" for k in marks)], cells


def _doubts(means: pd.DataFrame, found: pd.DataFrame, what: str) -> Rows:
    marks = sorted(means.K.unique())
    own = found[found.what == what].set_index(["data", "K"])
    cells = []
    for data, part in means.dropna(subset=["doubt", "right"]).groupby("data", sort=False):
        for model, line in part.groupby("model", sort=False):
            if model in WITH_DOUBT:
                by_k = line.set_index("K")
                shown = [f"{100 * by_k.doubt[k]:.1f} / {100 * by_k.wrong[k]:.1f}" if k in by_k.index else ""
                         for k in marks]  # fmt: skip
                cells.append([name_of(data) if model == "GP" else "", str(model), *shown])
    average = [f"{100 * own.found['average', k]:.1f}" if ("average", k) in own.index else "" for k in marks]
    cells.append(["all", "GP: mean absolute error, points", *average])
    return ["set", "model", *(f"K = {k:,}" for k in marks)], cells


def _seconds(means: pd.DataFrame) -> Rows:
    marks = sorted(means.K.unique())
    cells = []
    for model, part in means.groupby("model", sort=False):
        wide = part.pivot_table(index="data", columns="K", values="seconds", sort=False)
        shown = [f"{wide[k].min():.2g} to {wide[k].max():.2g}" if k in wide else "" for k in marks]
        cells.append([str(model), *shown])
    return ["model", *(f"K = {k:,}" for k in marks)], cells


def show(results: Path, folder: Path) -> None:
    """Print the tables, update them in the model.md of `results` and `folder`, and draw the pictures into `folder`."""
    means, rounds, found = (pd.read_csv(results / f"{name}.csv") for name in ("model", "model-rounds", "model-asked"))
    folder.mkdir(exist_ok=True)
    publish(tables(means, rounds, found), results / "model.md", folder / "model.md")
    for column, title in (("right", "training items"), ("right unseen", "unseen items")):
        draw_orders(means, column, f"Share of pairs in the right order, {title}", folder)
    draw_doubts(means, folder)


def publish(made: dict[str, tuple[str, Rows]], *pages: Path) -> None:
    """Print the tables and insert each between the marks with its name, in every page that exists."""
    for title, (head, cells) in made.values():
        shown = Table(*head, title=title)
        for line in cells:
            shown.add_row(*line)
        common.console.print(shown)
    for page in filter(Path.exists, pages):
        text = page.read_text(encoding="utf-8")
        for name, (_, (head, cells)) in made.items():
            text = insert_table(text, name, markdown(head, cells))
        page.write_text(text, encoding="utf-8")
        common.console.print(f"Wrote the tables of {page}")


def markdown(head: list[str], cells: Iterable[list[str]]) -> str:
    """Format a table as Markdown."""
    return "\n".join("| " + " | ".join(line) + " |" for line in [head, ["---"] * len(head), *cells])


def insert_table(page: str, name: str, table: str) -> str:
    """Return the page with the table between its two marks replaced."""
    begin, end = f"<!-- table: {name} -->", "<!-- end of table -->"
    return re.sub(f"{begin}.*?{end}", lambda _: f"{begin}\n\n{table}\n\n{end}", page, flags=re.DOTALL)


# Pictures


def draw_orders(means: pd.DataFrame, column: str, title: str, folder: Path) -> None:
    """Draw shares in the right order against K, one panel per set, with 95% intervals."""
    there = means.dropna(subset=column)
    figure, axes = panels(there)
    for axis, (data, part) in zip(axes, there.groupby("data", sort=False), strict=False):
        choix = part[part.model.str.startswith("choix, alpha")]
        if len(choix):
            best = choix.loc[choix.groupby("K")[column].idxmax()].assign(model="choix")
            part = pd.concat([part[~part.model.str.startswith("choix")], best])
        for model, line in part.groupby("model", sort=False):
            colour, error = COLOURS[str(model)], 1.96 * line[f"{column} error"]
            axis.plot(line.K, line[column], "o-", ms=3, color=colour, lw=2.2 if model == "GP" else 1.2, label=model)
            axis.fill_between(line.K, line[column] - error, line[column] + error, color=colour, alpha=0.12, lw=0)
        axis.set(xscale="log", title=name_of(data))
        axis.set_xticks(sorted(means.K.unique()), [f"{k:,}" for k in sorted(means.K.unique())], fontsize=8)
        axis.minorticks_off()
    axes[0].legend(frameon=False, fontsize=8)
    figure.supxlabel("answers to random pairs")
    figure.suptitle(f"{title}, {means.repetitions.max()} repetitions, 95% intervals")
    common.save_figure(figure, axes, folder / f"model-{'unseen' if 'unseen' in column else 'training'}.png")


def draw_doubts(means: pd.DataFrame, folder: Path) -> None:
    """Draw claimed against true doubt, one panel per set. Points grow with K; claims on the dashed line are true."""
    there = means.dropna(subset=["doubt", "right"])
    figure, axes = panels(there)
    for axis, (data, part) in zip(axes, there.groupby("data", sort=False), strict=False):
        for model, line in part.groupby("model", sort=False):
            if model in WITH_DOUBT:
                colour = COLOURS[str(model)]
                axis.plot(100 * line.wrong, 100 * line.doubt, color=colour, lw=0.8, alpha=0.6)
                axis.scatter(100 * line.wrong, 100 * line.doubt, 12 * np.log(line.K / 20), color=colour, label=model)
        axis.axline((0, 0), slope=1, color="0.4", lw=1, ls="--")
        axis.set(title=name_of(data), xlim=(0, 50), ylim=(0, 50), aspect="equal")
    axes[0].legend(frameon=False, fontsize=8, loc="upper left")
    figure.supxlabel("pairs in the wrong order, %; larger points: more answers")
    figure.supylabel("claimed, %")
    common.save_figure(figure, axes, folder / "model-doubt.png")


def panels(table: pd.DataFrame) -> tuple[Any, Any]:
    count = table.data.nunique()
    rows = -(-count // 3)
    figure, axes = plt.subplots(rows, 3, figsize=(13, 3.7 * rows), layout="constrained", squeeze=False)
    for axis in axes.flat[count:]:
        axis.set_axis_off()
    return figure, axes.flat[:count]
