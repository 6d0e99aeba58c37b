"""Recipes: fitted once, applied to new rows with the same result, kept as JSON."""

import inspect
import json
import pickletools

import numpy as np
import pandas as pd
import pytest
from PIL import Image

import pairsmith as ps
from pairsmith.recipe.embeddings import EMBEDDINGS
from pairsmith.recipe.recipe import Options

WORDS = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "猫", "犬", "😀"]


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(0)
    n = 50
    for row in range(n):
        Image.fromarray(rng.integers(0, 255, (10, 12, 3), dtype=np.uint8)).save(tmp_path / f"{row}.png")
    return pd.DataFrame(
        {
            "id": [f"i{row}" for row in range(n)],
            "review": [" ".join(rng.choice(WORDS, 6)) for _ in range(n)],
            "photo": [f"{row}.png" for row in range(n)],
            "price": 1e6 + rng.random(n),
            "colour": rng.choice(["red", "blue"], n),
            "day": [f"2024-01-{1 + row % 28:02d}" for row in range(n)],
            "same": 1,
        }
    )


OPTIONS = {"text": ["review"], "image": ["photo"]}


def test_features_have_ids_names_and_one_scale(table, tmp_path):
    X = ps.features(table, **OPTIONS, folder=tmp_path)
    assert X.index.tolist() == table.id.tolist()
    assert [name for name in X.columns if "_" not in name] == ["price", "colour=blue", "colour=red", "day", "same"]
    assert sum(name.startswith("review_") for name in X.columns) == 2 + 7  # lengths, and the root of 50
    varies = X.columns != "same"
    np.testing.assert_allclose(X.to_numpy()[:, varies].mean(axis=0), 0, atol=1e-9)
    spread = X.to_numpy()[:, varies].std(axis=0)
    np.testing.assert_allclose(spread[spread > 0], 1)
    assert not X["same"].any()
    np.testing.assert_allclose(X["price"], (table.price - table.price.mean()).to_numpy() / table.price.std(ddof=0))
    assert ps.features(table, columns=["price"]).columns.tolist() == ["price"]
    assert ps.features(table, text=["review"], columns=[], dimensions=3).shape == (50, 5)


def test_new_rows_get_the_same_features_from_a_file_too(table, tmp_path):
    recipe, X = ps.Recipe.fit_apply(table, **OPTIONS, folder=tmp_path)
    recipe.save(tmp_path / "recipe.json")
    again = ps.Recipe.load(tmp_path / "recipe.json")
    for one in (recipe, again):
        np.testing.assert_allclose(one.apply(table[10:13], folder=tmp_path), X[10:13], atol=1e-12, rtol=0)
    assert again.names == recipe.names == X.columns.tolist()
    fitted = ps.Recipe.fit(table, **OPTIONS, folder=tmp_path)
    np.testing.assert_array_equal(fitted.apply(table, folder=tmp_path), recipe.apply(table, folder=tmp_path))
    text = (tmp_path / "recipe.json").read_text()
    assert json.loads(text)["pairsmith recipe"] == 1
    with pytest.raises(ValueError, match=r"."):
        list(pickletools.genops(text.encode()))  # nothing that runs when it is read
    new = pd.DataFrame(
        {
            "review": ["unknown", ""],
            "photo": "1.png",
            "price": [0, 1],
            "colour": "green",
            "day": "2030-01-01",
            "same": 2,
        }
    )
    with pytest.warns(UserWarning, match="row 1, column 'review' is empty"):
        made = recipe.apply(new, folder=tmp_path)
    assert np.isfinite(made.to_numpy()).all()
    assert made.index.tolist() == [0, 1]


def test_a_model_keeps_the_recipe(table, tmp_path):
    recipe, X = ps.Recipe.fit_apply(table, text=["review"], columns=["price"])
    for model in (ps.BradleyTerry(1.0), ps.BradleyTerryGP()):
        model.fit(X, comparisons=[[0, 1], [1, 2]], outcomes=[1, 1]).save(tmp_path / "model.json", recipe)
        assert ps.Recipe.load(tmp_path / "model.json").names == recipe.names
        assert type(model).load(tmp_path / "model.json").rank(recipe.apply(table)).shape[0] == 50
    assert repr(recipe) == "Recipe(review: text, price: number)"


def test_the_recipe_says_what_it_used(table, tmp_path):
    recipe = ps.Recipe.fit(table.assign(note=[f"note {row}" for row in range(50)]), **OPTIONS, folder=tmp_path)
    told = recipe.sentences()
    assert told[0].startswith("review: text, 9 features, ")
    assert told[0].endswith("% of the variance kept")
    assert told[1].startswith("photo: image, 19 features, ")
    assert told[2:] == [
        "price: number, 1 feature",
        "colour: category, 2 features",
        "day: date, 1 feature",
        "same: number, 1 feature",
        "note: not used, it has many different texts; name it as text to use it",
    ]


