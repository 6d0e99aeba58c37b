import gzip
import json
import struct

import numpy as np
import pandas as pd
import pytest

from pairsmith.files.formats import READERS, read_npy, read_table
from pairsmith.files.items import read_items


def lines(*records):
    return "".join(json.dumps(record) + "\n" for record in records)


def test_json_lines_keep_numbers_and_texts_as_they_are_written(write):
    digits = [0.1 + 0.2, 1 / 3, 1e-310, 123456789.123456789]
    path = write("items.jsonl", "\n".join(f'{{"id": "00{row}", "x_at": {x!r}}}\n' for row, x in enumerate(digits)))
    found = read_items(path).features
    assert found.index.tolist() == ["000", "001", "002", "003"]
    assert found["x_at"].tolist() == digits
    for text, told in (
        ("[1]", "line 2 is no JSON object"),
        ("{" * 100_000, "line 2 is no JSON object"),
        ("\n{", "line 3"),
        ('{"id": "b", "x": 1, "x": 2}', "line 2: the key 'x' is there twice; keep one"),
    ):
        with pytest.raises(ValueError, match=told):
            read_items(write("broken.jsonl", '{"id": "a", "x": 1}\n' + text))


def test_semicolons_separate_where_there_are_no_commas(write):
    semicolons = read_items(write("semicolons.csv", "id;x;y\np;1;2.5\nq;3;4\n"))
    assert semicolons.features.to_numpy().tolist() == [[1, 2.5], [3, 4]]
    assert semicolons.features.columns.tolist() == ["x", "y"]
    with pytest.raises(ValueError, match="item 'q' has '2,5' in column 'x'; write decimals with a point"):
        read_items(write("decimals.csv", "id;x\np;1\nq;2,5\n"))
    commas = read_items(write("commas.csv", "id,x;y\np;q,1\nr;s,2\n"))
    assert commas.features.index.tolist() == ["p;q", "r;s"]


@pytest.mark.parametrize(
    "shape", ["(1000000000000000, 3)", f"({10**30}, 3)", "(-4, 2)", "(4611686018427387904, 4)", "('a', 2)", "(True, 2)"]
)
def test_npy_files_that_promise_what_they_do_not_hold(tmp_path, shape):
    head = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}".ljust(117).encode() + b"\n"
    path = tmp_path / "items.npy"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + bytes(64))
    with pytest.raises(ValueError, match=r"^[^\n]*items.npy is not a .npy array of numbers \([^\n]*\)$"):
        read_items(path)


def test_an_archive_is_no_array_by_whatever_name(tmp_path):
    np.savez(tmp_path / "items.npz", np.eye(3))
    (tmp_path / "items.npz").rename(tmp_path / "items.npy")
    with pytest.raises(ValueError, match=r"is an archive of arrays .* save one array with numpy.save"):
        read_items(tmp_path / "items.npy")


TABLE = pd.DataFrame({"id": ["007", "b"], "x": [0.1 + 0.2, -1e300], "n": [2**53, -3], "text": ["NA", "é, '\"x"]})


def write_as(kind, path):
    """The table in this format, by other means than ours."""
    if kind in (".csv", ".tsv"):
        TABLE.to_csv(path, index=False, sep="," if kind == ".csv" else "\t")
    elif kind == ".parquet":
        TABLE.to_parquet(path)
    else:
        path.write_text(lines(*TABLE.to_dict("records")), encoding="utf-8")


@pytest.mark.parametrize("kind", READERS)
def test_every_format_gives_the_same_table(tmp_path, kind):
    path, packed = tmp_path / f"table{kind}", tmp_path / f"table{kind}.gz"
    write_as(kind, path)
    packed.write_bytes(gzip.compress(path.read_bytes()))
    for given in [path] if kind == ".parquet" else [path, packed]:  # Parquet is compressed within
        found = read_table(given, lambda columns: [name for name in columns if name in ("id", "text")])
        assert {name: found[name].tolist() for name in found} == {name: TABLE[name].tolist() for name in TABLE}


