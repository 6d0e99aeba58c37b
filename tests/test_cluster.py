"""The same pairs on a cluster of real processes, whatever the number of workers and tiles, and whoever dies."""

import gc
import json
import logging
import os
import shutil
import signal
import subprocess
import sys
import time
import warnings

import dask
import dask.array as da
import numpy as np
import pandas as pd
import pytest
import zarr
from distributed import Client, LocalCluster

import pairsmith as ps
from pairsmith.cluster import features, scan, tasks
from pairsmith.cluster.cache import CACHE
from pairsmith.cluster.client import Cluster
from pairsmith.cluster.submit import Broadcast, Submitter

X = np.random.default_rng(0).standard_normal((2500, 20))
OPTIONS = {"ridge": 1e-3, "labeled": [1, 2], "comparisons": [(0, 5), (7, 9)], "pool_size": 3000}


@pytest.fixture(autouse=True)
def limits(monkeypatch):
    """Small tasks, so that there are many, and no wait of more than a minute."""
    monkeypatch.setattr(scan, "_LEAST_WORK", 3e6)
    monkeypatch.setattr(scan, "_ROWS_IN_FLOAT64", 300)
    with dask.config.set({"pairsmith.timeout": 60}):
        yield


class Farm:
    """A scheduler here and workers in processes of their own, without anybody who starts them again."""

    def __init__(self):
        self.cluster = LocalCluster(n_workers=0, dashboard_address=":0", silence_logs=logging.CRITICAL)
        self.client = Client(self.cluster)
        self.workers = []

    def start(self, count, *options):
        command = [sys.executable, "-m", "distributed.cli.dask_worker", self.cluster.scheduler_address]
        options = options or ("--no-nanny",)
        joined = len(self.client.scheduler_info(n_workers=-1)["workers"])
        for _ in range(count):
            self.workers.append(
                subprocess.Popen(
                    [*command, "--nthreads", "1", "--no-dashboard", *options],
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                )
            )
        self.client.wait_for_workers(joined + count, timeout=60)
        return self

    def kill(self, count=1):
        for worker in self.workers[:count]:
            worker.send_signal(signal.SIGKILL)
            worker.wait()
        del self.workers[:count]

    def close(self):
        for worker in self.workers:
            worker.terminate()
        for worker in self.workers:
            try:
                worker.wait(10)
            except subprocess.TimeoutExpired:  # Dask's goodbye has no limit of its own
                worker.kill()
                worker.wait()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)  # Dask forgets sockets of processes that were killed
            self.client.close()
            self.cluster.close()
            gc.collect()


@pytest.fixture
def farm():
    farm = Farm()
    yield farm
    farm.close()


@pytest.fixture(scope="module")
def shared():
    farm = Farm().start(2)
    yield farm
    farm.close()


@pytest.fixture(scope="module")
def expected():
    return ps.select(X, 60, **OPTIONS)


def assert_same(selection, expected):
    np.testing.assert_array_equal(selection.pairs, expected.pairs)
    np.testing.assert_array_equal(selection.gains, expected.gains)
    assert selection.ridge == expected.ridge


