import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx2 as httpx
import numpy as np
import pandas as pd
import pytest
import sqlalchemy as sa
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, settings

import pairsmith as ps
from campaigns import EVIL, PNG, client_of
from pairsmith import cli
from pairsmith.campaign.create import create
from pairsmith.campaign.store import Store
from pairsmith.campaign.web.app import create_app
from pairsmith.files.items import Items, read_items

# Compiled code makes first calls slow and the rest fast: no deadline, and the same examples on every run.
settings.register_profile(
    "pairsmith", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow], max_examples=60
)
settings.load_profile("pairsmith")


# `make quick` leaves out the tests that need a browser, a cluster, PostgreSQL or nginx, that kill processes, or that
# take more than a few seconds: those of these files, those with these fixtures, and those that are marked slow.
SLOW_FILES = "test_campaign_browser", "test_campaign_crash"
SLOW_FIXTURES = {"postgresql", "nginx", "browser", "farm", "shared"}


def pytest_collection_modifyitems(items):
    for item in items:
        database = item.callspec.params.get("target") if hasattr(item, "callspec") else None
        if (
            item.path.stem.startswith(SLOW_FILES)
            or SLOW_FIXTURES.intersection(item.fixturenames)
            or database == "postgresql"
        ):
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session", autouse=True)
def own_home(tmp_path_factory):
    """The key that seals campaigns is not that of whoever runs the tests, in processes they start neither."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PAIRSMITH_HOME", str(tmp_path_factory.mktemp("home")))
        yield


@pytest.fixture(scope="session")
def browser_type_launch_args():
    path = next((found for name in ("chromium", "chromium-browser") if (found := shutil.which(name))), None)
    assert path, "these tests need Chromium; on Debian: apt-get install chromium"
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
             "--disable-background-networking", "--disable-component-update", "--disable-sync"]  # fmt: skip
    return {"executable_path": path, "args": flags}


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


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


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


def items_of(n=12, d=3, seed=0):
    X = np.random.default_rng(seed).standard_normal((n, d))
    features = pd.DataFrame(X, index=[f"{row:03d}" for row in range(n)], columns=[f"f_{c}" for c in range(d)])
    return Items(Path("items.csv"), features)


@pytest.fixture
def make(request):
    """make(target, n=12, ...) -> a Store on a new campaign; what is shown of an item is its id unless parts= says."""
    opened = []

    def build(target, n=12, d=3, parts=None, clock=time.time, **settings):
        items = items_of(n, d)
        shown = parts or [[("text", name)] for name in items.features.index]
        create(target, items, shown, **({"question": "Which is better?", "k": 10} | settings))
        store = Store(target, clock)
        opened.append(store)
        return store

    yield build
    for store in opened:
        store.close()


@pytest.fixture
def serve():
    """serve(target, "--option", ...) -> (the URL, the process) of `pairsmith label`."""
    started = []

    def start(target, *options, port=0):
        process = subprocess.Popen(
            [sys.executable, "-m", "pairsmith.cli", "label", target, "--no-open", "--port", str(port), *options],
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


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The working folder, with eight items in items.csv and their pictures."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    items = pd.DataFrame(rng.standard_normal((8, 2)), columns=["f_1", "f_2"])
    items.insert(0, "id", [f"item {row}" for row in range(8)])
    items["note"] = [f"note <b>{row}</b>" for row in range(8)]
    items["path"] = [f"pictures/{row}.png" for row in range(8)]
    items["prompt"] = ["p", "q"] * 4
    (tmp_path / "pictures").mkdir()
    for row in range(8):
        (tmp_path / f"pictures/{row}.png").write_bytes(PNG)
    items.to_csv("items.csv", index=False)
    return tmp_path


@pytest.fixture
def samples(tmp_path, monkeypatch):
    """The working folder, with twelve items in items.csv, with their groups in grouped.csv, labels and answers."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    items = pd.DataFrame(rng.standard_normal((12, 3)), columns=["f_1", "f_2", "f_3"])
    items.insert(0, "id", [f"{row:03d}" for row in range(12)])
    items.to_csv("items.csv", index=False)
    items.assign(prompt=["p", "q", "NA"] * 4).to_csv("grouped.csv", index=False)
    (tmp_path / "labels.csv").write_text("id,label\n001,1\n007,-1\n009,\n")
    (tmp_path / "answers.csv").write_text("winner,loser\n000,003\n006,009\n")
    return tmp_path


