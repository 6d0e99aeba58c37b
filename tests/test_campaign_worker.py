"""The process behind the pages."""

import os
import signal
import threading
import time

import psutil
import pytest

from campaigns import answer_next
from pairsmith.campaign import dashboard, leases, people, planning, report, worker
from pairsmith.campaign.snapshot import take_snapshot
from pairsmith.campaign.store import Store


@pytest.mark.slow
def test_the_process_behind_ends_with_the_file(tmp_path, make, capfd):
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
        assert started.process.returncode == worker.GONE
    assert capfd.readouterr().err.count("removed, renamed or replaced while in use") == 1
    assert not (tmp_path / "t.db").exists()


def wait_for(what, seconds=40):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if found := what():
            return found
        time.sleep(0.1)
    raise AssertionError(f"did not happen within {seconds} s")


@pytest.mark.slow
def test_the_worker_plans_and_reports_and_is_started_again(target, make):
    store = make(target, n=12, k=8, clock=lambda: time.time() - 3600)  # nobody is fast now: a round has k pairs
    with worker.Worker(target) as started:
        wait_for(lambda: dashboard.last_report(store)["advice"])
        first = started.process
        os.kill(first.pid, signal.SIGKILL)
        for _ in range(7):
            leases.answer(
                store, people.local_person(store), leases.next_pair(store, people.local_person(store)).token, "left"
            )
        wait_for(lambda: len(take_snapshot(store).planned) == 16)
        wait_for(lambda: dashboard.last_report(store)["answers"] == 7)
        assert started.process.pid != first.pid
        assert psutil.Process(started.process.pid).nice() == 19
        assert "postgresql" not in " ".join(psutil.Process(started.process.pid).cmdline())
        last = started.process
    assert last.poll() is not None


def test_what_the_worker_cannot_do_is_shown(tmp_path, make, monkeypatch):
    store = make(str(tmp_path / "t.db"), k=3)

    def fail(*_args, **_more):
        raise ValueError("no memory")

    def stop(_seconds):
        raise KeyboardInterrupt

    monkeypatch.setattr(planning, "next_round", fail)
    monkeypatch.setattr(worker.time, "sleep", stop)
    for _ in range(3):
        leases.answer(
            store, people.local_person(store), leases.next_pair(store, people.local_person(store)).token, "left"
        )
    with pytest.raises(KeyboardInterrupt):
        worker.watch(store)
    assert "no memory" in dashboard.last_problem(store)


def test_rounds_are_planned_while_a_report_takes_its_time(tmp_path, make, monkeypatch):
    """The report ends only when a round was added after it began."""
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
        worker.watch(store)
    assert dashboard.last_report(store)["answers"] == 1
    assert len(take_snapshot(store).planned) == 16


def test_a_report_that_fails_is_told_and_tried_again(tmp_path, make, monkeypatch):
    store = make(str(tmp_path / "t.db"))
    tried, told = [], []

    def fail_once(snapshot, memory):
        tried.append(1)
        if len(tried) == 1:
            raise ValueError("no sense")
        return dashboard.EMPTY_REPORT | {"answers": 5}

    def pause(_seconds):
        told.append(dashboard.last_problem(store))
        if dashboard.last_report(store)["answers"] == 5:
            raise KeyboardInterrupt

    monkeypatch.setattr(report, "make_report", fail_once)
    monkeypatch.setattr(worker.time, "sleep", pause)
    with pytest.raises(KeyboardInterrupt):
        worker.watch(store)
    assert any("no sense" in text for text in told)
    assert dashboard.last_problem(store) == ""
