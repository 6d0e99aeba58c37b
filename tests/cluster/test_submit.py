"""The same pairs whoever dies, stands still or joins late.

Workers are killed while their tasks run: on the first result of a scan, others are in the making.
"""

import os
import signal
import threading
import time

import dask
import numpy as np
import pytest

import pairsmith as ps
from pairsmith.cluster import scan, tasks
from pairsmith.cluster.client import Cluster
from pairsmith.cluster.submit import Broadcast
from support.clusters import OPTIONS, X, assert_same


@pytest.mark.parametrize("number", [1, 3])
def test_a_worker_dies_during_a_scan(farm, picked_here, on_result, number):
    farm.start(2)
    events = on_result(number, farm.kill)
    assert_same(ps.select(X, 60, **OPTIONS, client=farm.client), picked_here)
    assert not events


def test_two_of_three_workers_die_at_once(farm, picked_here, on_result):
    farm.start(3)
    events = on_result(2, lambda: farm.kill(2))
    assert_same(ps.select(X, 60, **OPTIONS, client=farm.client), picked_here)
    assert not events


def test_a_worker_dies_between_scans(farm, picked_here, monkeypatch):
    farm.start(2)
    measure, calls = scan.InTasks.measure, []

    def killing(self, factors):
        calls.append(1)
        if len(calls) == 3:
            farm.kill()
        return measure(self, factors)

    monkeypatch.setattr(scan.InTasks, "measure", killing)
    assert_same(ps.select(X, 60, **OPTIONS, client=farm.client), picked_here)
    assert len(calls) > 3


def test_all_workers_die_and_another_comes(farm, picked_here, on_result):
    """The features that they held are gone with them, and are sent again."""
    farm.start(2)

    def replace():
        farm.kill(2)
        farm.start(1)

    events = on_result(2, replace)
    assert_same(ps.select(X, 60, **OPTIONS, client=farm.client), picked_here)
    assert not events


def test_a_worker_joins_late(farm, picked_here, on_result):
    farm.start(1)
    events = on_result(1, lambda: farm.start(1))
    assert_same(ps.select(X, 60, **OPTIONS, client=farm.client), picked_here)
    assert not events
    done = farm.client.run(lambda dask_worker: dask_worker.state.executed_count)
    assert len(done) == 2
    assert min(done.values()) > 0


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
    on_result(1, lambda: os.kill(farm.workers[0].pid, signal.SIGSTOP))
    try:
        with (
            dask.config.set({"pairsmith.timeout": 6}),
            pytest.raises(TimeoutError, match=r"waiting for tcp://[^,]*; look at its log"),
        ):
            ps.select(X, 60, **OPTIONS, client=farm.client)
    finally:
        farm.kill()  # one that stands still does not hear a request to end


def pause(dask_worker):
    """As Dask does when memory is nearly full: what has begun goes on, what waits is left waiting."""
    dask_worker.memory_manager.memory_pause_fraction = 1e-9


def after(seconds, given, number):
    time.sleep(seconds)
    return number


@pytest.mark.parametrize("given", [None, Broadcast("given", after, 0.0, None, 7)], ids=["itself", "what it is given"])
def test_a_paused_worker_keeps_no_task_waiting(farm, given):
    """It is paused while it does one thing and another waits there; a second worker, to do that, comes later."""
    farm.start(1)
    submitter = Cluster(farm.client).submitter
    doing = submitter.submit("doing", 0, after, 2.0, None, 0)
    found = []
    waiting = threading.Thread(target=lambda: found.extend(submitter.each("quick", [(after, 0.0, given, 1)])))
    waiting.start()
    while sum(map(len, farm.client.processing().values())) < 2:
        time.sleep(0.01)
    farm.client.run(pause)
    assert doing.result(timeout=30) == 0
    farm.start(1)
    assert not found
    waiting.join(120)
    assert found == [(0, 1)]
    assert len(submitter.avoided) == 1


def test_where_all_workers_are_paused_that_is_said(farm):
    farm.start(1)
    with dask.config.set({"pairsmith.timeout": 4}):
        results = Cluster(farm.client).submitter.each("slow", [(after, 0.3, None, at) for at in range(12)])
        next(results)
        farm.client.run(pause)
        with pytest.raises(TimeoutError, match=r"waiting for tcp://.*; its memory is nearly full"):
            list(results)


def test_a_worker_runs_out_of_memory(farm):
    """Killed for it, and started again, again and again: the others do its work."""
    wide = np.random.default_rng(0).standard_normal((40_000, 120))
    options = {"ridge": 1e-3, "labeled": [1, 2], "candidates": ps.WithinGroups(np.arange(40_000) // 50)}
    farm.start(2)
    farm.start(1, "--memory-limit", "200MB")
    assert_same(ps.select(wide, 20, **options, client=farm.client), ps.select(wide, 20, **options))
    assert "remove-worker" in [event.get("action") for _, event in farm.cluster.scheduler.get_events("all")]
