"""The time that numba compiles, told apart from the work."""

import time

import numpy as np
import pytest
from numba import njit

from pairsmith.design.compiling import compiling


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
