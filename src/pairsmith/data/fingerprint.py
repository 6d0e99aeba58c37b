"""Hashes of contents. They are in checkpoints, so what they are made of stays what it is."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import numpy.typing as npt

from pairsmith.data.features import Features

_BYTES_AT_ONCE = 1 << 24


def of_arrays(*arrays: npt.NDArray[Any]) -> str:
    """A hash of these arrays' shapes, types and contents."""
    hashed = _hash()
    for array in arrays:
        hashed.update(f"{array.shape}{array.dtype}".encode())
        step = max(1, _BYTES_AT_ONCE // max(1, array[:1].nbytes))
        for low in range(0, len(array), step):
            part = array[low : low + step]
            hashed.update(np.ascontiguousarray(part + 0.0 if part.dtype.kind == "f" else part).data)  # -0.0 is 0.0
    return hashed.hexdigest()


def of_features(features: Features) -> str:
    """A hash of the numbers, whatever their type and wherever they are."""
    hashed = _hash()
    for block in features.over_blocks(_of_block):
        hashed.update(block)
    return hashed.hexdigest()


def _of_block(_low: int, block: npt.NDArray[Any]) -> bytes:
    hashed = _hash()
    hashed.update(f"{block.shape}".encode())
    hashed.update(np.ascontiguousarray(np.asarray(block, dtype=np.float64) + 0.0).data)
    return hashed.digest()


def _hash() -> hashlib.blake2b:
    return hashlib.blake2b(digest_size=16)
