import numpy as np
import pytest

import pairsmith as ps
from pairsmith.model.imagined import imagined_scores
from support.simulate import scored_answers

pytestmark = pytest.mark.filterwarnings("ignore:the answers leave")


def test_scores_are_those_of_the_joint_posterior_where_variances_are_known():
    X, _, pairs, outcomes = scored_answers(0, n=8, count=40)
    model = ps.BradleyTerryGP(linear=2.0, smooth=False, items=1.0).fit(X, comparisons=pairs, outcomes=outcomes)
    scores = model.imagined(X, np.random.default_rng(0), 20_000)
    mean, error = model.rank(X).sort_index()[["score", "error"]].to_numpy().T
    np.testing.assert_allclose(scores.mean(axis=0), mean, atol=0.03)
    np.testing.assert_allclose(scores.std(axis=0), error, rtol=0.03)
    linear, number, _ = model.placed(X)
    joint = model.learned_.joint(model.learned_.coordinates(linear), number)
    _, variance = joint.gaps(np.array([0]), np.array([1]))  # together, not each for itself
    assert np.std(scores[:, 0] - scores[:, 1]) == pytest.approx(np.sqrt(variance[0]), rel=0.03)


def test_what_is_unsure_of_variances_makes_scores_more_unlike():
    """How far the scores lie apart differs more between draws than where the variances are taken for known."""
    _, _, pairs, outcomes = scored_answers(2, n=30, count=60, linear=0.0, items=2.0)
    model = ps.BradleyTerryGP().fit(n_items=30, comparisons=pairs, outcomes=outcomes)
    linear = model.placed()[0]
    apart = [
        np.std(np.log(imagined_scores(model.learned_, linear, free, np.random.default_rng(0), 40).std(axis=1)))
        for free in (("items",), ())
    ]
    assert apart[0] > 1.2 * apart[1]
