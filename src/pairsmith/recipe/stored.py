"""Arrays inside JSON: little-endian numbers in base64, which lose no digit and are read in no time."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
import numpy.typing as npt


def to_stored(array: npt.NDArray[Any]) -> dict[str, Any]:
    """The array as JSON takes it."""
    plain = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    return {"type": plain.dtype.str, "shape": list(plain.shape), "base64": base64.b64encode(plain.tobytes()).decode()}


def from_stored(content: Any, kind: str, dimensions: int) -> npt.NDArray[Any]:
    """What `to_stored` gave, of this type and so many dimensions; anything else is refused."""
    if content["type"] != kind or len(content["shape"]) != dimensions:
        raise ValueError("an array is of another kind")
    flat = np.frombuffer(base64.b64decode(content["base64"], validate=True), dtype=kind)
    array = flat.reshape([int(size) for size in content["shape"]]).astype(np.dtype(kind).newbyteorder("="))
    if not np.isfinite(array).all():
        raise ValueError("a number is not finite")
    return array
