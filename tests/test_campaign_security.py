"""Attacks from outside, and the OpenAPI schema against random requests."""

import logging
import os
import re
import shutil
import socket
import ssl
import stat
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import httpx2 as httpx
import pytest
import schemathesis
import sqlalchemy as sa
from fastapi.testclient import TestClient
from hypothesis import given

from conftest import free_port
from pairsmith import cli
from pairsmith.campaign import database, media, seals, server
from pairsmith.campaign.gate import LARGEST
from pairsmith.campaign.store import Store, _hash
from pairsmith.campaign.web import create_app

EVIL = '<script>document.title="owned"</script><img src=x onerror="document.title=\'owned\'">'


@pytest.fixture
def store(tmp_path, make):
    secret = tmp_path / "secret.txt"
    secret.write_text("secret")
    (tmp_path / "shown.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>')
    parts = [[("image", str(tmp_path / "shown.svg")), ("text", EVIL), ("markdown", EVIL)]] * 12
    return make(str(tmp_path / "t.db"), parts=parts, question=EVIL, media=tmp_path)


@pytest.fixture
def local(store):
    with TestClient(create_app(store), base_url="http://127.0.0.1:8000") as client:
        yield client


@pytest.fixture
def public(store):
    with TestClient(create_app(store, local=False), base_url="https://label.example.org") as client:
        yield client


PRIVATE = [
    ("POST", "/api/next", "labeller"),
    ("POST", "/api/answer", "labeller"),
    ("POST", "/api/undo", "labeller"),
    ("GET", "/api/progress", "labeller"),
    ("GET", "/", "labeller"),
    ("GET", "/api/ranking", "organiser"),
    ("GET", "/api/dashboard", "organiser"),
    ("GET", "/dashboard", "organiser"),
    ("GET", "/media/0/0", "either"),
    ("GET", "/api", "either"),
    ("GET", "/api/openapi.json", "either"),
]


@pytest.mark.parametrize(("method", "path", "role"), PRIVATE)
def test_beyond_this_machine_everything_needs_the_right_invite(public, store, method, path, role):
    bodies = {"/api/next": {}, "/api/answer": {"lease": "x", "choice": "left"}, "/api/undo": {"lease": "x"}}

    def status(token=None):
        headers = {} if token is None else {"Authorization": f"Bearer {token}".encode()}
        return public.request(method, path, json=bodies.get(path), headers=headers).status_code

    wrong = {"organiser": ["labeller"], "labeller": ["organiser"], "either": []}[role]
    assert status() == 401
    for right in {"labeller", "organiser"} - set(wrong):
        token = store.invite("anna", right)
        others = [store.invite("ben", other) for other in wrong]
        for guess in ("", "guess", token[:-1], f"{token}x", token.swapcase(), "é", "%00", *others):
            assert status(guess) == 401
        assert status(token) in (200, 404)  # 404: of the lease x, or of what was not shown
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
    assert "secure" in cookie
    assert public.get("/").status_code == 200
    assert public.get("/dashboard").status_code == 401
    store.revoke("anna")
    assert public.get("/").status_code == 401
    organiser = store.invite("ole", "organiser")
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
        answer = client.get(f"/join/{store.invite('anna')}", follow_redirects=False)
        assert ("secure" in answer.headers["set-cookie"].lower()) == secure


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


# Files: only those of the campaign's folder, and only what they claim to be

SVG = b'<?xml version="1.0"?><!-- <svg> --><svg xmlns="http://www.w3.org/2000/svg"/>'
BEGINNINGS = {
    ".png": b"\x89PNG\r\n\x1a\n",
    ".jpg": b"\xff\xd8\xff\xe0",
    ".gif": b"GIF89a",
    ".webp": b"RIFF\x10\x00\x00\x00WEBPVP8 ",
    ".avif": b"\x00\x00\x00\x1cftypmif1\x00\x00\x00\x00mif1avif",
    ".svg": SVG,
    ".mp3": b"\xff\xfb\x90\x64",
    ".wav": b"RIFF\x10\x00\x00\x00WAVEfmt ",
    ".opus": b"OggS",
    ".flac": b"fLaC",
    ".m4a": b"\x00\x00\x00\x20ftypM4A ",
    ".webm": b"\x1aE\xdf\xa3\x9f\x42\x86\x81\x01\x42\x82\x84webm",
}


@pytest.mark.parametrize("ending", BEGINNINGS)
def test_a_file_is_shown_only_if_it_begins_as_its_ending_claims(tmp_path, ending):
    kind = next(kind for kind, endings in media.MEDIA.items() if ending in endings)
    root = os.path.realpath(tmp_path)
    others = {".txt": b"root:x:0:0", ".html": b"<html><svg/></html>", ".utf16": "text".encode("utf-16"), ".none": b""}
    for own, head in (BEGINNINGS | others).items():
        (tmp_path / f"x{ending}").write_bytes(head + bytes(100))
        if own == ending or (own, ending) == (".avif", ".m4a"):  # both are of the MP4 family
            media.open_file(root, f"x{ending}", kind).close()
        else:
            with pytest.raises(media.MediaError, match="does not begin as"):
                media.open_file(root, f"x{ending}", kind)


def test_svgs_as_programs_write_them(tmp_path):
    for text in (
        "\ufeff<svg/>".encode(),
        '<?xml version="1.0" encoding="UTF-16"?><svg/>'.encode("utf-16"),
        b'<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "x.dtd" [<!ENTITY ns "http://x">]>\n<svg xmlns="&ns;"/>',
        b'<s:svg xmlns:s="http://www.w3.org/2000/svg"></s:svg>',
        b"<!--" + 9000 * b" long" + b"--><svg>" + 90000 * b"<g/>" + b"</svg>",
    ):
        (tmp_path / "x.svg").write_bytes(text)
        media.open_file(os.path.realpath(tmp_path), "x.svg", "image").close()


@pytest.fixture
def pictures(tmp_path, make):
    """A campaign whose items are the pictures 0.png to 11.png of a folder, beside which there is a secret."""
    (tmp_path / "secret.png").write_bytes(BEGINNINGS[".png"] + b"secret")
    folder = tmp_path / "pictures" / "deep"
    folder.mkdir(parents=True)
    for row in range(12):
        (folder / f"{row}.png").write_bytes(BEGINNINGS[".png"] + bytes([row]))
    parts = [[("image", f"deep/{row}.png")] for row in range(12)]
    return make(str(tmp_path / "t.db"), parts=parts, media=tmp_path / "pictures")


def swap(path, to):
    path.unlink()
    path.symlink_to(to)


def test_what_is_swapped_for_a_link_or_something_else_is_not_served(tmp_path, pictures):
    folder = tmp_path / "pictures" / "deep"
    (tmp_path / "text").write_text("secret")
    with TestClient(create_app(pictures), base_url="http://127.0.0.1") as client:

        def answer(row):
            found = client.get(f"/media/{row}/0")
            assert b"secret" not in found.content
            assert str(tmp_path) not in found.text
            return found.status_code, found.json()["detail"] if found.status_code == 404 else found.content[8:]

        assert answer(0) == (200, b"\0")
        swap(folder / "0.png", folder / "1.png")
        assert answer(0) == (200, b"\1")  # it stays within the folder
        swap(folder / "2.png", tmp_path / "secret.png")
        assert answer(2) == (404, "the file of this item lies outside the folder of the campaign's files")
        swap(folder / "3.png", tmp_path / "text")
        assert answer(3)[0] == 404
        (folder / "4.png").write_text("secret")
        assert "does not begin as image/png" in answer(4)[1]
        (folder / "5.png").unlink()
        assert answer(5) == (404, "the file of this item is not there, or cannot be read")
        os.mkfifo(folder / "5.png")
        assert answer(5) == (404, "the file of this item is no regular file")
        (folder / "6.png").unlink()
        (folder / "6.png").mkdir()
        assert answer(6)[0] == 404
        folder.rename(tmp_path / "elsewhere")
        folder.symlink_to(tmp_path / "elsewhere")
        assert answer(7)[0] == 404
        folder.unlink()
        (tmp_path / "elsewhere").rename(folder)
        assert answer(7) == (200, b"\7")
        (tmp_path / "pictures").rename(tmp_path / "other")
        (tmp_path / "pictures").symlink_to(tmp_path / "other")
        assert answer(7)[0] == 404  # another folder was confirmed


def test_a_link_that_comes_after_the_check_leads_nowhere(tmp_path, pictures, monkeypatch):
    folder = tmp_path / "pictures" / "deep"
    descend = media._descend

    def late(root, steps):
        swap(folder / steps[-1], tmp_path / "secret.png")
        return descend(root, steps)

    monkeypatch.setattr(media, "_descend", late)
    with TestClient(create_app(pictures), base_url="http://127.0.0.1") as client:
        assert client.get("/media/0/0").status_code == 404
    monkeypatch.setattr(media, "_LINKS", False)  # and where folders cannot be entered one by one
    with pytest.raises(media.MediaError, match="is not there"):
        media.open_file(pictures.folder, "deep/1.png", "image")


@pytest.mark.parametrize(
    "path", ["../secret.png", "/etc/passwd", "deep/../../secret.png", "x\0.png", "", ".", "deep", "\udcff.png"]
)
def test_a_database_cannot_name_a_file_elsewhere(tmp_path, pictures, path):
    with pictures._writing() as connection:
        connection.execute(database.items.update().values(parts=[["image", path], ["image", str(tmp_path / path)]]))
    with TestClient(create_app(pictures), base_url="http://127.0.0.1") as client:
        for part in (0, 1):
            found = client.get(f"/media/0/{part}")
            assert found.status_code == 404
            assert b"secret" not in found.content


def test_parts_of_files_and_what_did_not_change(tmp_path, pictures):
    whole = BEGINNINGS[".png"] + bytes(range(200)) * 5000  # larger than a piece
    (tmp_path / "pictures/deep/0.png").write_bytes(whole)
    with TestClient(create_app(pictures), base_url="http://127.0.0.1") as client:

        def get(**headers):
            return client.get("/media/0/0", headers={name.replace("_", "-"): value for name, value in headers.items()})

        full = get()
        assert (full.status_code, full.content) == (200, whole)
        assert full.headers["content-length"] == str(len(whole))
        assert full.headers["accept-ranges"] == "bytes"
        size = len(whole)
        for asked, first, last in (
            ("bytes=0-", 0, size - 1),
            ("bytes=0-1", 0, 1),
            ("bytes=5-999999999", 5, size - 1),
            ("bytes=-7", size - 7, size - 1),
            (f"bytes=-{size + 5}", 0, size - 1),
        ):
            found = get(Range=asked)
            assert (found.status_code, found.content) == (206, whole[first : last + 1])
            assert found.headers["content-range"] == f"bytes {first}-{last}/{size}"
        for asked in (f"bytes={size}-", "bytes=5-4", "bytes=-0"):
            found = get(Range=asked)
            assert (found.status_code, found.headers["content-range"]) == (416, f"bytes */{size}")
        for asked in ("bytes=-", "bytes=0-1,3-4", "lines=1-2", "bytes=x-", "bytes=" + 99 * "9" + "-"):
            assert get(Range=asked).status_code == 200
        tag = full.headers["etag"]
        assert get(If_None_Match=tag).status_code == 304
        assert get(Range="bytes=0-1", If_Range=tag).status_code == 206
        assert get(Range="bytes=0-1", If_Range='"other"').status_code == 200
        (tmp_path / "pictures/deep/0.png").write_bytes(whole[:99])
        assert get(If_None_Match=tag).status_code == 200


def test_files_are_closed_however_the_response_ends(tmp_path, pictures):
    with TestClient(create_app(pictures), base_url="http://127.0.0.1") as client:
        client.get("/media/0/0")
        before = set(os.listdir("/dev/fd"))
        for headers in ({}, {"Range": "bytes=0-1"}, {"Range": "bytes=99-"}):
            tag = client.get("/media/0/0", headers=headers).headers.get("etag", "")
            client.get("/media/0/0", headers={"If-None-Match": tag})
        (tmp_path / "pictures/deep/0.png").write_text("text")
        client.get("/media/0/0")
        assert len(set(os.listdir("/dev/fd")) - before) <= 1  # the listing itself


def test_labellers_fetch_what_was_shown_to_them(target, make, tmp_path):
    (tmp_path / "x.svg").write_bytes(SVG)
    store = make(target, n=6, k=3, parts=[[("image", "x.svg")]] * 6, media=tmp_path)
    with TestClient(create_app(store, local=False), base_url="https://label.example.org") as client:

        def fetched(token):
            bearer = {"Authorization": f"Bearer {token}"}
            return {row for row in range(6) if client.get(f"/media/{row}/0", headers=bearer).status_code == 200}

        anna, ben, ole = store.invite("anna"), store.invite("ben"), store.invite("ole", "organiser")
        assert fetched(anna) == set()
        first = store.next(store.person(anna, "labeller"))
        assert fetched(anna) == {first.left, first.right}
        assert fetched(ben) == set()
        store.answer(store.person(anna, "labeller"), first.token, "skip")
        second = store.next(store.person(anna, "labeller"))
        assert fetched(anna) == {first.left, first.right, second.left, second.right}
        assert fetched(ole) == set(range(6))


# Campaigns from elsewhere


@pytest.fixture
def run(monkeypatch, capsys):
    def call(*words):
        monkeypatch.setattr(sys, "argv", ["pairsmith", *words])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        out, err = capsys.readouterr()
        return stop.value.code, out, err

    return call


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """elsewhere() -> from now on this is another user's machine."""
    return lambda: monkeypatch.setenv("PAIRSMITH_HOME", str(tmp_path / "elsewhere"))


def test_a_campaign_from_elsewhere_serves_nothing_before_it_is_confirmed(target, make, tmp_path, run, elsewhere, serve):
    (tmp_path / "x.svg").write_bytes(SVG)
    store = make(target, parts=[[("image", "x.svg")]] * 12, media=tmp_path)
    token, organiser = store.invite("anna"), store.invite("ole", "organiser")
    assert store.confirmed
    assert store.person(token, "labeller") is not None
    elsewhere()
    assert not store.confirmed
    assert store.person(token, "labeller") is None
    assert store.person(organiser, "organiser") is None
    assert store.invited() == []
    code, out, err = run("label", target, "--no-open", "--port", "0")
    assert (code, out) == (2, "")
    assert "was made by another user or machine" in err
    assert f"shows 1 file of {os.path.realpath(tmp_path)}" in err
    assert "anna (labeller), ole (organiser)" in err
    assert f"pairsmith campaign trust {database.shown(target)}" in err.splitlines()[-1]
    assert run("campaign", "people", target)[1].count("void") == 2

    code, out, err = run("campaign", "trust", target)
    assert (code, err) == (0, "")
    assert "1 file of" in out
    assert "anna (labeller), ole (organiser)" in out
    with Store(target) as again:
        assert again.confirmed
        assert again.person(token, "labeller") is not None
        assert again.invited() == [("anna", "labeller"), ("ole", "organiser")]
    url, _ = serve(target)
    assert httpx.get(f"{url}/media/0/0").status_code == 200


def test_trusting_can_leave_out_invites_and_name_another_folder(tmp_path, make, run, elsewhere, serve):
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "x.svg").write_bytes(SVG)
    store = make(str(tmp_path / "t.db"), parts=[[("image", "x.svg")]] * 12, media=tmp_path / "here")
    token = store.invite("anna")
    elsewhere()
    (tmp_path / "here").rename(tmp_path / "there")
    code, _, err = run("campaign", "trust", store.target)
    assert code == 2
    assert "which is not there; say where they are with --media" in err
    code, out, _ = run("campaign", "trust", store.target, "--media", str(tmp_path / "there"), "--no-invites")
    assert code == 0
    assert "revoked: anna (labeller)" in out
    with Store(store.target) as again:
        assert again.folder == os.path.realpath(tmp_path / "there")
        assert again.confirmed
        assert again.person(token, "labeller") is None
    url, _ = serve(store.target)
    assert httpx.get(f"{url}/media/0/0").status_code == 200


