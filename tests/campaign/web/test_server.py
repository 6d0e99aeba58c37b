"""The server and clients that hold connections."""

import logging
import os
import socket
import subprocess
import sys
from contextlib import ExitStack

import httpx2 as httpx
import pytest

from pairsmith.campaign.people import invites as people
from pairsmith.campaign.web import server


@pytest.mark.slow
def test_the_server_listens_to_this_machine_only_unless_requested(tmp_path, store, serve):
    url, _ = serve(store.target, plans=False)
    own = socket.gethostbyname(socket.gethostname())
    if not own.startswith("127."):
        with pytest.raises(httpx.TransportError):
            httpx.get(url.replace("127.0.0.1", own), timeout=2)
    public, process = serve(store.target, "--host", "0.0.0.0", plans=False)
    told = list(iter(process.stdout.readline, "Stop with Ctrl-C.\n"))
    assert sum("through TLS only" in line for line in told) == 1
    assert f"Files from      {os.path.realpath(tmp_path)}\n" in told
    _, process = serve(store.target, "--host", "0.0.0.0", "--insecure", plans=False)
    assert not any("TLS" in line for line in iter(process.stdout.readline, "Stop with Ctrl-C.\n"))
    here = public.replace("0.0.0.0", "127.0.0.1")
    assert httpx.get(here).status_code == 401
    assert httpx.get(f"{here}/join/{people.invite(store, 'anna')}").status_code == 303
    behind, _ = serve(store.target, "--invited", plans=False)
    assert httpx.get(behind).status_code == 401


def few_files(wait):
    """Return Python code that runs `pairsmith serve` with at most 256 open files and this request timeout."""
    return (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256));"
        f" from pairsmith.campaign.web import server; server.REQUEST_SECONDS = {wait};"
        " from pairsmith.cli import main; main()"
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


@pytest.mark.slow
def test_idle_connections_neither_lock_others_out_nor_fill_the_log(tmp_path, store):
    line = [sys.executable, "-c", few_files(3), "serve", store.target, "--no-open", "--port", "0"]
    log = tmp_path / "log"
    with (
        open(log, "wb") as errors,
        subprocess.Popen(line, stdout=subprocess.PIPE, stderr=errors, text=True) as server,
        ExitStack() as at_last,  # if something fails, the server still stops
    ):
        at_last.callback(server.terminate)
        url = server.stdout.readline().split()[-1].rstrip("/")
        while not server.stdout.readline().startswith("Stop with"):
            pass
        host, port = url.removeprefix("http://").split(":")
        with httpx.Client(base_url=url, timeout=10) as me:
            assert me.post("/api/next", json={}).status_code == 200
            idle = []
            for _ in range(8):
                idle += connect(host, int(port), 50)
                kept = me.post("/api/next", json={})  # this connection exists already and is never idle for long
                assert kept.status_code == 200
            assert all(ended(one) for one in idle)  # refused at once, or ended by the timeout
            for one in idle:
                one.close()
        with httpx.Client(base_url=url, timeout=10) as other:  # there is room again
            assert other.get("/").status_code == 200
        # Requests that never end time out as well: in the headers, and in the body.
        for begun in (
            b"GET / HTTP/1.1\r\nHost: 127",
            b"POST /api/next HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n\r\n{",
        ):
            (slow,) = connect(host, int(port), 1)
            with slow:
                slow.sendall(begun)
                assert ended(slow)
        # Invalid requests are not logged either.
        for _ in range(300):
            (noise,) = connect(host, int(port), 1)
            with noise:
                noise.sendall(b"\0\r\n\r\n")
                noise.recv(100)
    told = log.read_text()
    assert len(told) < 10_000, told[:2000]
    assert told.count("connections are open, which is the limit") == 1
    assert "Traceback" not in told


def test_at_the_limit_of_open_files_there_is_one_warning(capsys):
    limit = server.ConnectionLimit()
    logger = logging.Logger("asyncio")
    logger.addFilter(limit)
    seen = []
    logger.addHandler(type("Note", (logging.Handler,), {"emit": lambda _self, record: seen.append(record)})())
    for _ in range(1000):
        logger.error("socket.accept() out of system resource\nsocket: x", exc_info=OSError(24, "Too many open files"))
    logger.error("something else")
    assert len(seen) == 1
    assert capsys.readouterr().err.count("no more files can be opened") == 1
    assert limit.allows(1)  # the limit is no longer reached
    logger.error("socket.accept() out of system resource")
    assert capsys.readouterr().err == ""  # a second warning would come too soon
    limit.last_warning -= server.SECONDS_BETWEEN_WARNINGS
    limit.allows(1)
    logger.error("socket.accept() out of system resource")
    assert capsys.readouterr().err.count("\n") == 1
