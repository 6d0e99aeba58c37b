"""What tests of clusters share."""

import gc
import logging
import os
import warnings
from multiprocessing import get_context

import numpy as np
from distributed import Client, LocalCluster

X = np.random.default_rng(0).standard_normal((2500, 20))
# A process that has imported what workers need, and becomes one in an instant.
FORKS = get_context("forkserver")
FORKS.set_forkserver_preload(["distributed.cli.dask_worker", "pairsmith.cluster.tasks", "support.clusters"])
OPTIONS = {"ridge": 1e-3, "labeled": [1, 2], "comparisons": [(0, 5), (7, 9)], "pool_size": 3000}


def work(*arguments):
    """`dask worker` with these arguments, in silence."""
    from distributed.cli.dask_worker import main

    for stream in (1, 2):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
    main(arguments)


class Farm:
    """A scheduler here and workers in processes of their own, without anybody who starts them again."""

    def __init__(self):
        self.cluster = LocalCluster(n_workers=0, dashboard_address=":0", silence_logs=logging.CRITICAL)
        self.client = Client(self.cluster)
        self.workers = []

    def start(self, count, *options):
        arguments = (self.cluster.scheduler_address, "--nthreads", "1", "--no-dashboard", *(options or ("--no-nanny",)))
        workers = self.client.scheduler_info(n_workers=-1)["workers"].values()
        joined = sum(worker["status"] == "running" for worker in workers)  # paused ones do not count
        for _ in range(count):
            self.workers.append(FORKS.Process(target=work, args=arguments))
            self.workers[-1].start()
        self.client.wait_for_workers(joined + count, timeout=60)
        return self

    def kill(self, count=1):
        for worker in self.workers[:count]:
            worker.kill()
            worker.join()
        del self.workers[:count]

    def close(self):
        for worker in self.workers:
            worker.terminate()
        for worker in self.workers:
            worker.join(10)
            worker.kill()  # Dask's goodbye has no limit of its own
            worker.join()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)  # Dask forgets sockets of processes that were killed
            self.client.close()
            self.cluster.close()
            gc.collect()


def assert_same(selection, expected):
    np.testing.assert_array_equal(selection.pairs, expected.pairs)
    np.testing.assert_array_equal(selection.gains, expected.gains)
    assert selection.ridge == expected.ridge
