"""What a worker keeps: results in bounded memory, and buffers. Losing them costs time and nothing else.

Kept are tiles (`tasks._tile_rows`), whole files and notes of copies (`features.File`); the limit is set by
`submit._task`.
"""

from __future__ import annotations

import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

Arrays = tuple[npt.NDArray[Any], ...]


class Named(Protocol):
    @property
    def name(self) -> str: ...


class Cache:
    """Arrays by key, the least recently used of them dropped once all take more than `limit` bytes."""

    def __init__(self) -> None:
        self.limit = 1 << 30  # bytes
        self.folder = "."  # for copies of what cannot be read by rows
        self.lock = threading.RLock()  # an owner may be collected, and forgotten, by the thread that holds it
        self.entries: OrderedDict[tuple[str, Any], _Entry] = OrderedDict()
        self.owners: set[str] = set()  # names of those whose end is watched

    def get(self, key: tuple[str, Any], make: Callable[[], Arrays]) -> Arrays:
        """What `make` made for this key, by one thread while others that want it wait."""
        with self.lock:
            entry = self.entries.setdefault(key, _Entry())
            self.entries.move_to_end(key)
        with entry.lock:
            if entry.value is None:
                entry.value = make()
                entry.bytes = sum(array.nbytes for array in entry.value)
                self._evict(key)
            return entry.value

    def get_for(self, owner: Named, key: Any, make: Callable[[], Arrays]) -> Arrays:
        """The same, until the owner is let go of: then nobody will ask again."""
        with self.lock:
            if owner.name not in self.owners:
                self.owners.add(owner.name)
                weakref.finalize(owner, self.forget, owner.name)
        return self.get((owner.name, key), make)

    def forget(self, owner: str) -> None:
        """Drop what was kept for an owner of this name. Should there be another, it is watched from its next use on."""
        with self.lock:
            self.owners.discard(owner)
            for key in [key for key in self.entries if key[0] == owner]:
                del self.entries[key]

    def _evict(self, newest: tuple[str, Any]) -> None:
        with self.lock:
            used = sum(entry.bytes for entry in self.entries.values())
            for key in list(self.entries):
                if used <= self.limit:
                    break
                if key != newest and self.entries[key].value is not None:
                    used -= self.entries.pop(key).bytes


@dataclass
class _Entry:
    lock: threading.Lock = field(default_factory=threading.Lock)
    value: Arrays | None = None
    bytes: int = 0


CACHE = Cache()  # of this process

# Workers give memory back as soon as they can, and asking for it again is slow: what is large and short-lived is in
# buffers.
_own = threading.local()


def buffer(name: str, shape: tuple[int, ...], dtype: npt.DTypeLike = np.float64) -> npt.NDArray[Any]:
    """An array of this thread, to be used until it is asked for again by the same name."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    kept = _own.__dict__.setdefault("buffers", {})
    if name not in kept or len(kept[name]) < size:
        kept[name] = np.empty(size, dtype=np.uint8)
    own: npt.NDArray[Any] = kept[name][:size].view(dtype).reshape(shape)
    return own
