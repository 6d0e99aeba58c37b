"""What every algorithm and criterion yields."""

from __future__ import annotations

from collections.abc import Generator
from typing import NamedTuple


class Step(NamedTuple):
    """A pick: the pair i < j, what it added to its objective, and log det of the information after it."""

    i: int
    j: int
    gain: float
    logdet: float


Steps = Generator[Step]
