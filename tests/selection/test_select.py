import dataclasses
import os
import subprocess
import sys
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

import pairsmith as ps
from pairsmith.files.write import write_whole
from support.oracle import all_pairs, assert_greedy, logdet

X = np.random.default_rng(0).standard_normal((10, 3))
EXPECTED = ps.select(X, 5, ridge=0.1)


def test_the_attributes_of_a_selection():
    selection = ps.select(X, 6, labeled=[1, 2], comparisons=[[3, 4]])
    assert selection.pairs.shape == (6, 2)
    assert selection.pairs.dtype == np.int64
    assert np.all(selection.pairs[:, 0] < selection.pairs[:, 1])
    assert selection.ridge == pytest.approx(1e-5 * np.linalg.norm(X, axis=1).mean())
    assert selection.objective == "d-optimal"
    assert selection.algorithm == "engine"
    assert np.all(np.diff(selection.seconds) >= 0)
    np.testing.assert_allclose(np.diff(selection.logdet), selection.gains[1:])
    before = logdet(X, selection.ridge, [1, 2], [(3, 4)])
    assert selection.logdet[0] - selection.gains[0] == pytest.approx(before)
    with pytest.raises(dataclasses.FrozenInstanceError):
        selection.ridge = 1.0


@pytest.mark.parametrize(
    "X_like",
    [
        X.tolist(),
        np.asfortranarray(X),
        X[:, ::-1][:, ::-1],
        X.astype(object),
        pd.DataFrame(X),
        pd.DataFrame(X).astype("Float64"),
        pl.DataFrame(X),
        np.repeat(X, 2, axis=0)[::2],
    ],
    ids=["list", "Fortran order", "negative strides", "objects", "pandas", "pandas nullable", "polars", "strided"],
)
def test_the_container_of_X_does_not_matter(X_like):
    selection = ps.select(X_like, 5, ridge=0.1)
    np.testing.assert_array_equal(selection.pairs, EXPECTED.pairs)
    np.testing.assert_array_equal(selection.gains, EXPECTED.gains)
    assert selection.ids is None


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64, np.float16, np.float32, bool, ">f8"])
def test_every_numeric_dtype_is_accepted(dtype):
    values = np.random.default_rng(1).integers(0, 2, (9, 3)).astype(dtype)
    selection = ps.select(values, 4, ridge=0.5)
    assert_greedy(selection, values, all_pairs(9), 0.5)


def test_X_is_not_changed():
    before = X.copy()
    ps.select(X, 5, labeled=[0], ridge=1e-3)
    np.testing.assert_array_equal(X, before)


def test_ids_come_from_the_index_or_the_id_column():
    names = [f"item {row}" for row in range(10)]
    indexed = pd.DataFrame(X, index=names)
    column = pd.DataFrame(X, columns=list("abc")).assign(id=names)
    arrow = pa.Table.from_pandas(column)
    for frame in (indexed, column, pl.from_pandas(column), arrow, arrow.to_batches()[0], pa.Table.from_pandas(indexed)):
        table = ps.select(frame, 5, ridge=0.1).to_frame()
        assert table["first"].tolist() == [names[i] for i, _ in EXPECTED.pairs]
        assert table["second"].tolist() == [names[j] for _, j in EXPECTED.pairs]
    reordered = pd.DataFrame(X, index=range(20, 10, -1))
    assert ps.select(reordered, 5, ridge=0.1).to_frame()["first"].tolist() == [20 - i for i, _ in EXPECTED.pairs]
    dated = pd.DataFrame(X, index=pd.date_range("2020-01-01", periods=10))
    assert ps.select(dated, 1).ids[0] == pd.Timestamp("2020-01-01")
    assert EXPECTED.to_frame()["first"].tolist() == EXPECTED.pairs[:, 0].tolist()
    assert list(table.columns) == ["rank", "first", "second", "gain", "logdet"]
    assert table["rank"].tolist() == [1, 2, 3, 4, 5]


