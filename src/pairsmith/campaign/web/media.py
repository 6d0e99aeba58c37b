"""The images and sounds of items: whole files, ranges of files, and thumbnails."""

from __future__ import annotations

import io
import os
import re
import warnings
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Annotated, Any, BinaryIO

from anyio import CapacityLimiter
from anyio.to_thread import run_sync
from fastapi import APIRouter, HTTPException, Request
from fastapi import Path as InPath
from fastapi.responses import Response, StreamingResponse
from starlette.types import Message, Receive, Scope, Send

from pairsmith.campaign.answering import leases
from pairsmith.campaign.store.media import MEDIA, MediaError, ending, open_file
from pairsmith.campaign.store.store import Store
from pairsmith.campaign.web.access import Access

CHUNK_BYTES = 1 << 18
CACHE_HEADERS = {"Cache-Control": "private, max-age=3600", "Content-Security-Policy": "default-src 'none'; sandbox"}

THUMBNAIL_PIXELS = 112  # the longer side: twice what is shown, for screens with high resolution
THUMBNAIL_TYPE = "image/webp"
MAX_CACHED_THUMBNAILS = 8192  # about 3 kB each; browsers cache them too
MAX_IMAGE_PIXELS = 50_000_000  # decoding takes some 200 MB, and shrinking as much, while people are rating
IMAGE_FORMATS = {  # Pillow's names of the types that campaigns show
    "image/png": "PNG", "image/jpeg": "JPEG", "image/gif": "GIF", "image/webp": "WEBP", "image/avif": "AVIF",
}  # fmt: skip

Row = Annotated[int, InPath(ge=0, le=2**31 - 1)]
PartIndex = Annotated[int, InPath(ge=0, le=1000)]


def media(store: Store, access: Access) -> APIRouter:
    """Return the routes of the files that the campaign lists."""
    router = APIRouter(include_in_schema=False)
    cached_thumbnail = lru_cache(MAX_CACHED_THUMBNAILS)(make_thumbnail)
    # Scrolling through thousands of pictures must not take the threads that raters wait for.
    thumbnail_threads = CapacityLimiter(2)

    def open_part(row: int, part: int) -> tuple[BinaryIO, str]:
        """Open the file of an item's part and return its media type. Requests name numbers only, never a path."""
        parts = store.parts(row)
        if part >= len(parts) or parts[part][0] not in MEDIA:
            raise HTTPException(404, "there is no such file in this campaign")
        kind, path = parts[part]
        try:
            return open_file(store.settings.folder or "", path, kind), MEDIA[kind][ending(path)]
        except MediaError as error:
            raise HTTPException(404, f"the file of this item {error}") from None

    @router.get("/media/{row}/{part}")
    def file(request: Request, row: Row, part: PartIndex) -> Response:
        """Return a file: to raters if its item was shown to them, to organisers in any case."""
        try:
            access.require_person(request, "organiser")
        except HTTPException:
            if not leases.was_shown(store, access.require_person(request, "rater"), row):
                raise HTTPException(404, "this item was not shown to you") from None
        return _file_response(*open_part(row, part), request)

    @router.get("/media/{row}/{part}/small")
    async def thumbnail(request: Request, row: Row, part: PartIndex) -> Response:
        """Return a thumbnail for the organisers' ranking, or the file itself if no thumbnail can be made."""

        def respond() -> Response:
            access.require_person(request, "organiser")
            file, media_type = open_part(row, part)
            status = os.fstat(file.fileno())
            content = None
            if media_type in IMAGE_FORMATS:
                content = cached_thumbnail(Picture(file, row, part, status.st_mtime_ns, status.st_size))
            if content is None:
                file.seek(0)
                return _file_response(file, media_type, request)
            file.close()
            return Response(content, media_type=THUMBNAIL_TYPE, headers=CACHE_HEADERS)

        return await run_sync(respond, limiter=thumbnail_threads)

    return router


