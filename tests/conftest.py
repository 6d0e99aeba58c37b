import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx2 as httpx
import numpy as np
import pandas as pd
import pytest
import sqlalchemy as sa
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, settings

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
SLOW_FILES = "test_campaign_browser", "test_campaign_crash", "test_cluster"
SLOW_FIXTURES = {"postgresql", "nginx", "browser"}


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
def run(monkeypatch, capsys):
    """run("campaign", "people", ...) -> the exit code and both outputs of the command line."""

    def call(*words):
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
