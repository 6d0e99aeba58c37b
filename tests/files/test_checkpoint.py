"""Checkpoints: killed anywhere, started again, the same pairs."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import pairsmith as ps
from pairsmith.files.checkpoint import Checkpoint
from support.edits import edits, read_or_refused

X = np.random.default_rng(0).standard_normal((1200, 8))
OPTIONS = {"ridge": 1e-3, "labeled": [1, 2], "comparisons": [(0, 5)]}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.json"


@pytest.fixture(scope="module")
def expected():
    return ps.select(X, 60, **OPTIONS)


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["engine", "scalar", "factorization-lazy"])
@pytest.mark.parametrize("done", [0, 1, 25, 59])
def test_goes_on_where_it_stopped(path, expected, done, algorithm):
    if done:
        ps.select(X, done, checkpoint=path, **OPTIONS)
    went_on = ps.select(X, 60, checkpoint=path, algorithm=algorithm, **OPTIONS)
    np.testing.assert_array_equal(went_on.pairs, expected.pairs)
    np.testing.assert_allclose(went_on.gains, expected.gains, rtol=1e-9)
    np.testing.assert_allclose(went_on.logdet, expected.logdet)
    np.testing.assert_array_equal(ps.select(X, 60, checkpoint=path, **OPTIONS).pairs, expected.pairs)
    np.testing.assert_array_equal(ps.select(X, 10, checkpoint=path, **OPTIONS).pairs, expected.pairs[:10])


def test_with_a_cap(path):
    free = ps.select(X, 40, max_per_item=1, **OPTIONS)
    ps.select(X, 15, max_per_item=1, checkpoint=path, **OPTIONS)
    assert ps.select(X, 40, max_per_item=1, checkpoint=path, **OPTIONS).pairs.tolist() == free.pairs.tolist()


def test_a_run_stuck_at_its_cap_stays_stuck(path):
    X = np.random.default_rng(2).standard_normal((5, 2))
    for _ in range(2):
        with pytest.warns(UserWarning, match="only 4 of k=5"):
            assert len(ps.select(X, 5, max_per_item=2, checkpoint=path)) == 4


def test_other_problems_are_refused(path):
    ps.select(X, 5, checkpoint=path, **OPTIONS)
    before = path.read_bytes()
    moved = X.copy()
    moved[700, 3] += 1e-12
    for change, told in (
        ({"X": moved}, "features differ"),
        ({"X": X[:-1]}, "items was 1200, not 1199"),
        ({"ridge": 1e-4}, "ridge was 0.001, not 0.0001"),
        ({"labeled": [1]}, "labeled items differ"),
        ({"comparisons": None}, "comparisons differ"),
        ({"candidates": ps.WithinGroups(np.arange(1200) % 2)}, "candidates differ"),
        ({"max_per_item": 3}, "max_per_item was None, not 3"),
    ):
        call = {"X": X, "k": 5, **OPTIONS, **change}
        with pytest.raises(ValueError, match=told):
            ps.select(**call, checkpoint=path)
    assert path.read_bytes() == before


def test_order_of_what_is_known_does_not_matter(path):
    ps.select(X, 5, ridge=1.0, labeled=[1, 2], comparisons=[(3, 4), (0, 5)], checkpoint=path)
    ps.select(X, 6, ridge=1.0, labeled=[2, 1], comparisons=[(5, 0), (3, 4)], checkpoint=path)


def test_files_that_are_none_of_ours(path, tmp_path):
    whole = '{"pairsmith checkpoint": 1, "problem": {}, "pairs": %s}'
    odd = [whole % pairs for pairs in ("[[1e999, 3]]", "[[0.7, 3.2]]", '[["1", "5"]]', "[[false, true]]", '{"12": 1}')]
    broken = ["", "{", "[]", '{"pairs": []}', '{"pairsmith checkpoint": 1, "problem": 3, "pairs": []}', "[" * 100_000]
    for content in (*broken, *odd):
        path.write_text(content)
        with pytest.raises(ValueError, match="no checkpoint of pairsmith"):
            ps.select(X, 5, checkpoint=path, **OPTIONS)
        assert path.read_text() == content
    path.unlink()
    ps.select(X, 5, checkpoint=path, **OPTIONS)
    content = json.loads(path.read_text())
    path.write_text(json.dumps({**content, "pairsmith checkpoint": 2}))
    with pytest.raises(ValueError, match="another version"):
        ps.select(X, 5, checkpoint=path, **OPTIONS)
    for pair in ([0, 5], [3, 3], [0, 9999], [-1, 4], content["pairs"][0]):
        path.write_text(json.dumps({**content, "pairs": [*content["pairs"], pair]}))
        with pytest.raises(ValueError, match="which cannot be"):
            ps.select(X, 9, checkpoint=path, **OPTIONS)
    with pytest.raises(ValueError, match="no place for a file"):
        ps.select(X, 5, checkpoint=tmp_path)
    with pytest.raises(ValueError, match="no place for a file"):
        ps.select(X, 5, checkpoint=tmp_path / "nowhere" / "run.json")
    with pytest.raises(ValueError, match="leave it out"):
        ps.select(X, 5, checkpoint=path, objective="random")
    for wrong in (5, True, b"run.json"):
        with pytest.raises(ValueError, match="checkpoint must be the path of a file"):
            ps.select(X, 5, checkpoint=wrong)


SCRIPT = """
import sys, numpy as np, pairsmith as ps
X = np.random.default_rng(1).standard_normal((4000, 40))
sel = ps.select(X, 300, ridge=1e-4, pool_size=3000, checkpoint=sys.argv[1])
np.save(sys.argv[2], sel.pairs)
"""


@pytest.mark.slow
def test_killed_again_and_again(path, tmp_path):
    """SIGKILL in the middle of a run with many scans: what is on disk only grows, and the end is the same."""
    result = tmp_path / "pairs.npy"
    command = [sys.executable, "-c", SCRIPT, str(path), str(result)]

    def saved():
        return len(json.loads(path.read_text())["pairs"]) if path.exists() else -1

    counts = [0]
    for target in (0, 1, 40, 90, 150):
        process = subprocess.Popen(command)
        while saved() < target:
            assert process.poll() is None, "it ended before it could be killed"
            time.sleep(0.002)
        process.send_signal(signal.SIGKILL)
        process.wait()
        counts.append(saved())
    assert counts == sorted(counts)
    assert 150 <= counts[-1] < 300
    assert not result.exists()
    subprocess.run(command, check=True)
    whole = ps.select(np.random.default_rng(1).standard_normal((4000, 40)), 300, ridge=1e-4)
    np.testing.assert_array_equal(np.load(result), whole.pairs)


def test_what_may_never_end_is_no_checkpoint(tmp_path):
    pipe = tmp_path / "pipe.json"
    os.mkfifo(pipe)
    for path in ("/dev/zero", pipe):
        with pytest.raises(ValueError, match="is a device or a pipe; name a file"):
            Checkpoint(path, {})
    assert Path("/dev/zero").is_char_device()


def test_a_checkpoint_that_was_edited_is_read_or_refused_in_one_line(tmp_path):
    path = tmp_path / "checkpoint.json"
    X = np.random.default_rng(0).standard_normal((6, 2))
    ps.select(X, 3, ridge=1.0, checkpoint=path)
    for _, edited in edits(json.loads(path.read_text())):
        path.write_text(json.dumps(edited))
        with read_or_refused(f"checkpoint {path}"):
            ps.select(X, 4, ridge=1.0, checkpoint=path)


def test_a_repeated_key_makes_no_checkpoint(tmp_path):
    path = tmp_path / "checkpoint.json"
    path.write_text('{"pairsmith checkpoint": 1, "problem": {}, "pairs": [], "pairs": [[0, 1]]}')
    with pytest.raises(ValueError, match="the key 'pairs' is there twice"):
        Checkpoint(path, {})
