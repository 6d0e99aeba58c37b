"""Measure how well BradleyTerryGP ranks and how true its doubt is, against linear models and choix, on eleven sets.

    python experiments/model.py --data folder                      # 30 repetitions, an hour or two on two cores
    python experiments/model.py --quick                            # a few minutes, into figures/
    python experiments/model.py --sets diabetes --repetitions 2    # finished repetitions are kept and not run again
    python experiments/model.py --redraw                           # tables and pictures from existing results

All models get the same answers to K random pairs of the training items; sets.py says who answers and what is true. Then
BradleyTerryGP gets answers to rounds of 20 designed pairs. The script measures

- the share of truly different pairs in the right order, for training items and for unseen items (with two kinds of
  items this is the area under the ROC curve);
- the mean probability of a wrong order that the posterior claims for the same pairs;
- the CPU seconds of a fit.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import choix
import common
import model_report
import numpy as np
import sets
from scipy import special  # import the module: its functions cannot be pickled by name

import pairsmith as ps
from pairsmith.model.cross_validation import RIDGES

MARKS, ROUND_MARKS, ROUND = [50, 100, 200, 500, 1000, 2000], [100, 200, 500], 20
QUICK_MARKS, QUICK_ROUND_MARKS = [50, 100, 200], [40, 100]
LINEAR: dict[str, Callable[[], Any]] = {
    "linear": ps.BradleyTerry,
    "linear, ridge by CV": partial(ps.BradleyTerryCV, ridges=RIDGES[::5]),  # every fifth of the paper's ridges
}
GP: dict[str, Callable[[], Any]] = {
    "GP": ps.BradleyTerryGP,
    "GP, not smooth": partial(ps.BradleyTerryGP, smooth=False),
    "GP, not linear": partial(ps.BradleyTerryGP, linear=False),
}
# The routine of choix that orders best, its MAP estimate. One alpha suits answers without error, the other votes.
CHOIX_MAP = {"choix, alpha 0.01": 0.01, "choix, alpha 0.3": 0.3}
CHOIX_EP, CHOIX_EP_ALPHA = "choix, EP", 0.1  # the routine of choix with a posterior, and so with a doubt;
CHOIX_EP_MAX_ANSWERS, CHOIX_EP_MAX_ITEMS = 500, 1000  # with more answers or items it takes minutes
MODELS = [*GP, *LINEAR, *CHOIX_MAP, CHOIX_EP]

# Mean of the items' scores and, for models with a posterior, their covariance.
Posterior = tuple[np.ndarray, np.ndarray | None]


def repetition(data: str, seed: int, folder: Path, marks: list[int]) -> list[dict[str, Any]]:
    """Return the figures of every model after the first K of the same random pairs."""
    trial, rng = sets.trial(data, seed, folder), np.random.default_rng([seed, 7])
    pairs = trial.draw(min(marks[-1], len(trial.pairs)), rng)
    outcomes = trial.answer(pairs, rng)
    rows = []
    for k in marks:
        for name in MODELS:
            too_slow = name == CHOIX_EP and (k > CHOIX_EP_MAX_ANSWERS or len(trial.X) > CHOIX_EP_MAX_ITEMS)
            no_figure = name.startswith("choix") and len(trial.ordered) == 0  # choix has no figures for unseen items
            if k <= len(pairs) and not too_slow and not no_figure:
                began = time.process_time()
                training, unseen = fit_named(name, trial, pairs[:k], outcomes[:k])
                rows.append({"model": name, "K": k, **figures_of_fit(trial, training, unseen, began)})
    return rows


def fit_named(
    name: str, trial: sets.Trial, pairs: np.ndarray, outcomes: np.ndarray
) -> tuple[Callable[[], Posterior], Callable[[], Posterior] | None]:
    """Fit a model, and return functions for its posterior of training items and, if it has one, of unseen items."""
    if name in GP:
        model = GP[name]().fit(trial.X, comparisons=pairs, outcomes=outcomes)
        return partial(posterior_of_gp, model, trial.X), partial(posterior_of_gp, model, trial.unseen_X)
    if name in LINEAR:
        model = LINEAR[name]().fit(trial.X, comparisons=pairs, outcomes=outcomes)
        return partial(posterior_of_linear, model, trial.X), partial(posterior_of_linear, model, trial.unseen_X)
    found = posterior_of_choix(name, len(trial.X), pairs, outcomes)
    return lambda: found, None


def posterior_of_gp(model: ps.BradleyTerryGP, X: np.ndarray) -> Posterior:
    # The joint posterior is not public, and `rank` and `compare` do not give P(wrong order) for all pairs.
    joint = model._scores(X)[0].without_last()
    everyone = np.arange(len(X))
    return joint.mean, joint.covariance(everyone, everyone)


def posterior_of_linear(model: ps.BradleyTerry, X: np.ndarray) -> Posterior:
    spread = X @ model.covariance_root_
    return model.decision_function(X), spread @ spread.T


def posterior_of_choix(name: str, n: int, pairs: np.ndarray, outcomes: np.ndarray) -> Posterior:
    """Fit choix to the compared items. The others keep the prior mean 0, which choix would find too, but slowly."""
    winner_first = np.where(outcomes[:, None] > 0, pairs, pairs[:, ::-1])
    compared, place = np.unique(winner_first, return_inverse=True)
    data = [(int(winner), int(loser)) for winner, loser in place.reshape(-1, 2)]
    mean = np.zeros(n)
    if name in CHOIX_MAP:
        mean[compared] = choix.opt_pairwise(len(compared), data, alpha=CHOIX_MAP[name])
        return mean, None
    covariance = np.eye(n) / CHOIX_EP_ALPHA
    mean[compared], covariance[np.ix_(compared, compared)] = choix.ep_pairwise(len(compared), data, CHOIX_EP_ALPHA)
    return mean, covariance


def figures_of_fit(
    trial: sets.Trial, training: Callable[[], Posterior], unseen: Callable[[], Posterior] | None, began: float
) -> dict[str, float]:
    """Return the figures of a fit that started at CPU time `began` and has just finished."""
    seconds = time.process_time() - began
    right, doubt = order_and_doubt(*training(), trial.ordered) if len(trial.ordered) else (np.nan, np.nan)
    right_unseen, doubt_unseen = order_and_doubt(*unseen(), trial.unseen) if unseen is not None else (np.nan, np.nan)
    return {
        "right": right, "doubt": doubt, "right unseen": right_unseen, "doubt unseen": doubt_unseen,
        "reliability": trial.reliability, "seconds": seconds,
    }  # fmt: skip


def order_and_doubt(mean: np.ndarray, covariance: np.ndarray | None, ordered: np.ndarray) -> tuple[float, float]:
    """Return the share of pairs in the right order and the mean claimed probability of a wrong order.

    `ordered` has the truly better item first. Equal means count half.
    """
    better, worse = ordered.T
    gap = mean[better] - mean[worse]
    right = float(np.mean((gap > 0) + 0.5 * (gap == 0)))
    if covariance is None:
        return right, np.nan
    variance = np.diag(covariance)
    error = np.sqrt(np.maximum(variance[better] + variance[worse] - 2 * covariance[better, worse], 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        wrong = np.where((error > 0) | (gap != 0), special.ndtr(-np.abs(gap) / error), 0.5)
    return right, float(np.mean(wrong))


# Rounds


def select_linear(trial: sets.Trial, pairs: np.ndarray, outcomes: np.ndarray, gp: ps.BradleyTerryGP) -> np.ndarray:
    """Select a round by averaged D-optimality under a linear model, as campaigns did; the first round is D-optimal."""
    how: dict[str, Any] = {"candidates": trial.candidates, "n_jobs": 1}
    if len(pairs):
        ridge = float(np.mean(np.sum((trial.X - trial.X.mean(axis=0)) ** 2, axis=1))) / 8
        linear = ps.BradleyTerry(ridge).fit(trial.X, comparisons=pairs, outcomes=outcomes)
        how |= {"comparisons": pairs, "model": linear, "objective": "averaged-d-optimal"}
    return ps.select(trial.X, ROUND, **how).pairs


def select_under_model(trial: sets.Trial, pairs: np.ndarray, outcomes: np.ndarray, gp: ps.BradleyTerryGP) -> np.ndarray:
    """Select a round by the default criterion under a BradleyTerryGP."""
    known = {"comparisons": pairs, "outcomes": outcomes} if len(pairs) else {}
    asked = {"comparisons": pairs} if len(pairs) else {}
    return ps.select(
        trial.X, ROUND, model=gp.fit(trial.X, **known), candidates=trial.candidates, n_jobs=1, **asked
    ).pairs


RULES = {"averaged": select_linear, "model": select_under_model}


def run_rounds(data: str, seed: int, rule: str, folder: Path, marks: list[int]) -> list[dict[str, Any]]:
    """Return the figures of BradleyTerryGP after rounds of designed pairs."""
    trial, rng = sets.trial(data, seed, folder), np.random.default_rng([seed, 8])
    gp = ps.BradleyTerryGP(warm_start=True)
    pairs, outcomes = np.zeros((0, 2), dtype=int), np.zeros(0, dtype=int)
    rows = []
    while len(pairs) < marks[-1]:
        chosen = RULES[rule](trial, pairs, outcomes, gp)
        pairs, outcomes = np.vstack([pairs, chosen]), np.append(outcomes, trial.answer(chosen, rng))
        if len(pairs) in marks:
            began = time.process_time()
            training, unseen = fit_named("GP", trial, pairs, outcomes)
            rows.append({"model": "GP", "K": len(pairs), **figures_of_fit(trial, training, unseen, began)})
    return rows


def run_quietly(work: Callable[..., list[dict[str, Any]]], **given: Any) -> list[dict[str, Any]]:
    """Run `work` without the warning about islands, which random pairs leave, and round figures to five digits."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="the answers leave")
        return [
            {name: round(value, 5) if isinstance(value, float) else value for name, value in row.items()}
            for row in work(**given)
        ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="2 repetitions, K to 200, into figures/")
    parser.add_argument("--repetitions", type=int, help="default 30; a third of that for rounds")
    parser.add_argument("--sets", nargs="+", choices=sets.SETS, default=sets.SETS)
    parser.add_argument("--rule", choices=RULES, default="model", help="how rounds are designed")
    parser.add_argument("--data", type=Path, default=Path("data"), help=f"folder with {'/, '.join(sets.NEED_FILES)}/")
    parser.add_argument("--jobs", type=int, default=-1, help="processes; default: all cores")
    parser.add_argument(
        "--redraw", action="store_true", help="measure nothing; tables and pictures from existing results"
    )
    chosen = parser.parse_args()
    results = common.HERE / "results" / ("quick" if chosen.quick else "")
    results.mkdir(parents=True, exist_ok=True)
    if not chosen.redraw:
        names = common.available(chosen.sets, chosen.data)
        count = chosen.repetitions or (2 if chosen.quick else 30)
        seeds, few = range(count), range(max(1, count // 3))
        marks, round_marks = (QUICK_MARKS, QUICK_ROUND_MARKS) if chosen.quick else (MARKS, ROUND_MARKS)
        units = [{"data": name, "seed": seed} for seed in seeds for name in names]
        random = partial(run_quietly, repetition, folder=chosen.data, marks=marks)
        common.run_units(results / "model-repetitions.csv.gz", units, random, chosen.jobs)
        units = [{"data": name, "seed": seed, "rule": chosen.rule} for seed in few for name in names]
        designed = partial(run_quietly, run_rounds, folder=chosen.data, marks=round_marks)
        common.run_units(results / "model-rounds-repetitions.csv.gz", units, designed, chosen.jobs)
        model_report.save(results, chosen.rule)
    model_report.show(results, common.HERE.parent / ("figures" if chosen.quick else "docs"))


if __name__ == "__main__":
    main()
