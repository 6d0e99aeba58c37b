"""What ps.plan foretells against what then happens.

    python experiments/plan.py --data folder        # 10 repetitions of every set, 3 of humour, an hour on two cores;
                                                    # what is done is not done again
    python experiments/plan.py --quick              # 2 repetitions of diabetes and synthetic, a few minutes

On each set of sets.py that has a truth about the items at hand: a plan before the first answer, and after rounds of 20
pairs under the model up to 100 and up to 300 answers; and the rounds go on. Compared are the doubt and the reliability
that the plan foretells and those that the model claims when it is there, the share of pairs that are then in the wrong
order, and how many answers it took until the doubt was three quarters of what it was.
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
STARTS, MORE, ROUND = (0, 100, 300), (100, 200, 400), 20
QUICK_STARTS, QUICK_MORE = (0, 100), (100, 200)
LARGE, FEWER = ["humour"], 3  # sets with thousands of items, which take ten times as long, have so many times fewer
EASED = 0.75  # of the doubt at the start: how many answers that takes is foretold too


class Happened(NamedTuple):
    """What the model claims, and the share of pairs in the wrong order."""

    doubt: float
    reliability: float
    wrong: float


def repetition(
    data: str, seed: int, folder: Path, starts: tuple[int, ...], more: tuple[int, ...], simulations: int = 8
) -> list[dict[str, Any]]:
    """A row for each start and number of further answers: what was foretold there, and what then happened."""
    trial = sets.trial(data, seed, folder)
    rng = np.random.default_rng([seed, 7])
    pairs, outcomes = np.zeros((0, 2), dtype=int), np.zeros(0)
    model = ps.BradleyTerryGP(warm_start=True).fit(trial.X)
    plans: dict[int, ps.Plan] = {}
    happened: dict[int, Happened] = {}  # by the number of answers
    while len(pairs) <= starts[-1] + more[-1]:
        happened[len(pairs)] = Happened(model.doubt_, model.reliability_, wrong(model, trial))
        if len(pairs) in starts:
            plans[len(pairs)] = ps.plan(
                trial.X, model=model, answers=more, candidates=trial.candidates, simulations=simulations,
                random_state=seed, n_jobs=1,
            )  # fmt: skip
        chosen = ps.select(
            trial.X, ROUND, model=model, comparisons=pairs, candidates=trial.candidates, n_jobs=1
        ).pairs  # fmt: skip
        pairs, outcomes = np.vstack([pairs, chosen]), np.append(outcomes, trial.answer(chosen, rng))
        model.fit(trial.X, comparisons=pairs, outcomes=outcomes)
    return [row for start, plan in plans.items() for row in compared(start, plan, happened)]


def wrong(model: ps.BradleyTerryGP, trial: sets.Trial) -> float:
    """The share of the pairs to judge by that are not in their true order; level is half wrong."""
    scores = model.decision_function(trial.X)
    gap = scores[trial.ordered[:, 0]] - scores[trial.ordered[:, 1]]
    return float(np.mean(gap < 0) + np.mean(gap == 0) / 2)


def compared(start: int, plan: ps.Plan, happened: dict[int, Happened]) -> list[dict[str, Any]]:
    eased = EASED * happened[start].doubt
    needed = plan.needed(doubt=eased)
    reached = [count - start for count, then in happened.items() if count > start and then.doubt <= eased]
    return [
        {
            "start": start,
            "more": row.answers,
            "before": happened[start].doubt,
            "foretold": row.doubt,
            "low": row.doubt_low,
            "high": row.doubt_high,
            "foretold_wrong": row.wrong,
            "claimed": happened[start + row.answers].doubt,
            "wrong": happened[start + row.answers].wrong,
            "foretold_reliability": row.reliability,
            "low_reliability": row.reliability_low,
            "high_reliability": row.reliability_high,
            "reliability": happened[start + row.answers].reliability,
            **{f"needed_{end}": -1 if value is None else value for end, value in needed._asdict().items()},
            "took": min(reached, default=-1),
        }
        for row in plan.to_frame().itertuples()
        if row.answers > 0 and start + row.answers in happened
    ]


def table(raw: pd.DataFrame) -> model_report.Rows:
    """Means over repetitions."""
    head = ["set", "answers", "more", "doubt before", "foretold", "claimed then", "within its interval",
            "wrong, foretold", "wrong then", "reliability, foretold", "claimed then",
            "within its interval"]  # fmt: skip
    cells = []
    low, high = raw.low_reliability, raw.high_reliability
    inside = raw.assign(
        inside=(raw.low <= raw.claimed) & (raw.claimed <= raw.high),
        reliable=(low <= raw.reliability) & (raw.reliability <= high),
    )
    for (data, start, more), rows in inside.groupby(["data", "start", "more"], sort=False):
        shares = rows[["before", "foretold", "claimed", "foretold_wrong", "wrong"]].mean()
        before, foretold, claimed, foretold_wrong, is_wrong = (f"{100 * share:.1f}%" for share in shares)
        hits, reliable = (f"{rows[name].sum()} of {len(rows)}" for name in ("inside", "reliable"))
        where = [model_report.name_of(data), str(start), str(more)]
        reliability = [f"{rows[name].mean():.2f}" for name in ("foretold_reliability", "reliability")]
        cells.append([*where, before, foretold, claimed, hits, foretold_wrong, is_wrong, *reliability, reliable])
    return head, cells


def needed_table(raw: pd.DataFrame) -> model_report.Rows:
    """Medians over repetitions: what it was foretold to take until the doubt was eased, and what it took."""
    head = ["set", "answers", "foretold", "from", "to", "took", "within"]
    once = raw.drop_duplicates(["data", "seed", "start"])
    counts = ["needed_about", "needed_low", "needed_high", "took"]
    once = once.assign(**{name: once[name].where(once[name] >= 0, np.inf) for name in counts})  # beyond all asked
    cells = []
    for (data, start), rows in once.groupby(["data", "start"], sort=False):
        inside = (rows.needed_low <= rows.took) & (rows.took <= rows.needed_high)
        medians = ("more" if np.isinf(rows[name].median()) else f"{rows[name].median():.0f}" for name in counts)
        cells.append([model_report.name_of(data), str(start), *medians, f"{inside.sum()} of {len(rows)}"])
    return head, cells


def quietly(**unit: Any) -> list[dict[str, Any]]:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="the answers leave")
        return repetition(**unit)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="2 repetitions of two sets, 300 answers at most")
    parser.add_argument("--repetitions", type=int, help="10, and a third of that with thousands of items")
    parser.add_argument("--sets", nargs="+", choices=SETS)
    parser.add_argument("--data", type=Path, default=Path("data"), help=f"folder with {'/, '.join(sets.NEED_FILES)}/")
    parser.add_argument("--jobs", type=int, default=-1, help="processes; all cores")
    chosen = parser.parse_args()
    results = common.HERE / "results" / ("quick" if chosen.quick else "")
    results.mkdir(parents=True, exist_ok=True)
    names = chosen.sets or (["diabetes", "synthetic"] if chosen.quick else SETS)
    count = chosen.repetitions or (2 if chosen.quick else 10)
    found = common.there(names, chosen.data)
    fewer = max(1, count // FEWER)
    units = [
        {"data": name, "seed": seed} for seed in range(count) for name in found if name not in LARGE or seed < fewer
    ]
    starts, more = (QUICK_STARTS, QUICK_MORE) if chosen.quick else (STARTS, MORE)
    work = partial(quietly, folder=chosen.data, starts=starts, more=more)
    raw = common.stored(results / "plan-repetitions.csv.gz", units, work, chosen.jobs)
    raw = raw.sort_values("data", key=lambda data: data.map(SETS.index), kind="stable")
    page = common.HERE.parent / ("figures" if chosen.quick else "docs") / "plan.md"
    made = {
        "plan": ("Doubt foretold and then claimed, means over repetitions", table(raw)),
        "needed": (f"Answers until doubt is {EASED:g} of what it was, medians over repetitions", needed_table(raw)),
    }
    model_report.publish(made, page)


if __name__ == "__main__":
    main()