def test_one_two_and_four_workers_and_any_tiles(farm, monkeypatch):
    ties = np.random.default_rng(1).integers(0, 3, (400, 4)).astype(float)
    close = np.vstack([np.eye(60), -np.eye(60)]) * (1 + 1e-8 * np.random.default_rng(0).random((120, 1)))
    groups = np.random.default_rng(2).integers(0, 40, 2500)
    model = ps.BradleyTerry().fit(X, comparisons=[(0, 1), (2, 3), (4, 5)], outcomes=[1, -1, 1])
    some = np.random.default_rng(3).integers(0, 2500, (300_000, 2))
    some = some[some[:, 0] != some[:, 1]]
    problems = {
        "plain": (X, 40, OPTIONS),
        "ties": (ties, 40, {"ridge": 0.5, "pool_size": 50}),
        "ties, complete": (ties[:80], 100, {"ridge": 0.5}),
        "gains within 1e-7": (close, 20, {"ridge": 1e-3, "pool_size": 100}),
        "a cap": (X, 25, OPTIONS | {"max_per_item": 1}),
        "ties and a cap": (ties, 20, {"ridge": 0.5, "pool_size": 50, "max_per_item": 2}),
        "groups": (X, 25, OPTIONS | {"candidates": ps.WithinGroups(groups), "comparisons": None}),
        "a list": (X, 25, OPTIONS | {"candidates": ps.PairList(some), "comparisons": None}),
        "a model": (X, 25, OPTIONS | {"objective": "local-d-optimal", "model": model}),
        "columns of all sizes": (X * 10.0 ** np.linspace(-6, 6, 20), 20, {"ridge": 1e-6, "pool_size": 1000}),
        "certified": (X, 20, OPTIONS | {"certify": 1}),
    }
    alone = {name: ps.select(data, k, **options) for name, (data, k, options) in problems.items()}
    for workers, (least, rows, held) in ((1, (3e6, 300, 1 << 25)), (2, (1e6, 77, 9000)), (4, (1e9, 4096, 30_000))):
        farm.start(workers - len(farm.workers))
        monkeypatch.setattr(scan, "_LEAST_WORK", least)
        monkeypatch.setattr(scan, "_ROWS_IN_FLOAT64", rows)
        monkeypatch.setattr(features, "_NUMBERS_IN_A_SENT_BLOCK", held)
        for name, (data, k, options) in problems.items():
            selection = ps.select(data, k, **options, client=farm.client)
            np.testing.assert_array_equal(selection.pairs, alone[name].pairs, err_msg=f"{name}, {workers} workers")
            np.testing.assert_array_equal(selection.gains, alone[name].gains)
            if alone[name].bound is not None:
                assert selection.bound == pytest.approx(alone[name].bound, rel=1e-9)


def test_workers_with_hardly_any_memory_for_pairs(shared, monkeypatch):
    """Tasks then cut down what they found, and raise the floor, long before the pool is full."""
    monkeypatch.setattr(scan, "_LEAST_WORK", 1e9)  # so that a task finds many
    ties = np.random.default_rng(1).integers(0, 3, (1500, 4)).astype(float)
    some = np.random.default_rng(3).integers(0, 2500, (600_000, 2))
    some = some[some[:, 0] != some[:, 1]]
    problems = [
        (X, OPTIONS | {"pool_size": 1_000_000}),
        (ties, {"ridge": 0.5, "pool_size": 300_000}),
        (X, {"ridge": 1e-3, "candidates": ps.PairList(some)}),
    ]
    alone = [ps.select(data, 30, **options) for data, options in problems]
    shared.client.run(setattr, tasks, "_BYTES_PER_PAIR", 1 << 40)
    try:
        for (data, options), expected in zip(problems, alone, strict=True):
            selection = ps.select(data, 30, **options, client=shared.client)
            assert_same(selection, expected)
            assert selection.diagnostics["pool"] < expected.diagnostics["pool"]
    finally:
        shared.client.run(setattr, tasks, "_BYTES_PER_PAIR", tasks._BYTES_PER_PAIR)


