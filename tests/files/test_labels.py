import json

import numpy as np
import pytest

from pairsmith.files.items import read_items
from pairsmith.files.labels import as_label, read_labeled, read_labels


def lines(*records):
    return "".join(json.dumps(record) + "\n" for record in records)


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


def test_spaces_around_ids_do_not_count(write):
    items = read_items(write("items.csv", "id,f\n x,1\ny ,2\nz,3\n"))
    assert read_labels(write("labels.csv", "id,label\nx ,1\n z,-1\n"), items)[0].tolist() == [0, 2]
    assert read_labeled(write("labeled.csv", "id\nx \n z\n"), items).tolist() == [0, 2]


def test_three_labels_are_too_many_and_none_too_few(write, items):
    with pytest.raises(ValueError, match="column 'label' holds 3 different labels; two are needed"):
        read_labels(write("three.csv", "id,label\n1,a\n2,b\n3,c\n"), items)
    with pytest.raises(ValueError, match="a column of ids and one of labels are needed, found only 'id'"):
        read_labels(write("none.csv", "id\n1\n"), items)
