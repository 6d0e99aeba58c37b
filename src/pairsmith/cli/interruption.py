"""Ctrl-C and SIGTERM: a command that is stopped clears away what it began, and says in one line what is left."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

_NOTHING = "Nothing was written."

_left_behind = _NOTHING  # by the command that was interrupted
_terminated = False  # by SIGTERM rather than Ctrl-C


def forget() -> None:
    """A new command begins."""
    global _left_behind, _terminated
    _left_behind, _terminated = _NOTHING, False


def told() -> tuple[str, int]:
    """What to say of an interruption, and the exit code."""
    return (f"Terminated. {_left_behind}", 143) if _terminated else (f"Interrupted. {_left_behind}", 130)


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
    """Make SIGTERM an interruption, so that what has been begun is cleared away; a server has handlers of its own."""

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        global _terminated
        _terminated = True
        raise KeyboardInterrupt

    here = threading.current_thread() is threading.main_thread()  # nobody else may set handlers
    if not here or signal.getsignal(signal.SIGTERM) != signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
