"""The images and sounds of items: whole, or the one range that is asked for."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
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
from pairsmith.campaign.web import thumbnails
from pairsmith.campaign.web.access import Access

PIECE = 1 << 18  # bytes of a file that are read at once
SMALL_KEPT = 8192  # small pictures in memory, of some 3 kB each; browsers keep them too
CACHED = {"Cache-Control": "private, max-age=3600", "Content-Security-Policy": "default-src 'none'; sandbox"}

Row = Annotated[int, InPath(ge=0, le=2**31 - 1)]
Part = Annotated[int, InPath(ge=0, le=1000)]


def media(store: Store, access: Access) -> APIRouter:
    """The files that the campaign lists."""
    router = APIRouter(include_in_schema=False)
    smaller = lru_cache(SMALL_KEPT)(thumbnails.small)  # by the file and when it was changed
    # Whoever scrolls through thousands of pictures must not take the threads that raters wait for.
    few = CapacityLimiter(2)

    def opened(row: int, part: int) -> tuple[BinaryIO, str]:
        """The file, by the number of its item, and its media type; no path ever comes from outside."""
        parts = store.parts(row)
        if part >= len(parts) or parts[part][0] not in MEDIA:
            raise HTTPException(404, "there is no such file in this campaign")
        kind, path = parts[part]
        try:
            return open_file(store.settings.folder or "", path, kind), MEDIA[kind][ending(path)]
        except MediaError as error:
            raise HTTPException(404, f"the file of this item {error}") from None

    @router.get("/media/{row}/{part}")
    def file(request: Request, row: Row, part: Part) -> Response:
        """A file that the campaign lists. Raters get what was shown to them, organisers everything."""
        try:
            access.person(request, "organiser")
        except HTTPException:
            if not leases.was_shown(store, access.person(request, "rater"), row):
                raise HTTPException(404, "this item was not shown to you") from None
        return _respond(*opened(row, part), request)

    @router.get("/media/{row}/{part}/small")
    async def small(request: Request, row: Row, part: Part) -> Response:
        """A small picture of it, for the ranking; the file itself where none can be made. For organisers only."""

        def find() -> Response:
            access.person(request, "organiser")
            file, media_type = opened(row, part)
            found = os.fstat(file.fileno())
            made = None
            if media_type in thumbnails.READABLE:
                made = smaller(thumbnails.Picture(file, row, part, found.st_mtime_ns, found.st_size))
            if made is None:
                file.seek(0)
                return _respond(file, media_type, request)
            file.close()
            return Response(made, media_type=thumbnails.MADE, headers=CACHED)

        return await run_sync(find, limiter=few)

    return router


class _Streamed(StreamingResponse):
    """A piece of an open file, which is closed however the response ends.

    Where the file turns out to be shorter, or cannot be read any more, the response stays unfinished: the server then
    closes the connection, and nobody takes what was sent for all of it.
    """

    def __init__(self, file: BinaryIO, length: int, **options: Any) -> None:
        super().__init__(self._pieces(), **options)
        self.file, self.missing = file, length

    def _pieces(self) -> Iterator[bytes]:
        with suppress(OSError):
            while self.missing > 0 and (piece := self.file.read(min(self.missing, PIECE))):
                self.missing -= len(piece)
                yield piece

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_unless_cut_short(message: Message) -> None:
            ends = message["type"] == "http.response.body" and not message.get("more_body", False)
            if not (ends and self.missing):
                await send(message)

        try:
            await super().__call__(scope, receive, send_unless_cut_short)
        finally:
            self.file.close()


def _respond(file: BinaryIO, media_type: str, request: Request) -> Response:
    """This file, or the one range of it that is asked for, or nothing where the browser has it already."""
    found = os.fstat(file.fileno())
    size, tag = found.st_size, f'"{found.st_mtime_ns:x}-{found.st_size:x}"'
    headers = CACHED | {"Accept-Ranges": "bytes", "ETag": tag}
    if tag in request.headers.get("if-none-match", ""):  # among others, or weak, as proxies that compress make it
        file.close()
        return Response(status_code=304, headers=headers)
    status, first, last = 200, 0, size - 1
    wanted = re.fullmatch(r"bytes=(\d{0,18})-(\d{0,18})", request.headers.get("range", ""))  # several: all of it
    if wanted and any(wanted.groups()) and request.headers.get("if-range", tag) == tag:
        begin, end = wanted.groups()
        first = int(begin) if begin else max(0, size - int(end))
        last = min(int(end), last) if begin and end else last
        if first > last:
            file.close()
            return Response(status_code=416, headers={"Content-Range": f"bytes */{size}"})
        status, headers["Content-Range"] = 206, f"bytes {first}-{last}/{size}"
    file.seek(first)
    headers["Content-Length"] = str(last - first + 1)
    return _Streamed(file, last - first + 1, status_code=status, media_type=media_type, headers=headers)
