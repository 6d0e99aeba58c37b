"""Principal axes: against a full SVD, and blocks of different units."""

import json

import numpy as np
import pytest

from pairsmith.recipe.axes import PrincipalAxes


def test_coordinates_are_those_of_the_singular_vectors():
    vectors = np.random.default_rng(0).standard_normal((50, 8)) * np.arange(8, 0, -1)
    U, S, _ = np.linalg.svd((vectors - vectors.mean(axis=0)) / np.sqrt(vectors.var(axis=0).sum()), full_matrices=False)
    axes = PrincipalAxes.fit(vectors, 3, seed=0)
    np.testing.assert_allclose(np.abs(axes.apply(vectors)), np.abs(U[:, :3] * S[:3]), atol=1e-5)
    assert axes.kept == pytest.approx((S[:3] ** 2).sum() / (S**2).sum())
    assert axes.names == ["1", "2", "3"]


def test_the_units_of_a_block_do_not_matter():
    rng = np.random.default_rng(1)
    one, other = rng.standard_normal((40, 3)), rng.standard_normal((40, 5))
    found = PrincipalAxes.fit(np.hstack([one, other]), 4, 0, blocks=[3]).apply(np.hstack([one, other]))
    scaled = np.hstack([1000 * one, other])
    np.testing.assert_allclose(PrincipalAxes.fit(scaled, 4, 0, blocks=[3]).apply(scaled), found, atol=1e-5)


def test_rounding_is_no_axis():
    vectors = np.random.default_rng(0).standard_normal((3, 6))[np.arange(30) % 3]
    axes = PrincipalAxes.fit(vectors, 5, seed=0)
    assert len(axes.names) == 2  # three points lie in a plane
    assert axes.kept == pytest.approx(1)


def test_as_json_and_vectors_that_are_all_alike():
    vectors = np.random.default_rng(0).standard_normal((10, 4))
    axes = PrincipalAxes.fit(vectors, 99, seed=0)
    again = PrincipalAxes.from_json(json.loads(json.dumps(axes.to_json())))
    np.testing.assert_array_equal(again.apply(vectors), axes.apply(vectors))
    alike = PrincipalAxes.fit(np.ones((5, 4)), 3, seed=0)
    assert (alike.kept, alike.apply(np.ones((2, 4))).tolist()) == (0.0, [[0.0], [0.0]])
    with pytest.raises(ValueError, match="do not agree"):
        PrincipalAxes.from_json(
            axes.to_json() | {"center": alike.to_json()["center"] | {"shape": [2], "base64": "A" * 22 + "=="}}
        )
