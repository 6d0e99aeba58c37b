"""What a pair is worth: the criteria by which select() can pick pairs, and what each of them needs.

    CRITERIA              the registry: the name, meaning, needs and abilities of every criterion
    problem               what selection hands to a criterion: the problem, a model's estimate, and one run
    d_optimal             the default, on the engine or by one of the paper's algorithms
    weighted_d_optimal    the weights of local-d-optimal and averaged-d-optimal, which run on the engine, too
    order                 the default for rounds, under a BradleyTerryGP
    a_optimal, entropy, fisher, mutual_information, random    one module each
    kernels               compiled inner loops of order

Vocabulary: a *criterion* says what a set of pairs is worth, and its *steps* pick pairs one at a time. The *gain* of a
pick is what it adds to that worth. The *weight* of an answer is how much it counts, p (1 - p) under a model.

A criterion runs on the engine if the gain of a pair is a weight times |z_i - z_j|^2, where each item has one point z,
and if gains only fall as pairs are picked. Scans, the pool and the working set rely on nothing else.

Users call a criterion the objective. The docstring of select() and docs/criteria.md list all criteria, and a test
compares them with the registry.

This module imports the others only when they are called, so that the command line's help is quick.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pairsmith.criteria.problem import ModelEstimate, Run
    from pairsmith.data.arrays import Floats
    from pairsmith.data.features import Features
    from pairsmith.design.information import Design
    from pairsmith.design.steps import Step, Steps
    from pairsmith.design.weights import AveragedWeights

LOG_DET = "the increase of log det of the information"


@dataclass(frozen=True)
class Criterion:
    """A way to value pairs, with everything that the rest of the library needs to know about it."""

    name: str
    description: str  # one line, for help and tables
    steps: Callable[[Run, int], Steps]  # yields at most this many picks
    gain_description: str = LOG_DET  # what a gain is, for help and tables
    needs_model: bool = False  # a fitted model, or labels and outcomes to fit one to
    uses_engine: bool = False
    supports_item_effects: bool = False  # items may have effects of their own, and the model may be a Gaussian process
    needs_gaussian_process: bool = False  # the model must be a Gaussian process
    bytes_per_pair: int = 0  # memory per candidate pair
    # Returns the scores that give the weights p (1 - p) of answers. None: every answer has the weight 1.
    weighting_scores: Callable[[Features, ModelEstimate], Floats | AveragedWeights] | None = None
    # Adds a pair from a checkpoint to the design. None: a run cannot be resumed.
    replay: Callable[[Design, int, int], Step] | None = None
    certifiable: bool = False  # its picks raise log det, which a certificate bounds
    default_seed: int | None = None  # of the random numbers if the user passes none; None: different in every run

    @property
    def resumable(self) -> bool:
        """Whether a run can continue from a checkpoint."""
        return self.replay is not None

    @property
    def allows_paper_algorithms(self) -> bool:
        """Whether the paper's eight algorithms can run it. They have no weights."""
        return self.uses_engine and self.weighting_scores is None


def _imported_when_called(path: str) -> Callable[..., Any]:
    """Return the function at `module.name` of this package, which is imported when it is first called."""
    module, name = path.split(".")

    def call(*args: Any) -> Any:
        return getattr(import_module(f"pairsmith.criteria.{module}"), name)(*args)

    return call


_D_OPTIMAL: dict[str, Any] = {
    "steps": _imported_when_called("d_optimal.steps"),
    "replay": _imported_when_called("d_optimal.replay"),
    "uses_engine": True,
    "supports_item_effects": True,
    "default_seed": 0,  # for the random order of items that nothing distinguishes
    "certifiable": True,
}

GOALS = ("ranking", "top")

CRITERIA = {
    criterion.name: criterion
    for criterion in (
        Criterion(
            "order",
            "asks where the order of items is in doubt, under a BradleyTerryGP; the default for rounds",
            _imported_when_called("order.steps"),
            gain_description="information about the order of items, in nats, summed over all pairs of items",
            needs_model=True,
            supports_item_effects=True,
            needs_gaussian_process=True,
            default_seed=0,  # for the sample of items, if there are too many to consider all
        ),
        Criterion(
            "d-optimal",
            "maximises log det of the information; the paper's choice, and the default without a model",
            **_D_OPTIMAL,
        ),
        Criterion(
            "local-d-optimal",
            "d-optimal with each answer weighted by its variance p (1 - p) under a model",
            needs_model=True,
            weighting_scores=_imported_when_called("weighted_d_optimal.local"),
            **_D_OPTIMAL,
        ),
        Criterion(
            "averaged-d-optimal",
            "local-d-optimal with p (1 - p) averaged over the uncertainty of the model; for rounds",
            needs_model=True,
            weighting_scores=_imported_when_called("weighted_d_optimal.averaged"),
            **_D_OPTIMAL,
        ),
        Criterion(
            "a-optimal",
            "minimises the trace of A^-1, the total variance of the coefficients",
            _imported_when_called("a_optimal.steps"),
            gain_description="the decrease of the trace of A^-1, the total variance of the coefficients",
            replay=_imported_when_called("a_optimal.replay"),
            bytes_per_pair=16,
        ),
        Criterion(
            "entropy",
            "picks the pairs whose answers are most uncertain under a model",
            _imported_when_called("entropy.steps"),
            gain_description="the entropy of the answer under the model, in nats",
            needs_model=True,
            supports_item_effects=True,
        ),
        Criterion(
            "fisher",
            "maximises the Fisher information ratio of the picked pairs to all candidates",
            _imported_when_called("fisher.steps"),
            gain_description="the increase of the Fisher information ratio",
            needs_model=True,
            bytes_per_pair=8,
        ),
        Criterion(
            "mutual-information",
            "maximises the information of all answers together about the coefficients of a model",
            _imported_when_called("mutual_information.steps"),
            gain_description="information about the coefficients, in nats",
            needs_model=True,
            bytes_per_pair=40,
            default_seed=0,  # for the samples of the estimate: the same in every run
        ),
        Criterion(
            "random",
            "picks pairs at random, as a baseline",
            _imported_when_called("random.steps"),
            supports_item_effects=True,
            certifiable=True,
        ),
    )
}
