"""Tables and pictures of worth.py: the answers that designed rounds save, and the targets."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import common
import numpy as np
import pandas as pd
from model_report import Rows, add_truth, name_of, panels, publish

REPETITIONS = "worth-repetitions.csv.gz"
DESIGNED, RANDOM, CHOIX = "order", "random", "random, choix"
CAMPAIGNS = "order, 1 in 10 random"  # the rule of campaigns
CHOIX_AT, RANDOM_AT = 1500, 600  # random answers whose result designed rounds should reach
OF_CHOIX = dict.fromkeys(["digits", "diabetes", "camra", "netflix"], 1 / 3)  # target share of these answers
OF_RANDOM = {"digits": 1 / 2, "camra": 1 / 2, "diabetes": 2 / 3, "netflix": 2 / 3}
NOISY, NOISY_BEHIND = ["dar", "humour"], 0.005
EARLY, EARLY_TO = "digits", 100
# Further comparisons: (rule, rival).
OTHERS = [(DESIGNED, "balanced"), (DESIGNED, "averaged D, linear"), (DESIGNED, "averaged D"), (CAMPAIGNS, RANDOM),
          (CAMPAIGNS, DESIGNED)]  # fmt: skip
BOOTSTRAP = 2000  # samples for the intervals of needed answers
COLOURS = {
    "order": "#d55e00",
    "order, 1 in 10 random": "#e69f00",
    "averaged D": "#cc79a7",
    "averaged D, linear": "#56b4e9",
    "random": "0.35",
    "balanced": "0.65",
    "random, choix": "#009e73",
}
GOALS = {"goal top": ("top found", "top right", "right")}  # what each goal should improve, and its cost
WORDS = {
    "top found": "share of the best ten found",
    "top right": "the best ten in order",
    "right": "all training items in order",
}
FIGURES = ["right", "right unseen", "doubt", "wrong", "off", "top found", "top right", "bits"]


def load_repetitions(path: Path) -> pd.DataFrame:
    """Load all repetitions, sets in their usual order, with the better alpha of choix per set and K, in hindsight."""
    raw = add_truth(pd.read_csv(path))
    choix = raw[raw.rule == CHOIX]
    if len(choix):
        means = choix.groupby(["data", "K", "model"]).right.mean()
        best = means.loc[means.groupby(["data", "K"]).idxmax()].reset_index()[["data", "K", "model"]]
        raw = pd.concat([raw[raw.rule != CHOIX], choix.merge(best)])
    return raw


def save(results: Path) -> None:
    """Write means, standard errors, answers needed and paired differences to CSV files."""
    raw = load_repetitions(results / REPETITIONS)
    groups = raw.groupby(["data", "rule", "K"], sort=False)
    means = groups[FIGURES].agg(["mean", "sem"])
    means.columns = [label if what == "mean" else f"{label} error" for label, what in means.columns]
    means = means.assign(
        seconds=groups.seconds.median(), reliability=groups.reliability.mean(), repetitions=groups.seed.nunique()
    )
    for name, table in (
        ("worth", means.reset_index()),
        ("worth-saved", pd.DataFrame(answers_saved(raw))),
        ("worth-against-random", pd.DataFrame(paired_gains(raw, DESIGNED, RANDOM))),
        ("worth-against-others", pd.DataFrame([row for pair in OTHERS for row in paired_gains(raw, *pair)])),
        (
            "worth-goals",
            pd.DataFrame(goal_gains(raw), columns=["data", "goal", "figure", "ranking", "found", "over", "error"]),
        ),
    ):
        table.to_csv(results / f"{name}.csv", index=False, float_format="%.5f")


# Answers saved


def answers_needed(marks: np.ndarray, shares: np.ndarray, level: float) -> float:
    """Return the K at which a curve first reaches a level, interpolated linearly; infinite if it never does.

    Flattening curves lie above their chords, so K is too large rather than too small.
    """
    reached = np.flatnonzero(shares >= level)
    if len(reached) == 0:
        return np.inf
    at = reached[0]
    if at == 0:
        return float(marks[0])
    part = (level - shares[at - 1]) / (shares[at] - shares[at - 1])
    return float(marks[at - 1] + part * (marks[at] - marks[at - 1]))


def answers_saved(raw: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield for each set and rival what the rival reaches and how many designed answers reach that.

    The 95% interval is a bootstrap over repetitions, which keeps the pairing of both rules.
    """
    for data, part in raw.groupby("data", sort=False):
        for rival, k, column in (
            (CHOIX, CHOIX_AT, "right"),
            (RANDOM, RANDOM_AT, "right"),
            (RANDOM, RANDOM_AT, "right unseen"),
        ):
            wide = part.pivot_table(index="seed", columns=["rule", "K"], values=column)
            if DESIGNED not in wide or rival not in wide:
                continue
            k = min(k, wide[rival].columns.max())
            both = pd.concat([wide[DESIGNED], wide[rival][k].rename("rival")], axis=1).dropna()
            if len(both) == 0:
                continue
            marks, values = wide[DESIGNED].columns.to_numpy(), both.to_numpy()
            drawn = np.random.default_rng(0).integers(len(values), size=(BOOTSTRAP, len(values)))
            means = [values.mean(axis=0), *(values[some].mean(axis=0) for some in drawn)]
            found, *others = (answers_needed(marks, mean[:-1], mean[-1]) for mean in means)
            low, high = np.quantile(others, [0.025, 0.975], method="nearest")
            yield {"data": data, "rival": rival, "K": k, "figure": column, "reached": values[:, -1].mean(),
                   "needed": found, "low": low, "high": high, "most": marks[-1]}  # fmt: skip


