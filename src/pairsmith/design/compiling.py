"""How long numba was compiling: what a first run on a machine takes, and no later one, is told apart from the work."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from numba import njit
from numba.core import event

# Sums may be reassociated and fused, which is what lets them vectorise. fastmath=True would also let the
# compiler assume that there is no inf or nan, which breaks every test for them.
_HOW = {"nogil": True, "error_model": "numpy", "fastmath": {"reassoc", "contract"}}
_cached = True


def compiled(function: Any) -> Any:
    """Compiled when it is first called, and kept on disk for the next process if numba finds a place there.

    What is on disk is taken for stale only when the file of the function itself has changed. After a change to a
    kernel that kernels of another file call, such as `include`, delete the __pycache__ folders of those files.
    """
    global _cached
    if _cached:
        try:
            return _forgiving(njit(function, cache=True, **_HOW))
        except RuntimeError:  # neither NUMBA_CACHE_DIR, nor beside this file, nor in the home folder
            _cached = False
            warnings.warn(
                "there is no place that can be written to for what numba compiles, so every process compiles it again,"
                " which takes some seconds; name a folder in the environment variable NUMBA_CACHE_DIR",
                stacklevel=2,
            )
    return njit(function, **_HOW)


def _forgiving(kernel: Any) -> Any:
    """The kernel, for which an index of compiled code that names a class of ours by an old name counts as none.

    numba would raise an AttributeError, on a machine where an earlier pairsmith has run, before it sees that the index
    is out of date. This relies on inner names of numba's; where they change, nothing is lost but this.
    """
    file = getattr(getattr(kernel, "_cache", None), "_cache_file", None)
    if file is not None and hasattr(file, "_load_index"):
        load = file._load_index

        def load_index() -> Any:
            try:
                return load()
            except (AttributeError, ImportError):
                return {}

        file._load_index = load_index
    return kernel


def inlined(function: Any) -> Any:
    """Part of each kernel that calls it, and compiled with that: a kernel of its own would be compiled twice over."""
    return njit(function, inline="always", **_HOW)


@dataclass
class Compiling:
    """`seconds` that numba has spent compiling kernels, known once the `with` block has ended; mostly 0."""

    seconds: float = 0.0


@contextmanager
def compiling() -> Iterator[Compiling]:
    """Measure, over all threads, how much of the time of a `with` block numba compiles.

    A kernel that was found on disk (`kernels.compiled`) is not compiled and counts for nothing. One that is compiled
    because another one calls it counts once, as part of the other.
    """
    told = Compiling()
    clock = event.TimingListener()
    try:
        with event.install_listener("numba:compile", clock):
            yield told
    finally:
        told.seconds = float(clock.duration) if clock.done else 0.0
