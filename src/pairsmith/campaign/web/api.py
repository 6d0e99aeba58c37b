"""The API for the scripts of the pages and for programs: ask for a pair, answer it, ask for the next."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from pairsmith.campaign.answering import corrections, goals, gold, leases
from pairsmith.campaign.answering.leases import Lease
from pairsmith.campaign.markdown import render
from pairsmith.campaign.people import enrolment
from pairsmith.campaign.planning.pace import describe_stuck_pairs
from pairsmith.campaign.reporting import dashboard
from pairsmith.campaign.reporting.ranking import Rankings
from pairsmith.campaign.store import wordings
from pairsmith.campaign.store.database import Refused
from pairsmith.campaign.store.media import MEDIA
from pairsmith.campaign.store.store import Store
from pairsmith.campaign.web.access import Access
from pairsmith.campaign.web.contract import (
    ERRORS,
    Answer,
    AnswerResponse,
    Campaign,
    CampaignState,
    Enrolment,
    EnrolmentResponse,
    Exclusion,
    ExclusionResponse,
    Pair,
    PairRequest,
    PairResponse,
    Part,
    Problem,
    Progress,
    QuestionNumber,
    RankedItem,
    Ranking,
    RenewedLeases,
    StateChange,
    StrictRoute,
    Strike,
    UndoRequest,
    Wording,
    WordingChange,
    WordingResponse,
)


def rating(store: Store, access: Access) -> APIRouter:
    """Return the routes of raters: pairs, answers and undo."""
    router = APIRouter(prefix="/api", route_class=StrictRoute, tags=["rating"], responses=ERRORS)

    def progress_of(person: int) -> Progress:
        return Progress(**leases.progress(store, person))

    @router.get("/campaign")
    def campaign(request: Request) -> Campaign:
        """Get the questions, and the kinds of answers that are allowed."""
        access.require_person(request, "rater")
        wording, settings = wordings.current(store), store.settings
        return Campaign(
            question=wording.question,
            questions=wordings.questions(store),
            instructions=wording.instructions,
            ties=settings.ties,
            graded=settings.graded,
            comments=settings.comments,
        )

    @router.post("/next")
    def next_pair(body: PairRequest, request: Request) -> PairResponse:
        """Get a pair to answer. You hold it for some minutes; if you ask again meanwhile, you get the same pair.

        If there are several questions, the same pair comes with each of them in turn.
        """
        person = access.require_person(request, "rater")
        lease = leases.next_pair(store, person, body.holding)
        over: Any = None if lease is not None else goals.ending(store, person)
        return PairResponse(pair=_pair(store, lease), over=over, progress=progress_of(person))

    @router.post("/renew")
    def renew(body: PairRequest, request: Request) -> RenewedLeases:
        """Hold your pairs for longer, because somebody is still looking at them."""
        return RenewedLeases(held=leases.renew(store, access.require_person(request, "rater"), body.holding))

    @router.post("/answer")
    def answer(body: Answer, request: Request) -> AnswerResponse:
        """Answer a pair that you hold. The answer is on disk when this returns; sent twice, it counts once."""
        person = access.require_person(request, "rater")
        counted = leases.answer(store, person, body.lease, **body.model_dump(exclude={"lease"}))
        return AnswerResponse(counted=counted, progress=progress_of(person))

    @router.post("/undo")
    def undo(body: UndoRequest, request: Request) -> PairResponse:
        """Take back your last answer or skip, and get its pair again."""
        person = access.require_person(request, "rater")
        lease = leases.undo(store, person, body.lease)
        return PairResponse(pair=_pair(store, lease), progress=progress_of(person))

    @router.get("/progress")
    def progress(request: Request) -> Progress:
        """Get the progress of the campaign, and yours."""
        return progress_of(access.require_person(request, "rater"))

    return router


def organising(store: Store, access: Access) -> APIRouter:
    """Return the routes of organisers: the ranking, the dashboard, the campaign's state and corrections."""
    router = APIRouter(prefix="/api", route_class=StrictRoute, tags=["organising"], responses=ERRORS)

    rankings = Rankings(store)

    @router.get("/ranking")
    def ranking(
        request: Request,
        offset: Annotated[int, Query(ge=0, le=1_000_000_000)] = 0,
        limit: Annotated[int, Query(ge=1, le=10_000)] = 100,
        search: Annotated[str, Query(max_length=200)] = "",
        group: Annotated[str | None, Query(max_length=10_000)] = None,
        question: QuestionNumber = 1,
    ) -> Ranking:
        """Get the items of the last report, best first; with `search`, items whose id or text has all these words."""
        access.require_person(request, "organiser")
        index = question_index(store, question)
        total, low, high, items = rankings.page(offset, limit, search, group, index)
        answers = dashboard.last_report(store, index)["answers"]
        return Ranking(answers=answers, total=total, low=low, high=high, items=[_ranked_item(item) for item in items])

    @router.get("/dashboard")
    def figures(request: Request, question: QuestionNumber = 1) -> dict[str, Any]:
        """Get everything that the dashboard shows about a question except the ranking; `doubts` has all questions."""
        access.require_person(request, "organiser")
        index = question_index(store, question)
        counts = dashboard.count(store, index)
        problem, report = dashboard.last_problem(store), dashboard.shown_report(store, counts["answers"], index)
        with store.reading() as connection:
            excluded, (struck, _) = corrections.excluded(connection), corrections.left_out(connection)
            gold_by_rater = gold.score_raters(connection, index)
        for row in (*report["people"], *excluded):
            row["gold"] = gold_by_rater.get(row["name"])
        return {**counts, "problem": problem, "report": report, "excluded": excluded,
                "struck": struck, "course": goals.described(store), "waits": describe_stuck_pairs(store),
                "doubts": dashboard.last_doubts(store)}  # fmt: skip

    @router.post("/state")
    def act(body: StateChange, request: Request) -> CampaignState:
        """Pause, resume, close or reopen the campaign."""
        person = access.require_person(request, "organiser")
        return CampaignState.model_validate({"state": goals.act(store, body.action, person)})

    @router.post("/exclude")
    def exclude(body: Exclusion, request: Request) -> ExclusionResponse:
        """Leave the answers of a rater out of the model, the design and exports, or count them again."""
        organiser = access.require_person(request, "organiser")
        return ExclusionResponse(answers=corrections.exclude(store, body.name, body.excluded, organiser))

    @router.post("/strike")
    def strike(body: Strike, request: Request) -> Strike:
        """Strike out an answer, or restore it."""
        corrections.strike(store, body.answer, body.struck, access.require_person(request, "organiser"))
        return body

    @router.post("/wording")
    def reword(body: WordingChange, request: Request) -> WordingResponse:
        """Change the question, the instructions or both. Raters see the change from their next pair on."""
        organiser = access.require_person(request, "organiser")
        index = question_index(store, body.number)
        wording = wordings.edit(store, body.question, body.instructions, organiser, index)
        return WordingResponse(number=wording.number)

    return router


