"""The process that plans and reports while people answer, so that nobody waits for it.

`python -m pairsmith.campaign.planning.worker` watches the campaign that the first line of its standard input names.
When few pairs are left it refits the model, chooses the next round given every pair asked so far, and adds it. When
answers have come in it computes on a thread what the dashboard shows, and now and then, in a process of its own (the
same command with `forecast`), what more answers would bring. Raters run out of pairs if rounds are late, so planning
goes first: it gives way to the server, and reports and forecasts give way to it, with a rest after each. The process
ends when its standard input does, that is, with the process that started it.

The server imports this module for `Worker`; what computes is imported where it is needed, by the process itself.
"""

from __future__ import annotations

import json
import math
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
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from pairsmith.campaign.planning.planner import Planner
    from pairsmith.campaign.reporting.history import Memory
    from pairsmith.campaign.store.store import Store

Found = TypeVar("Found")
NICE, LOWEST = 10, 19  # how far planning gives way to the server, and reports and forecasts give way to both
PAUSE = 0.3  # seconds between two looks at the campaign
GONE = 3  # the exit code where the campaign's files were taken away: there is nothing to start again for


def watch(store: Store, keep_rounds_ahead: Planner) -> None:
    """Plan and report until the campaign is gone. What else goes wrong is shown on the dashboard, and tried again."""
    from pairsmith.campaign.reporting import dashboard
    from pairsmith.campaign.reporting import forecasts as outlook
    from pairsmith.campaign.reporting.history import Memory
    from pairsmith.campaign.store.database import CampaignError
    from pairsmith.campaign.store.guard import Gone

    questions = range(len(store.settings.questions))
    memories = [Memory.from_json(*dashboard.last_memory(store, question)) for question in questions]
    reported: tuple[int, ...] | None = None
    report: Beside[list[dict[str, Any]]] = Beside(rest=3)
    forecast: Beside[dict[str, Any]] = Beside(rest=3)
    foretold = 0  # the question that the forecast is about
    while True:
        try:
            store.check()
            keep_rounds_ahead()
            changed = dashboard.changes(store)
            if report.may_begin() and changed != reported:
                # The report stays with the snapshot that it began with.
                reported = changed
                report.begin(_in_a_thread(lambda: _reports(store, memories)))
            elif report.is_done():
                dashboard.save_report(store, *report.end())
                for at, memory in enumerate(memories):
                    dashboard.save_memory(store, memory.to_json(), memory.outlook, at)
                dashboard.save_problem(store, "")
                due = [at for at in questions if outlook.due(memories[at].outlook, memories[at].fitted)]
                if due and forecast.may_begin():
                    foretold = due[0]
                    forecast.begin(_in_a_thread(partial(_forecast, store, foretold)))
            elif report.future is None and forecast.is_done():
                memories[foretold].outlook, reported = forecast.end(), None  # the next report tells of it
        except Gone:
            raise
        except NoForecast:
            told = (
                "What more answers would bring is not known: the process that simulates them ended, for want of memory?"
            )
            with suppress(CampaignError):
                dashboard.save_problem(store, told)
        except ValueError as error:
            with suppress(CampaignError):  # on a full disk: whoever answers is told so
                dashboard.save_problem(store, f"The next round could not be planned: {error}")
            reported = None  # or it was the report that failed
            time.sleep(5)
        time.sleep(PAUSE)


def _bridge(planner: Planner) -> None:
    """See to it that people do not run out of pairs while a round is being designed."""
    while True:
        time.sleep(1)
        with suppress(Exception):  # that something is wrong is found out, and told, where rounds are planned
            planner.bridge_if_late()


class Beside(Generic[Found]):
    """Something done beside the planning, once at a time, with a rest of so many times as long as it took."""

    def __init__(self, rest: float) -> None:
        self.rest = rest
        self.future: Future[Found] | None = None
        self.began = self.rests_until = -math.inf

    def may_begin(self) -> bool:
        return self.future is None and time.monotonic() >= self.rests_until

    def begin(self, future: Future[Found]) -> None:
        self.future, self.began = future, time.monotonic()

    def is_done(self) -> bool:
        return self.future is not None and self.future.done()

    def end(self) -> Found:
        """What came of it, or went wrong."""
        assert self.future is not None
        done, self.future = self.future, None
        now = time.monotonic()
        self.rests_until = now + self.rest * (now - self.began)
        return done.result()


