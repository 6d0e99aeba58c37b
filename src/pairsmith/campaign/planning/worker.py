"""The process that plans and reports while people answer, so that nobody waits for either.

`python -m pairsmith.campaign.planning.worker` reads the campaign's target from the first line of its standard input.
When few pairs are left, it fits the model, designs the next round given all planned pairs, and adds it. When answers
have come in, it computes the dashboard's report on a thread. Now and then it simulates what more answers would bring,
in a separate process (the same command with `forecast`).

Raters run out of pairs if rounds are late, so planning comes first: it yields to the server, and reports and forecasts
yield to planning, with a rest after each. The process ends when its standard input does, that is, when the process
that started it ends.

The server imports this module for `Worker`. The modules that compute are imported where they are needed, by the
process itself.
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
    from pairsmith.campaign.reporting.history import ReportState
    from pairsmith.campaign.store.store import Store

Result = TypeVar("Result")
PLANNING_NICENESS, LOWEST_PRIORITY = 10, 19  # planning yields to the server, and reports and forecasts yield to both
SECONDS_BETWEEN_POLLS = 0.3
EXIT_CAMPAIGN_GONE = 3  # the exit code if the campaign's files were removed: a restart would find nothing


def watch(store: Store, keep_rounds_ahead: Planner) -> None:
    """Plan and report until the campaign is gone. Other errors are shown on the dashboard, and the work is retried."""
    from pairsmith.campaign.reporting import dashboard, forecasts
    from pairsmith.campaign.reporting.history import ReportState
    from pairsmith.campaign.store.database import CampaignError
    from pairsmith.campaign.store.guard import Gone

    questions = range(len(store.settings.questions))
    states = [ReportState.from_json(*dashboard.last_state(store, question)) for question in questions]
    reported: tuple[int, ...] | None = None  # the changes at the last report; None asks for another report
    report: BackgroundTask[list[dict[str, Any]]] = BackgroundTask(rest=3)
    forecast: BackgroundTask[dict[str, Any]] = BackgroundTask(rest=3)
    forecast_question = 0
    while True:
        try:
            store.check()
            keep_rounds_ahead()
            changed = dashboard.changes(store)
            if report.may_begin() and changed != reported:
                # Set before the snapshot is taken: answers that arrive during the report get another report.
                reported = changed
                report.begin(_run_in_thread(lambda: _make_reports(store, states)))
            elif report.is_done():
                dashboard.save_report(store, *report.end())
                for question, state in enumerate(states):
                    dashboard.save_state(store, state.to_json(), state.forecast, question)
                dashboard.save_problem(store, "")
                due = [at for at in questions if forecasts.is_due(states[at].forecast, states[at].n_fitted)]
                if due and forecast.may_begin():
                    forecast_question = due[0]
                    forecast.begin(_run_in_thread(partial(_forecast_in_process, store, forecast_question)))
            elif report.future is None and forecast.is_done():
                states[forecast_question].forecast, reported = forecast.end(), None  # the next report shows it
        except Gone:
            raise
        except ForecastFailed:
            problem = (
                "What more answers would bring is not known: the process that simulates them ended, perhaps because"
                " memory ran out."
            )
            with suppress(CampaignError):
                dashboard.save_problem(store, problem)
        except ValueError as error:
            with suppress(CampaignError):  # on a full disk; raters are told when they answer
                dashboard.save_problem(store, f"The next round could not be planned: {error}")
            reported = None  # the report may be what failed
            time.sleep(5)
        time.sleep(SECONDS_BETWEEN_POLLS)


def _bridge_forever(planner: Planner) -> None:
    """Add random pairs if raters run out of pairs while a round is being designed."""
    while True:
        time.sleep(1)
        with suppress(Exception):  # planning runs into the same error, and reports it
            planner.bridge_if_late()


class BackgroundTask(Generic[Result]):
    """A task that runs beside the planning, one at a time, and then rests `rest` times as long as it took."""

    def __init__(self, rest: float) -> None:
        self.rest = rest
        self.future: Future[Result] | None = None
        self.began = self.rests_until = -math.inf

    def may_begin(self) -> bool:
        return self.future is None and time.monotonic() >= self.rests_until

    def begin(self, future: Future[Result]) -> None:
        self.future, self.began = future, time.monotonic()

    def is_done(self) -> bool:
        return self.future is not None and self.future.done()

    def end(self) -> Result:
        """Return the result of the task that is done, or raise its error."""
        assert self.future is not None
        done, self.future = self.future, None
        now = time.monotonic()
        self.rests_until = now + self.rest * (now - self.began)
        return done.result()


def _make_reports(store: Store, states: list[ReportState]) -> list[dict[str, Any]]:
    """Return the report of each question."""
    from pairsmith.campaign.reporting.report import make_report
    from pairsmith.campaign.store.snapshot import take_snapshot

    return [make_report(take_snapshot(store, question), state) for question, state in enumerate(states)]


def _run_in_thread(task: Callable[[], Result]) -> Future[Result]:
    """Run a task at the lowest priority on a daemon thread, which does not keep the process from ending."""
    future: Future[Result] = Future()

    def run() -> None:
        if sys.platform == "linux":  # where threads have their own priorities
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), LOWEST_PRIORITY)
        try:
            future.set_result(task())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, name="report", daemon=True).start()
    return future


def _forecast_in_process(store: Store, question: int) -> dict[str, Any]:
    """Return the forecast for a question, made by a separate process at the lowest priority."""
    line = [sys.executable, "-m", "pairsmith.campaign.planning.worker", "forecast"]
    printed = b""
    with suppress(BrokenPipeError), subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        # Standard input stays open while the forecast is wanted: the process ends when it is closed.
        process.stdin.write(f"{question} {store.target}\n".encode())
        process.stdin.flush()
        printed = process.stdout.read()
    if not printed:
        raise ForecastFailed
    forecast: dict[str, Any] = json.loads(printed)
    return forecast


class ForecastFailed(Exception):
    """The forecasting process exited without a result."""


class Worker:
    """Runs `watch` in a separate process while the context lasts, and restarts it if it dies."""

    def __init__(self, target: str) -> None:
        self.target = target
        self.ended = threading.Event()
        self.process: subprocess.Popen[bytes] | None = None
        self.thread = threading.Thread(target=self._run_and_restart, name="worker", daemon=True)

    def __enter__(self) -> Worker:
        self.thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.ended.set()
        if self.process is not None:
            self.process.kill()  # safe at any time, because all its writes are transactions
        self.thread.join(5)

    def _run_and_restart(self) -> None:
        one_thread = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        pause = 0.5
        while not self.ended.is_set():
            began = time.monotonic()
            # The target may hold a password, so it goes through standard input: anybody can read a command line.
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
            if self.ended.is_set():  # between the check above and the start
                self.process.kill()
            code = self.process.wait()
            self.process.stdin.close()
            if code == EXIT_CAMPAIGN_GONE:
                return
            pause = 0.5 if time.monotonic() - began > 60 else min(2 * pause, 30.0)
            self.ended.wait(pause)


def run_in_background(priority: int) -> None:
    """Lower the priority, silence warnings, and exit when standard input ends, as it does with the parent process."""

    def exit_with_parent() -> None:
        sys.stdin.read()
        os._exit(0)

    threading.Thread(target=exit_with_parent, daemon=True).start()
    if hasattr(os, "nice"):
        os.nice(priority)
    warnings.simplefilter("ignore")


def _leave_a_processor() -> None:
    """Leave one processor to the server if there are several; forecasting processes inherit this."""
    if sys.platform == "linux":
        processors = sorted(os.sched_getaffinity(0))
        with suppress(OSError):  # a container may forbid it
            os.sched_setaffinity(0, processors[1:] or processors)


def print_forecast() -> None:
    """Print a forecast as JSON, for the question and campaign that the first line of standard input names."""
    from pairsmith.campaign.reporting.forecasts import simulate
    from pairsmith.campaign.store.database import CampaignError
    from pairsmith.campaign.store.snapshot import take_snapshot
    from pairsmith.campaign.store.store import Store

    question, target = sys.stdin.readline().rstrip("\n").split(" ", 1)
    run_in_background(LOWEST_PRIORITY)
    try:
        with Store(target) as store:
            print(json.dumps(simulate(take_snapshot(store, int(question)))))
    except CampaignError as error:  # the database may be unavailable for a moment
        print(f"Error: {error}", file=sys.stderr)
        sys.exit(1)


def main() -> None:
    """Watch the campaign that the first line of standard input names."""
    from pairsmith.campaign import is_url
    from pairsmith.campaign.planning.planner import Planner
    from pairsmith.campaign.store.database import CampaignError
    from pairsmith.campaign.store.guard import Gone
    from pairsmith.campaign.store.store import Store

    target = sys.stdin.readline().rstrip("\n")
    run_in_background(PLANNING_NICENESS)
    _leave_a_processor()
    try:
        store = Store(target)
        planner = Planner(store)
        threading.Thread(target=_bridge_forever, args=(planner,), daemon=True).start()
        watch(store, planner)
    except CampaignError as error:
        print(f"Error: {error}", file=sys.stderr)
        removed = not is_url(target) and not os.path.exists(target)  # before this process opened it
        sys.exit(EXIT_CAMPAIGN_GONE if removed or isinstance(error, Gone) else 1)
    except Exception:
        traceback.print_exc()
        sys.exit(1)


if __name__ == "__main__":
    print_forecast() if sys.argv[1:] == ["forecast"] else main()
