"""Who may use which routes."""

import httpx2 as httpx
import pytest
from fastapi.testclient import TestClient

from pairsmith.campaign.options import CampaignOptions
from pairsmith.campaign.people import enrolment, trust
from pairsmith.campaign.people import invites as people
from pairsmith.campaign.web.app import create_app

PRIVATE = [
    ("POST", "/api/next", "rater"),
    ("POST", "/api/renew", "rater"),
    ("POST", "/api/answer", "rater"),
    ("POST", "/api/undo", "rater"),
    ("GET", "/api/progress", "rater"),
    ("GET", "/", "rater"),
    ("GET", "/api/ranking", "organiser"),
    ("GET", "/api/dashboard", "organiser"),
    ("GET", "/dashboard", "organiser"),
    ("GET", "/answers", "organiser"),
    ("GET", "/answers/1", "organiser"),
    ("POST", "/api/exclude", "organiser"),
    ("POST", "/api/strike", "organiser"),
    ("POST", "/api/wording", "organiser"),
    ("POST", "/api/state", "organiser"),
    ("GET", "/media/0/0/small", "organiser"),
    ("GET", "/download/ranking.csv", "organiser"),
    ("GET", "/download/answers.csv", "organiser"),
    ("GET", "/media/0/0", "either"),
    ("GET", "/api", "either"),
    ("GET", "/api/openapi.json", "either"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("method", "path", "role"), PRIVATE)
def test_beyond_this_machine_everything_needs_the_right_invite(public, store, method, path, role):
    bodies = {
        "/api/next": {},
        "/api/renew": {},
        "/api/answer": {"lease": "x", "choice": "left"},
        "/api/undo": {"lease": "x"},
        "/api/exclude": {"name": "x", "excluded": True},
        "/api/strike": {"answer": 1, "struck": True},
        "/api/wording": {"question": "Which?", "instructions": ""},
        "/api/state": {"action": "resume"},
    }

    def status(token=None):
        headers = {} if token is None else {"Authorization": f"Bearer {token}".encode()}
        return public.request(method, path, json=bodies.get(path), headers=headers).status_code

    wrong = {"organiser": ["rater"], "rater": ["organiser"], "either": []}[role]
    assert status() == 401
    for right in {"rater", "organiser"} - set(wrong):
        token = people.invite(store, "anna", right)
        others = [people.invite(store, "ben", other) for other in wrong]
        for guess in ("", "guess", token[:-1], f"{token}x", token.swapcase(), "é", "%00", *others):
            assert status(guess) == 401
        assert status(token) in (200, 404, 409)  # found, not shown to this person, or not paused
        people.revoke(store, "anna")
        assert status(token) == 401


def test_an_invite_link_sets_a_cookie_that_scripts_and_other_sites_cannot_use(public, store):
    token = people.invite(store, "anna")
    assert public.get("/join/guess").status_code == 401
    assert public.get(f"/organise/{token}").status_code == 401
    answer = public.get(f"/join/{token}", follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=lax" in cookie
    assert "secure" in cookie
    assert public.get("/").status_code == 200
    assert public.get("/dashboard").status_code == 401
    people.revoke(store, "anna")
    assert public.get("/").status_code == 401
    organiser = people.invite(store, "ole", "organiser")
    assert public.get(f"/organise/{organiser}").url.path == "/dashboard"


@pytest.mark.parametrize(
    ("scheme", "options", "secure"),
    [
        ("http", {"local": False}, True),
        ("http", {"local": False, "insecure": True}, False),
        ("https", {"local": False, "insecure": True}, True),
        ("http", {"local": True}, False),
    ],
)
def test_the_cookie_travels_over_tls_only_unless_insecure(store, scheme, options, secure):
    with TestClient(create_app(store, **options), base_url=f"{scheme}://localhost") as client:
        answer = client.get(f"/join/{people.invite(store, 'anna')}", follow_redirects=False)
        assert ("secure" in answer.headers["set-cookie"].lower()) == secure


def test_campaigns_on_two_ports_of_a_host_keep_their_invites_apart(tmp_path, make, served):
    """Browsers send cookies to all ports of a host, and so does this client."""
    one, two = make(str(tmp_path / "one.db")), make(str(tmp_path / "two.db"))
    here, there = served(one, local=False, insecure=True), served(two, local=False, insecure=True)
    with httpx.Client() as browser:
        assert browser.get(f"{here}/join/{people.invite(one, 'anna')}").status_code == 303
        for joined in (
            browser.get(f"{there}/join/{people.invite(two, 'ben')}"),
            browser.get(f"{there}/organise/{people.invite(two, 'ole', 'organiser')}"),
            browser.post(f"{there}/api/enrol", json={"link": enrolment.open_places(two, 1), "name": "carla"}),
        ):
            assert joined.status_code in (200, 303)
            assert browser.get(here).status_code == 200
            assert browser.get(f"{here}/dashboard").status_code == 401
            assert browser.get(there).status_code == 200
        assert browser.get(f"{there}/dashboard").status_code == 200
        assert len(browser.cookies) == 3


def test_the_cookie_has_a_valid_name_for_any_campaign_id(store, monkeypatch):
    monkeypatch.setattr(
        store, "settings", CampaignOptions(**vars(store.settings) | {"id": "x=1; Domain=example.org\r\ny é"})
    )
    trust.confirm(store, store.settings.folder)
    with TestClient(create_app(store, local=False), base_url="https://label.example.org") as client:
        joined = client.get(f"/join/{people.invite(store, 'anna')}", follow_redirects=False)
        assert "domain" not in joined.headers["set-cookie"].lower()
        assert client.get("/").status_code == 200
