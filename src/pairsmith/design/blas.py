"""BLAS restricted to one thread, for code with threads of its own and for matrices too small to share."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import Any

import threadpoolctl


@cache
def _blas_libraries() -> threadpoolctl.ThreadpoolController:
    """Find the loaded BLAS libraries. The search takes a millisecond, so its result is cached."""
    import scipy.linalg.cython_blas  # noqa: F401  (loads the BLAS of the kernels, so that the search finds it)

    # Older threadpoolctl searches in a function called from C, where Ctrl-C is lost; in another thread it is not.
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(threadpoolctl.ThreadpoolController).result()


_lock = threading.Lock()
_active_blocks = 0
_limiter: Any = None


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Limit BLAS to one thread inside the `with` block.

    Blocks may overlap, also across threads: the last one to end restores the earlier limits.
    """
    global _active_blocks, _limiter
    with _lock:
        if _active_blocks == 0:
            _limiter = _blas_libraries().limit(limits=1, user_api="blas")
        _active_blocks += 1
    try:
        yield
    finally:
        with _lock:
            _active_blocks -= 1
            if _active_blocks == 0:
                _limiter.restore_original_limits()
