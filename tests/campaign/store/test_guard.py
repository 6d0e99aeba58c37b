"""Files that are removed or replaced while in use."""

import os
import shutil
import signal
import sqlite3
from pathlib import Path

import httpx2 as httpx
import pytest

from pairsmith.campaign.answering import leases
from pairsmith.campaign.people import invites as people
from pairsmith.campaign.reporting import dashboard
from pairsmith.campaign.store import guard
from pairsmith.campaign.store.database import CampaignError
from pairsmith.campaign.store.guard import Gone
from pairsmith.campaign.store.snapshot import take_snapshot
from pairsmith.campaign.store.store import Store
from support.campaigns import answer_next


@pytest.mark.parametrize("how", ["removed", "renamed", "replaced", "-wal", "-shm"])
def test_a_removed_file_takes_no_answers(tmp_path, make, how):
    path = str(tmp_path / "t.db")
    store = make(path)
    lease = leases.next_pair(store, people.local_rater(store))
    assert leases.answer(store, people.local_rater(store), lease.token, "left")
    lease = leases.next_pair(store, people.local_rater(store))
    store.check()
    if how == "removed":
        os.remove(path)
    elif how == "renamed":
        os.rename(path, tmp_path / "kept.db")
    elif how == "replaced":
        make(str(tmp_path / "other.db"), n=30, k=50).close()
        os.replace(tmp_path / "other.db", path)
    else:
        os.remove(path + how)
    told = f"t.db{how} was removed while in use" if how.startswith("-") else "removed, renamed or replaced while in use"
    for attempt in (
        lambda: leases.answer(store, people.local_rater(store), lease.token, "left"),
        lambda: leases.next_pair(store, people.local_rater(store)),
        lambda: dashboard.save_report(store, {}),
        store.check,
    ):
        with pytest.raises(Gone, match=told):
            attempt()
    store.close()
    if how == "replaced":  # and the log of the old file is not taken for the new one's
        with Store(path) as other:
            assert len(other.items.names) == 30
            assert len(take_snapshot(other).planned) == 50
            assert len(take_snapshot(other).answers) == 0
    elif how != "removed":
        with Store(str(tmp_path / "kept.db") if how == "renamed" else path) as kept:
            assert len(take_snapshot(kept).answers) >= 1


@pytest.mark.parametrize("before", [os, sqlite3])
def test_a_file_removed_between_two_checks_is_noticed(tmp_path, make, monkeypatch, before):
    """After its name was looked at: before its size is, or before a new connection opens it."""
    path = str(tmp_path / "t.db")
    store = make(path)
    answer_next(store)
    os.utime(path)  # so that the next look is at its contents, too
    name = {os: "stat", sqlite3: "connect"}[before]
    real, looks = getattr(before, name), []

    def taken_away(of, *args, **options):
        looks.append(of)
        if before is sqlite3 or (str(of) == path and looks.count(of) == 2):
            monkeypatch.undo()
            os.rename(path, tmp_path / "kept.db")
        return real(of, *args, **options)

    monkeypatch.setattr(before, name, taken_away)
    with pytest.raises(Gone, match="removed, renamed or replaced while in use"):
        store.check()
    assert not os.path.exists(path)
    store.close()
    with Store(str(tmp_path / "kept.db")) as kept:
        assert len(take_snapshot(kept).answers) == 1


def test_a_check_overtaken_by_other_threads_finds_nothing_wrong(tmp_path, make, monkeypatch):
    """It counts the answers as they were when it began, and meanwhile others have counted more."""
    path = str(tmp_path / "t.db")
    store = make(path)
    answer_next(store)
    real = sqlite3.connect

    def overtaken(*args, **options):
        monkeypatch.setattr(guard.sqlite3, "connect", real)
        connection = real(*args, **options)
        connection.execute("BEGIN")
        connection.execute("SELECT count(*) FROM answers").fetchone()  # from now on it sees no others
        for _ in range(2):
            answer_next(store)
            with real(path) as other:
                other.execute("PRAGMA wal_checkpoint(PASSIVE)")
            os.utime(path)  # the file was written to, so the others look, too
            store.check()
        return connection

    monkeypatch.setattr(guard.sqlite3, "connect", overtaken)
    os.utime(path)
    store.check()
    os.utime(path)
    store.check()


@pytest.mark.parametrize("other", ["an older copy", "another campaign", "nothing"])
def test_an_overwritten_file_takes_no_answers(tmp_path, make, other):
    """By its inode it is the same file; what SQLite has read of it is not there any more."""
    target, older = str(tmp_path / "t.db"), str(tmp_path / "older.db")
    make(target).close()
    if other == "an older copy":
        shutil.copy(target, older)
    elif other == "another campaign":
        make(older, n=20).close()
    else:
        Path(older).touch()

    def answer(store):
        leases.answer(
            store, people.local_rater(store), leases.next_pair(store, people.local_rater(store)).token, "left"
        )

    with Store(target) as store:
        for _ in range(3):
            answer(store)
    store = Store(target)
    answer(store)
    shutil.copy(older, target)
    with pytest.raises(CampaignError) as caught:
        answer(store)
    assert "overwritten while in use" in str(caught.value) or other == "nothing"
    with pytest.raises(Gone, match="overwritten while in use and does not hold all answers"):
        store.check()
    store.close()


@pytest.mark.slow
def test_a_server_without_its_file_takes_no_answers_and_reports_it(tmp_path, make, serve, capfd):
    make(str(tmp_path / "t.db")).close()
    url, process = serve(str(tmp_path / "t.db"))
    pair = httpx.post(f"{url}/api/next", json={}).json()["pair"]
    os.remove(tmp_path / "t.db")
    answer = httpx.post(f"{url}/api/answer", json={"lease": pair["lease"], "choice": "left"})
    assert answer.status_code == 503
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=30)
    assert "Every answer" not in out
    assert process.returncode == 2
    assert capfd.readouterr().err.splitlines()[-1].startswith(f"Error: {tmp_path}/t.db was removed")
