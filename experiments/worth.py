"""Measure how many answers designed rounds save, for training items and for unseen items.

    python experiments/worth.py --data folder                      # 50 repetitions, most of a night on two cores
    python experiments/worth.py --quick                            # a few minutes, into figures/
    python experiments/worth.py --sets diabetes --rules order random --repetitions 2
    python experiments/worth.py --redraw                           # tables and pictures from existing results

A rule decides which pairs are asked about, in rounds of 20 answers up to K = 1,000. Designed rounds use all answers so
far. sets.py says who answers and what is true. All rules of a repetition see the same items and people, so differences
are paired. After K answers every rule is judged by the same model, a BradleyTerryGP fitted anew to its answers; choix,
which sees no features, is judged by its own scores. The script measures

- the share of truly different pairs in the right order, for training items and unseen items;
- the mean probability of a wrong order that the posterior claims;
- the share of the best ten that is found;
- the bits of information in each of the next 20 answers;
- the CPU seconds of a round.

Every repetition is saved as soon as it is made, in results/worth-repetitions.csv.gz, and is not run again.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import common
import numpy as np
import sets
import worth_report

import model
import pairsmith as ps

ROUND, RANDOM_ONE_IN, TOP = 20, 10, 10  # answers per round; one pair in 10 is random; size of the top
MARKS = [20, 40, 60, 100, 160, 200, 300, 400, 600, 800, 1000]
QUICK_MARKS = [20, 40, 60, 100]
LARGE_SETS = ["humour", "molskill"]  # thousands of items take ten times as long
REPETITION_DIVISOR = 5  # fewer repetitions of large sets and of minor rules
CHOIX = "random, choix"
CHOIX_ANSWER_FACTOR = 1.5  # choix gets more answers than the other rules

Answers = tuple[np.ndarray, np.ndarray]  # pairs, and +1 where the first item was preferred, -1 where the second


# Rules that fix all pairs beforehand


def random_pairs(trial: sets.Trial, k: int, rng: np.random.Generator) -> np.ndarray:
    return trial.draw(min(k, len(trial.pairs)), rng)


def balanced_pairs(trial: sets.Trial, k: int, rng: np.random.Generator) -> np.ndarray:
    """Draw random pairs in which each item occurs equally often, as far as possible."""
    pairs = rng.permutation(trial.pairs)
    asked, taken = np.zeros(len(trial.X)), np.zeros(len(pairs))
    chosen = np.zeros((min(k, len(pairs)), 2), dtype=int)
    for place in range(len(chosen)):
        least = int(np.argmin(asked[pairs[:, 0]] + asked[pairs[:, 1]] + taken))
        chosen[place], taken[least] = pairs[least], np.inf
        asked[pairs[least]] += 1
    return chosen


# Rules that design rounds: the next pairs, given the answers and a model fitted to them


def design_round(
    trial: sets.Trial, answered: Answers, gp: ps.BradleyTerryGP, rng: np.random.Generator, k: int = ROUND, **how: Any
) -> np.ndarray:
    """Select the next round under this model."""
    pairs, _ = answered
    asked = {"comparisons": pairs} if len(pairs) else {}
    # With thousands of items select looks at a sample; another seed per round gives another sample.
    how |= {"candidates": trial.candidates, "random_state": len(pairs), "n_jobs": 1}
    return ps.select(trial.X, k, model=gp, **asked, **how).pairs


def design_round_with_random(
    trial: sets.Trial, answered: Answers, gp: ps.BradleyTerryGP, rng: np.random.Generator
) -> np.ndarray:
    """Draw one pair in ten at random and design the others given these."""
    n, (pairs, outcomes) = len(trial.X), answered
    asked = np.sort(pairs, axis=1) @ [n, 1]
    left = trial.pairs[~np.isin(trial.pairs @ [n, 1], asked)]
    drawn = left[rng.choice(len(left), ROUND // RANDOM_ONE_IN, replace=False)]
    rest = design_round(trial, (np.vstack([pairs, drawn]), outcomes), gp, rng, ROUND - len(drawn))
    return np.vstack([drawn, rest])


def design_linear_round(
    trial: sets.Trial, answered: Answers, gp: ps.BradleyTerryGP, rng: np.random.Generator
) -> np.ndarray:
    """Design a round by averaged D-optimality under a linear model, as campaigns did before."""
    return model.select_linear(trial, *answered, gp)


FIXED_RULES: dict[str, Callable[..., np.ndarray]] = {"random": random_pairs, "balanced": balanced_pairs}
ROUND_RULES: dict[str, Callable[..., np.ndarray]] = {
    "order": design_round,
    "order, 1 in 10 random": design_round_with_random,
    "averaged D": partial(design_round, objective="averaged-d-optimal"),
    "averaged D, linear": design_linear_round,
}
GOAL_RULES: dict[str, Callable[..., np.ndarray]] = {"goal top": partial(design_round, goal="top", top=TOP)}
RULES = [*ROUND_RULES, *FIXED_RULES, CHOIX, *GOAL_RULES]
MINOR_RULES = ["order, 1 in 10 random", "averaged D", *GOAL_RULES]


def repetition(data: str, seed: int, rule: str, folder: Path, marks: list[int]) -> list[dict[str, Any]]:
    """Return the figures of a rule after each K of `marks`."""
    trial = sets.trial(data, seed, folder)
    if rule in ROUND_RULES or rule in GOAL_RULES:
        return run_rounds(trial, (ROUND_RULES | GOAL_RULES)[rule], np.random.default_rng([seed, 8]), marks)
    rng = np.random.default_rng([seed, 7])
    if rule == CHOIX:
        marks = [*marks, int(CHOIX_ANSWER_FACTOR * marks[-1])]
    # All pairs are drawn at once, so that the first ones do not depend on the number of answers.
    pairs = FIXED_RULES.get(rule, random_pairs)(trial, int(CHOIX_ANSWER_FACTOR * MARKS[-1]), rng)
    outcomes = trial.answer(pairs, rng)
    rows = []
    for k in [k for k in marks if k <= len(pairs)]:
        if rule == CHOIX:
            for name in model.CHOIX_MAP:
                mean, _ = model.posterior_of_choix(name, len(trial.X), pairs[:k], outcomes[:k])
                rows.append({"model": name, "K": k, **figures(trial, (mean, None), None)})
        else:
            gp = ps.BradleyTerryGP().fit(trial.X, comparisons=pairs[:k], outcomes=outcomes[:k])
            following = pairs[k : k + ROUND], outcomes[k : k + ROUND]
            rows.append({"model": "GP", "K": k, **figures_of_model(trial, gp), "bits": bits(trial, gp, following)})
    return rows


def run_rounds(
    trial: sets.Trial, rule: Callable[..., np.ndarray], rng: np.random.Generator, marks: list[int]
) -> list[dict[str, Any]]:
    gp = ps.BradleyTerryGP()
    pairs, outcomes = np.zeros((0, 2), dtype=int), np.zeros(0, dtype=int)
    rows: list[dict[str, Any]] = []
    spent, since = 0.0, 0
    while True:
        began = time.process_time()
        # Where it is judged, the model is fitted without a warm start, as for the other rules.
        gp.set_params(warm_start=len(pairs) not in marks)
        if rule is not design_linear_round or len(pairs) in marks:  # this rule fits its own model
            gp.fit(trial.X, **({"comparisons": pairs, "outcomes": outcomes} if len(pairs) else {}))
        spent += time.process_time() - began
        if len(pairs) in marks:
            seconds = spent / ((len(pairs) - since) / ROUND)
            rows.append({"model": "GP", "K": len(pairs), **figures_of_model(trial, gp), "seconds": seconds})
            spent, since = 0.0, len(pairs)
        if len(pairs) >= marks[-1] or len(pairs) + ROUND > len(trial.pairs):
            return rows
        began = time.process_time()
        chosen = rule(trial, (pairs, outcomes), gp, rng)
        spent += time.process_time() - began
        answers = trial.answer(chosen, rng)
        if len(pairs) in marks:
            rows[-1]["bits"] = bits(trial, gp, (chosen, answers))
        pairs, outcomes = np.vstack([pairs, chosen]), np.append(outcomes, answers)


# Figures


def figures_of_model(trial: sets.Trial, gp: ps.BradleyTerryGP) -> dict[str, float]:
    training = model.posterior_of_gp(gp, trial.X) if len(trial.ordered) else None
    return figures(trial, training, model.posterior_of_gp(gp, trial.unseen_X))


def bits(trial: sets.Trial, gp: ps.BradleyTerryGP, answered: Answers) -> float:
    """Return the mean bits per answer: minus the base-2 log of the probability that the model gave it beforehand."""
    pairs, outcomes = answered
    if len(pairs) == 0:
        return np.nan
    first = gp.compare(trial.X, pairs)
    return float(np.mean(-np.log2(np.where(outcomes > 0, first, 1 - first))))


def figures(trial: sets.Trial, training: model.Posterior | None, unseen: model.Posterior | None) -> dict[str, float]:
    """Return the figures of a fit; NaN where the set or the model has none."""
    right, doubt = (np.nan, np.nan) if training is None else model.order_and_doubt(*training, trial.ordered)
    right_unseen, doubt_unseen = (np.nan, np.nan) if unseen is None else model.order_and_doubt(*unseen, trial.unseen)
    found, ordered = (np.nan, np.nan) if training is None else figures_of_top(training[0], trial.above)
    return {
        "right": right, "doubt": doubt, "right unseen": right_unseen, "doubt unseen": doubt_unseen,
        "top found": found, "top right": ordered, "reliability": trial.reliability, "bits": np.nan, "seconds": np.nan,
    }  # fmt: skip


def figures_of_top(mean: np.ndarray, above: np.ndarray) -> tuple[float, float]:
    """Return the share of the top that is found, and the share of pairs within the true top that are in order.

    `above` counts the truly better items of each item. Items with fewer than ten are the true top, which is more than
    ten items if there are ties. Found is the share of the ten highest means that are in the true top.
    """
    best = np.flatnonzero(above < TOP)
    chosen = np.argsort(-mean, kind="stable")[:TOP]
    pairs = np.array([(i, j) for i in best for j in best if above[i] < above[j]], dtype=int).reshape(-1, 2)
    right = model.order_and_doubt(mean, None, pairs)[0] if len(pairs) else np.nan
    return float(np.mean(above[chosen] < TOP)), right


# The command line


def units(names: list[str], rules: list[str], count: int) -> list[dict[str, Any]]:
    """List the units of work, one repetition of everything after the other, so that the run can stop after any."""
    return [
        {"data": name, "seed": seed, "rule": rule}
        for seed in range(count)
        for name in names
        for rule in rules
        if not ((name in LARGE_SETS or rule in MINOR_RULES) and seed >= max(1, count // REPETITION_DIVISOR))
        and not (name in LARGE_SETS and rule in MINOR_RULES)
        and not (rule == CHOIX and name == "molskill")  # choix cannot rank unseen items
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="2 repetitions, K to 100, into figures/")
    parser.add_argument(
        "--repetitions",
        type=int,
        help="default 50; a fifth of that for sets with thousands of items and for minor rules",
    )
    parser.add_argument("--sets", nargs="+", choices=sets.SETS, default=sets.SETS)
    parser.add_argument("--rules", nargs="+", choices=RULES, default=RULES, metavar="RULE", help=", ".join(RULES))
    parser.add_argument("--data", type=Path, default=Path("data"), help=f"folder with {'/, '.join(sets.NEED_FILES)}/")
    parser.add_argument("--jobs", type=int, default=-1, help="processes; default: all cores")
    parser.add_argument(
        "--redraw", action="store_true", help="measure nothing; tables and pictures from existing results"
    )
    chosen = parser.parse_args()
    results = common.HERE / "results" / ("quick" if chosen.quick else "")
    results.mkdir(parents=True, exist_ok=True)
    if not chosen.redraw:
        todo = units(
            common.available(chosen.sets, chosen.data), chosen.rules, chosen.repetitions or (2 if chosen.quick else 50)
        )
        work = partial(model.run_quietly, repetition, folder=chosen.data, marks=QUICK_MARKS if chosen.quick else MARKS)
        common.run_units(results / worth_report.REPETITIONS, todo, work, chosen.jobs)
    worth_report.save(results)
    worth_report.show(results, common.HERE.parent / ("figures" if chosen.quick else "docs"))


if __name__ == "__main__":
    main()
