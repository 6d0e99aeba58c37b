"""Which columns are used and as what; bad values are named with row and column before any work."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from pairsmith.recipe import ingredients
from pairsmith.recipe.ingredients import Wanted, checked, described, row_names, wanted_columns
from pairsmith.recipe.progress import Progress

N = 40
TABLE = pd.DataFrame(
    {
        "review": [f"a text, number {row}" for row in range(N)],
        "title": [f"title {row}" for row in range(N)],
        "price": np.arange(N) / 7,
        "colour": ["red", "blue"] * (N // 2),
        "day": [f"2024-01-{1 + row % 28:02d}" for row in range(N)],
        "nothing": [None] * N,
    }
)
IDS = pd.Index([f"i{row}" for row in range(N)])


def chosen(table=TABLE, text=(), image=(), category=(), columns=None, text_embedding=None, image_embedding=None):
    return wanted_columns(table, row_names(IDS), text, image, category, columns, text_embedding, image_embedding)


def test_columns_are_told_apart_by_their_values():
    wanted, left_out = chosen(text=["review"])
    assert [(one.column, one.kind) for one in wanted] == [
        ("review", "text"), ("price", "number"), ("colour", "category"), ("day", "date")]  # fmt: skip
    assert left_out == {
        "title": "it has many different texts; name it as text to use it",
        "nothing": "it has no values",
    }


def test_named_columns_are_used_as_they_are_named():
    wanted, left_out = chosen(text=["title"], category=["price"], columns=[], text_embedding="made:x")
    assert wanted == [Wanted("title", "text", "made:x"), Wanted("price", "category")]
    assert left_out == {}
    assert [one.column for one in chosen(columns=["colour", "day"])[0]] == ["colour", "day"]


def test_features_are_called_after_their_column():
    one = Wanted("colour", "category")
    assert [one.name_of(part) for part in ("", "=red", "1")] == ["colour", "colour=red", "colour_1"]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"text": "review"}, r"text must be a list of columns, got the text 'review'; write \['review'\]"),
        ({"text": ["revue"]}, "text: there is no column 'revue'; the table has review, title"),
        ({"columns": ["cost"]}, "columns: there is no column 'cost'"),
        ({"text": ["title"], "image": ["title"]}, "column 'title' is named more than once, as text and as image"),
        ({"columns": ["title"]}, "column 'title' cannot be a feature: it has many different texts"),
        ({"columns": ["nothing"]}, "column 'nothing' cannot be a feature: it has no values"),
        ({"columns": []}, "table has no column to make features from"),
        ({"text_embedding": "fastembed"}, "text_embedding is given, but no text column"),
    ],
)
def test_what_cannot_be_chosen(options, told):
    with pytest.raises(ValueError, match=told):
        chosen(**options)


def test_a_column_of_numbers_and_texts_is_refused_with_row_and_column():
    mixed = TABLE.assign(price=[*range(N - 1), "much"])
    with pytest.raises(ValueError, match=r"row 39 \(item 'i39'\), column 'price': 'much' stands among numbers"):
        chosen(mixed)


def test_rows_of_files_are_counted_from_one():
    assert row_names(None)(3) == "row 3"
    assert row_names(IDS, 1)(3) == "row 4 (item 'i3')"


def of(kind, values, folder=".", fitting=True, ids=IDS):
    frame = pd.DataFrame({"x": pd.Series(values, dtype=object)})
    return checked(frame, row_names(ids), Wanted("x", kind), Path(folder), fitting)


def test_texts():
    with pytest.warns(UserWarning, match=r"row 1 \(item 'i1'\), column 'x' is empty, the first of 3; features say"):
        assert of("text", ["a", None, " ", np.nan]) == ["a", "", " ", ""]
    with pytest.warns(UserWarning, match=r"row 0 \(item 'i0'\), column 'x' is empty; features say nothing else"):
        assert of("text", [None], fitting=False) == [""]
    for values, told in (
        ([None, ""], "text column 'x' is empty in all 2 rows; leave it out"),
        (["same", "same"], "holds the same text in all 2 rows"),
        ([1, 2], "column 'x' holds no texts but values such as 1"),
        (["a", 5], r"row 1 \(item 'i1'\), column 'x' has 5 among texts"),
        (["a", ["b"]], r"row 1 \(item 'i1'\), column 'x' has \['b'\] among texts"),
    ):
        with pytest.raises(ValueError, match=told):
            of("text", values)


def test_images(tmp_path):
    Image.new("L", (4, 4)).save(tmp_path / "a.png")
    (tmp_path / "b.png").write_text("no image")
    assert of("image", ["a.png", tmp_path / "a.png"], tmp_path) == [tmp_path / "a.png"] * 2
    for value, told in (
        (None, "names no image file"),
        (7, "has 7, where the path of an image file is needed"),
        ("c.png", "there is no file"),
        ("a\0.png", "which is no path"),
        ("b.png", "is not an image"),
    ):
        with pytest.raises(ValueError, match=rf"row 1, column 'x'.*{told}"):
            of("image", ["a.png", value], tmp_path, ids=None)


def test_columns_that_are_gone():
    with pytest.raises(ValueError, match="the table has no column 'y', which the recipe was made from"):
        checked(TABLE, row_names(IDS), Wanted("y", "text"), Path(), False)


def test_what_is_described(monkeypatch, tmp_path):
    monkeypatch.setattr(ingredients, "embed", lambda name, values, cache, tell: (name, values, cache))
    told = Progress(False)
    assert described(Wanted("x", "text", "made"), ["a"], str, tmp_path, told) == ("made", ["a"], tmp_path)
    assert described(Wanted("x", "text"), ["a"], str, None, told) == ["a"]
    Image.new("L", (4, 4)).save(tmp_path / "a.png")
    assert described(Wanted("x", "image"), [tmp_path / "a.png"], str, None, told).shape[0] == 1
