"""The process that plans and reports while people answer, so that nobody waits for it.

`python -m pairsmith.campaign.worker` watches the campaign that the first line of its standard input names. When few
answers are left to give it refits the model, chooses the next round given every pair asked so far, and adds it; when
answers have come in it computes, beside that, what the dashboard shows, and now and then what more answers would bring.
It works at the lowest priority, on a thread for each of the three, and ends when its standard input does, that is with
the process that started it.

The server imports this module for `Worker`; what computes is imported where it is needed, by the process itself.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from pairsmith.campaign.history import Memory
    from pairsmith.campaign.store import Store

Found = TypeVar("Found")
PAUSE = 0.3  # seconds between two looks at the campaign
GONE = 3  # the exit code where the campaign's files were taken away: there is nothing to start again for


def watch(store: Store) -> None:
    """Plan and report until the campaign is gone. What else goes wrong is shown on the dashboard, and tried again."""
    from pairsmith.campaign import dashboard, outlook
    from pairsmith.campaign.database import CampaignError
    from pairsmith.campaign.guard import Gone
    from pairsmith.campaign.history import Memory
    from pairsmith.campaign.planning import Planner
    from pairsmith.campaign.snapshot import take_snapshot

    keep_rounds_ahead, questions = Planner(store), range(len(store.settings.questions))
    memories = [Memory.from_json(*dashboard.last_memory(store, question)) for question in questions]
    reported: tuple[int, ...] | None = None
    report: Future[list[dict[str, Any]]] | None = None
    forecast: Future[dict[str, Any]] | None = None
    foretold = 0  # the question that the forecast is about
    while True:
        try:
            store.check()
            keep_rounds_ahead()
            changed = dashboard.changes(store)
            if report is None and changed != reported:
                # Models of many items take minutes. People must not run out of pairs meanwhile, so rounds are planned
                # beside it; the report stays with the snapshot that it began with.
                report, reported = _in_a_thread(lambda: _reports(store, memories)), changed
            elif report is not None and report.done():
                done, report = report, None
                dashboard.save_report(store, *done.result())
                for at, memory in enumerate(memories):
                    dashboard.save_memory(store, memory.to_json(), memory.outlook, at)
                dashboard.save_problem(store, "")
                due = [at for at in questions if outlook.due(memories[at].outlook, memories[at].fitted)]
                if forecast is None and due:
                    foretold = due[0]
                    forecast = _in_a_thread(partial(outlook.foretell, take_snapshot(store, foretold)))
            elif report is None and forecast is not None and forecast.done():
                came, forecast = forecast, None
                memories[foretold].outlook, reported = came.result(), None  # the next report tells of it
        except Gone:
            raise
        except ValueError as error:
            with suppress(CampaignError):  # on a full disk: whoever answers is told so
                dashboard.save_problem(store, f"The next round could not be planned: {error}")
            reported = None  # or it was the report that failed
            time.sleep(5)
        time.sleep(PAUSE)


def _reports(store: Store, memories: list[Memory]) -> list[dict[str, Any]]:
    """The report of each question."""
    from pairsmith.campaign.report import make_report
    from pairsmith.campaign.snapshot import take_snapshot

    return [make_report(take_snapshot(store, at), memory) for at, memory in enumerate(memories)]


def _in_a_thread(task: Callable[[], Found]) -> Future[Found]:
    """What the task gives, or raises, once it is done; the process may end before."""
    future: Future[Found] = Future()

    def run() -> None:
        try:
            future.set_result(task())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, name="report", daemon=True).start()
    return future


class Worker:
    """Runs `watch` in a process of its own while the context lasts, and starts it again if it dies."""

    def __init__(self, target: str) -> None:
        self.target = target
        self.ended = threading.Event()
        self.process: subprocess.Popen[bytes] | None = None
        self.thread = threading.Thread(target=self._keep, name="worker", daemon=True)

    def __enter__(self) -> Worker:
        self.thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.ended.set()
        if self.process is not None:
            self.process.kill()  # it holds nothing that a transaction does not protect
        self.thread.join(5)

    def _keep(self) -> None:
        one_thread = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        pause = 0.5
        while not self.ended.is_set():
            began = time.monotonic()
            # The target goes through standard input: a command line, which anybody can read, may not hold a password.
            self.process = subprocess.Popen(
                [sys.executable, "-m", "pairsmith.campaign.worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                env=os.environ | one_thread,
                start_new_session=True,  # Ctrl-C in the terminal is for the server
            )
            assert self.process.stdin is not None
            with suppress(BrokenPipeError):
                self.process.stdin.write(f"{self.target}\n".encode())
                self.process.stdin.flush()
            if self.ended.is_set():  # meanwhile
                self.process.kill()
            code = self.process.wait()
            self.process.stdin.close()
            if code == GONE:
                return
            pause = 0.5 if time.monotonic() - began > 60 else min(2 * pause, 30.0)
            self.ended.wait(pause)


def _end_with_parent() -> None:
    sys.stdin.read()
    os._exit(0)


def main() -> None:
    from pairsmith.campaign.guard import Gone
    from pairsmith.campaign.store import Store

    target = sys.stdin.readline().rstrip("\n")
    threading.Thread(target=_end_with_parent, daemon=True).start()
    if hasattr(os, "nice"):
        os.nice(19)
    warnings.simplefilter("ignore")
    try:
        watch(Store(target))
    except Gone as error:
        print(f"Error: {error}", file=sys.stderr)
        sys.exit(GONE)
    except Exception:
        traceback.print_exc()
        sys.exit(1)


if __name__ == "__main__":
    main()
