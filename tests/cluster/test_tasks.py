"""What a task finds, with and without a cluster around it."""

import numpy as np
import pytest

import pairsmith as ps
from pairsmith.cluster import scan, tasks
from pairsmith.cluster.cache import CACHE
from pairsmith.cluster.features import BlocksInMemory
from pairsmith.data.candidates import Rows
from pairsmith.engine.screening import ItemBlock, Screening
from support.clusters import OPTIONS, X, assert_same
from support.scans import enumerated

ITEMS = np.random.default_rng(0).standard_normal((150, 5))


def test_workers_with_hardly_any_memory_for_pairs(shared, monkeypatch):
    """Tasks then cut down what they found, and raise the floor, long before the pool is full."""
    monkeypatch.setattr(scan, "_LEAST_WORK", 1e9)  # so that a task finds many
    ties = np.random.default_rng(1).integers(0, 3, (1500, 4)).astype(float)
    some = np.random.default_rng(3).integers(0, 2500, (600_000, 2))
    some = some[some[:, 0] != some[:, 1]]
    problems = [
        (X, OPTIONS | {"pool_size": 1_000_000}),
        (ties, {"ridge": 0.5, "pool_size": 300_000}),
        (X, {"ridge": 1e-3, "candidates": ps.PairList(some)}),
    ]
    alone = [ps.select(data, 30, **options) for data, options in problems]
    shared.client.run(setattr, tasks, "_BYTES_PER_PAIR", 1 << 40)
    try:
        for (data, options), expected in zip(problems, alone, strict=True):
            selection = ps.select(data, 30, **options, client=shared.client)
            assert_same(selection, expected)
            assert selection.diagnostics["pool"] < expected.diagnostics["pool"]
    finally:
        shared.client.run(setattr, tasks, "_BYTES_PER_PAIR", tasks._BYTES_PER_PAIR)


# What follows calls tasks as a worker does, on blocks that it holds, and compares with enumeration.


@pytest.fixture(params=["plain", "weighted"])
def scores(request):
    return None if request.param == "plain" else 2 * ITEMS[:, 1]


@pytest.fixture
def blocks():
    """Items in two blocks of a worker."""
    return BlocksInMemory(np.array([0, 60]), [ITEMS[:60], ITEMS[60:]])


@pytest.fixture
def whitener():
    """Of a design where A is the identity."""
    return tasks.Whitener("test", (2 * np.eye(5), np.eye(5) / 2), 0.3)


def test_lengths_of_some_items(blocks, whitener, monkeypatch):
    monkeypatch.setattr(tasks, "_NUMBERS_WHITENED_AT_ONCE", 50)
    Z = ITEMS - 0.3
    np.testing.assert_allclose(whitener.whiten(ITEMS, np.arange(150), [3, 0]), Z[:, [3, 0]])
    norms, energy = tasks.measure(blocks, whitener, 20, 110)
    np.testing.assert_allclose(norms, np.sum(Z[20:110] ** 2, axis=1))
    np.testing.assert_allclose(energy, np.sum(Z[20:110] ** 2, axis=0))


@pytest.mark.parametrize("second_look", [False, True])
def test_a_screen_finds_every_pair_of_its_strips_that_reaches_the_floor(blocks, whitener, scores, second_look):
    norms = np.sum((ITEMS - 0.3) ** 2, axis=1)
    order = np.argsort(-norms).astype(np.int32)
    gains = enumerated(ITEMS, 1.0, scores)[2]
    floor = float(np.quantile(gains, 0.9))
    placed = [
        ItemBlock(low, own, norms[own], None if scores is None else scores[own])
        for low, own in ((0, order[:50]), (50, order[50:]))
    ]
    median = None if scores is None else float(np.median(scores))
    screening = Screening(floor, np.arange(5), 4 if second_look else 5, second_look, 8.0, median, 50, 32)
    strips = {0: np.array([[0, 50, 0, 50]]), 50: np.array([[0, 50, 50, 150]])}  # the first fifty with all others
    hits, left_out = tasks.screen(blocks, whitener, screening, [placed], 0, strips, floor, 10**6, 0)
    assert left_out == floor
    bound = np.full((150, 150), -np.inf)
    bound[np.minimum(hits.i, hits.j), np.maximum(hits.i, hits.j)] = hits.gain
    i, j, gains = enumerated(ITEMS, 1.0, scores)
    own = (gains >= floor) & (np.isin(i, order[:50]) | np.isin(j, order[:50]))
    assert own.sum() > 300
    assert np.all(bound[i[own], j[own]] >= gains[own] * (1 - 1e-9))
    assert len(hits.i) < 1.1 * own.sum()


