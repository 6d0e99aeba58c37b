"""How numba compiles the kernels, and how long that takes: the first run on a machine compiles, later runs do not."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from numba import njit
from numba.core import event

# "reassoc" and "contract" let sums vectorise. fastmath=True would also let the compiler assume that there is no inf
# or nan, which breaks every test for them.
_JIT_OPTIONS = {"nogil": True, "error_model": "numpy", "fastmath": {"reassoc", "contract"}}
_has_cache_folder = True


def compiled(function: Any) -> Any:
    """Compile a function at its first call, and cache the result on disk if numba finds a writable folder.

    numba recompiles a cached kernel only when the kernel's own file has changed. After a change to a kernel that
    kernels in other files call, delete the __pycache__ folders of those files.
    """
    global _has_cache_folder
    if _has_cache_folder:
        try:
            return _ignore_stale_index(njit(function, cache=True, **_JIT_OPTIONS))
        except RuntimeError:  # NUMBA_CACHE_DIR, this file's folder and the home folder are all not writable
            _has_cache_folder = False
            warnings.warn(
                "numba has no writable cache folder, so every process compiles the kernels again, which takes some"
                " seconds; set the environment variable NUMBA_CACHE_DIR to a writable folder",
                stacklevel=2,
            )
    return njit(function, **_JIT_OPTIONS)


def _ignore_stale_index(kernel: Any) -> Any:
    """Make the kernel treat a cache index as empty if the index names a class that no longer exists.

    Such an index is left by an earlier version of pairsmith. numba would raise an AttributeError before it sees that
    the index is out of date. This relies on numba's internals; if they change, only this repair is lost.
    """
    cache_file = getattr(getattr(kernel, "_cache", None), "_cache_file", None)
    if cache_file is not None and hasattr(cache_file, "_load_index"):
        load = cache_file._load_index

        def load_index() -> Any:
            try:
                return load()
            except (AttributeError, ImportError):
                return {}

        cache_file._load_index = load_index
    return kernel


def inlined(function: Any) -> Any:
    """Compile a function into each kernel that calls it; a kernel of its own would be compiled twice."""
    return njit(function, inline="always", **_JIT_OPTIONS)


@dataclass
class CompilationTime:
    """The `seconds` that numba spent compiling; set when the `with` block of `measure_compilation` ends."""

    seconds: float = 0.0


@contextmanager
def measure_compilation() -> Iterator[CompilationTime]:
    """Measure how long numba compiles, in all threads, during a `with` block.

    Kernels that are loaded from disk are not compiled and take no time. A kernel that is compiled because another one
    calls it counts once, as part of its caller.
    """
    compilation = CompilationTime()
    listener = event.TimingListener()
    try:
        with event.install_listener("numba:compile", listener):
            yield compilation
    finally:
        compilation.seconds = float(listener.duration) if listener.done else 0.0
