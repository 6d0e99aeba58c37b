"""The pairs of a round: those of the design, and a share drawn at random among them.

Designed pairs are not like others: they are those that the model knows least about. How well it predicts, and how far
people agree, is measured on pairs that chance chose.
"""

from __future__ import annotations

import warnings
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

DEFAULT = "order"  # the criterion of campaigns that name none


class Round(NamedTuple):
    """Pairs to ask, in this order, and why each is."""

    pairs: Ints  # (m, 2)
    why: list[str]


def next_round(
    snapshot: CampaignSnapshot,
    settings: CampaignOptions,
    size: int | None = None,
    model: BradleyTerryGP | None = None,
    **options: Any,
) -> Round | None:
    """The next round of the campaign's k pairs, unless `size` is given; None where there are no more.

    Those drawn at random are drawn first, from all pairs that may be asked, and the rest is designed given them. Where
    they stand in the round is random, too. The same snapshot gives the same round.
    """
    cap = settings.max_per_item
    size = min(size or settings.k, count_possible(snapshot, cap))
    rng = np.random.default_rng(snapshot.last_round + 1)
    share = 1.0 if settings.objective == "random" else settings.random_share
    count = count_random(share, snapshot.asked // settings.answers_per_pair, size)
    never_asked = _remaining(snapshot, snapshot.planned, cap)
    drawn = np.array(list(islice(draw(never_asked, rng), count)), dtype=np.int64).reshape(-1, 2)
    chosen = _designed(snapshot, settings, drawn, size - len(drawn), model, **options)
    total = len(drawn) + len(chosen)
    if total == 0:
        return None
    by_chance = np.zeros(total, dtype=bool)
    by_chance[rng.choice(total, len(drawn), replace=False)] = True
    pairs = np.empty((total, 2), dtype=np.int64)
    pairs[by_chance], pairs[~by_chance] = drawn, chosen
    why = np.where(_are_among(pairs, snapshot.planned), REPEATED, np.where(by_chance, RANDOM, DESIGNED))
    return Round(pairs, why.tolist())


def count_random(share: float, asked: int, size: int) -> int:
    """How many of the next `size` pairs are random ones, after `asked` pairs of which this share was.

    round(share (asked + size)) - round(share asked): what a small round cannot have is made up for by a later one.
    """
    return int(share * (asked + size) + 0.5) - int(share * asked + 0.5)


def _designed(
    snapshot: CampaignSnapshot,
    settings: CampaignOptions,
    drawn: Ints,
    k: int,
    model: BradleyTerryGP | None,
    **options: Any,
) -> Ints:
    """At most k pairs of the design, given those drawn at random, beside which no item is in too many."""
    cap, found = settings.max_per_item, drawn
    remaining = _remaining(snapshot, _closed(snapshot), cap)
    for i, j in drawn.tolist():
        remaining.take(i, j)
    while len(found) < len(drawn) + k:
        left = snapshot.repeatable[~_are_among(snapshot.repeatable, found)]
        given = replace(snapshot, planned=np.concatenate([snapshot.planned, found]), repeatable=left)
        if remaining.full.any():
            given = replace(given, groups=_alone(snapshot.groups, remaining.full))
        chosen = next_pairs(given, len(drawn) + k - len(found), settings.objective, cap, model, **options)
        if chosen is None:
            break
        if cap is None:
            return chosen.pairs
        # A design knows one cap for all items. Those drawn have less room: others are chosen for what is too many.
        fitting = []
        for i, j in chosen.pairs.tolist():
            if remaining.allows(i, j):
                remaining.take(i, j)
                fitting.append((i, j))
        found = np.concatenate([found, fitting])
    return found[len(drawn) :]


def _alone(groups: npt.NDArray[np.object_] | None, items: Bools) -> npt.NDArray[np.object_]:
    """These groups (None: one), but that each of these items is one of its own: it meets no other."""
    codes = np.zeros(len(items), dtype=np.int64) if groups is None else pd.factorize(groups)[0].astype(np.int64)
    codes[items] = len(items) + np.flatnonzero(items)
    return codes.astype(object)


def next_pairs(
    snapshot: CampaignSnapshot,
    k: int,
    objective: str | None,
    max_per_item: int | None = None,
    model: BradleyTerry | BradleyTerryGP | None = None,
    **options: Any,
) -> Selection | None:
    """The next k pairs (or as many as there are), given all that were asked; None where there are no more.

    Under a BradleyTerryGP a pair that may be asked again is a candidate like any other.
    A criterion that uses a linear model gives way to d-optimal before the first label or answer.
    """
    if k < 1:
        raise ArgumentError("k", f" must be at least 1, got {k}")
    objective = DEFAULT if objective is None else objective
    criterion = CRITERIA.get(objective)
    # Only BradleyTerryGP knows what another answer to the same pair is worth.
    knows = isinstance(model, BradleyTerryGP) or (model is None and criterion is not None and criterion.only_effects)
    taken = _closed(snapshot) if knows else snapshot.planned
    k = min(k, _remaining(snapshot, taken, max_per_item).at_most())
    if k == 0:
        return None
    if model is None and criterion is not None and criterion.needs_model:
        model = fit_or_prior(snapshot) if criterion.only_effects else fit_linear(snapshot)
        objective = "d-optimal" if model is None else objective
    bare = snapshot.features.shape[1] == 0
    if bare and model is None:  # then items have effects of their own, and nothing else
        options |= {"n_items": len(snapshot.features), "item_effects": options.get("item_effects") or 1.0}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*pairs could be picked")  # a shorter round is no harm
        return select(
            # By their rows, as pairs name them: what a campaign calls its items is no concern of the design.
            None if bare else snapshot.features.reset_index(drop=True),
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
    """How many pairs another round can have at most."""
    return _remaining(snapshot, _closed(snapshot), max_per_item).at_most()


def _remaining(snapshot: CampaignSnapshot, taken: Ints, max_per_item: int | None) -> Remaining:
    """The pairs that may be asked, without these."""
    groups = None if snapshot.groups is None else WithinGroups(snapshot.groups)
    return remaining_pairs(groups, len(snapshot.features), taken, max_per_item)


def _closed(snapshot: CampaignSnapshot) -> Ints:
    """The pairs that were asked, without those that may be asked again."""
    return snapshot.planned[~_are_among(snapshot.planned, snapshot.repeatable)]


def _are_among(pairs: Ints, others: Ints) -> Bools:
    """Which of these pairs are among the others."""
    n = 1 + max(pairs.max(initial=0), others.max(initial=0))
    return np.isin(pairs @ np.array([n, 1]), others @ np.array([n, 1]))
