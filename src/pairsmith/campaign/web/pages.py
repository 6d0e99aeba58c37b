"""The pages that people open in a browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, FastAPI, HTTPException, Query, Request
from fastapi import Path as InPath
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from fastapi.templating import Jinja2Templates

from pairsmith.campaign import dashboard, enrolment, goals, people, wordings
from pairsmith.campaign.ranking import Rankings
from pairsmith.campaign.store import Store
from pairsmith.campaign.web import languages
from pairsmith.campaign.web.access import Access
from pairsmith.campaign.web.api import COMMENT, INSTRUCTIONS, QUESTION
from pairsmith.campaign.web.markdown import render

Language = Annotated[str | None, Query(max_length=16)]
TEMPLATES = Jinja2Templates(directory=Path(__file__).parent / "templates")


def pages(store: Store, access: Access, app: FastAPI) -> APIRouter:
    """The label page, the dashboard, the description of the API, and the links of invites."""
    router = APIRouter(include_in_schema=False)

    @router.get("/")
    def label_page(request: Request, lang: Language = None) -> HTMLResponse:
        access.person(request, "labeller")
        language = languages.choose(lang, request.headers.get("accept-language", ""))
        words, settings, wording = languages.WORDS[language], store.settings, wordings.current(store)
        shown = {
            "settings": settings,
            "question": wording.question,
            "instructions": render(wording.instructions),
            "longest_comment": COMMENT,
            "language": language,
            "languages": {name: words["language"] for name, words in languages.WORDS.items()},
            "words": words,
            "setup": {
                "words": words,
                "viewing": settings.viewing_seconds,
                "lease": settings.lease_seconds,
                "graded": settings.graded,
                "instructions": wording.instructions.strip() != "",
                "wording": wording.number,
            },
        }
        return TEMPLATES.TemplateResponse(request, "label.html", shown)

    @router.get("/dashboard")
    def dashboard_page(request: Request) -> HTMLResponse:
        access.person(request, "organiser")
        shown = {
            "wording": wordings.current(store),
            "longest": {"question": QUESTION, "instructions": INSTRUCTIONS},
            "figures": dashboard.FIGURES,
            "learned": dashboard.LEARNED,
            "people_columns": dashboard.PEOPLE_COLUMNS,
            "actions": goals.ACTIONS,
            "judge_columns": dashboard.JUDGE_COLUMNS,
            "groups": Rankings(store).groups() if store.settings.grouped else [],
        }
        return TEMPLATES.TemplateResponse(request, "dashboard.html", shown)

    @router.get("/api")
    def api_page(request: Request) -> HTMLResponse:
        access.anybody(request)
        return TEMPLATES.TemplateResponse(request, "api.html", {"schema": app.openapi()})

    @router.get("/api/openapi.json")
    def contract(request: Request) -> JSONResponse:
        access.anybody(request)
        return JSONResponse(app.openapi())

    @router.get("/join/{token}")
    def join(request: Request, token: Annotated[str, InPath(max_length=64)], lang: Language = None) -> Response:
        return access.enter(request, token, "labeller", f"/?lang={lang}" if lang in languages.WORDS else "/")

    @router.get("/enrol/{token}")
    def enrol(request: Request, token: Annotated[str, InPath(max_length=64)], lang: Language = None) -> Response:
        onward = f"/?lang={lang}" if lang in languages.WORDS else "/"
        if access.is_known(request):  # who opens the link again takes no second place
            return RedirectResponse(onward, 303)
        places = enrolment.places_left(store, token)
        if places is None:
            raise HTTPException(401, enrolment.VOID)
        language = languages.choose(lang, request.headers.get("accept-language", ""))
        words = languages.WORDS[language]
        shown = {
            "question": wordings.current(store).question,
            "places": places,
            "longest": people.LONGEST,
            "language": language,
            "words": words,
            "setup": {"words": words, "link": token, "onward": onward},
        }
        return TEMPLATES.TemplateResponse(request, "enrol.html", shown)

    @router.get("/organise/{token}")
    def organise(request: Request, token: Annotated[str, InPath(max_length=64)]) -> Response:
        return access.enter(request, token, "organiser", "/dashboard")

    return router