def test_label_can_confirm_in_one_go_and_needs_not_where_there_is_nothing_to(tmp_path, make, elsewhere):
    (tmp_path / "x.svg").write_bytes(SVG)
    parts = {"files": [[("image", "x.svg")]] * 12, "text": None}
    targets = {name: make(str(tmp_path / f"{name}.db"), parts=shown, media=tmp_path).target
               for name, shown in parts.items()}  # fmt: skip
    elsewhere()
    for name, options in (("text", []), ("files", ["--trust"]), ("files", [])):
        line = [sys.executable, "-m", "pairsmith.cli", "label", targets[name], "--no-open", "--port", "0", *options]
        with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            lines = []
            while not (lines and lines[-1].startswith("Stop with")):
                lines.append(process.stdout.readline())
                assert lines[-1], process.stderr.read()
            process.terminate()
            told = process.stderr.read()
        assert ("made by another user" in told) == (name == "text")
        assert any(line.startswith("Confirmed") for line in lines) == bool(options)


def test_an_invite_that_was_put_into_the_file_is_void(tmp_path, make, run):
    store = make(str(tmp_path / "t.db"))
    anna = store.invite("anna")
    known = "x" * 43
    with store._writing() as connection:
        own = connection.execute(sa.select(database.people.c.seal).where(database.people.c.name == "anna")).scalar_one()
        for name, seal in (("eve", None), ("mallory", own), ("trudy", "0" * 64)):
            values = {"name": name, "role": "labeller", "hash": _hash(known + name), "seal": seal}
            connection.execute(database.people.insert().values(**values))
        connection.execute(database.people.update().where(database.people.c.name == "anna").values(role="organiser"))
    assert store.person(anna, "organiser") is None
    for name in ("eve", "mallory", "trudy"):
        assert store.person(known + name, "labeller") is None
    assert store.revoke("eve") == 1


