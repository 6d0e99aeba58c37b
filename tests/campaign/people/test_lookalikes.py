"""Names that look alike."""

import unicodedata

import pytest

from pairsmith.campaign.people.lookalikes import _ALIKE, find_lookalike, is_visible


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("ben", "bеn"),  # Cyrillic е
        ("Ben", "Вen"),  # Cyrillic В, whose small letter does not look like b
        ("BEN", "ΒΕΝ"),  # Greek
        ("Nina", "Νina"),  # Greek Ν, whose small letter looks like v
        ("Zoë", "Zoё"),  # accents stay beside letters of another alphabet
        ("Zoë", "Zoe\u0308"),
        ("José", "Jοsе́"),
        ("Sona", "Տօոа"),  # Armenian, and one Cyrillic letter
        ("Anna", "anna"),
        ("Νίκος", "ΝΊΚΟΣ"),
        ("Strauß", "STRAUSS"),
        ("Anna", "Ａｎｎａ"),
        ("Anna", "𝐀𝐧𝐧𝐚"),
        ("Anna Meier", "Anna\u00a0 Meier "),
        ("Anna Meier", "Anna\u2800Meier"),
        ("Anna", "An\u200bna"),
        ("Anna", "An\u034fna\ufe0f"),
        ("Anna", "Anna\u3164"),
        ("Paul", "PauI"),  # capital i
        ("imported", "ımported"),
    ],
)
def test_lookalikes_resemble_each_other(one, other):
    assert find_lookalike(one, ["somebody", other]) == other
    assert find_lookalike(other, ["somebody", one]) == one


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Ana", "Anna"),
        ("李", "季"),
        ("Müller", "Muller"),
        ("Ian", "Lan"),
        ("Ina", "Lina"),
        ("Marna", "Mama"),
        ("Arne", "Ame"),
        ("José", "Josè"),
        ("Ольга", "Олега"),
        ("Артём", "Артем"),
        ("Νίκη", "Νίκος"),
        ("民", "氏"),
        ("רון", "רוו"),
        ("p1", "p10"),
        ("gpt-4o", "gpt-40"),
        ("Anna Meier", "AnnaMeier"),
    ],
)
def test_different_names_do_not_resemble_each_other(one, other):
    assert find_lookalike(one, [other]) is None
    assert find_lookalike(other, [one]) is None


def test_each_letter_looks_like_one_latin_letter():
    letters = "".join(_ALIKE.values())
    assert len(set(letters)) == len(letters)
    assert all(unicodedata.normalize("NFKD", letter) == letter for letter in letters)
    assert {unicodedata.name(letter).split()[0] for letter in letters} == {"LATIN", "GREEK", "CYRILLIC", "ARMENIAN"}
    assert all(latin.isascii() and latin.isalpha() for latin in _ALIKE)


@pytest.mark.parametrize("name", ["", " ", "\u3164", "\u2800", "\u200b", "\ufe0f"])
def test_invisible_names_are_recognised(name):
    assert not is_visible(name)
    assert is_visible(f"a{name}")
