"""What a scan finds, by enumeration: all that reaches the floor, whatever the candidates and whoever is gone."""

from contextlib import contextmanager
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pairsmith as ps
from pairsmith.data.candidates import Remaining
from pairsmith.design.information import Design
from pairsmith.engine import scan as scan_module
from pairsmith.engine.scan import Scan
from pairsmith.engine.threads import team_of
from test_screening import enumerated

N = 150
X = np.random.default_rng(0).standard_normal((N, 5))
CANDIDATES = {
    "all": ps.AllPairs(),
    "groups": ps.WithinGroups(np.arange(N) % 4),
    "list": ps.PairList(np.random.default_rng(1).permuted(np.tile(np.arange(N), (900, 1)), axis=1)[:, :2]),
}


@contextmanager
def scan_of(X, candidates="all", scores=None, threads=1, memory=1 << 30):
    """A scan where A is the identity, one pair was compared before and one item has no room."""
    rows = CANDIDATES[candidates].rows(len(X))
    room = np.full(len(X), 9**9)
    room[7] = 0
    remaining = Remaining(rows, np.array([3]), room)
    with team_of(threads) as team:
        yield Scan(Design(X, 1.0, scores=scores), remaining, team, {"tiles": 0}, lambda doing: None, memory)


def left(remaining, scores=None, X=X):
    """The candidates that remain and their gains: (i, j) -> gain, by the definition."""
    i, j, gains = enumerated(X, 1.0, scores)
    every = dict(zip(zip(i.tolist(), j.tolist(), strict=True), gains.tolist(), strict=True))
    numbers = np.setdiff1d(np.arange(len(remaining.rows)), remaining.taken)
    pairs = map(tuple, remaining.rows.pairs(numbers).tolist())
    return {pair: every[pair] for pair in pairs if not remaining.full[list(pair)].any()}


def by_pair(hits):
    assert np.all(hits.i < hits.j)
    found = dict(zip(zip(hits.i.tolist(), hits.j.tolist(), strict=True), hits.gain.tolist(), strict=True))
    assert len(found) == len(hits.i)  # none twice
    return found


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("candidates", CANDIDATES)
def test_exact_finds_what_reaches_the_floor_and_nothing_else(candidates, weighted):
    scores = 2 * X[:, 1] if weighted else None
    with scan_of(X, candidates, scores) as scan:
        whitened, true = scan.whiten(), left(scan.remaining, scores)
        floor = float(np.quantile(list(true.values()), 0.8)) * (1 - 1e-9)
        hits, left_out = scan.exact(whitened, floor, 10**6)
        assert left_out == floor
        assert by_pair(hits) == pytest.approx({pair: gain for pair, gain in true.items() if gain >= floor})
        assert by_pair(scan.every_pair(whitened)) == pytest.approx(true)


@pytest.mark.parametrize("candidates", ["all", "groups"])
def test_of_more_than_the_capacity_the_largest_are_kept_and_the_rest_is_bounded(candidates):
    with scan_of(X, candidates) as scan:
        whitened, true = scan.whiten(), left(scan.remaining)
        largest = sorted(true, key=true.get)[-40:]
        for passed in (scan.exact, scan.screened):
            hits, left_out = passed(whitened, 0.0, 40)
            found = by_pair(hits)
            assert found == pytest.approx({pair: true[pair] for pair in largest})
            assert max(gain for pair, gain in true.items() if pair not in found) <= left_out * (1 + 1e-9)
            assert left_out <= min(found.values())


def test_of_equal_gains_the_smaller_pairs_are_kept():
    """In exact(): what is picked then does not depend on the order in which blocks are looked at."""
    whole = np.random.default_rng(2).integers(0, 2, (N, 3)).astype(float)
    with scan_of(whole, threads=2) as scan:
        true = left(scan.remaining, X=whole)
        hits, _ = scan.exact(scan.whiten(), 1.0, 500)
    assert sorted(by_pair(hits)) == sorted(sorted(true, key=lambda pair: (-round(true[pair]), pair))[:500])


def test_a_screen_may_leave_out_columns_and_finds_the_same(monkeypatch):
    """Where a few columns hold nearly all of the lengths, multiplying these rules out nearly everything."""
    monkeypatch.setattr(scan_module, "_MIN_PRODUCTS_TO_SAVE", 0)
    wide = np.random.default_rng(3).standard_normal((N, 40)) * np.where(np.arange(40) < 10, 1.0, 0.05)
    floors = {}
    for memory in (1 << 30, 0):  # without Z at hand there is no second look, and all columns are multiplied
        with scan_of(wide, memory=memory) as scan:
            true = left(scan.remaining, X=wide)
            floor = floors.setdefault("floor", float(np.quantile(list(true.values()), 0.999)))
            hits, left_out = scan.screened(scan.whiten(), floor, 10**6)
            assert (scan.columns_used < 1) == (memory > 0)
            assert left_out == floor
            assert by_pair(hits).keys() >= {pair for pair, gain in true.items() if gain >= floor * (1 + 1e-9)}


def test_no_pass_where_lengths_rule_out_every_pair():
    with scan_of(X) as scan:
        whitened = scan.whiten()
        floor = 5 * float(whitened.squared_norms.max())
        hits, left_out = scan.screened(whitened, floor, 100)
        assert (len(hits.i), left_out, scan.diagnostics["tiles"]) == (0, floor, 0)


@given(st.integers(0, 2**32 - 1), st.sampled_from([1, 4, 64]))
def test_strips_hold_each_pair_that_is_far_enough_apart_once(seed, height):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(0, 30, rng.integers(1, 6))
    groups = np.concatenate([[0], np.cumsum(sizes)])
    lengths = np.concatenate([-np.sort(-rng.exponential(size=size)) for size in sizes])
    needed = float(rng.exponential())
    times = np.zeros((len(lengths), len(lengths)), dtype=int)
    strips = scan_module._strips(lengths, groups, height, needed)
    assert np.all(np.diff(strips[:, 0]) > 0)
    for a, a_end, b, b_end in strips:
        times[a:a_end, b:b_end] += 1
    for begin, end in pairwise(groups):
        for i in range(begin, end):
            for j in range(i + 1, end):
                assert times[i, j] == 1 or (times[i, j] == 0 and lengths[i] + lengths[j] < needed)
    within = np.equal.outer(np.repeat(np.arange(len(sizes)), sizes), np.repeat(np.arange(len(sizes)), sizes))
    assert not np.any(times[~within])
