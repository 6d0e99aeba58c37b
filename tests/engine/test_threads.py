import threading

import numpy as np
import pytest
import threadpoolctl

from pairsmith.engine.threads import thread_team


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_every_task_is_done_once(threads):
    done = np.zeros(100, dtype=int)

    def work(task):
        done[task] += 1

    with thread_team(threads) as team:
        team.share(work, range(100))
        team.share(work, [])
    assert np.all(done == 1)


@pytest.mark.usefixtures("two_blas_threads")
def test_blas_has_one_thread_within_a_team_and_errors_propagate():
    blas_threads = []

    def work(_task):
        blas_threads.append(
            {pool["num_threads"] for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "blas"}
        )

    with thread_team(2) as team:
        team.share(work, range(4))
        with pytest.raises(ZeroDivisionError):
            team.share(lambda task: 1 // task, range(4))
    assert blas_threads == [{1}] * 4
    assert threading.active_count() < 50
