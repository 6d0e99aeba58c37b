"""Fingerprints must never change, because people have them in their checkpoints."""

import numpy as np
import pytest

from pairsmith.data.features import InMemory, TooLargeToCopy
from pairsmith.data.fingerprint import of_arrays, of_features

X = np.arange(12.0).reshape(4, 3) / 7
WHOLE = np.arange(12).reshape(4, 3)


def test_fingerprints_of_features_never_change():
    assert of_features(InMemory(X)) == "aee92d9c8755b22a0688f5978abce65f"
    assert of_features(TooLargeToCopy(WHOLE)) == "2764beb7c05279de1506957c9bdc5d59"
    blocks = np.arange(9_000_001, dtype=np.float32).reshape(-1, 1)  # three blocks, the last one not full
    assert of_features(TooLargeToCopy(blocks)) == "1628f68c1976eb0f837c4dcaf852648f"


def test_fingerprints_of_arrays_never_change():
    assert of_arrays(np.arange(5), np.array([[1, 2], [3, 4]], dtype=np.int32)) == "32b13b03b3e0a9881d4f60884395f5c1"
    assert of_arrays(np.zeros((0, 2), dtype=np.int64)) == "de1ac46cde5610eb85af3cd3e1883f82"


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.float32, np.float64])
def test_fingerprints_of_features_do_not_depend_on_type_storage_or_center(tmp_path, dtype):
    np.save(tmp_path / "features.npy", WHOLE.astype(dtype))
    expected = of_features(InMemory(WHOLE.astype(np.float64)))
    for array in (
        WHOLE.astype(dtype),
        np.asfortranarray(WHOLE, dtype=dtype),
        np.load(tmp_path / "features.npy", mmap_mode="r"),
    ):
        assert of_features(TooLargeToCopy(array)) == expected
        assert of_features(TooLargeToCopy(array).centred(np.ones(3))) == expected
    assert of_features(InMemory(WHOLE.astype(np.float64)).centred(np.ones(3))) == expected


def test_different_contents_have_different_fingerprints():
    changed = X.copy()
    changed[3, 2] = np.nextafter(changed[3, 2], 10)
    tables = [X, changed, X[::-1], X.T, X.reshape(2, 6), X[:3]]
    assert len({of_features(TooLargeToCopy(array)) for array in tables}) == len(tables)
    pairs = np.array([[0, 1], [2, 3]])
    arrays = [(pairs,), (pairs[::-1],), (pairs.astype(np.int32),), (pairs.ravel(),), (pairs, pairs), (pairs[:0],), ()]
    assert len({of_arrays(*some) for some in arrays}) == len(arrays)


def test_the_whole_of_a_long_array_is_hashed():
    long = np.arange(5_000_000)  # longer than one update of the hash
    other = long.copy()
    other[-1] += 1
    assert of_arrays(long) != of_arrays(other)
    assert of_arrays(long[::2]) == of_arrays(long[::2].copy())


def test_signs_of_zeros_do_not_matter():
    signed = np.array([[-0.0, 1.0], [0.0, -0.0]])
    assert of_arrays(signed) == of_arrays(np.abs(signed))
    assert of_features(InMemory(signed)) == of_features(InMemory(np.abs(signed)))
