"""Features that workers have: in files that every worker can open, or in blocks of rows that workers hold.

The coordinator knows where they are (`File`, `SentBlocks`) and asks for parts (`OnWorkers`); a worker opens the file,
or gets the blocks (`BlocksInMemory`) with its task.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import reduce
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from pairsmith.cluster.cache import CACHE, buffer
from pairsmith.cluster.kernels import read_rows
from pairsmith.data.arrays import Floats, Ints, refuse_masked
from pairsmith.data.features import Result, Which, rows_per_block
from pairsmith.data.user_features import check_shape
from pairsmith.engine.top_pairs import Items

if TYPE_CHECKING:
    from pairsmith.cluster.submit import Submitter

NUMBERS_IN_A_TASK = 1 << 22  # of features that are fetched, or looked at once
_NUMBERS_IN_A_SENT_BLOCK = 1 << 25
_NUMBERS_CONVERTED_AT_ONCE = 1 << 22  # of a table that is copied to a file which can be read by rows
_ROWS_PROJECTED_AT_ONCE = 2048


class OnWorker(Protocol):
    """Features as a task sees them."""

    def span(self, low: int, high: int) -> npt.NDArray[Any]:
        """The rows low to high - 1, as they are stored."""

    def rows(self, items: Items) -> npt.NDArray[Any]:
        """The rows of these items, as they are stored."""


@dataclass(frozen=True)
class File:
    """Features in a file: a .npy array, the numeric columns of a Parquet table, or a Zarr array."""

    path: str
    shape: tuple[int, ...]
    dtype: str
    version: str  # another one once it is written anew, so that a worker does not go on with what it kept
    columns: tuple[str, ...] = ()  # of a table

    # For the coordinator.

    @property
    def held_in_memory(self) -> bool:
        return False

    @property
    def most_rows_in_a_task(self) -> int:
        return self.shape[0]

    def call(self, function: Callable[..., Any], *args: Any) -> tuple[Any, ...]:
        return function, self, *args

    def copy_to_all(self, submitter: Submitter) -> None:
        """Every worker can open it."""

    def send_again_if_lost(self, submitter: Submitter) -> None:
        """It is not lost with a worker."""

    # For workers.

    def span(self, low: int, high: int) -> npt.NDArray[Any]:
        return self.rows(np.arange(low, high))

    def rows(self, items: Items) -> npt.NDArray[Any]:
        """Features of these items: from memory if half the cache holds all of them, else only what is asked for."""
        path = self._by_rows()
        bytes_of_all = np.dtype(self.dtype).itemsize * self.shape[0] * self.shape[1]
        if bytes_of_all <= CACHE.limit // 2:
            (whole,) = CACHE.get((self.path, ("whole", self.version)), lambda: (np.load(path),))
            chosen: npt.NDArray[Any] = whole[items]
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
        CACHE.get((self.path, ("copy", self.version)), lambda: (np.array(self._convert(copy)),))
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

    def _blocks(self) -> Iterator[npt.NDArray[Any]]:
        step = max(1, _NUMBERS_CONVERTED_AT_ONCE // self.shape[1])
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


class BlocksInMemory:
    """Features in a worker's memory, in blocks of rows, of which block b begins at row first[b]."""

    def __init__(self, first: Ints, blocks: list[npt.NDArray[Any]]) -> None:
        self.first, self.blocks = first, blocks

    def span(self, low: int, high: int) -> npt.NDArray[Any]:
        at = int(np.searchsorted(self.first, low, side="right")) - 1
        begin = low - int(self.first[at])
        if begin + high - low <= len(self.blocks[at]):
            return self.blocks[at][begin : begin + high - low]
        return self.rows(np.arange(low, high))

    def rows(self, items: Items) -> npt.NDArray[Any]:
        """Features of these items, in a buffer of this thread."""
        found = buffer("rows", (len(items), self.blocks[0].shape[1]), self.blocks[0].dtype)
        if len(self.blocks) == 1:
            # As bytes: what came over the network may not be aligned, and take would copy it whole.
            np.take(self.blocks[0].view(np.uint8), items, axis=0, out=found.view(np.uint8), mode="clip")
            return found
        at = np.searchsorted(self.first, items, side="right") - 1
        for number in np.unique(at).tolist():
            own = np.flatnonzero(at == number)
            found[own] = self.blocks[number][np.asarray(items)[own] - self.first[number]]
        return found