def test_labels_that_are_words_need_to_be_ordered_by_better():
    labeled, y = np.arange(10), np.where(X[:, 0] > 0, 1, -1)
    words = np.where(y > 0, "high", "low")
    for objective in ("entropy", "local-d-optimal", "averaged-d-optimal", "fisher"):
        options = {"k": 4, "labeled": labeled, "objective": objective, "ridge": 0.1}
        right = ps.select(X, labels=y, **options)
        np.testing.assert_array_equal(ps.select(X, labels=words, better="high", **options).gains, right.gains)
        with pytest.raises(ValueError, match=r"'high' and 'low' are words.*for example 'high'"):
            ps.select(X, labels=words, **options)
    with pytest.raises(ValueError, match="better='hi' is none of the labels"):
        ps.select(X, labels=words, better="hi", **options)


def test_a_csv_file_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "pairs.csv"
    EXPECTED.to_csv(path)
    pd.testing.assert_frame_equal(pd.read_csv(path), EXPECTED.to_frame())
    before = path.read_bytes()

    def interrupted(part):
        part.write_text("half a f")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_whole(path, interrupted)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["pairs.csv"]


frame = pd.DataFrame(X, columns=["a", "b", "c"])
nan = X.copy()
nan[4, 1] = np.nan
infinite = frame.copy()
infinite.iloc[2, 2] = np.inf


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"X": nan}, r"X: column 1 has 1 missing value \(NaN\), the first at row 4; fill"),
        ({"X": infinite}, "X: column 'c' has 1 infinite value, the first at row 2"),
        ({"X": infinite.set_index(pd.Index(list("qrstuvwxyz")))}, r"column 'c' .*at row 2 \(item 's'\)"),
        ({"X": frame.astype("Float64").mask(frame == frame.iloc[1, 0])}, "column 'a' has 1 missing value .*at row 1;"),
        ({"X": frame.assign(note="x")}, "column 'note' is not numeric"),
        ({"X": pl.DataFrame(frame).with_columns(note=pl.lit("x"))}, "column 'note' is not numeric"),
        ({"X": frame.assign(when=pd.Timestamp("2020-01-01"))}, "column 'when' is not numeric"),
        ({"X": [["1", "2"], ["3", "4"]]}, "X must be numeric"),
        ({"X": np.ones((3, 2), dtype=complex)}, "X must be numeric"),
        ({"X": [[1.0, None], [2.0, 3.0]]}, "column 1 has 1 missing value"),
        ({"X": [[1.0, 2.0], [3.0]]}, "rows differ in length"),
        ({"X": X[:1]}, "X has 1 item; at least two"),
        ({"X": X[:0]}, "X has 0 items; at least two"),
        ({"X": X[:, :0]}, "no feature columns"),
        ({"X": frame[[]]}, "no feature columns"),
        ({"X": X[:, 0]}, "two dimensions.*reshape"),
        ({"X": X[None]}, "two dimensions"),
        ({"X": sparse.csr_matrix(X)}, "toarray"),
        ({"X": frame.set_index(pd.Index(["a"] * 10))}, "more than one item with the id 'a'"),
        ({"X": frame.assign(id=["x", "x ", *range(8)])}, "the ids 'x' and 'x ', which differ only by spaces"),
        ({"X": frame.set_index(pd.Index([*range(8), "\ty", "y"]))}, r"the ids '\\ty' and 'y', which differ only by sp"),
        ({"X": X * 1e160}, "largest entry.*rescale X"),
        ({"X": X * 1e-160}, "largest entry.*rescale X"),
        ({"X": X * 1e150, "ridge": 1e-12}, "out of proportion.*rescale X"),
        ({"X": X * 1e-150, "ridge": 1.0}, "out of proportion.*rescale X"),
        ({"X": X * 0, "ridge": "auto"}, "ridge='auto' is .* 0 here"),
        ({"k": 0}, "k must be at least 1, got 0"),
        ({"k": -3}, "k must be at least 1, got -3"),
        ({"k": 2.5}, "k must be a whole number, got 2.5"),
        ({"k": "5"}, "k must be a whole number, got '5'"),
        ({"k": 46}, "k=46 pairs asked for, but only 45 candidate pairs are left; lower k"),
        ({"k": 45, "comparisons": [[0, 1], [1, 0], [2, 3]]}, r"only 43 .* left \(2 of 45 are compared already\)"),
        ({"k": 11, "max_per_item": 2}, "max_per_item=2 allows at most 10; lower k or raise the cap"),
        ({"k": 2, "candidates": [[0, 1], [0, 2]], "max_per_item": 1}, "max_per_item=1 allows at most 1"),
        ({"max_per_item": 0}, "max_per_item must be at least 1"),
        ({"max_per_item": 1.5}, "max_per_item must be a whole number"),
        ({"ridge": 0}, "ridge must be a positive number, got 0"),
        ({"ridge": -1.0}, "ridge must be a positive number, got -1.0"),
        ({"ridge": np.nan}, "ridge must be a positive number, got nan"),
        ({"ridge": np.inf}, "ridge must be a positive number, got inf"),
        ({"ridge": "big"}, "ridge must be a positive number or 'auto', got 'big'"),
        ({"ridge": None}, "ridge must be a positive number or 'auto', got None"),
        ({"labeled": [10]}, "labeled holds 10, but the rows of X are numbered 0 to 9"),
        ({"labeled": [-1]}, "labeled holds -1"),
        ({"labeled": [0.5]}, "labeled must be whole row numbers"),
        ({"labeled": [True, False]}, "labeled must be row numbers.*flatnonzero"),
        ({"labeled": ["a"]}, "labeled must be whole row numbers"),
        ({"comparisons": [[0, 0]]}, "comparisons: row 0 pairs item 0 with itself"),
        ({"comparisons": [[0, 99]]}, "comparisons holds 99"),
        ({"comparisons": [0, 1]}, "comparisons must have two columns"),
        ({"candidates": [[1, 1]]}, "candidates: row 0 pairs item 1 with itself"),
        ({"candidates": [[-2, 1]]}, "candidates holds -2"),
        ({"candidates": []}, "only 0 candidate pairs"),
        ({"candidates": ps.WithinGroups(range(10))}, "only 0 candidate pairs"),
        ({"candidates": ps.WithinGroups([1, 1])}, "groups names 2 items, but X has 10"),
        ({"algorithm": "fast"}, "algorithm: 'fast' is unknown; choose one of auto, engine, naive, factorization"),
        (
            {"objective": "e-optimal"},
            "objective: 'e-optimal' is unknown; choose one of order, d-optimal, local-d-optimal",
        ),
        ({"objective": "random", "algorithm": "scalar"}, "algorithm='scalar' is for objective='d-optimal'"),
        ({"X": np.ma.array(X, mask=X > 1)}, "masked array"),
        ({"X": pl.DataFrame(X).lazy()}, "lazy frame"),
        ({"labels": np.ma.array([1, -1], mask=[0, 1]), "labeled": [0, 1]}, "labels is a masked array"),
        ({"outcomes": np.ma.array([1], mask=[1]), "comparisons": [[0, 1]]}, "outcomes is a masked array"),
        ({"labeled": np.ma.array([1, 2], mask=[0, 1])}, "labeled is a masked array"),
        ({"comparisons": [np.ma.array([1, 2], mask=[0, 1])]}, "comparisons is a masked array"),
        ({"candidates": np.ma.array([[1, 2]], mask=[[0, 1]])}, "candidates is a masked array"),
        ({"X": [np.ma.array([1.0, 2.0], mask=[0, 1]), [3.0, 4.0]]}, "X is a masked array"),
        ({"X": frame.assign(id=[None, *range(9)])}, "no id at row 0"),
        ({"X": frame.assign(id=[[1]] * 10)}, "id"),
        (
            {"X": pd.concat([frame.assign(id=range(10)), frame["a"].rename("id")], axis=1)},
            "more than one column called",
        ),
        ({"k": True}, "k must be a whole number"),
        ({"ridge": True}, "ridge must be a positive number"),
        ({"ridge": 10**400}, "ridge must be a positive number"),
        ({"labeled": [[0, 1]]}, "labeled must be a list of row numbers"),
        ({"labeled": [[0], [1, 2]]}, "labeled must be a plain array"),
        ({"algorithm": []}, "algorithm: a list is unknown"),
        ({"objective": X}, "objective: a ndarray is unknown"),
        ({"n_jobs": True}, "n_jobs must be"),
        ({"random_state": -1}, "random_state must be"),
        ({"random_state": "x"}, "random_state must be"),
        ({"n_jobs": 0}, "n_jobs must be"),
        ({"pool_size": 0}, "pool_size must be at least 1"),
        ({"pool_size": 5, "algorithm": "scalar"}, "pool_size is for the engine"),
    ],
)
def test_an_invalid_argument_gets_a_one_line_error(arguments, message):
    with pytest.raises(ValueError, match=message) as caught:
        ps.select(**{"X": X, "k": 5, **arguments})
    assert "\n" not in str(caught.value)


