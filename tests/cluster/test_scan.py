"""The same pairs on a cluster of real processes, whatever the number of workers and tiles."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pairsmith as ps
from pairsmith.cluster import features, scan
from support.clusters import OPTIONS, X


def test_one_two_and_four_workers_and_any_tiles(farm, monkeypatch):
    few = X[:1200]
    ties = np.random.default_rng(1).integers(0, 3, (400, 4)).astype(float)
    close = np.vstack([np.eye(60), -np.eye(60)]) * (1 + 1e-8 * np.random.default_rng(0).random((120, 1)))
    groups = np.random.default_rng(2).integers(0, 20, 1200)
    model = ps.BradleyTerry().fit(few, comparisons=[(0, 1), (2, 3), (4, 5)], outcomes=[1, -1, 1])
    listed = np.random.default_rng(3).integers(0, 1200, (100_000, 2))
    listed = listed[listed[:, 0] != listed[:, 1]]
    problems = {
        "plain": (few, 25, OPTIONS),
        "ties": (ties, 20, {"ridge": 0.5, "pool_size": 50}),
        "ties, complete": (ties[:80], 40, {"ridge": 0.5}),
        "gains within 1e-7": (close, 20, {"ridge": 1e-3, "pool_size": 100}),
        "a cap": (few, 12, OPTIONS | {"max_per_item": 1}),
        "ties and a cap": (ties, 20, {"ridge": 0.5, "pool_size": 50, "max_per_item": 2}),
        "groups": (few, 12, OPTIONS | {"candidates": ps.WithinGroups(groups), "comparisons": None}),
        "a list": (few, 12, OPTIONS | {"candidates": ps.PairList(listed), "comparisons": None}),
        "a model": (few, 12, OPTIONS | {"objective": "local-d-optimal", "model": model}),
        "columns of all sizes": (few * 10.0 ** np.linspace(-6, 6, 20), 10, {"ridge": 1e-6, "pool_size": 1000}),
        "certified": (few, 10, OPTIONS | {"certify": 1}),
    }
    alone = {name: ps.select(data, k, **options) for name, (data, k, options) in problems.items()}
    some = ["plain", "ties and a cap", "gains within 1e-7", "certified"]  # all of them where tiles are smallest
    for workers, names, (least, rows, held) in (
        (1, some[:2], (3e6, 300, 1 << 25)),
        (2, problems, (1e6, 77, 9000)),
        (4, some, (1e9, 4096, 30_000)),
    ):
        farm.start(workers - len(farm.workers))
        monkeypatch.setattr(scan, "_LEAST_WORK", least)
        monkeypatch.setattr(scan, "_ROWS_IN_FLOAT64", rows)
        monkeypatch.setattr(features, "_NUMBERS_IN_A_SENT_BLOCK", held)
        for name in names:
            data, k, options = problems[name]
            selection = ps.select(data, k, **options, client=farm.client)
            np.testing.assert_array_equal(selection.pairs, alone[name].pairs, err_msg=f"{name}, {workers} workers")
            np.testing.assert_array_equal(selection.gains, alone[name].gains)
            if alone[name].bound is not None:
                assert selection.bound == pytest.approx(alone[name].bound, rel=1e-9)


@given(st.integers(0, 2**32 - 1))
def test_tasks_hold_every_strip_once(seed):
    """What a scan multiplies is cut into tasks: none of it is lost, none of it done twice, no strip's rows are cut."""
    rng = np.random.default_rng(seed)
    n, height = int(rng.integers(2, 200)), int(rng.integers(1, 40))
    starts = np.arange(0, n, height)
    ends = rng.integers(starts + 1, n + 1)
    strips = np.column_stack([starts, np.minimum(starts + height, ends), starts, ends])
    strips = strips[rng.random(len(strips)) < 0.9]
    planned, done = np.zeros((2, n, n), dtype=int)
    for a, a_end, b, b_end in strips:
        planned[a:a_end, b:b_end] += 1
    cuts = scan._cuts(strips, n, int(rng.integers(1, 60)))
    assert (cuts[0], cuts[-1]) == (0, n)
    for left, rights in scan._tasks(strips, cuts, float(rng.exponential(500)), float(rng.exponential(5))):
        for right, own in rights.items():
            for a, a_end, b, b_end in own:
                assert cuts[left] <= a < a_end <= cuts[left + 1]
                assert cuts[right] <= b < b_end <= cuts[right + 1]
                done[a:a_end, b:b_end] += 1
    np.testing.assert_array_equal(done, planned)


def test_tasks_are_as_large_as_asked_for():
    strips = np.array([(a, a + 10, a, 200) for a in range(0, 200, 10)])
    cuts = scan._cuts(strips, 200, 20)
    np.testing.assert_array_equal(cuts, np.arange(0, 201, 20))
    assert len(list(scan._tasks(strips, cuts, 1.0, 1.0))) > len(list(scan._tasks(strips, cuts, 1e9, 1.0))) == 10


def test_effects_of_items(shared, tmp_path):
    """Features sent, or read by workers, of items of which some are touched: all candidate kinds, weights, a proof."""
    few, rng = X[:700], np.random.default_rng(0)
    np.save(tmp_path / "few.npy", few)
    chain = rng.permutation(700)[:61]
    pairs = np.sort(np.column_stack([chain[1:], chain[:-1]]), axis=1)
    some = rng.integers(0, 700, (300_000, 2))
    some = some[some[:, 0] != some[:, 1]]
    groups = rng.integers(0, 10, 700)
    model = ps.BradleyTerryGP(linear=2.0, smooth=False, items=1.0)
    model.fit(few, comparisons=pairs, outcomes=np.sign(few[pairs[:, 0], 0] - few[pairs[:, 1], 0]))
    effects = {"ridge": 0.1, "item_effects": 0.5, "comparisons": pairs, "pool_size": 500}
    posterior = {"model": model, "comparisons": pairs, "pool_size": 500}
    problems = {
        "plain": effects,
        "groups": effects | {"candidates": ps.WithinGroups(groups)},
        "a list": effects | {"candidates": ps.PairList(some)},
        "certified": effects | {"certify": 1},
        "posterior": posterior | {"objective": "local-d-optimal"},
        "averaged": posterior | {"objective": "averaged-d-optimal"},
        "averaged, a list": posterior | {"objective": "averaged-d-optimal", "candidates": ps.PairList(some)},
    }
    for name, options in problems.items():
        alone = ps.select(few, 10, **options)
        by_file = [str(tmp_path / "few.npy")] if "model" not in options else []
        for data in (few, *by_file):
            selection = ps.select(data, 10, **options, client=shared.client)
            np.testing.assert_array_equal(selection.pairs, alone.pairs, err_msg=name)
            np.testing.assert_allclose(selection.gains, alone.gains, rtol=1e-9)
            assert selection.bound == (None if alone.bound is None else pytest.approx(alone.bound, rel=1e-9))
