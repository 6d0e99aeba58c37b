"""Names of items as people see them."""

from __future__ import annotations


def printable(text: str) -> str:
    """This text for a terminal: what is no printable character, such as the start of a colour code, as its escape."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def shortened(text: str, longest: int) -> str:
    """At most so many characters; what is left out of a long text is in its middle, as names differ at their ends."""
    if len(text) <= longest:
        return text
    end = (longest - 1) // 2
    return f"{text[: longest - 1 - end]}…{text[len(text) - end :]}"
