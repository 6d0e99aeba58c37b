import json
import os
import struct
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pairsmith.files.tables import Items, as_label, read_answers, read_items, read_labeled, read_labels, read_pairs

BIG = 2**60 + 1


@pytest.fixture
def write(tmp_path):
    """write("a.csv", text) -> the path of a new file."""

    def put(name, text):
        path = tmp_path / name
        path.write_text(text)
        return path

    return put


@pytest.fixture
def items(write):
    return read_items(write("items.csv", "id,x\n1,5\n2,3\n3,1\n4,9\n5,7\n"))


def test_pairs_go_by_the_names_of_their_columns(write, items):
    won = write("won.csv", "labeller,winner,loser\n1,2,3\n1,5,4\n")
    assert read_pairs(won, items).tolist() == [[1, 2], [4, 3]]
    assert read_answers(won, items)[0].tolist() == [[1, 2], [4, 3]]
    both = write("both.csv", "winner,loser,first,second,outcome\n,,3,4,\n4,5,4,5,1\n")
    assert read_pairs(both, items).tolist() == [[2, 3], [3, 4]]  # planned pairs count, answered or not
    assert read_answers(both, items)[0].tolist() == [[3, 4]]
    for name, text in (
        ("swapped.csv", "labeller,left,right\n1,2,3\n"),
        ("two.csv", "a,b\n1,2\n"),
        ("one.csv", "first\n1\n"),
    ):
        path = write(name, text)
        found = ", ".join(text.splitlines()[0].split(","))
        with pytest.raises(ValueError, match=f"columns first and second, or winner and loser; found {found}"):
            read_pairs(path, items)
        with pytest.raises(ValueError, match=f"first, second and outcome, or winner and loser; found {found}"):
            read_answers(path, items)


@pytest.mark.parametrize(
    "text",
    [
        "id,label\n2,1\n4,-1\n5,\n",
        "label,id\n1,2\n-1,4\n,5\n",
        "label,item\n1,2\n-1,4\n,5\n",
        "item,grade\n2,1\n4,-1\n5,\n",
        "when,id,label,who\nx,2,1,y\nx,4,-1,y\nx,5,,y\n",
    ],
)
def test_labels_go_by_the_names_of_their_columns(write, items, text):
    path = write("labels.csv", text)
    assert read_labeled(path, items).tolist() == [1, 3]
    rows, values = read_labels(path, items)
    assert (rows.tolist(), values.tolist()) == ([1, 3], [1, -1])


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("id,who,grade\n2,1,1\n", "call them id and label; found id, who, grade"),
        ("who,item,label\n1,2,1\n", "call them id and label; found who, item, label"),
        ("item,who,grade\n1,2,1\n", "call them id and label; found item, who, grade"),
        ("label\n1\n", "call them id and label; found label"),
        ("winner,loser\n1,2\n", "holds pairs .columns winner and loser."),
        ("first,second,outcome\n1,2,1\n", "holds pairs .columns first and second."),
    ],
)
def test_labels_in_columns_that_nobody_knows_are_refused(write, items, text, told):
    path = write("labels.csv", text)
    for read in (read_labeled, read_labels):
        with pytest.raises(ValueError, match=told):
            read(path, items)


def lines(*records):
    return "".join(json.dumps(record) + "\n" for record in records)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([True, False, None], [True, False]),
        (["high", " low", None], ["high", "low"]),
        (["high", "low", ""], ["high", "low"]),
        ([1, 0, None], [1, 0]),
        ([1, -1.0, None], [1, -1]),
    ],
)
def test_labels_of_any_kind_in_json_lines(write, items, given, expected):
    path = write("labels.jsonl", lines(*({"id": str(row), "label": label} for row, label in enumerate(given, 1))))
    rows, values = read_labels(path, items)
    assert (rows.tolist(), values.tolist()) == ([0, 1], expected)
    assert values.dtype.kind != "O"
    assert read_labeled(path, items).tolist() == [0, 1]


@pytest.mark.parametrize("given", [[True, "no"], [1, "1"], [[1], [2]], [{"a": 1}, None], [None, 1, "x"]])
def test_labels_of_mixed_kinds_are_refused(write, items, given):
    path = write("labels.jsonl", lines(*({"id": row, "label": label} for row, label in enumerate(given, 1))))
    with pytest.raises(ValueError, match="labels are two words, two numbers, or true and false"):
        read_labels(path, items)


def test_what_is_typed_becomes_a_label():
    assert as_label("2", np.array([1, 2])) == 2
    assert as_label("TRUE", np.array([True, False])) is True
    assert as_label(" high ", np.array(["high", "low"])) == "high"
    assert as_label("high", np.array([1, 2])) == "high"
    assert as_label("yes", np.array([True, False])) == "yes"


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
    ):
        with pytest.raises(ValueError, match=told):
            read_items(write("broken.jsonl", '{"id": "a", "x": 1}\n' + text))


def test_ids_that_differ_only_by_spaces_are_refused_in_items(write):
    for name, text in (
        ("items.csv", "id,x\nx,1\ny,2\nx ,3\n"),
        ("items.jsonl", lines({"id": "x", "f": 1}, {"id": "x ", "f": 2})),
    ):
        with pytest.raises(ValueError, match=r"the ids 'x' and 'x ' .column 'id'. differ only by spaces; rename one"):
            read_items(write(name, text))


