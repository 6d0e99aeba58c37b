"""Check the coverage of BradleyTerryGP's intervals and its reliability in simulations where the model is true.

    python experiments/intervals.py             # 300 simulations per line; finished ones are kept
    python experiments/intervals.py --quick     # a minute

There are sixty items, and answers to random pairs with the noise of the model. With four features, scores are linear in
them with variance 2, with or without effects of the items. Three models are fitted: one that is told the truth
(items=False without effects), one that has to find out whether there are effects, and the default, which also has to
find out that nothing is smooth. Without features there are effects alone. The targets: 90% intervals cover 87 to 93% of
the true scores, and the reliability is within .03 of the squared correlation of true and estimated scores where that is
.5 to .95.
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any

import common
import model_report
import numpy as np
import pandas as pd
from scipy import special  # import the module: its functions cannot be pickled by name

import pairsmith as ps

N, D, LINEAR = 60, 4, 2.0
ANSWERS = [100, 200, 400, 1000]
# number of features, fitted parts, variance of the items' effects
TRUTHS: list[tuple[int, str, float]] = [
    (D, "linear", 0.0),
    *((D, parts, effects) for parts in ("linear, items", "all") for effects in (0.0, 0.2, 1.0)),
    *((0, "items", effects) for effects in (0.5, 1.0, 3.0)),
]
COVERAGE = (0.87, 0.93)  # target range
MAX_RELIABILITY_ERROR = 0.03  # target, for a true r² within RELIABILITY_RANGE
RELIABILITY_RANGE = (0.5, 0.95)


def simulate(features: int, parts: str, effects: float, answers: int, seed: int) -> list[dict[str, Any]]:
    """Return the coverage of 90% intervals, the claimed reliability, and the squared correlation with the truth."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((N, features))
    scores = np.sqrt(effects) * rng.standard_normal(N)
    if features:
        scores += np.sqrt(LINEAR / features) * X @ rng.standard_normal(features)
    pairs = np.array([rng.choice(N, 2, replace=False) for _ in range(answers)])
    outcomes = np.where(rng.random(answers) < special.expit(scores[pairs[:, 0]] - scores[pairs[:, 1]]), 1, -1)
    items = X if features else None
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="the answers leave")
        model = ps.BradleyTerryGP(
            smooth="auto" if parts == "all" else False, items=False if parts == "linear" else "auto"
        )
        model.fit(items, comparisons=pairs, outcomes=outcomes, n_items=N)
    ranking = model.rank(items).sort_index()
    level = ranking["score"].mean() - scores.mean()  # comparisons do not determine the level
    inside = (ranking["low"] - level <= scores) & (scores <= ranking["high"] - level)
    fit = np.corrcoef(ranking["score"], scores)[0, 1] ** 2 if np.ptp(ranking["score"]) > 0 else 0.0
    return [{"cover": float(inside.mean()), "claimed": model.reliability_, "true": float(fit)}]


def summarise(raw: pd.DataFrame) -> pd.DataFrame:
    """Return means over simulations and by how much they miss the targets: 0 if reached, nan without a target."""
    groups = raw.assign(off=raw.claimed - raw.true).groupby(["features", "parts", "effects", "answers"])
    means = groups[["cover", "claimed", "true", "off"]].mean()
    means["cover error"], means["off error"] = 1.96 * groups["cover"].sem(), 1.96 * groups["off"].sem()
    means["cover missed"] = np.maximum(0, np.maximum(COVERAGE[0] - means.cover, means.cover - COVERAGE[1]))
    missed = np.maximum(0, means.off.abs() - MAX_RELIABILITY_ERROR)
    means["reliability missed"] = missed.where(means.true.between(*RELIABILITY_RANGE))
    return means.assign(simulations=groups["cover"].size()).reset_index()


def table(found: pd.DataFrame) -> model_report.Rows:
    head = ["features", "parts fitted", "variance of effects", "answers", "coverage, %", "target: 87 to 93",
            "reliability", "true r²", "target: within .03"]  # fmt: skip
    cells = []
    for row in found.to_dict("records"):
        cover, reliability = row["cover missed"], row["reliability missed"]
        cells.append([
            *(str(row[name]) for name in ("features", "parts", "effects")),
            f"{row['answers']:,}",
            f"{100 * row['cover']:.1f} ± {100 * row['cover error']:.1f}",
            "reached" if cover == 0 else f"missed by {100 * cover:.1f}",
            f"{row['claimed']:.3f}",
            f"{row['true']:.3f}",
            "" if np.isnan(reliability) else "reached" if reliability == 0 else f"missed by {reliability:.3f}",
        ])  # fmt: skip
    return head, cells


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="5 simulations per line, into results/quick/")
    parser.add_argument("--simulations", type=int, help="per line; 300")
    parser.add_argument("--jobs", type=int, default=-1, help="processes; all cores")
    chosen = parser.parse_args()
    results = common.HERE / "results" / ("quick" if chosen.quick else "")
    results.mkdir(exist_ok=True)
    simulations = chosen.simulations or (5 if chosen.quick else 300)
    units = [
        {"features": features, "parts": parts, "effects": effects, "answers": answers, "seed": seed}
        for features, parts, effects in TRUTHS
        for answers in ANSWERS
        for seed in range(simulations)
    ]
    found = summarise(common.run_units(results / "intervals-repetitions.csv", units, simulate, chosen.jobs))
    found.to_csv(results / "intervals.csv", index=False, float_format="%.5f")
    title = f"90% intervals of BradleyTerryGP, {N} items, {simulations} simulations a line"
    model_report.publish({"intervals": (title, table(found))}, results / "model.md")


if __name__ == "__main__":
    main()
