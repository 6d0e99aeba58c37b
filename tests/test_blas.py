import ctypes
import os
import signal
import time

import pytest
import threadpoolctl

from pairsmith.design import blas


def blas_threads():
    return [pool["num_threads"] for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "blas"]


@pytest.mark.usefixtures("two_blas_threads")
def test_one_thread_until_the_last_has_left():
    before = blas_threads()
    with blas.single_threaded_blas():
        with blas.single_threaded_blas():
            assert set(blas_threads()) == {1}
        assert set(blas_threads()) == {1}
    assert blas_threads() == before


def test_an_interrupt_while_blas_is_looked_for_is_not_lost(monkeypatch):
    def look():
        @ctypes.CFUNCTYPE(None)
        def called_from_c():
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.1)

        called_from_c()

    monkeypatch.setattr(threadpoolctl, "ThreadpoolController", look)
    blas._blas_libraries.cache_clear()
    try:
        with pytest.raises(KeyboardInterrupt):
            blas._blas_libraries()
    finally:
        blas._blas_libraries.cache_clear()
