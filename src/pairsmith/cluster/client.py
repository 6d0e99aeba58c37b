"""The engine's scans on a Dask cluster; the only import of dask.

Only scans are distributed. A scan is a pure function of features, whitener, tile and floor (`tiles`), so plain tasks
serve: what a dead worker had is run again elsewhere, and what it found is merged, as it comes, in the coordinator's
catch, whose floor the tasks that follow start from. Picks are made by the coordinator, between scans.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import os
import queue
import threading
import time
import uuid
import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

import pairsmith
from pairsmith.cluster import tasks as tiles
from pairsmith.data.arrays import Floats
from pairsmith.data.candidates import Rows
from pairsmith.data.features import rows_in_a_block
from pairsmith.data.frames import check_shape
from pairsmith.design.blas import single_threaded_blas
from pairsmith.engine.scan import Catch, Scan, Screening, Tell

try:
    import dask
    import distributed
    from distributed.scheduler import KilledWorker
except ImportError:
    raise ValueError("client needs Dask; pip install 'pairsmith[distributed]'") from None

TIMEOUT = 300.0  # seconds without news before giving up; dask.config.set({"pairsmith.timeout": ...}) changes it
_PER_THREAD = 24  # tasks of a scan, if they are neither too small nor too large
_LEAST, _MOST = 1e9, 2e11  # multiplications in a task: some 50 ms to 5 s
_NUMBERS = 1 << 22  # in a block of features
_HELD = 1 << 25  # numbers in a block of features that is sent to workers
_ROWS = 4096  # of a tile in float64
_READ = 2000  # multiplications that it costs to read an item, besides whitening it
_SENT = 1 << 18  # items that are sent at once
_PARTS = 256  # into which items are cut, if those are not too large
_AGAIN = 4  # times that a task is submitted once more because its data or workers were lost


def connect(where: str) -> Any:
    """A client for the command line: `where` is a scheduler's address, or local:4 for four workers on this machine."""
    limit = dask.config.get("pairsmith.timeout", TIMEOUT)
    kind, _, rest = where.partition(":")
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    if kind == "local":
        if not rest.isdigit() or int(rest) < 1:
            raise ValueError(f"--dask {where}: say how many workers, such as local:4")
        cluster = distributed.LocalCluster(
            n_workers=int(rest),
            threads_per_worker=1,
            host="127.0.0.1",  # nobody else may send tasks, nor look at the pages
            dashboard_address="127.0.0.1:0",
            worker_dashboard_address="127.0.0.1:0",
            silence_logs=logging.CRITICAL,
        )
        return distributed.Client(cluster)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about versions: that is checked, and said in one line
            return distributed.Client(where, timeout=min(limit, 10))
    except (OSError, ValueError) as error:
        told = " ".join(str(error).split())
        raise ValueError(f"--dask {where}: no scheduler answers there ({told}); start one: dask scheduler") from None


