"""Files that are written whole, or not at all."""

import errno
import os
import signal
import stat
import subprocess
import sys
import threading
import time

import pytest

from pairsmith.cli import interruption
from pairsmith.files.write import descriptor, write_whole


def text(content):
    return lambda part: part.write_text(content)


def test_what_is_no_file_is_written_to_and_stays(tmp_path):
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    (tmp_path / "link.csv").symlink_to(pipe)
    got = []
    for name in ("pipe.csv", "link.csv"):
        reader = threading.Thread(target=lambda: got.append(pipe.read_text()))
        reader.start()
        write_whole(tmp_path / name, text("whole"))
        reader.join()
    assert got == ["whole", "whole"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    ours, theirs = os.openpty()
    terminal = os.ttyname(theirs)
    write_whole(terminal, text("whole"))
    assert os.read(ours, 100) == b"whole"
    assert stat.S_ISCHR(os.stat(terminal).st_mode)
    os.close(ours)
    os.close(theirs)
    assert sorted(os.listdir(tmp_path)) == ["link.csv", "pipe.csv"]


def test_an_open_file_is_written_to_where_it_is(tmp_path):
    log = tmp_path / "log.txt"
    script = (
        "from pairsmith.files.write import write_whole; print('before');"
        "write_whole('/dev/stdout', lambda part: part.write_text('whole\\n')); print('after')"
    )
    with log.open("w") as file:
        file.write("first\n")
        file.flush()
        subprocess.run([sys.executable, "-c", script], stdout=file, check=True)
    assert log.read_text() == "first\nbefore\nwhole\nafter\n"
    with log.open("r+b") as file:
        file.seek(5)
        (tmp_path / "link.txt").symlink_to(f"/dev/fd/{file.fileno()}")
        assert descriptor(tmp_path / "link.txt") == descriptor(f"/dev/fd/{file.fileno()}") == file.fileno()
        write_whole(tmp_path / "link.txt", text("!"))
    assert log.read_text() == "first!before\nwhole\nafter\n"
    assert [descriptor(name) for name in ("/dev/stdin", "/dev/stdout", "/dev/null", log)] == [0, 1, None, None]


def test_mode_and_owner_of_what_was_there_are_kept(tmp_path):
    path = tmp_path / "pairs.csv"
    before = os.umask(0o027)
    try:
        write_whole(path, text("new"))
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    for mode in (0o600, 0o664, 0o444):
        path.chmod(mode)
        if os.geteuid() == 0:
            os.chown(path, 65534, 65534)
        owner = path.stat()
        write_whole(path, lambda part: (part.write_text("new"), modes.append(part.stat().st_mode)))
        now = path.stat()
        assert stat.S_IMODE(now.st_mode) == mode
        assert (now.st_uid, now.st_gid) == (owner.st_uid, owner.st_gid)
        assert stat.S_IMODE(modes.pop()) == 0o600  # not even for a moment more
    assert os.listdir(tmp_path) == ["pairs.csv"]


modes = []


def test_threads_that_write_one_file_do_not_mix(tmp_path):
    path = tmp_path / "pairs.csv"
    write_whole(path, text(2000 * "0"))
    failed = []

    def write_again(letter):
        try:
            for _ in range(60):
                write_whole(path, lambda part: [part.write_text(2000 * letter) for _ in range(3)])
        except Exception as error:
            failed.append(error)

    writers = [threading.Thread(target=write_again, args=letter) for letter in "abc"]
    for writer in writers:
        writer.start()
    while any(writer.is_alive() for writer in writers):
        seen = path.read_text()
        assert seen == 2000 * seen[0]
    assert failed == []
    assert os.listdir(tmp_path) == ["pairs.csv"]


def test_the_file_and_its_name_are_on_disk_when_it_returns(tmp_path, monkeypatch):
    done = []
    replace = os.replace
    monkeypatch.setattr(os, "fsync", lambda number: done.append(os.fstat(number).st_ino))
    monkeypatch.setattr(os, "replace", lambda old, new: (done.append("renamed"), replace(old, new)))
    path = tmp_path / "pairs.csv"
    write_whole(path, text("whole"))
    assert done == [path.stat().st_ino, "renamed", tmp_path.stat().st_ino]


def test_an_error_names_the_file_and_leaves_nothing(tmp_path, monkeypatch):
    def full(_part):
        raise OSError(errno.ENOSPC, "No space left on device")

    for path in (tmp_path / "pairs.csv", tmp_path / "nowhere" / "pairs.csv"):
        with pytest.raises(OSError, match="pairs") as caught:
            write_whole(path, full)
        assert caught.value.filename == str(path)
    with pytest.raises(OSError, match=r"pairs\.csv: odd"):
        write_whole(tmp_path / "pairs.csv", lambda _part: exec('raise OSError("odd")'))
    monkeypatch.setattr(interruption, "_terminated_by", 0)

    def terminated(part):
        part.write_text("half")
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(60)

    with pytest.raises(KeyboardInterrupt), interruption.until_terminated():
        write_whole(tmp_path / "pairs.csv", terminated)
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    assert os.listdir(tmp_path) == []


def test_a_name_may_be_as_long_as_the_file_system_takes(tmp_path):
    path = tmp_path / f"{250 * 'x'}.csv"
    write_whole(path, text("whole"))
    assert path.read_text() == "whole"
