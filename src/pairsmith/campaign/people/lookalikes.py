"""Find names that people would mistake for each other: by case, by spaces, or by letters of another alphabet.

Like the skeletons of Unicode's UTS #39, but for names of people: letters that look alike across Latin, Greek, Cyrillic
and Armenian count as one, but spelling tells people apart: Ana is not Anna, Müller is not Muller, and Marna is not
Mama, although UTS #39 equates m and rn.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from functools import lru_cache

# For each Latin letter, those that look like it in common fonts. Accents stay, because names are decomposed first.
_ALIKE = {
    **{"a": "ɑαа", "b": "ƄЬь", "c": "ᴄс", "d": "ԁ", "e": "ҽе", "f": "ք", "g": "ɡց", "h": "һհ", "i": "ıɩɪιі"},
    **{"j": "ϳј", "k": "κк", "l": "ƖǀӀӏ", "n": "ո", "o": "ᴏοоօ", "p": "ρр", "q": "ԛգ", "r": "г", "s": "ꜱѕ", "u": "ᴜυս"},
    **{"v": "ᴠνѵ", "w": "ᴡԝա", "x": "χх", "y": "γуү", "z": "ᴢ"},
    **{"A": "ΑА", "B": "ΒВ", "C": "С", "E": "ΕЕ", "F": "Ϝ", "G": "Ԍ", "H": "ΗН", "I": "ΙІ", "J": "ͿЈ", "K": "ΚК"},
    **{"M": "ΜМϺ", "N": "Ν", "O": "ΟОՕ", "P": "ΡР", "Q": "Ԛ", "S": "ЅՏ", "T": "ΤТ", "U": "Ս", "V": "Ѵ", "W": "Ԝ"},
    **{"X": "ΧХ", "Y": "ΥУҮ", "Z": "Ζ"},
}
_LATIN = {ord(letter): latin for latin, letters in _ALIKE.items() for letter in letters}
# Marks and letters without any width. Characters of the category Cf are dropped too.
_INVISIBLE = {0x34F, 0x115F, 0x1160, 0x17B4, 0x17B5, *range(0x180B, 0x1810), *range(0xFE00, 0xFE10)}
_INVISIBLE |= set(range(0xE0100, 0xE01F0))


def find_lookalike(name: str, others: Iterable[str]) -> str | None:
    """Return the first of these names that people would mistake for this one, or None."""
    forms = _comparable_forms(name)
    return next((other for other in others if any(map(str.__eq__, forms, _comparable_forms(other)))), None)


def is_visible(name: str) -> bool:
    """Return whether any character of this name can be seen."""
    return _plain(name) != ""


@lru_cache(16_384)  # a new name is compared with all others
def _comparable_forms(name: str) -> tuple[str, str, str]:
    """Return three forms of a name. Two names look alike if any of the three, compared in order, are equal.

    Case and letters are folded in both orders, because a capital and its small letter may look like different letters:
    Greek Ν looks like N, and ν like v. Capital I and small l look alike only before case is folded: Ian is not Lan.
    """
    plain = _plain(name)
    latin = plain.translate(_LATIN)
    return latin.casefold(), plain.casefold().translate(_LATIN), latin.replace("I", "l")


def _plain(name: str) -> str:
    """Return a name without invisible characters, fonts and widths, and with single spaces."""
    decomposed = unicodedata.normalize("NFKD", name).replace("\u2800", " ")  # an empty pattern of Braille
    visible = (c for c in decomposed if ord(c) not in _INVISIBLE and unicodedata.category(c) != "Cf")
    return " ".join("".join(visible).split())
