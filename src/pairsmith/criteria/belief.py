"""What a model says of the items, for the criteria that use one."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pairsmith.criteria.problem import Problem
from pairsmith.data.arrays import Floats, Ints
from pairsmith.data.errors import ArgumentError
from pairsmith.data.features import Features, from_array
from pairsmith.design.blas import single_threaded_blas
from pairsmith.design.information import Beginning
from pairsmith.model.joint import Joint, no_scores

if TYPE_CHECKING:
    from pairsmith.model.bradley_terry import BradleyTerry
    from pairsmith.model.gaussian_process import BradleyTerryGP
    from pairsmith.model.learned import Learned


@dataclass(frozen=True)
class Belief:
    """The coefficients are N(coef, covariance_root covariance_root'); an item's score is x'coef on average.

    Under a Gaussian process items have effects of their own as well: `open` is what it knows, and `joint` gives the
    scores of the items asked for with those effects.
    """

    coef: Floats
    covariance_root: Floats
    scores: Floats  # of all items
    open: Beginning | None = None
    joint: Callable[[Ints], Joint] = no_scores


FEW = 1500  # items up to which products are faster on one thread
NO_BELIEF = Belief(np.zeros(0), np.zeros((0, 0)), np.zeros(0))


def belief_of(problem: Problem, model: BradleyTerry | None, objective: str) -> Belief:
    """By the model given, or one fitted to the labels and outcomes of the problem."""
    fitted = fit(problem, objective) if model is None else _checked(model, problem.features)
    scores = np.concatenate(problem.features.over_blocks(partial(_scores, fitted.coef_)))
    return Belief(fitted.coef_, fitted.covariance_root_, scores)


@dataclass(frozen=True)
class Posterior:
    """What select() designs under: items and answers as a fitted BradleyTerryGP sees them."""

    features: Features  # coordinates, of which the prior is N(0, I)
    ids: npt.NDArray[Any] | None  # of the items, where they have any
    known: Beginning  # by the model's answers
    answered: Ints  # the pairs i < j that those are to
    belief: Belief


def is_gaussian_process(model: Any) -> bool:
    """Whether a model is one with effects of the items' own."""
    return not isinstance(model, type) and (hasattr(model, "learned_") or type(model).__name__ == "BradleyTerryGP")


def check_gaussian_process(model: Any) -> None:
    """Refuse what is no fitted BradleyTerryGP."""
    from pairsmith.model.gaussian_process import BradleyTerryGP

    if not isinstance(model, BradleyTerryGP):
        raise ValueError(f"model must be a fitted BradleyTerryGP, got {_kind(model)}")
    if not hasattr(model, "learned_"):
        raise ValueError("model must be fitted; call its fit first")


def posterior_of(model: BradleyTerryGP, X: Any) -> Posterior:
    """The posterior of the items X (None: those of a model without features), as a design to go on from."""
    check_gaussian_process(model)
    linear, number, names = model.placed(X, expected=True)
    learned, n = model.learned_, len(linear)
    t = len(learned.items)
    # Where in the posterior each item is that was compared, and which item is at each of those places.
    at = np.minimum(np.searchsorted(learned.items, number), max(0, t - 1))
    here = np.flatnonzero((number >= 0) & (learned.items[at] == number)) if t else np.zeros(0, dtype=np.int64)
    place, item = at[here], np.full(t + 1, -1)
    item[place] = here
    first, second = item[learned.answers.first], item[learned.answers.second]
    between = np.sort(np.column_stack([first, second])[(first >= 0) & (second >= 0)], axis=1)
    with single_threaded_blas() if max(n, t) <= FEW else nullcontext():
        posterior, coordinates = learned.posterior, learned.coordinates(linear)
        Psi = learned.parts.prior(learned.variances).features
        shift = -(posterior.effects @ (posterior.graph @ Psi))[place]
        weights = Psi.T @ posterior.pull
        mean = coordinates @ weights
    mean[here] = posterior.mean[place]
    root, joint = posterior.root, partial(_joint, learned, coordinates, number)
    if coordinates.shape[1] == 0:  # nothing tells items apart: a column in which all are the same
        coordinates, root, shift = np.zeros((n, 1)), np.eye(1), np.zeros((len(place), 1))
        weights = np.zeros(1)
    # What a Beginning knows is not written to: where it is about all that the posterior is, no copy is made of it.
    all_of_it = len(place) == len(posterior.effects) and bool(np.all(place == np.arange(len(place))))
    known = Beginning(
        learned.variances["items"],
        here,
        posterior.effects if all_of_it else posterior.effects[np.ix_(place, place)],
        shift,
        posterior.logdet,
        np.zeros((0, len(root))),
        root,
    )
    ids = None
    if names is not None:
        ids = np.empty(n, dtype=object)
        ids[:] = names.to_list()
    belief = Belief(weights, root, mean, known, joint)
    return Posterior(from_array(coordinates), ids, known, np.unique(between, axis=0), belief)


def _kind(model: Any) -> str:
    """What somebody gave for a model, for an error to speak of."""
    return f"the class {model.__name__}" if isinstance(model, type) else type(model).__name__


def _joint(learned: Learned, coordinates: Floats, number: Ints, items: Ints) -> Joint:
    """The scores of these items: of many there are, writing out all takes longer than choosing between some."""
    return learned.joint(coordinates[items], number[items]).without_last()


def _checked(model: BradleyTerry, features: Features) -> BradleyTerry:
    from pairsmith.model.bradley_terry import BradleyTerry

    if not isinstance(model, BradleyTerry) or not hasattr(model, "coef_"):
        raise ValueError(f"model must be a fitted BradleyTerry, got {_kind(model)}; call its fit first")
    if len(model.coef_) != features.shape[1]:
        raise ValueError(f"model was fitted to {len(model.coef_)} features, but X has {features.shape[1]}")
    return model


def fit(problem: Problem, objective: str) -> BradleyTerry:
    """A model of the labels and outcomes there are; `objective` is what the error speaks of where there are none."""
    from pairsmith.model.bradley_terry import BradleyTerry
    from pairsmith.model.prior import usual_ridge

    labels, outcomes = problem.labels, problem.outcomes
    if labels is None and outcomes is None:
        raise ArgumentError("objective", f"={objective!r} needs a model: give one, or labels or outcomes to fit one to")
    labeled = problem.labeled if labels is not None else problem.labeled[:0]
    pairs = problem.comparisons if outcomes is not None else problem.comparisons[:0]
    for name, given, of, count in (
        ("labels", labels, "labeled", len(labeled)),
        ("outcomes", outcomes, "comparisons", len(pairs)),
    ):
        if given is not None and np.shape(given) != (count,):
            raise ValueError(f"{name} has shape {np.shape(given)}, but {of} has {count} entries; give one for each")
    items = np.unique(np.concatenate([labeled, pairs.ravel()]))  # only the rows it is fitted to are copied
    return BradleyTerry(ridge=usual_ridge(problem.features), better=problem.better).fit(
        problem.features.rows(items),
        labels,
        labeled=None if labels is None else np.searchsorted(items, labeled),
        comparisons=None if outcomes is None else np.searchsorted(items, pairs),
        outcomes=outcomes,
    )


def _scores(coef: Floats, _low: int, block: npt.NDArray[Any]) -> Floats:
    scores: Floats = block @ coef
    return scores
