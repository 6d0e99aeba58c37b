"""The gate: requests from other sites, under other names, with large bodies or through proxies."""

import os
import re
import shutil
import socket
import ssl
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import httpx2 as httpx
import pytest

from pairsmith.campaign.people import invites as people
from pairsmith.campaign.web.gate import MAX_BODY_BYTES
from support.campaigns import EVIL
from support.server_fixtures import free_port


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


def test_a_form_of_another_site_cannot_answer(local):
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
    assert local.post("/api/next", content=b"x" * (MAX_BODY_BYTES + 1)).status_code == 413
    assert local.post("/api/next", content=(b"x" * 1000 for _ in range(MAX_BODY_BYTES // 1000 + 1))).status_code == 413
    assert local.post("/api/next", json={"holding": ["x"] * 9}).status_code == 422


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "X-Forwarded-For",
        "X-Forwarded-Host",
        "X-Forwarded-Proto",
        "X-Forwarded-Port",
        "X-Original-Forwarded-For",
        "X-Real-IP",
        "X-Client-IP",
        "True-Client-IP",
        "CF-Connecting-IP",
        "Forwarded",
        "Via",
    ],
)
def test_without_invites_nothing_comes_through_a_proxy(local, public, store, name):
    for method, path in (("GET", "/"), ("GET", "/media/0/0"), ("POST", "/api/next")):
        refused = local.request(method, path, headers={name: "x"})
        assert refused.status_code == 400
        assert "--invited" in refused.json()["detail"]
    bearer = {"Authorization": f"Bearer {people.invite(store, 'anna')}", name: "x"}
    assert public.get("/", headers=bearer).status_code == 200


@pytest.mark.slow
def test_without_invites_nothing_comes_through_a_proxy_that_adds_nothing(store, serve):
    url, _ = serve(store.target, plans=False)
    host, port = url.removeprefix("http://").split(":")
    for number, status in ((b"1.0", b"400"), (b"1.1", b"200")):  # proxies that add no headers speak HTTP/1.0
        with socket.create_connection((host, int(port))) as raw:
            raw.sendall(b"GET / HTTP/%s\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n" % number)
            assert raw.recv(100).split()[1] == status


@pytest.fixture
def nginx(tmp_path):
    """Return nginx(url), which starts an nginx in front of this server, as in docs/campaigns.md, and gives its URL."""
    program = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin:/usr/local/sbin")
    assert program, "this test needs nginx; on Debian: apt-get install nginx-light"
    certificate = ["-subj", "/CN=label.example.org", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "2"]
    line = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "key.pem", "-out", "own.pem"]
    subprocess.run([*line, *certificate], cwd=tmp_path, check=True, capture_output=True)
    guide = (Path(__file__).parents[3] / "docs" / "campaigns.md").read_text()
    (block,) = re.findall(r"```nginx\n(.*?)```", guide, re.DOTALL)
    started = []

    def start(url):
        port = free_port()
        own = block.replace("listen 443 ssl", f"listen 127.0.0.1:{port} ssl").replace("http://127.0.0.1:8000", url)
        own = re.sub(r"ssl_certificate .*;", f"ssl_certificate {tmp_path}/own.pem;", own)
        own = re.sub(r"ssl_certificate_key .*;", f"ssl_certificate_key {tmp_path}/key.pem;", own)
        temporary = "".join(f"{name}_temp_path {tmp_path}/{name};" for name in
                            ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))  # fmt: skip
        config = tmp_path / "nginx.conf"
        config.write_text(
            f"daemon off; master_process off; pid {tmp_path}/pid; error_log {tmp_path}/error.log;"
            f" events {{}} http {{ access_log off; {temporary} {own} }}"
        )
        started.append(subprocess.Popen([program, "-p", tmp_path, "-c", config, "-e", tmp_path / "error.log"]))
        while started[-1].poll() is None:
            with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=10):
                return f"https://127.0.0.1:{port}"
            time.sleep(0.02)
        raise AssertionError((tmp_path / "error.log").read_text())

    yield start
    for process in started:
        process.terminate()
        process.wait()


def test_the_proxy_of_the_guide_works_with_invites(tmp_path, store, serve, nginx):
    url, _ = serve(store.target, "--invited", plans=False)
    front = nginx(url)
    trusted = ssl.create_default_context(cafile=tmp_path / "own.pem")
    with httpx.Client(base_url=front, verify=trusted, headers={"Origin": front}) as browser:
        assert browser.get("/").status_code == 401
        joined = browser.get(f"/join/{people.invite(store, 'anna')}")
        assert (joined.status_code, joined.headers["location"]) == (303, "/")
        assert "secure" in joined.headers["set-cookie"].lower()
        assert browser.get("/").status_code == 200
        pair = browser.post("/api/next", json={}).json()["pair"]
        assert browser.get(pair["left"][0]["url"]).content == (tmp_path / "shown.svg").read_bytes()
        taken = browser.post("/api/answer", json={"lease": pair["lease"], "choice": "left"})
        assert (taken.status_code, taken.json()["counted"]) == (200, True)
        other = browser.post("/api/next", json={}, headers={"Origin": "https://evil.example"})
        assert other.status_code == 403
        assert browser.get("/dashboard").status_code == 401


def test_a_proxy_without_invites_opens_nothing(tmp_path, store, serve, nginx):
    url, _ = serve(store.target, plans=False)
    assert httpx.get(url).status_code == 200
    front = nginx(url)
    with httpx.Client(base_url=front, verify=ssl.create_default_context(cafile=tmp_path / "own.pem")) as browser:
        for path in ("/", "/dashboard", "/api/dashboard", "/media/0/0"):
            refused = browser.get(path)
            assert refused.status_code == 400
        for host in ("127.0.0.1", "localhost"):  # the names that a proxy sends if it does not pass the host on
            refused = browser.get("/", headers={"Host": host})
            assert refused.status_code == 400
            assert "--invited" in refused.json()["detail"]


def test_headers_and_escaping_keep_scripts_out(local):
    for path in ("/", "/dashboard", "/api/progress", "/static/rate.js", "/media/0/0", "/nowhere"):
        headers = local.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
        assert headers["referrer-policy"] == "no-referrer"
    assert "sandbox" in local.get("/media/0/0").headers["content-security-policy"]
    for path in ("/", "/dashboard"):
        assert EVIL not in local.get(path).text  # the question contains it, escaped
    _, text, markdown = local.post("/api/next", json={}).json()["pair"]["left"]
    assert text["text"] == EVIL  # the page shows it as text
    assert "<script" not in markdown["html"]
    assert "<img" not in markdown["html"]
