"""How far programs agree with people on the pairs that both answered."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtri

from pairsmith.campaign.store.schema import CHANGED

INTERVAL_LEVEL = 0.9


def compare_judges_with_people(answers: pd.DataFrame) -> list[dict[str, Any]]:
    """Return a row for each program: on how many pairs it can be compared with people, and how far they agree.

    `answers` has the columns of `load_answers`. Pairs that the program answered differently from each side are
    left out, because such ties are not verdicts. The keys of a row:

    name
    pairs : the number of pairs that both the program and people answered
    changed : the number of pairs that are left out although people answered them
    agrees, low, high : the share of agreement and its Wilson interval, with pairs as independent trials; None if no
        pair is left. A pair counts once, by the share of people's answers that equal the program's. A tie equals only
        a tie.
    people : how far people agree with each other on those of the pairs that several of them answered, which is about
        the most that a judge can reach; None if there is no such pair
    """
    pair = ["first", "second"]
    by_people = answers[~answers["program"]]
    rows = []
    for name, own in answers[answers["program"]].groupby("rater"):
        is_changed = own["comment"] == CHANGED
        own, changed = own[~is_changed], own[is_changed]
        both = own.merge(by_people, on=pair, suffixes=("", "_person"))
        n_changed = len(changed[pair].merge(by_people[pair]).drop_duplicates())
        if both.empty and not n_changed:
            continue
        shares = _same(both, "outcome_person").to_numpy()
        among = by_people.merge(own[pair].drop_duplicates(), on=pair).reset_index()
        others = among.merge(among, on=pair, suffixes=("", "_other"))
        others = others[(others["index"] != others["index_other"]) & (others["rater"] != others["rater_other"])]
        agrees = low = high = None
        if len(shares):
            share = float(shares.mean())
            agrees, low, high = (round(value, 4) for value in (share, *wilson(share, len(shares))))
        rows.append(
            {
                "name": name,
                "pairs": len(shares),
                "changed": n_changed,
                "agrees": agrees,
                "low": low,
                "high": high,
                "people": None if others.empty else round(float(_same(others, "outcome_other").mean()), 4),
            }
        )
    return sorted(rows, key=lambda row: -row["pairs"])


def _same(both: pd.DataFrame, other: str) -> pd.Series:
    """Return for each pair the share of its rows whose two outcomes are the same."""
    return (both["outcome"] == both[other]).groupby([both["first"], both["second"]]).mean()


def wilson(share: float, count: int) -> tuple[float, float]:
    """Return Wilson's interval of a share of `count` trials, at `INTERVAL_LEVEL`."""
    z = float(ndtri((1 + INTERVAL_LEVEL) / 2))
    centre = (share + z * z / (2 * count)) / (1 + z * z / count)
    half = z / (1 + z * z / count) * np.sqrt(share * (1 - share) / count + z * z / (4 * count * count))
    return max(0.0, float(centre - half)), min(1.0, float(centre + half))
