"""A command stopped by Ctrl-C, SIGTERM or SIGHUP clears away what it began, and says in one line what is left."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

_NOTHING = "Nothing was written."

_left_behind = _NOTHING  # by the command that was interrupted
_terminated_by = 0  # the number of the signal; 0 for Ctrl-C
_TERMINATING = [signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])]  # no SIGHUP in Windows


def forget() -> None:
    """A new command begins."""
    global _left_behind, _terminated_by
    _left_behind, _terminated_by = _NOTHING, 0


def told() -> tuple[str, int]:
    """What to say of an interruption, and the exit code."""
    if _terminated_by:
        return f"Terminated. {_left_behind}", 128 + _terminated_by
    return f"Interrupted. {_left_behind}", 130


@contextmanager
def resumable(checkpoint: Path | None) -> Iterator[None]:
    """Tell whoever interrupts this how to go on.

    The message is noted as the interruption passes, because typer turns it into an exit code before main() sees it.
    """
    global _left_behind
    try:
        yield
    except KeyboardInterrupt:
        if checkpoint is not None:
            _left_behind = f"The pairs picked so far are in {checkpoint}; the same command goes on from there."
        raise


@contextmanager
def leaving(message: str) -> Iterator[None]:
    """Tell whoever interrupts this what it leaves behind."""
    global _left_behind
    try:
        yield
    except KeyboardInterrupt:
        _left_behind = message
        raise


@contextmanager
def until_terminated() -> Iterator[None]:
    """Make SIGTERM and SIGHUP interruptions, so that what has been begun is cleared away.

    Other handlers stay: a server has its own, and nohup ignores SIGHUP. Only the main thread may set any.
    """

    def interrupt(number: int, _frame: FrameType | None) -> None:
        global _terminated_by
        _terminated_by = number
        raise KeyboardInterrupt

    here = threading.current_thread() is threading.main_thread()
    numbers = [number for number in _TERMINATING if here and signal.getsignal(number) == signal.SIG_DFL]
    for number in numbers:
        signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number in numbers:
            signal.signal(number, signal.SIG_DFL)