class Cluster:
    """The workers of a Dask client, for one selection."""

    def __init__(self, client: Any) -> None:
        if not isinstance(client, distributed.Client) or client.asynchronous:
            raise ValueError(f"client must be a dask.distributed.Client that is not asynchronous, got {client!r}")
        self.client = client
        self.limit = float(dask.config.get("pairsmith.timeout", TIMEOUT))
        self.name = f"pairsmith-{uuid.uuid4().hex[:8]}"
        self.submitted = self.scans = 0
        self.avoided: set[Any] = set()  # names of workers that died again and again
        self.seen, self.n_threads = 0.0, 1
        self.where: Any = None  # a tiles.File, or the first rows of the blocks held
        self.blocks: list[Any] = []  # futures of those
        self.array: npt.NDArray[Any] | None = None
        try:
            client.wait_for_workers(1, timeout=min(self.limit, 60))
        except TimeoutError:
            raise TimeoutError(
                f"no worker joined the scheduler at {self.scheduler}; start some with dask worker {self.scheduler}"
            ) from None
        self._check_versions()

    @property
    def scheduler(self) -> str:
        return str(self.client.scheduler.address) if self.client.scheduler else "nowhere"

    def _check_versions(self) -> None:
        """Of what is there now; a worker that joins later is checked by its first task."""
        there = self._within("asking for versions", self.client.get_versions, packages=["pairsmith", "numba"])
        own = there["client"]["packages"]
        for address, found in there["workers"].items():
            packages = found["packages"]
            if packages["pairsmith"] != own["pairsmith"]:
                raise ValueError(_mismatch(address, packages["pairsmith"], own["pairsmith"]))
            others = [
                f"{name} {packages.get(name)} (client: {own[name]})"
                for name in ("python", "numpy", "numba", "dask", "distributed")
                if packages.get(name) != own.get(name)
            ]
            if others:
                warnings.warn(f"worker {address} has {', '.join(others)}; install the same on all", stacklevel=5)
                break

    def threads(self) -> int:
        """Of all workers, looked up every second or so."""
        if time.monotonic() > self.seen + 1:
            threads = self._within("looking for workers", self.client.nthreads)
            self.n_threads = max(1, sum(threads.values()))
            self.seen = time.monotonic()
        return self.n_threads

    # Features.

    def reads(self, X: Any) -> bool:
        """Whether X is in a file or a Dask array, which workers read themselves."""
        return isinstance(X, str | os.PathLike) or type(X).__module__.startswith("dask.array")

    def features(self, X: Any) -> tuple[OnWorkers, npt.NDArray[Any] | None]:
        """What stands here for an X that workers read, and ids where a file has them."""
        if isinstance(X, str | os.PathLike):
            path = os.path.abspath(X)
            if not path.endswith((".npy", ".parquet", ".zarr")):
                raise ValueError(f"X: {path} is not read by workers; use .npy, .parquet or .zarr, or pass an array")
            [(self.where, ids)] = self.run("describe", [(tiles.describe, path)])
            return OnWorkers(self, self.where.shape, np.dtype(self.where.dtype)), ids
        if X.ndim != 2 or np.isnan(X.shape[0]):
            raise ValueError("X is a dask array of unknown shape; call X.compute_chunk_sizes() first")
        X = X.rechunk({0: "auto", 1: -1}) if len(X.chunks[1]) > 1 else X
        self.blocks = self.client.compute(X.to_delayed().ravel().tolist())
        self.where = np.cumsum([0, *X.chunks[0][:-1]])
        self._wait(self.blocks)
        return OnWorkers(self, X.shape, X.dtype), None

    def hold(self, X: npt.NDArray[Any]) -> None:
        """Send an array to all workers, once."""
        step = max(1, _HELD // X.shape[1])
        self.array = X
        self.where = np.arange(0, len(X), step)
        blocks = [np.ascontiguousarray(X[low : low + step]) for low in self.where]
        deadline = time.monotonic() + self.limit
        while True:
            try:
                self.blocks = self._within(
                    "sending the features", self.client.scatter, blocks, broadcast=True, hash=False, timeout=self.limit
                )
                return
            except (OSError, KeyError, ValueError) as error:  # a worker died meanwhile, or there is none
                if not self._within("looking for workers", self.client.nthreads):
                    raise self._nobody() from None
                if time.monotonic() > deadline:
                    raise OSError(f"the features could not be sent to the workers ({error}); are they alive?") from None
                time.sleep(0.5)

    def _nobody(self) -> TimeoutError:
        return TimeoutError(f"no worker is connected to {self.scheduler}; start some with dask worker {self.scheduler}")

    def _within(self, doing: str, call: Callable[..., Any], *args: Any, **options: Any) -> Any:
        """What a call of Dask's returns, which by itself may wait for ever for a worker that stands still."""
        answer: queue.SimpleQueue[tuple[Any, Exception | None]] = queue.SimpleQueue()

        def ask() -> None:
            try:
                answer.put((call(*args, **options), None))
            except Exception as error:
                answer.put((None, error))

        threading.Thread(target=ask, daemon=True).start()
        try:
            result, error = answer.get(timeout=2 * self.limit)
        except queue.Empty:
            raise TimeoutError(
                f"{doing} took more than {2 * self.limit:.0f} s; is the scheduler at {self.scheduler} alive, and does a"
                " worker stand still? (dask's setting pairsmith.timeout is the limit)"
            ) from None
        if error is not None:
            raise error
        return result

    def scan(self, features: Any) -> Callable[..., Scan]:
        """What makes a scan of these features on this cluster."""
        if not isinstance(features, OnWorkers):
            self.hold(features.array)
        elif self.blocks:
            self._within("copying the features to all workers", self.client.replicate, self.blocks)
        return partial(ClusterScan, self)

    @contextlib.contextmanager
    def keeping_copies(self) -> Iterator[None]:
        """Without Dask's memory manager, which drops copies of the features while no task waits for them.

        Between two scans none does, and each scan would send the features to all workers but one again.
        """
        manager = self.client.amm
        held_off = bool(self.blocks) and self._within("asking for the memory manager", manager.running)
        if held_off:
            self._within("holding the memory manager off", manager.stop)
        try:
            yield
        finally:
            if held_off:
                with contextlib.suppress(Exception):  # the scheduler may be gone, which is told elsewhere
                    self._within("", manager.start)

    def on_features(self, function: Callable[..., Any], *args: Any) -> tuple[Any, ...]:
        """A call, for `run`, of a function of `tiles` that takes the features first."""
        return _on_features, function, self.where, _Blocks, *args

    def _wait(self, futures: list[Any]) -> None:
        distributed.wait(futures, timeout=self.limit)

    # Tasks.

    def run(self, label: str, calls: Iterable[tuple[Any, ...]], tell: Callable[[int], None] = lambda done: None) -> Any:
        """The results of all calls, in their order."""
        results = dict(self.each(label, calls, tell))
        return [results[at] for at in range(len(results))]

    def each(
        self, label: str, calls: Iterable[tuple[Any, ...]], tell: Callable[[int], None] = lambda done: None
    ) -> Iterator[tuple[int, Any]]:
        """Numbers and results of calls (function, *args), as they come.

        No more are submitted than keep the workers busy, so that calls may depend on results of earlier ones.
        """
        news: queue.SimpleQueue[Any] = queue.SimpleQueue()
        waiting = enumerate(calls)
        pending: dict[str, tuple[int, tuple[Any, ...], int, Any]] = {}
        done, exhausted = 0, False

        def submit(number: int, call: tuple[Any, ...], attempt: int) -> None:
            again = f"-again-{attempt}" if attempt else ""
            function, *args = [self._at_workers(arg) for arg in call]
            future = self.submit(f"{label}-{number}{again}", 0, function, *args)
            pending[future.key] = number, call, attempt, future
            future.add_done_callback(news.put)

        try:
            while True:
                while not exhausted and len(pending) < 2 * self.threads() + 1:
                    try:
                        number, call = next(waiting)
                    except StopIteration:
                        exhausted = True
                    else:
                        submit(number, call, 0)
                if not pending:
                    return
                future = self._next(news, label, pending)
                if future.key not in pending:
                    continue
                number, call, attempt, _ = pending.pop(future.key)
                try:
                    result = self._result(future, label)
                except _Lost as lost:
                    if attempt == _AGAIN:
                        raise OSError(lost.told) from None
                    submit(number, call, attempt + 1)
                    continue
                done += 1
                tell(done)
                yield number, result
        finally:
            if pending:
                with contextlib.suppress(Exception):
                    self._within("", self.client.cancel, [future for *_, future in pending.values()], force=True)

    def submit(self, label: str, priority: int, function: Callable[..., Any], *args: Any) -> Any:
        """A future. The dashboard counts tasks by the words that its name begins with; the end makes it unique."""
        self.submitted += 1
        return self.client.submit(
            _task,
            pairsmith.__version__,
            function,
            *args,
            key=f"pairsmith-{label}-{self.name[10:]}-{self.submitted}",
            pure=False,
            priority=priority,
            retries=2,
            workers=self._allowed(),
        )

    def _at_workers(self, arg: Any) -> Any:
        """What a task is given for an argument: futures of what workers hold."""
        if isinstance(arg, list):
            return [self._at_workers(part) for part in arg]
        if isinstance(arg, Kept):
            return arg.future(self)
        return self.blocks if arg is _Blocks else arg

    def _allowed(self) -> list[str] | None:
        """Where tasks may run: anywhere, or not on workers that died again and again."""
        if not self.avoided:
            return None
        workers = self._within("looking for workers", self.client.scheduler_info, n_workers=-1)["workers"]
        allowed = [address for address, worker in workers.items() if worker["name"] not in self.avoided]
        if not allowed:
            raise OSError(
                f"every worker ({', '.join(map(str, self.avoided))}) died several times, most likely for want of"
                " memory; give them more, or less to hold: X as a path is read by blocks"
            )
        return allowed

    def _next(self, news: queue.SimpleQueue[Any], label: str, pending: dict[str, Any]) -> Any:
        """The next future that is done, for better or worse."""
        began = time.monotonic()
        while time.monotonic() < began + self.limit:
            with contextlib.suppress(queue.Empty):
                return news.get(timeout=min(1.0, self.limit))
            if self.client.status != "running":
                raise ConnectionError(f"the scheduler at {self.scheduler} is gone; start it and this call again")
        try:
            processing = self._within("asking what is being done", self.client.processing)
            workers = self._within("looking for workers", self.client.scheduler_info, n_workers=-1)["workers"]
        except OSError:
            raise ConnectionError(f"the scheduler at {self.scheduler} does not answer; is it alive?") from None
        if not processing:
            raise self._nobody()
        # Who has not been heard of is named first: others may only wait for what it has.
        silent = [address for address, worker in workers.items() if time.time() - worker["last_seen"] > self.limit / 2]
        busy = [worker for worker, keys in processing.items() if set(keys) & set(pending)]
        raise self._stuck(label, silent or busy)

    def _stuck(self, label: str, workers: Iterable[str]) -> TimeoutError:
        those = ", ".join(workers) or "the scheduler"
        return TimeoutError(
            f"nothing of {label} came in {self.limit:.0f} s: waiting for {those}; look at its log, or end it and"
            " others will take over (dask's setting pairsmith.timeout is the limit)"
        )

    def _result(self, future: Any, label: str) -> Any:
        try:
            return future.result(timeout=self.limit)
        except CancelledError as error:  # the features it needed were lost with their last worker
            if self.array is not None and any(block.status != "finished" for block in self.blocks):
                self.hold(self.array)
            raise _Lost(f"{label}: data was lost with the workers that held it, again and again ({error})") from None
        except KilledWorker as error:
            self.avoided.add(error.last_worker.name)
            raise _Lost(
                f"{label}: worker {error.last_worker.address} died while it ran this, and others before it, most likely"
                " for want of memory; give workers more, or fewer threads"
            ) from None
        except TimeoutError:
            holders = self._within("asking who has a result", self.client.who_has, [future])
            raise self._stuck(label, holders.get(future.key, ())) from None
        except Exception as error:
            told = " ".join(str(error).split()) or type(error).__name__
            kind = ValueError if isinstance(error, ValueError) else OSError
            raise kind(told if kind is ValueError else f"{label} failed on a worker: {told}") from error


class _Blocks:
    """Stands in a call for the blocks of features held at the time it is submitted."""


class Kept:
    """What many tasks are given: sent to each worker once, and again if it was lost."""

    def __init__(self, label: str, function: Callable[..., Any], *args: Any) -> None:
        self.label, self.call = label, (function, *args)
        self.made: Any = None

    def future(self, cluster: Cluster) -> Any:
        if self.made is None or self.made.status in ("error", "cancelled", "lost"):
            self.made = cluster.submit(self.label, 1, *self.call)  # 1: before the tasks that are queued already
        return self.made


class _Lost(Exception):
    def __init__(self, told: str) -> None:
        self.told = told


def _task(version: str, function: Callable[..., Any], *args: Any) -> Any:
    """Run on a worker, with its memory and scratch known to the cache, and errors that name it."""
    worker = distributed.get_worker()
    if version != pairsmith.__version__:
        raise ValueError(_mismatch(worker.address, pairsmith.__version__, version))
    limit = worker.memory_manager.memory_limit
    tiles.CACHE.limit = limit // 8 if limit else 1 << 32
    tiles.CACHE.folder = worker.local_directory
    try:
        with single_threaded_blas():
            return function(*args)
    except OSError as error:
        raise OSError(f"worker {worker.address}: {error}") from None
    except ImportError as error:
        raise ValueError(f"worker {worker.address}: {error}; pip install 'pairsmith[data]' there") from None
    except MemoryError:
        raise OSError(f"worker {worker.address} is out of memory; give it more, or fewer threads") from None


def _mismatch(address: str, there: str | None, here: str) -> str:
    has = f"has pairsmith {there}, the client {here}" if there else "has no pairsmith"
    return f"worker {address} {has}; install pairsmith {here} on every worker"


def _on_features(function: Callable[..., Any], where: Any, blocks: list[Any], *args: Any) -> Any:
    features = where if isinstance(where, tiles.File) else tiles.Held(where, blocks)
    return function(features, *args)


class OnWorkers:
    """Features that only the workers have: rows are fetched when asked for, and work is done where they are."""

    rows_at_once = 1 << 20  # each call is a round of tasks

    def __init__(
        self, cluster: Cluster, shape: tuple[int, ...], dtype: np.dtype[Any], center: Floats | float = 0.0
    ) -> None:
        check_shape(shape, dtype)
        self.cluster, self.dtype, self.center = cluster, dtype, center
        self.shape: tuple[int, int] = (shape[0], shape[1])

    def rows(self, which: Any) -> Floats:
        return self.project(which)

    def project(self, which: Any, *factors: Floats) -> Floats:
        items = np.arange(self.shape[0])[which]
        step = max(1, _NUMBERS // self.shape[1])
        parts = [items[low : low + step] for low in range(0, max(1, len(items)), step)]
        calls = [self.cluster.on_features(tiles.project, part, self.center, factors) for part in parts]
        return np.concatenate(self.cluster.run("project" if factors else "rows", calls))

    def over_blocks(self, of_block: Callable[[int, Any], Any]) -> list[Any]:
        n, step = self.shape[0], rows_in_a_block(self.shape[1])
        spans = [(low, min(low + step, n)) for low in range(0, n, step)]
        calls = [self.cluster.on_features(tiles.over_block, *span, of_block) for span in spans]
        results: list[Any] = self.cluster.run("check", calls)
        return results

    def centred(self, center: Floats) -> OnWorkers:
        return OnWorkers(self.cluster, self.shape, self.dtype, center)


class ClusterScan(Scan):
    """The same passes, by tasks of a cluster."""

    def __init__(
        self,
        cluster: Cluster,
        design: Any,
        remaining: Any,
        team: Any,
        diagnostics: dict[str, Any],
        tell: Tell,
        _room: int,
    ) -> None:
        super().__init__(design, remaining, team, diagnostics, tell, 0)
        self.cluster = cluster
        self.second_look = True  # workers keep Z where it is needed
        diagnostics.setdefault("tasks", 0)

    def _measure(self) -> Floats:
        cluster = self.cluster
        cluster.scans += 1
        self.label = f"scan-{cluster.scans}"
        name = f"{cluster.name}-{self.label}"
        center = self.design.features.center
        self.moment = Kept(f"moment-{self.label}", tiles.Moment, name, self.whitener, center)
        step = int(np.clip(self.n / (2 * cluster.threads()), 1, _NUMBERS // self.d + 1))
        if not isinstance(cluster.where, tiles.File):
            step = min(step, _HELD // self.d + 1)
        spans = [(low, min(low + step, self.n)) for low in range(0, self.n, step)]
        calls = (cluster.on_features(tiles.measure, self.moment, *span) for span in spans)
        energy = np.zeros((len(spans), self.d))
        for at, (norms, own) in cluster.each(f"norms-{self.label}", calls):
            self.norms[slice(*spans[at])] = norms
            energy[at] = own
        total: Floats = energy.sum(axis=0)
        return total

    def _screen(self, screening: Screening, order: Any, strips: Any, work: Any, catch: Catch) -> None:
        if len(strips) == 0:
            return
        scores = self.design.scores
        width, an_item = screening.row_width, self.d**2 + _READ
        total = float(work[-1]) * width + len(order) * an_item
        target = float(np.clip(total / (_PER_THREAD * self.cluster.threads()), _LEAST, _MOST))
        side = max(np.sqrt(target / width), len(order) / _PARTS)
        cuts = _cuts(strips, len(order), int(np.clip(side, 1, max(1, _NUMBERS // max(self.d, 8)))))
        wanted = list(_tasks(strips, cuts, target / width, an_item / width))

        def part(low: int, high: int) -> tiles.Part:
            own = order[low:high]
            return tiles.Part(low, own, self.norms[own], None if scores is None else scores[own])

        bounds = list(itertools.pairwise(cuts.tolist()))
        together = max(1, _SENT * len(bounds) // len(order))  # so many parts are sent at once
        groups = [
            Kept(f"items-{self.label}-{at}", list, [part(*own) for own in bounds[at : at + together]])
            for at in range(0, len(bounds), together)
        ]
        calls = (
            self.cluster.on_features(
                tiles.screen,
                self.moment,
                screening,
                [groups[at] for at in sorted({right // together for right in (left, *rights)})],
                int(cuts[left]),
                {int(cuts[right]): own for right, own in rights.items()},
                catch.floor,  # as it is when the task is submitted
                catch.capacity - len(self.taken),
                len(self.taken),
            )
            for left, rights in wanted
        )
        for hits, floor in self._results("tile", calls, len(wanted)):
            catch.floor = max(catch.floor, floor)
            catch.add(hits)

    def _reaching(self, catch: Catch) -> None:
        wanted = list(self._rectangles())
        calls = (
            self.cluster.on_features(
                tiles.exact, self.moment, *self._parts(*task), catch.floor, catch.last, catch.capacity, len(self.taken)
            )
            for task in wanted
        )
        for (i, j, gains), floor, last in self._results("exact", calls, len(wanted)):
            if floor > catch.floor:
                catch.floor, catch.last = floor, last
            good = ~self.gone(i, j)
            catch.add((i[good], j[good], gains[good]))

    def _rectangles(self) -> Iterator[tuple[Any, list[tuple[int, int]]]]:
        """Items whose rows lie together, and the ranges of partners that they meet."""
        rows = self.remaining.rows
        target = float(np.clip(len(rows) / (_PER_THREAD * self.cluster.threads()), _LEAST / self.d, _MOST / self.d))
        width = _ROWS if rows.groups is not None else max(_ROWS, _NUMBERS // self.d)
        by_partner = np.argsort(rows.first, kind="stable")
        by_partner = by_partner[rows.count[by_partner] > 0]
        for low in range(0, len(by_partner), _ROWS):
            own = by_partner[low : low + _ROWS]
            first, end = rows.first[own], rows.first[own] + rows.count[own]
            windows: list[tuple[int, int]] = []
            pairs = 0
            for at in range(int(first.min()), int(end.max()), width):
                windows.append((at, min(at + width, int(end.max()))))
                pairs += int(np.sum(np.clip(end, *windows[-1]) - np.clip(first, *windows[-1])))
                if pairs >= target:
                    yield own, windows
                    windows, pairs = [], 0
            if windows:
                yield own, windows

    def _parts(self, own: Any, windows: list[tuple[int, int]]) -> tuple[tiles.Part, list[Any]]:
        rows, scores, full = self.remaining.rows, self.design.scores, self.remaining.full

        def part(items: Any) -> tiles.Part:
            return tiles.Part(0, items, None, None if scores is None else scores[items])

        rights = []
        for begin, end in windows:
            first = np.clip(rows.first[own], begin, end)
            count = np.clip(rows.first[own] + rows.count[own], begin, end) - first
            count[full[own]] = 0
            items, partner = rows.partner[begin:end], np.arange(end - begin)
            if rows.groups is None:  # in a list, items come again and again
                items, partner = np.unique(items, return_inverse=True)
            local = Rows(partner.astype(np.int32), first - begin, count)
            rights.append((part(items), local, full[items]))
        return part(own.astype(np.int32)), rights

    def _results(self, kind: str, calls: Iterable[tuple[Any, ...]], count: int) -> Iterator[Any]:
        self.diagnostics["tasks"] += count

        def tell(done: int) -> None:
            number, threads = self.label.removeprefix("scan-"), self.cluster.threads()
            self.tell(f"scan {number}: {done} of {count} tasks, {threads} threads")

        for _, result in self.cluster.each(f"{kind}-{self.label}", calls, tell):
            yield result


def _cuts(strips: Any, n: int, side: int) -> Any:
    """Where to cut n places into blocks of about this many, and no strip's rows in two."""
    cuts = [0]
    while cuts[-1] < n:
        cut = min(cuts[-1] + side, n)
        at = int(np.searchsorted(strips[:, 0], cut, side="right")) - 1
        if at >= 0 and strips[at, 0] < cut < strips[at, 1]:
            cut = int(strips[at, 1])
        cuts.append(cut)
    return np.array(cuts)


def _tasks(strips: Any, cuts: Any, pairs: float, an_item: float) -> Iterator[tuple[int, dict[int, Any]]]:
    """Blocks of rows, each with blocks of columns that it meets and the strips in them, some `pairs` together.

    An item of a block of columns counts for as much as `an_item` pairs.
    """
    for left in range(len(cuts) - 1):
        own = strips[slice(*np.searchsorted(strips[:, 0], cuts[left : left + 2]))]
        if len(own) == 0:
            continue
        rights: dict[int, Any] = {}
        size = 0.0
        for right in range(left, len(cuts) - 1):
            if cuts[right] >= own[:, 3].max():
                break
            inside = own.copy()
            inside[:, 2] = np.maximum(own[:, 2], cuts[right])
            inside[:, 3] = np.minimum(own[:, 3], cuts[right + 1])
            inside = inside[inside[:, 3] > inside[:, 2]]
            if len(inside) == 0:
                continue
            rights[right] = inside
            size += float(np.sum((inside[:, 1] - inside[:, 0]) * (inside[:, 3] - inside[:, 2])))
            size += an_item * (cuts[right + 1] - cuts[right])
            if size >= pairs:
                yield left, rights
                rights, size = {}, 0.0
        if rights:
            yield left, rights
