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
def test_blas_has_one_thread_until_the_last_block_ends():
    before = blas_threads()
    with blas.single_threaded_blas():
        with blas.single_threaded_blas():
            assert set(blas_threads()) == {1}
        assert set(blas_threads()) == {1}
    assert blas_threads() == before


def test_an_interrupt_during_the_search_for_blas_is_not_lost(monkeypatch):
    def search():
        @ctypes.CFUNCTYPE(None)
        def called_from_c():
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.1)

        called_from_c()

    monkeypatch.setattr(threadpoolctl, "ThreadpoolController", search)
    blas._blas_libraries.cache_clear()
    try:
        with pytest.raises(KeyboardInterrupt):
            blas._blas_libraries()
    finally:
        blas._blas_libraries.cache_clear()
