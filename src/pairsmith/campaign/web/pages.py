"""The pages that people open in a browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, FastAPI, HTTPException, Query, Request
from fastapi import Path as InPath
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from fastapi.templating import Jinja2Templates

from pairsmith.campaign.answering import goals
from pairsmith.campaign.markdown import render
from pairsmith.campaign.people import enrolment
from pairsmith.campaign.people import invites as people
from pairsmith.campaign.reporting import dashboard
from pairsmith.campaign.reporting.ranking import Rankings
from pairsmith.campaign.store import wordings
from pairsmith.campaign.store.store import Store
from pairsmith.campaign.web import languages
from pairsmith.campaign.web.access import Access
from pairsmith.campaign.web.api import COMMENT, INSTRUCTIONS, QUESTION, Question, which

Language = Annotated[str | None, Query(max_length=16)]
Token = Annotated[str, InPath(max_length=64)]
TEMPLATES = Jinja2Templates(directory=Path(__file__).parent / "templates")


def pages(store: Store, access: Access, app: FastAPI) -> APIRouter:
    """The label page, the dashboard, the description of the API, and the links of invites."""
    router = APIRouter(include_in_schema=False)

    @router.get("/")
    def label_page(request: Request, lang: Language = None) -> HTMLResponse:
        access.person(request, "rater")
        return TEMPLATES.TemplateResponse(request, "label.html", _label(store, _language(request, lang)))

    @router.get("/dashboard")
    def dashboard_page(request: Request, question: Question = 1) -> HTMLResponse:
        access.person(request, "organiser")
        may_label = access.local or access.is_known(request)
        return TEMPLATES.TemplateResponse(
            request, "dashboard.html", _dashboard(store, question) | {"may_label": may_label}
        )

    @router.get("/api")
    def api_page(request: Request) -> HTMLResponse:
        access.anybody(request)
        return TEMPLATES.TemplateResponse(request, "api.html", {"schema": app.openapi()})

    @router.get("/api/openapi.json")
    def contract(request: Request) -> JSONResponse:
        access.anybody(request)
        return JSONResponse(app.openapi())

    @router.get("/join/{token}")
    def join(request: Request, token: Token, lang: Language = None) -> Response:
        return access.enter(request, token, "rater", _onward(lang))

    @router.get("/enrol/{token}")
    def enrol(request: Request, token: Token, lang: Language = None) -> Response:
        if access.is_known(request):  # who opens the link again takes no second place
            return RedirectResponse(_onward(lang), 303)
        places = enrolment.places_left(store, token)
        if places is None:
            raise HTTPException(401, enrolment.VOID)
        shown = _enrol(store, _language(request, lang), {"link": token, "onward": _onward(lang)})
        return TEMPLATES.TemplateResponse(request, "enrol.html", shown | {"places": places})

    @router.get("/organise/{token}")
    def organise(request: Request, token: Token) -> Response:
        return access.enter(request, token, "organiser", "/dashboard")

    return router


def _language(request: Request, asked: str | None) -> str:
    return languages.choose(asked, request.headers.get("accept-language", ""))


def _onward(lang: str | None) -> str:
    """The label page, in the language that a link asks for."""
    return f"/?lang={lang}" if lang in languages.WORDS else "/"


def _label(store: Store, language: str) -> dict[str, Any]:
    """What the label page shows; its script finds `setup` on it."""
    words, settings, wording = languages.WORDS[language], store.settings, wordings.current(store)
    return {
        "settings": settings,
        "question": wording.question,
        "questions": len(settings.questions),
        "instructions": render(wording.instructions),
        "longest_comment": COMMENT,
        "language": language,
        "languages": {name: words["language"] for name, words in languages.WORDS.items()},
        "words": words,
        "setup": {
            "words": words,
            "viewing": settings.viewing_seconds,
            "lease": settings.lease_seconds,
            "questions": len(settings.questions),
            "graded": settings.graded,
            "instructions": wording.instructions.strip() != "",
            "wording": wording.number,
        },
    }


def _dashboard(store: Store, question: int) -> dict[str, Any]:
    return {
        "wording": wordings.current(store, which(store, question)),
        "questions": wordings.questions(store),
        "asked": question,
        "longest": {"question": QUESTION, "instructions": INSTRUCTIONS},
        "figures": dashboard.FIGURES,
        "learned": dashboard.LEARNED,
        "people_columns": dashboard.PEOPLE_COLUMNS,
        "actions": goals.ACTIONS,
        "judge_columns": dashboard.JUDGE_COLUMNS,
        "groups": Rankings(store).groups() if store.settings.grouped else [],
    }


def _enrol(store: Store, language: str, setup: dict[str, str]) -> dict[str, Any]:
    words = languages.WORDS[language]
    return {
        "question": " · ".join(wordings.questions(store)),
        "longest": people.MAX_NAME_LENGTH,
        "language": language,
        "words": words,
        "setup": {"words": words, **setup},
    }