@pytest.mark.parametrize("shown", ["files", "text"])
def test_campaigns_of_the_first_version_open_and_count_as_not_confirmed(target, make, tmp_path, run, shown):
    (tmp_path / "deep").mkdir()
    for name in ("a.svg", "deep/b.svg"):
        (tmp_path / name).write_bytes(SVG)
    parts = [[("image", "a.svg"), ("image", "deep/b.svg"), ("text", "/text")]] * 12 if shown == "files" else None
    store = make(target, parts=parts, media=tmp_path)
    token = store.invite("anna")
    downgrade(store, tmp_path)
    with Store(target) as again:
        assert again.folder == (os.path.realpath(tmp_path) if shown == "files" else None)
        assert again.parts(3) == store.parts(3)
        assert not again.confirmed
        assert again.person(token, "labeller") is None
    assert run("label", target, "--no-open")[0] == 2
    assert run("campaign", "trust", target)[0] == 0
    with Store(target) as again:
        assert again.confirmed
        assert again.person(token, "labeller") is not None


def downgrade(store, folder):
    """Make it what the first version would have made, with files in this folder."""
    with store._writing() as connection:
        connection.exec_driver_sql("ALTER TABLE people DROP COLUMN seal")
        connection.exec_driver_sql("DROP INDEX pairs_second")
        if store.engine.dialect.name == "postgresql":  # SQLite's migration leaves a constraint that is there alone
            connection.exec_driver_sql("ALTER TABLE pairs DROP CONSTRAINT pairs_differ")
        for row, parts in connection.execute(sa.select(database.items.c.row, database.items.c.parts)).all():
            absolute = [[kind, value if kind == "text" else os.path.realpath(folder / value)] for kind, value in parts]
            connection.execute(database.items.update().where(database.items.c.row == row).values(parts=absolute))
        old = {key: value for key, value in store.settings.items() if key not in ("id", "media", "seal")}
        connection.execute(database.campaign.update().values(version=1, settings=old))


