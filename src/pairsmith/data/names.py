"""Names of items, and values, as people see them."""

from __future__ import annotations

from typing import Any

MAX_SHOWN = 40  # characters of a value in an error message


def printable(text: str) -> str:
    """This text for a terminal: what is no printable character, such as the start of a colour code, as its escape."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def shortened(text: str, longest: int) -> str:
    """At most so many characters; what is left out of a long text is in its middle, as names differ at their ends."""
    if len(text) <= longest:
        return text
    end = (longest - 1) // 2
    return f"{text[: longest - 1 - end]}…{text[len(text) - end :]}"


def quoted(value: Any) -> str:
    """Return a value as error messages show it: text in quotes, and long values without their middle."""
    if isinstance(value, str):
        return repr(shortened(str(value), MAX_SHOWN))  # numpy has texts that show their type
    return shortened(str(value), MAX_SHOWN)
