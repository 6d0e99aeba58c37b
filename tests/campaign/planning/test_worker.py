"""Tests of the process that plans and reports."""

import os
import signal
import sys
import threading
import time
from concurrent.futures import Future
from functools import partial

import psutil
import pytest

from pairsmith.campaign.answering import leases
from pairsmith.campaign.people import invites
from pairsmith.campaign.planning import planner, worker
from pairsmith.campaign.reporting import dashboard, forecasts, report
from pairsmith.campaign.store.snapshot import take_snapshot
from pairsmith.campaign.store.store import Store
from support.campaigns import answer_next


@pytest.mark.slow
def test_worker_ends_when_the_file_is_removed(tmp_path, make, capfd):
    make(str(tmp_path / "t.db")).close()
    with worker.Worker(str(tmp_path / "t.db")) as started:
        with Store(str(tmp_path / "t.db")) as store:
            until = time.monotonic() + 40
            while dashboard.last_report(store)["advice"] is None:
                assert time.monotonic() < until
                time.sleep(0.05)
            os.rename(tmp_path / "t.db", tmp_path / "kept.db")
        started.thread.join(40)
        assert not started.thread.is_alive()
        assert started.process.returncode == worker.EXIT_CAMPAIGN_GONE
    assert capfd.readouterr().err.count("removed, renamed or replaced while in use") == 1
    assert not (tmp_path / "t.db").exists()


@pytest.mark.slow
def test_worker_is_not_restarted_for_a_missing_file(tmp_path, capfd):
    with worker.Worker(str(tmp_path / "gone.db")) as started:
        started.thread.join(40)
        assert not started.thread.is_alive()
        assert started.process.returncode == worker.EXIT_CAMPAIGN_GONE
    assert capfd.readouterr().err == (
        f"Error: {tmp_path}/gone.db: there is no such campaign; make one with pairsmith campaign create\n"
    )


def wait_for(condition, seconds=40):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if result := condition():
            return result
        time.sleep(0.1)
    raise AssertionError(f"did not happen within {seconds} s")


@pytest.mark.slow
def test_worker_plans_and_reports_and_is_restarted(target, make):
    store = make(target, n=12, k=8, clock=lambda: time.time() - 3600)  # the pace is 0: a round has k pairs
    with worker.Worker(target) as started:
        wait_for(lambda: dashboard.last_report(store)["advice"])
        first = started.process
        os.kill(first.pid, signal.SIGKILL)
        for _ in range(7):
            leases.answer(
                store, invites.local_rater(store), leases.next_pair(store, invites.local_rater(store)).token, "left"
            )
        wait_for(lambda: len(take_snapshot(store).planned) == 16)
        wait_for(lambda: dashboard.last_report(store)["answers"] == 7)
        assert started.process.pid != first.pid
        behind = psutil.Process(started.process.pid)
        assert behind.nice() == worker.PLANNING_NICENESS
        if sys.platform == "linux":
            here = sorted(os.sched_getaffinity(0))
            assert behind.cpu_affinity() == (here[1:] or here)  # one processor is left to the server
        assert "postgresql" not in " ".join(psutil.Process(started.process.pid).cmdline())
        last = started.process
    assert last.poll() is not None


def test_planning_errors_are_shown_on_the_dashboard(tmp_path, make, monkeypatch):
    store = make(str(tmp_path / "t.db"), k=3)

    def fail(*_args, **_more):
        raise ValueError("no memory")

    def stop(_seconds):
        raise KeyboardInterrupt

    monkeypatch.setattr(planner, "next_round", fail)
    monkeypatch.setattr(worker.time, "sleep", stop)
    for _ in range(3):
        leases.answer(
            store, invites.local_rater(store), leases.next_pair(store, invites.local_rater(store)).token, "left"
        )
    with pytest.raises(KeyboardInterrupt):
        worker.watch(store, planner.Planner(store))
    assert "no memory" in dashboard.last_problem(store)


def test_rounds_are_planned_while_a_report_takes_its_time(tmp_path, make, monkeypatch):
    """The report ends only after a round was added since it began."""
    store = make(str(tmp_path / "t.db"), n=12, k=8, clock=lambda: time.time() - 3600)
    begun, planned = threading.Event(), threading.Event()

    def slow(snapshot, memory):
        begun.set()
        assert planned.wait(40)
        return dashboard.EMPTY_REPORT | {"answers": len(snapshot.answers)}

    def pause(_seconds):
        begun.wait(40)
        if len(take_snapshot(store).planned) > 8:
            planned.set()
        elif len(take_snapshot(store).answers) < 7:
            answer_next(store)
        if dashboard.last_report(store)["answers"]:
            raise KeyboardInterrupt

    answer_next(store)
    monkeypatch.setattr(report, "make_report", slow)
    monkeypatch.setattr(worker.time, "sleep", pause)
    with pytest.raises(KeyboardInterrupt):
        worker.watch(store, planner.Planner(store, clock=lambda: 0.0))  # on a busy machine, rounds would grow
    assert dashboard.last_report(store)["answers"] == 1
    assert len(take_snapshot(store).planned) == 16


