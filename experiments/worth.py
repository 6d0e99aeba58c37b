"""What designed rounds are worth: how many answers they save, for the items at hand and for unseen ones.

    python experiments/worth.py --data folder                      # 50 repetitions, most of a night on two cores
    python experiments/worth.py --quick                            # a few minutes, into figures/
    python experiments/worth.py --sets diabetes --rules order random --repetitions 2
    python experiments/worth.py --redraw                           # tables and pictures from the results there are

Rounds of 20 answers up to K = 1,000, the next round designed by what was answered so far, on the data of `sets`, which
says who answers, and what is true. All rules of a repetition see the same items and people, so differences are paired.
After K answers every rule is judged by the same model, a BradleyTerryGP fitted anew to its answers (but choix, which
sees no features, by its own): the share of the pairs of items that truly differ which stand in the right order, at hand
and unseen; the mean probability of a wrong order that the posterior claims; how much of the best ten is found; how many
bits each of the next 20 answers told; and the CPU seconds that a round takes. What was done already is not done again:
every repetition is saved as it is made, in results/worth-repetitions.csv.gz.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import common
import model
import numpy as np
import sets
import worth_report

import pairsmith as ps

ROUND, RANDOM_SHARE, TOP = 20, 10, 10  # answers a round; one pair in so many at random; how many are the best
MARKS = [20, 40, 60, 100, 160, 200, 300, 400, 600, 800, 1000]
QUICK_MARKS = [20, 40, 60, 100]
LARGE = ["humour", "molskill"]  # thousands of items take ten times as long
FEWER = 5  # times fewer repetitions of those, and of rules that only show what the choice of a rule is worth
CHOIX = "random, choix"
CHOIX_LONGER = 1.5  # times the answers of the other rules: what takes choix so many should take designs a third

Answered = tuple[np.ndarray, np.ndarray]  # pairs, and +1 where the first was preferred, -1 where the second


# What is asked beforehand


def at_random(trial: sets.Trial, k: int, rng: np.random.Generator) -> np.ndarray:
    return trial.draw(min(k, len(trial.pairs)), rng)


def balanced(trial: sets.Trial, k: int, rng: np.random.Generator) -> np.ndarray:
    """Pairs at random of those whose items were asked about least: each item equally often, as far as can be."""
    pairs = rng.permutation(trial.pairs)
    asked, taken = np.zeros(len(trial.X)), np.zeros(len(pairs))
    chosen = np.zeros((min(k, len(pairs)), 2), dtype=int)
    for place in range(len(chosen)):
        least = int(np.argmin(asked[pairs[:, 0]] + asked[pairs[:, 1]] + taken))
        chosen[place], taken[least] = pairs[least], np.inf
        asked[pairs[least]] += 1
    return chosen


# Rounds: the next pairs, given those answered and a model fitted to the answers


def under_model(
    trial: sets.Trial, answered: Answered, gp: ps.BradleyTerryGP, rng: np.random.Generator, k: int = ROUND, **how: Any
) -> np.ndarray:
    """What ps.select takes for best under this model."""
    pairs, _ = answered
    asked = {"comparisons": pairs} if len(pairs) else {}
    # Of thousands of items it looks at some: by another seed at others in each round.
    how |= {"candidates": trial.candidates, "random_state": len(pairs), "n_jobs": 1}
    return ps.select(trial.X, k, model=gp, **asked, **how).pairs


def partly_random(trial: sets.Trial, answered: Answered, gp: ps.BradleyTerryGP, rng: np.random.Generator) -> np.ndarray:
    """The same with one pair in ten at random; the others know of these."""
    n, (pairs, outcomes) = len(trial.X), answered
    asked = np.sort(pairs, axis=1) @ [n, 1]
    left = trial.pairs[~np.isin(trial.pairs @ [n, 1], asked)]
    drawn = left[rng.choice(len(left), ROUND // RANDOM_SHARE, replace=False)]
    rest = under_model(trial, (np.vstack([pairs, drawn]), outcomes), gp, rng, ROUND - len(drawn))
    return np.vstack([drawn, rest])


def linear(trial: sets.Trial, answered: Answered, gp: ps.BradleyTerryGP, rng: np.random.Generator) -> np.ndarray:
    """What campaigns did before: averaged D-optimal under a linear model."""
    return model.averaged(trial, *answered, gp)


BEFOREHAND: dict[str, Callable[..., np.ndarray]] = {"random": at_random, "balanced": balanced}
IN_ROUNDS: dict[str, Callable[..., np.ndarray]] = {
    "order": under_model,
    "order, 1 in 10 random": partly_random,
    "averaged D": partial(under_model, objective="averaged-d-optimal"),
    "averaged D, linear": linear,
}
GOALS: dict[str, Callable[..., np.ndarray]] = {"goal top": partial(under_model, goal="top", top=TOP)}
RULES = [*IN_ROUNDS, *BEFOREHAND, CHOIX, *GOALS]
ASIDE = ["order, 1 in 10 random", "averaged D", *GOALS]


def repetition(data: str, seed: int, rule: str, folder: Path, marks: list[int]) -> list[dict[str, Any]]:
    """The figures of a rule after each K of `marks`."""
    trial = sets.trial(data, seed, folder)
    if rule in IN_ROUNDS or rule in GOALS:
        return rounds(trial, (IN_ROUNDS | GOALS)[rule], np.random.default_rng([seed, 8]), marks)
    rng = np.random.default_rng([seed, 7])
    if rule == CHOIX:
        marks = [*marks, int(CHOIX_LONGER * marks[-1])]
    # All that can be drawn is drawn at once: the first pairs are the same, however many are asked about.
    pairs = BEFOREHAND.get(rule, at_random)(trial, int(CHOIX_LONGER * MARKS[-1]), rng)
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
            rows.append({"model": "GP", "K": k, **of_model(trial, gp), "bits": bits(trial, gp, following)})
    return rows


def rounds(
    trial: sets.Trial, rule: Callable[..., np.ndarray], rng: np.random.Generator, marks: list[int]
) -> list[dict[str, Any]]:
    gp = ps.BradleyTerryGP()
    pairs, outcomes = np.zeros((0, 2), dtype=int), np.zeros(0, dtype=int)
    rows: list[dict[str, Any]] = []
    spent, since = 0.0, 0
    while True:
        began = time.process_time()
        # Where it is judged, the model is what a fit of these answers alone would give, as it is for the other rules.
        gp.set_params(warm_start=len(pairs) not in marks)
        if rule is not linear or len(pairs) in marks:  # which designs by a model of its own
            gp.fit(trial.X, **({"comparisons": pairs, "outcomes": outcomes} if len(pairs) else {}))
        spent += time.process_time() - began
        if len(pairs) in marks:
            seconds = spent / ((len(pairs) - since) / ROUND)
            rows.append({"model": "GP", "K": len(pairs), **of_model(trial, gp), "seconds": seconds})
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


def of_model(trial: sets.Trial, gp: ps.BradleyTerryGP) -> dict[str, float]:
    at_hand = model.posterior_of_gp(gp, trial.X) if len(trial.ordered) else None
    return figures(trial, at_hand, model.posterior_of_gp(gp, trial.unseen_X))


def bits(trial: sets.Trial, gp: ps.BradleyTerryGP, answered: Answered) -> float:
    """What each of these answers told: minus the logarithm of the probability that the model gave it beforehand."""
    pairs, outcomes = answered
    if len(pairs) == 0:
        return np.nan
    first = gp.compare(trial.X, pairs)
    return float(np.mean(-np.log2(np.where(outcomes > 0, first, 1 - first))))


def figures(trial: sets.Trial, at_hand: model.Posterior | None, unseen: model.Posterior | None) -> dict[str, float]:
    """What is measured of a fit; NaN where the set or the model has no such figure."""
    right, doubt = (np.nan, np.nan) if at_hand is None else model.judged(*at_hand, trial.ordered)
    right_unseen, doubt_unseen = (np.nan, np.nan) if unseen is None else model.judged(*unseen, trial.unseen)
    found, ordered = (np.nan, np.nan) if at_hand is None else of_the_best(at_hand[0], trial.above)
    return {
        "right": right, "doubt": doubt, "right unseen": right_unseen, "doubt unseen": doubt_unseen,
        "top found": found, "top right": ordered, "reliability": trial.reliability, "bits": np.nan, "seconds": np.nan,
    }  # fmt: skip


def of_the_best(mean: np.ndarray, above: np.ndarray) -> tuple[float, float]:
    """How much of the best is found, and the share of the pairs of the truly best that are in order.

    `above` counts the truly better items of each. Those with fewer than ten are the best, more than ten where they tie;
    found is the share of the ten of the highest means that are among these.
    """
    best = np.flatnonzero(above < TOP)
    chosen = np.argsort(-mean, kind="stable")[:TOP]
    pairs = np.array([(i, j) for i in best for j in best if above[i] < above[j]], dtype=int).reshape(-1, 2)
    right = model.judged(mean, None, pairs)[0] if len(pairs) else np.nan
    return float(np.mean(above[chosen] < TOP)), right


# The command line


def units(names: list[str], rules: list[str], count: int) -> list[dict[str, Any]]:
    """What there is to do, a repetition of everything after the other, so that it can be stopped at any of them."""
    return [
        {"data": name, "seed": seed, "rule": rule}
        for seed in range(count)
        for name in names
        for rule in rules
        if not ((name in LARGE or rule in ASIDE) and seed >= max(1, count // FEWER))
        and not (name in LARGE and rule in ASIDE)
        and not (rule == CHOIX and name == "molskill")  # choix says nothing of unseen items
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="2 repetitions, K to 100, into figures/")
    parser.add_argument(
        "--repetitions",
        type=int,
        help="50; a fifth of that with thousands of items, and for rules beside the main ones",
    )
    parser.add_argument("--sets", nargs="+", choices=sets.SETS, default=sets.SETS)
    parser.add_argument("--rules", nargs="+", choices=RULES, default=RULES, metavar="RULE", help=", ".join(RULES))
    parser.add_argument("--data", type=Path, default=Path("data"), help=f"folder with {'/, '.join(sets.NEED_FILES)}/")
    parser.add_argument("--jobs", type=int, default=-1, help="processes; all cores")
    parser.add_argument("--redraw", action="store_true", help="do no work; tables and pictures from what there is")
    chosen = parser.parse_args()
    results = common.HERE / "results" / ("quick" if chosen.quick else "")
    results.mkdir(parents=True, exist_ok=True)
    if not chosen.redraw:
        todo = units(
            common.there(chosen.sets, chosen.data), chosen.rules, chosen.repetitions or (2 if chosen.quick else 50)
        )
        work = partial(model.quietly, repetition, folder=chosen.data, marks=QUICK_MARKS if chosen.quick else MARKS)
        common.stored(results / worth_report.REPETITIONS, todo, work, chosen.jobs)
    worth_report.save(results)
    worth_report.show(results, common.HERE.parent / ("figures" if chosen.quick else "docs"))


if __name__ == "__main__":
    main()
