"""A judge that is a program: pairs handed to it, answers recorded under its name.

A judge gets a pair as `described` has it and says left, right, tie or skip: the word alone, or a JSON object with a
`choice`. It gets its pairs as people do, by leases, so that an answer which was taken is on disk, people and programs
answer the same campaign, and a judge that was stopped goes on where it was.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from pairsmith.campaign import counted, leases, people, planning
from pairsmith.campaign.database import CampaignError, Refused
from pairsmith.campaign.leases import Lease
from pairsmith.campaign.media_files import MEDIA, open_file
from pairsmith.campaign.schema import leases as leased
from pairsmith.campaign.schema import people as persons

if TYPE_CHECKING:
    from pairsmith.campaign.store import Store
    from pairsmith.campaign.wordings import Wording

CHOICES = ("left", "right", "tie", "skip")
SWAPPED = {"left": "right", "right": "left", "tie": "tie", "skip": "skip"}
LONGEST_WAIT = 60.0  # seconds between two tries, unless the judge asks for more

Ask = Callable[[dict[str, Any]], str]  # what is said of a pair


class Unavailable(Exception):
    """A judge that did not reply this time; `after` so many seconds it may."""

    def __init__(self, why: str, after: float | None = None) -> None:
        super().__init__(why)
        self.after = after


class Malformed(Exception):
    """A reply that is no answer."""


@dataclass
class Tally:
    """What a judge has done so far."""

    answers: int = 0
    ties: int = 0
    skipped: int = 0  # with those whose replies were malformed to the last
    malformed: int = 0  # replies that were no answers
    retried: int = 0  # tries that got no reply
    both: int = 0  # pairs asked on both sides
    changed: int = 0  # of which the answer went with the side


@dataclass
class Patience:
    """How often and how fast a judge is asked: so many tries a pair, so many requests a minute at most."""

    tries: int = 4
    per_minute: float | None = None
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], object] = time.sleep
    next_at: float = 0.0

    def wait_for_turn(self) -> None:
        """Sleep until the next request may go out."""
        if self.per_minute is None:
            return
        now = self.clock()
        if self.next_at > now:
            self.sleep(self.next_at - now)
        self.next_at = max(now, self.next_at) + 60 / self.per_minute

    def back_off(self, tried: int, after: float | None) -> None:
        """Sleep after a failure: 1, 2, 4 ... seconds, or as long as the judge asks for."""
        self.sleep(min(2.0 ** (tried - 1), LONGEST_WAIT) if after is None else min(after, 10 * LONGEST_WAIT))


def enrol(store: Store, name: str) -> int:
    """The program of this name; one that a person has is refused, so that nobody is taken for the other."""
    with store.writing() as connection:
        person = people.labeller_named(connection, people.check_name(name))
        found = connection.execute(sa.select(persons).where(persons.c.id == person)).one()
        held = connection.execute(sa.select(sa.func.count()).where(leased.c.person == person)).scalar_one()
        if not found.program and (found.hash is not None or held):
            raise CampaignError(f"{name!r} is one of the people of this campaign; name the judge otherwise with --name")
        connection.execute(persons.update().where(persons.c.id == person).values(program=True))
    return person


def judge(
    store: Store,
    person: int,
    ask: Ask,
    *,
    most: int | None = None,
    both_sides: bool = False,
    patience: Patience | None = None,
    tell: Callable[[Tally], object] = lambda _: None,
) -> Tally:
    """Have pairs judged until none is waiting, or until there are `most` answers, for which rounds are planned.

    A pair is asked on `both_sides` where that is wanted: where the answers agree they are one answer, and where the
    answer goes with the side it is a tie, or skipped in a campaign without ties. What is no answer to the last try is
    skipped. Whatever ends this, the pair that was being asked returns to the queue.
    """
    tally, patience = Tally(), patience or Patience()
    while most is None or tally.answers < most:
        lease = leases.next_pair(store, person)
        if lease is None and most is not None and planning.plan_round(store):
            lease = leases.next_pair(store, person)
        if lease is None:
            break
        began = patience.clock()
        try:
            choice = _choice(store, lease, ask, both_sides, patience, tally)
            taken = leases.answer(store, person, lease.token, choice, max(0.0, patience.clock() - began))
        except Refused as refused:
            if refused.status != 409:
                raise
            taken = False  # so late that somebody else has the pair
        except BaseException:
            leases.release(store, person, [lease.token])
            raise
        if not taken:  # or the same judge runs twice, and the other was faster
            continue
        tally.answers += choice != "skip"
        tally.ties += choice == "tie"
        tally.skipped += choice == "skip"
        tell(tally)
    return tally


def _choice(store: Store, lease: Lease, ask: Ask, both_sides: bool, patience: Patience, tally: Tally) -> str:
    """What the judge says of this pair, as it is leased."""
    wording = store.wording(lease.wording)
    one = _said(described(store, lease.left, lease.right, wording), ask, patience, tally)
    if not both_sides or one == "skip":
        return one
    other = SWAPPED[_said(described(store, lease.right, lease.left, wording), ask, patience, tally)]
    if other == "skip":
        return "skip"
    tally.both += 1
    if one == other:
        return one
    tally.changed += 1
    return "tie" if store.settings.ties else "skip"


def _said(pair: dict[str, Any], ask: Ask, patience: Patience, tally: Tally) -> str:
    """What the judge says of this pair, asked again where it does not reply, or replies what is no answer."""
    for tried in range(1, patience.tries + 1):
        patience.wait_for_turn()
        try:
            return read_reply(ask(pair), pair["choices"])
        except Malformed:
            tally.malformed += 1
        except Unavailable as error:
            tally.retried += 1
            if tried == patience.tries:
                raise CampaignError(f"no reply from the judge after {counted(tried, 'request')}: {error}") from None
            patience.back_off(tried, error.after)
    return "skip"


def read_reply(reply: str, choices: list[str]) -> str:
    """The choice in a reply: a word alone, or that of the last JSON object in it that has one."""
    bare = reply.strip().strip("\"'`*.").lower()
    if bare in choices:
        return bare
    found = None
    for match in re.finditer(r"\{", reply):
        try:
            content, _ = json.JSONDecoder().raw_decode(reply, match.start())
        except (ValueError, RecursionError):
            continue
        choice = content.get("choice") if isinstance(content, dict) else None
        if isinstance(choice, str) and choice.strip().lower() in choices:
            found = choice.strip().lower()
    if found is None:
        raise Malformed
    return found


def described(store: Store, left: int, right: int, wording: Wording) -> dict[str, Any]:
    """A pair as a program gets it; files by their absolute paths."""
    settings, names = store.settings, store.items.features.index
    prompt = store.prompt(left)

    def item(row: int) -> dict[str, Any]:
        return {"id": str(names[row]), "parts": [_part(store, kind, value) for kind, value in store.parts(row)]}

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