def test_spaces_around_ids_do_not_count_in_any_file(write):
    items = read_items(write("items.csv", "id,f\n x,1\ny ,2\nz,3\n"))
    assert items.features.index.tolist() == [" x", "y ", "z"]
    for text in ("x,y,x", " x , y, x ", "x ,y ,x"):
        for head, expected in (("first,second,winner", 1), ("second,first,winner", -1)):
            pairs, outcomes, _ = read_answers(write("answers.csv", f"{head}\n{text}\n"), items)
            assert (sorted(pairs[0].tolist()), outcomes.tolist()) == ([0, 1], [expected])
        won = write("won.csv", f"winner,loser\n{text.rpartition(',')[0]}\n")
        assert read_pairs(won, items).tolist() == [[0, 1]]
        assert read_answers(won, items)[0].tolist() == [[0, 1]]
    tie = write("tie.csv", "first,second,winner\nx,z, Tie \n")
    assert read_answers(tie, items)[1].tolist() == [0]
    with pytest.raises(ValueError, match="row 1 names the winner 'z ', which is neither"):
        read_answers(write("third.csv", "first,second,winner\nx,y,z \n"), items)
    assert read_labels(write("labels.csv", "id,label\nx ,1\n z,-1\n"), items)[0].tolist() == [0, 2]
    assert read_labeled(write("labeled.csv", "id\nx \n z\n"), items).tolist() == [0, 2]
    # A campaign made before such items were refused keeps them apart.
    old = Items(Path("old.db"), pd.DataFrame({"f": [1.0, 2.0]}, index=["x", "x "]))
    assert old.find(["x ", "x", " x"]).tolist() == [1, 0, -1]


def test_semicolons_separate_where_there_are_no_commas(write):
    semicolons = read_items(write("semicolons.csv", "id;x;y\np;1;2.5\nq;3;4\n"))
    assert semicolons.features.to_numpy().tolist() == [[1, 2.5], [3, 4]]
    assert semicolons.features.columns.tolist() == ["x", "y"]
    with pytest.raises(ValueError, match="item 'q' has '2,5' in column 'x'; write decimals with a point"):
        read_items(write("decimals.csv", "id;x\np;1\nq;2,5\n"))
    commas = read_items(write("commas.csv", "id,x;y\np;q,1\nr;s,2\n"))
    assert commas.features.index.tolist() == ["p;q", "r;s"]


def test_an_id_column_is_no_feature_even_where_another_names_the_items(write):
    path = write("both.csv", "key,id,x\np,10,1\nq,40,2\n")
    assert read_items(path, "key").features.columns.tolist() == ["x"]
    with pytest.raises(ValueError, match="column 'id' matches --features"):
        read_items(path, "key", ["i*"])


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


def test_rows_are_counted_as_the_file_has_them(write, items):
    for text, told in (
        ("first,second,outcome\n1,2,\n1,3,\n1,2,maybe\n", "row 3 has the outcome 'maybe'"),
        ("first,second,outcome\n1,2,1\n1,3,\n2,2,1\n", "row 3 pairs the item '2' with itself"),
        ("first,second,outcome\n1,2,\n1,nobody,1\n", "row 2 names the item 'nobody'"),
        ("first,second,outcome\n1,2,\n1,,1\n", "row 2 has nothing in column 'second'"),
        ("first,second,winner\n1,2,\n1,2,3\n", "row 2 names the winner '3'"),
        ("first,second,outcome,count\n1,2,,1\n1,2,1,-1\n", "row 2 has no proper count"),
    ):
        with pytest.raises(ValueError, match=told):
            read_answers(write("answers.csv", text), items)


def test_columns_that_contradict_each_other_are_refused(write, items):
    for text, told in (
        ("first,second,outcome,winner,loser\n1,2,1,1,2\n2,1,1,1,2\n", "row 2 has the winner '1', which contradicts"),
        ("first,second,winner,loser\n1,2,1,3\n", "row 1 has the loser '3', which contradicts its first and second"),
        ("first,second,outcome,loser\n1,2,-1,2\n", "row 1 has the loser '2'"),
    ):
        with pytest.raises(ValueError, match=told):
            read_answers(write("answers.csv", text), items)
    agreed = write("answers.csv", "first,second,outcome,winner,loser\n1,2,-1,2,1\n1,2,0,tie,\n")
    assert read_answers(agreed, items)[1].tolist() == [-1, 0]


def test_what_comes_through_a_pipe_is_read_as_from_a_file(tmp_path):
    """Large numbers are looked at twice, and formulas have their apostrophe taken away."""
    table = tmp_path / "items.csv"
    table.write_text("id,x\n'=x,20000000000000000.5\nz,1.5\n")
    answers = tmp_path / "answers.csv"
    answers.write_text("first,second,winner\n'=x,z,'=x\n")

    def piped(path):
        """The other end of a pipe that this file goes through."""
        reading, writing = os.pipe()
        os.write(writing, path.read_bytes())
        os.close(writing)
        return reading

    ends = [piped(table), piped(answers)]
    try:
        items = read_items(Path(f"/dev/fd/{ends[0]}"))
        assert items.features.index.tolist() == ["=x", "z"]
        assert read_answers(Path(f"/dev/fd/{ends[1]}"), items)[1].tolist() == [1.0]
    finally:
        for end in ends:
            os.close(end)
