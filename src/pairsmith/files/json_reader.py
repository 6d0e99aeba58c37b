"""Parse JSON as every reader here does: what is ambiguous, or nested too deeply, is refused."""

from __future__ import annotations

import json
from typing import Any

from pairsmith.data.names import quoted


class RepeatedKey(ValueError):
    """A JSON object has two values for one key."""


def parse_json(text: str | bytes) -> Any:
    """Return the value of a JSON text. Raise a ValueError for invalid JSON and for an object that repeats a key.

    The standard library keeps the last of equal keys without a word, so an edited file could mean two things.
    """
    try:
        return json.loads(text, object_pairs_hook=_as_object)
    except RecursionError:
        raise ValueError("the JSON is nested too deeply") from None


def _as_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise RepeatedKey(f"the key {quoted(key)} is there twice; keep one")
        found[key] = value
    return found