def enrolling(store: Store, access: Access) -> APIRouter:
    """Return the route by which people with an enrolment link get an invite."""
    responses = {**ERRORS, 410: {"model": Problem, "description": "All places of this link are taken."}}
    router = APIRouter(prefix="/api", route_class=StrictRoute, tags=["enrolling"], responses=responses)

    @router.post("/enrol")
    def enrol(body: Enrolment, request: Request, response: Response) -> EnrolmentResponse:
        """Give your name and get an invite of your own."""
        access.set_cookie(request, response, enrolment.enrol(store, body.link, body.name), "rater")
        return EnrolmentResponse(enrolled=True)

    return router


def question_index(store: Store, number: int) -> int:
    """Return the index of the question with this number, or refuse with 404."""
    if number > len(store.settings.questions):
        raise Refused(404, f"there is no question {number}; the campaign has {len(store.settings.questions)}")
    return number - 1


def parts_of(store: Store, row: int) -> list[Part]:
    """Return the parts of an item as they are shown."""
    return [_part(row, index, kind, value) for index, (kind, value) in enumerate(store.parts(row))]


def prompt_of(store: Store, row: int) -> Part | None:
    """Return the prompt that an item responds to, or None."""
    text = store.prompt(row)
    return None if text is None else _part(row, 0, store.settings.prompt_kind, text)


def _pair(store: Store, lease: Lease | None) -> Pair | None:
    if lease is None:
        return None
    number, question, instructions = store.wording(lease.wording, lease.question)
    return Pair(
        lease=lease.token,
        question=lease.question + 1,
        prompt=prompt_of(store, lease.left),
        left_id=store.name(lease.left),
        right_id=store.name(lease.right),
        left=parts_of(store, lease.left),
        right=parts_of(store, lease.right),
        wording=Wording(number=number, question=question, instructions=render(instructions)),
    )


def _part(row: int, index: int, kind: str, value: str) -> Part:
    if kind in MEDIA:
        return Part.model_validate({"kind": kind, "url": f"/media/{row}/{index}"})
    if kind == "markdown":
        return Part(kind="markdown", text=value, html=render(value))
    return Part(kind="text", text=value)


def _ranked_item(row: dict[str, Any]) -> RankedItem:
    picture = None if row["picture"] is None else f"/media/{row['row']}/{row['picture']}/small"
    return RankedItem.model_validate(row | {"picture": picture})
