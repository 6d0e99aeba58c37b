"""Answers one by one, as they were shown, and what organisers put right."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, HTTPException, Query, Request
from fastapi import Path as InPath
from fastapi.responses import HTMLResponse
from pydantic import BaseModel, Field

from pairsmith.campaign.answering import corrections
from pairsmith.campaign.markdown import render
from pairsmith.campaign.options import MAX_QUESTIONS, QUESTION_PATTERN
from pairsmith.campaign.reporting import browse
from pairsmith.campaign.store import wordings
from pairsmith.campaign.store.changes import logged
from pairsmith.campaign.store.schema import SECOND
from pairsmith.campaign.store.store import Store
from pairsmith.campaign.web.access import Access
from pairsmith.campaign.web.api import ERRORS, INSTRUCTIONS, QUESTION, Strict, like, parts_of, prompt_of, which
from pairsmith.campaign.web.bodies import StrictRoute
from pairsmith.campaign.web.pages import TEMPLATES

AT_ONCE = 50  # answers on a page
Number = Annotated[int, Field(ge=1, le=2**31 - 1)]
Text = Annotated[str, Query(max_length=1000, pattern=r"^[^\x00]*$")]


class Exclusion(Strict):
    model_config = like(name="anna", excluded=True) | {"extra": "forbid"}

    name: str = Field(max_length=1000, pattern=r"^[^\x00]*$", description="Of the rater.")
    excluded: bool = Field(description="true: none of their answers counts; false: they count again.")


class Excluded(BaseModel):
    model_config = like(answers=40)

    answers: int = Field(description="That do not count now, or count again.")


class Strike(Strict):
    model_config = like(answer=17, struck=True) | {"extra": "forbid"}

    answer: Number = Field(description="Its number, as the page of answers has it.")
    struck: bool = Field(description="true: it does not count; false: it counts again.")


class NewWording(Strict):
    model_config = like(question="Which answer is better?", instructions="Look at *facts* first.") | {"extra": "forbid"}

    # Each may be left out: one that a command made longer than a form may send stays as it is beside the other.
    question: str | None = Field(
        None, max_length=QUESTION, pattern=QUESTION_PATTERN, description="One line. Left out, it stays."
    )
    instructions: str | None = Field(
        None, max_length=INSTRUCTIONS, pattern=r"^[^\x00]*$", description="Markdown. Left out, they stay."
    )
    number: int = Field(1, ge=1, le=MAX_QUESTIONS, description="Of the question that is changed, 1 for the first.")


class Worded(BaseModel):
    model_config = like(number=2)

    number: int = Field(description="Of the wording that is shown from now on.")


def correcting(store: Store, access: Access) -> APIRouter:
    """For those who run the campaign."""
    router = APIRouter(route_class=StrictRoute, tags=["organising"], responses=ERRORS)

    @router.post("/api/exclude")
    def exclude(given: Exclusion, request: Request) -> Excluded:
        """Leave the answers of a rater out of model, design and exports, or count them again."""
        by = access.person(request, "organiser")
        return Excluded(answers=corrections.exclude(store, given.name, given.excluded, by))

    @router.post("/api/strike")
    def strike(given: Strike, request: Request) -> Strike:
        """Strike out an answer, or restore it."""
        corrections.strike(store, given.answer, given.struck, access.person(request, "organiser"))
        return given

    @router.post("/api/wording")
    def reword(given: NewWording, request: Request) -> Worded:
        """Change the question, the instructions or both, from each rater's next pair on."""
        by = access.person(request, "organiser")
        asked = which(store, given.number)
        return Worded(number=wordings.edit(store, given.question, given.instructions, by, asked).number)

    @router.get("/answers", include_in_schema=False)
    def answers(
        request: Request,
        person: Text = "",
        item: Text = "",
        disputed: bool = False,
        question: Annotated[int, Query(ge=0, le=1000)] = 0,
        page: Annotated[int, Query(ge=1, le=10_000_000)] = 1,
    ) -> HTMLResponse:
        access.person(request, "organiser")
        wanted = browse.Filter(person, item, disputed, question)
        with store.reading() as connection:
            total, found = browse.browse(connection, wanted, (page - 1) * AT_ONCE, AT_ONCE)
            people, done = browse.raters(connection), logged(connection)
        given = {name: value for name, value in wanted._asdict().items() if value}
        pages = {number: urlencode({**given, "page": number}) for number in (page - 1, page + 1)}
        shown = {"answers": found, "total": total, "wanted": wanted, "people": people, "done": done, "when": when,
                 "page": page, "last": max(1, -(-total // AT_ONCE)), "pages": pages,
                 "questions": wordings.questions(store)}  # fmt: skip
        return TEMPLATES.TemplateResponse(request, "answers.html", shown)

    @router.get("/answers/{number}", include_in_schema=False)
    def answer(request: Request, number: Annotated[int, InPath(ge=1, le=2**31 - 1)]) -> HTMLResponse:
        access.person(request, "organiser")
        with store.reading() as connection:
            found = browse.one(connection, number)
        if found is None:
            raise HTTPException(404, "there is no such answer")
        prompt, wording = prompt_of(store, found.left_row), store.wording(found.wording, found.question)
        sides = {"left": parts_of(store, found.left_row), "right": parts_of(store, found.right_row)}
        shown = {"answer": found, "prompt": prompt, "sides": sides, "wording": wording, "when": when,
                 "instructions": render(wording.instructions)}  # fmt: skip
        return TEMPLATES.TemplateResponse(request, "answer.html", shown)

    return router


def when(at: int) -> str:
    """A time of the tables for people, in UTC."""
    return datetime.fromtimestamp(at // SECOND, UTC).strftime("%Y-%m-%d %H:%M:%S")