def test_the_index_of_a_parquet_file_names_its_items(tmp_path):
    path = tmp_path / "items.parquet"
    frame = pd.DataFrame({"x": [1.0, 2.0]}, index=["a", "b"])
    for written, name in ((frame, "id"), (frame.rename_axis("key"), "key")):
        written.to_parquet(path)
        assert read_table(path, lambda columns: [])[name].tolist() == ["a", "b"]


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("a.xlsx", b"", "cannot read .xlsx; use .csv, .tsv, .jsonl, .ndjson, .parquet, or .npy for features"),
        ("a", b"", "cannot read a file without an ending"),
        ("a.csv", b"", "is empty"),
        ("a.csv", b"id,x\n", "has no rows"),
        ("a.csv", b"id,x,x\n1,2,3\n", "has two columns called 'x'; rename one"),
        ("a.csv", b"id,x\n1,2,3\n", "a.csv: "),
        ("a.csv", b"id,x\n\xff,1\n", "is not UTF-8 text"),
        ("a.csv.gz", b"\x1f\x8b\x08\x00\x00\x00", "is damaged or cut short"),
        ("a.parquet", b"PAR1", "a.parquet: "),
    ],
)
def test_files_that_are_no_table_are_refused_in_one_line(tmp_path, name, content, told):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=told) as caught:
        read_table(tmp_path / name, lambda columns: [])
    assert "\n" not in str(caught.value)


def test_no_file_and_a_folder(tmp_path):
    for read in (lambda path: read_table(path, lambda columns: []), read_npy):
        with pytest.raises(ValueError, match="there is no such file"):
            read(tmp_path / "missing.csv")
    with pytest.raises(ValueError, match="is a folder, not a file"):
        read_table(tmp_path, lambda columns: [])


def test_npy_files_are_mapped_and_named_by_row(tmp_path):
    np.save(tmp_path / "items.npy", np.arange(6, dtype=np.int16).reshape(3, 2))
    found = read_npy(tmp_path / "items.npy")
    assert found.index.tolist() == ["0", "1", "2"]
    assert found.to_numpy().tolist() == [[0, 1], [2, 3], [4, 5]]
    np.save(tmp_path / "items.npy", np.arange(6))
    with pytest.raises(ValueError, match=r"holds int64 values of shape \(6,\)"):
        read_npy(tmp_path / "items.npy")


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_whole_numbers_that_name_things_stay_whole_where_some_are_missing(tmp_path, kind):
    path = tmp_path / f"answers.{kind}"
    if kind == "jsonl":
        path.write_text(lines({"first": 2**60 + 1, "rater": 7}, {"first": 5}))
    else:  # as other libraries write it, without the types of pandas
        pa = pytest.importorskip("pyarrow")
        columns = {"first": pa.array([2**60 + 1, 5]), "rater": pa.array([7, None])}
        pytest.importorskip("pyarrow.parquet").write_table(pa.table(columns), path)
    table = read_table(path, lambda names: names)
    assert table["first"].tolist() == [2**60 + 1, 5]
    assert str(table["rater"][0]) == "7"
    assert pd.isna(table["rater"][1])


def test_json_lines_without_any_column_are_refused(write):
    with pytest.raises(ValueError, match="has no rows"):
        read_items(write("items.jsonl", "{}\n{}\n"))


@pytest.mark.parametrize(("row_names", "quote"), [("012", ""), ("123", '"')], ids=["pandas", "R"])
def test_row_names_without_a_header_are_ids_unless_there_are_others(write, row_names, quote):
    first = 2 * quote
    rows = [f"{quote}{row}{quote},{name},2" for row, name in zip(row_names, "abc", strict=True)]
    path = write("items.csv", "\n".join([f"{first},id,x", *rows]))
    found = read_items(path).features
    assert (list(found.index), list(found.columns)) == (["a", "b", "c"], ["x"])
    path = write("named.csv", f"{first},x,y\na,1,2\nb,3,4\n")
    found = read_items(path).features
    assert (list(found.index), found.to_numpy().tolist()) == (["a", "b"], [[1, 2], [3, 4]])
    for end in ("", ",7"):
        with pytest.raises(ValueError, match="column 3 has no name; name it, or leave it out"):
            read_items(write("trailing.csv", f"id,x,{first}{end}\na,1,2{end}\n"))
    with pytest.raises(ValueError, match=r"long\.csv"):
        read_items(write("long.csv", f"{first},id,x\n0,a,1\n1,b,2,3\n"))
