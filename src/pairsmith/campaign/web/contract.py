"""The contract of the API: the models of requests and responses, which the page /api describes to people."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Annotated, Any, Literal

from fastapi import HTTPException, Query, Request, Response
from fastapi.routing import APIRoute
from pydantic import BaseModel, ConfigDict, Field

from pairsmith.campaign.options import MAX_QUESTION_LENGTH, MAX_QUESTIONS, QUESTION_PATTERN
from pairsmith.campaign.people import invites as people
from pairsmith.files.json_reader import RepeatedKey, parse_json

# Limits in characters. Even fully escaped as JSON, texts of this length fit into the largest body that gate.py accepts.
MAX_COMMENT_LENGTH = 1000
MAX_INSTRUCTIONS_LENGTH = 5000

WITHOUT_NUL = r"^[^\x00]*$"

QuestionNumber = Annotated[int, Query(ge=1, le=MAX_QUESTIONS, description="A question's number, 1 for the first.")]
Token = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")]


class StrictRoute(APIRoute):
    """A route that refuses a JSON body with a repeated key, because it could mean two things."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def handle_strictly(request: Request) -> Response:
            return await handle(_StrictRequest(request.scope, request.receive))

        return handle_strictly


class _StrictRequest(Request):
    async def json(self) -> Any:
        try:
            return parse_json(await self.body())
        except RepeatedKey as error:
            raise HTTPException(422, str(error)) from None


def example(**values: Any) -> ConfigDict:
    """Return the configuration of a model with an example, which the contract shows."""
    return ConfigDict(json_schema_extra={"examples": [values]})


def strict_example(**values: Any) -> ConfigDict:
    """Return the configuration of a request: with an example, and refusing unknown fields."""
    return example(**values) | {"extra": "forbid"}


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
RANKED_ITEM = {
    **{"rank": 1, "id": "a-17", "group": "sky", "text": "Air scatters blue light.", "picture": "/media/17/0/small"},
    **{"score": 1.2, "low": 0.7, "high": 1.7, "best": 1, "worst": 2, "in_top": 0.98},
}


# Raters


class PairRequest(BaseModel):
    model_config = strict_example(holding=[])

    holding: list[Token] = Field([], max_length=8, description="The leases you hold; you get another one.")


class Answer(BaseModel):
    model_config = strict_example(lease=PAIR["lease"], choice="left", seconds=4.2)

    lease: Token = Field(description="The lease of the pair.")
    choice: Literal["left", "right", "tie", "skip"]
    seconds: float | None = Field(None, ge=0, le=86400, allow_inf_nan=False, description="How long it took.")
    strength: Literal["slightly", "much"] | None = Field(
        None, description="How much better, for left and right; only if the campaign is graded."
    )
    comment: str | None = Field(None, max_length=MAX_COMMENT_LENGTH, description="Only if the campaign takes comments.")
    ago: float = Field(
        0.0, ge=0, le=86400, allow_inf_nan=False, description="Seconds since you gave the answer, if it is sent late."
    )


class UndoRequest(BaseModel):
    model_config = strict_example(lease=PROGRESS["undo"])

    lease: Token = Field(description="The lease that you answered last; see undo in progress.")


class Part(BaseModel):
    """A part of an item: text, html (made from Markdown, with its source as the text), or an image's or sound's url."""

    kind: Literal["text", "markdown", "image", "audio"]
    text: str | None = None
    html: str | None = None
    url: str | None = None


class Wording(BaseModel):
    """The question and instructions of a pair; organisers may edit them while people answer."""

    number: int = Field(description="1 is the wording that the campaign was created with.")
    question: str
    instructions: str = Field(description="Sanitised HTML, made from Markdown.")


class Campaign(BaseModel):
    model_config = example(
        question="Which answer is better?",
        questions=["Which answer is better?"],
        instructions="Look at *facts* first.",
        ties=True,
        graded=False,
        comments=False,
    )

    question: str = Field(description="The first question.")
    questions: list[str] = Field(description="The questions about each pair, in their order.")
    instructions: str = Field(description="Markdown; empty if there are none.")
    ties: bool = Field(description="Whether a choice may be tie.")
    graded: bool = Field(description="Whether left and right may have a strength.")
    comments: bool


class Pair(BaseModel):
    model_config = example(**PAIR)

    lease: str = Field(description="Identifies this pair, its sides and question, as given to you; answers name it.")
    question: int = Field(description="The number of the question, 1 for the first; its text is in the wording.")
    prompt: Part | None = Field(default=None, description="What both items respond to, if there is a prompt.")
    left_id: str
    right_id: str
    left: list[Part]
    right: list[Part]
    wording: Wording


class Progress(BaseModel):
    model_config = example(**PROGRESS)

    answers: int = Field(description="All answers that count; answers of excluded raters do not.")
    yours: int = Field(description="Answers that you gave here, whether they count or not; imported ones are left out.")
    wanted: int = Field(description="Answers that the planned pairs still need.")
    goal: int | None = Field(description="The number of `answers` at which the campaign is over; null: no such goal.")
    quota: int | None = Field(description="The number of answers after which you are done; null: no such limit.")
    undo: str | None = Field(description="The lease whose answer you may take back.")


