"""Compare forecasts of doubt and reliability with what the model then claims.

    python experiments/forecast.py --data folder        # 10 repetitions per set, 3 of humour, an hour on two cores;
                                                        # finished repetitions are kept and not run again
    python experiments/forecast.py --quick              # 2 repetitions of diabetes and synthetic, a few minutes

It uses every set of sets.py whose training items have a known order. Rounds of 20 pairs are designed under the model.
Forecasts are made before the first answer, after 100 and after 300 answers, and the rounds go on. The script compares
the doubt and the reliability of the forecast with what the model claims when it gets there, and with the true share of
pairs in the wrong order. It also compares how many answers it took until doubt fell to three quarters.
"""

from __future__ import annotations

import argparse
import warnings
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import common
import model_report
import numpy as np
import pandas as pd
import sets

import pairsmith as ps

SETS = [name for name in sets.SETS if name != "molskill"]  # a molecule is in hardly more than one pair
STARTS, MORE, ROUND = (0, 100, 300), (100, 200, 400), 20  # answers before a forecast, answers ahead, pairs per round
QUICK_STARTS, QUICK_MORE = (0, 100), (100, 200)
LARGE_SETS, LARGE_SET_DIVISOR = ["humour"], 3  # thousands of items take ten times as long: fewer repetitions
TARGET_SHARE = 0.75  # the target of `needed` is this share of the doubt at the start


class Actual(NamedTuple):
    """What the model claims at some point, and the true share of pairs in the wrong order."""

    doubt: float
    reliability: float
    wrong: float


def repetition(
    data: str, seed: int, folder: Path, starts: tuple[int, ...], more: tuple[int, ...], simulations: int = 8
) -> list[dict[str, Any]]:
    """Return a row per start and number of further answers: the forecast and what the model then claimed."""
    trial = sets.trial(data, seed, folder)
    rng = np.random.default_rng([seed, 7])
    pairs, outcomes = np.zeros((0, 2), dtype=int), np.zeros(0)
    model = ps.BradleyTerryGP(warm_start=True).fit(trial.X)
    forecasts: dict[int, ps.Forecast] = {}
    actual: dict[int, Actual] = {}  # by the number of answers
    while len(pairs) <= starts[-1] + more[-1]:
        actual[len(pairs)] = Actual(model.doubt_, model.reliability_, share_wrong(model, trial))
        if len(pairs) in starts:
            forecasts[len(pairs)] = ps.forecast(
                trial.X, model=model, answers=more, candidates=trial.candidates, simulations=simulations,
                random_state=seed, n_jobs=1,
            )  # fmt: skip
        chosen = ps.select(
            trial.X, ROUND, model=model, comparisons=pairs, candidates=trial.candidates, n_jobs=1
        ).pairs  # fmt: skip
        pairs, outcomes = np.vstack([pairs, chosen]), np.append(outcomes, trial.answer(chosen, rng))
        model.fit(trial.X, comparisons=pairs, outcomes=outcomes)
    return [row for start, forecast in forecasts.items() for row in compare(start, forecast, actual)]


def share_wrong(model: ps.BradleyTerryGP, trial: sets.Trial) -> float:
    """Return the share of the judged pairs that the model has in the wrong order; equal scores count half."""
    scores = model.decision_function(trial.X)
    gap = scores[trial.ordered[:, 0]] - scores[trial.ordered[:, 1]]
    return float(np.mean(gap < 0) + np.mean(gap == 0) / 2)


def compare(start: int, forecast: ps.Forecast, actual: dict[int, Actual]) -> list[dict[str, Any]]:
    """Return a row per number of further answers with the forecast from `start` and the actual figures."""
    target = TARGET_SHARE * actual[start].doubt
    needed = forecast.needed(doubt=target)
    reached = [count - start for count, then in actual.items() if count > start and then.doubt <= target]
    return [
        {
            "start": start,
            "more": row.answers,
            "before": actual[start].doubt,
            "forecast": row.doubt,
            "low": row.doubt_low,
            "high": row.doubt_high,
            "forecast_wrong": row.wrong,
            "claimed": actual[start + row.answers].doubt,
            "wrong": actual[start + row.answers].wrong,
            "forecast_reliability": row.reliability,
            "low_reliability": row.reliability_low,
            "high_reliability": row.reliability_high,
            "reliability": actual[start + row.answers].reliability,
            **{f"needed_{end}": -1 if value is None else value for end, value in needed._asdict().items()},
            "took": min(reached, default=-1),
        }
        for row in forecast.to_frame().itertuples()
        if row.answers > 0 and start + row.answers in actual
    ]


