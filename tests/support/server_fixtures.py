"""What tests of campaigns talk to: PostgreSQL, `pairsmith serve`, its pages alone, an endpoint for chat completions."""

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx2 as httpx
import pytest
import sqlalchemy as sa
import uvicorn

from pairsmith.campaign.web.app import create_app


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture(scope="session")
def postgresql():
    """The URL of a PostgreSQL server of our own, without the database's name. It refuses to run as root."""
    places = [*sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True), *map(Path, os.get_exec_path())]
    found = next((place for place in places if (place / "initdb").exists()), None)
    assert found, "these tests need PostgreSQL; on Debian: apt-get install postgresql"
    folder = Path(tempfile.mkdtemp(prefix="pairsmith-postgresql-"))
    folder.chmod(0o755)
    own = {"cwd": folder}
    if os.geteuid() == 0:
        shutil.chown(folder, "nobody")
        own |= {"user": "nobody"}
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, **own}
    subprocess.run(
        [found / "initdb", "-D", folder / "data", "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C"],
        check=True,
        **quiet,
    )
    port = free_port()
    options = ["-p", str(port), "-c", "listen_addresses=127.0.0.1", "-c", f"unix_socket_directories={folder}"]
    server = subprocess.Popen([found / "postgres", "-D", folder / "data", *options], **quiet)
    url = f"postgresql://postgres@127.0.0.1:{port}"
    engine = sa.create_engine(f"{url.replace('postgresql', 'postgresql+psycopg')}/postgres", poolclass=sa.pool.NullPool)
    for _ in range(200):
        try:
            engine.connect().close()
            break
        except sa.exc.OperationalError:
            assert server.poll() is None, "PostgreSQL did not start"
            time.sleep(0.05)
    yield url
    server.send_signal(3)  # at once, with its clients
    server.wait(20)
    shutil.rmtree(folder)


@pytest.fixture(params=["sqlite", "postgresql"])
def target(request, tmp_path):
    """A place for a new campaign, in both kinds of database."""
    if request.param == "sqlite":
        return str(tmp_path / "test.db")
    url = request.getfixturevalue("postgresql")
    name = f"t{time.time_ns()}"  # a schema is made faster than a database
    engine = sa.create_engine(
        f"{url.replace('postgresql', 'postgresql+psycopg')}/postgres", isolation_level="AUTOCOMMIT"
    )
    with engine.connect() as connection:
        connection.exec_driver_sql(f"CREATE SCHEMA {name}")
    engine.dispose()
    return f"{url}/postgres?options=-csearch_path%3D{name}"


# The command line, whose `label` starts no process that plans and reports: that one imports everything once more.
WITHOUT_PLANS = """
import contextlib
from pairsmith.campaign.planning import worker

worker.Worker = contextlib.nullcontext
from pairsmith.cli import main

main()
"""


@pytest.fixture
def serve():
    """serve(target, "--option", ..., plans=True) -> (the URL, the process) of `pairsmith serve`.

    With plans=False nothing plans or reports behind it, which is for tests of who may see what.
    """
    started = []

    def start(target, *options, port=0, plans=True):
        program = ["-m", "pairsmith.cli"] if plans else ["-c", WITHOUT_PLANS]
        process = subprocess.Popen(
            [sys.executable, *program, "serve", target, "--no-open", "--port", str(port), *options],
            stdout=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        first = process.stdout.readline()
        assert first.startswith("Label at"), first
        url = first.split()[-1].rstrip("/")
        for _ in range(200):
            try:
                httpx.get(f"{url}/static/icon.svg")
                break
            except httpx.TransportError:
                time.sleep(0.05)
        return url, process

    yield start
    for process in started:
        process.kill()
        process.wait()
        process.stdout.close()


@contextmanager
def serving(app):
    """The URL of this app, which a thread of this process serves meanwhile."""
    port = free_port()
    server = uvicorn.Server(uvicorn.Config(app, port=port, log_level="error", timeout_graceful_shutdown=1))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.01)
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join(20)


@pytest.fixture
def served():
    """served(store, local=True) -> the URL of its pages, by a thread of this process; nothing plans or reports behind.

    That is `serve` without what takes seconds: two processes that import everything.
    """
    with ExitStack() as started:
        yield lambda store, **options: started.enter_context(serving(create_app(store, **options)))


@pytest.fixture
def endpoint():
    """endpoint((status, headers, body), ...) -> a URL that replies so, at last always the same, and its requests.

    A reply may also be a function from the request to such a tuple: it runs in a thread of its own.
    """
    servers = []

    def start(*replies):
        seen, waiting = [], list(replies)

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                request = json.loads(body)
                seen.append((dict(self.headers), request))
                reply = waiting.pop(0) if len(waiting) > 1 else waiting[0]
                status, headers, reply = reply(request) if callable(reply) else reply
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(reply)))
                self.end_headers()
                self.wfile.write(reply)

            def log_message(self, *_):
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, args=[0.01], daemon=True).start()
        servers.append(server)
        return f"http://127.0.0.1:{server.server_port}/v1/chat/completions", seen

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()