class PairResponse(BaseModel):
    model_config = example(pair=PAIR, over=None, progress=PROGRESS)

    pair: Pair | None = Field(description="null: there is no pair for you now; see over.")
    over: Literal["paused", "closed", "deadline", "answers", "until", "quota", "exhausted", "yours"] | None = Field(
        default=None,
        description="Without a pair, why no more come (answers: the goal is reached; until: the ranking is as certain"
        " as wanted; exhausted: every pair is answered; yours: the other pairs are for others). null: ask again later.",
    )
    progress: Progress


class AnswerResponse(BaseModel):
    model_config = example(counted=True, progress=PROGRESS)

    counted: bool = Field(description="false: this lease was answered before; the first answer stands.")
    progress: Progress


class RenewedLeases(BaseModel):
    model_config = example(held=[PAIR["lease"]])

    held: list[str] = Field(description="The leases that you still hold; other pairs were answered or passed on.")


class Enrolment(BaseModel):
    model_config = strict_example(link="Zk3vQyHc0m5nT1uXwR7pLA", name="Anna")

    link: Token = Field(description="The token of a link by which people enrol.")
    name: str = Field(max_length=people.MAX_NAME_LENGTH, description="Your name; nobody else may have it.")


class EnrolmentResponse(BaseModel):
    model_config = example(enrolled=True)

    enrolled: bool = Field(description="Your invite is in a cookie of this response.")


# Organisers


class StateChange(BaseModel):
    model_config = strict_example(action="pause")

    action: Literal["pause", "resume", "close", "reopen"] = Field(description="What to do with the campaign.")


class CampaignState(BaseModel):
    model_config = example(state="paused")

    state: Literal["open", "paused", "closed"]


class RankedItem(BaseModel):
    rank: int = Field(description="The rank among all items, or within the item's group if there are groups.")
    id: str
    group: str | None
    text: str = Field(description="The beginning of the item's texts.")
    picture: str | None = Field(description="The url of a small picture of the item.")
    score: float
    low: float = Field(description="The lower end of the score's 90% interval; high is the upper end.")
    high: float
    best: int = Field(description="The best rank in the rank's 90% interval; worst is the worst.")
    worst: int
    in_top: float = Field(description="The probability of being among the ten best, or the best of its group.")


class Ranking(BaseModel):
    model_config = example(answers=100, total=1, low=0.7, high=1.7, items=[RANKED_ITEM])

    answers: int = Field(description="The number of answers that the ranking is based on.")
    total: int = Field(description="The number of items that match, on all pages.")
    low: float = Field(description="The lowest end of all items' intervals; high is the highest.")
    high: float
    items: list[RankedItem]


class Exclusion(BaseModel):
    model_config = strict_example(name="anna", excluded=True)

    name: str = Field(max_length=1000, pattern=WITHOUT_NUL, description="The name of the rater.")
    excluded: bool = Field(description="true: none of the rater's answers counts; false: they count again.")


class ExclusionResponse(BaseModel):
    model_config = example(answers=40)

    answers: int = Field(description="The number of answers that no longer count, or count again.")


class Strike(BaseModel):
    model_config = strict_example(answer=17, struck=True)

    answer: int = Field(ge=1, le=2**31 - 1, description="The number of the answer on the page of answers.")
    struck: bool = Field(description="true: the answer does not count; false: it counts again.")


class WordingChange(BaseModel):
    model_config = strict_example(question="Which answer is better?", instructions="Look at *facts* first.")

    # Either field may be left out. The command line allows longer texts than a form may send; such a text stays as it
    # is while the other field is edited.
    question: str | None = Field(
        None,
        max_length=MAX_QUESTION_LENGTH,
        pattern=QUESTION_PATTERN,
        description="One line. If left out, it stays.",
    )
    instructions: str | None = Field(
        None, max_length=MAX_INSTRUCTIONS_LENGTH, pattern=WITHOUT_NUL, description="Markdown. If left out, they stay."
    )
    number: int = Field(1, ge=1, le=MAX_QUESTIONS, description="The number of the question to change, 1 for the first.")


class WordingResponse(BaseModel):
    model_config = example(number=2)

    number: int = Field(description="The number of the new wording.")


# Errors


class Problem(BaseModel):
    model_config = example(detail="this pair was not shown to you")

    detail: str


ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": Problem, "description": text}
    for status, text in {
        400: "The request is not meant for this server, or is not proper HTTP.",
        401: "There is no invite, or it is no longer valid.",
        403: "The request comes from another site.",
        404: "No such pair was shown to you.",
        409: "Too late, or not the last answer.",
        410: "The campaign is over.",
        413: "The body is too large.",
        422: "The request does not match this contract.",
        503: "The database cannot be used now; the answer was not taken.",
    }.items()
}
