"""All implementations of Features return the same rows, projections and blocks."""

import numpy as np
import pytest

from pairsmith.data import features as module
from pairsmith.data.features import (
    InMemory,
    ShiftedFeatures,
    TooLargeToCopy,
    column_extremes,
    evenly_spaced_rows,
    from_array,
    rows_per_block,
)

N, D = 57, 3
WHOLE = np.random.default_rng(0).integers(0, 200, size=(N, D))
CENTER = np.array([0.5, -3.0, 100.25])
WHICH = [slice(None), slice(5, 40, 7), slice(50, 90), np.array([3, 3, 0, 56]), np.array([], dtype=np.int64)]


def mapped(folder, dtype):
    np.save(folder / "features.npy", WHOLE.astype(dtype))
    return np.load(folder / "features.npy", mmap_mode="r")


IMPLEMENTATIONS = {
    "in memory": lambda folder: InMemory(WHOLE.astype(np.float64)),
    "centred before": lambda folder: InMemory(WHOLE.astype(np.float64), np.array([7.0, 7.0, 7.0])),
    "large": lambda folder: TooLargeToCopy(WHOLE.astype(np.float64)),
    "by column": lambda folder: TooLargeToCopy(np.asfortranarray(WHOLE, dtype=np.float64)),
    **{
        f"mapped {dtype}": lambda folder, dtype=dtype: TooLargeToCopy(mapped(folder, dtype))
        for dtype in ("float64", "float32", "float16", "int64", "int16", "uint8")
    },
}


@pytest.fixture(params=IMPLEMENTATIONS)
def features(request, tmp_path):
    return IMPLEMENTATIONS[request.param](tmp_path)


def test_rows_are_the_rows_of_the_array_minus_the_center(features):
    assert features.shape == (N, D)
    for which in WHICH:
        expected = np.array([[float(value) for value in row] for row in WHOLE[which].tolist()]).reshape(-1, D)
        np.testing.assert_array_equal(features.rows(which), expected - features.center)
        found = features.centred(CENTER).rows(which)
        assert found.dtype == np.float64
        np.testing.assert_array_equal(found, expected - CENTER)


def test_a_new_center_replaces_the_old_one(features):
    recentred = features.centred(CENTER).centred(2 * CENTER)
    np.testing.assert_array_equal(recentred.center, 2 * CENTER)
    np.testing.assert_array_equal(recentred.rows(slice(None)), WHOLE - 2 * CENTER)


def test_projections_are_products_with_each_factor_in_turn(features):
    rng = np.random.default_rng(1)
    first, second = rng.standard_normal((D, 4)), rng.standard_normal((4, 2))
    centred = features.centred(CENTER)
    for which in WHICH:
        rows = WHOLE[which] - CENTER
        expected_product = np.array(
            [
                [
                    sum(sum(row[a] * first[a, b] for a in range(D)) * second[b, c] for b in range(4))
                    for c in range(second.shape[1])
                ]
                for row in rows
            ]
        ).reshape(-1, 2)
        np.testing.assert_allclose(centred.project(which, first, second), expected_product, rtol=1e-12)
        np.testing.assert_array_equal(centred.project(which), rows)


def test_shifts_are_added_to_the_rows_of_shifted_items_only(features):
    place, shift = np.full(N, -1, dtype=np.int32), np.array([[1.0, -2.0, 0.5], [100.0, 0.0, 3.0], [9.0, 9.0, 9.0]])
    place[[3, 56]] = 1, 0
    own = features.centred(CENTER)
    before = own.rows(slice(None)).copy()
    shifted, expected = ShiftedFeatures(own, place, shift), before.copy()
    expected[3] += shift[1]
    expected[56] += shift[0]
    for which in WHICH:
        np.testing.assert_array_equal(shifted.rows(which), expected[which])
        np.testing.assert_allclose(shifted.project(which, np.diag([1.0, 2.0, 3.0])), expected[which] * [1.0, 2.0, 3.0])
    np.testing.assert_array_equal(own.rows(slice(None)), before)


def test_blocks_hold_all_stored_rows_in_order(features, monkeypatch):
    monkeypatch.setattr(module, "_NUMBERS_PER_BLOCK", 10 * D)
    for own in (features, features.centred(CENTER)):
        found = own.apply_to_blocks(lambda low, block: (low, block))
        assert [low for low, _ in found] == [0, 10, 20, 30, 40, 50]
        assert all(block.dtype == features.dtype for _, block in found)
        np.testing.assert_array_equal(np.vstack([block for _, block in found]), WHOLE)


def test_the_number_of_rows_in_a_block_never_changes():
    """Checkpoints store fingerprints of these blocks."""
    assert [rows_per_block(d) for d in (1, 3, 128, 1 << 22, 1 << 30)] == [4194304, 1398101, 32768, 1, 1]


def test_extremes_of_each_column_are_over_all_blocks(features, monkeypatch):
    monkeypatch.setattr(module, "_NUMBERS_PER_BLOCK", 10 * D)
    high, low = column_extremes(features)
    assert high.dtype == low.dtype == np.float64
    assert high.tolist() == [max(column) for column in WHOLE.T.tolist()]
    assert low.tolist() == [min(column) for column in WHOLE.T.tolist()]


@pytest.mark.parametrize("about", [1, 5, 10, 56, 57, 58, 1000])
def test_some_rows_are_evenly_spaced(features, about):
    found = evenly_spaced_rows(features, about) + features.center
    assert 0.5 * min(about, N) <= len(found) <= about
    rows = [int(np.flatnonzero((row == WHOLE).all(axis=1))[0]) for row in found]
    assert rows[0] == 0
    assert len(set(np.diff(rows).tolist())) <= 1


def test_small_arrays_are_copied_and_large_ones_are_not(monkeypatch):
    assert isinstance(from_array(WHOLE), InMemory)
    assert from_array(WHOLE).dtype == np.float64
    plain = WHOLE.astype(np.float64)
    assert np.shares_memory(from_array(plain).rows(slice(None)), plain)  # float64 needs no copy
    monkeypatch.setattr(module, "MAX_COPIED_BYTES", N * D * 8 - 1)
    large = from_array(WHOLE)
    assert isinstance(large, TooLargeToCopy)
    assert large.array is WHOLE
