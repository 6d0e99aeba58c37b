import numpy as np
import pandas as pd
import pytest

import pairsmith as ps
from pairsmith.selection.start import start_from


def test_the_starting_point_comes_from_features_effects_or_a_model():
    X = np.random.default_rng(0).standard_normal((6, 2))
    features = start_from(X, None, None, None, "auto", None)
    assert (features.features.shape, features.effect_variance, features.prior, features.estimate) == (
        (6, 2),
        None,
        None,
        None,
    )
    alone = start_from(None, 9, None, 2.0, "auto", None)
    assert (alone.features.shape, alone.effect_variance, alone.ridge) == ((9, 1), 2.0, 1.0)
    gp = ps.BradleyTerryGP(linear=2.0, smooth=False, items=0.5).fit(X, comparisons=[(4, 1)], outcomes=[1])
    under = start_from(X, None, gp, None, "auto", None)
    assert under.prior.variance == 0.5
    assert under.answered.tolist() == [[1, 4]]
    np.testing.assert_allclose(under.estimate.scores, gp.decision_function(X))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"X": None}, "give item_effects"),
        ({"X": None, "item_effects": 1.0}, "n_items="),
        ({"X": None, "item_effects": 1.0, "n_items": 1}, "at least two"),
        ({"n_items": 5}, "n_items is for X=None"),
        ({"item_effects": -1.0}, "item_effects must be a positive number, got -1.0"),
        ({"item_effects": 1e10}, "item_effects=1.0e\\+10 exceeds 1e\\+09"),
        ({"item_effects": "large"}, "item_effects must be a positive number"),
        ({"model": ps.BradleyTerryGP()}, "call its fit first"),
        ({"X": None, "item_effects": 1.0, "n_items": 5, "ridge": 2.0}, "ridge is for features, and X is None"),
        ({"model": "foo", "objective": "entropy"}, "model must be a fitted BradleyTerry, got str"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(options, message):
    X = np.random.default_rng(0).standard_normal((8, 2))
    with pytest.raises(ValueError, match=message):
        ps.select(**{"X": X, "k": 3, **options})


def test_a_gaussian_process_refuses_ridge_and_item_effects():
    X = np.random.default_rng(0).standard_normal((20, 2))
    gp = ps.BradleyTerryGP().fit(X)
    for option in ({"ridge": 1.0}, {"ridge": np.ones(2)}, {"item_effects": 1.0}):
        with pytest.raises(ValueError, match="leave it out where model is one"):
            ps.select(X, 3, model=gp, **option)
    with pytest.raises(ValueError, match="features"):
        ps.select(X[:, :1], 3, model=gp)


def test_under_a_gaussian_process_X_gets_the_same_errors():
    X = pd.DataFrame(np.random.default_rng(0).standard_normal((20, 2)), columns=["a", "b"])
    gp = ps.BradleyTerryGP().fit(X)
    for invalid, message in (
        (X.assign(c="x"), "column 'c' is not numeric"),
        (X.mask(X.iloc[3, 0] == X), "column 'a' has 1 missing value .* at row 3"),
        (X[:1], "X has 1 item; at least two are needed"),
        ("items.csv", "X is a path, items.csv; read it first, or pass a client"),
    ):
        with pytest.raises(ValueError, match=message):
            ps.select(invalid, 3, model=gp)
