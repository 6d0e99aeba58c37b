import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import pairsmith as ps
from pairsmith.data.user_features import as_features, split_ids

INEXACT = 2**60 + 1
IDS = ["u", "v", "w"]


@pytest.mark.parametrize(
    ("X", "place"),
    [
        (np.array([[1], [INEXACT], [3]]), "row 1, column 0"),
        (np.array([[1], [2], [2**63]], dtype=np.uint64), "row 2, column 0"),
        (np.array([[1, 2], [3, -INEXACT]], dtype=object), "row 1, column 1"),
        ([[1, 2], [3, 4], [INEXACT, 5]], "row 2, column 0"),
        ([(1, 2), (3, -(2**53) - 1)], "row 1, column 1"),
        ([[1, 2], [3, 10**400]], "row 1, column 1"),
        ([[0.5, 2], [3, INEXACT]], "row 1, column 1"),
        ([[1, 2.5], [2**63, -1]], "row 1, column 0"),
        (pd.DataFrame({"a": [1.0, 2, 3], "b": [1, 2, INEXACT]}), "row 2, column 'b'"),
        (pd.DataFrame({"id": IDS, "b": [1, -INEXACT, 3]}), r"row 1 \(item 'v'\), column 'b'"),
        (pd.DataFrame({"b": [1, -INEXACT, 3]}, index=IDS), r"row 1 \(item 'v'\), column 'b'"),
        (pd.DataFrame({"id": [7, 8, 9], "b": [1, -INEXACT, 3]}), r"row 1 \(item 8\), column 'b'"),
        (pd.DataFrame({"b": [None, INEXACT, 3]}, dtype="Int64"), "row 1, column 'b'"),
        (pd.DataFrame({"b": [1, INEXACT, 3]}, dtype=object), "row 1, column 'b'"),
        (pd.DataFrame({"b": [1, INEXACT, 3]}, dtype="int64[pyarrow]"), "row 1, column 'b'"),
        (pl.DataFrame({"id": IDS, "b": [1, INEXACT, 3]}), r"row 1 \(item 'v'\), column 'b'"),
        (pl.DataFrame({"b": [1, None, 2**100]}, schema={"b": pl.Int128}), "row 2, column 'b'"),
        (pa.table({"id": IDS, "b": [1, INEXACT, None]}), r"row 1 \(item 'v'\), column 'b'"),
    ],
)
def test_whole_numbers_that_float64_cannot_hold_are_refused(X, place):
    with pytest.raises(ValueError, match=f"^X holds a whole number beyond 2\\^53 at {place}, which .*offset first$"):
        as_features(X)


@pytest.mark.parametrize(
    "X", [[[2**53, 1], [0, 2]], [[2.0**70, 1], [0, 2]], np.eye(2, dtype=np.uint64), pd.DataFrame({"a": [2.0**70, 1]})]
)
def test_whole_numbers_that_float64_can_hold_are_accepted(X):
    np.testing.assert_array_equal(as_features(X)[0].rows(slice(None)), np.asarray(X, dtype=np.float64))


def test_ids_come_from_a_column_or_an_index():
    frame = pd.DataFrame({"a": [1.0, 2, 4], "id": IDS})
    for table in (frame, pl.from_pandas(frame), pa.Table.from_pandas(frame), frame.set_index("id")):
        X, ids = split_ids(table)
        assert list(X.columns) == ["a"]
        assert ids.to_list() == IDS
    for table in (frame[["a"]], pl.from_pandas(frame[["a"]]), np.eye(2), [[1, 2]], None):
        assert split_ids(table)[1] is None
    numbered = pa.table({"id": [5, 3, 9], "a": [1.0, 2, 4]})
    pd.testing.assert_frame_equal(ps.select(numbered, 2).to_frame(), ps.select(numbered.to_pandas(), 2).to_frame())
    assert set(ps.select(numbered, 1).to_frame().loc[0, ["first", "second"]]) == {5, 9}


WITH_MISSING = [[1.0, np.nan, 0.0], [np.nan, 2.0, 0.5], [3.0, np.nan, 1.0], [4.0, np.nan, 2.5]]


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (
            np.array(WITH_MISSING),
            r"column 1 has 3 missing values \(NaN\), the first at row 0, and 1 more column with such values; fill",
        ),
        (pd.DataFrame(WITH_MISSING, columns=list("abc")), "column 'b' has 3 missing values .* at row 0, and 1 more"),
        (pd.DataFrame(WITH_MISSING, columns=list("abc"), index=list("pqrs")), r"'b' has 3 .* row 0 \(item 'p'\)"),
        (pd.DataFrame(WITH_MISSING, columns=list("abc")).convert_dtypes(), "column 'b' has 3 missing values"),
        (pl.DataFrame({"a": [1.0, 2, 3], "b": [1, None, None]}), "column 'b' has 2 missing values .* row 1;"),
        (pa.table({"a": [1.0, 2, 3], "b": [1, None, 2]}), "column 'b' has 1 missing value .* row 1;"),
        (np.array([[1.0, 2.0], [np.inf, 1.0], [-np.inf, 3.0]]), "column 0 has 2 infinite values, the first at row 1;"),
    ],
)
def test_missing_numbers_are_refused_with_their_column_and_count(X, message):
    good = np.arange(float(X.shape[0] * X.shape[1])).reshape(X.shape) ** 1.5
    answers = {"comparisons": [(0, 1)], "outcomes": [1]}
    for estimator in (ps.BradleyTerry(), ps.BradleyTerryCV(), ps.BradleyTerryGP()):
        with pytest.raises(ValueError, match=message):
            estimator.fit(X, **answers)
    for fitted in (ps.BradleyTerry().fit(good, **answers), ps.BradleyTerryGP().fit(good, **answers)):
        with pytest.raises(ValueError, match=message):
            fitted.rank(X)
    with pytest.raises(ValueError, match=message):
        ps.select(X, 1)


def test_lazy_frames_are_refused():
    class DaskFrame:
        def to_dask_array(self, lengths):
            raise NotImplementedError

    with pytest.raises(ValueError, match=r"pass X\.collect\(\)"):
        as_features(pl.LazyFrame({"x": [1.0, 2.0]}))
    with pytest.raises(ValueError, match=r"pass X\.compute\(\), or X\.to_dask_array\(lengths=True\)"):
        as_features(DaskFrame())