def table(raw: pd.DataFrame) -> model_report.Rows:
    """Return means over repetitions, one line per set, start and number of further answers."""
    head = ["set", "answers", "more", "doubt before", "doubt forecast", "claimed", "in interval",
            "wrong, forecast", "wrong", "reliability forecast", "claimed", "in interval"]  # fmt: skip
    cells = []
    low, high = raw.low_reliability, raw.high_reliability
    inside = raw.assign(
        inside=(raw.low <= raw.claimed) & (raw.claimed <= raw.high),
        reliable=(low <= raw.reliability) & (raw.reliability <= high),
    )
    for (data, start, more), rows in inside.groupby(["data", "start", "more"], sort=False):
        shares = rows[["before", "forecast", "claimed", "forecast_wrong", "wrong"]].mean()
        before, forecast, claimed, forecast_wrong, is_wrong = (f"{100 * share:.1f}%" for share in shares)
        hits, reliable = (f"{rows[name].sum()} of {len(rows)}" for name in ("inside", "reliable"))
        where = [model_report.name_of(data), str(start), str(more)]
        reliability = [f"{rows[name].mean():.2f}" for name in ("forecast_reliability", "reliability")]
        cells.append([*where, before, forecast, claimed, hits, forecast_wrong, is_wrong, *reliability, reliable])
    return head, cells


def overview(raw: pd.DataFrame) -> model_report.Rows:
    """Return the doubt columns of `table` for the longest forecasts after the first answers."""
    head, cells = table(raw[(raw.start > 0) & (raw.more == raw.more.max())])
    columns = [0, 1, 3, 4, 5, 6, 8]
    return [head[column] for column in columns], [[line[column] for column in columns] for line in cells]


def needed_table(raw: pd.DataFrame) -> model_report.Rows:
    """Return medians over repetitions of the forecast and the actual number of answers until the target."""
    head = ["set", "answers", "forecast", "from", "to", "took", "in interval"]
    once = raw.drop_duplicates(["data", "seed", "start"])
    counts = ["needed_about", "needed_low", "needed_high", "took"]
    once = once.assign(**{name: once[name].where(once[name] >= 0, np.inf) for name in counts})  # -1: not reached
    cells = []
    for (data, start), rows in once.groupby(["data", "start"], sort=False):
        inside = (rows.needed_low <= rows.took) & (rows.took <= rows.needed_high)
        medians = ("more" if np.isinf(rows[name].median()) else f"{rows[name].median():.0f}" for name in counts)
        cells.append([model_report.name_of(data), str(start), *medians, f"{inside.sum()} of {len(rows)}"])
    return head, cells


def repetition_without_warnings(**unit: Any) -> list[dict[str, Any]]:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="the answers leave")
        return repetition(**unit)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="2 repetitions of two sets, 300 answers at most")
    parser.add_argument("--repetitions", type=int, help="default 10; sets with thousands of items get a third of that")
    parser.add_argument("--sets", nargs="+", choices=SETS)
    parser.add_argument("--data", type=Path, default=Path("data"), help=f"folder with {'/, '.join(sets.NEED_FILES)}/")
    parser.add_argument("--jobs", type=int, default=-1, help="processes; default: all cores")
    chosen = parser.parse_args()
    results = common.HERE / "results" / ("quick" if chosen.quick else "")
    results.mkdir(parents=True, exist_ok=True)
    names = chosen.sets or (["diabetes", "synthetic"] if chosen.quick else SETS)
    count = chosen.repetitions or (2 if chosen.quick else 10)
    found = common.available(names, chosen.data)
    count_for_large = max(1, count // LARGE_SET_DIVISOR)
    units = [
        {"data": name, "seed": seed}
        for seed in range(count)
        for name in found
        if name not in LARGE_SETS or seed < count_for_large
    ]
    starts, more = (QUICK_STARTS, QUICK_MORE) if chosen.quick else (STARTS, MORE)
    work = partial(repetition_without_warnings, folder=chosen.data, starts=starts, more=more)
    raw = common.run_units(results / "forecast-repetitions.csv.gz", units, work, chosen.jobs)
    raw = raw.sort_values("data", key=lambda data: data.map(SETS.index), kind="stable")
    made = {
        "overview": ("Doubt, forecast and claimed, for the longest forecasts; means over repetitions", overview(raw)),
        "forecast": ("Forecast and claimed figures, means over repetitions", table(raw)),
        "needed": (f"Answers until doubt is {TARGET_SHARE:g} of what it was, medians", needed_table(raw)),
    }
    pages = common.HERE.parent / ("figures" if chosen.quick else "docs")
    model_report.publish(made, results / "forecast.md", pages / "forecast.md")


if __name__ == "__main__":
    main()
