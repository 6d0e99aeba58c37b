"""Error messages."""

from pairsmith.campaign.answering import leases
from pairsmith.campaign.store.database import CampaignError
from support.campaigns import ask


def test_errors_have_a_status_and_a_message(api):
    assert api.get("/nowhere").status_code == 404
    assert api.get("/api/nowhere").json()["detail"] == "Not Found"
    assert api.post("/api/answer", json={"lease": "x", "choice": "left"}).status_code == 404
    wrong = api.post("/api/answer", json={"lease": "x", "choice": "both"})
    assert wrong.status_code == 422
    assert "choice" in wrong.json()["detail"]


def test_a_database_error_is_shown_to_the_organiser_only(api, monkeypatch, capfd):
    pair = ask(api, "next")["pair"]

    def locked(*_args, **_options):
        raise CampaignError("/home/me/t.db is locked by another program")

    monkeypatch.setattr(leases, "answer", locked)
    response = api.post("/api/answer", json={"lease": pair["lease"], "choice": "left"})
    assert response.status_code == 503
    assert "/home" not in response.text
    assert capfd.readouterr().err == "Error: /home/me/t.db is locked by another program\n"