def test_a_notebook_shows_the_first_pairs_and_the_certificate():
    names = [f"<script>{row}</script> & more" for row in range(10)]
    selection = ps.select(pd.DataFrame(X, index=names), 12, ridge=0.1, certify=True)
    page = ElementTree.fromstring(selection._repr_html_())
    assert page.find(".//script") is None
    cells = [[cell.text for cell in row] for row in page.iter("tr")]
    assert cells[0] == ["rank", "first", "second", "gain"]
    for number, row in enumerate(cells[1:]):
        i, j = selection.pairs[number]
        assert row[:3] == [str(number + 1), names[i], names[j]]
        assert float(row[3]) == pytest.approx(selection.gains[number], rel=1e-3)
    assert len(cells) == 11
    text = "".join(page.itertext())
    assert "Picked 12 pairs in" in text
    assert f"no 12 pairs add more than {selection.bound:.3f}" in text
    assert f"{selection.optimality:.1%} of that" in text
    assert "The first 10 of 12. gain: the increase of log det of the information" in text
    small = ps.select(X, 1, objective="a-optimal", ridge=0.1)._repr_html_()
    assert "Picked 1 pair in" in small
    assert "gain: the decrease of the trace of A^-1, the total variance of the coefficients" in small
    assert "The first" not in small
    assert "Proved" not in small


