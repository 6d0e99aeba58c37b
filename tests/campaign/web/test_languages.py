"""The languages of the rating page."""

import re
from pathlib import Path

import pytest

from pairsmith.campaign.people import invites as people
from pairsmith.campaign.web import languages
from pairsmith.campaign.web.languages import WORDS, choose

WEB = Path(languages.__file__).parent


@pytest.mark.parametrize("name", WORDS)
def test_every_language_has_every_word_with_the_same_blanks(name):
    english, words = WORDS["en"], WORDS[name]
    assert words.keys() == english.keys()
    for key, text in words.items():
        assert text.strip(), key
        assert set(re.findall(r"{\w+}", text)) == set(re.findall(r"{\w+}", english[key])), key
    if name != "en":
        assert words["language"] != english["language"]


def test_every_word_is_used_and_no_other():
    """Of keys that are put together, such as nothing_why, the page names the first part."""
    sources = [*WEB.glob("static/*.js"), WEB / "templates/rate.html", WEB / "templates/enrol.html"]
    organisers = "dashboard.js", "charts.js", "organise.js", "ranking.js"
    text = "".join(path.read_text() for path in sources if path.name not in organisers)
    names = {"language"} | set(re.findall(r"words\.(\w+)", text)) | set(re.findall(r"\"(\w+)\"", text))
    assert {key for key in WORDS["en"] if key.removesuffix("_why") not in names} == set()
    assert set(re.findall(r"\bwords\.(\w+)", text)) | set(re.findall(r"say\(\"(\w+)\"", text)) <= {
        *WORDS["en"], "js"}  # fmt: skip


@pytest.mark.parametrize(
    ("asked", "accepted", "found"),
    [
        (None, "", "en"),
        (None, "es-MX,es;q=0.9,en;q=0.8", "es"),
        (None, "en;q=0.5, zh-Hans-CN", "zh"),
        (None, "de, fr;q=0.9, *;q=0.1", "en"),
        (None, "de-CH, ES ;q=0.3, zh;q=nonsense", "zh"),
        ("es", "zh", "es"),
        ("xx", "zh", "zh"),
        ("../en", "", "en"),
    ],
)
def test_the_link_decides_or_else_the_browser(asked, accepted, found):
    assert choose(asked, accepted) == found


def test_the_page_and_the_invite_speak_it(public, store):
    token = people.invite(store, "anna")
    answer = public.get(f"/join/{token}?lang=es", follow_redirects=False)
    assert answer.headers["location"] == "/?lang=es"
    assert public.get(f"/join/{token}?lang=//evil", follow_redirects=False).headers["location"] == "/"
    assert '<html lang="es">' in public.get("/?lang=es").text
    assert ">Omitir" in public.get("/", headers={"Accept-Language": "es"}).text
    assert '<html lang="en">' in public.get("/").text
