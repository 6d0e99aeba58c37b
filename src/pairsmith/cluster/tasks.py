"""What a worker of a cluster does: pure functions of features, a moment of the design and a tile of the pairs.

Features are in files that every worker can open, or in blocks of rows that the worker holds. What is computed from them
is kept in a cache of bounded size; losing it, or the worker, costs time and nothing else.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import reduce
from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt

from pairsmith.cluster.kernels import read_rows
from pairsmith.data.arrays import Floats
from pairsmith.data.candidates import Rows
from pairsmith.design.kernels import pair_distances
from pairsmith.design.weights import logistic_weight
from pairsmith.engine import kernels
from pairsmith.engine.scan import Catch, Hits, Screening, join, reaching

_BLOCK = 1 << 18  # numbers whitened at a time, and pairs looked at in float64
_CONVERTED = 1 << 22  # numbers of a table copied at a time
_PER_PAIR = 96  # bytes of the cache's limit for a pair that a task keeps: of 16, twice as many, and twice when joined


class Cache:
    """Values by key, the least recently used of them dropped once all take more than `limit` bytes."""

    def __init__(self) -> None:
        self.limit = 1 << 30
        self.folder = "."  # for copies of what cannot be read by rows
        self.lock = threading.RLock()  # a moment may be collected, and forgotten, by the thread that holds it
        self.entries: OrderedDict[Any, _Entry] = OrderedDict()

    def get(self, key: Any, make: Callable[[], tuple[Any, ...]]) -> tuple[Any, ...]:
        """Arrays, made by one thread while others that want them wait."""
        with self.lock:
            entry = self.entries.setdefault(key, _Entry())
            self.entries.move_to_end(key)
        with entry.lock:
            if entry.value is None:
                entry.value = make()
                entry.size = sum(array.nbytes for array in entry.value)
                self._evict(key)
            return entry.value

    def _evict(self, newest: Any) -> None:
        with self.lock:
            used = sum(entry.size for entry in self.entries.values())
            for key in list(self.entries):
                if used <= self.limit:
                    break
                if key != newest and self.entries[key].value is not None:
                    used -= self.entries.pop(key).size

    def forget(self, moment: str) -> None:
        """Drop what was kept for a moment."""
        with self.lock:
            for key in [key for key in self.entries if key[0] == moment]:
                del self.entries[key]


@dataclass
class _Entry:
    lock: threading.Lock = field(default_factory=threading.Lock)
    value: tuple[Any, ...] | None = None
    size: int = 0


CACHE = Cache()  # of this process


# Where features are.


@dataclass(frozen=True)
class File:
    """Features in a file: a .npy array, the numeric columns of a Parquet table, or a Zarr array."""

    path: str
    shape: tuple[int, ...]
    dtype: str
    columns: tuple[str, ...] = ()  # of a table

    def span(self, low: int, high: int) -> npt.NDArray[Any]:
        return self.rows(np.arange(low, high))

    def rows(self, items: Any) -> npt.NDArray[Any]:
        """Features of these items: from memory if half the cache holds all of them, else only what is asked for."""
        path = self._by_rows()
        if np.dtype(self.dtype).itemsize * self.shape[0] * self.shape[1] <= CACHE.limit // 2:
            chosen: npt.NDArray[Any] = CACHE.get((self.path, "whole"), lambda: (np.load(path),))[0][items]
            return chosen
        found = np.empty((len(items), self.shape[1]), dtype=self.dtype)
        if len(items) == 0:
            return found
        items, as_bytes = np.asarray(items, dtype=np.int64), found.view(np.uint8)
        # Not by a memory map: what is read from one counts as memory in use.
        with open(path, "rb", buffering=0) as file:
            of_version = {1: np.lib.format.read_array_header_1_0, 2: np.lib.format.read_array_header_2_0}
            of_version[np.lib.format.read_magic(file)[0]](file)
            read = read_rows(file.fileno(), file.tell(), items, np.argsort(items, kind="stable"), as_bytes)
        if read < len(items):
            raise OSError(f"{self.path} ends early, or cannot be read; was it written to?")
        return found

    def _by_rows(self) -> str:
        """A .npy file of these features: the file itself, or a copy beside the worker's other scratch."""
        if self.path.endswith(".npy"):
            return self.path
        name = blake2b(repr(self).encode(), digest_size=8).hexdigest()
        copy = os.path.join(CACHE.folder, f"pairsmith-{name}.npy")
        CACHE.get((self.path, "copy"), lambda: (np.array(self._convert(copy)),))
        return copy

    def _convert(self, copy: str) -> bool:
        if os.path.exists(copy):
            return False
        part = f"{copy}.part"
        target = np.lib.format.open_memmap(part, mode="w+", dtype=self.dtype, shape=self.shape)
        at = 0
        for block in self._blocks():
            target[at : at + len(block)] = block
            at += len(block)
        target.flush()
        del target
        os.replace(part, copy)
        return True

    def _blocks(self) -> Any:
        step = max(1, _CONVERTED // self.shape[1])
        if not self.columns:
            import zarr

            array = zarr.open_array(self.path, mode="r")
            for low in range(0, self.shape[0], step):
                yield array[low : low + step]
            return
        from pyarrow import dataset

        for batch in dataset.dataset(self.path).to_batches(columns=list(self.columns), batch_size=step):
            block = np.empty((len(batch), self.shape[1]), dtype=self.dtype)
            for at, name in enumerate(self.columns):
                values = batch.column(name).to_numpy(zero_copy_only=False)
                if values.dtype.kind in "iu" and len(values) and max(int(values.max()), -int(values.min())) > 2**53:
                    raise ValueError(
                        f"X: column {name!r} of {self.path} holds whole numbers beyond 2^53, which float64 cannot tell"
                        " apart; subtract an offset first"
                    )
                block[:, at] = values
            yield block


class Held:
    """Features in memory, in blocks of rows, of which the first begins at row first[0]."""

    def __init__(self, first: Any, blocks: list[npt.NDArray[Any]]) -> None:
        self.first, self.blocks = np.asarray(first), blocks

    def span(self, low: int, high: int) -> npt.NDArray[Any]:
        at = int(np.searchsorted(self.first, low, side="right")) - 1
        begin = low - int(self.first[at])
        if begin + high - low <= len(self.blocks[at]):
            return self.blocks[at][begin : begin + high - low]
        return self.rows(np.arange(low, high))

    def rows(self, items: Any) -> npt.NDArray[Any]:
        """Features of these items, in a buffer of this thread."""
        found = _buffer("rows", (len(items), self.blocks[0].shape[1]), self.blocks[0].dtype)
        if len(self.blocks) == 1:
            # As bytes: what came over the network may not be aligned, and take would copy it whole.
            np.take(self.blocks[0].view(np.uint8), items, axis=0, out=found.view(np.uint8), mode="clip")
            return found
        at = np.searchsorted(self.first, items, side="right") - 1
        for number in np.unique(at).tolist():
            own = np.flatnonzero(at == number)
            found[own] = self.blocks[number][np.asarray(items)[own] - self.first[number]]
        return found


Features = File | Held


def describe(path: str) -> tuple[File, Any]:
    """What is in a file of features, and the items' ids if a table has a column `id`."""
    if path.endswith(".npy"):
        try:
            with np.errstate(over="raise"):  # a shape beyond all bounds
                mapped = np.lib.format.open_memmap(path, mode="r")  # numpy.load would unpack a .npz by whatever name
        except (ValueError, TypeError, EOFError, ArithmeticError) as error:
            raise ValueError(f"{path} is not a .npy array of numbers ({' '.join(str(error).split())})") from None
        if mapped.ndim == 2 and not mapped.flags.c_contiguous:
            raise ValueError(f"{path} is stored column by column; save numpy.ascontiguousarray(X) instead")
        return File(path, mapped.shape, mapped.dtype.str), None
    if path.rstrip("/").endswith(".zarr"):
        import zarr

        array = zarr.open_array(path, mode="r")
        return File(path, array.shape, array.dtype.str), None
    import pyarrow as pa
    from pyarrow import dataset

    table = dataset.dataset(path)
    names = tuple(name for name in table.schema.names if name != "id")
    for name in names:
        kind = table.schema.field(name).type
        if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)):
            raise ValueError(f"X: column {name!r} of {path} is not numeric ({kind}); drop it or turn it into numbers")
    ids = None
    if "id" in table.schema.names:
        values = table.to_table(columns=["id"]).column("id").to_pylist()
        ids = np.empty(len(values), dtype=object)
        ids[:] = values
    return File(path, (table.count_rows(), len(names)), "<f8", names), ids