@pytest.mark.parametrize("kind", ["npy", "float32 npy", "parquet", "zarr", "dask array"])
def test_features_that_do_not_pass_through_the_client(shared, tmp_path, kind):
    data = X.astype(np.float32) if "float32" in kind else X
    expected = ps.select(data, 40, labeled=[3])
    if kind.endswith("npy"):
        given = tmp_path / "X.npy"
        np.save(given, data)
    elif kind == "parquet":
        given = tmp_path / "X.parquet"
        pd.DataFrame(data, columns=[f"f{c}" for c in range(20)]).assign(id=[f"i{r}" for r in range(2500)]).to_parquet(
            given
        )
    elif kind == "zarr":
        given = str(tmp_path / "X.zarr")
        zarr.save_array(given, data)
    else:
        given = da.from_array(data, chunks=(700, 15))
    checkpoint = tmp_path / "run.json"
    ps.select(data, 10, labeled=[3], checkpoint=checkpoint)  # goes on where one machine stopped
    selection = ps.select(given, 40, labeled=[3], client=shared.client, checkpoint=checkpoint)
    np.testing.assert_array_equal(selection.pairs, expected.pairs)
    assert selection.ridge == expected.ridge
    if kind == "parquet":
        assert selection.to_frame()["first"][0] == f"i{expected.pairs[0, 0]}"


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int16])
def test_rows_of_a_file_that_the_cache_does_not_hold(tmp_path, monkeypatch, dtype):
    monkeypatch.setattr(CACHE, "limit", 1000)
    data = (1000 * X).astype(dtype)
    path = str(tmp_path / "X.npy")
    np.save(path, data)
    file, _ = features.describe(path)
    rng = np.random.default_rng(0)
    some = np.concatenate([rng.permutation(2500)[:900], np.arange(100, 180), [7, 7, 8, 2499, 0]])
    for items in (some, some.astype(np.int32), np.arange(2500), np.zeros(0, dtype=int)):
        np.testing.assert_array_equal(file.rows(items), data[items])
    np.testing.assert_array_equal(file.span(30, 90), data[30:90])
    os.truncate(path, os.path.getsize(path) - 1)
    np.testing.assert_array_equal(file.rows([2498]), data[[2498]])
    with pytest.raises(OSError, match=r"X\.npy ends early"):
        file.rows([2499])


@pytest.mark.parametrize("kind", ["npy", "parquet", "zarr"])
def test_a_file_that_is_written_anew_is_read_anew(shared, tmp_path, kind):
    """Workers keep what they have read, and must not take it for what is there now."""
    path = str(tmp_path / f"X.{kind}")
    for data in (X[:600], X[600:1200]):
        if kind == "npy":
            np.save(path, data)
        elif kind == "parquet":
            pd.DataFrame(data, columns=[f"f{c}" for c in range(20)]).to_parquet(path)
        else:
            shutil.rmtree(path, ignore_errors=True)
            zarr.save_array(path, data)
        selection = ps.select(path, 10, ridge=1e-3, client=shared.client)
        np.testing.assert_array_equal(selection.pairs, ps.select(data, 10, ridge=1e-3).pairs)


def test_what_is_wrong_with_a_path(shared, tmp_path):
    def told(content, match):
        path = tmp_path / "X.npy"
        np.save(path, content)
        with pytest.raises(ValueError, match=match):
            ps.select(path, 3, client=shared.client)

    hole = X.copy()
    hole[1700, 3] = np.nan
    told(hole, "X: column 3 has 1 missing value .* at row 1700")
    told(np.asfortranarray(X), "column by column")
    told(X[0], "two dimensions")
    told(X.astype(complex), "numeric")
    told(np.full((5, 2), 2**60), r"X holds a whole number beyond 2\^53 at row 0, column 0")
    np.savez(tmp_path / "X.npz", X)
    (tmp_path / "X.npz").rename(tmp_path / "Z.npy")
    with pytest.raises(ValueError, match=r"Z\.npy is not a \.npy array of numbers"):
        ps.select(tmp_path / "Z.npy", 3, client=shared.client)
    pd.DataFrame({"id": [1, 2, 3], "x": [1, 2, 2**60], "y": [0.5, 1, 2]}).to_parquet(tmp_path / "X.parquet")
    with pytest.raises(ValueError, match=r"column 'x' of .*X\.parquet holds whole numbers beyond 2\^53"):
        ps.select(tmp_path / "X.parquet", 1, client=shared.client)
    pd.DataFrame({"id": ["x", "x ", "y"], "x": [1.0, 2, 3]}).to_parquet(tmp_path / "spaces.parquet")
    with pytest.raises(ValueError, match="the ids 'x' and 'x ', which differ only by spaces"):
        ps.select(tmp_path / "spaces.parquet", 1, client=shared.client)
    with pytest.raises(OSError, match=r"worker tcp://.*No such file"):
        ps.select(tmp_path / "none.npy", 3, client=shared.client)
    with pytest.raises(ValueError, match=r"use \.npy, \.parquet or \.zarr"):
        ps.select(tmp_path / "X.csv", 3, client=shared.client)
    with pytest.raises(ValueError, match="X is a path"):
        ps.select(tmp_path / "X.npy", 3)


