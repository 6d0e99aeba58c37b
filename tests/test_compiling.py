"""The time that numba compiles, told apart from the work."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from numba import njit

from pairsmith import cli
from pairsmith.design.compiling import compiling

MODULE = """
from typing import NamedTuple
import numpy as np
from pairsmith.design.compiling import compiled

class NAME(NamedTuple):
    value: float

@compiled
def twice(given):
    return 2 * given.value

print(twice(NAME(21.0)), len(twice.stats.cache_hits))
"""


@pytest.fixture
def run(tmp_path):
    """run(name) -> what the module prints whose kernel takes a tuple of that name."""

    def of(name):
        text, path = MODULE.replace("NAME", name), tmp_path / "module.py"
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
        found = subprocess.run([sys.executable, "-c", "import module"], cwd=tmp_path, capture_output=True, text=True)
        return found.stdout.split(), found.stderr

    return of


@pytest.mark.slow
def test_compiled_code_is_found_again(run):
    assert run("Given") == (["42.0", "0"], "")
    assert run("Given") == (["42.0", "1"], "")


@pytest.mark.slow
def test_compiled_code_of_a_class_that_has_another_name_now_is_no_obstacle(run):
    assert run("Before") == (["42.0", "0"], "")
    assert run("After") == (["42.0", "0"], "")


@pytest.mark.slow
def test_without_a_place_for_compiled_code_it_is_compiled_again(tmp_path):
    package = tmp_path / "site" / "pairsmith"
    shutil.copytree(Path(cli.__file__).parent.parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    for folder in (package, *(path for path in package.rglob("*") if path.is_dir())):
        (folder / "__pycache__").write_text("")  # no folder can be made here, by nobody
    np.save(tmp_path / "items.npy", np.random.default_rng(0).standard_normal((9, 2)))
    nowhere = {"HOME": os.devnull, "XDG_CACHE_HOME": f"{os.devnull}/x", "LOCALAPPDATA": os.devnull}
    command = [sys.executable, "-m", "pairsmith.cli", "select", "items.npy", "-k", "2", "--objective", "random"]
    for more, told in (({}, 1), ({"NUMBA_CACHE_DIR": str(tmp_path / "cache")}, 0)):
        own = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
        own |= nowhere | {"PYTHONPATH": str(package.parent)} | more
        done = subprocess.run(command, cwd=tmp_path, env=own, capture_output=True, text=True)
        assert (done.returncode, done.stdout.count("\n")) == (0, 3), done.stderr
        assert done.stderr.count("\n") == done.stderr.count("Warning: numba has no writable cache folder") == told
    assert any((tmp_path / "cache").rglob("*.nbi"))


def test_a_kernel_counts_when_it_is_compiled_and_never_again():
    kernel = njit(lambda x: x.sum() + 1)
    with compiling() as first:
        kernel(np.ones(3))
    with compiling() as second:
        kernel(np.ones(3))
    with compiling() as other_type:
        kernel(np.ones(3, dtype=np.float32))
    assert first.seconds > 0
    assert second.seconds == 0
    assert other_type.seconds > 0


@pytest.mark.slow
def test_a_kernel_within_a_kernel_counts_once():
    inner = njit(lambda x: np.sort(x))
    outer = njit(lambda x: inner(x).sum())
    began = time.perf_counter()
    with compiling() as both:
        outer(np.ones(3))
    passed = time.perf_counter() - began
    assert passed / 2 < both.seconds < passed  # nearly all of it is compiling, and no second is counted twice


def test_it_is_told_after_an_error_too():
    kernel = njit(lambda x: x.sum() + 2)

    def fails():
        kernel(np.ones(3))
        raise RuntimeError("after compiling")

    measured = compiling()
    with pytest.raises(RuntimeError, match="after compiling"), measured as told:
        fails()
    assert told.seconds > 0