# What is done with them. Workers give memory back as soon as they can, and asking for it again is slow: what is large
# and short-lived is in buffers.

_local = threading.local()


def _buffer(name: str, shape: tuple[int, ...], dtype: Any = np.float64) -> npt.NDArray[Any]:
    """An array of this thread, to be used until it is asked for again."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    kept = _local.__dict__.setdefault("buffers", {})
    if name not in kept or len(kept[name]) < size:
        kept[name] = np.empty(size, dtype=np.uint8)
    own: npt.NDArray[Any] = kept[name][:size].view(dtype).reshape(shape)
    return own


@dataclass(frozen=True)
class Moment:
    """The design between two picks: all that a scan needs to know of it."""

    name: str
    whitener: tuple[Floats, ...]
    center: Floats

    def whiten(self, rows: npt.NDArray[Any], columns: Any = slice(None)) -> Floats:
        """Columns of Z = X W, in a buffer of this thread. W holds every pick so far: there is nothing to replay."""
        Z: Floats = np.subtract(rows, self.center, out=_buffer("centred", rows.shape), dtype=np.float64)
        for at, factor in enumerate(self.whitener):
            if factor is self.whitener[-1]:
                factor = np.ascontiguousarray(factor[:, columns])
            Z = np.matmul(Z, factor, out=_buffer(f"factor {at}", (len(Z), factor.shape[1])))
        return Z


@dataclass(frozen=True)
class Part:
    """Some items, from `place` on in the order of a pass, and what is known of each."""

    place: int
    items: Any
    norms: Any = None
    scores: Any = None


def over_block(features: Features, low: int, high: int, of_block: Callable[[int, Any], Any]) -> Any:
    return of_block(low, features.span(low, high))


def project(features: Features, items: Any, center: Floats, factors: tuple[Floats, ...]) -> Floats:
    """The features of these items, less the center, times each factor in turn."""
    return np.concatenate(
        [reduce(np.matmul, factors, np.subtract(part, center, dtype=np.float64)) for part in _parts(features, items)]
    )


def _whitened(features: Features, moment: Moment, items: Any) -> Floats:
    return np.concatenate([moment.whiten(part).copy() for part in _parts(features, items)])


def _parts(features: Features, items: Any) -> Iterator[npt.NDArray[Any]]:
    step = 2048
    for low in range(0, max(1, len(items)), step):
        yield features.rows(items[low : low + step])


def measure(features: Features, moment: Moment, low: int, high: int) -> tuple[Floats, Floats]:
    """|z_i|^2 of the items low to high - 1, and the sum of squares of each column of Z."""
    norms, energy = np.empty(high - low), np.zeros(len(moment.center))
    step = max(1, _BLOCK // len(energy))
    given = features.span(low, high)
    for begin in range(0, high - low, step):
        Z = moment.whiten(given[begin : begin + step])
        kernels.measure(Z, norms[begin : begin + step], energy)
    return norms, energy


def screen(
    features: Features,
    moment: Moment,
    screening: Screening,
    groups: list[list[Part]],
    left_place: int,
    strips: dict[int, Any],
    floor: float,
    capacity: int,
    taken: int,
) -> tuple[Hits, float]:
    """Pairs of one part with others, by their places, in the strips of each, that reach the floor.

    Also what every other pair of them is at most.
    """
    parts = {part.place: part for group in groups for part in group}
    left = parts[left_place]
    catch, scratch = Catch(floor, _room(capacity) + taken), screening.scratch()
    A, *Y = _narrowed(features, moment, screening, left)
    for place, own in strips.items():
        right = parts[place]
        B, *Z = _narrowed(features, moment, screening, right)
        for i, j, bound, now in screening.passing(A, B, left.place, right.place, own, catch, scratch):
            i, j = i - left.place, j - right.place
            found = _Found(left, right, i, j, Y, Z)
            i, j, bound = screening.settled(i, j, bound, now, found.weight, found.gains)
            catch.add((left.items[i], right.items[j], bound))
    return join(catch.hits), catch.floor


def _room(capacity: int) -> int:
    """How many pairs a task may keep: what the pool holds, or less where there is no memory for that.

    Then the floor rises sooner, for all tasks, and the pool is smaller; what is picked does not depend on it.
    """
    return min(capacity, max(1, CACHE.limit // _PER_PAIR))


@dataclass(frozen=True)
class _Found:
    left: Part
    right: Part
    i: Any
    j: Any
    Y: list[Floats]
    Z: list[Floats]

    def weight(self) -> Floats:
        return logistic_weight(self.left.scores[self.i] - self.right.scores[self.j])

    def gains(self) -> Floats:
        gains = np.empty(len(self.i))
        pair_distances(self.Y[0], self.Z[0], self.i, self.j, gains)
        return gains if self.left.scores is None else gains * self.weight()


def _narrowed(features: Features, moment: Moment, screening: Screening, part: Part) -> tuple[Any, ...]:
    """The part's rows for the screen and, where some columns are left out of them, its Z."""

    def make() -> tuple[Any, ...]:
        n, d = len(part.items), len(moment.center)
        M = np.empty((n, screening.row_width), dtype=np.float32)
        kept = np.empty((n, d)) if screening.partial else None
        columns, own_columns = screening.columns[: screening.used], np.arange(screening.used)
        step = max(1, _BLOCK // d)
        for low in range(0, n, step):
            own = slice(low, low + step)
            given = features.rows(part.items[own])
            scores = None if part.scores is None else part.scores[own]
            which = np.arange(len(given), dtype=np.int32)
            if kept is None:
                Z = moment.whiten(given, columns)
                screening.rows(Z, which, part.norms[own], scores, M[own], own_columns)
            else:
                kept[own] = Z = moment.whiten(given)
                screening.rows(Z, which, part.norms[own], scores, M[own])
        return (M,) if kept is None else (M, kept)

    if not hasattr(moment, "ending"):  # once the cluster lets go of it, nobody will ask again
        object.__setattr__(moment, "ending", weakref.finalize(moment, CACHE.forget, moment.name))
    return CACHE.get((moment.name, part.place), make)


def exact(
    features: Features,
    moment: Moment,
    left: Part,
    rights: list[tuple[Part, Rows, Any]],
    floor: float,
    last: tuple[int, int],
    capacity: int,
    taken: int,
) -> tuple[Hits, float, tuple[int, int]]:
    """Pairs of `left` with each of `rights`, in float64, that reach the floor; what every other is at most.

    With each of the rights comes who meets whom, by places in left and right, and which of it are at their cap.
    """
    catch = Catch(floor, _room(capacity) + taken, last)
    Y, h = _whitened(features, moment, left.items), len(left.items)
    for right, local, full in rights:
        Z = np.concatenate([Y, _whitened(features, moment, right.items)])
        scores = None if left.scores is None else np.concatenate([left.scores, right.scores])
        own = Rows(local.partner + np.int32(h), local.first, local.count)
        arrays = own.partner, own.first, own.count, own.start
        for low, high in own.blocks(_BLOCK):
            i, j, gains = reaching(Z, arrays, scores, low, high, catch.floor)
            free = ~full[j - h]
            i, j, gains = left.items[i[free]], right.items[j[free] - h], gains[free]
            good = catch.wanted(i, j, gains)
            catch.add((i[good], j[good], gains[good]))
    assert catch.last is not None
    return join(catch.hits), catch.floor, catch.last