def test_an_embedding_is_used_by_its_name(table, monkeypatch, tmp_path):
    monkeypatch.setitem(
        EMBEDDINGS, "letters", lambda _: lambda texts: [[text.count(c) for c in "abcdefgh"] for text in texts]
    )
    recipe, X = ps.Recipe.fit_apply(
        table, text=["review"], columns=[], text_embedding="letters", cache=tmp_path / "cache", dimensions=4
    )
    assert recipe.sentences()[0].startswith("review: text by letters, 4 features, ")
    again = ps.Recipe.from_json(json.loads(json.dumps(recipe.to_json())))
    monkeypatch.setitem(EMBEDDINGS, "letters", lambda _: pytest.fail("it is in the cache"))
    np.testing.assert_allclose(again.apply(table[:5], cache=tmp_path / "cache"), X[:5], atol=1e-12)


def test_a_model_learns_from_texts(table):
    liked = table.review.str.count("alpha") - table.review.str.count("beta")
    rng = np.random.default_rng(0)
    pairs = np.array([rng.choice(50, 2, replace=False) for _ in range(300)])
    gap = liked.to_numpy()[pairs[:, 0]] - liked.to_numpy()[pairs[:, 1]]
    X = ps.features(table, text=["review"], columns=[], dimensions=20)
    model = ps.BradleyTerryGP(items=False).fit(X, comparisons=pairs, outcomes=np.sign(gap))
    assert np.corrcoef(model.decision_function(X), liked)[0, 1] > 0.8


def test_long_lists_of_texts_show_how_far_they_are(table, capsys):
    recipe = ps.Recipe.fit(table, text=["review"], columns=[], progress=True)
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(" ━")[0].strip() for line in lines] == ["review: principal axes", "review"]
    recipe.apply(table, progress=True)
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("review ━")
    assert "100%" in line


def test_type_checkers_know_every_option():
    of_fit = inspect.signature(ps.Recipe.fit_apply).parameters
    assert list(Options.__annotations__) == [name for name in of_fit if name not in ("table", "first_row")]


def test_what_is_refused(table, tmp_path):
    for change, told in (
        ({"table": table[:1]}, "table has 1 row; at least two"),
        ({"dimensions": 0}, "dimensions must be at least 1"),
        ({"table": table.assign(review_1=1.0)}, "two features would be called 'review_1'; rename a column"),
        ({"table": table.assign(photo="none.png")}, r"row 0 \(item 'i0'\), column 'photo': there is no file"),
    ):
        with pytest.raises(ValueError, match=told):
            ps.features(**({"table": table, **OPTIONS, "folder": tmp_path} | change))
    with pytest.raises(TypeError, match="unexpected keyword argument 'texts'"):
        ps.features(table, texts=["review"])
    recipe = ps.Recipe.fit(table, text=["review"], columns=[])
    with pytest.raises(ValueError, match="has no column 'review'"):
        recipe.apply(table[["price"]])
    with pytest.raises(ValueError, match="table has no rows"):
        recipe.apply(table[:0])
    (tmp_path / "x.json").write_text("{}")
    (tmp_path / "model.json").write_text('{"pairsmith model": 2}')
    for name, told in (("x.json", "is no recipe"), ("model.json", "no model that has one"), ("y.json", "no such file")):
        with pytest.raises(ValueError, match=told):
            ps.Recipe.load(tmp_path / name)
    content = recipe.to_json()
    for wrong in (
        {"pairsmith recipe": 2},
        {"columns": []},
        {"columns": [{"column": "x", "kind": "sound"}]},
        {"center": 1},
    ):
        with pytest.raises(ValueError, match="no recipe of pairsmith"):
            ps.Recipe.from_json(content | wrong)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "price",
    [1e15 + np.arange(8), (10**15 + np.arange(8)).astype(str), 1e160 * np.arange(8), 1e-290 * np.arange(8)],
    ids=["far from zero", "as text", "large", "small"],
)
def test_numbers_keep_their_variation_whatever_their_size(price):
    table = pd.DataFrame({"price": price})
    recipe, X = ps.Recipe.fit_apply(table)
    expected = (np.arange(8) - 3.5) / np.arange(8).std()
    np.testing.assert_allclose(X["price"], expected, rtol=1e-9)
    np.testing.assert_allclose(ps.Recipe.from_json(recipe.to_json()).apply(table)["price"], expected, rtol=1e-9)


@pytest.mark.parametrize("unit", [1e-320, 1e-305, 1e305])
def test_numbers_that_have_no_scale_are_refused_by_their_column(unit):
    with pytest.raises(
        ValueError, match=r"column 'price' has numbers up to .* that spread by .*; give it in other units"
    ):
        ps.features(pd.DataFrame({"price": unit * np.arange(1, 9), "other": range(8)}))
