"""Hashes of contents. Checkpoints store them, so the way they are computed must not change."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import numpy.typing as npt

from pairsmith.data.features import Features

_BYTES_PER_UPDATE = 1 << 24


def of_arrays(*arrays: npt.NDArray[Any]) -> str:
    """Return a hash of the shapes, types and contents of arrays."""
    hashed = _new_hash()
    for array in arrays:
        hashed.update(f"{array.shape}{array.dtype}".encode())
        step = max(1, _BYTES_PER_UPDATE // max(1, array[:1].nbytes))
        for low in range(0, len(array), step):
            part = array[low : low + step]
            hashed.update(np.ascontiguousarray(part + 0.0 if part.dtype.kind == "f" else part).data)  # -0.0 is 0.0
    return hashed.hexdigest()


def of_features(features: Features) -> str:
    """Return a hash of the features' numbers. It does not depend on their type or on where they are stored."""
    hashed = _new_hash()
    for block in features.apply_to_blocks(_hash_block):
        hashed.update(block)
    return hashed.hexdigest()


def _hash_block(_low: int, block: npt.NDArray[Any]) -> bytes:
    hashed = _new_hash()
    hashed.update(f"{block.shape}".encode())
    hashed.update(np.ascontiguousarray(np.asarray(block, dtype=np.float64) + 0.0).data)
    return hashed.digest()


def _new_hash() -> hashlib.blake2b:
    return hashlib.blake2b(digest_size=16)
