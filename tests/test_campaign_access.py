"""Who may ask for what."""

import pytest
from fastapi.testclient import TestClient

from pairsmith.campaign import people
from pairsmith.campaign.web.app import create_app

PRIVATE = [
    ("POST", "/api/next", "labeller"),
    ("POST", "/api/renew", "labeller"),
    ("POST", "/api/answer", "labeller"),
    ("POST", "/api/undo", "labeller"),
    ("GET", "/api/progress", "labeller"),
    ("GET", "/", "labeller"),
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

    wrong = {"organiser": ["labeller"], "labeller": ["organiser"], "either": []}[role]
    assert status() == 401
    for right in {"labeller", "organiser"} - set(wrong):
        token = people.invite(store, "anna", right)
        others = [people.invite(store, "ben", other) for other in wrong]
        for guess in ("", "guess", token[:-1], f"{token}x", token.swapcase(), "é", "%00", *others):
            assert status(guess) == 401
        assert status(token) in (200, 404, 409)  # of the lease x, of what was not shown, or of what is not paused
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
def test_the_cookie_travels_through_tls_only_unless_told(store, scheme, options, secure):
    with TestClient(create_app(store, **options), base_url=f"{scheme}://localhost") as client:
        answer = client.get(f"/join/{people.invite(store, 'anna')}", follow_redirects=False)
        assert ("secure" in answer.headers["set-cookie"].lower()) == secure
