"""What several commands read."""

import sys

import numpy as np
import pandas as pd
import pytest

import pairsmith as ps
from pairsmith.cli import inputs

FEATURES = pd.DataFrame({"a": [1.0, 2.0, 4.0], "b": [0.0, 3.0, 1.0]}, index=["x", "y", "z"])


def fitted(X):
    return ps.BradleyTerry(1.0).fit(X, comparisons=[(0, 1), (2, 1)], outcomes=[1, -1])


def test_features_are_brought_into_the_order_of_the_model():
    model = fitted(FEATURES)
    other = FEATURES.assign(c=7.0)[["c", "b", "a"]]
    pd.testing.assert_frame_equal(inputs.match_features(model, other), FEATURES)
    with pytest.raises(ValueError, match="the items have no column 'a', which the model was fitted to"):
        inputs.match_features(model, FEATURES[["b"]])


def test_without_names_the_number_of_features_has_to_be_right():
    model = fitted(FEATURES.to_numpy())
    assert inputs.match_features(model, FEATURES) is FEATURES
    with pytest.raises(ValueError, match="the items have 1 features, but the model was fitted to 2"):
        inputs.match_features(model, FEATURES[["b"]])


def test_models_of_either_kind_are_read(tmp_path):
    fitted(FEATURES).save(tmp_path / "model.json")
    again = inputs.load_model(tmp_path / "model.json")
    np.testing.assert_array_equal(again.predict(FEATURES), fitted(FEATURES).predict(FEATURES))
    ps.BradleyTerryGP().fit(FEATURES).save(tmp_path / "model.json")
    assert isinstance(inputs.load_model(tmp_path / "model.json"), ps.BradleyTerryGP)


def test_numbers_among_the_options():
    assert inputs.parse_number("1e-3", "--ridge") == 1e-3
    with pytest.raises(ValueError, match="--ridge must be a positive number or auto, got 'much'"):
        inputs.parse_number("much", "--ridge")


def test_a_cluster_is_made_only_where_one_is_named(monkeypatch):
    with inputs.dask_client(None) as client:
        assert client is None
    monkeypatch.setattr(inputs, "find_spec", lambda name: None if name == "distributed" else sys)
    with pytest.raises(ValueError, match=r"--dask needs Dask; pip install 'pairsmith\[distributed\]'"):
        inputs.dask_client("local:2").__enter__()
