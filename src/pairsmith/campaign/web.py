"""The pages and the API of a campaign. Handlers hold no logic: they check who asks and pass it to the store."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Literal

import nh3
from anyio.to_thread import current_default_thread_limiter
from fastapi import FastAPI, HTTPException, Query, Request
from fastapi import Path as InPath
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse, Response, StreamingResponse
from fastapi.staticfiles import StaticFiles
from fastapi.templating import Jinja2Templates
from markdown_it import MarkdownIt
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException as AnyHTTPException
from starlette.types import Receive, Scope, Send

from pairsmith.campaign import printable
from pairsmith.campaign.database import CampaignError
from pairsmith.campaign.gate import Gate
from pairsmith.campaign.media import MEDIA, MediaError, ending, open_file
from pairsmith.campaign.store import EMPTY_REPORT, Lease, Refused, Store

HERE = Path(__file__).parent
COOKIES = {"labeller": "pairsmith", "organiser": "pairsmith-organiser"}
MONTH = 30 * 24 * 3600
ENDS = 15  # items shown from each end of the ranking
PIECE = 1 << 18  # bytes of a file that are read at once

Token = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")]


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Want(Strict):
    holding: list[Token] = Field([], max_length=8, description="Leases you have already: another one is wanted.")


class Answer(Strict):
    lease: Token = Field(description="The pair, as it was given to you.")
    choice: Literal["left", "right", "tie", "skip"]
    seconds: float | None = Field(None, ge=0, le=86400, allow_inf_nan=False, description="How long it took.")


class Undo(Strict):
    lease: Token = Field(description="The lease that was answered last; progress names it.")


class Part(BaseModel):
    """A piece of an item: text, html (of Markdown, sanitised), or the url of an image or a sound."""

    kind: Literal["text", "markdown", "image", "audio"]
    text: str | None = None
    html: str | None = None
    url: str | None = None


class Pair(BaseModel):
    lease: str = Field(description="Names this pair, on these sides, shown to you; the answer needs it.")
    left: list[Part]
    right: list[Part]


class Progress(BaseModel):
    answers: int = Field(description="Answers of everybody.")
    yours: int
    wanted: int = Field(description="Answers still to be given to the pairs planned so far.")
    undo: str | None = Field(description="The lease whose answer you may take back.")


class Next(BaseModel):
    pair: Pair | None = Field(description="null: no pair is waiting for you now; ask again later.")
    progress: Progress


class Taken(BaseModel):
    counted: bool = Field(description="false: this lease was answered before; the first answer stands.")
    progress: Progress


class Ranked(BaseModel):
    rank: int
    id: str
    score: float
    low: float = Field(description="The ends of the 90% interval of the score.")
    high: float


class Ranking(BaseModel):
    answers: int = Field(description="How many answers it is based on.")
    items: list[Ranked]


class Problem(BaseModel):
    detail: str


ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": Problem, "description": text}
    for status, text in {
        400: "The request is not for this server, or no HTTP as it should be.",
        401: "No invite, or one that is not good any more.",
        403: "A request from another site.",
        404: "No such pair was shown to you.",
        409: "Too late, or not the last answer.",
        413: "The body is too large.",
        422: "Not what is expected here.",
        503: "The database cannot be used now; the answer was not taken.",
    }.items()
}


def create_app(store: Store, local: bool = True, insecure: bool = False) -> FastAPI:
    """The app of this campaign. `local`: on this machine only, where nobody needs an invite.

    Elsewhere browsers send the cookie of an invite through TLS only, unless `insecure`.
    """
    app = FastAPI(
        title="pairsmith campaign",
        version=version("pairsmith"),
        description="Ask for a pair, answer it, ask for the next. Where invites are needed, send the token of the link"
        ' in the header "Authorization: Bearer TOKEN".',
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        lifespan=_few_threads,
    )
    app.add_middleware(Gate, local=local)
    app.mount("/static", StaticFiles(directory=HERE / "static"), name="static")
    pages = Jinja2Templates(directory=HERE / "templates")

    def who(request: Request, role: str) -> int:
        """The person who asks, or 401. Handlers call it: as a dependency it would wait for a thread of its own."""
        scheme, _, bearer = request.headers.get("authorization", "").partition(" ")
        token = bearer if scheme.lower() == "bearer" else request.cookies.get(COOKIES[role], "")
        if token:
            person = store.person(token, role)
            if person is not None:
                return person
            if bearer:
                raise HTTPException(401, "this invite is not good (any more); ask for a new one")
        if local:
            return store.local
        raise HTTPException(401, "this needs an invite link; ask whoever runs the campaign")

    def either(request: Request) -> None:
        """Anybody who has an invite, or 401."""
        try:
            who(request, "organiser")
        except HTTPException:
            who(request, "labeller")

    def shown(lease: Lease | None) -> Pair | None:
        if lease is None:
            return None
        left, right = (
            [_part(row, at, kind, value) for at, (kind, value) in enumerate(store.parts(row))]
            for row in (lease.left, lease.right)
        )
        return Pair(lease=lease.token, left=left, right=right)

    def progress_of(person: int) -> Progress:
        return Progress(**store.progress(person))

    @app.post("/api/next", tags=["labelling"], responses=ERRORS)
    def next_pair(want: Want, request: Request) -> Next:
        """A pair to answer. It is yours for some minutes; loaded again, the page gets the same one."""
        person = who(request, "labeller")
        return Next(pair=shown(store.next(person, want.holding)), progress=progress_of(person))

    @app.post("/api/answer", tags=["labelling"], responses=ERRORS)
    def answer(given: Answer, request: Request) -> Taken:
        """Answer a pair that was shown to you. On disk when this returns; sent twice, it counts once."""
        person = who(request, "labeller")
        counted = store.answer(person, given.lease, given.choice, given.seconds)
        return Taken(counted=counted, progress=progress_of(person))

    @app.post("/api/undo", tags=["labelling"], responses=ERRORS)
    def undo(last: Undo, request: Request) -> Next:
        """Take back your last answer, or skip, and get its pair again."""
        person = who(request, "labeller")
        return Next(pair=shown(store.undo(person, last.lease)), progress=progress_of(person))

    @app.get("/api/progress", tags=["labelling"], responses=ERRORS)
    def progress(request: Request) -> Progress:
        """How far the campaign is, and you."""
        return progress_of(who(request, "labeller"))

    @app.get("/api/ranking", tags=["organising"], responses=ERRORS)
    def ranking(
        request: Request,
        offset: Annotated[int, Query(ge=0, le=1_000_000_000)] = 0,
        limit: Annotated[int, Query(ge=1, le=10_000)] = 100,
    ) -> Ranking:
        """The items, best first, as of the last report."""
        who(request, "organiser")
        report = store.report("report") or EMPTY_REPORT
        return Ranking(answers=report["answers"], items=_ranked(report["ranking"][offset : offset + limit], offset))

    @app.get("/api/dashboard", tags=["organising"], responses=ERRORS)
    def figures(request: Request) -> dict[str, Any]:
        """All that the dashboard shows; of the ranking, both ends."""
        who(request, "organiser")
        report = {**(store.report("report") or EMPTY_REPORT)}
        ranks = _ranked(report.pop("ranking"))
        kept = ranks if len(ranks) <= 2 * ENDS else ranks[:ENDS] + ranks[-ENDS:]
        return {**store.tally(), "problem": store.report("problem") or "", "report": report,
                "items": len(ranks), "ranking": kept}  # fmt: skip

    @app.get("/", include_in_schema=False)
    def label_page(request: Request) -> HTMLResponse:
        who(request, "labeller")
        settings = store.settings
        return pages.TemplateResponse(
            request,
            "label.html",
            {
                "question": settings["question"],
                "ties": settings["ties"],
                "instructions": render(settings["instructions"]),
            },
        )

    @app.get("/dashboard", include_in_schema=False)
    def dashboard_page(request: Request) -> HTMLResponse:
        who(request, "organiser")
        return pages.TemplateResponse(request, "dashboard.html", {"question": store.settings["question"]})

    @app.get("/api", include_in_schema=False)
    def api_page(request: Request) -> HTMLResponse:
        either(request)
        return pages.TemplateResponse(request, "api.html", {"schema": app.openapi()})

    @app.get("/api/openapi.json", include_in_schema=False)
    def contract(request: Request) -> JSONResponse:
        either(request)
        return JSONResponse(app.openapi())

    @app.get("/join/{token}", include_in_schema=False)
    def join(request: Request, token: Annotated[str, InPath(max_length=64)]) -> Response:
        return enter(request, token, "labeller", "/")

    @app.get("/organise/{token}", include_in_schema=False)
    def organise(request: Request, token: Annotated[str, InPath(max_length=64)]) -> Response:
        return enter(request, token, "organiser", "/dashboard")

    def enter(request: Request, token: str, role: str, to: str) -> Response:
        if store.person(token, role) is None:
            raise HTTPException(401, "this invite is not good (any more); ask for a new one")
        response = RedirectResponse(to, 303)
        secure = request.url.scheme == "https" or not (local or insecure)
        response.set_cookie(COOKIES[role], token, max_age=MONTH, httponly=True, samesite="lax", secure=secure)
        return response

    @app.get("/media/{row}/{part}", include_in_schema=False)
    def media(
        request: Request, row: Annotated[int, InPath(ge=0, le=2**31 - 1)], part: Annotated[int, InPath(ge=0, le=1000)]
    ) -> Response:
        """A file that the campaign lists, by the number of its item; no path ever comes from outside.

        Labellers get what was shown to them, organisers everything.
        """
        try:
            who(request, "organiser")
        except HTTPException:
            if not store.was_shown(who(request, "labeller"), row):
                raise HTTPException(404, "this item was not shown to you") from None
        parts = store.parts(row)
        if part >= len(parts) or parts[part][0] not in MEDIA:
            raise HTTPException(404, "there is no such file in this campaign")
        kind, path = parts[part]
        try:
            file = open_file(store.folder or "", path, kind)
        except MediaError as error:
            raise HTTPException(404, f"the file of this item {error}") from None
        return _file(file, MEDIA[kind][ending(path)], request)

    def failed(request: Request, status: int, detail: str, headers: Any = None) -> Response:
        if request.url.path.startswith(("/api/", "/media/")):
            return JSONResponse({"detail": detail}, status, headers)
        page = {"status": status, "detail": detail[:1].upper() + detail[1:]}
        return pages.TemplateResponse(request, "error.html", page, status, headers)

    @app.exception_handler(AnyHTTPException)
    async def told(request: Request, error: AnyHTTPException) -> Response:
        return failed(request, error.status_code, str(error.detail), error.headers)

    @app.exception_handler(RequestValidationError)
    async def wrong(request: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        where = ".".join(str(step) for step in first["loc"])
        return failed(request, 422, f"{where}: {first['msg']}")

    @app.exception_handler(CampaignError)
    async def refused(request: Request, error: CampaignError) -> Response:
        if isinstance(error, Refused):
            return failed(request, error.status, str(error))
        # It names the database, which is none of a labeller's business.
        print(printable(f"Error: {error}"), file=sys.stderr)
        return failed(request, 503, "the database cannot be used now; whoever runs the campaign sees why")

    return app


@asynccontextmanager
async def _few_threads(_app: FastAPI) -> AsyncIterator[None]:
    """Handlers run on a few threads: more would only wait for the interpreter and for the one writer."""
    current_default_thread_limiter().total_tokens = 6
    yield


def _part(row: int, at: int, kind: str, value: str) -> Part:
    if kind in MEDIA:
        return Part.model_validate({"kind": kind, "url": f"/media/{row}/{at}"})
    if kind == "markdown":
        return Part(kind="markdown", html=render(value))
    return Part(kind="text", text=value)


class _Streamed(StreamingResponse):
    """A piece of an open file, which is closed however the response ends."""

    def __init__(self, file: BinaryIO, length: int, **options: Any) -> None:
        super().__init__(self._pieces(length), **options)
        self.file = file

    def _pieces(self, length: int) -> Iterator[bytes]:
        while length > 0 and (piece := self.file.read(min(length, PIECE))):
            length -= len(piece)
            yield piece

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self.file.close()


def _file(file: BinaryIO, media_type: str, request: Request) -> Response:
    """This file, or the one range of it that is asked for, or nothing where it is known."""
    found = os.fstat(file.fileno())
    size, tag = found.st_size, f'"{found.st_mtime_ns:x}-{found.st_size:x}"'
    headers = {
        "Accept-Ranges": "bytes",
        "Cache-Control": "private, max-age=3600",
        "Content-Security-Policy": "default-src 'none'; sandbox",
        "ETag": tag,
    }
    if request.headers.get("if-none-match") == tag:
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


_TAGS = {"p", "br", "hr", "h1", "h2", "h3", "h4", "h5", "h6", "strong", "em", "s", "code", "pre", "blockquote", "ul",
         "ol", "li", "a", "table", "thead", "tbody", "tr", "th", "td"}  # fmt: skip


@lru_cache(2048)
def render(markdown: str) -> str:
    """Markdown as HTML that can do no harm: no HTML of its own, no pictures from elsewhere, links only to the web."""
    html = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"]).render(markdown)
    return nh3.clean(
        html,
        tags=_TAGS,
        attributes={"a": {"href", "title"}, "ol": {"start"}},
        url_schemes={"http", "https", "mailto"},
    )


def _ranked(rows: list[list[Any]], offset: int = 0) -> list[Ranked]:
    return [
        Ranked(rank=offset + at, id=row[0], score=row[1], low=row[2], high=row[3]) for at, row in enumerate(rows, 1)
    ]
