"""Rows of a file, read in a compiled loop."""

import numpy as np
import pytest

from pairsmith.cluster.kernels import read_rows

DATA = np.random.default_rng(0).integers(0, 256, (50, 12), dtype=np.uint8)


@pytest.fixture
def file(tmp_path):
    (tmp_path / "rows").write_bytes(b"a header" + DATA.tobytes())
    with open(tmp_path / "rows", "rb", buffering=0) as file:
        yield file


def read(file, items):
    items = np.array(items, dtype=np.int64)
    out = np.zeros((len(items), 12), dtype=np.uint8)
    return read_rows(file.fileno(), len("a header"), items, np.argsort(items, kind="stable"), out), out


@pytest.mark.parametrize(
    "items", [[0], [49, 0, 25], [3, 4, 5, 6], [6, 5, 4, 3], [7, 7, 8, 8, 9], [10, 11, 30, 12, 13, 31], range(50), []]
)
def test_rows_come_in_the_order_that_they_were_asked_for(file, items):
    count, out = read(file, items)
    assert count == len(items)
    np.testing.assert_array_equal(out, DATA[list(items)])


def test_a_file_that_ends_early_gives_the_rows_before_its_end(file, tmp_path):
    with open(tmp_path / "rows", "r+b") as other:
        other.truncate(len("a header") + 40 * 12 - 1)
    count, out = read(file, [45, 2, 30, 39])
    assert count == 2
    np.testing.assert_array_equal(out[[1, 2]], DATA[[2, 30]])