def test_exact_gains_of_items_with_their_partners(blocks, whitener, scores):
    """The items 10 to 29 meet those from 40 on, but for two that are at their cap."""
    items, others = np.arange(10, 30, dtype=np.int32), np.arange(40, 150, dtype=np.int32)
    count = np.full(20, 110)
    meetings = Rows(np.arange(110, dtype=np.int32), np.zeros(20, dtype=np.int64), count)
    own = [None, None] if scores is None else [scores[items], scores[others]]
    partners = tasks.Partners(others, own[1], None, meetings, np.isin(others, [41, 99]))
    i, j, gains = enumerated(ITEMS, 1.0, scores)
    floor = float(np.quantile(gains, 0.7))
    hits, _, _ = tasks.exact(blocks, whitener, items, own[0], None, [partners], floor, (150, 150), 10**6, 0)
    meet = (i >= 10) & (i < 30) & (j >= 40) & (j != 41) & (j != 99) & (gains >= floor)
    np.testing.assert_array_equal(np.column_stack([hits.i, hits.j]), np.column_stack([i[meet], j[meet]]))
    np.testing.assert_allclose(hits.gain, gains[meet])


def test_touched_items_are_shifted_and_their_own_pairs_left_to_the_client(blocks):
    """As if the features were others and effects independent; the items 10 and 45 of the rows above are touched."""
    shift = np.array([[1.0, 0, 0, 0, 0], [0, -2.0, 0, 0, 0]])
    whitener = tasks.Whitener("test", (np.eye(5),), 0.0, np.array([10, 45]), shift)
    moved, effects = ITEMS.copy(), np.full(150, 0.7)
    moved[[10, 45]] += shift
    effects[[10, 45]] = 0.1, 0.2
    norms, _ = tasks.measure(blocks, whitener, 5, 120)
    np.testing.assert_allclose(norms, np.sum(moved[5:120] ** 2, axis=1))
    items, others = np.arange(10, 30, dtype=np.int32), np.arange(40, 150, dtype=np.int32)
    meetings = Rows(np.arange(110, dtype=np.int32), np.zeros(20, dtype=np.int64), np.full(20, 110))
    partners = tasks.Partners(others, None, effects[others], meetings, np.zeros(110, dtype=bool))
    hits, _, _ = tasks.exact(blocks, whitener, items, None, effects[items], [partners], 0.0, (150, 150), 10**6, 0)
    i, j = (side.ravel() for side in np.meshgrid(items, others, indexing="ij"))
    meet = ~((i == 10) & (j == 45))
    np.testing.assert_array_equal(np.column_stack([hits.i, hits.j]), np.column_stack([i[meet], j[meet]]))
    gains = np.sum((moved[i] - moved[j]) ** 2, axis=1) + effects[i] + effects[j]
    np.testing.assert_allclose(hits.gain, gains[meet])


def test_a_task_keeps_no_more_pairs_than_its_memory_has_room_for(monkeypatch):
    monkeypatch.setattr(CACHE, "limit", 9600)
    assert [tasks._room(capacity) for capacity in (50, 1000)] == [50, 100]
    monkeypatch.setattr(CACHE, "limit", 1)
    assert tasks._room(50) == 1
