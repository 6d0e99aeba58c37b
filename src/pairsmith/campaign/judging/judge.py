"""A judge that is a program: pairs handed to it, answers recorded under its name.

A judge gets a pair as `described` has it and says left, right, tie or skip: the word alone, or a JSON object with a
`choice`. It gets its pairs as people do, by leases, so that an answer which was taken is on disk, people and programs
answer the same campaign, and a judge that was stopped goes on where it was.

Several pairs can be asked at a time, each in a thread that does nothing but ask: pairs are handed out and answers taken
in the thread that called.

A reply without a verdict is unusable. A pair that gets no other is skipped, but only once another reply shows that the
judge works; after some unusable replies in a row, of whichever pairs, the judge is given up.
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
from pairsmith.campaign.people import invites as people
from pairsmith.campaign.planning import planner as planning
from pairsmith.campaign.store.database import CampaignError, Refused
from pairsmith.campaign.store.media import MEDIA, open_file
from pairsmith.campaign.store.raters import rater_named
from pairsmith.campaign.store.schema import leases as leased
from pairsmith.campaign.store.schema import people as persons

if TYPE_CHECKING:
    from pairsmith.campaign.store.store import Store
    from pairsmith.campaign.store.wordings import Wording

CHOICES = ("left", "right", "tie", "skip")
SWAPPED = {"left": "right", "right": "left", "tie": "tie", "skip": "skip"}
LONGEST_WAIT = 60.0  # seconds between two tries, unless the judge asks for more
LOOK_UP = 1.0  # seconds after which who waits for a reply looks whether it has been interrupted
EXCERPT = 300  # characters of what a judge said that an error message quotes
_CHOICE_MEMBER = re.compile(r'[{,]\s*+"choice"\s*+:\s*+"\s*+(\w++)\s*+"(?=\s*+[,}])')

Ask = Callable[[dict[str, Any]], str]  # what is said of a pair


class Unavailable(Exception):
    """A judge that did not reply this time; `after` so many seconds it may."""

    def __init__(self, why: str, after: float | None = None) -> None:
        super().__init__(why)
        self.after = after


class Malformed(Exception):
    """A reply that is no answer, and why."""


class GaveUp(CampaignError):
    """A judge whose replies are unusable."""


class Stopped(Exception):
    """Nobody waits for the reply any more."""


@dataclass
class Tally:
    """What a judge has done so far."""

    answers: int = 0
    ties: int = 0
    skipped: int = 0  # with those whose replies were malformed to the last
    usable: int = 0  # replies
    malformed: int = 0  # replies that were no answers
    retried: int = 0  # tries that got no reply
    both: int = 0  # pairs asked on both sides
    changed: int = 0  # of which the answer went with the side
    late: int = 0  # pairs that somebody else had answered when the reply came

    def __add__(self, other: Tally) -> Tally:
        return Tally(*(one + more for one, more in zip(astuple(self), astuple(other), strict=True)))


@dataclass
class Patience:
    """How often and how fast a judge is asked: so many tries a pair, and of all threads so many requests a minute.

    And when it is given up: after so many unusable replies in a row, in the order in which all threads get them.
    """

    tries: int = 4
    per_minute: float | None = None
    give_up_after: int = 5
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], object] = time.sleep
    next_at: float = 0.0  # when the next request may go out
    unusable: int = 0  # replies since the last usable one
    problem: Malformed | None = None  # of the last of these
    stopped: bool = False  # then none goes out any more
    turn: threading.Lock = field(default_factory=threading.Lock)

    def wait_for_turn(self) -> None:
        """Sleep until the next request may go out."""
        with self.turn:
            now = self.clock()
            mine = max(now, self.next_at)
            self.next_at = mine + (0.0 if self.per_minute is None else 60 / self.per_minute)
        if mine > now:
            self.sleep(mine - now)
        if self.stopped:
            raise Stopped

    def take_note(self, problem: Malformed | None) -> None:
        """Count the unusable replies in a row; raise GaveUp where it is one too many."""
        with self.turn:
            self.unusable, self.problem = (0 if problem is None else self.unusable + 1), problem
            if self.unusable >= self.give_up_after:
                raise self.gave_up()

    def gave_up(self) -> GaveUp:
        """Return the error that says why the judge is given up."""
        more = ", or allow more such replies with --give-up-after" if self.unusable >= self.give_up_after else ""
        return GaveUp(
            f"no usable reply from the judge to {counted(self.unusable, 'request')} in a row: {self.problem}; mend the"
            f" judge and run the same command again, which asks these pairs{more}"
        )

    def back_off(self, tried: int, after: float | None) -> None:
        """Sleep after a failure: 1, 2, 4 ... seconds, or as long as the judge asks for, which then holds for all."""
        wait = min(2.0 ** (tried - 1), LONGEST_WAIT) if after is None else min(after, 10 * LONGEST_WAIT)
        if after is not None:
            with self.turn:
                self.next_at = max(self.next_at, self.clock() + wait)
        self.sleep(wait)


def enrol(store: Store, name: str) -> int:
    """Return the program of this name. A name that a person has is refused, and so is one that looks like another."""
    name = people.check_name(name)
    with store.writing() as connection:
        found = connection.execute(sa.select(persons).where(persons.c.name == name, persons.c.role == "rater")).first()
        if found is not None and not found.program:
            leases_of = sa.select(leased.c.id).where(leased.c.person == found.id)
            if found.hash is not None or connection.execute(leases_of).first() is not None:
                raise CampaignError(
                    f"{name!r} is one of the people of this campaign; name the judge otherwise with --name"
                )
        people.check_free(connection, name)
        person = rater_named(connection, name)
        connection.execute(persons.update().where(persons.c.id == person).values(program=True))
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
    """Have pairs judged until none is waiting, or until there are `most` answers, for which rounds are planned.

    A pair is asked on `both_sides` where that is wanted: where the answers agree they are one answer, and where the
    answer goes with the side it is a tie, or skipped in a campaign without ties. What is no answer to the last try is
    skipped, once the judge is known to work. `jobs` pairs are asked at a time. Whatever ends this, the pairs that were
    being asked return to the queue. Raises GaveUp where the judge does not work.
    """
    tally, patience = Tally(), patience or Patience()
    asked: dict[str, float] = {}  # leases of the pairs that are being asked, and since when
    unjudged: dict[str, float] = {}  # leases of those to be skipped if the judge works, and how long they took
    replies: Queue[_Reply] = Queue()
    planned, kept_at = most is not None, patience.clock()
    last: list[str] = []  # the last lease: questions of its pair may be left
    try:
        while True:
            while len(asked) < jobs and (most is None or tally.answers + len(asked) < most):
                held = [*asked, *unjudged]
                lease, planned = _another(store, person, held, jobs + len(unjudged), planned)
                if lease is None:
                    break
                asked[lease.token], last = patience.clock(), [lease.token]
                work = lease.token, _sides(store, lease, both_sides), ask, store.settings.ties, patience, replies
                threading.Thread(target=_ask, args=work, daemon=True).start()
            if not asked and unjudged:
                if not tally.usable:
                    raise patience.gave_up()
                tally += _skipped(store, person, unjudged)
                continue
            if not asked:
                leases.release(store, person, last)
                return tally
            if patience.clock() - kept_at >= store.settings.lease_seconds / 3:  # what takes long stays the judge's
                leases.renew(store, person, [*asked, *unjudged])
                kept_at = patience.clock()
            # A signal that comes just before a wait begins does not end it, so no wait is long.
            try:
                reply = replies.get(timeout=min(LOOK_UP, store.settings.lease_seconds / 3))
            except Empty:
                continue
            seconds = patience.clock() - asked[reply.token]
            if reply.tally.usable:
                tally += _skipped(store, person, unjudged)
            if isinstance(reply.choice, Malformed):
                unjudged[reply.token] = seconds
                tally += reply.tally
            else:
                tally += _taken(store, person, reply, seconds)
            del asked[reply.token]
            tell(tally)
    except BaseException:
        patience.stopped = True
        leases.release(store, person, [*asked, *unjudged, *last])
        raise


@dataclass
class _Reply:
    """What a thread found out about the pair of a lease."""

    token: str
    choice: str | BaseException  # why there is none
    tally: Tally  # of the requests


def _another(store: Store, person: int, holding: list[str], at_once: int, planned: bool) -> tuple[Lease | None, bool]:
    """Another pair for the judge, None where there is none; and whether rounds can be planned for more."""
    lease = leases.next_pair(store, person, holding, at_once=at_once)
    if lease is not None and lease.token in holding:  # it had expired, and so was up for anybody
        return None, planned
    if lease is not None or not planned:
        return lease, planned
    with store.reading() as connection:
        course = goals.course(connection, store.now(), person)
    if course.over is not None or course.room < 1:  # what is being given may yet be skipped
        return None, planned
    if planning.plan_round(store):
        lease = leases.next_pair(store, person, holding, at_once=at_once)
    return lease, lease is not None


def _sides(store: Store, lease: Lease, both: bool) -> list[dict[str, Any]]:
    """The pair as it is leased, and then on the other side where both are wanted."""
    wording = store.wording(lease.wording, lease.question)
    turned = [described(store, lease.right, lease.left, wording)] if both else []
    return [described(store, lease.left, lease.right, wording), *turned]


def _ask(
    token: str, sides: list[dict[str, Any]], ask: Ask, ties: bool, patience: Patience, replies: Queue[_Reply]
) -> None:
    """Find out what the judge says of a pair. A thread does only this: it does not know the campaign."""
    tally = Tally()
    choice: str | BaseException
    try:
        choice = _choice(sides, ask, ties, patience, tally)
    except BaseException as error:  # whatever it is, it is for the thread that waits
        choice = error
    replies.put(_Reply(token, choice, tally))


def _skipped(store: Store, person: int, unjudged: dict[str, float]) -> Tally:
    """Skip these pairs, now that the judge is known to work, and forget them."""
    tally = Tally()
    while unjudged:
        token, seconds = unjudged.popitem()
        tally += _taken(store, person, _Reply(token, "skip", Tally()), seconds)
    return tally


def _taken(store: Store, person: int, reply: _Reply, seconds: float) -> Tally:
    """Put the answer on disk, and count it; raise where there is none."""
    tally, choice = reply.tally, reply.choice
    if isinstance(choice, BaseException):
        raise choice
    try:
        counts = leases.answer(store, person, reply.token, choice, max(0.0, seconds), changed=tally.changed > 0)
    except Refused as refused:
        if refused.status not in (409, 410):
            raise
        counts = False  # others were faster when the last answers of a budget were being given, or it is over
    if not counts:
        tally.late += 1
    elif choice == "skip":
        tally.skipped += 1
    else:
        tally.answers += 1
        tally.ties += choice == "tie"
    return tally


def _choice(sides: list[dict[str, Any]], ask: Ask, ties: bool, patience: Patience, tally: Tally) -> str:
    """What the judge says of this pair, as it is leased."""
    one = _said(sides[0], ask, patience, tally)
    if len(sides) == 1 or one == "skip":
        return one
    other = SWAPPED[_said(sides[1], ask, patience, tally)]
    if other == "skip":
        return "skip"
    tally.both += 1
    if one == other:
        return one
    tally.changed += 1
    return "tie" if ties else "skip"


def _said(pair: dict[str, Any], ask: Ask, patience: Patience, tally: Tally) -> str:
    """Return what the judge says of this pair, asked again where it does not reply, or replies what is no answer."""
    tried = 0
    while True:
        tried += 1
        patience.wait_for_turn()
        try:
            verdict = read_reply(ask(pair), pair["choices"])
        except Malformed as problem:
            tally.malformed += 1
            patience.take_note(problem)
            if tried == patience.tries:
                raise
        except Unavailable as error:
            tally.retried += 1
            if tried == patience.tries:
                raise CampaignError(f"no reply from the judge after {counted(tried, 'request')}: {error}") from None
            patience.back_off(tried, error.after)
        else:
            tally.usable += 1
            patience.take_note(None)
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
    said = [found[1].lower() for found in _CHOICE_MEMBER.finditer(reply)]
    verdicts = [choice for choice in said if choice in choices]
    if not verdicts:
        raise Malformed(f"{excerpt(reply)!r} has no verdict, which is one of {', '.join(choices)}")
    return verdicts[-1]


def excerpt(text: str) -> str:
    """Return the beginning of a text of any length, on one line, for an error message."""
    words = " ".join(text[: 10 * EXCERPT].split())
    return words if len(words) <= EXCERPT else f"{words[:EXCERPT]}..."


def described(store: Store, left: int, right: int, wording: Wording) -> dict[str, Any]:
    """A pair as a program gets it; files by their absolute paths."""
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
    open_file(folder, value, kind).close()  # or the error that this is no file to hand to anybody
    return {"kind": kind, "path": os.path.join(folder, value)}
