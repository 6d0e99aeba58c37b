"""The model of a campaign: what the answers and labels of a snapshot say about its items."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from pairsmith.campaign.store.answers import weights
from pairsmith.campaign.store.snapshot import CampaignSnapshot
from pairsmith.data.features import from_array
from pairsmith.data.outcomes import as_words
from pairsmith.model.bradley_terry import BradleyTerry, usual_ridge
from pairsmith.model.gaussian_process import BradleyTerryGP


def fit_model(snapshot: CampaignSnapshot, model: BradleyTerryGP | None = None) -> BradleyTerryGP | None:
    """The model of the answers and labels so far, None before the first; `model` is one to go on from."""
    found = evidence(snapshot)
    if not found:
        return None
    model = BradleyTerryGP(warm_start=True) if model is None else model
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="the answers leave")  # so they do at first; doubt counts it
        return model.fit(snapshot.features, **_in_words(found))


def fit_or_prior(snapshot: CampaignSnapshot, model: BradleyTerryGP | None = None) -> BradleyTerryGP:
    """The same; before the first answer, what is thought of items with such features."""
    found = fit_model(snapshot, model)
    return BradleyTerryGP().fit(snapshot.features) if found is None else found


def with_authors(snapshot: CampaignSnapshot) -> CampaignSnapshot:
    """The same with a feature for each author: by it, what an author's items have in common is learned as well."""
    if snapshot.authors is None:
        return snapshot
    number, names = pd.factorize(snapshot.authors)
    columns = pd.DataFrame(
        np.eye(len(names))[number], index=snapshot.features.index, columns=[f"author {name}" for name in names]
    )
    return replace(snapshot, features=pd.concat([snapshot.features, columns], axis=1))


def fit_linear(snapshot: CampaignSnapshot) -> BradleyTerry | None:
    """The same for criteria that want scores linear in the features; everybody is taken to be alike."""
    found = evidence(snapshot)
    if not found:
        return None
    found = {name: value for name, value in found.items() if name not in ("raters", "shown_first")}
    return BradleyTerry(usual_ridge(from_array(snapshot.features.to_numpy()))).fit(
        snapshot.features, **_in_words(found)
    )


def evidence(snapshot: CampaignSnapshot) -> dict[str, Any]:
    """Labels and answers, as BradleyTerryGP.fit takes them, what was shown left first; empty where there are none."""
    found: dict[str, Any] = {}
    if snapshot.labels.dtype.kind == "U":
        told = " and ".join(repr(word) for word in sorted(set(snapshot.labels.tolist())))
        raise ValueError(
            f"the labels of this campaign are words ({told}), and nothing says which is the better; say it with"
            " pairsmith campaign repair and --better"
        )
    if len(snapshot.labels):
        found |= {"y": snapshot.labels, "labeled": snapshot.labeled}
    if len(snapshot.answers):
        given = snapshot.answers
        first, second, left = (given[name].to_numpy() for name in ("first", "second", "left"))
        left = np.where(given["elsewhere"], -1, left)
        turned = left == second
        outcomes = given["outcome"].to_numpy(dtype=np.float64)
        found |= {
            "comparisons": np.column_stack([np.where(turned, second, first), np.where(turned, first, second)]),
            "outcomes": np.where(turned, -outcomes, outcomes),
            "raters": given["rater"].to_numpy(dtype=object),
            "shown_first": left,
        }
        if (given["strength"] != "").any():
            found["sample_weight"] = np.concatenate([np.ones(len(snapshot.labels)), weights(given)])
    return found


def _in_words(found: dict[str, Any]) -> dict[str, Any]:
    """Evidence whose outcomes are words: the zeros of a campaign are ties, even where nobody preferred the second."""
    return found if "outcomes" not in found else found | {"outcomes": as_words(found["outcomes"])}
