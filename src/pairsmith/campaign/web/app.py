"""The app of a campaign: its pages and its API put together, and how errors are told."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

from anyio.to_thread import current_default_thread_limiter
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException

from pairsmith.campaign.store.database import CampaignError, Refused
from pairsmith.campaign.store.store import Store
from pairsmith.campaign.web import api
from pairsmith.campaign.web.access import Access
from pairsmith.campaign.web.correcting import correcting
from pairsmith.campaign.web.downloads import downloads
from pairsmith.campaign.web.gate import Gate
from pairsmith.campaign.web.media import media
from pairsmith.campaign.web.pages import TEMPLATES, pages
from pairsmith.data.names import printable


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
        lifespan=few_threads,
    )
    app.add_middleware(Gate, local=local)
    app.mount("/static", StaticFiles(directory=Path(__file__).parent / "static"), name="static")
    access = Access(store, local, insecure)
    for router in (
        api.rating(store, access),
        api.organising(store, access),
        correcting(store, access),
        api.enrolling(store, access),
        pages(store, access, app),
        media(store, access),
        downloads(store, access),
    ):
        app.include_router(router)
    _tell_errors(app)
    return app


@asynccontextmanager
async def few_threads(_app: FastAPI) -> AsyncIterator[None]:
    """Handlers run on a few threads: more would only wait for the interpreter and for the one writer."""
    current_default_thread_limiter().total_tokens = 6
    yield


def _tell_errors(app: FastAPI) -> None:
    """Errors are one sentence: as JSON to programs, on a page to people."""

    @app.exception_handler(HTTPException)
    async def told(request: Request, error: HTTPException) -> Response:
        return _failed(request, error.status_code, str(error.detail), error.headers)

    @app.exception_handler(RequestValidationError)
    async def wrong(request: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        where = ".".join(str(step) for step in first["loc"])
        return _failed(request, 422, f"{where}: {first['msg']}")

    @app.exception_handler(CampaignError)
    async def refused(request: Request, error: CampaignError) -> Response:
        if isinstance(error, Refused):
            return _failed(request, error.status, str(error))
        # It names the database, which is none of a rater's business.
        print(printable(f"Error: {error}"), file=sys.stderr)
        return _failed(request, 503, "the database cannot be used now; whoever runs the campaign sees why")


def _failed(request: Request, status: int, detail: str, headers: Any = None) -> Response:
    if request.url.path.startswith(("/api/", "/media/")):
        return JSONResponse({"detail": detail}, status, headers)
    page = {"status": status, "detail": detail[:1].upper() + detail[1:]}
    return TEMPLATES.TemplateResponse(request, "error.html", page, status, headers)
