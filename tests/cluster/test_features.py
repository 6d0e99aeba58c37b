"""Features that workers read or hold."""

import os
import shutil

import dask.array as da
import numpy as np
import pandas as pd
import pytest
import zarr

import pairsmith as ps
from pairsmith.cluster import features
from pairsmith.cluster.cache import CACHE
from support.clusters import X


@pytest.mark.parametrize("kind", ["npy", "float32 npy", "parquet", "zarr", "dask array"])
def test_features_that_do_not_pass_through_the_client(shared, tmp_path, kind):
    data = X.astype(np.float32) if "float32" in kind else X
    expected = ps.select(data, 40, labeled=[3])
    if kind.endswith("npy"):
        given = tmp_path / "X.npy"
        np.save(given, data)
    elif kind == "parquet":
        given = tmp_path / "X.parquet"
        pd.DataFrame(data, columns=[f"f{c}" for c in range(20)]).assign(id=[f"i{r}" for r in range(2500)]).to_parquet(
            given
        )
    elif kind == "zarr":
        given = str(tmp_path / "X.zarr")
        zarr.save_array(given, data)
    else:
        given = da.from_array(data, chunks=(700, 15))
    checkpoint = tmp_path / "run.json"
    ps.select(data, 10, labeled=[3], checkpoint=checkpoint)  # goes on where one machine stopped
    selection = ps.select(given, 40, labeled=[3], client=shared.client, checkpoint=checkpoint)
    np.testing.assert_array_equal(selection.pairs, expected.pairs)
    assert selection.ridge == expected.ridge
    if kind == "parquet":
        assert selection.to_frame()["first"][0] == f"i{expected.pairs[0, 0]}"


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int16])
def test_rows_of_a_file_that_the_cache_does_not_hold(tmp_path, monkeypatch, dtype):
    monkeypatch.setattr(CACHE, "limit", 1000)
    data = (1000 * X).astype(dtype)
    path = str(tmp_path / "X.npy")
    np.save(path, data)
    file, _ = features.describe(path)
    rng = np.random.default_rng(0)
    some = np.concatenate([rng.permutation(2500)[:900], np.arange(100, 180), [7, 7, 8, 2499, 0]])
    for items in (some, some.astype(np.int32), np.arange(2500), np.zeros(0, dtype=int)):
        np.testing.assert_array_equal(file.rows(items), data[items])
    np.testing.assert_array_equal(file.span(30, 90), data[30:90])
    os.truncate(path, os.path.getsize(path) - 1)
    np.testing.assert_array_equal(file.rows([2498]), data[[2498]])
    with pytest.raises(OSError, match=r"X\.npy ends early"):
        file.rows([2499])


@pytest.mark.parametrize("kind", ["npy", "parquet", "zarr"])
def test_a_file_that_is_written_anew_is_read_anew(shared, tmp_path, kind):
    """Workers keep what they have read, and must not take it for what is there now."""
    path = str(tmp_path / f"X.{kind}")
    for data in (X[:600], X[600:1200]):
        if kind == "npy":
            np.save(path, data)
        elif kind == "parquet":
            pd.DataFrame(data, columns=[f"f{c}" for c in range(20)]).to_parquet(path)
        else:
            shutil.rmtree(path, ignore_errors=True)
            zarr.save_array(path, data)
        selection = ps.select(path, 10, ridge=1e-3, client=shared.client)
        np.testing.assert_array_equal(selection.pairs, ps.select(data, 10, ridge=1e-3).pairs)


def test_what_is_wrong_with_a_path(shared, tmp_path):
    def told(content, match):
        path = tmp_path / "X.npy"
        np.save(path, content)
        with pytest.raises(ValueError, match=match):
            ps.select(path, 3, client=shared.client)

    hole = X.copy()
    hole[1700, 3] = np.nan
    told(hole, "X: column 3 has 1 missing value .* at row 1700")
    told(np.asfortranarray(X), "column by column")
    told(X[0], "two dimensions")
    told(X.astype(complex), "numeric")
    told(np.full((5, 2), 2**60), r"X holds a whole number beyond 2\^53 at row 0, column 0")
    np.savez(tmp_path / "X.npz", X)
    (tmp_path / "X.npz").rename(tmp_path / "Z.npy")
    with pytest.raises(ValueError, match=r"Z\.npy is not a \.npy array of numbers"):
        ps.select(tmp_path / "Z.npy", 3, client=shared.client)
    pd.DataFrame({"id": [1, 2, 3], "x": [1, 2, 2**60], "y": [0.5, 1, 2]}).to_parquet(tmp_path / "X.parquet")
    with pytest.raises(ValueError, match=r"column 'x' of .*X\.parquet holds whole numbers beyond 2\^53"):
        ps.select(tmp_path / "X.parquet", 1, client=shared.client)
    pd.DataFrame({"id": ["x", "x ", "y"], "x": [1.0, 2, 3]}).to_parquet(tmp_path / "spaces.parquet")
    with pytest.raises(ValueError, match="the ids 'x' and 'x ', which differ only by spaces"):
        ps.select(tmp_path / "spaces.parquet", 1, client=shared.client)
    with pytest.raises(OSError, match=r"worker tcp://.*No such file"):
        ps.select(tmp_path / "none.npy", 3, client=shared.client)
    with pytest.raises(ValueError, match=r"use \.npy, \.parquet or \.zarr"):
        ps.select(tmp_path / "X.csv", 3, client=shared.client)
    with pytest.raises(ValueError, match="X is a path"):
        ps.select(tmp_path / "X.npy", 3)