def test_hostile_parts_do_not_stop_the_migration(tmp_path, make):
    store = make(str(tmp_path / "t.db"))
    downgrade(store, tmp_path)
    odd = [5, {}, [], [[]], [["image"]], [["image", 5]], [["image", "x.png"]], [["image", "/etc/a.png"]]]
    with store._writing() as connection:
        for row, parts in enumerate(odd):
            connection.execute(database.items.update().where(database.items.c.row == row).values(parts=parts))
    with Store(store.target) as again:
        assert again.folder == "/etc"
        assert again.files() == [("image", "a.png"), ("image", "x.png")]


# The key


def test_processes_at_once_make_one_key_that_nobody_else_can_read(tmp_path):
    code = "from pairsmith.campaign import seals; print(seals.key().hex())"
    own = os.environ | {"PAIRSMITH_HOME": str(tmp_path / "new" / "home")}
    line = [sys.executable, "-c", code]
    started = [subprocess.Popen(line, env=own, stdout=subprocess.PIPE, text=True) for _ in range(6)]
    found = {process.communicate()[0].strip() for process in started}
    assert len(found) == 1
    assert len(bytes.fromhex(found.pop())) == seals.LENGTH
    assert [path.name for path in (tmp_path / "new" / "home").iterdir()] == ["key"]
    assert stat.S_IMODE((tmp_path / "new" / "home" / "key").stat().st_mode) == 0o600


