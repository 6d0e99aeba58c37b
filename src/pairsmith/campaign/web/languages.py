"""The languages of the rating page: one file of words each, and which of them a visitor gets."""

from __future__ import annotations

import json
from pathlib import Path

WORDS: dict[str, dict[str, str]] = {
    path.stem: json.loads(path.read_text(encoding="utf-8"))
    for path in sorted((Path(__file__).parent / "words").glob("*.json"))
}


def choose(asked: str | None, accepted: str) -> str:
    """The language that a link asks for, or the first that the browser accepts (Accept-Language) and there is.

    English where there is none.
    """
    if asked in WORDS:
        return asked
    entries = (entry.lower().partition(";") for entry in accepted.split(","))
    liked = {tag.partition("-")[0].strip(): _quality(parameter) for tag, _, parameter in entries}
    return max((name for name in liked if name in WORDS), key=lambda name: liked[name], default="en")


def _quality(parameter: str) -> float:
    """The number of q=0.8, 1 where there is none."""
    try:
        return float(parameter.strip().removeprefix("q="))
    except ValueError:
        return 1.0