def _reports(store: Store, memories: list[Memory]) -> list[dict[str, Any]]:
    """The report of each question."""
    from pairsmith.campaign.reporting.report import make_report
    from pairsmith.campaign.store.snapshot import take_snapshot

    return [make_report(take_snapshot(store, at), memory) for at, memory in enumerate(memories)]


def _in_a_thread(task: Callable[[], Found]) -> Future[Found]:
    """What the task gives, or raises, once it is done; the process may end before."""
    future: Future[Found] = Future()

    def run() -> None:
        if sys.platform == "linux":  # where threads have priorities of their own
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), LOWEST)
        try:
            future.set_result(task())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, name="report", daemon=True).start()
    return future


def _forecast(store: Store, question: int) -> dict[str, Any]:
    """What a process of its own, at the lowest priority, foretells of a question."""
    line = [sys.executable, "-m", "pairsmith.campaign.planning.worker", "forecast"]
    told = b""
    with suppress(BrokenPipeError), subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        # It ends when its standard input does, which is open for as long as this process wants to know.
        process.stdin.write(f"{question} {store.target}\n".encode())
        process.stdin.flush()
        told = process.stdout.read()
    if not told:
        raise NoForecast
    found: dict[str, Any] = json.loads(told)
    return found


class NoForecast(Exception):
    """The process that was to foretell has ended without."""


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
                [sys.executable, "-m", "pairsmith.campaign.planning.worker"],
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


def begin_behind(priority: int) -> None:
    """Work quietly, at this priority, until standard input ends with the process that has the other end of it."""

    def end_with_it() -> None:
        sys.stdin.read()
        os._exit(0)

    threading.Thread(target=end_with_it, daemon=True).start()
    if hasattr(os, "nice"):
        os.nice(priority)
    warnings.simplefilter("ignore")


def _leave_a_processor() -> None:
    """Leave one to whoever serves, where there are several and the system allows it; forecasts do, as our children."""
    if sys.platform == "linux":
        processors = sorted(os.sched_getaffinity(0))
        with suppress(OSError):  # containers may forbid it
            os.sched_setaffinity(0, processors[1:] or processors)


def print_forecast() -> None:
    """Print the forecast for the question of the campaign that the first line of standard input names, as JSON."""
    from pairsmith.campaign.reporting.forecasts import foretell
    from pairsmith.campaign.store.database import CampaignError
    from pairsmith.campaign.store.snapshot import take_snapshot
    from pairsmith.campaign.store.store import Store

    question, target = sys.stdin.readline().rstrip("\n").split(" ", 1)
    begin_behind(LOWEST)
    try:
        with Store(target) as store:
            print(json.dumps(foretell(take_snapshot(store, int(question)))))
    except CampaignError as error:  # the database may be down for a moment
        print(f"Error: {error}", file=sys.stderr)
        sys.exit(1)


def main() -> None:
    from pairsmith.campaign import is_url
    from pairsmith.campaign.planning.planner import Planner
    from pairsmith.campaign.store.database import CampaignError
    from pairsmith.campaign.store.guard import Gone
    from pairsmith.campaign.store.store import Store

    target = sys.stdin.readline().rstrip("\n")
    begin_behind(NICE)
    _leave_a_processor()
    try:
        store = Store(target)
        planner = Planner(store)
        threading.Thread(target=_bridge, args=(planner,), daemon=True).start()
        watch(store, planner)
    except CampaignError as error:
        print(f"Error: {error}", file=sys.stderr)
        removed = not is_url(target) and not os.path.exists(target)  # before this process could open it
        sys.exit(GONE if removed or isinstance(error, Gone) else 1)
    except Exception:
        traceback.print_exc()
        sys.exit(1)


if __name__ == "__main__":
    print_forecast() if sys.argv[1:] == ["forecast"] else main()
