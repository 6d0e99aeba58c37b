"""Calls become tasks of a Dask cluster, no more at a time than keep its workers busy; what is lost is done again."""

from __future__ import annotations

import contextlib
import queue
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError
from typing import Any, Protocol, runtime_checkable

from distributed import Future, get_worker
from distributed.scheduler import KilledWorker

import pairsmith
from pairsmith.cluster.cache import CACHE
from pairsmith.design.blas import single_threaded_blas

_TIMES_AGAIN = 4  # that a task is submitted once more because its data or workers were lost
_QUIET = 5.0  # seconds without news before somebody looks whether workers are paused
_CACHE_SHARE = 8  # the cache of a worker may take an eighth of its memory
_CACHE_WITHOUT_LIMIT = 1 << 32  # bytes, where Dask sets no limit


class Stored(Protocol):
    """Where the features are, for tasks that need them (`features.File`, `features.SentBlocks`)."""

    @property
    def held_in_memory(self) -> bool:
        """Whether workers hold copies of them, as results that Dask keeps in worker memory."""

    @property
    def most_rows_in_a_task(self) -> int:
        """How many rows a task that looks at all features should look at, at most."""

    def call(self, function: Callable[..., Any], *args: Any) -> tuple[Any, ...]:
        """The call of a function that takes the features first."""

    def copy_to_all(self, submitter: Submitter) -> None:
        """Give every worker a copy, before many tasks need them."""

    def send_again_if_lost(self, submitter: Submitter) -> None:
        """Send them to all workers once more if those who held them are gone."""


@runtime_checkable
class AtSubmission(Protocol):
    """An argument resolved when its task is submitted: stands for futures that may have been made anew."""

    def at_submission(self, submitter: Submitter) -> Any: ...


class Broadcast:
    """What many tasks are given: made on a worker, sent from there to each worker once, and again if it was lost."""

    def __init__(self, label: str, function: Callable[..., Any], *args: Any) -> None:
        self.label, self.call = label, (function, *args)
        self.made: Any = None

    def at_submission(self, submitter: Submitter) -> Any:
        if self.made is None or self.made.status in ("error", "cancelled", "lost"):
            self.made = submitter.submit(self.label, 1, *self.call)  # 1: before the tasks that are queued already
        return self.made


