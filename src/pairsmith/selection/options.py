"""Checks of the arguments that say how to search: the criterion, the algorithm, and what goes with them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pairsmith.criteria import CRITERIA, GOALS, Criterion
from pairsmith.criteria.problem import Goal
from pairsmith.data.errors import ArgumentError
from pairsmith.data.options import as_choice, as_generator, as_integer, as_refinements, as_threads
from pairsmith.paper.greedy import ALGORITHMS
from pairsmith.selection.models import is_gaussian_process
from pairsmith.selection.start import StartingPoint

if TYPE_CHECKING:
    from pairsmith.cluster.client import Cluster


@dataclass(frozen=True)
class SearchOptions:
    """How to search, validated: these options fit each other."""

    criterion: Criterion
    goal: Goal
    algorithm: str  # "engine", one of the paper's eight, or the criterion's name if it has steps of its own
    rng: np.random.Generator
    threads: int
    refinements: int | None  # of the certificate's bound; None: no certificate
    checkpoint: str | os.PathLike[str] | None
    pool_size: int | None
    cluster: Cluster | None

    def check_start(self, start: StartingPoint, model: Any) -> None:
        """Refuse a starting point that the criterion or the algorithm cannot use."""
        criterion = self.criterion
        if criterion.needs_gaussian_process and not is_gaussian_process(model):
            raise ArgumentError(
                "objective", f"={criterion.name!r} needs a BradleyTerryGP as model; fit one, which needs no answers"
            )
        if start.has_effects:
            if not criterion.supports_item_effects:
                able = ", ".join(other.name for other in CRITERIA.values() if other.supports_item_effects)
                raise ArgumentError(
                    "item_effects", f" and a BradleyTerryGP are for {able}; leave them out for {criterion.name!r}"
                )
            if self.algorithm in ALGORITHMS:
                raise ArgumentError(
                    "item_effects",
                    f" and a BradleyTerryGP are for the engine; leave out algorithm={self.algorithm!r}",
                )
        if self.goal.top > start.features.shape[0]:
            raise ArgumentError("top", f"={self.goal.top} exceeds the {start.features.shape[0]} items; lower top")


def as_search_options(
    *,
    objective: Any,
    goal: Any,
    top: Any,
    algorithm: Any,
    model: Any,
    certify: Any,
    random_state: Any,
    n_jobs: Any,
    checkpoint: Any,
    pool_size: Any,
    client: Any,
) -> SearchOptions:
    """Return the options that these arguments of select() state. Each error is one line."""
    if objective is None:
        objective = _default_objective(model)
    criterion = CRITERIA[as_choice(objective, "objective", CRITERIA)]
    validated_goal = _as_goal(goal, top, criterion)
    algorithm = _as_algorithm(as_choice(algorithm, "algorithm", ("auto", "engine", *ALGORITHMS)), criterion)
    pool_size = None if pool_size is None else as_integer(pool_size, "pool_size")
    refinements = as_refinements(certify)
    for name, value in (("pool_size", pool_size), ("client", client)):
        if value is not None and algorithm != "engine":
            used = f"the algorithm {algorithm!r}" if criterion.uses_engine else f"the objective {criterion.name!r}"
            raise ArgumentError(name, f" is for the engine; leave it out for {used}")
    if refinements is not None and not criterion.certifiable:
        raise ArgumentError(
            "certify", f" bounds log det, which objective={criterion.name!r} does not maximise; leave it out"
        )
    _check_checkpoint(checkpoint, criterion)
    return SearchOptions(
        criterion=criterion,
        goal=validated_goal,
        algorithm=algorithm,
        threads=as_threads(n_jobs),
        rng=as_generator(criterion.default_seed if random_state is None else random_state),
        refinements=refinements,
        checkpoint=checkpoint,
        pool_size=pool_size,
        cluster=None if client is None else _cluster_of(client),
    )


def _default_objective(model: Any) -> str:
    """Return the objective that is meant if the user names none."""
    if model is None:
        return "d-optimal"
    if is_gaussian_process(model):
        return "order"
    able = ", ".join(
        name for name, criterion in CRITERIA.items() if criterion.needs_model and not criterion.needs_gaussian_process
    )
    raise ValueError(f"model is not a BradleyTerryGP; choose the objective that uses it from {able}, or leave it out")


def _as_goal(goal: Any, top: Any, criterion: Criterion) -> Goal:
    name = as_choice(goal, "goal", GOALS)
    if (name != "ranking" or top is not None) and not criterion.needs_gaussian_process:
        raise ArgumentError("goal", f" and top are for objective='order'; leave them out for {criterion.name!r}")
    if (name == "top") != (top is not None):
        raise ArgumentError(
            "goal", "='top' goes with the number of the best items; give both, such as top=10, or neither"
        )
    return Goal(name, 0 if top is None else as_integer(top, "top"))


def _as_algorithm(algorithm: str, criterion: Criterion) -> str:
    """Return the algorithm that "auto" stands for; refuse one that cannot run the criterion."""
    if algorithm == "auto":
        return "engine" if criterion.uses_engine else criterion.name
    able = [
        name
        for name, other in CRITERIA.items()
        if (other.uses_engine if algorithm == "engine" else other.allows_paper_algorithms)
    ]
    if criterion.name not in able:
        raise ArgumentError(
            "algorithm",
            f"={algorithm!r} is for objective={', '.join(map(repr, able))}; leave it out for {criterion.name!r}",
        )
    return algorithm


def _check_checkpoint(checkpoint: Any, criterion: Criterion) -> None:
    if checkpoint is None:
        return
    if not isinstance(checkpoint, str | os.PathLike):
        raise ArgumentError("checkpoint", f" must be the path of a file, got {checkpoint!r}")
    if not criterion.resumable:
        resumable = ", ".join(other.name for other in CRITERIA.values() if other.resumable)
        raise ArgumentError("checkpoint", f" is for {resumable}; leave it out for the objective {criterion.name!r}")


def _cluster_of(client: Any) -> Cluster:
    from pairsmith.cluster.client import Cluster

    return Cluster(client)
