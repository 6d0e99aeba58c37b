"""Texts as they are shown to people."""

from __future__ import annotations

from typing import Any

MAX_QUOTED_LENGTH = 40  # of a value in an error message, in characters


def printable(text: str) -> str:
    """Escape the characters that a terminal would not print, such as the start of a colour code."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def shortened(text: str, max_length: int) -> str:
    """Cut the middle out of a text that is longer than `max_length`; similar names tend to differ at their ends."""
    if len(text) <= max_length:
        return text
    end = (max_length - 1) // 2
    return f"{text[: max_length - 1 - end]}…{text[len(text) - end :]}"


def quoted(value: Any) -> str:
    """Return a value as error messages show it: text in quotes, and long values without their middle."""
    if isinstance(value, str):
        return repr(shortened(str(value), MAX_QUOTED_LENGTH))  # str(value), because numpy's texts show their type
    return shortened(str(value), MAX_QUOTED_LENGTH)
