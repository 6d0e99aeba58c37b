"""The pages, their languages, and the organisers' downloads."""

import io
import re
from pathlib import Path

import pandas as pd
import pytest

from pairsmith.campaign.answering import leases
from pairsmith.campaign.people import enrolment
from pairsmith.campaign.people import invites as people
from pairsmith.campaign.reporting import dashboard
from pairsmith.campaign.reporting.report import make_report
from pairsmith.campaign.store import wordings
from pairsmith.campaign.store.answers import add_answers
from pairsmith.campaign.store.snapshot import take_snapshot
from pairsmith.campaign.web import pages
from pairsmith.campaign.web.pages import WORDS, choose_language
from support.campaigns import answer_next, answers_of, client_of

WEB = Path(pages.__file__).parent
SCRIPTS = [f"/static/{path.name}" for path in WEB.glob("static/*.js")]


def test_pages_load_nothing_from_other_sites(api):
    assert len(SCRIPTS) >= 4
    for path in ("/", "/dashboard", "/api", *SCRIPTS, "/static/campaign.css", "/nowhere"):
        text = api.get(path).text
        assert "//cdn" not in text
        assert "https://" not in text.replace("http://www.w3.org/2000/svg", "")
    assert "POST /api/answer" in api.get("/api").text
    assert api.get("/api/openapi.json").json()["paths"].keys() >= {"/api/next", "/api/answer", "/api/undo"}


def test_the_dashboard_leads_to_the_rating_page_where_it_may_be_opened(store, local, public):
    link = '<a class="button" href="/">'
    assert link in local.get("/dashboard").text
    public.get(f"/organise/{people.invite(store, 'olga', 'organiser')}")
    assert link not in public.get("/dashboard").text
    public.get(f"/join/{people.invite(store, 'olga', 'rater')}")
    assert link in public.get("/dashboard").text


def test_the_enrolment_page_shows_the_edited_question(tmp_path, make):
    store = make(str(tmp_path / "t.db"), question="Which?")
    link = enrolment.open_places(store, 2)
    wordings.edit(store, "Which now?")
    with client_of(store) as api:
        assert "<h1>Which now?</h1>" in api.get(f"/enrol/{link}").text


def test_the_page_of_an_answer_shows_the_pair_as_the_rater_saw_it(tmp_path, make):
    names = [f"{row:03d}" for row in range(12)]
    parts = [[("text", f"<b>{name}</b>"), ("markdown", f"**{name}**")] for name in names]
    store = make(str(tmp_path / "t.db"), parts=parts, question="Which?", comments=True)
    me = people.local_rater(store)
    lease = leases.next_pair(store, me)
    leases.answer(store, me, lease.token, "right", 2.5, comment="<i>so</i>")
    wordings.edit(store, "Another?")
    with client_of(store) as api:
        page = api.get("/answers/1").text
        assert "<h1>Which?</h1>" in page
        left, right = (
            page.index(f"&lt;b&gt;{lease.left:03d}&lt;/b&gt;"),
            page.index(f"&lt;b&gt;{lease.right:03d}&lt;/b&gt;"),
        )
        assert left < right
        assert f"<strong>{lease.left:03d}</strong>" in page
        assert left < page.index('class="chosen"') < right
        assert "after 2.5 seconds" in page
        assert "&lt;i&gt;so&lt;/i&gt;" in page
        assert api.get("/answers/2").status_code == 404


def test_the_list_of_answers_is_filtered_and_paged(tmp_path, make):
    store = make(str(tmp_path / "t.db"), n=30, k=60)
    for _ in range(55):
        answer_next(store)
    with client_of(store) as api:
        first = api.get("/answers?person=local").text
        assert "55 answers" in first
        assert first.count("data-answer=") == 50
        assert 'href="?person=local&amp;page=2"' in first
        assert api.get("/answers?person=local&page=2").text.count("data-answer=") == 5
        assert "No such answers" in api.get("/answers", params={"item": "<nothing>"}).text
        assert "&lt;nothing&gt;" in api.get("/answers", params={"item": "<nothing>"}).text
        for wrong in ("page=0", "page=x", "item=%00", "disputed=perhaps"):
            assert api.get(f"/answers?{wrong}").status_code == 422


def test_the_ranking_and_the_answers_are_downloaded_as_csv(api):
    for _ in range(3):
        answer_next(api.store)
    add_answers(api.store, answers_of([(0, 1)], rater="=cmd()"))
    dashboard.save_report(api.store, make_report(take_snapshot(api.store)))
    found = api.get("/download/ranking.csv")
    assert found.headers["content-disposition"] == 'attachment; filename="ranking.csv"'
    assert found.headers["content-type"] == "text/csv; charset=utf-8"
    ranking = pd.read_csv(io.StringIO(found.text), dtype={"id": str})
    assert ranking["rank"].tolist() == list(range(1, 13))
    assert set(ranking["id"]) == set(api.store.items.names)
    assert ranking["score"].is_monotonic_decreasing
    answers = pd.read_csv(io.StringIO(api.get("/download/answers.csv").text), dtype=str)
    assert len(answers) == 4
    assert "'=cmd()" in answers["rater"].tolist()  # a spreadsheet must not take it for a formula


def test_before_the_first_report_the_ranking_is_empty(api):
    assert api.get("/download/ranking.csv").text == "rank,id,score,low,high,best,worst,in_top\n"


@pytest.mark.parametrize("name", WORDS)
def test_every_language_has_every_word_with_the_same_blanks(name):
    english, words = WORDS["en"], WORDS[name]
    assert words.keys() == english.keys()
    for key, text in words.items():
        assert text.strip(), key
        assert set(re.findall(r"{\w+}", text)) == set(re.findall(r"{\w+}", english[key])), key
    if name != "en":
        assert words["language"] != english["language"]


def test_the_raters_pages_use_exactly_the_words_that_there_are():
    """Some keys are put together, such as nothing_why; the page names their first part."""
    sources = [*WEB.glob("static/*.js"), WEB / "templates/rate.html", WEB / "templates/enrol.html"]
    organisers = "dashboard.js", "charts.js", "organise.js", "ranking.js"
    text = "".join(path.read_text() for path in sources if path.name not in organisers)
    names = {"language"} | set(re.findall(r"words\.(\w+)", text)) | set(re.findall(r"\"(\w+)\"", text))
    assert {key for key in WORDS["en"] if key.removesuffix("_why") not in names} == set()
    assert set(re.findall(r"\bwords\.(\w+)", text)) | set(re.findall(r"say\(\"(\w+)\"", text)) <= {
        *WORDS["en"], "js"}  # fmt: skip


@pytest.mark.parametrize(
    ("requested", "accepted", "chosen"),
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
def test_the_link_chooses_the_language_and_else_the_browser(requested, accepted, chosen):
    assert choose_language(requested, accepted) == chosen


def test_invite_links_and_pages_keep_the_language(public, store):
    token = people.invite(store, "anna")
    answer = public.get(f"/join/{token}?lang=es", follow_redirects=False)
    assert answer.headers["location"] == "/?lang=es"
    assert public.get(f"/join/{token}?lang=//evil", follow_redirects=False).headers["location"] == "/"
    assert '<html lang="es">' in public.get("/?lang=es").text
    assert ">Omitir" in public.get("/", headers={"Accept-Language": "es"}).text
    assert '<html lang="en">' in public.get("/").text
