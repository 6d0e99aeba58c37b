"""What survives a crash: files written whole or not at all, and the checkpoint of a selection."""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

_VERSION = 1
_STREAMS = ("/dev/stdin", "/dev/stdout", "/dev/stderr")
_DESCRIPTOR = re.compile(r"(?:/dev/fd|/proc/(?:self|thread-self)/fd)/(\d+)")


def write_whole(path: str | os.PathLike[str], write: Callable[[Path], object]) -> None:
    """Let `write` fill a file beside `path`, then put it in place: nobody ever sees half a file.

    A file that was there keeps its mode and, where that is permitted, its owner. What is no file (a device, a pipe, or
    an open file by a name such as /dev/stdout) cannot be replaced: it is written to once `write` is done.
    """
    name = os.fspath(path)
    number = descriptor(name)
    replaced = number is None and (os.path.isfile(name) or not os.path.exists(name))
    target = Path(os.path.realpath(name))  # what a link points to, not the link
    folder = target.parent if replaced else Path(tempfile.gettempdir())
    # Writers go by the ending.
    temporary = folder / f".{target.stem[:50]}.{secrets.token_hex(8)}.part{Path(name).suffix}"
    try:
        before = os.stat(target) if replaced and target.exists() else None
        # What was private is private from the start; the mode of a new file is up to the umask.
        mode = 0o666 if replaced and before is None else 0o600
        os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode))
        try:
            write(temporary)
            if not replaced:
                _pour(temporary, name if number is None else number)
                return
            with open(temporary, "rb+") as file:
                if before is not None:
                    for owner, group in ((before.st_uid, -1), (-1, before.st_gid)) if hasattr(os, "chown") else ():
                        with suppress(OSError):  # root may; others only a group of their own
                            os.chown(temporary, owner, group)
                    os.chmod(temporary, stat.S_IMODE(before.st_mode))
                os.fsync(file.fileno())
            os.replace(temporary, target)
        finally:
            temporary.unlink(missing_ok=True)
        _settle(folder)
    except OSError as error:  # of a full disk it names no file, of the rest perhaps one that nobody knows
        if error.errno is None:
            raise OSError(f"{name}: {error}") from error
        if error.filename is None or os.fspath(error.filename) == str(temporary):
            error.filename = name
        raise


def descriptor(path: str | os.PathLike[str]) -> int | None:
    """The open file that a name such as /dev/stdout or /dev/fd/3, or a link to one, stands for; None for other names.

    Opening such a name can mean the file behind it, from its beginning, rather than the place reached in it.
    """
    name = os.path.abspath(path)
    for _ in range(40):  # links to links, as many as Linux follows
        if name in _STREAMS:
            return _STREAMS.index(name)
        if found := _DESCRIPTOR.fullmatch(name.replace(f"/proc/{os.getpid()}/", "/proc/self/", 1)):
            return int(found[1])
        if not os.path.islink(name):
            return None
        name = os.path.normpath(os.path.join(os.path.dirname(name), os.readlink(name)))
    return None


def _pour(source: Path, sink: str | int) -> None:
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()  # what was said before comes before
    with open(source, "rb") as whole, open(sink, "wb", closefd=isinstance(sink, str)) as file:
        shutil.copyfileobj(whole, file)


def _settle(folder: Path) -> None:
    """Put a new name in this folder on disk, where that can be done: not on Windows, nor on every file system."""
    with suppress(OSError):
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)


def fingerprint(*arrays: npt.NDArray[Any]) -> str:
    """A hash of these arrays' contents."""
    digest = hashlib.blake2b(digest_size=16)
    for array in arrays:
        digest.update(f"{array.shape}{array.dtype}".encode())
        step = max(1, (1 << 24) // max(1, array[:1].nbytes))
        for low in range(0, len(array), step):
            digest.update(np.ascontiguousarray(array[low : low + step]).data)
    return digest.hexdigest()


class Checkpoint:
    """The pairs picked so far, on disk as they come. Everything else is rebuilt from them.

    `problem` says what they were picked for, in words to be shown and compared: a file for another problem is refused.
    """

    def __init__(self, path: str | os.PathLike[str], problem: dict[str, Any]) -> None:
        self.path, self.problem = Path(path), problem
        self.pairs: list[tuple[int, int]] = []
        self.unsaved, self.next_save = 0, 0.0
        if self.path.is_dir() or not self.path.parent.is_dir():
            raise ValueError(f"checkpoint {self.path}: this is no place for a file; name one in a folder that exists")
        if self.path.exists():
            if not self.path.is_file():  # a device may never end
                raise ValueError(f"checkpoint {self.path} is a device or a pipe; name a file")
            self._load()
        self.save()  # now, so that a place that cannot be written to is found before any work

    def _load(self) -> None:
        try:
            content = json.loads(self.path.read_text(encoding="utf-8"))
            version, problem, pairs = content["pairsmith checkpoint"], content["problem"], content["pairs"]
            self.pairs = [(i, j) for i, j in pairs]
            if not isinstance(problem, dict) or any(type(item) is not int for pair in self.pairs for item in pair):
                raise TypeError
        except (ValueError, KeyError, TypeError, RecursionError):
            raise ValueError(
                f"checkpoint {self.path} exists and is no checkpoint of pairsmith; name another file"
            ) from None
        if version != _VERSION:
            raise ValueError(
                f"checkpoint {self.path} was written by another version of pairsmith (format {version}, not"
                f" {_VERSION}); name another file"
            )
        for name, value in self.problem.items():
            if problem.get(name) != value:
                told = "differ" if name.endswith("s") else "differs"
                if not isinstance(value, str):
                    told = f"was {problem.get(name)}, not {value}"
                raise ValueError(
                    f"checkpoint {self.path} is of another problem: {name} {told}; name another file or delete this one"
                )

    def add(self, i: int, j: int) -> None:
        """Another pick, saved at once unless the last save was a moment ago: it may take a twentieth of the time."""
        self.pairs.append((i, j))
        self.unsaved += 1
        if time.monotonic() >= self.next_save:
            self.save()

    def flush(self) -> None:
        if self.unsaved:
            self.save()

    def save(self) -> None:
        began = time.monotonic()
        head = json.dumps({"pairsmith checkpoint": _VERSION, "problem": self.problem}, indent=1)[:-2]
        body = ",\n  ".join(json.dumps(pair) for pair in self.pairs)
        text = f'{head},\n "pairs": [\n  {body}\n ]\n}}\n'
        write_whole(self.path, lambda part: part.write_text(text, encoding="utf-8"))
        now = time.monotonic()
        self.unsaved, self.next_save = 0, now + 20 * (now - began)