def test_failed_report_is_shown_and_retried(tmp_path, make, monkeypatch):
    store = make(str(tmp_path / "t.db"))
    tried, problems = [], []

    def fail_once(snapshot, memory):
        tried.append(1)
        if len(tried) == 1:
            raise ValueError("no sense")
        return dashboard.EMPTY_REPORT | {"answers": 5}

    def pause(_seconds):
        problems.append(dashboard.last_problem(store))
        if dashboard.last_report(store)["answers"] == 5:
            raise KeyboardInterrupt

    monkeypatch.setattr(report, "make_report", fail_once)
    monkeypatch.setattr(worker.time, "sleep", pause)
    with pytest.raises(KeyboardInterrupt):
        worker.watch(store, planner.Planner(store))
    assert any("no sense" in text for text in problems)
    assert dashboard.last_problem(store) == ""


def test_background_task_rests_after_each_run(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(worker.time, "monotonic", lambda: now[0])
    task, future = worker.BackgroundTask(rest=3), Future()
    assert task.may_begin()
    task.begin(future)
    now[0] = 2.0
    assert not task.may_begin()
    assert not task.is_done()
    future.set_result("found")
    assert task.is_done()
    assert task.end() == "found"
    assert not task.is_done()
    now[0] = 7.9
    assert not task.may_begin()
    now[0] = 8.0
    assert task.may_begin()


@pytest.mark.skipif(sys.platform != "linux", reason="threads have priorities of their own on Linux only")
def test_reports_are_made_at_the_lowest_priority():
    def priority():
        return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())

    assert worker._run_in_thread(priority).result(60) == 19
    assert priority() < 19


def give_enough_answers(store):
    for _ in range(forecasts.MIN_ANSWERS):
        answer_next(store)
    return store


@pytest.mark.slow
def test_forecast_is_made_by_a_separate_process(target, make):
    """It has the lowest priority, and its command line, which anybody can read, does not hold the password."""
    store = give_enough_answers(make(target, n=10, k=45))
    found = worker._run_in_thread(partial(worker._forecast_in_process, store, 0))
    children = wait_for(lambda: [one for one in psutil.Process().children() if "forecast" in " ".join(one.cmdline())])
    wait_for(lambda: found.done() or children[0].nice() == 19)
    assert found.done() or target not in " ".join(children[0].cmdline())
    assert found.result(300)["from"] == forecasts.MIN_ANSWERS  # slow at this priority on a busy machine


@pytest.mark.slow
def test_forecasting_process_ends_with_its_parent(tmp_path, make):
    store = give_enough_answers(make(str(tmp_path / "t.db"), n=10, k=45))
    line = (
        "import sys; from pairsmith.campaign.planning import worker; from pairsmith.campaign.store.store import Store\n"
    )
    line += (
        "worker.threading.Timer(5, worker.os._exit, [1]).start(); worker._forecast_in_process(Store(sys.argv[1]), 0)"
    )
    parent = psutil.Popen([sys.executable, "-c", line, store.target])
    children = wait_for(parent.children)
    parent.kill()
    parent.wait()
    assert not psutil.wait_procs(children, 20)[1]


def test_killed_forecast_is_shown_and_planning_continues(tmp_path, make, monkeypatch):
    store, problems = make(str(tmp_path / "t.db"), k=3), []
    for _ in range(3):
        answer_next(store)

    def pause(_seconds):
        problems.append(dashboard.last_problem(store))
        if problems[-1] or len(problems) > 2000:
            raise KeyboardInterrupt
        threading.Event().wait(0.02)

    monkeypatch.setattr(forecasts, "is_due", lambda *_: True)
    monkeypatch.setattr(worker.sys, "executable", "/bin/false")
    monkeypatch.setattr(worker.time, "sleep", pause)
    with pytest.raises(KeyboardInterrupt):
        worker.watch(store, planner.Planner(store))
    assert "What more answers would bring is not known" in problems[-1]
    assert len(take_snapshot(store).planned) > 3
