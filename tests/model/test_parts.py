import numpy as np
import pytest

from pairsmith.model.parts import GapParts, Parts, ScoreParts, cheaper
from pairsmith.model.posterior import Answers, Posterior, ScorePosterior

VARIANCES = {"linear": 2.0, "smooth": 0.7, "items": 1.3}


def answered(rng, items, count, times=1):
    pairs = np.array([rng.choice(items, 2, replace=False) for _ in range(count)], dtype=int).reshape(-1, 2)
    won = rng.binomial(times, 0.7, count).astype(float)
    return Answers(*pairs.T, won, times - won, np.ones(count), np.zeros(count))


@pytest.mark.parametrize("variances", [VARIANCES, VARIANCES | {"items": 1e-9}, VARIANCES | {"smooth": 1e6}])
@pytest.mark.parametrize("count", [10, 300])
def test_all_forms_tell_the_same(count, variances):
    rng = np.random.default_rng(2)
    parts = Parts(rng.standard_normal((40, 3)), rng.standard_normal((40, 5)), np.array([4.0]))
    answers = answered(rng, 40, count)
    forms = [parts, ScoreParts.of(parts), GapParts.of(parts, answers)]
    expected, *others = [form.propagate(variances, answers, None, 1e-9) for form in forms]
    told, *also_told = [
        form.told(variances, found.posterior) for form, found in zip(forms, [expected, *others], strict=True)
    ]
    for found, of in zip(others, also_told, strict=True):
        assert found.evidence == pytest.approx(expected.evidence, rel=0, abs=1e-6)
        np.testing.assert_allclose(found.cavity_mean, expected.cavity_mean, atol=1e-5)
        np.testing.assert_allclose(found.cavity_variance, expected.cavity_variance, rtol=1e-5)
        for part in told:
            assert of[part].size == pytest.approx(told[part].size, rel=1e-4, abs=1e-6)
            assert of[part].determined == pytest.approx(told[part].determined, rel=1e-4, abs=1e-6)


def test_the_cheaper_form_is_taken():
    """By answers where these are few, by scores where features are many, by items with features where items are."""
    rng = np.random.default_rng(3)
    few, many = (Parts(rng.standard_normal((60, columns)), rng.standard_normal((60, columns))) for columns in (2, 40))
    assert isinstance(cheaper(few, answered(rng, 60, 20)), GapParts)
    assert isinstance(cheaper(many, answered(rng, 60, 20)), GapParts)
    assert cheaper(few, answered(rng, 60, 200)) is few
    assert isinstance(cheaper(many, answered(rng, 60, 200)), ScoreParts)
    assert cheaper(many, answered(rng, 60, 0)) is many
    large = Parts(np.zeros((2100, 1)), np.zeros((2100, 600)))  # whose covariances would take much memory
    assert cheaper(large, answered(rng, 2100, 4000)) is large


def test_a_covariance_that_has_no_inverse_is_not_inverted():
    rng = np.random.default_rng(4)
    parts, answers = Parts(rng.standard_normal((40, 3)), np.zeros((40, 0))), answered(rng, 40, 100)
    form = ScoreParts.of(parts)
    for items, kind in ((0.0, Posterior), (1e-7, Posterior), (1e-3, ScorePosterior)):
        assert isinstance(form.propagate(VARIANCES | {"items": items}, answers, None, 1e-3).posterior, kind)


def test_rounding_does_not_tell_what_thousands_of_answers_tell_of_large_variances():
    rng = np.random.default_rng(2)
    parts = Parts(rng.standard_normal((40, 3)), rng.standard_normal((40, 5)))
    variances, answers = VARIANCES | {"smooth": 1e6}, answered(rng, 40, 300, times=200)
    expected, found = (
        form.told(variances, form.propagate(variances, answers, None, 1e-6).posterior)
        for form in (parts, ScoreParts.of(parts))
    )
    for part, told in expected.items():
        assert found[part].size == pytest.approx(told.size, rel=1e-4)
        assert found[part].determined == pytest.approx(told.determined, rel=1e-4)
