"""Files that survive a crash: written whole, or not at all."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

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
