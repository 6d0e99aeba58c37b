"""The pages that people open in a browser, the languages of the raters' pages, and the organisers' downloads."""

from __future__ import annotations

import io
import json
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, FastAPI, HTTPException, Query, Request
from fastapi import Path as InPath
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from fastapi.templating import Jinja2Templates

from pairsmith.campaign.answering import goals
from pairsmith.campaign.exchange.files import export_answers
from pairsmith.campaign.markdown import render
from pairsmith.campaign.options import MAX_QUESTION_LENGTH
from pairsmith.campaign.people import enrolment
from pairsmith.campaign.people import invites as people
from pairsmith.campaign.reporting import browse, dashboard
from pairsmith.campaign.reporting.ranking import Rankings
from pairsmith.campaign.store import wordings
from pairsmith.campaign.store.changes import logged
from pairsmith.campaign.store.schema import SECOND
from pairsmith.campaign.store.store import Store
from pairsmith.campaign.web.access import Access
from pairsmith.campaign.web.api import parts_of, prompt_of, question_index
from pairsmith.campaign.web.contract import MAX_COMMENT_LENGTH, MAX_INSTRUCTIONS_LENGTH, WITHOUT_NUL, QuestionNumber
from pairsmith.files.write_table import write_csv

FOLDER = Path(__file__).parent
TEMPLATES = Jinja2Templates(directory=FOLDER / "templates")
WORDS: dict[str, dict[str, str]] = {
    path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted((FOLDER / "words").glob("*.json"))
}  # by language
ANSWERS_PER_PAGE = 50

Language = Annotated[str | None, Query(max_length=16)]
Token = Annotated[str, InPath(max_length=64)]
Text = Annotated[str, Query(max_length=1000, pattern=WITHOUT_NUL)]


def rater_pages(store: Store, access: Access) -> APIRouter:
    """Return the routes of the rating page, and of the links that lead to it."""
    router = APIRouter(include_in_schema=False)

    @router.get("/")
    def rating_page(request: Request, lang: Language = None) -> HTMLResponse:
        access.require_person(request, "rater")
        language = choose_language(lang, request.headers.get("accept-language", ""))
        return TEMPLATES.TemplateResponse(request, "rate.html", _rating_page(store, language))

    @router.get("/join/{token}")
    def join(request: Request, token: Token, lang: Language = None) -> Response:
        return access.enter_by_link(request, token, "rater", _rating_page_address(lang))

    @router.get("/enrol/{token}")
    def enrol(request: Request, token: Token, lang: Language = None) -> Response:
        if access.has_rater_invite(request):  # somebody who opens the link again does not take a second place
            return RedirectResponse(_rating_page_address(lang), 303)
        places = enrolment.places_left(store, token)
        if places is None:
            raise HTTPException(401, enrolment.VOID)
        language = choose_language(lang, request.headers.get("accept-language", ""))
        words = WORDS[language]
        context = {
            "question": " · ".join(wordings.questions(store)),
            "longest": people.MAX_NAME_LENGTH,
            "language": language,
            "words": words,
            "setup": {"words": words, "link": token, "onward": _rating_page_address(lang)},
            "places": places,
        }
        return TEMPLATES.TemplateResponse(request, "enrol.html", context)

    return router