class SentBlocks:
    """Blocks of rows that workers hold, as futures. `array` is what they were made of, if it is here to send again."""

    held_in_memory = True

    def __init__(self, first: Ints, d: int, futures: list[Any], array: npt.NDArray[Any] | None = None) -> None:
        self.first, self.futures, self.array = first, futures, array
        self.most_rows_in_a_task = _NUMBERS_IN_A_SENT_BLOCK // d + 1

    @classmethod
    def of_array(cls, submitter: Submitter, array: npt.NDArray[Any]) -> SentBlocks:
        """Send an array to all workers, once."""
        first = np.arange(0, len(array), max(1, _NUMBERS_IN_A_SENT_BLOCK // array.shape[1]))
        sent = cls(first, array.shape[1], [], array)
        sent._send(submitter, array)
        return sent

    def call(self, function: Callable[..., Any], *args: Any) -> tuple[Any, ...]:
        return _on_blocks, function, self.first, self, *args

    def at_submission(self, _submitter: Submitter) -> list[Any]:
        """What a task is given for this: the blocks as they are held when it is submitted."""
        return self.futures

    def copy_to_all(self, submitter: Submitter) -> None:
        if self.array is None:  # an array was sent to all from the beginning
            submitter.within("copying the features to all workers", submitter.client.replicate, self.futures)

    def send_again_if_lost(self, submitter: Submitter) -> None:
        if self.array is not None and any(block.status != "finished" for block in self.futures):
            self._send(submitter, self.array)

    def _send(self, submitter: Submitter, array: npt.NDArray[Any]) -> None:
        ends = [*self.first[1:], len(array)]
        blocks = [np.ascontiguousarray(array[low:high]) for low, high in zip(self.first, ends, strict=True)]
        deadline, options = time.monotonic() + submitter.patience, {"broadcast": True, "hash": False}
        while True:
            try:
                self.futures = submitter.within(
                    "sending the features", submitter.client.scatter, blocks, **options, timeout=submitter.patience
                )
                return
            except (OSError, KeyError, ValueError) as error:  # a worker died meanwhile, or there is none
                submitter.check_somebody_is_there()
                if time.monotonic() > deadline:
                    raise OSError(f"the features could not be sent to the workers ({error}); are they alive?") from None
                time.sleep(0.5)


def as_block(part: Any, shape: tuple[int, int]) -> npt.NDArray[Any]:
    """Return a block of a Dask array as tasks read it: a plain array, row after row in memory.

    Blocks of transposed arrays and of data frames come column after column. What a block is may differ from what its
    array says of it, so it is checked here.
    """
    refuse_masked(part, "X")
    block = np.ascontiguousarray(part)
    if block.shape != shape:
        raise ValueError(f"X: a block of the dask array has the shape {block.shape}, but its chunks say {shape}")
    return block


def _on_blocks(function: Callable[..., Result], first: Ints, blocks: list[npt.NDArray[Any]], *args: Any) -> Result:
    return function(BlocksInMemory(first, blocks), *args)


class OnWorkers:
    """Features that only the workers have: rows are fetched when asked for, and work is done where they are."""

    rows_at_once = 1 << 20  # each call is a round of tasks

    def __init__(
        self, submitter: Submitter, shape: tuple[int, ...], dtype: np.dtype[Any], center: Floats | float = 0.0
    ) -> None:
        check_shape(shape, dtype)
        self.submitter, self.dtype, self.center = submitter, dtype, center
        self.shape: tuple[int, int] = (shape[0], shape[1])

    def rows(self, which: Which) -> Floats:
        return self.project(which)

    def project(self, which: Which, *factors: Floats) -> Floats:
        items = np.arange(self.shape[0])[which]
        step = max(1, NUMBERS_IN_A_TASK // self.shape[1])
        parts = [items[low : low + step] for low in range(0, max(1, len(items)), step)]
        calls = [self.submitter.on_features(project, part, self.center, factors) for part in parts]
        return np.concatenate(self.submitter.run("project" if factors else "rows", calls))

    def apply_to_blocks(self, of_block: Callable[[int, npt.NDArray[Any]], Result]) -> list[Result]:
        n, step = self.shape[0], rows_per_block(self.shape[1])
        spans = [(low, min(low + step, n)) for low in range(0, n, step)]
        calls = [self.submitter.on_features(over_block, *span, of_block) for span in spans]
        results: list[Result] = self.submitter.run("check", calls)
        return results

    def centred(self, center: Floats) -> OnWorkers:
        return OnWorkers(self.submitter, self.shape, self.dtype, center)


# What workers do for OnWorkers.


def over_block(features: OnWorker, low: int, high: int, of_block: Callable[[int, npt.NDArray[Any]], Result]) -> Result:
    return of_block(low, features.span(low, high))


def project(features: OnWorker, items: Ints, center: Floats | float, factors: tuple[Floats, ...]) -> Floats:
    """The features of these items, less the center, times each factor in turn."""
    parts = by_parts(features, items)
    return np.concatenate([reduce(np.matmul, factors, np.subtract(part, center, dtype=np.float64)) for part in parts])


def by_parts(features: OnWorker, items: Items) -> Iterator[npt.NDArray[Any]]:
    """The rows of these items, some at a time."""
    for low in range(0, max(1, len(items)), _ROWS_PROJECTED_AT_ONCE):
        yield features.rows(items[low : low + _ROWS_PROJECTED_AT_ONCE])


def describe(path: str) -> tuple[File, npt.NDArray[Any] | None]:
    """What is in a file of features, and the items' ids if a table has a column `id`."""
    if path.endswith(".npy"):
        try:
            with np.errstate(over="raise"):  # a shape beyond all bounds
                mapped = np.lib.format.open_memmap(path, mode="r")  # numpy.load would unpack a .npz by whatever name
        except (ValueError, TypeError, EOFError, ArithmeticError) as error:
            raise ValueError(f"{path} is not a .npy array of numbers ({' '.join(str(error).split())})") from None
        if mapped.ndim == 2 and not mapped.flags.c_contiguous:
            raise ValueError(f"{path} is stored column by column; save numpy.ascontiguousarray(X) instead")
        return File(path, mapped.shape, mapped.dtype.str, _version(path)), None
    if path.rstrip("/").endswith(".zarr"):
        import zarr

        array = zarr.open_array(path, mode="r")
        return File(path, array.shape, array.dtype.str, _version(path)), None
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
    return File(path, (table.count_rows(), len(names)), "<f8", _version(path), names), ids


def _version(path: str) -> str:
    """What tells a file, or a folder of files, from one that is written to the same place later: sizes and times."""
    inside = [os.path.join(folder, name) for folder, _, names in os.walk(path) for name in names]
    found = [(name, os.stat(name)) for name in sorted(inside or [path])]
    known = [(name, status.st_size, status.st_mtime_ns) for name, status in found]
    return blake2b(repr(known).encode(), digest_size=8).hexdigest()
