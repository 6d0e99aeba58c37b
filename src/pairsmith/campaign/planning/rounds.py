"""The pairs of a round: designed pairs, mixed with a share of random pairs.

Designed pairs are not representative, because the design picks those that the model knows least about. The random
pairs are, so they measure how well the model predicts and how far people agree.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from pairsmith.campaign.learning import fit_linear, fit_or_prior
from pairsmith.campaign.options import CampaignOptions
from pairsmith.campaign.store.schema import DESIGNED, RANDOM, REPEATED
from pairsmith.campaign.store.snapshot import CampaignSnapshot
from pairsmith.criteria import CRITERIA
from pairsmith.criteria.random import draw
from pairsmith.data.arrays import Bools, Ints
from pairsmith.data.candidates import Remaining, WithinGroups, remaining_pairs
from pairsmith.data.errors import ArgumentError
from pairsmith.model.gaussian_process import BradleyTerryGP
from pairsmith.selection.select import Selection, select

if TYPE_CHECKING:
    from pairsmith.model.bradley_terry import BradleyTerry

DEFAULT_OBJECTIVE = "order"  # of campaigns that name none


class Round(NamedTuple):
    """Pairs to ask, in this order, and why each of them is asked."""

    pairs: Ints  # (m, 2)
    why: list[str]


def choose_question(
    snapshots: Sequence[CampaignSnapshot], objective: str | None, previous: Sequence[BradleyTerryGP] = ()
) -> tuple[CampaignSnapshot, BradleyTerry | BradleyTerryGP | None]:
    """Return the question to design the next round for, and the model that designs it.

    The question is the one whose model has the largest doubt. Every pair is asked with all questions, so the answers
    to the other questions are an extra gain.

    Parameters
    ----------
    snapshots : the campaign, once per question that has pairs left.
    objective : the criterion of the campaign.
    previous : the models of an earlier round, one per question of the campaign; the fits start from them.
    """
    if len(snapshots) == 1:
        only = snapshots[0]
        return only, design_model(only, objective, previous=previous[only.question] if previous else None)
    models = [fit_or_prior(snapshot, previous[snapshot.question] if previous else None) for snapshot in snapshots]
    doubts = [
        model.certainty(snapshot.features, snapshot.groups)[0]
        for snapshot, model in zip(snapshots, models, strict=True)
    ]
    most = doubts.index(max(doubts))
    return snapshots[most], design_model(snapshots[most], objective, fitted=models[most])


def design_model(
    snapshot: CampaignSnapshot,
    objective: str | None,
    fitted: BradleyTerryGP | None = None,
    previous: BradleyTerryGP | None = None,
) -> BradleyTerry | BradleyTerryGP | None:
    """Return the model under which this criterion designs; None if it needs none.

    Criteria that work with linear models only get one after the first answer or label, and None before.
    `fitted` is the Gaussian process of this snapshot, if there is one already. Otherwise it is fitted here, starting
    from `previous`.
    """
    criterion = CRITERIA.get(DEFAULT_OBJECTIVE if objective is None else objective)
    if criterion is None or not criterion.needs_model:
        return None
    if not criterion.needs_gaussian_process:
        return fit_linear(snapshot)
    return fit_or_prior(snapshot, previous) if fitted is None else fitted


def next_round(
    snapshot: CampaignSnapshot,
    settings: CampaignOptions,
    size: int | None = None,
    model: BradleyTerry | BradleyTerryGP | None = None,
    **options: Any,
) -> Round | None:
    """Choose the next round of `size` pairs (by default the campaign's k); return None if no pair is left.

    The random pairs are drawn first, from all pairs that have not been asked, and the rest is designed given them.
    The random pairs also stand at random places in the round. The same snapshot gives the same round.
    `model` is the model that designs the round; without it, `design_model` chooses one.
    """
    cap = settings.max_per_item
    size = min(size or settings.k, count_possible(snapshot, cap))
    rng = np.random.default_rng(snapshot.last_round + 1)
    share = 1.0 if settings.objective == "random" else settings.random_share
    count = count_random(share, snapshot.asked // settings.answers_per_pair, size)
    never_asked = _remaining(snapshot, snapshot.planned, cap)
    drawn = np.array(list(islice(draw(never_asked, rng), count)), dtype=np.int64).reshape(-1, 2)
    designed = _design(snapshot, settings, drawn, size - len(drawn), model, **options)
    total = len(drawn) + len(designed)
    if total == 0:
        return None
    is_random = np.zeros(total, dtype=bool)
    is_random[rng.choice(total, len(drawn), replace=False)] = True
    pairs = np.empty((total, 2), dtype=np.int64)
    pairs[is_random], pairs[~is_random] = drawn, designed
    why = np.where(_are_among(pairs, snapshot.planned), REPEATED, np.where(is_random, RANDOM, DESIGNED))
    return Round(pairs, why.tolist())


def count_random(share: float, asked: int, size: int) -> int:
    """Return how many of the next `size` pairs are random, after `asked` pairs with this share of random ones.

    This is round(share (asked + size)) - round(share asked): a later round makes up for what a small one cannot hold.
    """
    return int(share * (asked + size) + 0.5) - int(share * asked + 0.5)


def _design(
    snapshot: CampaignSnapshot,
    settings: CampaignOptions,
    drawn: Ints,
    k: int,
    model: BradleyTerry | BradleyTerryGP | None,
    **options: Any,
) -> Ints:
    """Design up to k pairs given the random pairs drawn, so that both together respect the cap per item."""
    cap, chosen = settings.max_per_item, drawn
    remaining = _remaining(snapshot, _closed_pairs(snapshot), cap)
    for i, j in drawn.tolist():
        remaining.take(i, j)
    if model is None and k > 0:
        model = design_model(snapshot, settings.objective)
    while len(chosen) < len(drawn) + k:
        repeatable = snapshot.repeatable[~_are_among(snapshot.repeatable, chosen)]
        so_far = replace(snapshot, planned=np.concatenate([snapshot.planned, chosen]), repeatable=repeatable)
        if remaining.full.any():
            so_far = replace(so_far, groups=_isolate(snapshot.groups, remaining.full))
        selection = next_pairs(so_far, len(drawn) + k - len(chosen), settings.objective, cap, model, **options)
        if selection is None:
            break
        if cap is None:
            return selection.pairs
        # select() knows one cap for all items, but items that were drawn have less room. Pairs beyond that room are
        # replaced in the next turn.
        fitting = []
        for i, j in selection.pairs.tolist():
            if remaining.allows(i, j):
                remaining.take(i, j)
                fitting.append((i, j))
        chosen = np.concatenate([chosen, fitting])
    return chosen[len(drawn) :]


def _isolate(groups: npt.NDArray[np.object_] | None, items: Bools) -> npt.NDArray[np.object_]:
    """Return these groups (None: a single one) with each of `items` in a group of its own, where it meets no other."""
    codes = np.zeros(len(items), dtype=np.int64) if groups is None else pd.factorize(groups)[0].astype(np.int64)
    codes[items] = len(items) + np.flatnonzero(items)
    return codes.astype(object)


def next_pairs(
    snapshot: CampaignSnapshot,
    k: int,
    objective: str | None = None,
    max_per_item: int | None = None,
    model: BradleyTerry | BradleyTerryGP | None = None,
    **options: Any,
) -> Selection | None:
    """Design the next k pairs (or as many as are left) given all planned pairs; return None if no pair is left.

    Under a BradleyTerryGP, pairs that may be asked again are candidates like all others; no other model knows what
    another answer to the same pair is worth. A criterion that uses a linear model gives way to d-optimal before the
    first label or answer. Without `model`, `design_model` chooses one.
    """
    if k < 1:
        raise ArgumentError("k", f" must be at least 1, got {k}")
    objective = DEFAULT_OBJECTIVE if objective is None else objective
    if model is None:
        model = design_model(snapshot, objective)
        if model is None and objective in CRITERIA and CRITERIA[objective].needs_model:
            objective = "d-optimal"
    taken = _closed_pairs(snapshot) if isinstance(model, BradleyTerryGP) else snapshot.planned
    k = min(k, _remaining(snapshot, taken, max_per_item).max_picks())
    if k == 0:
        return None
    featureless = snapshot.features.shape[1] == 0
    if featureless and model is None:  # each item has an effect of its own and nothing else
        options |= {"n_items": len(snapshot.features), "item_effects": options.get("item_effects") or 1.0}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*pairs could be picked")  # a shorter round is fine
        return select(
            # Without their index: pairs name items by row, and select() need not know the campaign's names.
            None if featureless else snapshot.features.reset_index(drop=True),
            k,
            labeled=snapshot.labeled,
            comparisons=taken,
            candidates=None if snapshot.groups is None else WithinGroups(snapshot.groups),
            max_per_item=max_per_item,
            objective=objective,
            model=model,
            **options,
        )


def count_possible(snapshot: CampaignSnapshot, max_per_item: int | None) -> int:
    """Return an upper bound on the number of pairs of another round."""
    return _remaining(snapshot, _closed_pairs(snapshot), max_per_item).max_picks()


def _remaining(snapshot: CampaignSnapshot, taken: Ints, max_per_item: int | None) -> Remaining:
    """Return the candidate pairs without those that are taken."""
    groups = None if snapshot.groups is None else WithinGroups(snapshot.groups)
    return remaining_pairs(groups, len(snapshot.features), taken, max_per_item)


def _closed_pairs(snapshot: CampaignSnapshot) -> Ints:
    """Return the planned pairs that may not be asked again."""
    return snapshot.planned[~_are_among(snapshot.planned, snapshot.repeatable)]


def _are_among(pairs: Ints, others: Ints) -> Bools:
    """Return a mask of the pairs that are among the others."""
    n = 1 + max(pairs.max(initial=0), others.max(initial=0))
    return np.isin(pairs @ np.array([n, 1]), others @ np.array([n, 1]))