@pytest.fixture
def answered(samples):
    """Answers to 40 pairs of the items, made by a known score."""
    items = pd.read_csv("items.csv", dtype={"id": str})
    score = items[["f_1", "f_2", "f_3"]].to_numpy() @ [2.0, -1.0, 0.5]
    rng = np.random.default_rng(0)
    pairs = np.array([rng.choice(12, 2, replace=False) for _ in range(40)])
    first, second = (items.id.to_numpy()[pairs[:, side]] for side in (0, 1))
    outcome = np.sign(score[pairs[:, 0]] - score[pairs[:, 1]]).astype(int)
    table = pd.DataFrame({"first": first, "second": second, "outcome": outcome})
    table.to_csv("outcomes.csv", index=False)
    table.assign(outcome=["first" if win > 0 else "second" for win in outcome]).to_csv("words.csv", index=False)
    winner, loser = np.where(outcome > 0, first, second), np.where(outcome > 0, second, first)
    pd.DataFrame({"first": first, "second": second, "winner": winner}).to_csv("named.csv", index=False)
    pd.DataFrame({"winner": winner, "loser": loser, "count": 1}).to_csv("won.csv", index=False)
    return items.id.to_numpy()[np.argsort(-score)]


@pytest.fixture
def run(monkeypatch, capsys):
    """run("select items.csv -k 5"), or word by word -> the exit code and both outputs of the command line."""

    def call(*words):
        words = words[0].split() if len(words) == 1 else words
        monkeypatch.setattr(sys, "argv", ["pairsmith", *words])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        out, err = capsys.readouterr()
        return stop.value.code, out, err

    return call


@pytest.fixture
def store(tmp_path, make):
    """A campaign whose items, shown in a browser, would do harm."""
    secret = tmp_path / "secret.txt"
    secret.write_text("secret")
    (tmp_path / "shown.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>')
    parts = [[("image", str(tmp_path / "shown.svg")), ("text", EVIL), ("markdown", EVIL)]] * 12
    return make(str(tmp_path / "t.db"), parts=parts, question=EVIL, media=tmp_path)


@pytest.fixture
def local(store):
    """A client of it on its own machine, where nobody needs an invite."""
    with TestClient(create_app(store), base_url="http://127.0.0.1:8000") as client:
        yield client


@pytest.fixture
def public(store):
    """A client of it through TLS, where everybody needs one."""
    with TestClient(create_app(store, local=False), base_url="https://label.example.org") as client:
        yield client


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """elsewhere() -> from now on this is another user's machine."""
    return lambda: monkeypatch.setenv("PAIRSMITH_HOME", str(tmp_path / "elsewhere"))


@pytest.fixture
def api(tmp_path, make):
    """A client of a campaign on its own machine; its `store` is the campaign."""
    store = make(str(tmp_path / "t.db"))
    with client_of(store) as client:
        client.store = store
        yield client


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


@pytest.fixture
def write(tmp_path):
    """write("a.csv", text) -> the path of a new file."""

    def put(name, text):
        path = tmp_path / name
        path.write_text(text)
        return path

    return put


@pytest.fixture
def items(write):
    """Five items with the ids 1 to 5, from a file."""
    return read_items(write("items.csv", "id,x\n1,5\n2,3\n3,1\n4,9\n5,7\n"))


# Clusters. Dask takes a second to import, so that is done only when a test needs one.


@pytest.fixture
def small_tasks(monkeypatch):
    """Small tasks, so that there are many, and no wait of more than a minute."""
    import dask

    from pairsmith.cluster import scan

    monkeypatch.setattr(scan, "_LEAST_WORK", 3e6)
    monkeypatch.setattr(scan, "_ROWS_IN_FLOAT64", 300)
    with dask.config.set({"pairsmith.timeout": 60}):
        yield


@pytest.fixture
def farm(small_tasks):
    """A cluster of its own, for a test that starts and kills workers."""
    from clusters import Farm

    farm = Farm()
    yield farm
    farm.close()


@pytest.fixture(scope="session")
def two_workers():
    """Started once, because that takes seconds; `shared` is what tests ask for."""
    from clusters import Farm

    farm = Farm().start(2)
    yield farm
    farm.close()


@pytest.fixture
def shared(two_workers, small_tasks):
    """A cluster of two workers, which all tests share that leave it as it was."""
    return two_workers


@pytest.fixture(scope="session")
def picked_here():
    """What this machine picks by itself: a cluster has to pick the same."""
    from clusters import OPTIONS, X

    return ps.select(X, 60, **OPTIONS)


@pytest.fixture
def on_result(monkeypatch):
    """Call something once, when a scan's first tile is done."""
    from pairsmith.cluster.submit import Submitter

    def arrange(number, then):
        each, events = Submitter.each, [then]

        def watched(self, label, *args):
            for result in each(self, label, *args):
                if label == f"tile-scan-{number}" and events:
                    events.pop()()
                yield result

        monkeypatch.setattr(Submitter, "each", watched)
        return events

    return arrange
