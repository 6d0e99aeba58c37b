"""What a client of a cluster is for, and how it is made, lost and taken up again."""

import json
import signal
import subprocess
import sys
import time

import dask
import numpy as np
import pytest
from distributed import Client

import pairsmith as ps
from support.clusters import OPTIONS, X, assert_same


def test_what_a_client_is_for(shared):
    for wrong in ({"algorithm": "scalar"}, {"objective": "random"}):
        with pytest.raises(ValueError, match="client is for the engine"):
            ps.select(X, 3, client=shared.client, **wrong)
    with pytest.raises(ValueError, match=r"client must be a dask\.distributed\.Client"):
        ps.select(X, 3, client="tcp://127.0.0.1:1")
    closed = Client(shared.cluster, set_as_default=False)
    closed.close()
    with pytest.raises(ValueError, match="client is closed; connect a new one"):
        ps.select(X, 3, client=closed)


def test_features_are_sent_once(farm, picked_here, on_result):
    """Dask would drop copies that no task waits for, as between two scans, and send them again."""
    farm.start(2)
    seen = []
    on_result(3, lambda: seen.append(farm.client.amm.running()))
    assert_same(ps.select(X, 60, **OPTIONS, client=farm.client), picked_here)
    assert seen == [False]
    assert farm.client.amm.running()


def test_no_workers_at_all(farm):
    with (
        dask.config.set({"pairsmith.timeout": 0.5}),
        pytest.raises(TimeoutError, match="no worker joined the scheduler"),
    ):
        ps.select(X, 3, client=farm.client)


SCRIPT = """
import sys, numpy as np, pairsmith as ps
from distributed import Client
X = np.random.default_rng(0).standard_normal((2500, 20))
with Client(sys.argv[1]) as client:
    options = {"ridge": 1e-3, "labeled": [1, 2], "comparisons": [(0, 5), (7, 9)], "pool_size": 300}
    np.save(sys.argv[3], ps.select(X, 60, **options, checkpoint=sys.argv[2], client=client).pairs)
"""


def test_the_client_is_killed_and_started_again(shared, tmp_path, picked_here):
    path, result = tmp_path / "run.json", tmp_path / "pairs.npy"
    command = [sys.executable, "-c", SCRIPT, shared.cluster.scheduler_address, str(path), str(result)]

    def saved():
        return len(json.loads(path.read_text())["pairs"]) if path.exists() else -1

    process, deadline = subprocess.Popen(command), time.monotonic() + 60
    while saved() < 20:
        assert process.poll() is None, "it ended before it could be killed"
        assert time.monotonic() < deadline
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert 20 <= saved() < 60
    assert not result.exists()
    subprocess.run(command, check=True, timeout=60)
    np.testing.assert_array_equal(np.load(result), picked_here.pairs)


def test_another_version_is_said_in_one_line(farm, tmp_path, monkeypatch):
    other = tmp_path / "other.py"
    other.write_text("import pairsmith\npairsmith.__version__ = '9.9'\n")
    farm.start(1, "--no-nanny", "--preload", str(other))
    with pytest.raises(ValueError, match=r"^worker tcp://\S+ has pairsmith 9\.9, the client \S+; install .*$"):
        ps.select(X, 3, client=farm.client)
    versions = farm.client.get_versions(packages=["pairsmith", "numba"])
    worker = next(iter(versions["workers"].values()))
    worker["packages"]["pairsmith"] = None
    monkeypatch.setattr(farm.client, "get_versions", lambda packages: versions)
    with pytest.raises(ValueError, match=r"^worker tcp://\S+ has no pairsmith; install .*$"):
        ps.select(X, 3, client=farm.client)


LISTENING = """
import os, psutil
from pairsmith.cluster.client import connect
if __name__ == "__main__":
    with connect("local:2") as client:
        client.wait_for_workers(2, timeout=60)
        own = {os.getpid(), *(child.pid for child in psutil.Process().children(recursive=True))}
        for found in psutil.net_connections("inet"):
            if found.pid in own and found.status == psutil.CONN_LISTEN:
                print(found.laddr.ip)
"""


@pytest.mark.slow
def test_a_cluster_of_the_command_line_is_for_this_machine_only(tmp_path):
    (tmp_path / "listening.py").write_text(LISTENING)
    line = [sys.executable, str(tmp_path / "listening.py")]
    found = subprocess.run(line, capture_output=True, text=True, check=True).stdout.split()
    assert len(found) >= 5  # the scheduler, two workers and those who start them; and their pages
    assert set(found) == {"127.0.0.1"}


def test_on_the_command_line(shared, tmp_path, run):
    np.save(tmp_path / "items.npy", X)
    words = ["select", str(tmp_path / "items.npy"), "-k", "5"]
    _, alone, _ = run(*words)
    assert alone.count("\n") == 6
    for where in (shared.cluster.scheduler_address, "local:2"):
        command = [sys.executable, "-m", "pairsmith.cli", *words, "--dask", where]
        there = subprocess.run(command, capture_output=True, text=True, timeout=300)
        assert there.stdout == alone, there.stderr
        assert there.stderr == "" or where == "local:2"


def test_no_cluster_on_the_command_line_is_one_line(tmp_path, run):
    np.save(tmp_path / "items.npy", X)
    for where, told in (("local:none", "say how many workers"), ("tcp://127.0.0.1:9", "no scheduler answers there")):
        with dask.config.set({"pairsmith.timeout": 0.5}):
            code, out, err = run("select", str(tmp_path / "items.npy"), "-k", "5", "--dask", where)
        assert (code, out) == (2, "")
        assert told in err
        assert len(err.splitlines()) == 1
