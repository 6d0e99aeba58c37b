"""BLAS held to one thread: where threads of ours run, or matrices are so small that threads of its own are slower."""

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
    """Looked for once, which takes a millisecond."""
    import scipy.linalg.cython_blas  # noqa: F401  (what the kernels' products call; now it is loaded to be found)

    # By a thread of its own: older threadpoolctl looks in a function called from C, in which Ctrl-C would be lost.
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(threadpoolctl.ThreadpoolController).result()


_blas_lock = threading.Lock()
_blas_users = 0
_blas_limit: Any = None


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """BLAS with one thread while anybody works here; as it was after the last of them."""
    global _blas_users, _blas_limit
    with _blas_lock:
        if _blas_users == 0:
            _blas_limit = _blas_libraries().limit(limits=1, user_api="blas")
        _blas_users += 1
    try:
        yield
    finally:
        with _blas_lock:
            _blas_users -= 1
            if _blas_users == 0:
                _blas_limit.restore_original_limits()
