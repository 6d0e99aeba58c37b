"""The workers of a Dask client, for one selection."""

from __future__ import annotations

import contextlib
import logging
import os
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from pairsmith.data.features import Features, InMemory, TooLargeToCopy
from pairsmith.data.user_features import check_exact_features, check_shape
from pairsmith.engine.scan import Scan

try:
    import dask
    import distributed
except ImportError:
    raise ValueError("client needs Dask; pip install 'pairsmith[distributed]'") from None

from pairsmith.cluster.features import File, OnWorkers, SentBlocks, as_block, describe
from pairsmith.cluster.scan import InTasks
from pairsmith.cluster.submit import Submitter, mismatch

TIMEOUT = 300.0  # seconds without news before giving up; dask.config.set({"pairsmith.timeout": ...}) changes it


def _timeout() -> float:
    return float(dask.config.get("pairsmith.timeout", TIMEOUT))


@contextlib.contextmanager
def connect(where: str) -> Iterator[Any]:
    """A client for the command line: `where` is a scheduler's address, or local:4 for four workers on this machine.

    Workers on this machine end with it.
    """
    kind, _, rest = where.partition(":")
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    if kind == "local":
        if not rest.isdigit() or int(rest) < 1:
            raise ValueError(f"--dask {where}: say how many workers, such as local:4")
        here = "127.0.0.1"  # nobody else may send tasks, nor look at the pages
        with (
            distributed.LocalCluster(
                n_workers=int(rest),
                threads_per_worker=1,
                host=here,
                dashboard_address=f"{here}:0",
                worker_dashboard_address=f"{here}:0",
                silence_logs=logging.CRITICAL,
            ) as cluster,
            distributed.Client(cluster) as client,
        ):
            yield client
        return
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about versions: that is checked, and said in one line
            client = distributed.Client(where, timeout=min(_timeout(), 10))
    except (OSError, ValueError) as error:
        told = " ".join(str(error).split())
        raise ValueError(f"--dask {where}: no scheduler answers there ({told}); start one: dask scheduler") from None
    with client:
        yield client


class Cluster:
    """The workers of a Dask client: they may read the features, and make the engine's scans."""

    def __init__(self, client: Any) -> None:
        if not isinstance(client, distributed.Client) or client.asynchronous:
            raise ValueError(f"client must be a dask.distributed.Client that is not asynchronous, got {client!r}")
        if client.status != "running":
            raise ValueError(f"client is {client.status}; connect a new one")
        self.client = client
        self.submitter = Submitter(client, _timeout())
        try:
            client.wait_for_workers(1, timeout=min(self.submitter.patience, 60))
        except TimeoutError:
            scheduler = self.submitter.scheduler
            raise TimeoutError(
                f"no worker joined the scheduler at {scheduler}; start some with dask worker {scheduler}"
            ) from None
        self._check_versions()

    def _check_versions(self) -> None:
        """Of what is there now; a worker that joins later is checked by its first task."""
        there = self.submitter.within("asking for versions", self.client.get_versions, packages=["pairsmith", "numba"])
        own = there["client"]["packages"]
        for address, found in there["workers"].items():
            packages = found["packages"]
            if packages["pairsmith"] != own["pairsmith"]:
                raise ValueError(mismatch(address, packages["pairsmith"], own["pairsmith"]))
            others = [
                f"{name} {packages.get(name)} (client: {own[name]})"
                for name in ("python", "numpy", "numba", "dask", "distributed")
                if packages.get(name) != own.get(name)
            ]
            if others:
                warnings.warn(f"worker {address} has {', '.join(others)}; install the same on all", stacklevel=5)
                break

    def reads(self, X: Any) -> bool:
        """Whether X is in a file or a Dask array, which workers read themselves."""
        return isinstance(X, str | os.PathLike) or type(X).__module__.startswith("dask.array")

    def features(self, X: Any) -> tuple[OnWorkers, npt.NDArray[Any] | None]:
        """What stands here for an X that workers read, and ids where a file has them."""
        if isinstance(X, str | os.PathLike):
            path = os.path.abspath(X)
            if not path.endswith((".npy", ".parquet", ".zarr")):
                raise ValueError(f"X: {path} is not read by workers; use .npy, .parquet or .zarr, or pass an array")
            file: File
            [(file, ids)] = self.submitter.run("describe", [(describe, path)])
            self.submitter.stored = file
            features = OnWorkers(self.submitter, file.shape, np.dtype(file.dtype))
            check_exact_features(features)
            return features, ids
        if np.isnan(X.shape).any():
            raise ValueError("X is a dask array of unknown shape; call X.compute_chunk_sizes() first")
        check_shape(X.shape, X.dtype)
        X = X.rechunk({0: "auto", 1: -1}) if len(X.chunks[1]) > 1 else X
        parts = zip(X.to_delayed().ravel(), X.chunks[0], strict=True)
        blocks = self.client.compute([dask.delayed(as_block)(part, (rows, X.shape[1])) for part, rows in parts])
        self.submitter.stored = SentBlocks(np.cumsum([0, *X.chunks[0][:-1]]), X.shape[1], blocks)
        distributed.wait(blocks, timeout=self.submitter.patience)
        features = OnWorkers(self.submitter, X.shape, X.dtype)
        check_exact_features(features)
        return features, None

    def scan(self, features: Features) -> Callable[..., Scan]:
        """What makes a scan of these features on this cluster. What workers do not have yet is sent to them."""
        if self.submitter.stored is None:
            here = cast(InMemory | TooLargeToCopy, features)
            self.submitter.stored = SentBlocks.of_array(self.submitter, here.array)
        else:
            self.submitter.stored.copy_to_all(self.submitter)
        return partial(Scan, passes=partial(InTasks, self.submitter))

    @contextlib.contextmanager
    def keeping_copies(self) -> Iterator[None]:
        """Without Dask's memory manager, which drops copies of the features while no task waits for them.

        Between two scans none does, and each scan would send the features to all workers but one again.
        """
        manager = self.client.amm
        in_memory = self.submitter.stored is not None and self.submitter.stored.held_in_memory
        held_off = in_memory and self.submitter.within("asking for the memory manager", manager.running)
        if held_off:
            self.submitter.within("holding the memory manager off", manager.stop)
        try:
            yield
        finally:
            if held_off:
                with contextlib.suppress(Exception):  # the scheduler may be gone, which is told elsewhere
                    self.submitter.within("", manager.start)
