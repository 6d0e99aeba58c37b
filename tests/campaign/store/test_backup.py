"""Copies of campaigns that people answer at the same time."""

import shutil
import sqlite3
import threading

import pytest

from pairsmith.campaign.store import backup
from pairsmith.campaign.store.database import CampaignError
from pairsmith.campaign.store.snapshot import take_snapshot
from pairsmith.campaign.store.store import Store
from support.campaigns import answer_next


def test_a_copy_includes_the_write_ahead_log(tmp_path, make):
    store = make(str(tmp_path / "t.db"))
    for _ in range(5):
        answer_next(store)
    shutil.copy(store.target, tmp_path / "cp.db")  # what not to do
    assert backup.copy(store.target, tmp_path / "copy.db") == (12, 5)
    assert sorted(path.name for path in tmp_path.glob("copy*")) == ["copy.db"]
    with Store(str(tmp_path / "copy.db")) as copy, Store(str(tmp_path / "cp.db")) as half:
        assert take_snapshot(copy).answers.equals(take_snapshot(store).answers)
        assert len(take_snapshot(half).answers) < 5
        answer_next(copy)  # it goes on by itself
    assert len(take_snapshot(store).answers) == 5


def test_copies_made_while_people_answer_are_whole(tmp_path, make):
    store = make(str(tmp_path / "t.db"), n=30, k=200)
    done = threading.Event()

    def label():
        for _ in range(60):
            answer_next(store)
        done.set()

    rater = threading.Thread(target=label)
    rater.start()
    found = []
    while not done.is_set() or not found:
        found.append(backup.copy(store.target, tmp_path / "copy.db", force=True)[1])
        with Store(str(tmp_path / "copy.db")) as copy:
            assert len(take_snapshot(copy).answers) == found[-1]
    rater.join()
    assert found == sorted(found)
    assert backup.copy(store.target, tmp_path / "copy.db", force=True)[1] == 60


def test_files_are_overwritten_only_with_force(tmp_path, make, run):
    store = make(str(tmp_path / "t.db"))
    (tmp_path / "there.db").write_text("precious")
    for name, words in {
        "there.db": "is there already; choose another, or replace it with --force",
        "t.db": "is the campaign itself",
        "copy.csv": "call the copy something.db",
        "nowhere/copy.db": "this is no place for a file",
    }.items():
        code, out, err = run("campaign", "backup", store.target, "-o", str(tmp_path / name))
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert words in err
    assert (tmp_path / "there.db").read_text() == "precious"
    code, out, err = run("campaign", "backup", store.target, "-o", str(tmp_path / "there.db"), "--force")
    assert (code, err) == (0, "")
    assert out == f"Wrote {tmp_path}/there.db: 12 items, 0 answers. It was read again and is complete.\n"


def test_a_campaign_of_another_version_is_copied_as_it_is(tmp_path, make):
    store = make(str(tmp_path / "other.db"))
    answer_next(store)
    with store.writing() as connection:
        connection.exec_driver_sql("UPDATE campaign SET version = 7")
    store.close()
    assert backup.copy(str(tmp_path / "other.db"), tmp_path / "copy.db") == (12, 1)
    for name in ("other.db", "copy.db"):
        with sqlite3.connect(tmp_path / name) as connection:
            assert connection.execute("SELECT version FROM campaign").fetchone() == (7,)
        connection.close()


def test_a_campaign_that_cannot_be_copied_is_an_error(tmp_path, make):
    with pytest.raises(CampaignError, match="pg_dump"):
        backup.copy("postgresql://me:secret@nowhere/x", tmp_path / "copy.db")
    with pytest.raises(CampaignError, match="there is no such campaign"):
        backup.copy(str(tmp_path / "t.db"), tmp_path / "copy.db")
    store = make(str(tmp_path / "t.db"), n=60)
    store.close()
    content = bytearray((tmp_path / "t.db").read_bytes())
    content[8192:12288] = bytes(4096)
    (tmp_path / "t.db").write_bytes(content)
    with pytest.raises(CampaignError):
        backup.copy(str(tmp_path / "t.db"), tmp_path / "copy.db")
    assert not (tmp_path / "copy.db").exists()
