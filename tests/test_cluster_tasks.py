"""What a task finds, with and without a cluster around it."""

import numpy as np

import pairsmith as ps
from clusters import OPTIONS, X, assert_same
from pairsmith.cluster import scan, tasks


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
