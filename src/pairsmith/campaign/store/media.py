"""Images and sounds: which there are, and how their files are opened without leaving the folder of a campaign."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, BinaryIO
from xml.parsers import expat

from pairsmith.campaign import ENDINGS

MEDIA = {
    "image": {".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif",
              ".webp": "image/webp", ".avif": "image/avif", ".svg": "image/svg+xml"},
    "audio": {".mp3": "audio/mpeg", ".wav": "audio/wav", ".ogg": "audio/ogg", ".oga": "audio/ogg", ".opus": "audio/ogg",
              ".flac": "audio/flac", ".m4a": "audio/mp4", ".webm": "audio/webm"},
}  # fmt: skip
_BEGINNINGS = {  # patterns of the first bytes
    "image/png": rb"\x89PNG\r\n\x1a\n",
    "image/jpeg": rb"\xff\xd8\xff",
    "image/gif": rb"GIF8[79]a",
    "image/webp": rb"RIFF....WEBP",
    "image/avif": rb"....ftyp(....){0,30}avi[fs]",  # its own brand, or one it is compatible with
    "audio/mpeg": rb"ID3|\xff[\xe2-\xe5\xf2-\xf5\xfa-\xfd]",  # a tag, or a frame of layer II or III
    "audio/wav": rb"(RIFF|RF64)....WAVE",
    "audio/ogg": rb"OggS",
    "audio/flac": rb"fLaC",
    "audio/mp4": rb"....ftyp",
    "audio/webm": rb"\x1aE\xdf\xa3.{1,60}webm",
}
_HEAD = 1 << 16  # bytes that are looked at: an SVG may begin with long comments
_LINKS = os.open in os.supports_dir_fd and hasattr(os, "O_NOFOLLOW")  # whether folders can be entered one by one


class MediaError(ValueError):
    """What is wrong with a file, as the end of a sentence that begins with it; names no folder."""


def ending(path: str) -> str:
    return os.path.splitext(path)[1].lower()


def refuse_addresses(paths: Iterable[Any], where: str) -> None:
    """Refuse web addresses where files are wanted: nothing is downloaded."""
    for row, path in enumerate(paths, 1):
        if re.match(r"(https?|ftp|file|data|s3|gs):", str(path), re.IGNORECASE):
            start = str(path)[:60]
            raise ValueError(f"{where} has the address {start!r} in row {row}; download the files and name those")


def relative(root: str, path: str) -> str:
    """This file, links resolved, as seen from the folder `root`, in which it must lie."""
    try:
        top, found = os.path.realpath(root), os.path.realpath(os.path.join(root, path))
        inside = os.path.commonpath([top, found]) == top and found != top
    except ValueError:  # a null byte, or another drive
        inside = False
    if not inside:
        raise MediaError("lies outside the folder of the campaign's files")
    return os.path.relpath(found, top)


def open_file(root: str, path: str, kind: str) -> BinaryIO:
    """The file `path` of the folder `root`, opened: a regular file that begins as the kind its ending claims.

    Links that stay within the folder are followed. They are resolved first; what was resolved is then opened folder by
    folder without following any, so that a link put there meanwhile leads nowhere.
    """
    claimed = MEDIA.get(kind, {}).get(ending(path))
    if claimed is None:
        raise MediaError(f"is shown as {kind}; use {', '.join(MEDIA.get(kind, ()))}")
    steps = relative(root, path).split(os.sep)
    if ending(steps[-1]).startswith(ENDINGS):  # opened by other means than SQLite, a database loses its locks
        raise MediaError("is a link to a database")
    try:
        file = os.fdopen(_descend(root, steps), "rb", buffering=0)
    except OSError:
        raise MediaError("is not there, or cannot be read") from None
    try:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise MediaError("is no regular file")
        if not begins_as(claimed, file.read(_HEAD)):
            raise MediaError(f"does not begin as {claimed} does, which its ending claims")
        file.seek(0)
    except OSError:
        file.close()
        raise MediaError("cannot be read") from None
    except MediaError:
        file.close()
        raise
    return file


def _descend(root: str, steps: list[str]) -> int:
    """A descriptor of this file. The folder itself may not have become a link to elsewhere either."""
    if os.path.realpath(root) != root:
        raise OSError
    # A FIFO is opened without waiting for its other end, to be refused.
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_BINARY", 0)
    if not _LINKS:
        place = os.path.join(root, *steps)
        before = os.lstat(place)
        found = os.open(place, flags)
        if os.path.samestat(before, os.fstat(found)) and os.path.realpath(place) == place:
            return found
        os.close(found)
        raise OSError
    at = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    for step in steps[:-1]:
        try:
            inner = os.open(step, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=at)
        finally:
            os.close(at)
        at = inner
    try:
        return os.open(steps[-1], flags | os.O_NOFOLLOW, dir_fd=at)
    finally:
        os.close(at)


def begins_as(claimed: str, head: bytes) -> bool:
    """Whether these first bytes are those of a file of this media type."""
    if claimed == "image/svg+xml":
        return _root_of(head) == "svg"
    return re.match(_BEGINNINGS[claimed], head, re.DOTALL) is not None


def _root_of(head: bytes) -> str:
    """The name of the first element of an XML text, without its prefix; empty where this is none."""
    found: list[str] = []

    def note(name: str, _attributes: Any) -> None:
        found.append(name.rpartition(":")[2])
        raise StopIteration  # what comes after it does not matter

    parser = expat.ParserCreate()
    parser.StartElementHandler = note
    with suppress(StopIteration, expat.ExpatError, ValueError, LookupError):
        parser.Parse(head, False)
    return found[0] if found else ""


def parts_with_files(parts: Any) -> Iterable[tuple[int, str, str]]:
    """(place, kind, path) of those parts of an item that are files, whatever a foreign database holds."""
    for at, part in enumerate(parts if isinstance(parts, list) else ()):
        if isinstance(part, list) and len(part) == 2 and isinstance(part[1], str) and part[0] in ("image", "audio"):
            yield at, part[0], part[1]


def common_folder(paths: Iterable[str]) -> str:
    """The innermost folder that holds all these files, by their absolute names; empty where there is none."""
    folders = [os.path.dirname(path) for path in paths if os.path.isabs(path)]
    try:
        return os.path.commonpath(folders) if folders else ""
    except ValueError:  # on different drives
        return ""