def test_a_problem_that_does_not_fit_into_memory_is_refused_before_any_work():
    n = 300_000  # 4.5e10 pairs
    with pytest.raises(ValueError, match="algorithm='scalar' needs 360 GB for 44,999,850,000 pairs"):
        ps.select(np.arange(n, dtype=float)[:, None], 1, ridge=1.0, algorithm="scalar")


def test_numbers_of_other_types_are_accepted():
    objects = pd.DataFrame({"i": [0, 1], "j": [2, 3]}, dtype="Int64")
    selection = ps.select(
        X, np.int64(3), comparisons=objects, n_jobs=np.int64(2), max_per_item=2**70, ridge=np.float32(1)
    )
    assert len(selection) == 3
    wide = pl.DataFrame(X).with_columns(pl.Series("w", [None, *range(9)], dtype=pl.Int128))
    with pytest.raises(ValueError, match=r"column 'w' has 1 missing value .* at row 0"):
        ps.select(wide, 1)


def test_importing_pairsmith_loads_no_slow_library():
    """numba, pandas and scikit-learn take seconds to load; `import pairsmith` must not."""
    code = "import sys, pairsmith; print([m for m in ('numba', 'pandas', 'sklearn', 'scipy') if m in sys.modules])"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed.strip() == "[]"
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = ps.nothing
    assert set(ps.__all__) <= set(dir(ps))


@pytest.mark.parametrize(
    ("options", "ending"),
    [
        ({"ridge": 0.1}, "(d-optimal, engine, ridge 0.1)"),
        ({"ridge": 0.1, "algorithm": "naive"}, "(d-optimal, naive, ridge 0.1)"),
        ({"ridge": 0.1, "objective": "a-optimal"}, "(a-optimal, ridge 0.1)"),
        ({"model": ps.BradleyTerryGP().fit(X)}, "(order)"),
    ],
)
def test_the_first_sentence_repeats_nothing(options, ending):
    assert ps.select(X, 2, **options).sentences()[0].endswith(f" {ending}.")