def test_what_a_client_is_for(shared):
    for wrong in ({"algorithm": "scalar"}, {"objective": "random"}):
        with pytest.raises(ValueError, match="client is for the engine"):
            ps.select(X, 3, client=shared.client, **wrong)
    with pytest.raises(ValueError, match=r"client must be a dask\.distributed\.Client"):
        ps.select(X, 3, client="tcp://127.0.0.1:1")


# Faults. Workers are killed while their tasks run: on the first result of a scan, others are in the making.


@pytest.fixture
def on_result(monkeypatch):
    """Call something once, when a scan's first tile is done."""

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


@pytest.mark.parametrize("number", [1, 3])
def test_a_worker_dies_during_a_scan(farm, expected, on_result, number):
    farm.start(2)
    events = on_result(number, farm.kill)
    assert_same(ps.select(X, 60, **OPTIONS, client=farm.client), expected)
    assert not events


def test_two_of_three_workers_die_at_once(farm, expected, on_result):
    farm.start(3)
    events = on_result(2, lambda: farm.kill(2))
    assert_same(ps.select(X, 60, **OPTIONS, client=farm.client), expected)
    assert not events


def test_a_worker_dies_between_scans(farm, expected, monkeypatch):
    farm.start(2)
    measure, calls = scan.InTasks.measure, []

    def killing(self, factors):
        calls.append(1)
        if len(calls) == 3:
            farm.kill()
        return measure(self, factors)

    monkeypatch.setattr(scan.InTasks, "measure", killing)
    assert_same(ps.select(X, 60, **OPTIONS, client=farm.client), expected)
    assert len(calls) > 3


def test_all_workers_die_and_another_comes(farm, expected, on_result):
    """The features that they held are gone with them, and are sent again."""
    farm.start(2)

    def replace():
        farm.kill(2)
        farm.start(1)

    events = on_result(2, replace)
    assert_same(ps.select(X, 60, **OPTIONS, client=farm.client), expected)
    assert not events


def test_a_worker_joins_late(farm, expected, on_result):
    farm.start(1)
    events = on_result(1, lambda: farm.start(1))
    assert_same(ps.select(X, 60, **OPTIONS, client=farm.client), expected)
    assert not events
    done = farm.client.run(lambda dask_worker: dask_worker.state.executed_count)
    assert len(done) == 2
    assert min(done.values()) > 0


def test_features_are_sent_once(farm, expected, on_result):
    """Dask would drop copies that no task waits for, as between two scans, and send them again."""
    farm.start(2)
    seen = []
    on_result(3, lambda: seen.append(farm.client.amm.running()))
    assert_same(ps.select(X, 60, **OPTIONS, client=farm.client), expected)
    assert seen == [False]
    assert farm.client.amm.running()


def test_what_tasks_are_given_is_sent_once_and_again_if_it_is_lost(shared):
    submitter = Cluster(shared.client).submitter
    thing = Broadcast("thing", tasks.Whitener, "one", (np.eye(2),), 0.0)
    first = thing.at_submission(submitter)
    assert thing.at_submission(submitter) is first
    shared.client.cancel([first], force=True)
    again = thing.at_submission(submitter)
    assert again is not first
    assert again.result(timeout=30).name == "one"


def test_the_dashboard_counts_tasks_by_kind(shared):
    ps.select(X, 20, **OPTIONS, client=shared.client)
    kinds = {name for name in shared.cluster.scheduler.task_prefixes if name.startswith("pairsmith-")}
    assert {"pairsmith-norms-scan", "pairsmith-tile-scan", "pairsmith-whitener-scan", "pairsmith-items-scan"} <= kinds
    assert "pairsmith-scan" not in kinds


