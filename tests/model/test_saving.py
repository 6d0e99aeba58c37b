import copy
import json
import os

import numpy as np
import pandas as pd
import pytest

import pairsmith as ps
from pairsmith.model.saving import GP_FORMAT, GP_PARAMETERS, SavedGP
from support.edits import edits, read_or_refused
from support.simulate import labels_and_answers, scored_answers

pytestmark = pytest.mark.filterwarnings("ignore:the answers leave")


def test_loaded_gp_gives_the_same_results(tmp_path):
    X, _, pairs, outcomes = scored_answers(9)
    frame = pd.DataFrame(X, index=[f"i{at}" for at in range(len(X))], columns=list("abcd"))
    model = ps.BradleyTerryGP().fit(frame, comparisons=pairs, outcomes=outcomes)
    model.save(tmp_path / "model.json")
    loaded = ps.BradleyTerryGP.load(tmp_path / "model.json")
    pd.testing.assert_frame_equal(loaded.rank(frame), model.rank(frame))
    new = pd.DataFrame(X[:5] + 1, columns=list("abcd"))
    np.testing.assert_allclose(loaded.decision_function(new), model.decision_function(new), rtol=1e-12)
    assert (loaded.doubt_, loaded.reliability_, loaded.shares_) == (model.doubt_, model.reliability_, model.shares_)
    plain = ps.BradleyTerryGP().fit(n_items=9, comparisons=[(0, 1), (2, 3)], outcomes=[1, -1])
    plain.save(tmp_path / "model.json")
    pd.testing.assert_frame_equal(ps.BradleyTerryGP.load(tmp_path / "model.json").rank(), plain.rank())
    text = (tmp_path / "model.json").read_text()
    for damaged in (text[: len(text) // 2], text.replace('"tau"', '"tan"'), text.replace("[0, 2]", "[0, 20]"), "[]"):
        (tmp_path / "model.json").write_text(damaged)
        with pytest.raises(ValueError, match="is no model of pairsmith"):
            ps.BradleyTerryGP.load(tmp_path / "model.json")
    linear = ps.BradleyTerry().fit(X, comparisons=pairs, outcomes=outcomes)
    linear.save(tmp_path / "linear.json")
    with pytest.raises(ValueError, match="holds a BradleyTerry, not a BradleyTerryGP"):
        ps.BradleyTerryGP.load(tmp_path / "linear.json")


@pytest.fixture(scope="module")
def content(tmp_path_factory):
    """Return the content of a saved model's file."""
    X, _, pairs, outcomes = scored_answers(9, n=12, count=40)
    path = tmp_path_factory.mktemp("model") / "model.json"
    ps.BradleyTerryGP().fit(X, comparisons=pairs, outcomes=outcomes).save(path)
    return json.loads(path.read_text())


def test_gp_file_survives_reading_and_writing(content, tmp_path):
    assert content["pairsmith model"] == GP_FORMAT
    path = tmp_path / "model.json"
    path.write_text(json.dumps(content))
    SavedGP.read(path).write(tmp_path / "again.json")
    assert json.loads((tmp_path / "again.json").read_text()) == content


DAMAGE = {
    "an item beyond all": lambda saved: saved["compared"]["items"].__setitem__(0, 12),
    "an answer to nobody": lambda saved: saved["answers"]["first"].__setitem__(0, -1),
    "sites for other answers": lambda saved: saved["sites"]["tau"].pop(),
    "coordinates of other columns": lambda saved: saved["compared"]["coordinates"][0].pop(),
    "a number that is none": lambda saved: saved["columns"]["center"].__setitem__(0, float("nan")),
    "a variance below zero": lambda saved: saved["variances"].__setitem__("items", -1.0),
    "a column too few": lambda saved: saved["features"].pop(),
    "three classes": lambda saved: saved["classes"].append(7),
    "ids of other items": lambda saved: saved.__setitem__("ids", ["a", "b"]),
    "no variances": lambda saved: saved.pop("variances"),
    "a parameter that is none": lambda saved: saved["parameters"].__setitem__("speed", 3),
}


@pytest.mark.parametrize("what", DAMAGE)
def test_inconsistent_gp_files_are_refused(content, tmp_path, what):
    damaged = copy.deepcopy(content)
    DAMAGE[what](damaged)
    (tmp_path / "model.json").write_text(json.dumps(damaged))
    with pytest.raises(ValueError, match="is no model of pairsmith"):
        SavedGP.read(tmp_path / "model.json")


def test_loaded_gp_keeps_its_parameters(tmp_path):
    X, _, pairs, outcomes = scored_answers(3, n=20, count=60)
    model = ps.BradleyTerryGP(items=False, smooth=np.float64(2.0), random_state=np.random.default_rng(5))
    model.fit(X, comparisons=pairs[:30], outcomes=outcomes[:30]).save(tmp_path / "model.json")
    loaded = ps.BradleyTerryGP.load(tmp_path / "model.json")
    assert loaded.get_params() == model.get_params() | {"random_state": 0}  # a generator cannot be saved
    assert tuple(model.get_params()) == tuple(sorted(GP_PARAMETERS))
    more = loaded.with_answers(X, pairs[30:], outcomes[30:])
    assert (more.variances_["items"], more.variances_["smooth"]) == (0, 2)


def test_gp_file_without_parameters_has_the_defaults(content, tmp_path):
    content = {name: value for name, value in content.items() if name != "parameters"}
    (tmp_path / "model.json").write_text(json.dumps(content))
    assert ps.BradleyTerryGP.load(tmp_path / "model.json").get_params() == ps.BradleyTerryGP().get_params()


@pytest.mark.parametrize("ids", [pd.date_range("2020", periods=6), pd.MultiIndex.from_product([["p", "q"], [1, 2, 3]])])
def test_ids_that_json_would_change_are_refused(ids, tmp_path):
    X = pd.DataFrame({"a": np.arange(6.0)}, index=ids)
    model = ps.BradleyTerryGP().fit(X, comparisons=[(0, 1)], outcomes=[1])
    with pytest.raises(ValueError, match=r"the id of item 0, .* is neither text nor a number"):
        model.save(tmp_path / "model.json")
    assert not (tmp_path / "model.json").exists()


def test_edited_gp_file_is_usable_or_refused(tmp_path):
    path = tmp_path / "model.json"
    X, _, pairs, outcomes = scored_answers(9, n=12, count=40)
    frame = pd.DataFrame(X, index=[f"i{at}" for at in range(len(X))], columns=list("abcd"))
    ps.BradleyTerryGP().fit(frame, comparisons=pairs, outcomes=outcomes).save(path)
    for place, edited in edits(json.loads(path.read_text())):
        path.write_text(json.dumps(edited))
        with read_or_refused(path):
            model = ps.BradleyTerryGP.load(path)
            assert isinstance(model.shares_, dict)
            if place[0] != "features":
                model.rank(frame)


def test_linear_model_is_saved_as_plain_json(tmp_path):
    X, data = labels_and_answers()
    frame = pd.DataFrame(X, columns=list("abcd"))
    for model in (ps.BradleyTerry(0.3).fit(frame, **data), ps.BradleyTerryCV([1.0, 2.0]).fit(X, **data)):
        model.save(tmp_path / "model.json")
        content = json.loads((tmp_path / "model.json").read_text())
        assert content["pairsmith model"] == 1
        again = ps.BradleyTerry.load(tmp_path / "model.json")
        given = frame if hasattr(model, "feature_names_in_") else X
        pd.testing.assert_frame_equal(again.rank(given), model.rank(given))
        np.testing.assert_array_equal(again.predict(given), model.predict(given))
    for broken in ("", "{}", "[1]", '{"pairsmith model": 1}', json.dumps({**content, "coef": [1.0]})):
        (tmp_path / "broken.json").write_text(broken)
        with pytest.raises(ValueError, match="is no model of pairsmith"):
            ps.BradleyTerry.load(tmp_path / "broken.json")
    (tmp_path / "newer.json").write_text(json.dumps({**content, "pairsmith model": 9}))
    with pytest.raises(ValueError, match="another version"):
        ps.BradleyTerry.load(tmp_path / "newer.json")
    with pytest.raises(ValueError, match="no such file"):
        ps.BradleyTerry.load(tmp_path / "missing.json")


def test_linear_model_file_opens(tmp_path):
    (tmp_path / "model.json").write_text(
        """{
 "pairsmith model": 1,
 "ridge": 0.3,
 "classes": ["bad", "good"],
 "features": ["a", "b"],
 "coef": [2.0, -1.0],
 "covariance root": [
  [0.5, 0.25],
  [0.0, 0.75]
 ]
}
"""
    )
    model = ps.BradleyTerry.load(tmp_path / "model.json")
    items = pd.DataFrame({"a": [1.0, 0.0], "b": [0.0, 4.0]}, index=["u", "v"])
    assert model.ridge == 0.3
    assert model.predict(items).tolist() == ["good", "bad"]
    ranking = model.rank(items)
    assert ranking.index.tolist() == ["u", "v"]
    np.testing.assert_allclose(ranking.score, [2.0, -4.0])
    np.testing.assert_allclose(ranking.error, [np.hypot(0.5, 0.25), 3.0])
    model.save(tmp_path / "again.json")
    written = [json.loads((tmp_path / name).read_text()) for name in ("model.json", "again.json")]
    assert written[0] == written[1]


@pytest.mark.parametrize(
    "change",
    [
        {"coef": [1.0, float("nan")]},
        {"covariance root": [[1.0, 0.0]]},
        {"classes": [1]},
        {"ridge": 0.0},
        {"ridge": "a"},
        {"features": 2},
    ],
)
def test_invalid_numbers_in_a_linear_model_are_refused(tmp_path, change):
    whole = {"pairsmith model": 1, "ridge": 1.0, "classes": [-1, 1], "features": [0, 1], "coef": [1.0, 2.0]}
    whole["covariance root"] = [[1.0, 0.0], [0.0, 1.0]]
    path = tmp_path / "model.json"
    path.write_text(json.dumps(whole))
    assert ps.BradleyTerry.load(path).n_features_in_ == 2
    path.write_text(json.dumps(whole | change))
    with pytest.raises(ValueError, match="is no model of pairsmith"):
        ps.BradleyTerry.load(path)


def test_paths_that_are_no_files_are_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe.json")
    for path in (tmp_path, tmp_path / "pipe.json", "/dev/zero"):  # of which some would never end
        with pytest.raises(ValueError, match="is no file"):
            ps.BradleyTerry.load(path)


def test_edited_linear_model_is_readable_or_refused(tmp_path):
    path = tmp_path / "model.json"
    X, data = labels_and_answers()
    table = pd.DataFrame({"n": X[:, 0], "c": ["a", "b"] * (len(X) // 2), "t": [f"word{x} text" for x in X[:, 1]]})
    recipe = ps.Recipe.fit(table, text=["t"])
    features = recipe.apply(table)
    ps.BradleyTerry().fit(features, **data).save(path, recipe)
    for _, edited in edits(json.loads(path.read_text())):
        path.write_text(json.dumps(edited))
        for load in (ps.BradleyTerry.load, ps.Recipe.load):
            with read_or_refused(path):
                repr(load(path))


def test_repeated_key_is_refused(tmp_path):
    path = tmp_path / "model.json"
    X, data = labels_and_answers()
    ps.BradleyTerry().fit(X, **data).save(path)
    path.write_text(path.read_text().replace('"ridge":', '"ridge": 2, "ridge":'))
    with pytest.raises(ValueError, match=f"{path}: the key 'ridge' is there twice; keep one"):
        ps.BradleyTerry.load(path)
