"""What every loader returns."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

_NO_ITEMS: Ints = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True)
class Dataset:
    """Items with features and, where there are any, absolute labels and comparisons."""

    name: str
    X: npt.NDArray[Any]  # (N, d)
    source: str  # where it came from, and on what terms
    ids: npt.NDArray[Any] = field(default_factory=lambda: np.zeros(0, dtype=object))  # of the items, as in the files
    names: npt.NDArray[Any] | None = None  # for people to read
    labeled: Ints = field(default_factory=lambda: _NO_ITEMS)  # rows that have an absolute label, ...
    labels: Ints = field(default_factory=lambda: _NO_ITEMS)  # ... -1 or +1
    pairs: Ints = field(default_factory=lambda: np.zeros((0, 2), dtype=np.int64))  # rows compared, ...
    outcomes: Ints = field(default_factory=lambda: _NO_ITEMS)  # ... +1 first preferred, -1 second, 0 tie, ...
    counts: Ints = field(default_factory=lambda: _NO_ITEMS)  # ... and how many answers that sums up
    groups: npt.NDArray[Any] | None = None  # only items of one group may be compared

    def __post_init__(self) -> None:
        if len(self.ids) == 0:
            object.__setattr__(self, "ids", np.arange(len(self.X)))
        if len(self.counts) == 0:
            object.__setattr__(self, "counts", np.ones(len(self.pairs), dtype=np.int64))
        assert len(self.ids) == len(self.X)
        assert len(self.labeled) == len(self.labels)
        assert len(self.pairs) == len(self.outcomes) == len(self.counts)

    def __repr__(self) -> str:
        n, d = self.X.shape
        known = f"{len(self.labeled)} labels, {len(self.pairs)} comparisons"
        return f"Dataset({self.name!r}: {n} items, {d} features, {known})"


def of_scores(scores: Floats, ties: int = 0) -> tuple[Ints, Ints]:
    """All pairs i < j of these items and who scores higher; what equal scores give is `ties`."""
    i, j = np.triu_indices(len(scores), 1)
    outcomes = np.sign(scores[i] - scores[j]).astype(np.int64)
    return np.column_stack([i, j]), np.where(outcomes == 0, ties, outcomes)


def file_in(folder: str | Path, *names: str) -> Path:
    """The first of these files that the folder has."""
    folder = Path(folder)
    if not folder.is_dir():
        raise ValueError(f"{folder}: there is no such folder")
    for name in names:
        if (folder / name).is_file():
            return folder / name
    raise ValueError(f"{folder} has no file {' or '.join(names)}")


def wrong(path: Path, line: int, what: str) -> ValueError:
    return ValueError(f"{path}, line {line}: {what}")