def paired_gains(raw: pd.DataFrame, rule: str, rival: str) -> Iterator[dict[str, Any]]:
    """Yield by how much a rule is ahead of another at each K, paired by repetition, with its 95% error."""
    for (data, k), part in raw.groupby(["data", "K"], sort=False):
        for column in ("right", "right unseen"):
            wide = part.pivot_table(index="seed", columns="rule", values=column)
            if {rule, rival} <= set(wide):
                ahead = _paired(wide[rule] - wide[rival])
                yield {"rule": rule, "rival": rival, "data": data, "K": k, "figure": column, **ahead}


def goal_gains(raw: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield what each other goal gains over the default, averaged over K, paired by repetition."""
    for data, part in raw.groupby("data", sort=False):
        for goal, columns in GOALS.items():
            for column in columns:
                wide = part.pivot_table(index=["seed", "K"], columns="rule", values=column)
                if {DESIGNED, goal} <= set(wide):
                    both = wide[[DESIGNED, goal]].dropna().groupby("seed").mean()
                    yield {"data": data, "goal": goal, "figure": column, "ranking": both[DESIGNED].mean(),
                           "found": both[goal].mean(), **_paired(both[goal] - both[DESIGNED])}  # fmt: skip


def _paired(gap: pd.Series) -> dict[str, float]:
    return {"over": gap.mean(), "error": 1.96 * gap.sem()}


# Tables


def tables(
    means: pd.DataFrame, needs: pd.DataFrame, over: pd.DataFrame, others: pd.DataFrame, gains: pd.DataFrame
) -> dict[str, tuple[str, Rows]]:
    """Return title, head and cells of each table by a short name."""
    most = means.repetitions.max()
    return {
        "asked": (f"Targets, up to {most} repetitions", check_targets(needs, over)),
        "saved": ("Designed answers that reach the same share in order as random answers", _saved(needs)),
        "over": ("Training items: designed minus random, in thousandths", _over(over, "right")),
        "others": ("Training items: rule minus rival, in thousandths", _over_others(others)),
        "over unseen": ("Unseen items: the same", _over(over, "right unseen")),
        "training": ("Training items: share of pairs in the right order", _orders(means, "right")),
        "unseen": ("Unseen items: the same", _orders(means, "right unseen")),
        "doubt": ("Pairs in the wrong order, claimed / true, in percent", _doubts(means)),
        "bits": ("Bits per answer over the next 20 answers, designed / random", _bits(means, needs)),
        "goals": ("What other goals gain and lose: default goal / other goal", _goals(gains)),
        "seconds": ("CPU seconds per round: the fit and the design of 20 pairs", _seconds(means)),
    }


def check_targets(needs: pd.DataFrame, over: pd.DataFrame) -> Rows:
    """Return one line per target: how many cells reach it, and the figures, or which miss it by how much."""
    cells = []
    for rival, k, limits in ((CHOIX, CHOIX_AT, OF_CHOIX), (RANDOM, RANDOM_AT, OF_RANDOM)):
        own = needs[(needs.rival == rival) & (needs.figure == "right") & needs.data.isin(limits)]
        text = ", ".join(f"{limit:.2f} {name_of(data)}" for data, limit in limits.items())
        who = "choix" if rival == CHOIX else "our model"
        found = [f"{name_of(row.data)} {_ratio(row)}" for row in own.itertuples()]
        reached = sum(row.needed / row.K <= limits[row.data] for row in own.itertuples())
        cells.append([f"reach what {who} reaches with {k:,} random answers, using at most this share of them: {text}",
                      f"{reached} of {len(own)}", ", ".join(found)])  # fmt: skip
    training, behind = over.figure == "right", -over.over
    for text, part, margin in (
        ("training items: not behind random by more than the error", over[training], over.error),
        ("unseen items: the same", over[~training], over.error),
        (f"noisy answers: not behind random by more than {NOISY_BEHIND}", over[training & over.data.isin(NOISY)],
         NOISY_BEHIND),
        (f"{EARLY}, K to {EARLY_TO}: not behind random", over[training & (over.data == EARLY) & (over.K <= EARLY_TO)],
         0.0),
    ):  # fmt: skip
        there = part.dropna(subset="over")
        missed = there[(behind > margin)[there.index]]
        listed = [
            f"{name_of(row.data)} at {row.K:,} by {_with_error(-row.over, row.error, '.3f')}"
            for row in missed.itertuples()
        ]
        cells.append(
            [
                text,
                f"{len(there) - len(missed)} of {len(there)}",
                ", ".join(listed) or ("none behind" if len(there) else "not measured"),
            ]
        )
    return ["target", "reached", "found"], cells


def _with_error(value: float, error: float, form: str) -> str:
    """Format a value with its error, which is missing for a single repetition."""
    return f"{value:{form}}" + ("" if np.isnan(error) else f" ± {error:{form.lstrip('+')}}")


def _ratio(row: Any) -> str:
    if np.isinf(row.needed):
        return f"more than {row.most / row.K:.2f}"
    high = f"{row.high / row.K:.2f}" if np.isfinite(row.high) else "more"
    return f"{row.needed / row.K:.2f} ({row.low / row.K:.2f} to {high})"


def _saved(needs: pd.DataFrame) -> Rows:
    columns = needs[["rival", "figure", "K"]].drop_duplicates()
    head, cells = ["set"], []
    for rival, figure, k in columns.itertuples(index=False):
        who, which = "choix" if rival == CHOIX else "our model", "unseen" if "unseen" in figure else "training"
        head += [f"{which}: {who}, {k:,} random answers", "designed answers"]
    for data, part in needs.groupby("data", sort=False):
        line = [name_of(data)]
        for key in columns.itertuples(index=False):
            row = next((row for row in part.itertuples() if (row.rival, row.figure, row.K) == tuple(key)), None)
            line += ["", ""] if row is None else [f"{row.reached:.3f}", _count(row)]
        cells.append(line)
    return head, cells


def _count(row: Any) -> str:
    if np.isinf(row.needed):
        return f"not by {row.most:,}"
    high = f"{row.high:,.0f}" if np.isfinite(row.high) else f"beyond {row.most:,}"
    return f"{row.needed:,.0f} ({row.low:,.0f} to {high})"


def _over(over: pd.DataFrame, figure: str) -> Rows:
    there = over[over.figure == figure].dropna(subset="over")
    marks, cells = sorted(there.K.unique()), []
    for data, part in there.groupby("data", sort=False):
        by_k = {row.K: _with_error(1000 * row.over, 1000 * row.error, "+.0f") for row in part.itertuples()}
        cells.append([name_of(data), *(by_k.get(k, "") for k in marks)])
    return ["set", *(f"K = {k:,}" for k in marks)], cells


def _over_others(others: pd.DataFrame) -> Rows:
    head: list[str] = ["rule", "over", "set"]
    cells = []
    for rule, rival in OTHERS:
        part = others[(others.rule == rule) & (others.rival == rival)] if len(others) else others
        if len(part):
            own, lines = _over(part, "right")
            head = ["rule", "over", *own]
            cells += [["" if at else rule, "" if at else rival, *line] for at, line in enumerate(lines)]
    return head, cells


def _orders(means: pd.DataFrame, column: str) -> Rows:
    there = means.dropna(subset=column)
    marks, cells = sorted(there.K.unique()), []
    for data, part in there.groupby("data", sort=False):
        wide = part.pivot_table(index="rule", columns="K", values=column)
        for place, rule in enumerate([rule for rule in COLOURS if rule in wide.index]):
            shares = [wide.loc[rule].get(k, np.nan) for k in marks]
            shown = ["" if np.isnan(share) else f"{share:.3f}" for share in shares]
            cells.append([name_of(data) if place == 0 else "", rule, *shown])
    return ["set", "rule", *(f"K = {k:,}" for k in marks)], cells


def _doubts(means: pd.DataFrame) -> Rows:
    there = means[means.rule.isin([DESIGNED, CAMPAIGNS, RANDOM])].dropna(subset=["doubt", "wrong"])
    marks, cells = sorted(there.K.unique()), []
    for data, of_set in there.groupby("data", sort=False):
        for rule in [rule for rule in COLOURS if rule in set(of_set.rule)]:
            part = of_set[of_set.rule == rule]
            by_k = {row.K: f"{100 * row.doubt:.1f} / {100 * row.wrong:.1f}" for row in part.itertuples()}
            cells.append([name_of(data), rule, *(by_k.get(k, "") for k in marks)])
    return ["set", "rule", *(f"K = {k:,}" for k in marks)], cells


def cumulative_bits(marks: np.ndarray, bits: np.ndarray, k: int) -> float:
    """Return the bits in the first k answers: 1 for the first, then interpolated linearly between the marks."""
    every = np.arange(k) + 0.5
    return float(np.sum(np.interp(every, [0, *marks], [1.0, *bits])))


def _bits(means: pd.DataFrame, needs: pd.DataFrame) -> Rows:
    there = means[means.rule.isin([DESIGNED, RANDOM])].dropna(subset="bits")
    there = there[
        there.groupby(["data", "K"]).rule.transform("nunique") == 2
    ]  # after the last round there are no next answers
    marks, cells = sorted(there.K.unique()), []
    for data, part in there.groupby("data", sort=False):
        wide = part.pivot_table(index="rule", columns="K", values="bits")
        own = needs[(needs.data == data) & (needs.rival == RANDOM) & (needs.figure == "right")]
        if list(wide.columns) == marks and marks[-1] >= RANDOM_AT:
            total = cumulative_bits(wide.columns.to_numpy(), wide.loc[RANDOM].to_numpy(), RANDOM_AT)
            both = [f"{wide.loc[DESIGNED, k]:.2f} / {wide.loc[RANDOM, k]:.2f}" for k in marks]
            count = next(map(_count, own.itertuples()), "")  # the order of training molecules is unknown
            cells.append([name_of(data), *both, f"{total:.0f}", count])
    return [
        "set",
        *(f"K = {k:,}" for k in marks),
        f"bits in {RANDOM_AT} random answers",
        "designed answers for the same order",
    ], cells


def _goals(gains: pd.DataFrame) -> Rows:
    cells = []
    there = gains.dropna(subset="over")
    for goal in GOALS:
        for data, part in there[there.goal == goal].groupby("data", sort=False):
            shown = {
                row.figure: f"{row.ranking:.3f} / {row.found:.3f}: {_with_error(row.over, row.error, '+.3f')}"
                for row in part.itertuples()
            }
            cells.append([goal.removeprefix("goal "), name_of(data), *(shown.get(figure, "") for figure in WORDS)])
    return ["goal", "set", *WORDS.values()], cells


def _seconds(means: pd.DataFrame) -> Rows:
    wide = means.dropna(subset="seconds").pivot_table(index="rule", columns="data", values="seconds", sort=False)
    return ["rule", *map(name_of, wide.columns)], [
        [rule, *("" if np.isnan(x) else f"{x:.2g}" for x in wide.loc[rule])]
        for rule in [*COLOURS, *GOALS]
        if rule in wide.index
    ]


def _read(path: Path) -> pd.DataFrame:
    """Read a table; a file without columns is an empty table."""
    return pd.read_csv(path) if path.read_text().strip('"\n') else pd.DataFrame()


def show(results: Path, folder: Path) -> None:
    """Print the tables, update them in the worth.md of `results` and `folder`, and draw the pictures into `folder`."""
    names = ("worth", "worth-saved", "worth-against-random", "worth-against-others", "worth-goals")
    means, needs, over, others, gains = (_read(results / f"{name}.csv") for name in names)
    folder.mkdir(exist_ok=True)
    publish(tables(means, needs, over, others, gains), results / "worth.md", folder / "worth.md")
    draw(means, "right", "training items", folder / "worth-training.png")
    draw(means, "right unseen", "unseen items", folder / "worth-unseen.png")


# Pictures


def draw(means: pd.DataFrame, column: str, title: str, path: Path) -> None:
    """Draw pairs in the wrong order against K, one panel per set, with 95% intervals; the claim is dashed."""
    there = means[means.rule.isin(list(COLOURS))].dropna(subset=column)
    figure, axes = panels(there)
    ticks = sorted(there.K.unique())
    shown = [k for k in ticks if k in (20, 40, 100, 200, 400, 1000)]
    for axis, (data, part) in zip(axes, there.groupby("data", sort=False), strict=False):
        for rule, line in part.groupby("rule", sort=False):
            colour, wrong, error = COLOURS[str(rule)], 100 * (1 - line[column]), 196 * line[f"{column} error"]
            axis.plot(line.K, wrong, color=colour, lw=2.2 if rule in (DESIGNED, RANDOM) else 1.2, label=rule)
            axis.fill_between(line.K, wrong - error, wrong + error, color=colour, alpha=0.12, lw=0)
            if rule == DESIGNED and column == "right":
                axis.plot(line.K, 100 * line.doubt, "--", color=colour, lw=1.2, label="order: claimed")
        axis.set(xscale="log", title=name_of(data), xlabel="answers", ylim=(0, None))
        axis.set_xticks(shown, [f"{k:,}" for k in shown], fontsize=8)
        axis.minorticks_off()
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=8, frameon=False, fontsize=9)
    figure.supylabel("pairs in the wrong order, %")
    figure.suptitle(f"{title[0].upper()}{title[1:]}, up to {there.repetitions.max()} repetitions, 95% intervals")
    common.save_figure(figure, axes, path)
