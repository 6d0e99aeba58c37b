"""Ask about new pairs or the same ones again? Compare three ways to spend the same number of answers.

    python experiments/repeats.py [--repetitions 20]

Items have five features, which explain half of the variance of their scores. People answer by the Bradley-Terry model;
the standard deviation of the scores, 0.7 or 3, decides how often they err. After every 60 answers the model is fitted
and the next round is designed under it: from new pairs with three answers each, from new pairs with one answer each, or
from all pairs. The script prints the share of all pairs of items in the right order; its difference from one answer per
pair after 600 answers, with a paired 95% interval over the repetitions; and the share of answers to pairs that were
asked before. The first two ways stop once all pairs have been asked, and keep their last result. It takes about two
minutes.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np

import pairsmith as ps

FEATURES, ROUND, TOTAL, MARKS = 5, 60, 600, (120, 300, 600)
THREE, ONE, ANY = "three answers per pair", "one answer per pair", "any pairs"
CASES = (("60 items, people err much", 60, 0.7), ("60 items, people err little", 60, 3.0),
         ("20 items, people err much", 20, 0.7))  # fmt: skip


def right_order(truth: np.ndarray, scores: np.ndarray) -> float:
    i, j = np.triu_indices(len(truth), 1)
    return float(np.mean((truth[i] > truth[j]) == (scores[i] > scores[j])))


def campaign(way: str, X: np.ndarray, truth: np.ndarray, rng: np.random.Generator) -> tuple[list[float], float]:
    """Simulate, and return the shares in the right order after each round and the share of repeated answers."""
    times, every = 3 if way == THREE else 1, len(X) * (len(X) - 1) // 2
    asked, outcomes = np.zeros((0, 2), dtype=np.int64), np.zeros(0)
    model = ps.BradleyTerryGP(warm_start=True).fit(X)
    found: list[float] = []
    while len(found) < TOTAL // ROUND:
        done = asked[:0] if way == ANY else np.unique(asked, axis=0)
        k = min(ROUND // times, every - len(done))
        if k == 0:
            found.append(found[-1])
            continue
        chosen = np.repeat(ps.select(X, k, model=model, comparisons=done).pairs, times, axis=0)
        gaps = truth[chosen[:, 0]] - truth[chosen[:, 1]]
        won = np.where(rng.random(len(chosen)) < 1 / (1 + np.exp(-gaps)), 1.0, -1.0)
        asked, outcomes = np.concatenate([asked, chosen]), np.concatenate([outcomes, won])
        model.fit(X, comparisons=asked, outcomes=outcomes)
        found.append(right_order(truth, model.decision_function(X)))
    return found, 1 - len(np.unique(asked, axis=0)) / len(asked)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=20)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    print("| | | after 120 | 300 | 600 answers | over one answer per pair | asked before |")
    print("|---|---|---|---|---|---|---|")
    for case, items, spread in CASES:
        shares: dict[str, list[list[float]]] = {way: [] for way in (THREE, ONE, ANY)}
        again: dict[str, list[float]] = {way: [] for way in shares}
        for seed in range(given.repetitions):
            rng = np.random.default_rng(seed)
            X = rng.standard_normal((items, FEATURES))
            linear = X @ rng.standard_normal(FEATURES)
            truth = spread * (linear / linear.std() + rng.standard_normal(items)) / np.sqrt(2)
            for way in shares:
                found, repeated = campaign(way, X, truth, np.random.default_rng([seed, 1]))
                shares[way].append([found[mark // ROUND - 1] for mark in MARKS])
                again[way].append(repeated)
        for way in shares:
            means = " | ".join(f"{share:.3f}" for share in np.mean(shares[way], axis=0))
            more = np.array(shares[way])[:, -1] - np.array(shares[ONE])[:, -1]
            error = 1.96 * more.std(ddof=1) / np.sqrt(len(more))
            against = "" if way == ONE else f"{more.mean():+.3f} ± {error:.3f}"
            print(f"| {case} | {way} | {means} | {against} | {np.mean(again[way]):.0%} |", flush=True)


if __name__ == "__main__":
    main()
