"""How long numba was compiling: what a first run on a machine takes, and no later one, is told apart from the work."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass
class Compiling:
    """`seconds` that numba has spent compiling kernels, known once the `with` block has ended; mostly 0."""

    seconds: float = 0.0


@contextmanager
def compiling() -> Iterator[Compiling]:
    """Measure, over all threads, how much of the time of a `with` block numba compiles.

    A kernel that was found on disk (`kernels.compiled`) is not compiled and counts for nothing. One that is compiled
    because another one calls it counts once, as part of the other.
    """
    from numba.core import event

    told = Compiling()
    clock = event.TimingListener()
    try:
        with event.install_listener("numba:compile", clock):
            yield told
    finally:
        told.seconds = float(clock.duration) if clock.done else 0.0
