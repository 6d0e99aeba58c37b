"""What the steps of a criterion work on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from pairsmith.criteria.belief import Belief
from pairsmith.criteria.problem import Problem
from pairsmith.data.candidates import Remaining
from pairsmith.design.information import Design
from pairsmith.engine.backend import ProgressCallback
from pairsmith.engine.scan import Scan


class Goal(NamedTuple):
    """What is wanted of the answers: the order of all items, or that of the best `top`."""

    name: str = "ranking"
    top: int = 0


RANKING = Goal()


@dataclass(frozen=True)
class Work:
    """A problem and what changes as pairs are picked.

    For every pick, steps include the pair in the design, take it from what remains, and yield a Step.
    """

    problem: Problem
    design: Design
    remaining: Remaining
    belief: Belief  # NO_BELIEF for a criterion that needs no model
    rng: np.random.Generator
    threads: int
    memory: int  # bytes that a search may use beyond what the criterion needs a pair
    tell: ProgressCallback  # says what is being done, for the progress bar
    pool_size: int | None = None  # how many pairs the engine keeps between two scans; None: it chooses
    before_picks: Callable[[], Design] | None = None  # makes the design anew, as it was before the first pick
    scan: Callable[..., Scan] = Scan  # how the engine and the certificate look at all pairs: here, or on a cluster
    goal: Goal = RANKING
    diagnostics: dict[str, Any] = field(default_factory=dict)  # what steps count on the way
