"""Databases in trouble cause one-line errors, and no harm."""

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
import sqlalchemy as sa

from pairsmith.campaign import is_campaign
from pairsmith.campaign.answering import leases
from pairsmith.campaign.people import invites as people
from pairsmith.campaign.store import answers, database, schema
from pairsmith.campaign.store import media as media_files
from pairsmith.campaign.store.database import CampaignError
from pairsmith.campaign.store.snapshot import take_snapshot
from pairsmith.campaign.store.store import Store
from support.campaigns import answer_next, answers_of


@pytest.fixture
def new_database(postgresql):
    """new_database("ENCODING 'LATIN1'", "SET timezone = 'x'") -> the URL of a database made and altered so."""
    made = []

    def make_one(options="", setting=""):
        name = f"d{time.time_ns()}"
        with run_outside_transactions(postgresql) as run:
            run(f"CREATE DATABASE {name} TEMPLATE template0 {options}")
            made.append(name)
            if setting:
                run(f"ALTER DATABASE {name} {setting}")
        return f"{postgresql}/{name}"

    yield make_one
    with run_outside_transactions(postgresql) as run:
        for name in made:
            run(f"DROP DATABASE {name} WITH (FORCE)")


@contextmanager
def run_outside_transactions(url):
    engine = sa.create_engine(f"{url.replace(':', '+psycopg:', 1)}/postgres", isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        yield connection.exec_driver_sql
    engine.dispose()


def unharmed(path, what):
    before = Path(path).read_bytes()
    with pytest.raises(CampaignError, match=what) as caught:
        Store(str(path))
    assert "\n" not in str(caught.value)
    assert Path(path).read_bytes() == before


def test_other_files_are_refused_and_left_alone(tmp_path):
    with pytest.raises(CampaignError, match="no such campaign"):
        Store(str(tmp_path / "nothing.db"))
    assert not (tmp_path / "nothing.db").exists()
    (tmp_path / "text.db").write_text("id,f\n1,2\n")
    unharmed(tmp_path / "text.db", "no campaign")
    (tmp_path / "empty.db").write_bytes(b"")
    unharmed(tmp_path / "empty.db", "no campaign")
    with sqlite3.connect(tmp_path / "other.db") as other:
        other.execute("CREATE TABLE campaign (id, version, settings)")
    other.close()
    unharmed(tmp_path / "other.db", "no campaign")
    with pytest.raises(CampaignError, match="folder"):
        Store(str(tmp_path))


def test_a_damaged_file_is_refused_and_left_alone(tmp_path, make):
    path = tmp_path / "t.db"
    make(str(path), n=200, d=20).close()
    content = bytearray(path.read_bytes())
    content[4096 * 3 :] = os.urandom(len(content) - 4096 * 3)
    path.write_bytes(content)
    unharmed(path, "damaged|no campaign")


def test_a_newer_version_is_refused_and_left_alone(target, make):
    store = make(target)
    with store.writing() as connection:
        connection.execute(sa.update(schema.campaign).values(version=99))
    store.close()
    with pytest.raises(CampaignError, match="newer pairsmith"):
        Store(target)


def test_a_locked_file_is_one_line(tmp_path, make, monkeypatch):
    monkeypatch.setattr(database, "_TIMEOUT", 0.2)
    store = make(str(tmp_path / "t.db"))
    person = people.local_rater(store)
    lease = leases.next_pair(store, person)
    blocker = sqlite3.connect(tmp_path / "t.db", isolation_level=None)
    blocker.execute("BEGIN IMMEDIATE")
    with pytest.raises(CampaignError, match="locked by another program"):
        leases.answer(store, person, lease.token, "left")
    blocker.execute("ROLLBACK")
    blocker.close()
    assert leases.answer(store, person, lease.token, "left")


def test_a_full_disk_is_one_line_and_loses_nothing(tmp_path, make):
    store = make(str(tmp_path / "t.db"), n=40, k=300)
    person = people.local_rater(store)
    sa.event.listen(store.engine, "begin", lambda c: c.exec_driver_sql("PRAGMA max_page_count=1"))  # as small as it is
    acknowledged = 0

    def label_on():
        nonlocal acknowledged
        while True:
            answer_next(store, "left", person)
            acknowledged += 1

    with pytest.raises(CampaignError, match="disk is full"):
        label_on()
    store.close()
    with_room = Store(str(tmp_path / "t.db"))
    assert len(take_snapshot(with_room).answers) == acknowledged > 0
    with_room.close()


def test_a_read_only_file_is_one_line(make):
    folder = Path(tempfile.mkdtemp())
    make(str(folder / "t.db")).close()
    (folder / "t.db").chmod(0o444)
    folder.chmod(0o555)
    root = os.geteuid() == 0
    if root:  # root may write everywhere: be nobody for a moment
        os.seteuid(65534)
    try:
        unharmed(folder / "t.db", "cannot be written to")
        assert len(take_snapshot(Store(str(folder / "t.db"), changes=False)).planned) == 10
    finally:
        if root:
            os.seteuid(0)
        folder.chmod(0o755)
        shutil.rmtree(folder)


def test_an_unreachable_postgresql_is_one_line_without_the_password():
    with pytest.raises(CampaignError) as caught:
        Store("postgresql://me:secret@127.0.0.1:1/nothing")
    assert "secret" not in str(caught.value)
    assert "\n" not in str(caught.value)
    with pytest.raises(CampaignError, match="no PostgreSQL URL"):
        Store("postgresql://me:secret@host:port/nothing")


@pytest.mark.parametrize("encoding", ["LATIN1", "SQL_ASCII"])
def test_a_database_that_cannot_hold_every_text_is_refused(new_database, make, encoding):
    with pytest.raises(CampaignError, match=f"has the encoding {encoding}.*--encoding UTF8"):
        make(new_database(f"ENCODING '{encoding}' LOCALE 'C'"))


@pytest.mark.parametrize("level", ["repeatable read", "serializable"])
def test_a_writer_sees_the_previous_write_under_any_default_isolation(new_database, make, level):
    store = make(new_database(setting=f"SET default_transaction_isolation = '{level}'"))
    failed = []

    def write():
        try:
            with store.writing() as connection:
                connection.execute(sa.update(schema.items).values(lean=schema.items.c.lean + 1))
        except CampaignError as error:
            failed.append(str(error))

    waiting = sa.text("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")
    with store.writing() as connection:
        other = threading.Thread(target=write)
        other.start()
        while not connection.execute(waiting).scalar():
            time.sleep(0.01)
        connection.execute(sa.update(schema.items).values(lean=1))
    other.join()
    assert failed == []
    with store.reading() as connection:
        assert set(connection.execute(sa.select(schema.items.c.lean)).scalars()) == {2}


def test_a_hanging_writer_does_not_block_the_others_for_ever(new_database, make, monkeypatch):
    monkeypatch.setattr(database, "_TIMEOUT", 1)
    target = new_database()
    store = make(target)
    with store.writing(), pytest.raises(CampaignError, match="locked by another program"):
        people.invite(store, "anna")
    people.invite(store, "anna")


@pytest.mark.parametrize("options", ["default_transaction_read_only%3Don", "role%3Dpg_read_all_data"])
def test_a_read_only_database_can_be_read(new_database, make, options):
    target = new_database()
    make(target)
    with pytest.raises(CampaignError, match="cannot be written to; grant"):
        Store(f"{target}?options=-c{options}")
    with Store(f"{target}?options=-c{options}", changes=False) as store:
        assert len(take_snapshot(store).planned) == 10


def test_answers_of_the_same_time_are_loaded_in_order_of_arrival(target, make):
    store = make(target)
    outcomes = [1, -1, 0, 1, 1, -1] * 20
    answers.add_answers(store, answers_of([(0, 1)] * len(outcomes), outcome=outcomes, at=1_600_000_000_000_000))
    with store.writing() as connection:  # PostgreSQL moves rows that are changed
        connection.execute(sa.update(schema.leases).where(schema.leases.c.id < 9).values(again=True))
    assert take_snapshot(store).answers["outcome"].tolist() == outcomes


LOOKS = {
    "opened again": lambda folder: Store(str(folder / "t.db")).close(),
    "opened by a link": lambda folder: Store(str(folder / "link.db")).close(),
    "read by a link": lambda folder: Store(str(folder / "link.db"), changes=False).close(),
    "copied": lambda folder: database.open_to_copy(folder / "t.db").close(),
    "looked at": lambda folder: is_campaign(str(folder / "other name")),
    "shown": lambda folder: _show(folder / "x.png"),
}


def _show(picture):
    with pytest.raises(media_files.MediaError, match="link to a database"):
        media_files.open_file(str(picture.parent.resolve()), picture.name, "image")


@pytest.mark.parametrize("look", LOOKS)
def test_inspecting_an_open_file_does_not_drop_its_locks(tmp_path, make, look):
    """Without its locks, another process would take the campaign for closed, and remove its log at the end."""
    for link in ("link.db", "other name", "x.png"):
        (tmp_path / link).symlink_to("t.db")
    store = make(str(tmp_path / "t.db"))
    answer_next(store)
    LOOKS[look](tmp_path)
    elsewhere = (
        "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]);"
        "print(*c.execute('SELECT count(*) FROM answers').fetchone()); c.close()"
    )
    found = subprocess.run([sys.executable, "-c", elsewhere, str(tmp_path / "t.db")], capture_output=True, check=True)
    assert found.stdout == b"1\n"
    assert (tmp_path / "t.db-wal").exists()
    answer_next(store)
    assert len(take_snapshot(store).answers) == 2


def test_a_file_with_two_names_is_refused(tmp_path, make):
    make(str(tmp_path / "t.db")).close()
    os.link(tmp_path / "t.db", tmp_path / "second.db")
    for name in ("t.db", "second.db"):
        unharmed(tmp_path / name, f"{name} has another name, a hard link to it; remove one of the two names")
        with pytest.raises(CampaignError, match="hard link"):
            Store(str(tmp_path / name), changes=False)
    (tmp_path / "second.db").unlink()
    Store(str(tmp_path / "t.db")).close()


def test_inspecting_a_file_leaves_nothing_beside_it(tmp_path):
    with sqlite3.connect(tmp_path / "other") as other:
        other.execute("PRAGMA journal_mode=WAL")
        other.execute("CREATE TABLE campaign (id)")
    other.close()
    (tmp_path / "empty").touch()
    (tmp_path / "a#b?c%20.csv").write_text("id,x\n1,2\n")
    before = sorted(os.listdir(tmp_path))
    assert [is_campaign(str(tmp_path / name)) for name in before] == [False, False, True]
    assert sorted(os.listdir(tmp_path)) == before
