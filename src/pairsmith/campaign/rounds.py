"""The next pairs, designed while people answer: a process of its own, so that nobody waits for it.

`python -m pairsmith.campaign.rounds` watches the campaign that the first line of its standard input names. When few
answers are left to give it refits the model, designs the next round conditioned on every pair asked so far, and appends
it; when answers have come in it computes what the dashboard shows. It works at the lowest priority on one thread, and
ends when its standard input does, that is with the process that started it.
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pairsmith.campaign.store import Known, Store
    from pairsmith.model.bradley_terry import BradleyTerry
    from pairsmith.selection import Selection

PAUSE = 0.3  # seconds between two looks at the campaign
GUESS = 5.0  # seconds that the first design may take
GONE = 3  # the exit code where the campaign's files were taken away: there is nothing to start again for
LARGEST = 16  # times the size of a round that one may have where people are fast


def learn(known: Known) -> BradleyTerry | None:
    """The model of the answers and labels so far, None before the first."""
    from pairsmith.data.features import from_array
    from pairsmith.model.bradley_terry import BradleyTerry
    from pairsmith.model.prior import usual_ridge

    if len(known.answers) == 0 and len(known.labels) == 0:
        return None
    return BradleyTerry(usual_ridge(from_array(known.features.to_numpy()))).fit(known.features, **evidence(known))


def evidence(known: Known) -> dict[str, Any]:
    """Labels and answers, as BradleyTerry.fit takes them."""
    found: dict[str, Any] = {}
    if known.labels.dtype.kind == "U":
        told = " and ".join(repr(word) for word in sorted(set(known.labels.tolist())))
        raise ValueError(
            f"the labels of this campaign are words ({told}), and nothing says which is the better; say it with"
            " pairsmith campaign repair and --better"
        )
    if len(known.labels):
        found |= {"y": known.labels, "labeled": known.labeled}
    if len(known.answers):
        found |= {
            "comparisons": known.answers[["first", "second"]].to_numpy(),
            "outcomes": known.answers["outcome"].to_numpy(),
        }
    return found


def possible(known: Known, max_per_item: int | None) -> int:
    """How many pairs another round can have at most."""
    from pairsmith.data.candidates import WithinGroups, remaining_pairs

    groups = None if known.groups is None else WithinGroups(known.groups)
    return remaining_pairs(groups, len(known.features), known.planned, max_per_item).at_most()


def design(
    known: Known,
    k: int,
    objective: str,
    max_per_item: int | None = None,
    model: BradleyTerry | None = None,
    **options: Any,
) -> Selection | None:
    """The next k pairs (or as many as there are), given all that were asked; None where there are no more.

    A criterion that uses a model gives way to d-optimal before the first label or answer.
    """
    from pairsmith.criteria import CRITERIA
    from pairsmith.data.candidates import WithinGroups
    from pairsmith.selection import select

    if k < 1:
        raise ValueError(f"k must be at least 1, got {k}")
    k = min(k, possible(known, max_per_item))
    if k == 0:
        return None
    needs_model = objective in CRITERIA and CRITERIA[objective].needs_model
    if needs_model and model is None:
        model = learn(known)
    if needs_model and model is None:
        objective = "d-optimal"
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="max_per_item")  # a shorter round is no harm
        return select(
            known.features.to_numpy(),
            k,
            labeled=known.labeled,
            comparisons=known.planned,
            candidates=None if known.groups is None else WithinGroups(known.groups),
            max_per_item=max_per_item,
            objective=objective,
            model=model,
            **options,
        )


def plan(store: Store, size: int | None = None) -> bool:
    """Append a round, of the campaign's k pairs unless `size` is given; False where there are no more to ask."""
    settings, known = store.settings, store.known()
    chosen = design(known, size or settings["k"], settings["objective"], settings["max_per_item"], n_jobs=1)
    if chosen is None or len(chosen) == 0:
        return False
    store.add_round(chosen.pairs, known.last_pair)  # unless another process was faster
    return True


class Planner:
    """Keeps rounds ahead of the people: a call plans one if what is left to answer would not last.

    The lead is what people answer, at their rate of late, in twice the time from one round to the next: that of a
    design and of what is done between two calls. A design begins when no more than the lead is left (or a quarter of a
    round), and has enough pairs to restore it. So where people are slow, a round has k pairs and the model is fitted
    again for each; where they are fast, rounds grow, up to LARGEST times k: four times the pairs take far less than
    four times as long to design, as most of it goes into the model and the first scan.
    """

    def __init__(self, store: Store, clock: Callable[[], float] = time.monotonic) -> None:
        self.store, self.clock = store, clock
        self.k, self.answers = store.settings["k"], store.settings["answers"]
        self.exhausted = -1  # how many pairs there were when no more could be planned
        self.took: float | None = None  # seconds of the last design
        self.left, self.away = clock(), 0.0  # when the last call ended; seconds between two, the longest of late

    def __call__(self) -> None:
        began = self.clock()
        self.away = max(began - self.left, 0.9 * self.away)
        lead = 2 * (GUESS if self.took is None else self.took + self.away) * self.store.rate()
        free, asked = self.store.free()
        if free <= max(self.k * self.answers // 4, lead) and asked != self.exhausted:
            size = self.k
            if self.took is not None:  # a guess is reason enough to begin, not to grow
                size = min(max(size, math.ceil(lead / self.answers)), LARGEST * self.k)
            if plan(self.store, size):
                self.exhausted, self.took = -1, self.clock() - began
            else:
                self.exhausted = asked
        self.left = self.clock()


def watch(store: Store) -> None:
    """Plan and report until the campaign is gone. What else goes wrong is shown on the dashboard, and tried again."""
    from pairsmith.campaign.database import CampaignError
    from pairsmith.campaign.report import make
    from pairsmith.campaign.store import Gone

    keep_ahead = Planner(store)
    reported: tuple[int, ...] | None = None
    while True:
        try:
            store.check()
            keep_ahead()
            changed = store.changes()
            if changed != reported:
                store.save_report("report", make(store.known(), keep_ahead))
                store.save_report("problem", "")
                reported = changed
        except Gone:
            raise
        except ValueError as error:
            with suppress(CampaignError):  # on a full disk: whoever answers is told so
                store.save_report("problem", f"The next round could not be planned: {error}")
            time.sleep(5)
        time.sleep(PAUSE)


class Worker:
    """Runs `watch` in a process of its own while the context lasts, and starts it again if it dies."""

    def __init__(self, target: str) -> None:
        self.target = target
        self.ended = threading.Event()
        self.process: subprocess.Popen[bytes] | None = None
        self.thread = threading.Thread(target=self._keep, name="rounds", daemon=True)

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
        one = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        pause = 0.5
        while not self.ended.is_set():
            began = time.monotonic()
            # The target goes through standard input: a command line, which anybody can read, may not hold a password.
            self.process = subprocess.Popen(
                [sys.executable, "-m", "pairsmith.campaign.rounds"],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                env=os.environ | one,
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
    from pairsmith.campaign.store import Gone, Store

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
