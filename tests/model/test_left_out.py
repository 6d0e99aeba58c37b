"""Each answer as all others predict it."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

import pairsmith as ps
from pairsmith.model.left_out import share_right


def drawn(seed=0, n=25, count=60):
    """Features, and answers by two raters: ben's are noisier."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2))
    scores = X @ [1.5, -1.0] + 0.7 * rng.standard_normal(n)
    pairs = np.array([rng.choice(n, 2, replace=False) for _ in range(count)])
    gaps = scores[pairs[:, 0]] - scores[pairs[:, 1]]
    return X, pairs, np.where(rng.random(count) < expit(gaps), 1, -1)


@pytest.mark.filterwarnings("ignore:the answers leave")
def test_it_is_about_what_a_model_without_the_answer_says():
    X, pairs, outcomes = drawn()
    pairs = np.vstack([pairs, pairs[:3, ::-1]])  # some are asked again, the other way round
    outcomes = np.append(outcomes, [1, -1, 0])
    fixed = {"linear": 2.0, "smooth": False, "items": 0.5}
    model = ps.BradleyTerryGP(**fixed).fit(X, comparisons=pairs, outcomes=outcomes)
    found = model.left_out_
    assert list(found.columns) == ["gap", "error", "p"]
    asked = np.sort(pairs, axis=1)
    for at in range(len(pairs)):
        others = np.any(asked != asked[at], axis=1)
        without = ps.BradleyTerryGP(**fixed).fit(X, comparisons=pairs[others], outcomes=outcomes[others])
        assert found["p"][at] == pytest.approx(float(without.compare(X, [pairs[at]])[0]), abs=0.01)
        i, j = pairs[at]
        scores = without.decision_function(X)
        assert found["gap"][at] == pytest.approx(scores[i] - scores[j], abs=0.05)
    np.testing.assert_allclose(found["p"][60:].to_numpy(), 1 - found["p"][:3].to_numpy())


def test_labels_weights_and_raters_leave_every_answer_its_place():
    X, pairs, outcomes = drawn(1)
    known = {"y": [1, -1], "labeled": [3, 4], "comparisons": pairs, "outcomes": outcomes}
    weights = np.ones(62)
    weights[2 + 7] = 0
    plain = ps.BradleyTerryGP(smooth=False).fit(X, **known, sample_weight=weights).left_out_
    assert len(plain) == 60
    assert list(np.flatnonzero(plain["p"].isna())) == [7]
    shown = np.where(np.arange(60) % 4 == 3, -1, pairs[:, 0])
    model = ps.BradleyTerryGP(smooth=False).fit(X, **known, raters=["anna", "ben"] * 30, shown_first=shown)
    found = model.left_out_
    # A rater's slope and bias are in the probability: by hand for one answer, with the average by Monte Carlo.
    slope, bias = model.raters_.loc["ben", ["slope", "bias"]]
    for answer, shift in ((1, bias), (3, 0.0)):  # of the second nobody knows what was shown first
        g = found["gap"][answer] + found["error"][answer] * np.random.default_rng(0).standard_normal(200_000)
        assert found["p"][answer] == pytest.approx(np.mean(expit(slope * g + shift)), abs=0.005)


def test_a_loaded_model_has_lost_it(tmp_path):
    X, pairs, outcomes = drawn()
    ps.BradleyTerryGP(smooth=False).fit(X, comparisons=pairs, outcomes=outcomes).save(tmp_path / "m.json")
    with pytest.raises(AttributeError, match=r"a model that was loaded, .* has lost it"):
        _ = ps.BradleyTerryGP.load(tmp_path / "m.json").left_out_


def test_the_share_right_and_the_log_loss():
    p, outcomes = np.array([0.9, 0.2, 0.6, 0.5, np.nan, 0.5]), np.array([1.0, 1.0, -1.0, 1.0, 1.0, 0.0])
    right, loss = share_right(p, outcomes, np.array([2.0, 1.0, 1.0, 1.0, 1.0, 1.0]))
    assert right == pytest.approx((2 + 0 + 0 + 0.5) / 5)
    assert loss == pytest.approx(-(2 * np.log(0.9) + np.log(0.2) + np.log(0.4) + 2 * np.log(0.5)) / 6)
    assert np.isnan(share_right(p[5:], outcomes[5:], np.ones(1))).all()


def test_which_items_a_model_knows():
    X, pairs, outcomes = drawn()
    model = ps.BradleyTerryGP(smooth=False).fit(X, comparisons=pairs, outcomes=outcomes)
    assert model.known(X).all()
    assert model.known().all()
    assert not model.known(X[:5]).any()  # without ids, items are known all together
    named = pd.DataFrame(X, index=[f"i{row}" for row in range(25)])
    model.fit(named, comparisons=pairs, outcomes=outcomes)
    assert model.known(named.iloc[[3, 1]].rename(index={"i1": "new"})).tolist() == [True, False]
