"""Where the bytes of a table come from, a file or a pipe, and which format they are in."""

from __future__ import annotations

import os
import stat
from functools import cache
from io import BytesIO
from pathlib import Path

_COMPRESSIONS = (".gz", ".bz2", ".xz", ".zst")  # which pandas unpacks by the ending


def opened(path: Path) -> Path | BytesIO:
    """The file, or what came through a pipe, such as that of <(...) in a shell; a device may never end and is refused.

    A pipe can be read only once, and a table is read more often than that: what came through it is kept.
    """
    if path.is_file() and not str(path).startswith(("/dev/stdin", "/dev/fd/")):
        return path
    try:
        found = path.stat()
        mode = found.st_mode
        typed = path == Path("/dev/stdin") and os.isatty(0)
        if stat.S_ISBLK(mode) or (stat.S_ISCHR(mode) and not typed):
            raise ValueError(f"{path} is a device, not a file")
        return BytesIO(_piped(path.absolute(), found.st_dev, found.st_ino))
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from None


def contents(path: Path) -> bytes:
    source = opened(path)
    return source.getvalue() if isinstance(source, BytesIO) else source.read_bytes()


@cache
def _piped(path: Path, _device: int, _inode: int) -> bytes:  # numbers of descriptors are used again
    return path.read_bytes()


def kind_of(path: Path) -> str:
    """The ending of a table's name, without that of a compression; what came through a pipe is looked at."""
    kind = next((suffix for suffix in reversed(path.suffixes) if suffix not in _COMPRESSIONS), "")
    if kind or not path.exists() or isinstance(source := opened(path), Path):
        return kind
    content = source.getvalue()
    line = content.lstrip().partition(b"\n")[0]
    if content.startswith(b"PAR1"):
        return ".parquet"
    return ".jsonl" if line.startswith(b"{") else ".tsv" if b"\t" in line and b"," not in line else ".csv"
