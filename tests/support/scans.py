"""Scans of small problems, and the pairs they should find, by enumeration."""

from contextlib import contextmanager

import numpy as np

import pairsmith as ps
from pairsmith.data.candidates import Remaining
from pairsmith.design.information import Design
from pairsmith.engine.scan import Scan
from pairsmith.engine.threads import thread_team

N = 150
X = np.random.default_rng(0).standard_normal((N, 5))
CANDIDATES = {
    "all": ps.AllPairs(),
    "groups": ps.WithinGroups(np.arange(N) % 4),
    "list": ps.PairList(np.random.default_rng(1).permuted(np.tile(np.arange(N), (900, 1)), axis=1)[:, :2]),
}


def enumerated(X, ridge, scores=None):
    """Return all pairs (i, j) and their gains by the definition: with A = ridge I, w_ij |x_i - x_j|^2 / ridge."""
    i, j = np.triu_indices(len(X), 1)
    gains = np.sum((X[i] - X[j]) ** 2, axis=1) / ridge
    if scores is not None:
        small = np.exp(-np.abs(scores[i] - scores[j]))
        gains = gains * small / (1 + small) ** 2  # p (1 - p)
    return i, j, gains


def whitened(X, ridge, scores=None):
    """Return the whitened items of a design in which A is the ridge."""
    n = len(X)
    remaining = Remaining(ps.AllPairs().rows(n), np.zeros(0, int), np.full(n, 9**9))
    with thread_team(1) as team:
        scan = Scan(Design(X, ridge, scores=scores), remaining, team, {"tiles": 0}, lambda doing: None, 1 << 30)
        return scan.whiten()


@contextmanager
def scan_of(X, candidates="all", scores=None, threads=1, memory=1 << 30):
    """Provide a Scan with A the identity, one pair compared before, and one item at its exposure cap."""
    rows = CANDIDATES[candidates].rows(len(X))
    room = np.full(len(X), 9**9)
    room[7] = 0
    remaining = Remaining(rows, np.array([3]), room)
    with thread_team(threads) as team:
        yield Scan(Design(X, 1.0, scores=scores), remaining, team, {"tiles": 0}, lambda doing: None, memory)


def remaining_gains(remaining, scores=None, X=X):
    """Return the gains of the remaining candidates by the definition: {(i, j): gain}."""
    i, j, gains = enumerated(X, 1.0, scores)
    every = dict(zip(zip(i.tolist(), j.tolist(), strict=True), gains.tolist(), strict=True))
    numbers = np.setdiff1d(np.arange(len(remaining.rows)), remaining.taken)
    pairs = map(tuple, remaining.rows.pairs(numbers).tolist())
    return {pair: every[pair] for pair in pairs if not remaining.full[list(pair)].any()}


def by_pair(hits):
    """Return the hits as {(i, j): gain}, after checking their order and that none occurs twice."""
    assert np.all(hits.i < hits.j)
    gains = dict(zip(zip(hits.i.tolist(), hits.j.tolist(), strict=True), hits.gain.tolist(), strict=True))
    assert len(gains) == len(hits.i)
    return gains
