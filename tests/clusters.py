"""What tests of clusters share."""

import gc
import logging
import signal
import subprocess
import sys
import warnings

import numpy as np
from distributed import Client, LocalCluster

X = np.random.default_rng(0).standard_normal((2500, 20))
OPTIONS = {"ridge": 1e-3, "labeled": [1, 2], "comparisons": [(0, 5), (7, 9)], "pool_size": 3000}


class Farm:
    """A scheduler here and workers in processes of their own, without anybody who starts them again."""

    def __init__(self):
        self.cluster = LocalCluster(n_workers=0, dashboard_address=":0", silence_logs=logging.CRITICAL)
        self.client = Client(self.cluster)
        self.workers = []

    def start(self, count, *options):
        command = [sys.executable, "-m", "distributed.cli.dask_worker", self.cluster.scheduler_address]
        options = options or ("--no-nanny",)
        joined = len(self.client.scheduler_info(n_workers=-1)["workers"])
        for _ in range(count):
            self.workers.append(
                subprocess.Popen(
                    [*command, "--nthreads", "1", "--no-dashboard", *options],
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                )
            )
        self.client.wait_for_workers(joined + count, timeout=60)
        return self

    def kill(self, count=1):
        for worker in self.workers[:count]:
            worker.send_signal(signal.SIGKILL)
            worker.wait()
        del self.workers[:count]

    def close(self):
        for worker in self.workers:
            worker.terminate()
        for worker in self.workers:
            try:
                worker.wait(10)
            except subprocess.TimeoutExpired:  # Dask's goodbye has no limit of its own
                worker.kill()
                worker.wait()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)  # Dask forgets sockets of processes that were killed
            self.client.close()
            self.cluster.close()
            gc.collect()


def assert_same(selection, expected):
    np.testing.assert_array_equal(selection.pairs, expected.pairs)
    np.testing.assert_array_equal(selection.gains, expected.gains)
    assert selection.ridge == expected.ridge