class Submitter:
    """Submits calls to the workers of a client; `patience` is how many seconds without news are too many."""

    def __init__(self, client: Any, patience: float) -> None:
        self.client, self.patience = client, patience
        self.name = uuid.uuid4().hex[:8]  # of this selection, among others on the same cluster
        self.submitted = self.scans = 0  # tasks and scans so far
        self.avoided: set[Any] = set()  # names of workers that died again and again, or stopped, for want of memory
        self.n_threads, self.counted = 1, 0.0  # threads of all workers, and when they were counted
        self.stored: Stored | None = None  # where the features are, once they are on workers

    @property
    def scheduler(self) -> str:
        return str(self.client.scheduler.address) if self.client.scheduler else "nowhere"

    def threads(self) -> int:
        """Threads of all workers, counted every second or so."""
        if time.monotonic() > self.counted + 1:
            threads = self.within("looking for workers", self.client.nthreads)
            self.n_threads = max(1, sum(threads.values()))
            self.counted = time.monotonic()
        return self.n_threads

    def on_features(self, function: Callable[..., Any], *args: Any) -> tuple[Any, ...]:
        """A call, for `run` and `each`, of a function that takes the features first."""
        assert self.stored is not None
        return self.stored.call(function, *args)

    def check_somebody_is_there(self) -> None:
        if not self.within("looking for workers", self.client.nthreads):
            raise self._nobody()

    def _nobody(self) -> TimeoutError:
        return TimeoutError(f"no worker is connected to {self.scheduler}; start some with dask worker {self.scheduler}")

    def within(self, doing: str, call: Callable[..., Any], *args: Any, **options: Any) -> Any:
        """What a call of Dask's returns, which by itself may wait for ever for a worker that stands still.

        It waits for twice the patience: a call that has the patience for its own timeout ends by that.
        """
        answer: queue.SimpleQueue[tuple[Any, Exception | None]] = queue.SimpleQueue()

        def ask() -> None:
            try:
                answer.put((call(*args, **options), None))
            except Exception as error:
                answer.put((None, error))

        threading.Thread(target=ask, daemon=True).start()
        try:
            result, error = answer.get(timeout=2 * self.patience)
        except queue.Empty:
            raise TimeoutError(
                f"{doing} took more than {2 * self.patience:.0f} s; is the scheduler at {self.scheduler} alive, and"
                " does a worker stand still? (dask's setting pairsmith.timeout is the limit)"
            ) from None
        if error is not None:
            raise error
        return result

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
            function, *args = [self._given(arg) for arg in call]
            future = self.submit(f"{label}-{number}{again}", 0, function, *args)
            pending[future.key] = number, call, attempt, future
            future.add_done_callback(news.put)

        try:
            while True:
                while not exhausted and len(pending) < 2 * self.threads() + 1:  # one running and one waiting a thread
                    try:
                        number, call = next(waiting)
                    except StopIteration:
                        exhausted = True
                    else:
                        submit(number, call, 0)
                if not pending:
                    return
                future = self._next(news, label, pending)
                if future.key not in pending:  # news of an attempt that was given up
                    continue
                number, call, attempt, _ = pending.pop(future.key)
                try:
                    result = self._result(future, label)
                except _Lost as lost:
                    if attempt == _TIMES_AGAIN:
                        raise OSError(lost.told) from None
                    submit(number, call, attempt + 1)
                    continue
                done += 1
                tell(done)
                yield number, result
        finally:
            if pending:
                with contextlib.suppress(Exception):
                    self.within("", self.client.cancel, [future for *_, future in pending.values()], force=True)

    def submit(self, label: str, priority: int, function: Callable[..., Any], *args: Any) -> Any:
        """A future. The dashboard counts tasks by the words that its name begins with; the end makes it unique."""
        self.submitted += 1
        return self.client.submit(
            _task,
            pairsmith.__version__,
            function,
            *args,
            key=f"pairsmith-{label}-{self.name}-{self.submitted}",
            pure=False,
            priority=priority,
            retries=2,
            workers=self._allowed(),
        )

    def _given(self, arg: Any) -> Any:
        """What a task is given for an argument of its call."""
        if isinstance(arg, list):
            return [self._given(part) for part in arg]
        return arg.at_submission(self) if isinstance(arg, AtSubmission) else arg

    def _allowed(self) -> list[str] | None:
        """Where tasks may run: anywhere, or not on workers that are avoided."""
        if not self.avoided:
            return None
        workers = self.within("looking for workers", self.client.scheduler_info, n_workers=-1)["workers"]
        allowed = [address for address, worker in workers.items() if worker["name"] not in self.avoided]
        if not allowed:
            raise OSError(
                f"every worker ({', '.join(map(str, self.avoided))}) was paused or died several times, most likely for"
                " want of memory; give them more, or less to hold: X as a path is read by blocks"
            )
        return allowed

    def _next(self, news: queue.SimpleQueue[Any], label: str, pending: dict[str, Any]) -> Any:
        """The next future that is done, for better or worse."""
        began = looked = time.monotonic()
        while time.monotonic() < began + self.patience:
            with contextlib.suppress(queue.Empty):
                return news.get(timeout=min(1.0, self.patience))
            if self.client.status != "running":
                raise ConnectionError(f"the scheduler at {self.scheduler} is gone; start it and this call again")
            if time.monotonic() > looked + min(_QUIET, self.patience / 2):
                with contextlib.suppress(OSError):  # a scheduler that does not answer is told of below
                    self._take_from_paused()
                looked = time.monotonic()
        try:
            processing = self.within("asking what is being done", self.client.processing)
            workers = self.within("looking for workers", self.client.scheduler_info, n_workers=-1)["workers"]
        except OSError:
            raise ConnectionError(f"the scheduler at {self.scheduler} does not answer; is it alive?") from None
        if not processing:
            raise self._nobody()
        # Who has not been heard of is named first: others may only wait for what it has.
        unheard_since = time.time() - self.patience / 2
        silent = [address for address, worker in workers.items() if worker["last_seen"] < unheard_since]
        busy = [worker for worker, keys in processing.items() if set(keys) & set(pending)]
        paused = [address for address in busy if address in workers and workers[address]["status"] == "paused"]
        if paused and not silent:
            raise self._stuck(label, paused, "its memory is nearly full, so Dask has paused it: give it more")
        raise self._stuck(label, silent or busy)

    def _take_from_paused(self) -> None:
        """Cancel what waits on paused workers, if others can do it: it is submitted again, as what was lost is.

        Dask pauses a worker whose memory is nearly full, and leaves with it the tasks that it had not begun.
        """
        workers = self.within("looking for workers", self.client.scheduler_info, n_workers=-1)["workers"]
        able = [each for each in workers.values() if each["status"] == "running" and each["name"] not in self.avoided]
        if not able:
            return
        processing = self.within("asking what is being done", self.client.processing)
        paused = {address: worker["name"] for address, worker in workers.items() if worker["status"] == "paused"}
        for address, name in paused.items():
            waiting = [key for key in processing.get(address, ()) if f"-{self.name}-" in key]
            if waiting:
                self.avoided.add(name)
                futures = [Future(key, self.client) for key in waiting]
                self.within("taking tasks from a paused worker", self.client.cancel, futures, force=True)

    def _stuck(
        self, label: str, workers: Iterable[str], advice: str = "look at its log, or end it and others will take over"
    ) -> TimeoutError:
        those = ", ".join(workers) or "the scheduler"
        return TimeoutError(
            f"nothing of {label} came in {self.patience:.0f} s: waiting for {those}; {advice}"
            " (dask's setting pairsmith.timeout is the limit)"
        )

    def _result(self, future: Any, label: str) -> Any:
        try:
            return future.result(timeout=self.patience)
        except CancelledError as error:  # the features it needed were lost with their last worker
            if self.stored is not None:
                self.stored.send_again_if_lost(self)
            raise _Lost(f"{label}: data was lost with the workers that held it, again and again ({error})") from None
        except KilledWorker as error:
            self.avoided.add(error.last_worker.name)
            raise _Lost(
                f"{label}: worker {error.last_worker.address} died while it ran this, and others before it, most likely"
                " for want of memory; give workers more, or fewer threads"
            ) from None
        except TimeoutError:
            holders = self.within("asking who has a result", self.client.who_has, [future])
            raise self._stuck(label, holders.get(future.key, ())) from None
        except Exception as error:
            told = " ".join(str(error).split()) or type(error).__name__
            kind = ValueError if isinstance(error, ValueError) else OSError
            raise kind(told if kind is ValueError else f"{label} failed on a worker: {told}") from error


class _Lost(Exception):
    """A task was lost through no fault of its own, and may be submitted again."""

    def __init__(self, told: str) -> None:
        self.told = told


def _task(version: str, function: Callable[..., Any], *args: Any) -> Any:
    """Set the cache's limit and folder to this worker's, run, and name the worker in errors."""
    worker = get_worker()
    if version != pairsmith.__version__:
        raise ValueError(mismatch(worker.address, pairsmith.__version__, version))
    limit = worker.memory_manager.memory_limit
    CACHE.limit = limit // _CACHE_SHARE if limit else _CACHE_WITHOUT_LIMIT
    CACHE.folder = worker.local_directory
    try:
        with single_threaded_blas():
            return function(*args)
    except OSError as error:
        raise OSError(f"worker {worker.address}: {error}") from None
    except ImportError as error:
        raise ValueError(f"worker {worker.address}: {error}; pip install 'pairsmith[data]' there") from None
    except MemoryError:
        raise OSError(f"worker {worker.address} is out of memory; give it more, or fewer threads") from None


def mismatch(address: str, there: str | None, here: str) -> str:
    has = f"has pairsmith {there}, the client {here}" if there else "has no pairsmith"
    return f"worker {address} {has}; install pairsmith {here} on every worker"
