import copy
import json

import numpy as np
import pandas as pd
import pytest

import pairsmith as ps
from pairsmith.model.saved_gaussian_process import PARAMETERS, VERSION, SavedGP
from support.edits import edits, read_or_refused
from support.simulate import scored_answers

pytestmark = pytest.mark.filterwarnings("ignore:the answers leave")


def test_saved_and_loaded_it_says_the_same(tmp_path):
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
    """What a file holds."""
    X, _, pairs, outcomes = scored_answers(9, n=12, count=40)
    path = tmp_path_factory.mktemp("model") / "model.json"
    ps.BradleyTerryGP().fit(X, comparisons=pairs, outcomes=outcomes).save(path)
    return json.loads(path.read_text())


def test_the_file_says_what_it_is_and_what_is_read_is_what_was_written(content, tmp_path):
    assert content["pairsmith model"] == VERSION
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
def test_parts_that_do_not_agree_make_no_model(content, tmp_path, what):
    damaged = copy.deepcopy(content)
    DAMAGE[what](damaged)
    (tmp_path / "model.json").write_text(json.dumps(damaged))
    with pytest.raises(ValueError, match="is no model of pairsmith"):
        SavedGP.read(tmp_path / "model.json")


def test_a_loaded_model_goes_on_with_the_parts_that_it_had(tmp_path):
    X, _, pairs, outcomes = scored_answers(3, n=20, count=60)
    model = ps.BradleyTerryGP(items=False, smooth=np.float64(2.0), random_state=np.random.default_rng(5))
    model.fit(X, comparisons=pairs[:30], outcomes=outcomes[:30]).save(tmp_path / "model.json")
    loaded = ps.BradleyTerryGP.load(tmp_path / "model.json")
    assert loaded.get_params() == model.get_params() | {"random_state": 0}  # a generator cannot be saved
    assert tuple(model.get_params()) == tuple(sorted(PARAMETERS))
    more = loaded.with_answers(X, pairs[30:], outcomes[30:])
    assert (more.variances_["items"], more.variances_["smooth"]) == (0, 2)


def test_a_model_that_an_earlier_version_wrote_has_the_usual_parts(content, tmp_path):
    content = {name: value for name, value in content.items() if name != "parameters"}
    (tmp_path / "model.json").write_text(json.dumps(content))
    assert ps.BradleyTerryGP.load(tmp_path / "model.json").get_params() == ps.BradleyTerryGP().get_params()


@pytest.mark.parametrize("ids", [pd.date_range("2020", periods=6), pd.MultiIndex.from_product([["p", "q"], [1, 2, 3]])])
def test_ids_that_json_does_not_give_back_are_refused(ids, tmp_path):
    X = pd.DataFrame({"a": np.arange(6.0)}, index=ids)
    model = ps.BradleyTerryGP().fit(X, comparisons=[(0, 1)], outcomes=[1])
    with pytest.raises(ValueError, match=r"the id of item 0, .* is neither text nor a number"):
        model.save(tmp_path / "model.json")
    assert not (tmp_path / "model.json").exists()


def test_a_model_that_was_edited_is_usable_or_refused_in_one_line(tmp_path):
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
