"""Let a judge, which is a program, answer pairs under its own name.

A judge gets a pair as `described` returns it, and replies left, right, tie or skip: the word alone, or a JSON object
with a `choice`. It gets its pairs by leases, as people do. So answers are on disk as soon as they are taken, people and
programs can answer the same campaign, and a judge that was stopped continues where it was.

Several pairs can be asked at a time, each on a thread that only asks. The calling thread hands out pairs and stores
answers.

A reply without a verdict is unusable. A pair that gets only unusable replies is skipped, but not before another reply
shows that the judge works. After several unusable replies in a row, on whatever pairs, the judge is given up.
"""

from __future__ import annotations

import json
import os
import re
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import astuple, dataclass, field
from queue import Empty, Queue
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from pairsmith.campaign import counted
from pairsmith.campaign.answering import goals, leases
from pairsmith.campaign.answering.leases import Lease
from pairsmith.campaign.people import invites
from pairsmith.campaign.planning.planner import plan_round
from pairsmith.campaign.store.database import CampaignError, Refused
from pairsmith.campaign.store.media import MEDIA, open_file
from pairsmith.campaign.store.raters import find_or_add_rater
from pairsmith.campaign.store.schema import leases as leases_table
from pairsmith.campaign.store.schema import people

if TYPE_CHECKING:
    from pairsmith.campaign.store.store import Store
    from pairsmith.campaign.store.wordings import Wording

CHOICES = ("left", "right", "tie", "skip")
SWAPPED = {"left": "right", "right": "left", "tie": "tie", "skip": "skip"}
MAX_BACKOFF_SECONDS = 60.0  # between two tries, unless the judge asks for more
MAX_SECONDS_BETWEEN_CHECKS = 1.0  # for an interruption, while the calling thread waits for a reply
MAX_EXCERPT_CHARACTERS = 300  # of a reply, in an error message
_CHOICE_MEMBER = re.compile(r'[{,]\s*+"choice"\s*+:\s*+"\s*+(\w++)\s*+"(?=\s*+[,}])')

Ask = Callable[[dict[str, Any]], str]  # from a described pair to the reply


class Unavailable(Exception):
    """Raised if a judge did not reply this time; it may reply `after` this many seconds."""

    def __init__(self, why: str, after: float | None = None) -> None:
        super().__init__(why)
        self.after = after


class Malformed(Exception):
    """Raised if a reply has no verdict; the message says why."""


class GaveUp(CampaignError):
    """Raised if a judge is given up because its replies are unusable."""


class Stopped(Exception):
    """Raised in a thread whose reply nobody waits for any more."""


@dataclass
class Tally:
    """What a judge has done so far."""

    answers: int = 0
    ties: int = 0
    skipped: int = 0  # including the pairs that got only malformed replies
    usable: int = 0  # replies
    malformed: int = 0  # replies without a verdict
    retried: int = 0  # requests without a reply
    both: int = 0  # pairs asked on both sides
    changed: int = 0  # pairs whose answer changed with the side
    late: int = 0  # pairs that somebody else had answered before the reply came

    def __add__(self, other: Tally) -> Tally:
        return Tally(*(one + more for one, more in zip(astuple(self), astuple(other), strict=True)))


