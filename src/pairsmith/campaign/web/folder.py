"""The campaigns of a folder: each on a port of its own, and a page that lists them, on this machine only.

One server listens on all of these ports. The port of a request says which campaign it is for. So the pages of a
campaign are the same as when it is served alone, and none can reach another: to browsers they are different sites.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse
from fastapi.staticfiles import StaticFiles
from starlette.types import ASGIApp, Receive, Scope, Send

from pairsmith.campaign.reporting import dashboard
from pairsmith.campaign.store import wordings
from pairsmith.campaign.store.database import CampaignError
from pairsmith.campaign.store.schema import answers, campaign
from pairsmith.campaign.store.store import Store
from pairsmith.campaign.web.app import limit_threads
from pairsmith.campaign.web.gate import Gate
from pairsmith.campaign.web.pages import TEMPLATES


@dataclass(frozen=True)
class Listed:
    """A campaign of the folder: opened and served on a port, or the problem that prevents it."""

    name: str
    store: Store | None = None
    port: int | None = None
    problem: str = ""


class ByPort:
    """An ASGI app that passes each request to the app of its port, and reports the first request to each."""

    def __init__(self, listing: ASGIApp, apps: Mapping[int, ASGIApp], first_asked: Callable[[int], None]) -> None:
        self.listing, self.apps, self.first_asked = listing, apps, first_asked
        self.asked: set[int] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        port = scope["server"][1] if scope["type"] == "http" and scope.get("server") else 0
        app = self.apps.get(port, self.listing)
        if port in self.apps and port not in self.asked:
            self.asked.add(port)
            self.first_asked(port)
        await app(scope, receive, send)


def create_listing(folder: Path, campaigns: Sequence[Listed]) -> FastAPI:
    """Create the app of the page that lists these campaigns."""
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None, lifespan=limit_threads)
    app.add_middleware(Gate, local=True)
    app.mount("/static", StaticFiles(directory=Path(__file__).parent / "static"), name="static")

    @app.get("/")
    def listing(request: Request) -> HTMLResponse:
        context = {
            "folder": folder.resolve().name,
            "campaigns": [_describe(listed) for listed in campaigns],
            "host": request.url.hostname,
        }
        return TEMPLATES.TemplateResponse(request, "campaigns.html", context)

    return app


def _describe(listed: Listed) -> dict[str, Any]:
    """Return a campaign's row of the page, as of now."""
    row = {"name": listed.name, "port": listed.port, "problem": listed.problem}
    if listed.store is None:
        return row
    try:
        with listed.store.reading() as connection:
            state = connection.execute(sa.select(campaign.c.state)).scalar_one()
            last = connection.execute(sa.select(sa.func.max(answers.c.at))).scalar()
        count = dashboard.count(listed.store)["answers"]
        question = " · ".join(wordings.questions(listed.store))
    except CampaignError as error:
        return row | {"problem": str(error), "port": None}
    return row | {"question": question, "state": state, "answers": count, "last": last}
