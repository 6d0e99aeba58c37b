"""The model of a campaign: what the answers and labels of a snapshot say about its items."""

from __future__ import annotations

from typing import Any

from pairsmith.campaign.snapshot import CampaignSnapshot
from pairsmith.data.features import from_array
from pairsmith.model.bradley_terry import BradleyTerry
from pairsmith.model.prior import usual_ridge


def fit_model(snapshot: CampaignSnapshot) -> BradleyTerry | None:
    """The model of the answers and labels so far, None before the first."""
    found = evidence(snapshot)
    if not found:
        return None
    return BradleyTerry(usual_ridge(from_array(snapshot.features.to_numpy()))).fit(snapshot.features, **found)


def evidence(snapshot: CampaignSnapshot) -> dict[str, Any]:
    """Labels and answers, as BradleyTerry.fit takes them; empty where there are none."""
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
        found |= {
            "comparisons": snapshot.answers[["first", "second"]].to_numpy(),
            "outcomes": snapshot.answers["outcome"].to_numpy(),
        }
    return found
