import json
from pathlib import Path

import pandas as pd
import pytest

from pairsmith.files.items import Items, id_column_of, read_items

BIG = 2**60 + 1


def lines(*records):
    return "".join(json.dumps(record) + "\n" for record in records)


@pytest.mark.parametrize("value", [BIG, -BIG, 2**53 + 1, 2**64, 2**100, 10**400])
@pytest.mark.parametrize("beside", [1, 0.5, -3])
@pytest.mark.parametrize("ending", [".csv", ".tsv", ".jsonl"])
def test_whole_numbers_that_float64_cannot_hold_are_refused(tmp_path, ending, beside, value):
    path = tmp_path / f"items{ending}"
    if ending == ".jsonl":
        path.write_text(lines({"id": "a", "x": beside, "y": 1}, {"id": "b", "x": value, "y": 1}))
    else:
        between = "," if ending == ".csv" else "\t"
        path.write_text("\n".join(between.join(row) for row in (("id", "x", "y"), ("a", str(beside), "1"),
                                                                ("b", str(value), "1"))))  # fmt: skip
    with pytest.raises(ValueError, match=r"item 'b' has a whole number beyond 2\^53 in column 'x'"):
        read_items(path)


@pytest.mark.parametrize("dtype", ["int64", "uint64", "Int64"])
def test_whole_numbers_that_float64_cannot_hold_are_refused_in_parquet(tmp_path, dtype):
    pd.DataFrame({"id": ["a", "b"], "x": pd.array([1, BIG], dtype=dtype)}).to_parquet(tmp_path / "items.parquet")
    with pytest.raises(ValueError, match=r"item 'b' has a whole number beyond 2\^53 in column 'x'"):
        read_items(tmp_path / "items.parquet")


def test_large_numbers_that_are_exact_are_not(write):
    for path in (
        write("exact.csv", f"id,x,y\na,{2**53},1e300\nb,0.5,2\n"),
        write("exact.jsonl", lines({"id": "a", "x": 2**53, "y": 1e300}, {"id": "b", "x": 0.5, "y": 2})),
    ):
        assert read_items(path).features.to_numpy().tolist() == [[2**53, 1e300], [0.5, 2]]


def test_ids_that_differ_only_by_spaces_are_refused_in_items(write):
    for name, text in (
        ("items.csv", "id,x\nx,1\ny,2\nx ,3\n"),
        ("items.jsonl", lines({"id": "x", "f": 1}, {"id": "x ", "f": 2})),
    ):
        with pytest.raises(ValueError, match=r"the ids 'x' and 'x ' .column 'id'. differ only by spaces; rename one"):
            read_items(write(name, text))


def test_an_id_column_is_no_feature_even_where_another_names_the_items(write):
    path = write("both.csv", "key,id,x\np,10,1\nq,40,2\n")
    assert read_items(path, "key").features.columns.tolist() == ["x"]
    with pytest.raises(ValueError, match="column 'id' matches --features"):
        read_items(path, "key", ["i*"])


def test_ids_are_kept_as_written_and_found_without_their_spaces(write):
    items = read_items(write("items.csv", "id,f\n x,1\ny ,2\nz,3\n"))
    assert items.features.index.tolist() == [" x", "y ", "z"]
    assert items.find(["x", " y", "z ", "w"]).tolist() == [0, 1, 2, -1]
    # A campaign made before such items were refused keeps them apart.
    old = Items(Path("old.db"), pd.DataFrame({"f": [1.0, 2.0]}, index=["x", "x "]))
    assert old.find(["x ", "x", " x"]).tolist() == [1, 0, -1]


def test_the_id_column_is_the_one_asked_for_or_id_or_the_first():
    assert id_column_of(["a", "id", "b"], "b") == "b"
    assert id_column_of(["a", "id", "b"]) == "id"
    assert id_column_of(["a", "b"]) == "a"


def test_features_by_pattern_and_groups_by_name(write):
    path = write("items.csv", "id,f_a,prompt,f_b,note\n1,1.5,p,2,x\n2,3,q,4,y\n3,5,p,6,z\n")
    found = read_items(path, features=["f_*"], group_by="prompt")
    assert found.features.columns.tolist() == ["f_a", "f_b"]
    assert found.features.to_numpy().tolist() == [[1.5, 2], [3, 4], [5, 6]]
    assert found.groups.tolist() == ["p", "q", "p"]
    for options, told in (
        (
            {},
            "item '1' has the value 'p' in column 'prompt', where .* is needed.*name the feature columns",
        ),
        ({"features": ["g_*"]}, "no column matches --features 'g_\\*'; it has id, f_a, prompt, f_b, note"),
        ({"features": ["f_*"], "group_by": "f_a"}, "column 'f_a' is of --group-by and matches --features too"),
        ({"id_column": "key"}, "there is no column 'key'"),
    ):
        with pytest.raises(ValueError, match=told):
            read_items(path, **options)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("id,x\na,1\na,2\n", "the id 'a' stands in more than one row"),
        ("id,x\na,1\n,2\n", "row 2 has nothing in column 'id'"),
        ("id\na\nb\n", "there are no feature columns besides 'id'"),
        ("id,x\na,\nb,2\n", "column 'x' has 1 missing value, the first of item 'a'"),
        ("id,x\na,1\nb,inf\n", "item 'b' has the value inf in column 'x'"),
        ("x,y\n0.5,1\n1,2\n", "the first, 'x', holds fractions, not ids; name the id column"),
    ],
)
def test_tables_that_are_no_items_are_refused(write, text, told):
    with pytest.raises(ValueError, match=told):
        read_items(write("items.csv", text))


@pytest.mark.parametrize("text", ["id,x\na,{0}\n", "id,x\n{0},1\n{0},2\n", "id,x\n{0},\n", "id,x\n{0},inf\n"])
def test_errors_cut_long_cells(write, text):
    path = write("items.csv", text.format("an essay " * 1000))
    with pytest.raises(ValueError, match=r"an essay .*….*") as caught:
        read_items(path)
    assert len(str(caught.value).replace(str(path), "")) < 200
