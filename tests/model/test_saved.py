import json
import os

import numpy as np
import pandas as pd
import pytest

import pairsmith as ps
from support.edits import edits, read_or_refused
from support.simulate import labels_and_answers


def test_models_are_saved_as_plain_json(tmp_path):
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


def test_a_file_of_the_first_format_opens(tmp_path):
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
def test_numbers_that_make_no_model_are_refused(tmp_path, change):
    whole = {"pairsmith model": 1, "ridge": 1.0, "classes": [-1, 1], "features": [0, 1], "coef": [1.0, 2.0]}
    whole["covariance root"] = [[1.0, 0.0], [0.0, 1.0]]
    path = tmp_path / "model.json"
    path.write_text(json.dumps(whole))
    assert ps.BradleyTerry.load(path).n_features_in_ == 2
    path.write_text(json.dumps(whole | change))
    with pytest.raises(ValueError, match="is no model of pairsmith"):
        ps.BradleyTerry.load(path)


def test_what_is_no_file_is_no_model(tmp_path):
    os.mkfifo(tmp_path / "pipe.json")
    for path in (tmp_path, tmp_path / "pipe.json", "/dev/zero"):  # of which some would never end
        with pytest.raises(ValueError, match="is no file"):
            ps.BradleyTerry.load(path)


def test_a_model_that_was_edited_is_read_or_refused_in_one_line(tmp_path):
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


def test_a_repeated_key_makes_no_model(tmp_path):
    path = tmp_path / "model.json"
    X, data = labels_and_answers()
    ps.BradleyTerry().fit(X, **data).save(path)
    path.write_text(path.read_text().replace('"ridge":', '"ridge": 2, "ridge":'))
    with pytest.raises(ValueError, match=f"{path}: the key 'ridge' is there twice; keep one"):
        ps.BradleyTerry.load(path)
