"""Arrays inside JSON."""

import json

import numpy as np
import pytest

from pairsmith.recipe.stored import from_stored, to_stored


def test_no_digit_is_lost():
    for array in (np.array([0.1, -1e300, 5e-324]), np.array([[1, 2], [3, 2**60]]), np.ones((0, 3), dtype=np.float32)):
        content = json.loads(json.dumps(to_stored(array)))
        again = from_stored(content, array.dtype.newbyteorder("<").str, array.ndim)
        np.testing.assert_array_equal(again, array)
        assert again.dtype == array.dtype
        assert again.shape == array.shape


def test_what_is_something_else_is_refused():
    content = to_stored(np.ones(3))
    for other in (
        content | {"type": "|O"},
        content | {"shape": [4]},
        content | {"base64": "?"},
        to_stored(np.ones((1, 3))),
    ):
        with pytest.raises(ValueError, match=r"."):
            from_stored(other, "<f8", 1)
    with pytest.raises(ValueError, match="not finite"):
        from_stored(to_stored(np.array([np.nan])), "<f8", 1)
