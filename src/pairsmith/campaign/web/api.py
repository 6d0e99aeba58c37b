"""The API: what the pages' scripts, and programs, ask and answer.

Ask for a pair, answer it, ask for the next. The models below are the contract; /api describes them to people.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from pairsmith.campaign.answering import corrections, goals, gold, leases
from pairsmith.campaign.answering.leases import Lease
from pairsmith.campaign.markdown import render
from pairsmith.campaign.options import MAX_QUESTION_LENGTH, MAX_QUESTIONS
from pairsmith.campaign.people import enrolment
from pairsmith.campaign.people import invites as people
from pairsmith.campaign.planning.pace import describe_stuck_pairs
from pairsmith.campaign.reporting import dashboard
from pairsmith.campaign.reporting.ranking import Rankings
from pairsmith.campaign.store import wordings
from pairsmith.campaign.store.database import Refused
from pairsmith.campaign.store.media import MEDIA
from pairsmith.campaign.store.store import Store
from pairsmith.campaign.web.access import Access
from pairsmith.campaign.web.bodies import StrictRoute

# Characters, which as JSON have room in a body however they are written.
COMMENT, QUESTION, INSTRUCTIONS = 1000, MAX_QUESTION_LENGTH, 5000

Question = Annotated[int, Query(ge=1, le=MAX_QUESTIONS, description="Its number, 1 for the first.")]
Token = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")]


def like(**example: Any) -> ConfigDict:
    """A model with an example, which the contract shows."""
    return ConfigDict(json_schema_extra={"examples": [example]})


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


PROGRESS = {"answers": 12, "yours": 3, "wanted": 88, "goal": 400, "quota": 50, "undo": "Zk3vQyHc0m5nT1uXwR7pLA"}
PAIR = {
    "lease": "a8Xo2b0dJm4Kq1tYw9sVfg",
    "question": 1,
    "prompt": {"kind": "text", "text": "Why is the sky blue?"},
    "left_id": "a-17",
    "right_id": "b-17",
    "left": [{"kind": "text", "text": "Air scatters blue light most."}],
    "wording": {"number": 1, "question": "Which answer is better?", "instructions": ""},
    "right": [{"kind": "markdown", "text": "Because of the *sea*.", "html": "<p>Because of the <em>sea</em>.</p>"}],
}


class Want(Strict):
    model_config = like(holding=[]) | {"extra": "forbid"}

    holding: list[Token] = Field([], max_length=8, description="Leases you have already: another one is wanted.")


class Answer(Strict):
    model_config = like(lease=PAIR["lease"], choice="left", seconds=4.2) | {"extra": "forbid"}

    lease: Token = Field(description="The pair, as it was given to you.")
    choice: Literal["left", "right", "tie", "skip"]
    seconds: float | None = Field(None, ge=0, le=86400, allow_inf_nan=False, description="How long it took.")
    strength: Literal["slightly", "much"] | None = Field(
        None, description="How much better, with left and right; only where the campaign asks for it."
    )
    comment: str | None = Field(None, max_length=COMMENT, description="Only where the campaign takes comments.")
    ago: float = Field(0.0, ge=0, le=86400, allow_inf_nan=False, description="Seconds since you gave it, if sent late.")


class Undo(Strict):
    model_config = like(lease=PROGRESS["undo"]) | {"extra": "forbid"}

    lease: Token = Field(description="The lease that was answered last; progress names it.")


class Part(BaseModel):
    """A piece of an item: text, html (of Markdown, whose source is the text), or the url of an image or a sound."""

    kind: Literal["text", "markdown", "image", "audio"]
    text: str | None = None
    html: str | None = None
    url: str | None = None


class Wording(BaseModel):
    """What people are asked of this pair, and told how to answer; it may be edited while they do."""

    number: int = Field(description="1 is what the campaign was made with.")
    question: str
    instructions: str = Field(description="As HTML (of Markdown, sanitised).")


class Campaign(BaseModel):
    model_config = like(
        question="Which answer is better?",
        questions=["Which answer is better?"],
        instructions="Look at *facts* first.",
        ties=True,
        graded=False,
        comments=False,
    )

    question: str = Field(description="The first of the questions.")
    questions: list[str] = Field(description="What is asked of each pair, one after the other.")
    instructions: str = Field(description="Markdown; empty where there are none.")
    ties: bool = Field(description="Whether a choice may be tie.")
    graded: bool = Field(description="Whether left and right may have a strength.")
    comments: bool


class Pair(BaseModel):
    model_config = like(**PAIR)

    lease: str = Field(
        description="Names this pair, on these sides, with this question, shown to you; the answer needs it."
    )
    question: int = Field(description="The number of the question, 1 for the first; its text is in the wording.")
    prompt: Part | None = Field(default=None, description="What both items answer, where there is a prompt.")
    left_id: str
    right_id: str
    left: list[Part]
    right: list[Part]
    wording: Wording


class Progress(BaseModel):
    model_config = like(**PROGRESS)

    answers: int = Field(description="Answers of everybody that count; those of excluded people do not.")
    yours: int = Field(description="Answers that you gave here, whether or not they count; no imported ones.")
    wanted: int = Field(description="Answers still to be given to the pairs planned so far.")
    goal: int | None = Field(description="The number of `answers` at which it is over; null: no such goal.")
    quota: int | None = Field(description="Answers of yours after which you are done; null: no such goal.")
    undo: str | None = Field(description="The lease whose answer you may take back.")


class Next(BaseModel):
    model_config = like(pair=PAIR, over=None, progress=PROGRESS)

    pair: Pair | None = Field(description="null: no pair is waiting for you now; see over.")
    over: Literal["paused", "closed", "deadline", "answers", "until", "quota", "exhausted", "yours"] | None = Field(
        default=None,
        description="Without a pair: why there are none any more (answers: the goal is reached; until: the ranking is"
        " as sure as wanted; exhausted: every pair is answered; yours: the rest is for others). null: ask again later.",
    )
    progress: Progress


class Taken(BaseModel):
    model_config = like(counted=True, progress=PROGRESS)

    counted: bool = Field(description="false: this lease was answered before; the first answer stands.")
    progress: Progress


class Act(Strict):
    model_config = like(action="pause") | {"extra": "forbid"}

    action: Literal["pause", "resume", "close", "reopen"] = Field(description="What to do with the campaign.")


class State(BaseModel):
    model_config = like(state="paused")

    state: Literal["open", "paused", "closed"]


class Enrol(Strict):
    model_config = like(link="Zk3vQyHc0m5nT1uXwR7pLA", name="Anna") | {"extra": "forbid"}

    link: Token = Field(description="The token of a link by which people invite themselves.")
    name: str = Field(max_length=people.MAX_NAME_LENGTH, description="Who you are; nobody else has this name.")


class Enrolled(BaseModel):
    model_config = like(enrolled=True)

    enrolled: bool = Field(description="Your invite is in a cookie of this response.")


class Held(BaseModel):
    model_config = like(held=[PAIR["lease"]])

    held: list[str] = Field(description="Those that are still yours to answer; the others were answered or passed on.")


class Ranked(BaseModel):
    rank: int = Field(description="Among all items, or within its group where there are groups.")
    id: str
    group: str | None
    text: str = Field(description="How the texts of the item begin.")
    picture: str | None = Field(description="The url of a small picture of it.")
    score: float
    low: float = Field(description="The ends of the 90% interval of the score.")
    high: float
    best: int = Field(description="The ends of the 90% interval of the rank.")
    worst: int
    in_top: float = Field(description="The probability of being one of the ten best, or the best of its group.")


RANKED = {
    **{"rank": 1, "id": "a-17", "group": "sky", "text": "Air scatters blue light.", "picture": "/media/17/0/small"},
    **{"score": 1.2, "low": 0.7, "high": 1.7, "best": 1, "worst": 2, "in_top": 0.98},
}


class Ranking(BaseModel):
    model_config = like(answers=100, total=1, low=0.7, high=1.7, items=[RANKED])

    answers: int = Field(description="How many answers it is based on.")
    total: int = Field(description="How many items fit, on all pages.")
    low: float = Field(description="The lowest and the highest end of an interval of all items.")
    high: float
    items: list[Ranked]


class Problem(BaseModel):
    model_config = like(detail="this pair was not shown to you")

    detail: str


ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": Problem, "description": text}
    for status, text in {
        400: "The request is not for this server, or no HTTP as it should be.",
        401: "No invite, or one that is not good any more.",
        403: "A request from another site.",
        404: "No such pair was shown to you.",
        409: "Too late, or not the last answer.",
        410: "The campaign is over.",
        413: "The body is too large.",
        422: "Not what is expected here.",
        503: "The database cannot be used now; the answer was not taken.",
    }.items()
}


def labelling(store: Store, access: Access) -> APIRouter:
    """Pairs, answers and undos, for those who label."""
    router = APIRouter(prefix="/api", route_class=StrictRoute, tags=["labelling"], responses=ERRORS)

    def progress_of(person: int) -> Progress:
        return Progress(**leases.progress(store, person))

    @router.get("/campaign")
    def campaign(request: Request) -> Campaign:
        """What is asked of each pair, and which answers there are."""
        access.person(request, "rater")
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
    def next_pair(want: Want, request: Request) -> Next:
        """A pair to answer. It is yours for some minutes; loaded again, the page gets the same one.

        Where there are several questions the same pair comes with each of them, one after the other.
        """
        person = access.person(request, "rater")
        lease = leases.next_pair(store, person, want.holding)
        over: Any = None if lease is not None else goals.ending(store, person)
        return Next(pair=_pair(store, lease), over=over, progress=progress_of(person))

    @router.post("/renew")
    def renew(want: Want, request: Request) -> Held:
        """Keep the pairs you hold for longer: they are still looked at."""
        return Held(held=leases.renew(store, access.person(request, "rater"), want.holding))

    @router.post("/answer")
    def answer(given: Answer, request: Request) -> Taken:
        """Answer a pair that was shown to you. On disk when this returns; sent twice, it counts once."""
        person = access.person(request, "rater")
        counted = leases.answer(store, person, given.lease, **given.model_dump(exclude={"lease"}))
        return Taken(counted=counted, progress=progress_of(person))

    @router.post("/undo")
    def undo(last: Undo, request: Request) -> Next:
        """Take back your last answer, or skip, and get its pair again."""
        person = access.person(request, "rater")
        lease = leases.undo(store, person, last.lease)
        return Next(pair=_pair(store, lease), progress=progress_of(person))

    @router.get("/progress")
    def progress(request: Request) -> Progress:
        """How far the campaign is, and you."""
        return progress_of(access.person(request, "rater"))

    return router


def organising(store: Store, access: Access) -> APIRouter:
    """The ranking and the dashboard, for those who run the campaign."""
    router = APIRouter(prefix="/api", route_class=StrictRoute, tags=["organising"], responses=ERRORS)

    rankings = Rankings(store)

    @router.get("/ranking")
    def ranking(
        request: Request,
        offset: Annotated[int, Query(ge=0, le=1_000_000_000)] = 0,
        limit: Annotated[int, Query(ge=1, le=10_000)] = 100,
        search: Annotated[str, Query(max_length=200)] = "",
        group: Annotated[str | None, Query(max_length=10_000)] = None,
        question: Question = 1,
    ) -> Ranking:
        """The items, best first, as of the last report; with `search`, those whose id or text has all these words."""
        access.person(request, "organiser")
        asked = which(store, question)
        total, low, high, found = rankings.page(offset, limit, search, group, asked)
        answers = dashboard.last_report(store, asked)["answers"]
        return Ranking(answers=answers, total=total, low=low, high=high, items=[_ranked(row) for row in found])

    @router.get("/dashboard")
    def figures(request: Request, question: Question = 1) -> dict[str, Any]:
        """All that the dashboard shows of a question but the ranking; `doubts` has those of all questions."""
        access.person(request, "organiser")
        asked = which(store, question)
        counts = dashboard.count(store, asked)
        problem, report = dashboard.last_problem(store), dashboard.shown_report(store, counts["answers"], asked)
        with store.reading() as connection:
            excluded, (struck, _) = corrections.excluded(connection), corrections.left_out(connection)
            right = gold.right_and_asked(connection, asked)
        for row in (*report["people"], *excluded):
            row["gold"] = right.get(row["name"])
        return {**counts, "problem": problem, "report": report, "excluded": excluded,
                "struck": struck, "course": goals.described(store), "waits": describe_stuck_pairs(store),
                "doubts": dashboard.last_doubts(store)}  # fmt: skip

    @router.post("/state")
    def act(wanted: Act, request: Request) -> State:
        """Pause, resume, close or reopen the campaign."""
        person = access.person(request, "organiser")
        return State.model_validate({"state": goals.act(store, wanted.action, person)})

    return router


def enrolling(store: Store, access: Access) -> APIRouter:
    """For whoever has the link by which people invite themselves."""
    responses = {**ERRORS, 410: {"model": Problem, "description": "All places of this link are taken."}}
    router = APIRouter(prefix="/api", route_class=StrictRoute, tags=["enrolling"], responses=responses)

    @router.post("/enrol")
    def enrol(given: Enrol, request: Request, response: Response) -> Enrolled:
        """Give a name and get an invite of your own."""
        access.keep(request, response, enrolment.enrol(store, given.link, given.name), "rater")
        return Enrolled(enrolled=True)

    return router


def which(store: Store, number: int) -> int:
    """The question of this number, as the database counts them, or 404."""
    if number > len(store.settings.questions):
        raise Refused(404, f"there is no question {number}; the campaign has {len(store.settings.questions)}")
    return number - 1


def _pair(store: Store, lease: Lease | None) -> Pair | None:
    if lease is None:
        return None
    prompt, left, right = prompt_of(store, lease.left), parts_of(store, lease.left), parts_of(store, lease.right)
    ids = {"left_id": store.name(lease.left), "right_id": store.name(lease.right)}
    number, text_asked, instructions = store.wording(lease.wording, lease.question)
    wording = Wording(number=number, question=text_asked, instructions=render(instructions))
    asked = lease.question + 1
    return Pair(lease=lease.token, question=asked, prompt=prompt, left=left, right=right, wording=wording, **ids)


def parts_of(store: Store, row: int) -> list[Part]:
    """What is shown of an item."""
    return [_part(row, at, kind, value) for at, (kind, value) in enumerate(store.parts(row))]


def prompt_of(store: Store, row: int) -> Part | None:
    """What an item answers, where there is a prompt."""
    text = store.prompt(row)
    return None if text is None else _part(row, 0, store.settings.prompt_kind, text)


def _part(row: int, at: int, kind: str, value: str) -> Part:
    if kind in MEDIA:
        return Part.model_validate({"kind": kind, "url": f"/media/{row}/{at}"})
    if kind == "markdown":
        return Part(kind="markdown", text=value, html=render(value))
    return Part(kind="text", text=value)


def _ranked(row: dict[str, Any]) -> Ranked:
    picture = None if row["picture"] is None else f"/media/{row['row']}/{row['picture']}/small"
    return Ranked.model_validate(row | {"picture": picture})
