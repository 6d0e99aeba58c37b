"""Plot AUC of unseen labels and comparisons, and time, against K for D-optimal design and its competitors.

This repeats the paper's Fig. 6 and Appendix D, with one figure per data set that has answers.

    python experiments/accuracy.py [--scale paper] [--data FOLDER]

Four folds, repeated; bands are 95% intervals over repetitions. Mutual information stops at K = 10.
"""

from functools import partial

import common
import evaluation
import matplotlib.pyplot as plt
import pandas as pd

TIMED = ["NG", "FLP", "SLP", "engine", "fisher", "entropy", "mutual-information", "random"]


def summarise(table: pd.DataFrame) -> pd.DataFrame:
    """Average the folds of each repetition, and return means and standard errors over repetitions."""
    keys = ["data", "method", "K"]
    means = table.groupby([*keys, "seed"], sort=False)[["labels", "comparisons"]].mean()
    found = means.groupby(keys, sort=False).agg(["mean", "sem", "count"])
    found.columns = [f"{name} {what}" for name, what in found.columns]
    return found.reset_index().drop(columns="labels count").rename(columns={"comparisons count": "repetitions"})


def draw(name: str, auc: pd.DataFrame, times: pd.DataFrame) -> None:
    figure, axes = plt.subplots(1, 3, figsize=(14.5, 4.5), layout="constrained")
    for axis, column in zip(axes, ("labels", "comparisons"), strict=False):
        for method, own in auc.groupby("method", sort=False):
            colour = common.COLOURS[str(method)]
            mean, error = own[f"{column} mean"], 1.96 * own[f"{column} sem"]
            axis.plot(own.K, mean, "o-", ms=3, color=colour, lw=2 if method == "d-optimal" else 1.4, label=method)
            axis.fill_between(own.K, mean - error, mean + error, color=colour, alpha=0.15, lw=0)
        axis.set(xlabel="comparisons K", title=f"AUC of unseen {column}")
    axes[0].legend(frameon=False, fontsize=9)
    ends = {}
    for method, own in times.groupby("method", sort=False):
        mean = own.groupby("K").agg(seconds=("seconds", "mean"), extrapolated=("extrapolated", "any"))
        solid = "-" if not mean.extrapolated.any() else "-."
        axes[2].plot(mean.index, mean.seconds, common.LINES.get(method, solid), color=common.COLOURS[method], lw=1.6)
        ends[method] = (mean.index[-1], mean.seconds.iloc[-1])
    axes[2].set(yscale="log", xlabel="comparisons K", title="seconds to choose them", xlim=(0, 270))
    common.label_lines(axes[2], ends)
    figure.suptitle(f"{name.replace('_', ' ')}, {int(auc.repetitions.max())} repetitions of 4 folds")
    common.save_figure(figure, axes, chosen.figures / f"accuracy-{name}.png")


if __name__ == "__main__":
    chosen = common.options(__doc__)
    names = common.available(common.WITH_ANSWERS, chosen.data)
    repetitions = 2 if chosen.quick else 25
    means = chosen.results / "accuracy.csv"
    if not chosen.redraw:
        units = [
            {"data": name, "seed": seed, "fold": fold}
            for seed in range(repetitions)
            for name in names
            for fold in range(4)
        ]
        raw = common.run_units(
            chosen.results / "accuracy-folds.csv", units, partial(evaluation.evaluate, folder=chosen.data), jobs=-1
        )
        summarise(raw).to_csv(means, index=False, float_format="%.5f")
    auc = pd.read_csv(means)
    times = common.measure_timings(chosen, [(name, 0, method) for name in names for method in TIMED])
    for name in names:
        draw(name, auc[auc.data == name], times[times.data == name])
