"""Measure which raters a campaign flags: honest ones, random ones and one-sided ones.

    python experiments/raters.py [--campaigns 60]     # some three minutes on one core

Six raters answer the same number of random pairs of 40 items with three features. Four are honest: each has a slope,
log-normal around 1 with a deviation of a half, and a small side bias of deviation 0.2. One answers at random. One takes
the left item in nine pairs of ten. The script prints, by answers per rater, the share of honest raters who are flagged
as random or one-sided, and the share of the other two who are found, with 95% Wilson intervals. The targets: at most
one in twenty honest raters looks random, and in at most one campaign in twenty an honest rater looks one-sided.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
import pandas as pd
from scipy.special import expit
from scipy.stats import binomtest

from pairsmith.campaign.learning import fit_model
from pairsmith.campaign.reporting.raters import rate_raters
from pairsmith.campaign.store.snapshot import CampaignSnapshot

ITEMS, FEATURES, HONEST, ANSWERS_EACH = 40, 3, 4, (20, 50, 100, 200)
FLAGS = {"random": "looks random", "one-sided": "looks one-sided"}


def simulate_campaign(each: int, seed: int) -> CampaignSnapshot:
    """Simulate the answers of six raters, whose names say what they are."""
    rng = np.random.default_rng([seed, each])
    X = rng.standard_normal((ITEMS, FEATURES))
    scores = X @ rng.standard_normal(FEATURES) + rng.standard_normal(ITEMS)
    slopes, biases = np.exp(0.5 * rng.standard_normal(HONEST)), 0.2 * rng.standard_normal(HONEST)
    answers = []
    for name in [*(f"honest {at}" for at in range(HONEST)), "random", "one-sided"]:
        left = rng.integers(ITEMS, size=each)
        right = (left + rng.integers(1, ITEMS, size=each)) % ITEMS
        chance = np.full(each, 0.5 if name == "random" else 0.9)
        if name.startswith("honest"):
            own = int(name.split()[1])
            chance = expit(slopes[own] * (scores[left] - scores[right]) + biases[own])
        won = np.where(rng.random(each) < chance, left, right)
        first, second = np.minimum(left, right), np.maximum(left, right)
        outcome = np.where(won == first, 1, -1)
        answers.append(
            pd.DataFrame({"first": first, "second": second, "outcome": outcome, "left": left, "rater": name})
        )
    given = pd.concat(answers, ignore_index=True)
    given = given.assign(elsewhere=False, why="random", strength="", comment="", seconds=1.0, at=np.arange(len(given)))
    nothing = np.zeros(0, dtype=np.int64)
    items = pd.DataFrame(X, index=[str(row) for row in range(ITEMS)])
    return CampaignSnapshot(items, None, nothing, nothing, nothing.reshape(0, 2), 0, given)


def simulate_flags(each: int, seed: int) -> list[dict[str, object]]:
    """Simulate a campaign and return each rater's kind and flags."""
    snapshot = simulate_campaign(each, seed)
    model = fit_model(snapshot)
    assert model is not None
    return [
        {"who": row["name"].split()[0], **{name: any(flag.startswith(begins) for flag in row["flags"])
                                           for name, begins in FLAGS.items()}}
        for row in rate_raters(snapshot, model, np.full(len(snapshot.answers), np.nan))
    ]  # fmt: skip


def share(found: pd.Series) -> str:
    """Format a share in percent with its interval."""
    low, high = binomtest(int(found.sum()), len(found)).proportion_ci(0.95, "wilson")
    return f"{100 * found.mean():.1f} ({100 * low:.1f} to {100 * high:.1f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--campaigns", type=int, default=60, help="for each number of answers")
    given = parser.parse_args()
    warnings.filterwarnings("ignore", message="the answers leave")
    head = "honest flagged random, % | honest flagged one-sided, % | random found, % | one-sided found, %"
    print(f"| answers per rater | {head} |")
    print("|---|---|---|---|---|")
    for each in ANSWERS_EACH:
        people = pd.DataFrame([row for seed in range(given.campaigns) for row in simulate_flags(each, seed)])
        honest = people[people["who"] == "honest"]
        found = [share(people[people["who"] == name][name]) for name in FLAGS]
        print(f"| {each} | {' | '.join([share(honest[name]) for name in FLAGS] + found)} |", flush=True)


if __name__ == "__main__":
    main()
