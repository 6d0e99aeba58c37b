import tracemalloc

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pairsmith import AllPairs, Among, PairList, WithinGroups
from pairsmith.data.candidates import Remaining
from support.oracle import all_pairs, pairs_within

group_names = st.lists(st.integers(0, 4), min_size=2, max_size=12)
pair_lists = st.integers(2, 9).flatmap(
    lambda n: st.tuples(
        st.just(n),
        st.lists(
            st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)).filter(lambda pair: pair[0] != pair[1]),
            min_size=1,
            max_size=30,
        ),
    )
)


def list_pairs(rows):
    return [tuple(pair) for pair in rows.pairs(np.arange(len(rows))).tolist()]


def check_rows(rows, expected):
    """Check each method of Rows against the list of pairs."""
    n = rows.n_items
    assert list_pairs(rows) == sorted(expected)
    assert len(rows) == len(expected)
    enumerate_pairs = np.array(all_pairs(n))
    numbers = rows.numbers(enumerate_pairs)
    for pair, number in zip(map(tuple, enumerate_pairs.tolist()), numbers, strict=True):
        assert number == (sorted(expected).index(pair) if pair in expected else -1)
    assert rows.degrees().tolist() == [sum(item in pair for pair in expected) for item in range(n)]
    keep = np.arange(n) % 3 != 1
    assert list_pairs(rows.among(keep)) == [pair for pair in sorted(expected) if keep[pair[0]] and keep[pair[1]]]


@pytest.mark.parametrize("n", [2, 3, 7])
def test_rows_of_all_pairs(n):
    check_rows(AllPairs().rows(n), all_pairs(n))


@given(group_names)
def test_rows_of_groups(groups):
    check_rows(WithinGroups(groups).rows(len(groups)), pairs_within(groups))


@given(st.integers(2, 9).flatmap(lambda n: st.tuples(st.just(n), st.sets(st.integers(0, n - 1)))))
def test_rows_among_some_items(case):
    n, items = case
    check_rows(Among(sorted(items, reverse=True)).rows(n), [pair for pair in all_pairs(n) if set(pair) <= items])


@given(pair_lists)
def test_rows_of_a_list_are_sorted_without_duplicates(case):
    n, pairs = case
    check_rows(PairList(pairs).rows(n), sorted({tuple(sorted(pair)) for pair in pairs}))


def test_all_pairs_of_a_million_items_take_memory_for_items_only():
    tracemalloc.start()
    rows = AllPairs().rows(1_000_000)
    assert len(rows) == 499_999_500_000
    last = rows.pairs(np.array([0, len(rows) - 1]))
    assert last.tolist() == [[0, 1], [999_998, 999_999]]
    assert rows.numbers(last).tolist() == [0, len(rows) - 1]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100e6


def test_group_names_may_be_of_any_type():
    expected = WithinGroups([1, 2, 1, 2]).codes.tolist()
    for groups in (
        ["a", "b", "a", "b"],
        np.array(["a", "b", "a", "b"], dtype=object),
        np.array(["a", "b", "a", "b"]),
        [1.5, 2.5, 1.5, 2.5],
        [1, "1", 1, "1"],
        [2**53, 2**53 + 1, 2**53, 2**53 + 1],
        pd.Series(["a", "b", "a", "b"], dtype="category"),
        pl.Series(["a", "b", "a", "b"]),
    ):
        assert WithinGroups(groups).codes.tolist() == expected


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: PairList([[0, 1], [2, 2]]), "row 1 pairs item 2 with itself"),
        (lambda: PairList([[0, 1, 2]]), "two columns"),
        (lambda: PairList([[0.5, 1]]), "whole row numbers"),
        (lambda: PairList([["a", "b"]]), "whole row numbers"),
        (lambda: PairList([[-1, 2]]).rows(5), "holds -1"),
        (lambda: PairList([[0, 5]]).rows(5), "holds 5, but the rows of X are numbered 0 to 4"),
        (lambda: Among([0, 5]).rows(5), "items holds 5, but the rows of X are numbered 0 to 4"),
        (lambda: Among([[0, 1]]), "items must be a list of row numbers"),
        (lambda: Among([0.5]), "whole row numbers"),
        (lambda: WithinGroups(["a", None]), "item 1 has no group"),
        (lambda: WithinGroups([1.0, np.nan]), "item 1 has no group"),
        (lambda: WithinGroups(["a", "a", np.nan]), "item 2 has no group"),
        (lambda: WithinGroups(pd.Series(["a", None], dtype="string")), "item 1 has no group"),
        (lambda: WithinGroups(pd.to_datetime(pd.Series(["2020-01-01", None]))), "item 1 has no group"),
        (lambda: WithinGroups(np.ma.array([1, 2], mask=[0, 1])), "a plain list"),
        (lambda: WithinGroups(5), "a plain list"),
        (lambda: PairList([[0, 1], [2]]), "differ in length"),
        (lambda: PairList([[1e300, 2]]), "whole row numbers"),
        (lambda: PairList(np.array([[2**63 + 1, 2]], dtype=np.uint64)), "whole row numbers"),
        (lambda: PairList(np.ma.array([[0, 1]], mask=[[0, 1]])), "masked"),
        (lambda: WithinGroups([[1, 2]]), "one name .* for each item"),
        (lambda: WithinGroups([1, 2, 3]).rows(4), "names 3 items, but X has 4"),
    ],
)
def test_bad_candidates_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_picked_pairs_and_items_at_their_cap_are_closed():
    rows = AllPairs().rows(4)
    remaining = Remaining(rows, rows.numbers(np.array([[0, 1]])), np.full(4, 2))
    assert not remaining.allows(0, 1)
    remaining.take(0, 2)
    assert not remaining.allows(0, 2)
    assert remaining.allows(0, 3)
    remaining.take(0, 3)
    assert remaining.full.tolist() == [True, False, False, False]
    assert remaining.taken.tolist() == [0, 1, 2]


@pytest.mark.parametrize("taken", [[], [[0, 1]]])
def test_pairs_that_are_no_candidates_are_not_allowed(taken):
    rows = PairList([[0, 1], [0, 3], [2, 3]]).rows(4)
    remaining = Remaining(rows, rows.numbers(np.array(taken, dtype=int).reshape(-1, 2)), np.full(4, 9))
    are_taken = remaining.are_taken(np.array([[0, 1], [0, 2], [0, 3], [1, 2], [2, 3]]))
    assert are_taken.tolist() == [bool(taken), True, False, True, False]
    assert not remaining.allows(0, 2)