@dataclass(frozen=True)
class Picture:
    """An open file, with the key of its thumbnail: the part, the time of the last change and the size in bytes."""

    file: BinaryIO = field(compare=False)
    row: int
    part: int
    changed: int
    size: int


def make_thumbnail(picture: Picture) -> bytes | None:
    """Return the picture as WebP, upright and no larger than THUMBNAIL_PIXELS.

    Return None if the picture cannot be read, has too many pixels, or Pillow is not installed.
    """
    try:
        import numpy as np
        from PIL import Image, ImageOps
    except ImportError:
        return None
    with warnings.catch_warnings(), suppress(Exception):  # Pillow's readers raise all kinds of errors
        warnings.simplefilter("ignore")
        with Image.open(picture.file, formats=list(IMAGE_FORMATS.values())) as image:
            image.draft("RGB", (2 * THUMBNAIL_PIXELS, 2 * THUMBNAIL_PIXELS))  # decodes a JPEG at a fraction of its size
            if image.width * image.height > MAX_IMAGE_PIXELS:
                return None
            upright = ImageOps.exif_transpose(image)
            if upright.mode.startswith("I"):  # 16 bits; Pillow would clip at 255, so that everything becomes white
                upright = Image.fromarray((np.asarray(upright) >> 8).astype(np.uint8))
            upright.thumbnail((THUMBNAIL_PIXELS, THUMBNAIL_PIXELS), Image.Resampling.BILINEAR, reducing_gap=2.0)
            transparent = "transparency" in upright.info or "A" in upright.mode
            content = io.BytesIO()
            upright.convert("RGBA" if transparent else "RGB").save(content, "WEBP", quality=75)
            return content.getvalue()
    return None


class _FileStream(StreamingResponse):
    """A range of an open file, which is closed however the response ends.

    If the file turns out to be shorter, or can no longer be read, the response stays incomplete. The server then closes
    the connection, so that no client takes a part for the whole.
    """

    def __init__(self, file: BinaryIO, length: int, **options: Any) -> None:
        super().__init__(self._chunks(), **options)
        self.file, self.remaining = file, length

    def _chunks(self) -> Iterator[bytes]:
        with suppress(OSError):
            while self.remaining > 0 and (chunk := self.file.read(min(self.remaining, CHUNK_BYTES))):
                self.remaining -= len(chunk)
                yield chunk

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_unless_incomplete(message: Message) -> None:
            is_end = message["type"] == "http.response.body" and not message.get("more_body", False)
            if not (is_end and self.remaining):
                await send(message)

        try:
            await super().__call__(scope, receive, send_unless_incomplete)
        finally:
            self.file.close()


def _file_response(file: BinaryIO, media_type: str, request: Request) -> Response:
    """Return the file, or the one range that is requested, or 304 if the browser's copy is current."""
    file_status = os.fstat(file.fileno())
    size, tag = file_status.st_size, f'"{file_status.st_mtime_ns:x}-{file_status.st_size:x}"'
    headers = CACHE_HEADERS | {"Accept-Ranges": "bytes", "ETag": tag}
    # The header may list several tags, or a weak one, as sent on by proxies that compress.
    if tag in request.headers.get("if-none-match", ""):
        file.close()
        return Response(status_code=304, headers=headers)
    status, first, last = 200, 0, size - 1
    # A request for several ranges does not match, and gets the whole file.
    requested = re.fullmatch(r"bytes=(\d{0,18})-(\d{0,18})", request.headers.get("range", ""))
    if requested and any(requested.groups()) and request.headers.get("if-range", tag) == tag:
        start, end = requested.groups()
        first = int(start) if start else max(0, size - int(end))
        last = min(int(end), last) if start and end else last
        if first > last:
            file.close()
            return Response(status_code=416, headers={"Content-Range": f"bytes */{size}"})
        status, headers["Content-Range"] = 206, f"bytes {first}-{last}/{size}"
    file.seek(first)
    headers["Content-Length"] = str(last - first + 1)
    return _FileStream(file, last - first + 1, status_code=status, media_type=media_type, headers=headers)
