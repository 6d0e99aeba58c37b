"""Commands that are stopped."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from pairsmith.cli import interruption

# The command line, which says so on standard output when the first pair is picked.
TELLING = """
from pairsmith import cli
from pairsmith.selection.run import Journal

note = Journal.note

def first(journal, step):
    Journal.note = note
    note(journal, step)
    print("picked", flush=True)

Journal.note = first
cli.main()
"""


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["naive", "factorization", "scalar", "factorization-lazy"])
def test_interrupting_leaves_no_file(tmp_path, algorithm):
    np.save(tmp_path / "items.npy", np.random.default_rng(0).standard_normal((1000, 30)))
    command = [sys.executable, "-c", TELLING, "select", "items.npy", "-k", "100000", "--algorithm", algorithm]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    process = subprocess.Popen([*command, "-o", "pairs.csv"], cwd=tmp_path, **pipes)
    assert process.stdout.readline() == "picked\n"
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert err == "Interrupted. Nothing was written.\n"
    assert process.returncode == 130
    assert os.listdir(tmp_path) == ["items.npy"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "code", "word"), [(signal.SIGINT, 130, "Interrupted"), (signal.SIGTERM, 143, "Terminated")]
)
def test_interrupting_the_command_says_how_to_go_on(tmp_path, number, code, word):
    features = np.random.default_rng(1).standard_normal((6000, 60))
    np.save(tmp_path / "items.npy", features)
    command = [sys.executable, "-m", "pairsmith.cli", "select", "items.npy", "-k", "400", "--checkpoint", "run.json"]
    process = subprocess.Popen(
        [*command, "-o", "pairs.csv"], cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 120
    while not (tmp_path / "run.json").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(number)
    _, told = process.communicate(timeout=60)
    assert process.returncode == code
    assert f"{word}. The pairs picked so far are in run.json; the same command goes on from there." in told
    assert sorted(os.listdir(tmp_path)) == ["items.npy", "run.json"]
    assert "Traceback" not in told
    json.loads((tmp_path / "run.json").read_text())
    done = subprocess.run([*command, "-o", "pairs.csv"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert len((tmp_path / "pairs.csv").read_text().splitlines()) == 401


@pytest.fixture
def begun():
    """A command has begun; whatever the test does to it is forgotten afterwards."""
    interruption.forget()
    yield
    interruption.forget()


def stop(checkpoint):
    with interruption.resumable(checkpoint):
        raise KeyboardInterrupt


def test_what_is_left_is_told_by_whoever_left_it(begun):
    assert interruption.told() == ("Interrupted. Nothing was written.", 130)
    with pytest.raises(KeyboardInterrupt):
        stop(None)
    assert interruption.told() == ("Interrupted. Nothing was written.", 130)
    with pytest.raises(KeyboardInterrupt):
        stop(Path("run.json"))
    told = "The pairs picked so far are in run.json; the same command goes on from there."
    assert interruption.told() == (f"Interrupted. {told}", 130)
    interruption.forget()
    assert interruption.told() == ("Interrupted. Nothing was written.", 130)


def test_a_command_that_ended_well_leaves_nothing_to_tell(begun):
    with interruption.resumable(Path("run.json")):
        pass
    assert interruption.told() == ("Interrupted. Nothing was written.", 130)


def end_by(number):
    with interruption.until_terminated():
        signal.raise_signal(number)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_to_be_terminated_is_to_be_interrupted(begun, number, code):
    before = signal.signal(number, signal.SIG_DFL)  # whoever runs the tests by nohup ignores SIGHUP
    try:
        with pytest.raises(KeyboardInterrupt):
            end_by(number)
        assert interruption.told() == ("Terminated. Nothing was written.", code)
        assert signal.getsignal(number) == signal.SIG_DFL
    finally:
        signal.signal(number, before)


def test_a_handler_that_is_there_is_left_alone(begun):
    heard = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: heard.append(number))
    try:
        end_by(signal.SIGTERM)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert heard == [signal.SIGTERM]
    assert interruption.told()[1] == 130


def test_threads_set_no_handlers(begun):
    found = []

    def work():
        with interruption.until_terminated():
            found.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [signal.SIG_DFL]
