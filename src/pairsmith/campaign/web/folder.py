"""The campaigns of a folder: each at a port of its own, and a page that lists them, on this machine only.

One server listens at all of these ports, and the port that a request came to says which campaign it is about. So the
pages of a campaign are what they are when it is served alone, and none can reach another: to browsers they are other
sites.
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
from pairsmith.campaign.web.app import few_threads
from pairsmith.campaign.web.correcting import when
from pairsmith.campaign.web.gate import Gate
from pairsmith.campaign.web.pages import TEMPLATES


@dataclass(frozen=True)
class Listed:
    """A campaign of the folder: opened and served at this port, or why it is not."""

    name: str
    store: Store | None = None
    port: int | None = None
    problem: str = ""


class ByPort:
    """ASGI: passes each request on to the app of the port that it came to, and says so the first time."""

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
    """The app with the page that lists them."""
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None, lifespan=few_threads)
    app.add_middleware(Gate, local=True)
    app.mount("/static", StaticFiles(directory=Path(__file__).parent / "static"), name="static")

    @app.get("/")
    def listing(request: Request) -> HTMLResponse:
        shown = {"folder": folder.resolve().name, "campaigns": [_row(found) for found in campaigns], "when": when,
                 "host": request.url.hostname}  # fmt: skip
        return TEMPLATES.TemplateResponse(request, "campaigns.html", shown)

    return app


def _row(found: Listed) -> dict[str, Any]:
    """What the page says of a campaign, as of now."""
    row = {"name": found.name, "port": found.port, "problem": found.problem}
    if found.store is None:
        return row
    try:
        with found.store.reading() as connection:
            state = connection.execute(sa.select(campaign.c.state)).scalar_one()
            last = connection.execute(sa.select(sa.func.max(answers.c.at))).scalar()
        counted = dashboard.count(found.store)["answers"]
        question = " · ".join(wordings.questions(found.store))
    except CampaignError as error:
        return row | {"problem": str(error), "port": None}
    return row | {"question": question, "state": state, "answers": counted, "last": last}
