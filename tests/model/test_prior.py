import numpy as np
import pytest

from pairsmith.model.evidence import Answers
from pairsmith.model.posterior import ScoreSpacePosterior, WeightSpacePosterior
from pairsmith.model.prior import FeatureMap, GapSpaceParts, ScoreSpaceParts, WeightSpaceParts, cheapest_form

VARIANCES = {"linear": 2.0, "smooth": 0.7, "items": 1.3}


def random_answers(rng, items, count, times=1):
    pairs = np.array([rng.choice(items, 2, replace=False) for _ in range(count)], dtype=int).reshape(-1, 2)
    won = rng.binomial(times, 0.7, count).astype(float)
    return Answers(*pairs.T, won, times - won, np.ones(count), np.zeros(count))


@pytest.mark.parametrize("variances", [VARIANCES, VARIANCES | {"items": 1e-9}, VARIANCES | {"smooth": 1e6}])
@pytest.mark.parametrize("count", [10, 300])
def test_all_forms_give_the_same_result(count, variances):
    rng = np.random.default_rng(2)
    parts = WeightSpaceParts(rng.standard_normal((40, 3)), rng.standard_normal((40, 5)), np.array([4.0]))
    answers = random_answers(rng, 40, count)
    forms = [parts, ScoreSpaceParts.from_parts(parts), GapSpaceParts.from_parts(parts, answers)]
    expected, *others = [form.propagate(variances, answers, None, 1e-9) for form in forms]
    stats, *other_stats = [
        form.coefficient_stats(variances, found.posterior)
        for form, found in zip(forms, [expected, *others], strict=True)
    ]
    for found, found_stats in zip(others, other_stats, strict=True):
        assert found.evidence == pytest.approx(expected.evidence, rel=0, abs=1e-6)
        np.testing.assert_allclose(found.cavity_mean, expected.cavity_mean, atol=1e-5)
        np.testing.assert_allclose(found.cavity_variance, expected.cavity_variance, rtol=1e-5)
        for part in stats:
            assert found_stats[part].squared_norm == pytest.approx(stats[part].squared_norm, rel=1e-4, abs=1e-6)
            assert found_stats[part].n_determined == pytest.approx(stats[part].n_determined, rel=1e-4, abs=1e-6)


def test_cheapest_form_depends_on_items_features_and_answers():
    """Few answers favour gap space, many features score space, and many items weight space."""
    rng = np.random.default_rng(3)
    few, many = (
        WeightSpaceParts(rng.standard_normal((60, columns)), rng.standard_normal((60, columns))) for columns in (2, 40)
    )
    assert isinstance(cheapest_form(few, random_answers(rng, 60, 20)), GapSpaceParts)
    assert isinstance(cheapest_form(many, random_answers(rng, 60, 20)), GapSpaceParts)
    assert cheapest_form(few, random_answers(rng, 60, 200)) is few
    assert isinstance(cheapest_form(many, random_answers(rng, 60, 200)), ScoreSpaceParts)
    assert cheapest_form(many, random_answers(rng, 60, 0)) is many
    large = WeightSpaceParts(np.zeros((2100, 1)), np.zeros((2100, 600)))  # whose covariances would take much memory
    assert cheapest_form(large, random_answers(rng, 2100, 4000)) is large


def test_score_space_falls_back_to_weight_space_for_small_effects():
    rng = np.random.default_rng(4)
    parts, answers = WeightSpaceParts(rng.standard_normal((40, 3)), np.zeros((40, 0))), random_answers(rng, 40, 100)
    form = ScoreSpaceParts.from_parts(parts)
    for items, kind in ((0.0, WeightSpacePosterior), (1e-7, WeightSpacePosterior), (1e-3, ScoreSpacePosterior)):
        assert isinstance(form.propagate(VARIANCES | {"items": items}, answers, None, 1e-3).posterior, kind)


def test_score_space_is_accurate_for_many_answers_and_large_variances():
    rng = np.random.default_rng(2)
    parts = WeightSpaceParts(rng.standard_normal((40, 3)), rng.standard_normal((40, 5)))
    variances, answers = VARIANCES | {"smooth": 1e6}, random_answers(rng, 40, 300, times=200)
    expected, found = (
        form.coefficient_stats(variances, form.propagate(variances, answers, None, 1e-6).posterior)
        for form in (parts, ScoreSpaceParts.from_parts(parts))
    )
    for part, stats in expected.items():
        assert found[part].squared_norm == pytest.approx(stats.squared_norm, rel=1e-4)
        assert found[part].n_determined == pytest.approx(stats.n_determined, rel=1e-4)


X = np.random.default_rng(0).standard_normal((60, 5)) @ np.diag([1, 2, 3, 4, 5])


def fit_map(X, landmarks=60):
    return FeatureMap.fit(X, landmarks, np.random.default_rng(0))


def test_feature_map_ignores_units_and_drops_constant_columns():
    units = np.array([1e-3, 1e3, 1, 1e2, 1e-2])
    plain = fit_map(X)
    scaled = np.insert(X * units + 1e3 * units, 2, 7.0, axis=1)
    other = fit_map(scaled)
    assert other.used.tolist() == [True, True, False, True, True, True]
    np.testing.assert_allclose(other.linear(scaled), plain.linear(X), atol=1e-9)
    np.testing.assert_allclose(other.smooth(other.linear(scaled), 0.3), plain.smooth(plain.linear(X), 0.3), atol=1e-7)


def test_linear_coordinates_have_a_mean_squared_length_of_1():
    linear = fit_map(X).linear(X)
    assert (linear**2).sum(axis=1).mean() == pytest.approx(1)
    np.testing.assert_allclose(linear.mean(axis=0), 0, atol=1e-12)


@pytest.mark.parametrize("scale", [0.1, 0.3, 1.0])
def test_smooth_part_is_the_centred_kernel_if_all_items_are_landmarks(scale):
    map = fit_map(X)
    linear = map.linear(X)
    apart = ((linear[:, None] - linear) ** 2).sum(axis=2)
    median = np.median(apart[np.triu_indices(60, 1)])
    smooth = map.smooth(linear, scale)
    kernel = np.exp(-apart / (2 * scale * median))
    centring = np.eye(60) - 1 / 60
    np.testing.assert_allclose(smooth @ smooth.T, centring @ kernel @ centring, atol=1e-5)


def test_feature_map_handles_duplicate_items_and_missing_features():
    map = fit_map(np.vstack([X[:5]] * 4), landmarks=15)
    assert len(map.landmarks) <= 5
    assert map.smooth(map.linear(X), 0.3).shape == (60, len(map.landmarks))
    nothing = fit_map(np.ones((6, 3)))
    assert nothing.linear(np.ones((6, 3))).shape == (6, 0)
    assert fit_map(np.zeros((4, 0))).linear(np.zeros((4, 0))).shape == (4, 0)


@pytest.mark.parametrize("unit", [1e-300, 1e-160, 1e154, 1e300])
def test_feature_map_handles_extreme_units(unit):
    plain, scaled = fit_map(X), fit_map(X * unit)
    assert scaled.used.all()
    np.testing.assert_allclose(scaled.linear(X * unit), plain.linear(X), rtol=1e-9, atol=1e-12)


def test_columns_far_from_zero_keep_their_digits():
    far = X + 1e12
    assert fit_map(far).used.all()
    np.testing.assert_allclose(fit_map(far).linear(far), fit_map(X).linear(X), atol=1e-3)
    assert not fit_map(np.full((60, 1), 0.1) + 1e-17).used.any()
