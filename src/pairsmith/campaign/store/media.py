"""Images and sounds: their types, and how to open a file without leaving the campaign's folder."""

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
_FIRST_BYTES = {  # patterns by media type
    "image/png": rb"\x89PNG\r\n\x1a\n",
    "image/jpeg": rb"\xff\xd8\xff",
    "image/gif": rb"GIF8[79]a",
    "image/webp": rb"RIFF....WEBP",
    "image/avif": rb"....ftyp(....){0,30}avi[fs]",  # as its major brand, or as a compatible one
    "audio/mpeg": rb"ID3|\xff[\xe2-\xe5\xf2-\xf5\xfa-\xfd]",  # an ID3 tag, or a frame of layer II or III
    "audio/wav": rb"(RIFF|RF64)....WAVE",
    "audio/ogg": rb"OggS",
    "audio/flac": rb"fLaC",
    "audio/mp4": rb"....ftyp",
    "audio/webm": rb"\x1aE\xdf\xa3.{1,60}webm",
}
_HEAD_BYTES = 1 << 16  # to recognise a file by; an SVG may begin with long comments
_CAN_DESCEND = os.open in os.supports_dir_fd and hasattr(os, "O_NOFOLLOW")  # enter folders one by one


class MediaError(ValueError):
    """A file cannot be shown. The message completes a sentence that begins with the file, and names no folder."""


def ending(path: str) -> str:
    """Return the suffix of a path in lower case, with its dot."""
    return os.path.splitext(path)[1].lower()


def refuse_web_addresses(paths: Iterable[Any], where: str) -> None:
    """Refuse web addresses instead of files: nothing is downloaded."""
    for row, path in enumerate(paths, 1):
        if re.match(r"(https?|ftp|file|data|s3|gs):", str(path), re.IGNORECASE):
            start = str(path)[:60]
            raise ValueError(f"{where} has the address {start!r} in row {row}; download the files and name those")


def relative(root: str, path: str) -> str:
    """Return the path of a file relative to the folder `root`, with links resolved. The file must lie in the folder."""
    try:
        folder, file = os.path.realpath(root), os.path.realpath(os.path.join(root, path))
        inside = os.path.commonpath([folder, file]) == folder and file != folder
    except ValueError:  # a null byte, or another drive
        inside = False
    if not inside:
        raise MediaError("lies outside the folder of the campaign's files")
    return os.path.relpath(file, folder)


def open_file(root: str, path: str, kind: str) -> BinaryIO:
    """Open the file `path` in the folder `root`. It must be a regular file of the type that its ending claims.

    Links that stay within the folder are followed. They are resolved first; the resolved path is then opened folder by
    folder without following links, so that a link put there in the meantime leads nowhere.
    """
    media_type = MEDIA.get(kind, {}).get(ending(path))
    if media_type is None:
        raise MediaError(f"is shown as {kind}; use {', '.join(MEDIA.get(kind, ()))}")
    steps = relative(root, path).split(os.sep)
    if ending(steps[-1]).startswith(ENDINGS):  # opening one other than by SQLite drops its locks
        raise MediaError("is a link to a database")
    try:
        file = os.fdopen(_descend(root, steps), "rb", buffering=0)
    except OSError:
        raise MediaError("is not there, or cannot be read") from None
    try:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise MediaError("is no regular file")
        if not begins_as(media_type, file.read(_HEAD_BYTES)):
            raise MediaError(f"does not begin as {media_type} does, which its ending claims")
        file.seek(0)
    except OSError:
        file.close()
        raise MediaError("cannot be read") from None
    except MediaError:
        file.close()
        raise
    return file


def _descend(root: str, steps: list[str]) -> int:
    """Return a descriptor of the file at the end of these steps. Nor may `root` itself have become a link."""
    if os.path.realpath(root) != root:
        raise OSError
    # Without O_NONBLOCK, opening a FIFO would wait for its other end; the caller refuses it.
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_BINARY", 0)
    if not _CAN_DESCEND:
        place = os.path.join(root, *steps)
        before = os.lstat(place)
        descriptor = os.open(place, flags)
        if os.path.samestat(before, os.fstat(descriptor)) and os.path.realpath(place) == place:
            return descriptor
        os.close(descriptor)
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


def begins_as(media_type: str, head: bytes) -> bool:
    """Return whether a file of this media type may begin with these bytes."""
    if media_type == "image/svg+xml":
        return _root_element(head) == "svg"
    return re.match(_FIRST_BYTES[media_type], head, re.DOTALL) is not None


def _root_element(head: bytes) -> str:
    """Return the name of the first element of an XML text without its prefix, or an empty string for other text."""
    names: list[str] = []

    def note(name: str, _attributes: Any) -> None:
        names.append(name.rpartition(":")[2])
        raise StopIteration  # the rest does not matter

    parser = expat.ParserCreate()
    parser.StartElementHandler = note
    with suppress(StopIteration, expat.ExpatError, ValueError, LookupError):
        parser.Parse(head, False)
    return names[0] if names else ""


def file_parts(parts: Any) -> Iterable[tuple[int, str, str]]:
    """Yield (place, kind, path) of the parts of an item that are files. A foreign database may hold anything."""
    for place, part in enumerate(parts if isinstance(parts, list) else ()):
        if isinstance(part, list) and len(part) == 2 and isinstance(part[1], str) and part[0] in ("image", "audio"):
            yield place, part[0], part[1]