@dataclass
class Patience:
    """How often and how fast a judge is asked, and when it is given up; all threads share one."""

    tries: int = 4  # per pair and side
    per_minute: float | None = None  # requests of all threads together
    give_up_after: int = 5  # unusable replies in a row, in the order in which all threads get them
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], object] = time.sleep
    next_at: float = 0.0  # when the next request may go out
    unusable: int = 0  # replies since the last usable one
    problem: Malformed | None = None  # with the last of these replies
    stopped: bool = False  # if so, no more requests go out
    turn: threading.Lock = field(default_factory=threading.Lock)

    def wait_for_turn(self) -> None:
        """Sleep until the next request may go out."""
        with self.turn:
            now = self.clock()
            own_turn = max(now, self.next_at)
            self.next_at = own_turn + (0.0 if self.per_minute is None else 60 / self.per_minute)
        if own_turn > now:
            self.sleep(own_turn - now)
        if self.stopped:
            raise Stopped

    def count_reply(self, problem: Malformed | None) -> None:
        """Count the unusable replies in a row, and raise GaveUp if there are too many."""
        with self.turn:
            self.unusable, self.problem = (0 if problem is None else self.unusable + 1), problem
            if self.unusable >= self.give_up_after:
                raise self.gave_up()

    def gave_up(self) -> GaveUp:
        """Return the error that says why the judge is given up."""
        or_allow_more = (
            ", or allow more such replies with --give-up-after" if self.unusable >= self.give_up_after else ""
        )
        return GaveUp(
            f"no usable reply from the judge to {counted(self.unusable, 'request')} in a row: {self.problem}; fix the"
            f" judge and run the same command again, which asks these pairs{or_allow_more}"
        )

    def back_off(self, tried: int, after: float | None) -> None:
        """Sleep after a failure: 1, 2, 4 ... seconds, or as long as the judge asks for, and then in all threads."""
        wait = min(2.0 ** (tried - 1), MAX_BACKOFF_SECONDS) if after is None else min(after, 10 * MAX_BACKOFF_SECONDS)
        if after is not None:
            with self.turn:
                self.next_at = max(self.next_at, self.clock() + wait)
        self.sleep(wait)


def enrol(store: Store, name: str) -> int:
    """Return the program with this name, added if it is new; refuse a person's name, or one that looks like another."""
    name = invites.check_name(name)
    with store.writing() as connection:
        row = connection.execute(sa.select(people).where(people.c.name == name, people.c.role == "rater")).first()
        if row is not None and not row.program:
            own_leases = sa.select(leases_table.c.id).where(leases_table.c.person == row.id)
            if row.hash is not None or connection.execute(own_leases).first() is not None:
                raise CampaignError(
                    f"{name!r} is one of the people of this campaign; choose another name for the judge with --name"
                )
        invites.check_free(connection, name)
        person = find_or_add_rater(connection, name)
        connection.execute(people.update().where(people.c.id == person).values(program=True))
    return person


def judge(
    store: Store,
    person: int,
    ask: Ask,
    *,
    most: int | None = None,
    both_sides: bool = False,
    jobs: int = 1,
    patience: Patience | None = None,
    tell: Callable[[Tally], object] = lambda _: None,
) -> Tally:
    """Let a judge answer pairs until no pair is left, or until it has given `most` answers.

    However this ends, the pairs that were being asked return to the queue.

    Parameters
    ----------
    person : the judge, as returned by `enrol`.
    ask : returns the judge's reply to a described pair.
    most : how many answers the judge gives; rounds are planned for them. By default it answers the planned pairs.
    both_sides : whether each pair is also asked with its sides swapped. Two replies that agree are one answer. If the
        reply changes with the side, the answer is a tie, or a skip in a campaign without ties.
    jobs : how many pairs are asked at a time.
    patience : the limits of requests and tries. A pair without a verdict after the last try is skipped, once the judge
        is known to work.
    tell : called with the tally after each pair.

    Raises
    ------
    GaveUp
        If the judge does not give usable replies.
    """
    tally, patience = Tally(), patience or Patience()
    pending: dict[str, float] = {}  # leases of the pairs that are being asked, and when each was asked
    unjudged: dict[str, float] = {}  # leases of pairs to skip if the judge works, and the seconds that each took
    replies: Queue[_Reply] = Queue()
    may_plan, renewed_at = most is not None, patience.clock()
    last: list[str] = []  # the last lease: its pair may have more questions
    try:
        while True:
            while len(pending) < jobs and (most is None or tally.answers + len(pending) < most):
                held = [*pending, *unjudged]
                lease, may_plan = _next_lease(store, person, held, jobs + len(unjudged), may_plan)
                if lease is None:
                    break
                pending[lease.token], last = patience.clock(), [lease.token]
                arguments = lease.token, _sides(store, lease, both_sides), ask, store.settings.ties, patience, replies
                threading.Thread(target=_ask, args=arguments, daemon=True).start()
            if not pending and unjudged:
                if not tally.usable:
                    raise patience.gave_up()
                tally += _skip(store, person, unjudged)
                continue
            if not pending:
                leases.release(store, person, last)
                return tally
            if patience.clock() - renewed_at >= store.settings.lease_seconds / 3:  # slow replies keep their pairs
                leases.renew(store, person, [*pending, *unjudged])
                renewed_at = patience.clock()
            # A signal that arrives just before a wait begins does not interrupt it, so every wait is short.
            try:
                reply = replies.get(timeout=min(MAX_SECONDS_BETWEEN_CHECKS, store.settings.lease_seconds / 3))
            except Empty:
                continue
            seconds = patience.clock() - pending[reply.token]
            if reply.tally.usable:
                tally += _skip(store, person, unjudged)
            if isinstance(reply.choice, Malformed):
                unjudged[reply.token] = seconds
                tally += reply.tally
            else:
                tally += _store_answer(store, person, reply, seconds)
            del pending[reply.token]
            tell(tally)
    except BaseException:
        patience.stopped = True
        leases.release(store, person, [*pending, *unjudged, *last])
        raise