def test_nobody_is_left(farm, on_result):
    farm.start(1)
    ps.select(X, 3, **OPTIONS, client=farm.client)  # loads the compiled code, which may take longer than the limit
    on_result(1, farm.kill)
    with (
        dask.config.set({"pairsmith.timeout": 4}),
        pytest.raises(TimeoutError, match=r"no worker is connected to tcp://.*; start some with dask worker"),
    ):
        ps.select(X, 60, **OPTIONS, client=farm.client)


def test_a_worker_that_stands_still(farm, on_result):
    farm.start(2)
    ps.select(X, 3, **OPTIONS, client=farm.client)
    on_result(1, lambda: farm.workers[0].send_signal(signal.SIGSTOP))
    try:
        with (
            dask.config.set({"pairsmith.timeout": 6}),
            pytest.raises(TimeoutError, match=r"waiting for tcp://[^,]*; look at its log"),
        ):
            ps.select(X, 60, **OPTIONS, client=farm.client)
    finally:
        farm.kill()  # one that stands still does not hear a request to end


def test_no_workers_at_all(farm):
    with (
        dask.config.set({"pairsmith.timeout": 0.5}),
        pytest.raises(TimeoutError, match="no worker joined the scheduler"),
    ):
        ps.select(X, 3, client=farm.client)


def test_a_worker_runs_out_of_memory(farm):
    """Killed for it, and started again, again and again: the others do its work."""
    wide = np.random.default_rng(0).standard_normal((40_000, 120))
    options = {"ridge": 1e-3, "labeled": [1, 2], "candidates": ps.WithinGroups(np.arange(40_000) // 50)}
    farm.start(2)
    farm.start(1, "--memory-limit", "200MB")
    assert_same(ps.select(wide, 20, **options, client=farm.client), ps.select(wide, 20, **options))
    assert "remove-worker" in [event.get("action") for _, event in farm.cluster.scheduler.get_events("all")]


SCRIPT = """
import sys, numpy as np, pairsmith as ps
from distributed import Client
X = np.random.default_rng(0).standard_normal((2500, 20))
with Client(sys.argv[1]) as client:
    options = {"ridge": 1e-3, "labeled": [1, 2], "comparisons": [(0, 5), (7, 9)], "pool_size": 300}
    np.save(sys.argv[3], ps.select(X, 60, **options, checkpoint=sys.argv[2], client=client).pairs)
"""


def test_the_client_is_killed_and_started_again(shared, tmp_path, expected):
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
    np.testing.assert_array_equal(np.load(result), expected.pairs)


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


def test_a_cluster_of_the_command_line_is_for_this_machine_only(tmp_path):
    (tmp_path / "listening.py").write_text(LISTENING)
    line = [sys.executable, str(tmp_path / "listening.py")]
    found = subprocess.run(line, capture_output=True, text=True, check=True).stdout.split()
    assert len(found) >= 5  # the scheduler, two workers and those who start them; and their pages
    assert set(found) == {"127.0.0.1"}


def test_on_the_command_line(shared, tmp_path):
    np.save(tmp_path / "items.npy", X)
    command = [sys.executable, "-m", "pairsmith.cli", "select", "items.npy", "-k", "5"]

    def run(*more):
        return subprocess.run([*command, *more], cwd=tmp_path, capture_output=True, text=True, timeout=60)

    alone, there = run(), run("--dask", shared.cluster.scheduler_address)
    assert there.stdout == alone.stdout
    assert there.stderr == ""
    assert run("--dask", "local:2").stdout == alone.stdout
    for where, told in (("local:none", "say how many workers"), ("tcp://127.0.0.1:9", "no scheduler answers there")):
        wrong = run("--dask", where)
        assert wrong.returncode == 2
        assert told in wrong.stderr
        assert len(wrong.stderr.splitlines()) == 1