@pytest.mark.parametrize("kind", ["transposed", "sliced", "with empty blocks"])
def test_blocks_of_a_dask_array_may_lie_in_memory_as_they_like(shared, kind):
    data = X[:300, ::2] if kind == "sliced" else X[:300]
    given = {
        "transposed": lambda: da.from_array(np.ascontiguousarray(data.T), chunks=-1).T,
        "sliced": lambda: da.from_array(X[:300], chunks=-1)[:, ::2],
        "with empty blocks": lambda: da.from_array(data, chunks=((0, 100, 0, 200, 0), -1)),
    }[kind]()
    selection = ps.select(given, 10, ridge=1e-3, client=shared.client)
    np.testing.assert_array_equal(selection.pairs, ps.select(data, 10, ridge=1e-3).pairs)


def test_what_is_wrong_with_a_dask_array(shared):
    array = da.from_array(X[:300], chunks=(100, -1))
    kept = da.from_array(np.ones(20, dtype=bool), chunks=-1)
    for given, match in (
        (da.ma.masked_greater(array, 1.0), "X is a masked array"),
        (array[:, kept], "unknown shape"),
        (array[:, 0], "two dimensions"),
        (array[:, :0], "no feature columns"),
        (array.map_blocks(lambda block: block[1:], meta=X[:0]), r"shape \(99, 20\), but its chunks say \(100, 20\)"),
    ):
        with pytest.raises(ValueError, match=match):
            ps.select(given, 3, client=shared.client)


def test_blocks_that_a_worker_holds_are_one_table():
    for cuts in ([0], [0, 1000, 1700]):
        held = features.BlocksInMemory(np.array(cuts), np.split(X, cuts[1:]))
        for low, high in ((0, 10), (990, 1010), (1700, 2500), (5, 2499)):
            np.testing.assert_array_equal(held.span(low, high), X[low:high])
        some = np.random.default_rng(0).permutation(2500)[:300]
        np.testing.assert_array_equal(held.rows(some), X[some])


@pytest.mark.parametrize("kind", ["npy", "parquet", "zarr"])
def test_a_file_is_read_by_rows_whatever_its_format(tmp_path, monkeypatch, kind):
    monkeypatch.setattr(CACHE, "folder", str(tmp_path))
    monkeypatch.setattr(features, "_NUMBERS_CONVERTED_AT_ONCE", 5000)
    path = str(tmp_path / f"X.{kind}")
    if kind == "npy":
        np.save(path, X)
    elif kind == "zarr":
        zarr.save_array(path, X)
    else:
        pd.DataFrame(X, columns=[f"f{c}" for c in range(20)]).assign(id=range(2500)).to_parquet(path)
    file, ids = features.describe(path)
    assert (file.shape, np.dtype(file.dtype)) == (X.shape, np.float64)
    assert (ids is not None) == (kind == "parquet")
    np.testing.assert_array_equal(file.rows(np.array([2499, 0, 7])), X[[2499, 0, 7]])
    factors = np.random.default_rng(1).standard_normal((20, 3)), np.diag([1.0, 2.0, 3.0])
    found = features.project(file, np.arange(2500), X[0], factors)
    np.testing.assert_allclose(found, (X - X[0]) @ factors[0] @ factors[1])
    assert features.over_block(file, 5, 9, lambda low, block: (low, block.sum())) == (5, X[5:9].sum())
    assert features.describe(path)[0] == file
    os.utime(path, ns=(1, 1)) if kind != "zarr" else os.utime(next((tmp_path / "X.zarr").rglob("*.json")), ns=(1, 1))
    assert features.describe(path)[0].version != file.version