@dataclass
class _Reply:
    """What a thread learned about the pair of a lease."""

    token: str
    choice: str | BaseException  # the error, if there is no choice
    tally: Tally  # of the thread's requests


def _next_lease(
    store: Store, person: int, holding: list[str], at_once: int, may_plan: bool
) -> tuple[Lease | None, bool]:
    """Return another pair for the judge, or None, and whether rounds may still be planned for more pairs."""
    lease = leases.next_pair(store, person, holding, at_once=at_once)
    if lease is not None and lease.token in holding:  # it had expired, so that anybody could get it
        return None, may_plan
    if lease is not None or not may_plan:
        return lease, may_plan
    with store.reading() as connection:
        status = goals.status(connection, store.now(), person)
    if status.over is not None or status.room < 1:  # answers that are being given may still become skips
        return None, may_plan
    if plan_round(store):
        lease = leases.next_pair(store, person, holding, at_once=at_once)
    return lease, lease is not None


def _sides(store: Store, lease: Lease, both: bool) -> list[dict[str, Any]]:
    """Return the pair as it is leased, and also with its sides swapped if both are wanted."""
    wording = store.wording(lease.wording, lease.question)
    swapped = [described(store, lease.right, lease.left, wording)] if both else []
    return [described(store, lease.left, lease.right, wording), *swapped]


def _ask(
    token: str, sides: list[dict[str, Any]], ask: Ask, ties: bool, patience: Patience, replies: Queue[_Reply]
) -> None:
    """Ask the judge about a pair, and put its reply into the queue. This runs on a thread, without the campaign."""
    tally = Tally()
    choice: str | BaseException
    try:
        choice = _ask_sides(sides, ask, ties, patience, tally)
    except BaseException as error:  # the thread that waits handles all errors
        choice = error
    replies.put(_Reply(token, choice, tally))


def _skip(store: Store, person: int, unjudged: dict[str, float]) -> Tally:
    """Skip these pairs, now that the judge is known to work, and clear them."""
    tally = Tally()
    while unjudged:
        token, seconds = unjudged.popitem()
        tally += _store_answer(store, person, _Reply(token, "skip", Tally()), seconds)
    return tally


def _store_answer(store: Store, person: int, reply: _Reply, seconds: float) -> Tally:
    """Store the answer and count it; raise the error if there is none."""
    tally, choice = reply.tally, reply.choice
    if isinstance(choice, BaseException):
        raise choice
    try:
        counts = leases.answer(store, person, reply.token, choice, max(0.0, seconds), changed=tally.changed > 0)
    except Refused as refused:
        if refused.status not in (409, 410):
            raise
        counts = False  # the campaign is over, or others gave the last answers of a budget first
    if not counts:
        tally.late += 1
    elif choice == "skip":
        tally.skipped += 1
    else:
        tally.answers += 1
        tally.ties += choice == "tie"
    return tally


