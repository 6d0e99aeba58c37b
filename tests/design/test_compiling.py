"""Compiled kernels, their cache on disk, and the time that numba takes to compile."""

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
from pairsmith.design.compiling import measure_compilation

MODULE = """
from typing import NamedTuple
import numpy as np
from pairsmith.design.compiling import compiled

class NAME(NamedTuple):
    value: float

@compiled
def twice(number):
    return 2 * number.value

print(twice(NAME(21.0)), len(twice.stats.cache_hits))
"""


@pytest.fixture
def run(tmp_path):
    """Return run(name): import a module whose kernel takes a tuple of that name, and return its output."""

    def run_module(name):
        text, path = MODULE.replace("NAME", name), tmp_path / "module.py"
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
        finished = subprocess.run([sys.executable, "-c", "import module"], cwd=tmp_path, capture_output=True, text=True)
        return finished.stdout.split(), finished.stderr

    return run_module


@pytest.mark.slow
def test_compiled_code_is_loaded_from_the_cache(run):
    assert run("Name") == (["42.0", "0"], "")
    assert run("Name") == (["42.0", "1"], "")


@pytest.mark.slow
def test_a_cache_index_that_names_a_removed_class_is_ignored(run):
    assert run("Before") == (["42.0", "0"], "")
    assert run("After") == (["42.0", "0"], "")


@pytest.mark.slow
def test_without_a_writable_cache_folder_kernels_are_compiled_again_with_a_warning(tmp_path):
    package = tmp_path / "site" / "pairsmith"
    shutil.copytree(Path(cli.__file__).parent.parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    for folder in (package, *(path for path in package.rglob("*") if path.is_dir())):
        (folder / "__pycache__").write_text("")  # a file, so that no folder of this name can be made, not even by root
    np.save(tmp_path / "items.npy", np.random.default_rng(0).standard_normal((9, 2)))
    no_home = {"HOME": os.devnull, "XDG_CACHE_HOME": f"{os.devnull}/x", "LOCALAPPDATA": os.devnull}
    command = [sys.executable, "-m", "pairsmith.cli", "select", "items.npy", "-k", "2", "--objective", "random"]
    for more, warnings in (({}, 1), ({"NUMBA_CACHE_DIR": str(tmp_path / "cache")}, 0)):
        own = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
        own |= no_home | {"PYTHONPATH": str(package.parent)} | more
        done = subprocess.run(command, cwd=tmp_path, env=own, capture_output=True, text=True)
        assert (done.returncode, done.stdout.count("\n")) == (0, 3), done.stderr
        assert done.stderr.count("\n") == done.stderr.count("Warning: numba has no writable cache folder") == warnings
    assert any((tmp_path / "cache").rglob("*.nbi"))


def test_a_kernel_takes_compilation_time_only_at_its_first_call_with_a_type():
    kernel = njit(lambda x: x.sum() + 1)
    with measure_compilation() as first:
        kernel(np.ones(3))
    with measure_compilation() as second:
        kernel(np.ones(3))
    with measure_compilation() as other_type:
        kernel(np.ones(3, dtype=np.float32))
    assert first.seconds > 0
    assert second.seconds == 0
    assert other_type.seconds > 0


@pytest.mark.slow
def test_a_kernel_called_by_a_kernel_counts_once():
    inner = njit(lambda x: np.sort(x))
    outer = njit(lambda x: inner(x).sum())
    start = time.perf_counter()
    with measure_compilation() as both:
        outer(np.ones(3))
    elapsed = time.perf_counter() - start
    assert elapsed / 2 < both.seconds < elapsed  # most of the time is compilation, and none of it is counted twice


def test_the_compilation_time_is_set_after_an_error_too():
    kernel = njit(lambda x: x.sum() + 2)

    def fails():
        kernel(np.ones(3))
        raise RuntimeError("after compiling")

    measured = measure_compilation()
    with pytest.raises(RuntimeError, match="after compiling"), measured as compilation:
        fails()
    assert compilation.seconds > 0
