"""The kernels of the engine against their definitions; see also test_working_set.py and test_backend.py."""

import numpy as np
import pytest

from pairsmith.engine import kernels

RNG = np.random.default_rng(0)


def test_narrowing_scales_the_chosen_columns_and_returns_their_squared_norms():
    Z, order, columns = RNG.standard_normal((20, 7)), np.array([4, 0, 19], dtype=np.int32), np.array([6, 2, 3])
    out, kept = np.empty((3, 5), dtype=np.float32), np.empty(3)
    kernels.narrow_to_float32(Z, order, columns, 0.5, out, kept)
    chosen = Z[order][:, columns] / 2
    np.testing.assert_array_equal(out[:, :3], chosen.astype(np.float32))
    np.testing.assert_allclose(kept, np.sum(chosen**2, axis=1))


def float32_rows(z, h, *more):
    return np.column_stack([z, *more, -np.ones(len(z)), -h]).astype(np.float32)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("size", [10**6, 1500])
def test_a_screen_returns_each_negative_product_of_its_strips_once(weighted, size):
    """The floor has risen since the rows were written. The smaller output holds only one tile and is emptied often."""
    n, height, tile = 150, 32, 40
    z, h = RNG.standard_normal((n, 3)), 0.3 * RNG.standard_normal(n)
    a, b = (0.1 * RNG.random((2, n))) if weighted else np.zeros((2, n))
    shift, growth = np.float32(0.25), np.float32(1.5 if weighted else 0)
    rows = float32_rows(z, h, a, b) if weighted else float32_rows(z, h)
    strips = np.array([(low, min(low + height, n), low, n - low // 2) for low in range(0, n - 30, height)])
    scratch = kernels.ScreenScratch(
        np.empty(height * rows.shape[1], dtype=np.float32),
        np.empty(height * tile, dtype=np.float32),
        np.empty(size, dtype=np.int32),
        np.empty(size, dtype=np.int32),
        np.empty(size),
    )
    position, bounds = np.array([0, -1]), {}
    side, current = kernels.StripSide(rows, 0), kernels.ScreenFloor(shift, growth, 2.0, 3.0)
    while position[0] < len(strips):
        count = kernels.screen(side, side, strips, position, tile, current, scratch)
        for e in range(count):
            pair = int(scratch.i[e]), int(scratch.j[e])
            assert pair not in bounds
            bounds[pair] = scratch.bound[e]
    g = z @ z.T - h[:, None] - h[None, :] + shift + growth * (np.outer(b, a) + np.outer(a, b))
    inside = np.zeros((n, n), dtype=bool)
    for first, end, second, last in strips:
        inside[first:end, second:last] = True
    i, j = np.nonzero(np.triu(inside, 1) & (g < 0))
    assert np.abs(g).min() > 1e-6  # no sign depends on float32 rounding
    assert sorted(bounds) == sorted(zip(i.tolist(), j.tolist(), strict=True))
    for pair, bound in bounds.items():
        assert bound == pytest.approx(2.0 - 3.0 * g[pair], abs=1e-4)


@pytest.mark.parametrize("weight", [np.zeros(0), RNG.random(40)], ids=["plain", "weighted"])
def test_bounds_above_the_threshold_are_lowered_by_the_missing_updates(weight):
    i, j = (RNG.integers(0, 9, 40).astype(np.int32) for _ in range(2))
    bound, applied = RNG.random(40) * 10, RNG.integers(0, 6, 40).astype(np.int32)
    rho, m = RNG.standard_normal((9, 6)), 5
    pool = kernels.PoolArrays(bound.copy(), applied.copy(), i, j, weight)
    kernels.apply_updates(pool, rho, m, 4, 36, 3.0)
    for e in range(40):
        missing = range(applied[e], m) if 4 <= e < 36 and bound[e] >= 3.0 else []
        decrease = sum((rho[i[e], update] - rho[j[e], update]) ** 2 for update in missing)
        assert pool.bound[e] == pytest.approx(bound[e] - decrease * (weight[e] if len(weight) else 1))
        assert pool.applied[e] == (m if len(missing) else applied[e])