def test_a_key_is_made_where_there_are_no_hard_links(tmp_path, monkeypatch):
    def refused(*_args):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setenv("PAIRSMITH_HOME", str(tmp_path))
    monkeypatch.setattr(os, "link", refused)
    assert seals.key() == (tmp_path / "key").read_bytes()
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("platform", ["linux", "darwin", "win32"])
def test_where_the_key_is_kept(tmp_path, monkeypatch, platform):
    monkeypatch.delenv("PAIRSMITH_HOME")
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    for name in ("XDG_DATA_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    usual = {"linux": ".local/share", "darwin": "Library/Application Support", "win32": "AppData/Local"}[platform]
    assert seals.home() == tmp_path / usual / "pairsmith"
    monkeypatch.setenv("XDG_DATA_HOME", "relative")  # which is to be ignored
    assert seals.home() == tmp_path / usual / "pairsmith"
    for name in ("XDG_DATA_HOME", "LOCALAPPDATA"):
        monkeypatch.setenv(name, str(tmp_path / "own"))
    if platform != "darwin":
        assert seals.home() == tmp_path / "own" / "pairsmith"


def test_without_a_place_for_a_key_only_what_needs_one_is_refused(tmp_path, monkeypatch, make, run, serve):
    (tmp_path / "file").write_text("no folder")
    (tmp_path / "x.svg").write_bytes(SVG)
    monkeypatch.setenv("PAIRSMITH_HOME", str(tmp_path / "file"))
    shown = {"text": None, "files": [[("image", "x.svg")]] * 12}
    for name, parts in shown.items():
        with pytest.warns(UserWarning, match="is made without a seal, to be confirmed later"):
            make(str(tmp_path / f"{name}.db"), parts=parts, media=tmp_path)
    serve(str(tmp_path / "text.db"))
    for words in (["label", str(tmp_path / "files.db")], ["campaign", "trust", str(tmp_path / "files.db")],
                  ["campaign", "invite", str(tmp_path / "text.db"), "anna"]):  # fmt: skip
        code, _, err = run(*words)
        assert code == 2
        assert err.startswith(f"Error: no key can be kept in {tmp_path / 'file'} (")
        assert "PAIRSMITH_HOME" in err
        assert err.count("\n") == 1
    monkeypatch.setenv("PAIRSMITH_HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "key").write_bytes(b"short")
    assert "is no key of pairsmith (5 bytes, not 32)" in run("label", str(tmp_path / "files.db"))[2]


# Proxies


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
    bearer = {"Authorization": f"Bearer {store.invite('anna')}", name: "x"}
    assert public.get("/", headers=bearer).status_code == 200


def test_without_invites_nothing_comes_through_a_proxy_that_adds_nothing(store, serve):
    url, _ = serve(store.target)
    host, port = url.removeprefix("http://").split(":")
    for number, status in ((b"1.0", b"400"), (b"1.1", b"200")):  # such proxies speak HTTP/1.0
        with socket.create_connection((host, int(port))) as raw:
            raw.sendall(b"GET / HTTP/%s\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n" % number)
            assert raw.recv(100).split()[1] == status


@pytest.fixture
def nginx(tmp_path):
    """nginx(url) -> the URL of an nginx in front of that one, as the README has it."""
    program = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin:/usr/local/sbin")
    assert program, "this test needs nginx; on Debian: apt-get install nginx-light"
    certificate = ["-subj", "/CN=label.example.org", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "2"]
    line = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "key.pem", "-out", "own.pem"]
    subprocess.run([*line, *certificate], cwd=tmp_path, check=True, capture_output=True)
    (block,) = re.findall(r"```nginx\n(.*?)```", (Path(__file__).parents[1] / "README.md").read_text(), re.DOTALL)
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


def test_the_proxy_of_the_readme(tmp_path, store, serve, nginx):
    url, _ = serve(store.target, "--invited")
    front = nginx(url)
    trusted = ssl.create_default_context(cafile=tmp_path / "own.pem")
    with httpx.Client(base_url=front, verify=trusted, headers={"Origin": front}) as browser:
        assert browser.get("/").status_code == 401
        joined = browser.get(f"/join/{store.invite('anna')}")
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
    url, _ = serve(store.target)
    assert httpx.get(url).status_code == 200
    front = nginx(url)
    with httpx.Client(base_url=front, verify=ssl.create_default_context(cafile=tmp_path / "own.pem")) as browser:
        for path in ("/", "/dashboard", "/api/dashboard", "/media/0/0"):
            refused = browser.get(path)
            assert refused.status_code == 400
        for host in ("127.0.0.1", "localhost"):  # as a proxy that does not pass the name on says
            refused = browser.get("/", headers={"Host": host})
            assert refused.status_code == 400
            assert "--invited" in refused.json()["detail"]


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
    public, process = serve(store.target, "--host", "0.0.0.0")
    told = list(iter(process.stdout.readline, "Stop with Ctrl-C.\n"))
    assert sum("through TLS only" in line for line in told) == 1
    assert f"Files from      {os.path.realpath(tmp_path)}\n" in told
    _, process = serve(store.target, "--host", "0.0.0.0", "--insecure")
    assert not any("TLS" in line for line in iter(process.stdout.readline, "Stop with Ctrl-C.\n"))
    here = public.replace("0.0.0.0", "127.0.0.1")
    assert httpx.get(here).status_code == 401
    assert httpx.get(f"{here}/join/{store.invite('anna')}").status_code == 303
    behind, _ = serve(store.target, "--invited")
    assert httpx.get(behind).status_code == 401


# People who hold connections


def few_files(wait):
    """`pairsmith label` with 256 files at most, as `ulimit -n 256` has it, and so many seconds of patience."""
    return (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256));"
        f" from pairsmith.campaign import server; server.WAIT = {wait}; from pairsmith.cli import main; main()"
    )


