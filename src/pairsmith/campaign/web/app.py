"""The app of a campaign: all routes put together, and its error messages."""

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
from pairsmith.campaign.web import api, pages
from pairsmith.campaign.web.access import Access
from pairsmith.campaign.web.gate import Gate
from pairsmith.campaign.web.media import media
from pairsmith.data.names import printable

MAX_HANDLER_THREADS = 6  # more would only wait for the interpreter and for the database's one writer


def create_app(store: Store, local: bool = True, insecure: bool = False) -> FastAPI:
    """Create the app of a campaign.

    With `local` it is for this machine only, and nobody needs an invite. Otherwise browsers send the cookie of an
    invite over TLS only, unless `insecure`.
    """
    app = FastAPI(
        title="pairsmith campaign",
        version=version("pairsmith"),
        description="Ask for a pair, answer it, ask for the next. If the campaign needs invites, send the token of your"
        ' link in the header "Authorization: Bearer TOKEN".',
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        lifespan=limit_threads,
    )
    app.add_middleware(Gate, local=local)
    app.mount("/static", StaticFiles(directory=Path(__file__).parent / "static"), name="static")
    access = Access(store, local, insecure)
    for router in (
        api.rating(store, access),
        api.organising(store, access),
        api.enrolling(store, access),
        pages.rater_pages(store, access),
        pages.organiser_pages(store, access, app),
        media(store, access),
    ):
        app.include_router(router)
    _handle_errors(app)
    return app


@asynccontextmanager
async def limit_threads(_app: FastAPI) -> AsyncIterator[None]:
    """Run the handlers on a few threads while the app is served."""
    current_default_thread_limiter().total_tokens = MAX_HANDLER_THREADS
    yield


def _handle_errors(app: FastAPI) -> None:
    """Answer every error with one sentence: as JSON for programs, on a page for people."""

    @app.exception_handler(HTTPException)
    async def handle_http_error(request: Request, error: HTTPException) -> Response:
        return _error_response(request, error.status_code, str(error.detail), error.headers)

    @app.exception_handler(RequestValidationError)
    async def handle_invalid_request(request: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        location = ".".join(str(step) for step in first["loc"])
        return _error_response(request, 422, f"{location}: {first['msg']}")

    @app.exception_handler(CampaignError)
    async def handle_campaign_error(request: Request, error: CampaignError) -> Response:
        if isinstance(error, Refused):
            return _error_response(request, error.status, str(error))
        # The message names the database, which raters should not see.
        print(printable(f"Error: {error}"), file=sys.stderr)
        return _error_response(request, 503, "the database cannot be used now; the terminal of the server says why")


def _error_response(request: Request, status: int, detail: str, headers: Any = None) -> Response:
    if request.url.path.startswith(("/api/", "/media/")):
        return JSONResponse({"detail": detail}, status, headers)
    context = {"status": status, "detail": detail[:1].upper() + detail[1:]}
    return pages.TEMPLATES.TemplateResponse(request, "error.html", context, status, headers)
