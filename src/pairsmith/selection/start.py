"""What a design starts from: items as it sees them, and what is known of them beforehand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pairsmith.criteria.belief import Belief, is_gaussian_process, posterior_of
from pairsmith.data.arrays import Ints
from pairsmith.data.errors import ArgumentError
from pairsmith.data.features import Features, from_array
from pairsmith.data.options import as_whole
from pairsmith.data.user_features import as_features, check_finite, check_ids
from pairsmith.design.information import Beginning

if TYPE_CHECKING:
    from pairsmith.cluster.client import Cluster


@dataclass(frozen=True)
class Start:
    """Items as the design sees them, and what is known of them beforehand."""

    features: Features
    ids: npt.NDArray[Any] | None
    ridge: float | str
    effects: float | Beginning | None = None  # the variance of effects of their own, or what a model knows of those
    answered: Ints | None = None  # the pairs whose answers that model has counted in
    belief: Belief | None = None


def start_from(
    X: Any, n_items: int | None, model: Any, item_effects: float | None, ridge: float | str, cluster: Cluster | None
) -> Start:
    """The start from X, from a model that was fitted without features, or from `n_items` items without any."""
    if X is not None and n_items is not None:
        raise ValueError("n_items is for X=None; X says how many items there are")
    if is_gaussian_process(model):
        if item_effects is not None or not _is_auto(ridge):
            told = "ridge" if item_effects is None else "item_effects"
            raise ArgumentError(told, " is what the model has learned; leave it out")
        if cluster is not None and cluster.reads(X):
            raise ValueError("X must be in memory where model is a BradleyTerryGP; read it first")
        if X is not None and getattr(model, "n_features_in_", None) != 0:
            as_features(X)  # what is wrong with it is said as always
        under = posterior_of(model, X)
        if n_items is not None and n_items != len(under.belief.scores):
            raise ValueError(
                f"n_items={n_items}, but model was fitted to {len(under.belief.scores)} items; leave it out"
            )
        return Start(under.features, under.ids, 1.0, under.known, under.answered, under.belief)
    if X is not None:
        return Start(*_features_of(X, cluster), ridge, item_effects)
    if not _is_auto(ridge):
        raise ArgumentError("ridge", " is for features, and there are none; leave it out")
    if item_effects is None:
        raise ValueError("X is None, so nothing tells items apart; give item_effects, or a BradleyTerryGP as model")
    if model is not None:
        raise ValueError("model was fitted to features, and X is None; give X")
    if n_items is None:
        raise ValueError("X is None, so say how many items there are: n_items=")
    if as_whole(n_items, "n_items") < 2:
        raise ValueError("there is only one item; at least two items are needed to form a pair")
    # Without features all items are the same, in one column.
    return Start(from_array(np.zeros((n_items, 1))), None, 1.0, item_effects)


def _is_auto(ridge: Any) -> bool:
    return isinstance(ridge, str) and ridge == "auto"


def _features_of(X: Any, cluster: Cluster | None) -> tuple[Features, npt.NDArray[Any] | None]:
    """What users pass as X, checked, and its items' ids if it names them; a cluster may read them itself."""
    if cluster is None or not cluster.reads(X):
        return as_features(X)
    features, ids = cluster.features(X)
    check_finite(features)
    if ids is not None:
        check_ids(ids)
    return features, ids
