import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.distance import cdist

import pairsmith as ps
from oracle import exact_solve
from pairsmith import cli
from pairsmith.design import kernels

MODULE = """
from typing import NamedTuple
import numpy as np
from pairsmith.design.kernels import compiled

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
        assert done.stderr.count("\n") == done.stderr.count("Warning: there is no place that can be written to") == told
    assert any((tmp_path / "cache").rglob("*.nbi"))


CANDIDATES = {
    "all": ps.AllPairs(),
    "groups": ps.WithinGroups(np.random.default_rng(1).integers(0, 3, 90)),
    "list": ps.PairList([(3, 4), (3, 5), (3, 89), (0, 2), (88, 89), (40, 3), (41, 7)]),
}


@pytest.fixture(params=CANDIDATES)
def rows(request):
    return CANDIDATES[request.param].rows(90)


def arrays_of(rows):
    return rows.partner, rows.first, rows.count, rows.start


@pytest.mark.parametrize(("low", "high"), [(0, 90), (3, 4), (37, 89)])
def test_distances_of_the_pairs_of_some_rows(rows, low, high):
    Z = np.random.default_rng(0).standard_normal((90, 5))
    numbers = np.arange(rows.start[low], rows.start[high])
    i, j = rows.pairs(numbers).T
    out = np.full(len(numbers) + 1, np.nan)
    kernels.distances(Z, *arrays_of(rows), low, high, out)
    np.testing.assert_allclose(out[:-1], cdist(Z, Z, "sqeuclidean")[i, j])
    assert np.isnan(out[-1])  # nothing is written beyond
    alone = np.empty(len(i))
    kernels.pair_distances(Z, Z, i.astype(np.int32), j.astype(np.int32), alone)
    np.testing.assert_allclose(alone, out[:-1])


def test_equal_pairs_have_equal_distances(rows):
    """To the last bit, wherever they stand: ties are decided by it."""
    Z = np.repeat(np.random.default_rng(0).standard_normal((2, 7)), 45, axis=0)
    out = np.empty(len(rows))
    kernels.distances(Z, *arrays_of(rows), 0, 90, out)
    assert len(np.unique(out)) == 2


def test_the_best_is_the_first_of_the_largest_that_may_be_picked(rows):
    rng = np.random.default_rng(2)
    for _ in range(20):
        gains, full = rng.integers(0, 3, len(rows)).astype(float), rng.random(90) < 0.3
        taken = np.flatnonzero(rng.random(len(rows)) < 0.3)
        i, j = rows.pairs(np.arange(len(rows))).T
        open_ = ~full[i] & ~full[j] & ~np.isin(np.arange(len(rows)), taken) & (i >= 2) & (i < 60)
        value, where = kernels.best(gains[rows.start[2] :], *arrays_of(rows), 2, 60, full, taken)
        if open_.any():
            assert value == gains[open_].max()
            assert where == np.flatnonzero(open_ & (gains == value))[0]
        else:
            assert (value, where) == (-np.inf, -1)


@pytest.mark.parametrize("size", [0.0, 1e-3, 1.0, 1e12])
def test_the_root_of_an_inverse_with_one_more_term(size):
    """By exact arithmetic: a direction whose variance falls by many orders keeps its digits, and so do the others."""
    X = np.random.default_rng(3).standard_normal((6, 4))
    X[:2] *= size
    root, pairs = np.eye(4) / 2, []  # A = 4 I
    for i, j in ((0, 1), (2, 3), (0, 2)):
        x = X[i] - X[j]
        solved = exact_solve(X, 4.0, [], pairs, i, j)
        u, v = x @ root, np.empty(4)
        kernels.include(root, u, float(u @ u), v)
        np.testing.assert_allclose(v, solved / np.sqrt(1 + x @ solved), rtol=1e-9, atol=1e-12 / max(1, size))
        pairs.append((i, j))
    np.testing.assert_allclose(root @ (root.T @ (X[4] - X[5])), exact_solve(X, 4.0, [], pairs, 4, 5), rtol=1e-9)