def organiser_pages(store: Store, access: Access, app: FastAPI) -> APIRouter:
    """Return the routes of the dashboard, the pages of answers, the description of the API, and the downloads."""
    router = APIRouter(include_in_schema=False)

    @router.get("/organise/{token}")
    def organise(request: Request, token: Token) -> Response:
        return access.enter_by_link(request, token, "organiser", "/dashboard")

    @router.get("/dashboard")
    def dashboard_page(request: Request, question: QuestionNumber = 1) -> HTMLResponse:
        access.require_person(request, "organiser")
        context = _dashboard(store, question) | {"may_rate": access.local or access.has_rater_invite(request)}
        return TEMPLATES.TemplateResponse(request, "dashboard.html", context)

    @router.get("/answers")
    def answers_page(
        request: Request,
        person: Text = "",
        item: Text = "",
        disputed: bool = False,
        question: Annotated[int, Query(ge=0, le=1000)] = 0,
        page: Annotated[int, Query(ge=1, le=10_000_000)] = 1,
    ) -> HTMLResponse:
        access.require_person(request, "organiser")
        wanted = browse.Filter(person, item, disputed, question)
        with store.reading() as connection:
            total, answers = browse.browse(connection, wanted, (page - 1) * ANSWERS_PER_PAGE, ANSWERS_PER_PAGE)
            raters, changes = browse.raters(connection), logged(connection)
        query = {name: value for name, value in wanted._asdict().items() if value}
        context = {
            "answers": answers,
            "total": total,
            "wanted": wanted,
            "raters": raters,
            "changes": changes,
            "page": page,
            "last": max(1, -(-total // ANSWERS_PER_PAGE)),
            "pages": {number: urlencode({**query, "page": number}) for number in (page - 1, page + 1)},
            "questions": wordings.questions(store),
        }
        return TEMPLATES.TemplateResponse(request, "answers.html", context)

    @router.get("/answers/{number}")
    def answer_page(request: Request, number: Annotated[int, InPath(ge=1, le=2**31 - 1)]) -> HTMLResponse:
        access.require_person(request, "organiser")
        with store.reading() as connection:
            answer = browse.one(connection, number)
        if answer is None:
            raise HTTPException(404, "there is no such answer")
        wording = store.wording(answer.wording, answer.question)
        context = {
            "answer": answer,
            "prompt": prompt_of(store, answer.left_row),
            "sides": {"left": parts_of(store, answer.left_row), "right": parts_of(store, answer.right_row)},
            "wording": wording,
            "instructions": render(wording.instructions),
        }
        return TEMPLATES.TemplateResponse(request, "answer.html", context)

    @router.get("/api")
    def api_page(request: Request) -> HTMLResponse:
        access.require_any_invite(request)
        return TEMPLATES.TemplateResponse(request, "api.html", {"schema": app.openapi()})

    @router.get("/api/openapi.json")
    def openapi(request: Request) -> JSONResponse:
        access.require_any_invite(request)
        return JSONResponse(app.openapi())

    @router.get("/download/ranking.csv")
    def ranking_file(request: Request, question: QuestionNumber = 1) -> Response:
        access.require_person(request, "organiser")
        text = io.StringIO()
        write_csv(Rankings(store).table(question_index(store, question)), text)
        return _csv(text.getvalue().encode(), "ranking.csv" if question == 1 else f"ranking-{question}.csv")

    @router.get("/download/answers.csv")
    def answers_file(request: Request) -> Response:
        """Return the file that `pairsmith campaign export` writes."""
        access.require_person(request, "organiser")
        with tempfile.TemporaryDirectory(prefix="pairsmith-") as folder:
            path = Path(folder) / "answers.csv"
            export_answers(store, "csv", path)
            return _csv(path.read_bytes(), path.name)

    return router


def choose_language(requested: str | None, accepted: str) -> str:
    """Return the language that a link asks for, else the best of the browser's Accept-Language, else English."""
    if requested in WORDS:
        return requested
    entries = (entry.lower().partition(";") for entry in accepted.split(","))
    qualities = {tag.partition("-")[0].strip(): _quality(parameter) for tag, _, parameter in entries}
    return max((name for name in qualities if name in WORDS), key=lambda name: qualities[name], default="en")


def _quality(parameter: str) -> float:
    """Return the number in q=0.8, or 1 if there is none."""
    try:
        return float(parameter.strip().removeprefix("q="))
    except ValueError:
        return 1.0


def format_time(time: int) -> str:
    """Format a time of the database for people, in UTC."""
    return datetime.fromtimestamp(time // SECOND, UTC).strftime("%Y-%m-%d %H:%M:%S")


TEMPLATES.env.globals["format_time"] = format_time


def _rating_page_address(language: str | None) -> str:
    return f"/?lang={language}" if language in WORDS else "/"


def _rating_page(store: Store, language: str) -> dict[str, Any]:
    """Return the context of the rating page; its script reads `setup`."""
    words, settings, wording = WORDS[language], store.settings, wordings.current(store)
    return {
        "settings": settings,
        "question": wording.question,
        "questions": len(settings.questions),
        "instructions": render(wording.instructions),
        "longest_comment": MAX_COMMENT_LENGTH,
        "language": language,
        "languages": {name: words["language"] for name, words in WORDS.items()},
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
    """Return the context of the dashboard; its script fills in the numbers."""
    return {
        "wording": wordings.current(store, question_index(store, question)),
        "questions": wordings.questions(store),
        "current_question": question,
        "longest": {"question": MAX_QUESTION_LENGTH, "instructions": MAX_INSTRUCTIONS_LENGTH},
        "figures": dashboard.FIGURES,
        "learned": dashboard.LEARNED,
        "people_columns": dashboard.PEOPLE_COLUMNS,
        "judge_columns": dashboard.JUDGE_COLUMNS,
        "actions": goals.ACTIONS,
        "groups": Rankings(store).groups() if store.settings.grouped else [],
    }


def _csv(content: bytes, name: str) -> Response:
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(content, media_type="text/csv; charset=utf-8", headers=headers)
