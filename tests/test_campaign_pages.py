"""The pages."""

from pathlib import Path

from pairsmith.campaign import enrolment, wordings
from pairsmith.campaign.web import pages

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


def test_who_enrols_reads_the_question_of_now(local, store):
    link = enrolment.open_places(store, 2)
    wordings.edit(store, "Which now?")
    assert "Which now?" in local.get(f"/enrol/{link}").text
