"""Tests of how far programs agree with people."""

from statistics import NormalDist

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

from pairsmith.campaign.reporting.agreement import INTERVAL_LEVEL, compare_judges_with_people, wilson
from pairsmith.campaign.store.schema import CHANGED


def answers(*rows):
    """Return a table of answers from rows of (rater, program, pair, outcome)."""
    table = pd.DataFrame(rows, columns=["rater", "program", "second", "outcome"])
    return table.assign(first=0, program=table["program"].astype(bool), comment="")


def test_agreement_counts_pairs_that_both_answered():
    given = answers(
        ("bot", True, 1, 1), ("ann", False, 1, 1), ("ben", False, 1, -1),  # half
        ("bot", True, 2, -1), ("ann", False, 2, -1),  # the same
        ("bot", True, 3, 1), ("ann", False, 3, 0),  # a tie is another answer
        ("bot", True, 4, 0), ("ben", False, 4, 0), ("ann", False, 4, 0),  # the same
        ("bot", True, 5, 1),  # nobody else
        ("ann", False, 6, 1), ("ben", False, 6, 1),  # not the program
        ("idle", True, 7, 1),
    )  # fmt: skip
    (row,) = compare_judges_with_people(given)
    assert (row["name"], row["pairs"], row["agrees"]) == ("bot", 4, 0.625)
    assert row["people"] == 0.5  # on the first and the fourth pair
    assert row["low"] < 0.625 < row["high"]


def test_pairs_answered_differently_from_each_side_are_left_out_and_counted():
    given = answers(
        ("bot", True, 1, 1), ("ann", False, 1, 1),
        ("bot", True, 2, 0), ("ann", False, 2, 1), ("ben", False, 2, -1),  # changed with the side
        ("bot", True, 3, 0), ("ann", False, 3, 0),  # changed with the side, too: a tie by people is no agreement
        ("bot", True, 4, 0), ("ann", False, 4, 1),  # a tie of its own
        ("bot", True, 5, 0),  # changed; nobody else
    )  # fmt: skip
    given.loc[(given["rater"] == "bot") & given["second"].isin([2, 3, 5]), "comment"] = CHANGED
    (row,) = compare_judges_with_people(given)
    assert (row["pairs"], row["agrees"], row["changed"], row["people"]) == (2, 0.5, 2, None)
    (row,) = compare_judges_with_people(given[given["second"].isin([2, 3, 5])])
    assert (row["pairs"], row["changed"]) == (0, 2)
    assert row["agrees"] is row["low"] is row["high"] is None


def test_no_rows_without_both_programs_and_people():
    assert compare_judges_with_people(answers(("ann", False, 1, 1))) == []
    assert compare_judges_with_people(answers(("bot", True, 1, 1))) == []


@pytest.mark.parametrize(("right", "count"), [(0, 5), (7, 10), (40, 40), (55, 100)])
def test_wilson_ends_are_just_not_rejected(right, count):
    """The ends are the p with |share - p| = z sqrt(p (1 - p) / n)."""
    share, z = right / count, NormalDist().inv_cdf((1 + INTERVAL_LEVEL) / 2)
    for p in wilson(share, count):
        if 0 < p < 1:
            assert abs(share - p) == pytest.approx(z * np.sqrt(p * (1 - p) / count))


def test_wilson_covers_about_as_often_as_its_level():
    for p in (0.5, 0.8, 0.95):
        chance = binom.pmf(np.arange(51), 50, p)
        covers = [low <= p <= high for low, high in (wilson(k / 50, 50) for k in range(51))]
        assert chance[covers].sum() == pytest.approx(INTERVAL_LEVEL, abs=0.07)  # shares of whole pairs are discrete
