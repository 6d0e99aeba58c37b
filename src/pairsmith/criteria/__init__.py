"""What a pair is worth: the criteria that select() can pick pairs by, and what is to be known of each.

    CRITERIA              the registry: every name, what it means, what it needs, what can be done with it
    d_optimal             the default, by the engine or by one of the paper's algorithms
    weighted_d_optimal    the weights of local-d-optimal and averaged-d-optimal, which run on the engine too
    order                 the default for rounds, under a BradleyTerryGP
    a_optimal, entropy, fisher, mutual_information, random    a module each
    belief                what a model says of the items; the model is given, or fitted to what is known
    work                  what the steps of a criterion work on
    kernels               compiled inner loops of order

Words: a *criterion* says what a set of pairs is worth, and its *steps* pick pairs one at a time; the *gain* of a pick
is what it adds to that worth; *weights* say how much the answer to a pair counts, p (1 - p) under a model.

A criterion runs on the engine if a pair's gain is a weight times |z_i - z_j|^2, where each item has one
point z, and gains only fall as pairs are picked: those two are all that scans, pool and front rely on.

Users call a criterion the objective. select()'s docstring and docs/criteria.md name every criterion; a test compares
them with the registry.

This module loads none of the others before they are called, so that the command line's help is quick.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pairsmith.criteria.belief import Belief
    from pairsmith.criteria.work import Work
    from pairsmith.data.arrays import Floats
    from pairsmith.data.features import Features
    from pairsmith.design.information import Design
    from pairsmith.design.steps import Step, Steps
    from pairsmith.design.weights import Averaged

LOG_DET = "what log det of the information grows by"


@dataclass(frozen=True)
class Criterion:
    """A way to value pairs, and all that the rest of the library has to know of it."""

    name: str
    what: str  # in one line, for help and tables
    steps: Callable[[Work, int], Steps]  # picks, at most so many
    gain_is: str = LOG_DET  # what a gain is, in words
    needs_model: bool = False  # a fitted model, or labels and outcomes to fit one to
    by_engine: bool = False
    effects: bool = False  # whether items may have effects of their own, and the model be a Gaussian process
    only_effects: bool = False  # whether the model has to be one
    bytes_per_pair: int = 0  # memory that grows with the number of candidates
    # The scores that weigh answers, where the information is weighted by a model's p (1 - p). The paper's algorithms
    # know no weights.
    scores_that_weigh: Callable[[Features, Belief], Floats | Averaged] | None = None
    # Adds again, to the design, a pair read from a checkpoint; None where a run cannot be resumed.
    replay: Callable[[Design, int, int], Step] | None = None
    certifiable: bool = False  # whether a certificate, which bounds log det, says how good its picks are
    seed: int | None = None  # of its random numbers where users give none; None: other numbers in every run

    @property
    def resumable(self) -> bool:
        """Whether a checkpoint can be kept."""
        return self.replay is not None

    @property
    def by_paper(self) -> bool:
        """Whether the paper's eight algorithms can run it."""
        return self.by_engine and self.scores_that_weigh is None


def _later(place: str) -> Callable[..., Any]:
    """The function at module.name of this room, imported when it is first called."""
    module, name = place.split(".")

    def call(*args: Any) -> Any:
        return getattr(import_module(f"pairsmith.criteria.{module}"), name)(*args)

    return call


_D_OPTIMAL: dict[str, Any] = {
    "steps": _later("d_optimal.steps"),
    "replay": _later("d_optimal.replay"),
    "by_engine": True,
    "effects": True,
    "seed": 0,  # for items that nothing tells apart
    "certifiable": True,
}

GOALS = ("ranking", "top")

CRITERIA = {
    criterion.name: criterion
    for criterion in (
        Criterion(
            "order",
            "raises what the answers tell about the order of items under a BradleyTerryGP: the default for rounds",
            _later("order.steps"),
            gain_is="what the answer tells about the order of each pair of items, in nats, summed over all of these",
            needs_model=True,
            effects=True,
            only_effects=True,
            seed=0,  # which items are looked at, where there are too many
        ),
        Criterion(
            "d-optimal",
            "raises log det of the information: the paper's choice, and the default without a model",
            **_D_OPTIMAL,
        ),
        Criterion(
            "local-d-optimal",
            "d-optimal with each answer weighed by its variance p (1 - p) under a model",
            needs_model=True,
            scores_that_weigh=_later("weighted_d_optimal.local"),
            **_D_OPTIMAL,
        ),
        Criterion(
            "averaged-d-optimal",
            "the same with p shrunk toward 1/2 by how uncertain the model is; for rounds",
            needs_model=True,
            scores_that_weigh=_later("weighted_d_optimal.averaged"),
            **_D_OPTIMAL,
        ),
        Criterion(
            "a-optimal",
            "lowers the trace of A^-1, the summed variance of the coefficients",
            _later("a_optimal.steps"),
            gain_is="what the trace of A^-1, the summed variance of the coefficients, falls by",
            replay=_later("a_optimal.replay"),
            bytes_per_pair=16,
        ),
        Criterion(
            "entropy",
            "the pairs whose answer is most open under a model",
            _later("entropy.steps"),
            gain_is="how open the answer is under the model, in nats",
            needs_model=True,
            effects=True,
        ),
        Criterion(
            "fisher",
            "raises the Fisher information ratio of the pairs picked to all candidates",
            _later("fisher.steps"),
            gain_is="what the Fisher information ratio grows by",
            needs_model=True,
            bytes_per_pair=8,
        ),
        Criterion(
            "mutual-information",
            "raises what the answers together tell about the coefficients of a model",
            _later("mutual_information.steps"),
            gain_is="what the answer tells about the coefficients, in nats",
            needs_model=True,
            bytes_per_pair=40,
            seed=0,  # which samples it is estimated from is nobody's wish: without a seed they are always the same
        ),
        Criterion(
            "random",
            "pairs by chance, with which to compare the others",
            _later("random.steps"),
            effects=True,
            certifiable=True,
        ),
    )
}
