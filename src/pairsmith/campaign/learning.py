"""The model of a campaign, fitted to the answers and labels of a snapshot."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from pairsmith.campaign.store.answers import strength_weights
from pairsmith.campaign.store.snapshot import CampaignSnapshot
from pairsmith.data.features import from_array
from pairsmith.data.outcomes import as_words
from pairsmith.model.bradley_terry import BradleyTerry, default_ridge
from pairsmith.model.gaussian_process import BradleyTerryGP


def fit_model(snapshot: CampaignSnapshot, model: BradleyTerryGP | None = None) -> BradleyTerryGP | None:
    """Fit the Gaussian process to a snapshot, starting from `model` if given. Return None without any evidence."""
    arguments = evidence(snapshot)
    if not arguments:
        return None
    model = BradleyTerryGP(warm_start=True) if model is None else model
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="the answers leave")  # as early ones do; the doubt accounts for it
        return model.fit(snapshot.features, **_outcomes_as_words(arguments))


def fit_or_prior(snapshot: CampaignSnapshot, model: BradleyTerryGP | None = None) -> BradleyTerryGP:
    """Fit the Gaussian process to a snapshot, or return the prior for its items if there is no evidence yet."""
    fitted = fit_model(snapshot, model)
    return BradleyTerryGP().fit(snapshot.features) if fitted is None else fitted


def with_authors(snapshot: CampaignSnapshot) -> CampaignSnapshot:
    """Return the snapshot with a feature for each author, from which the model learns what an author's items share."""
    if snapshot.authors is None:
        return snapshot
    number, names = pd.factorize(snapshot.authors)
    columns = pd.DataFrame(
        np.eye(len(names))[number], index=snapshot.features.index, columns=[f"author {name}" for name in names]
    )
    return replace(snapshot, features=pd.concat([snapshot.features, columns], axis=1))


def fit_linear(snapshot: CampaignSnapshot) -> BradleyTerry | None:
    """Fit the linear model, for criteria that need scores linear in the features. It takes all raters to be alike."""
    arguments = {name: value for name, value in evidence(snapshot).items() if name not in ("raters", "shown_first")}
    if not arguments:
        return None
    model = BradleyTerry(default_ridge(from_array(snapshot.features.to_numpy())))
    return model.fit(snapshot.features, **_outcomes_as_words(arguments))


def evidence(snapshot: CampaignSnapshot) -> dict[str, Any]:
    """Return labels and answers as keyword arguments of `BradleyTerryGP.fit`; empty if there are none.

    Comparisons have the item that was shown on the left first.
    """
    arguments: dict[str, Any] = {}
    if len(snapshot.labels):
        arguments |= {"y": snapshot.labels, "labeled": snapshot.labeled}
    if len(snapshot.answers):
        answers = snapshot.answers
        first, second, left = (answers[name].to_numpy() for name in ("first", "second", "left"))
        left = np.where(answers["elsewhere"], -1, left)
        swapped = left == second
        outcomes = answers["outcome"].to_numpy(dtype=np.float64)
        arguments |= {
            "comparisons": np.column_stack([np.where(swapped, second, first), np.where(swapped, first, second)]),
            "outcomes": np.where(swapped, -outcomes, outcomes),
            "raters": answers["rater"].to_numpy(dtype=object),
            "shown_first": left,
        }
        if (answers["strength"] != "").any():
            arguments["sample_weight"] = np.concatenate([np.ones(len(snapshot.labels)), strength_weights(answers)])
    return arguments


def _outcomes_as_words(arguments: dict[str, Any]) -> dict[str, Any]:
    """Write outcomes as words: a campaign's zeros are ties, even if no answer preferred the second item."""
    return arguments if "outcomes" not in arguments else arguments | {"outcomes": as_words(arguments["outcomes"])}
