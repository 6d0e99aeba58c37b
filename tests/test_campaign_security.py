"""Attacks from outside, and the OpenAPI schema against random requests."""

import socket
import subprocess
import sys

import httpx2 as httpx
import pytest
import schemathesis
from fastapi.testclient import TestClient
from hypothesis import given

from pairsmith.campaign.gate import LARGEST
from pairsmith.campaign.web import create_app

EVIL = '<script>document.title="owned"</script><img src=x onerror="document.title=\'owned\'">'


@pytest.fixture
def store(tmp_path, make):
    secret = tmp_path / "secret.txt"
    secret.write_text("secret")
    (tmp_path / "shown.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>')
    parts = [[("image", str(tmp_path / "shown.svg")), ("text", EVIL), ("markdown", EVIL)]] * 12
    return make(str(tmp_path / "t.db"), parts=parts, question=EVIL)


@pytest.fixture
def local(store):
    with TestClient(create_app(store), base_url="http://127.0.0.1:8000") as client:
        yield client


@pytest.fixture
def public(store):
    with TestClient(create_app(store, local=False), base_url="http://label.example.org") as client:
        yield client


PRIVATE = [
    ("POST", "/api/next", "labeller"),
    ("POST", "/api/answer", "labeller"),
    ("POST", "/api/undo", "labeller"),
    ("GET", "/api/progress", "labeller"),
    ("GET", "/", "labeller"),
    ("GET", "/media/0/0", "labeller"),
    ("GET", "/api/ranking", "organiser"),
    ("GET", "/api/dashboard", "organiser"),
    ("GET", "/dashboard", "organiser"),
]


@pytest.mark.parametrize(("method", "path", "role"), PRIVATE)
def test_beyond_this_machine_everything_needs_the_right_invite(public, store, method, path, role):
    bodies = {"/api/next": {}, "/api/answer": {"lease": "x", "choice": "left"}, "/api/undo": {"lease": "x"}}

    def status(token=None):
        headers = {} if token is None else {"Authorization": f"Bearer {token}".encode()}
        return public.request(method, path, json=bodies.get(path), headers=headers).status_code

    other = "organiser" if role == "labeller" else "labeller"
    token = store.invite("anna", role)
    assert status() == 401
    for guess in ("", "guess", token[:-1], f"{token}x", token.swapcase(), store.invite("ben", other), "é", "%00"):
        assert status(guess) == 401
    assert status(token) in (200, 404)  # 404: of the lease x
    store.revoke("anna")
    assert status(token) == 401


def test_an_invite_link_sets_a_cookie_that_scripts_and_other_sites_cannot_use(public, store):
    token = store.invite("anna")
    assert public.get("/join/guess").status_code == 401
    assert public.get(f"/organise/{token}").status_code == 401
    answer = public.get(f"/join/{token}", follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=lax" in cookie
    assert public.get("/").status_code == 200
    assert public.get("/media/0/0").status_code == 200
    assert public.get("/dashboard").status_code == 401
    store.revoke("anna")
    assert public.get("/").status_code == 401
    organiser = store.invite("ole", "organiser")
    assert public.get(f"/organise/{organiser}").url.path == "/dashboard"


def test_a_secure_connection_gets_a_secure_cookie(store):
    with TestClient(create_app(store, local=False), base_url="https://label.example.org") as client:
        answer = client.get(f"/join/{store.invite('anna')}", follow_redirects=False)
        assert "secure" in answer.headers["set-cookie"].lower()


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:9999"},
        {"Origin": "http://["},
        {"Origin": "127.0.0.1:8000"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_posts_from_other_sites_are_refused(local, headers):
    assert local.post("/api/next", json={}, headers=headers).status_code == 403
    assert local.post("/api/next", json={}, headers={"Origin": "http://127.0.0.1:8000"}).status_code == 200


def test_a_form_of_another_site_cannot_be_an_answer(local):
    lease = local.post("/api/next", json={}).json()["pair"]["lease"]
    body = f'{{"lease": "{lease}", "choice": "left"}}'
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"):
        assert local.post("/api/answer", content=body, headers={"Content-Type": kind}).status_code == 422
    assert local.get("/api/progress").json()["answers"] == 0


def test_another_name_for_this_machine_is_refused(local):
    for host in ("evil.example", "evil.example:8000", "127.0.0.1.evil.example", "", "[", "localhost@evil.example"):
        assert local.get("/", headers={"Host": host}).status_code == 400, host
    for host in ("localhost:8000", "127.0.0.1", "[::1]:8000"):
        assert local.get("/", headers={"Host": host}).status_code == 200, host


def test_large_bodies_are_refused(local):
    assert local.post("/api/next", content=b"x" * (LARGEST + 1)).status_code == 413
    assert local.post("/api/next", content=(b"x" * 1000 for _ in range(40))).status_code == 413
    assert local.post("/api/next", json={"holding": ["x"] * 9}).status_code == 422


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b'{"lease": 1, "choice": "left"}',
        b'{"lease": null, "choice": "left"}',
        b'{"lease": "\\u0000", "choice": "left"}',
        b'{"lease": "\\ud800", "choice": "left"}',
        b'{"lease": "\xff", "choice": "left"}',
        b'{"lease": "x", "choice": "left", "seconds": "soon"}',
        b'{"lease": "x", "choice": "left", "seconds": -1}',
        b'{"lease": "x", "choice": "left", "seconds": NaN}',
        b'{"lease": "x", "choice": "left", "seconds": 1e999}',
        b'{"lease": "x", "choice": "left", "outcome": 1}',
        b'{"lease": {"$ne": ""}, "choice": "left"}',
        b"[" * 10_000,
    ],
)
def test_wrong_types_are_refused(local, body):
    answer = local.post("/api/answer", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code in (400, 422)
    assert isinstance(answer.json()["detail"], str)


def test_only_files_that_the_campaign_lists_can_be_fetched(tmp_path, store, serve):
    url, _ = serve(store.target)
    host, port = url.removeprefix("http://").split(":")
    assert httpx.get(f"{url}/media/0/0").status_code == 200
    for path in (
        "/media/0/../../secret.txt",
        "/media/..%2f..%2fsecret.txt/0",
        "/static/../web.py",
        "/static/..%2fweb.py",
        "/static/%2e%2e/web.py",
        "/static//etc/passwd",
        "/static/....//web.py",
        f"/media/0/{tmp_path}/secret.txt",
        "/media/0/0%00.txt",
        "//etc/passwd",
        "/media/0/1",
        "/t.db",
    ):
        with socket.create_connection((host, int(port))) as raw:  # a client would tidy the path
            raw.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".encode())
            answer = b""
            while more := raw.recv(65536):
                answer += more
        assert answer.split()[1] in (b"404", b"422", b"400"), path
        assert b"secret" not in answer.split(b"\r\n\r\n", 1)[1].replace(b"secret.txt", b"")


def test_headers_and_text_leave_no_room_for_scripts(local):
    for path in ("/", "/dashboard", "/api/progress", "/static/campaign.js", "/media/0/0", "/nowhere"):
        headers = local.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
        assert headers["referrer-policy"] == "no-referrer"
    assert "sandbox" in local.get("/media/0/0").headers["content-security-policy"]
    for path in ("/", "/dashboard"):
        assert EVIL not in local.get(path).text  # it is in the question
    _, text, markdown = local.post("/api/next", json={}).json()["pair"]["left"]
    assert text["text"] == EVIL  # shown as text
    assert "<script" not in markdown["html"]
    assert "<img" not in markdown["html"]


def test_the_server_listens_to_this_machine_only_unless_told(tmp_path, store, serve):
    url, _ = serve(store.target)
    own = socket.gethostbyname(socket.gethostname())
    if not own.startswith("127."):
        with pytest.raises(httpx.TransportError):
            httpx.get(url.replace("127.0.0.1", own), timeout=2)
    public, _ = serve(store.target, "--host", "0.0.0.0")
    here = public.replace("0.0.0.0", "127.0.0.1")
    assert httpx.get(here).status_code == 401
    assert httpx.get(f"{here}/join/{store.invite('anna')}").status_code == 303
    behind, _ = serve(store.target, "--invited")
    assert httpx.get(behind).status_code == 401


def test_a_taken_port_is_one_line(tmp_path, store, serve):
    url, _ = serve(store.target)
    port = url.split(":")[-1]
    again = subprocess.run(
        [sys.executable, "-m", "pairsmith.cli", "label", store.target, "--no-open", "--port", port],
        capture_output=True,
        text=True,
    )
    assert again.returncode == 2
    assert again.stderr.startswith(f"Error: cannot serve at 127.0.0.1, port {port}: ")
    assert again.stderr.count("\n") == 1


OPERATIONS = [
    ("/api/next", "POST"),
    ("/api/answer", "POST"),
    ("/api/undo", "POST"),
    ("/api/progress", "GET"),
    ("/api/ranking", "GET"),
    ("/api/dashboard", "GET"),
]


@pytest.mark.parametrize("mode", [schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE])
@pytest.mark.parametrize(("path", "method"), OPERATIONS)
def test_every_request_gets_what_the_schema_promises(local, path, method, mode):
    contract = schemathesis.openapi.from_asgi("/api/openapi.json", local.app, headers={"Host": "127.0.0.1"})
    assert {(path, method.upper()) for path in contract for method in contract[path]} == set(OPERATIONS)
    if mode == schemathesis.GenerationMode.NEGATIVE and method == "GET" and path != "/api/ranking":
        return  # nothing to get wrong

    @given(case=contract[path][method].as_strategy(generation_mode=mode))
    def check(case):
        case.call_and_validate(headers={"Host": "127.0.0.1"})

    check()
