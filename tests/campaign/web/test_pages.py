"""The pages."""

from pathlib import Path

from pairsmith.campaign.people import enrolment
from pairsmith.campaign.people import invites as people
from pairsmith.campaign.store import wordings
from pairsmith.campaign.web import pages
from support.campaigns import client_of

STATIC = Path(pages.__file__).parent / "static"
SCRIPTS = [f"/static/{path.name}" for path in STATIC.glob("*.js")]


def test_pages_need_nothing_from_elsewhere(api):
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


def test_who_enrols_sees_the_question_as_it_was_edited(tmp_path, make):
    store = make(str(tmp_path / "t.db"), question="Which?")
    link = enrolment.open_places(store, 2)
    wordings.edit(store, "Which now?")
    with client_of(store) as api:
        assert "<h1>Which now?</h1>" in api.get(f"/enrol/{link}").text
