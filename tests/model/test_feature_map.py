import numpy as np
import pytest

from pairsmith.model.feature_map import FeatureMap

X = np.random.default_rng(0).standard_normal((60, 5)) @ np.diag([1, 2, 3, 4, 5])


def of(X, landmarks=60):
    return FeatureMap.of(X, landmarks, np.random.default_rng(0))


def test_units_do_not_matter_and_constant_columns_are_dropped():
    units = np.array([1e-3, 1e3, 1, 1e2, 1e-2])
    plain = of(X)
    scaled = np.insert(X * units + 1e3 * units, 2, 7.0, axis=1)
    other = of(scaled)
    assert other.used.tolist() == [True, True, False, True, True, True]
    np.testing.assert_allclose(other.linear(scaled), plain.linear(X), atol=1e-9)
    np.testing.assert_allclose(other.smooth(other.linear(scaled), 0.3), plain.smooth(plain.linear(X), 0.3), atol=1e-7)


def test_linear_coordinates_have_mean_square_length_1():
    linear = of(X).linear(X)
    assert (linear**2).sum(axis=1).mean() == pytest.approx(1)
    np.testing.assert_allclose(linear.mean(axis=0), 0, atol=1e-12)


@pytest.mark.parametrize("scale", [0.1, 0.3, 1.0])
def test_with_all_items_as_landmarks_the_smooth_part_is_the_centred_kernel(scale):
    map = of(X)
    linear = map.linear(X)
    apart = ((linear[:, None] - linear) ** 2).sum(axis=2)
    median = np.median(apart[np.triu_indices(60, 1)])
    smooth = map.smooth(linear, scale)
    kernel = np.exp(-apart / (2 * scale * median))
    centring = np.eye(60) - 1 / 60
    np.testing.assert_allclose(smooth @ smooth.T, centring @ kernel @ centring, atol=1e-5)


def test_few_landmarks_and_items_that_are_the_same():
    map = of(np.vstack([X[:5]] * 4), landmarks=15)
    assert len(map.landmarks) <= 5
    assert map.smooth(map.linear(X), 0.3).shape == (60, len(map.landmarks))
    nothing = of(np.ones((6, 3)))
    assert nothing.linear(np.ones((6, 3))).shape == (6, 0)
    assert of(np.zeros((4, 0))).linear(np.zeros((4, 0))).shape == (4, 0)


@pytest.mark.parametrize("unit", [1e-300, 1e-160, 1e154, 1e300])
def test_units_may_be_as_large_and_as_small_as_numbers_are(unit):
    plain, scaled = of(X), of(X * unit)
    assert scaled.used.all()
    np.testing.assert_allclose(scaled.linear(X * unit), plain.linear(X), rtol=1e-9, atol=1e-12)


def test_columns_far_from_zero_keep_the_digits_they_have():
    far = X + 1e12
    assert of(far).used.all()
    np.testing.assert_allclose(of(far).linear(far), of(X).linear(X), atol=1e-3)
    assert not of(np.full((60, 1), 0.1) + 1e-17).used.any()