def _ask_sides(sides: list[dict[str, Any]], ask: Ask, ties: bool, patience: Patience, tally: Tally) -> str:
    """Return the judge's choice for the pair as it is leased, from one or two sides."""
    one = _ask_repeatedly(sides[0], ask, patience, tally)
    if len(sides) == 1 or one == "skip":
        return one
    other = SWAPPED[_ask_repeatedly(sides[1], ask, patience, tally)]
    if other == "skip":
        return "skip"
    tally.both += 1
    if one == other:
        return one
    tally.changed += 1
    return "tie" if ties else "skip"


def _ask_repeatedly(pair: dict[str, Any], ask: Ask, patience: Patience, tally: Tally) -> str:
    """Return the judge's choice for this pair; ask again if there is no reply, or a reply without a verdict."""
    tried = 0
    while True:
        tried += 1
        patience.wait_for_turn()
        try:
            verdict = read_reply(ask(pair), pair["choices"])
        except Malformed as problem:
            tally.malformed += 1
            patience.count_reply(problem)
            if tried == patience.tries:
                raise
        except Unavailable as error:
            tally.retried += 1
            if tried == patience.tries:
                raise CampaignError(f"no reply from the judge after {counted(tried, 'request')}: {error}") from None
            patience.back_off(tried, error.after)
        else:
            tally.usable += 1
            patience.count_reply(None)
            return verdict


def read_reply(reply: str, choices: list[str]) -> str:
    """Return the choice in a reply: the word alone, or the member `choice` of a JSON object.

    If there are several objects, the last one that has a choice counts. A regular expression finds it in linear time;
    parsing each object from its brace on would take quadratic time.
    """
    bare = reply.strip().strip("\"'`*.").lower()
    if bare in choices:
        return bare
    with suppress(ValueError, RecursionError):  # the reply holds one object, whose own choice counts before nested ones
        whole = json.loads(reply[reply.find("{") : reply.rfind("}") + 1])
        if isinstance(whole, dict) and str(whole.get("choice")).strip(" .").lower() in choices:
            return str(whole["choice"]).strip(" .").lower()
    members = [match[1].lower() for match in _CHOICE_MEMBER.finditer(reply)]
    verdicts = [choice for choice in members if choice in choices]
    if not verdicts:
        raise Malformed(f"{excerpt(reply)!r} has no verdict, which is one of {', '.join(choices)}")
    return verdicts[-1]


def excerpt(text: str) -> str:
    """Return the beginning of a text of any length, on one line, for an error message."""
    words = " ".join(text[: 10 * MAX_EXCERPT_CHARACTERS].split())
    return words if len(words) <= MAX_EXCERPT_CHARACTERS else f"{words[:MAX_EXCERPT_CHARACTERS]}..."


def described(store: Store, left: int, right: int, wording: Wording) -> dict[str, Any]:
    """Return a pair as a program gets it, with files by their absolute paths."""
    settings = store.settings
    prompt = store.prompt(left)

    def item(row: int) -> dict[str, Any]:
        return {"id": store.name(row), "parts": [_part(store, kind, value) for kind, value in store.parts(row)]}

    return {
        "question": wording.question,
        "instructions": wording.instructions,
        "choices": [choice for choice in CHOICES if choice != "tie" or settings.ties],
        "prompt": None if prompt is None else {"kind": settings.prompt_kind, "text": prompt},
        "left": item(left),
        "right": item(right),
    }


def _part(store: Store, kind: str, value: str) -> dict[str, str]:
    if kind not in MEDIA:
        return {"kind": kind, "text": value}
    folder = store.settings.folder or ""
    open_file(folder, value, kind).close()  # raises an error if this file must not be handed out
    return {"kind": kind, "path": os.path.join(folder, value)}
