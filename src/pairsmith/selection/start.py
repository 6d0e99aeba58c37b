"""The starting point of a design: the items as the design sees them, and what is known about them before any pick."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pairsmith.criteria.problem import MAX_ITEMS_ON_ONE_THREAD, ModelEstimate
from pairsmith.data.arrays import Floats, Ints
from pairsmith.data.errors import ArgumentError
from pairsmith.data.features import Features, from_array
from pairsmith.data.options import as_integer
from pairsmith.data.user_features import as_features, check_finite, check_ids
from pairsmith.design.blas import single_threaded_blas
from pairsmith.design.information import DesignPrior
from pairsmith.model.posterior import Posterior
from pairsmith.selection.models import check_gaussian_process, is_gaussian_process

if TYPE_CHECKING:
    from pairsmith.cluster.client import Cluster
    from pairsmith.model.fitting import FittedGP
    from pairsmith.model.gaussian_process import BradleyTerryGP


@dataclass(frozen=True)
class StartingPoint:
    """The items as the design sees them, and what is known about them before any pick.

    The last three fields are set under a BradleyTerryGP only. The features are then coordinates with the prior
    N(0, I), and the variance of the items' effects is part of `prior`.
    """

    features: Features
    ids: npt.NDArray[Any] | None = None  # the items' ids, if X has any
    ridge: float | str = "auto"
    effect_variance: float | None = None  # of the items' own effects, as the user passed it
    prior: DesignPrior | None = None  # what the model knows about coefficients and effects
    answered: Ints | None = None  # the pairs i < j whose answers the model was fitted to
    estimate: ModelEstimate | None = None

    @property
    def has_effects(self) -> bool:
        """Whether items may have effects of their own, as they may under every BradleyTerryGP."""
        return self.effect_variance is not None or self.prior is not None


def start_from(
    X: Any, n_items: int | None, model: Any, item_effects: float | None, ridge: float | str, cluster: Cluster | None
) -> StartingPoint:
    """Return the starting point for the items X, for those of a model without features, or for `n_items` items."""
    if X is not None and n_items is not None:
        raise ValueError("n_items is for X=None; X determines the number of items")
    if is_gaussian_process(model):
        if item_effects is not None or not _is_auto(ridge):
            name = "ridge" if item_effects is None else "item_effects"
            raise ArgumentError(name, " is what a BradleyTerryGP has learned; leave it out where model is one")
        if cluster is not None and cluster.reads(X):
            raise ValueError("X must be in memory if model is a BradleyTerryGP; read it first")
        start = start_from_posterior(model, X)
        if X is not None and start.features.shape[0] < 2:
            raise ValueError("X has 1 item; at least two are needed to form a pair")
        if n_items is not None and n_items != start.features.shape[0]:
            raise ValueError(
                f"n_items={n_items}, but model was fitted to {start.features.shape[0]} items; leave n_items out"
            )
        return start
    if X is not None:
        return StartingPoint(*_features_of(X, cluster), ridge, item_effects)
    if not _is_auto(ridge):
        raise ArgumentError("ridge", " is for features, and X is None; leave it out")
    if item_effects is None:
        raise ValueError(
            "X is None, so nothing distinguishes the items; give item_effects, or a BradleyTerryGP as model"
        )
    if model is not None:
        raise ValueError("model was fitted to features, and X is None; give X")
    if n_items is None:
        raise ValueError("X is None, so the number of items is unknown; give n_items=")
    if as_integer(n_items, "n_items") < 2:
        raise ValueError("there is only one item; at least two items are needed to form a pair")
    # Items without features get one column in which all are equal.
    return StartingPoint(from_array(np.zeros((n_items, 1))), None, 1.0, item_effects)


def start_from_posterior(model: BradleyTerryGP, X: Any) -> StartingPoint:
    """Return the posterior of a fitted BradleyTerryGP for the items X, in the form in which a design goes on from it.

    X=None means the items of a model without features.
    """
    check_gaussian_process(model)
    try:
        linear, number, names = model.placed(X, expected=True)
    except (TypeError, ValueError):
        if X is not None and getattr(model, "n_features_in_", None) != 0:
            as_features(X)  # raises the error that X gets without a model, if X is the cause
        raise
    learned, n = model.fitted_, len(linear)
    t = len(learned.items)
    # `place`: the place in the posterior of each item that was compared; `item`: the item at each place.
    at = np.minimum(np.searchsorted(learned.items, number), max(0, t - 1))
    here = np.flatnonzero((number >= 0) & (learned.items[at] == number)) if t else np.zeros(0, dtype=np.int64)
    place, item = at[here], np.full(t + 1, -1)
    item[place] = here
    first, second = item[learned.answers.first], item[learned.answers.second]
    between = np.sort(np.column_stack([first, second])[(first >= 0) & (second >= 0)], axis=1)
    with single_threaded_blas() if max(n, t) <= MAX_ITEMS_ON_ONE_THREAD else nullcontext():
        posterior, coordinates = learned.posterior, learned.coordinates(linear)
        Psi = learned.parts.prior(learned.variances).features
        shift = -(posterior.effects @ (posterior.graph @ Psi))[place]
        coef = Psi.T @ posterior.pull
        scores = coordinates @ coef
    scores[here] = posterior.mean[place]
    root, joint = posterior.root, partial(_joint, learned, coordinates, number)
    if coordinates.shape[1] == 0:  # nothing distinguishes the items: one column in which all are equal
        coordinates, root, shift = np.zeros((n, 1)), np.eye(1), np.zeros((len(place), 1))
        coef = np.zeros(1)
    # The design does not write to the prior, so the whole posterior needs no copy.
    is_whole = len(place) == len(posterior.effects) and bool(np.all(place == np.arange(len(place))))
    prior = DesignPrior(
        variance=learned.variances["items"],
        items=here,
        E=posterior.effects if is_whole else posterior.effects[np.ix_(place, place)],
        shift=shift,
        logdet=posterior.logdet,
        rows=np.zeros((0, len(root))),
        root=root,
    )
    ids = None
    if names is not None:
        ids = np.empty(n, dtype=object)
        ids[:] = names.to_list()
    return StartingPoint(
        from_array(coordinates),
        ids,
        ridge=1.0,
        prior=prior,
        answered=np.unique(between, axis=0),
        estimate=ModelEstimate(coef, root, scores, prior, joint),
    )


def _joint(learned: FittedGP, coordinates: Floats, number: Ints, items: Ints) -> Posterior:
    """Return the joint distribution of the scores of these items; that of all items would be slow with many."""
    return learned.joint(coordinates[items], number[items]).without_last()


def _is_auto(ridge: Any) -> bool:
    return isinstance(ridge, str) and ridge == "auto"


def _features_of(X: Any, cluster: Cluster | None) -> tuple[Features, npt.NDArray[Any] | None]:
    """Check X as users pass it; return its features, and the ids of its items or None. A cluster may read X itself."""
    if cluster is None or not cluster.reads(X):
        return as_features(X)
    features, ids = cluster.features(X)
    check_finite(features)
    if ids is not None:
        check_ids(ids)
    return features, ids
