"""Interruptions by Ctrl-C, SIGTERM or SIGHUP: the command cleans up and says in one line what it leaves behind."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

_NOTHING = "Nothing was written."

_left_behind = _NOTHING  # what the interrupted command leaves, as a sentence
_terminated_by = 0  # the signal number, or 0 for Ctrl-C
_TERMINATION_SIGNALS = [
    signal.SIGTERM,
    *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else []),
]  # Windows has no SIGHUP


def reset() -> None:
    """Forget earlier interruptions, as a new command begins."""
    global _left_behind, _terminated_by
    _left_behind, _terminated_by = _NOTHING, 0


def describe() -> tuple[str, int]:
    """Return the sentence about the interruption and the exit code."""
    if _terminated_by:
        return f"Terminated. {_left_behind}", 128 + _terminated_by
    return f"Interrupted. {_left_behind}", 130


@contextmanager
def resumable(checkpoint: Path | None) -> Iterator[None]:
    """If the block is interrupted, let main() say how to continue from the checkpoint.

    The sentence is stored while KeyboardInterrupt passes, because typer turns that into an exit code before main()
    sees it.
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
    """If the block is interrupted, let main() say this message."""
    global _left_behind
    try:
        yield
    except KeyboardInterrupt:
        _left_behind = message
        raise


@contextmanager
def until_terminated() -> Iterator[None]:
    """Treat SIGTERM and SIGHUP as interruptions in this block, so that unfinished files are removed.

    Other handlers stay: a server has its own, and nohup ignores SIGHUP. Only the main thread may set handlers.
    """

    def interrupt(number: int, _frame: FrameType | None) -> None:
        global _terminated_by
        _terminated_by = number
        raise KeyboardInterrupt

    in_main_thread = threading.current_thread() is threading.main_thread()
    numbers = [
        number for number in _TERMINATION_SIGNALS if in_main_thread and signal.getsignal(number) == signal.SIG_DFL
    ]
    for number in numbers:
        signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number in numbers:
            signal.signal(number, signal.SIG_DFL)
