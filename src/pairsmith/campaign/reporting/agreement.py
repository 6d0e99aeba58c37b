"""How far programs agree with people, on the pairs that both answered."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtri

from pairsmith.campaign.store.schema import CHANGED

LEVEL = 0.9  # of the intervals


def judges_against_people(answers: pd.DataFrame) -> list[dict[str, Any]]:
    """Of each program: how many pairs both it and people answered, and the share on which they say the same.

    `answers` are those of `load_answers`. A pair counts once: by the share of people's answers that are the same as
    the program's, a tie being the same as a tie only. `low` and `high` are Wilson's interval, with pairs for the
    independent trials. `people` is how far people agree with each other on those of the same pairs that several of
    them answered, which no judge can be expected to exceed by much; None where there are none.

    Pairs that the program answered differently from each side are left out: their ties are not its verdicts. `changed`
    counts those of them that people answered. The shares are None where no other pair is left.
    """
    pair = ["first", "second"]
    by_people = answers[~answers["program"]]
    found = []
    for name, own in answers[answers["program"]].groupby("rater"):
        is_changed = own["comment"] == CHANGED
        own, changed = own[~is_changed], own[is_changed]
        both = own.merge(by_people, on=pair, suffixes=("", "_person"))
        left_out = len(changed[pair].merge(by_people[pair]).drop_duplicates())
        if both.empty and not left_out:
            continue
        shares = _same(both, "outcome_person").to_numpy()
        among = by_people.merge(own[pair].drop_duplicates(), on=pair).reset_index()
        others = among.merge(among, on=pair, suffixes=("", "_other"))
        others = others[(others["index"] != others["index_other"]) & (others["rater"] != others["rater_other"])]
        agrees = low = high = None
        if len(shares):
            share = float(shares.mean())
            agrees, low, high = (round(value, 4) for value in (share, *wilson(share, len(shares))))
        found.append(
            {
                "name": name,
                "pairs": len(shares),
                "changed": left_out,
                "agrees": agrees,
                "low": low,
                "high": high,
                "people": None if others.empty else round(float(_same(others, "outcome_other").mean()), 4),
            }
        )
    return sorted(found, key=lambda row: -row["pairs"])


def _same(both: pd.DataFrame, other: str) -> pd.Series:
    """Of each pair, the share of its rows whose two outcomes are the same."""
    return (both["outcome"] == both[other]).groupby([both["first"], both["second"]]).mean()


def wilson(share: float, count: int) -> tuple[float, float]:
    """The interval of a share of so many trials, at LEVEL."""
    z = float(ndtri((1 + LEVEL) / 2))
    centre = (share + z * z / (2 * count)) / (1 + z * z / count)
    half = z / (1 + z * z / count) * np.sqrt(share * (1 - share) / count + z * z / (4 * count * count))
    return max(0.0, float(centre - half)), min(1.0, float(centre + half))