def connect(host, port, count):
    found = [socket.create_connection((host, port), timeout=10) for _ in range(count)]
    for one in found:
        one.settimeout(10)
    return found


def ended(connection):
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


def test_idle_connections_keep_nobody_out_and_fill_no_log(tmp_path, store):
    line = [sys.executable, "-c", few_files(1), "label", store.target, "--no-open", "--port", "0"]
    log = tmp_path / "log"
    with open(log, "wb") as errors, subprocess.Popen(line, stdout=subprocess.PIPE, stderr=errors, text=True) as server:
        url = server.stdout.readline().split()[-1].rstrip("/")
        while not server.stdout.readline().startswith("Stop with"):
            pass
        host, port = url.removeprefix("http://").split(":")
        with httpx.Client(base_url=url, timeout=10) as me:
            assert me.post("/api/next", json={}).status_code == 200
            idle = connect(host, int(port), 400)
            kept = me.post("/api/next", json={})  # the connection is there already
            assert kept.status_code == 200
            assert all(ended(one) for one in idle)  # at once, or when nothing came
            for one in idle:
                one.close()
        with httpx.Client(base_url=url, timeout=10) as other:  # there is room again
            assert other.get("/").status_code == 200
        # One that sends without an end, by drops, is no better; nor one that never sends the rest of its body.
        for begun in (
            b"GET / HTTP/1.1\r\nHost: 127",
            b"POST /api/next HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n\r\n{",
        ):
            (slow,) = connect(host, int(port), 1)
            with slow:
                slow.sendall(begun)
                assert ended(slow)
        # Noise is no reason to write either.
        for _ in range(300):
            (noise,) = connect(host, int(port), 1)
            with noise:
                noise.sendall(b"\0\r\n\r\n")
                noise.recv(100)
        server.terminate()
    told = log.read_text()
    assert len(told) < 10_000, told[:2000]
    assert told.count("connections are open, which is the limit") == 1
    assert "Traceback" not in told


def test_at_the_limit_for_files_asyncio_says_it_once(capsys):
    limit = server.Limit()
    logger = logging.Logger("asyncio")
    logger.addFilter(limit)
    seen = []
    logger.addHandler(type("Note", (logging.Handler,), {"emit": lambda _self, record: seen.append(record)})())
    for _ in range(1000):
        logger.error("socket.accept() out of system resource\nsocket: x", exc_info=OSError(24, "Too many open files"))
    logger.error("something else")
    assert len(seen) == 1
    assert capsys.readouterr().err.count("no more files can be opened") == 1
    assert limit.room(1)  # it is over
    logger.error("socket.accept() out of system resource")
    assert capsys.readouterr().err == ""  # and so soon again is no news
    limit.told -= server.MINUTE
    limit.room(1)
    logger.error("socket.accept() out of system resource")
    assert capsys.readouterr().err.count("\n") == 1


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
