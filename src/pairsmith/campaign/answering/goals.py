"""When a campaign is over: its goals, and whether it is open, paused or closed.

A campaign is over when so many answers were given (`answers`, a budget), when the doubt of the last report is below a
bound (`until`), at a time (`deadline`), or when an organiser closes it; for one person also after so many answers of
their own (`quota`). Then no more pairs are handed out. Those that are out may still be answered, but after a close or
a deadline each person gives one answer more (`leases.answer`). Of several questions the answer to each is an answer,
and doubt is the largest of them all.

A budget counts the answers that count everywhere else: not those that were taken back or struck out, nor those of
excluded people. A quota counts what its person gave here, excluded or not. Each open lease reserves one answer of both
until it expires, so neither can be overspent by answering.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Any, Self

import sqlalchemy as sa

from pairsmith.campaign import counted
from pairsmith.campaign.answering.corrections import left_out
from pairsmith.campaign.store import statements as sql
from pairsmith.campaign.store.changes import log
from pairsmith.campaign.store.database import Refused
from pairsmith.campaign.store.schema import SECOND, campaign

if TYPE_CHECKING:
    from pairsmith.campaign.store.store import Store

EARLIEST = 40  # answers: of a report of fewer, doubt is not believed
NONE = "none"  # takes a goal away
MOST = 10**9  # answers that a goal may be
LAST_YEAR = 2255  # of deadlines, as of all times that are read
# What an organiser does: the states in which it can be done, and the one after it.
ACTIONS = {
    "pause": (("open",), "paused"),
    "resume": (("paused",), "open"),
    "close": (("open", "paused"), "closed"),
    "reopen": (("closed",), "open"),
}


_MAY_BE: dict[str, Callable[[Any], bool]] = {  # what can be stored of each goal
    "answers": lambda value: type(value) is int and 1 <= value <= MOST,
    "until": lambda value: type(value) is float and 0 < value < 0.5,
    "deadline": lambda value: type(value) is int and 0 <= value < 9_100_000_000 * SECOND,  # of LAST_YEAR
    "quota": lambda value: type(value) is int and 1 <= value <= MOST,
}


@dataclass(frozen=True)
class Goals:
    """What ends a campaign; None where it is not set."""

    answers: int | None = None  # of everybody
    until: float | None = None  # the doubt below which it is over
    deadline: int | None = None  # a time of the tables
    quota: int | None = None  # answers of each person who has no quota of their own

    @classmethod
    def from_stored(cls, stored: Any) -> Self:
        """From the JSON object of the database, of which a foreign one may hold anything."""
        found = stored if isinstance(stored, Mapping) else {}
        return cls(**{name: found[name] for name, may_be in _MAY_BE.items() if may_be(found.get(name))})

    def to_stored(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if value is not None}


@dataclass(frozen=True)
class Course:
    """How far a campaign is, for one person or for nobody in particular."""

    state: str
    goals: Goals
    quota: int | None  # of this person
    gold_rate: float
    over: str | None  # why no more pairs are handed out to them: a state, or the name of a goal
    budget_room: int  # answers to the budget that are neither given nor reserved by a lease; MOST without a budget
    quota_room: int  # the same of this person's quota
    wording: int | None  # the number of the question and instructions as they are now; None: the first

    @property
    def room(self) -> int:
        """How many more answers can be reserved for this person."""
        return min(self.budget_room, self.quota_room)


def course(connection: sa.Connection, now: int, person: int | None = None) -> Course:
    """How far the campaign is now."""
    found = connection.execute(sql.COURSE, {"person": person}).one()
    goals = Goals.from_stored(found.goals)
    quota = goals.quota if found.quota is None else found.quota
    over = None if found.state == "open" else found.state
    if over is None and goals.deadline is not None and now >= goals.deadline:
        over = "deadline"
    if over is None and goals.until is not None and _doubt(found) < goals.until:
        over = "until"
    room = {"answers": MOST, "quota": MOST}
    for name, goal, counts in (("answers", goals.answers, sql.GIVEN), ("quota", quota, sql.GIVEN_BY)):
        if goal is not None and (name == "answers" or person is not None):
            given, reserved = connection.execute(counts, {"now": now, "person": person}).one()
            room[name] = goal - given - reserved
            if over is None and given >= goal:
                over = name
    gold_rate = found.gold_rate or 0.0
    return Course(found.state, goals, quota, gold_rate, over, room["answers"], room["quota"], found.wording)


def ended_at(connection: sa.Connection, now: int) -> int | None:
    """Return when the campaign was closed or its deadline passed; None while neither has happened."""
    found = connection.execute(sql.END).one()
    ends = [found.closed_at or 0] if found.state == "closed" else []
    deadline = Goals.from_stored(found.goals).deadline
    if deadline is not None and deadline <= now:
        ends.append(deadline)
    return min(ends, default=None)


def _doubt(found: Any) -> float:
    """Return the doubt of the last report; 1 if there is none, if it is of too few answers, or after a correction.

    `found` is a row of `statements.COURSE`.
    """
    reported = found.doubt
    if not isinstance(reported, Mapping) or reported.get("doubt") is None or reported["answers"] < EARLIEST:
        return 1.0
    return 1.0 if _is_corrected(found) else float(reported["doubt"])


def _is_corrected(found: Any) -> bool:
    """Return whether answers or items were corrected since the last report."""
    return isinstance(found.doubt, Mapping) and found.doubt.get("revision", 0) != found.revision


def _doubt_so_far(found: Any) -> str:
    known = _doubt(found)
    if known < 1:
        return f"{known:.1%} now"
    return "not known since the last correction" if _is_corrected(found) else f"known after {EARLIEST} answers"


def ending(store: Store, person: int) -> str | None:
    """Why this person, for whom there is no pair now, gets no more; None where pairs may come.

    Besides what `course` says: "exhausted" where every possible pair has all its answers, and "yours" where every
    possible pair is planned and what is left of them can only be answered by others.
    """
    with store.reading() as connection:
        over = course(connection, store.now(), person).over
        if over is not None:
            return over
        possible = store.possible_pairs(connection)
        for planned in (sql.PAIRS, sql.PAIRS_WITHIN_GROUPS):  # the second takes longer, and is seldom needed
            if connection.execute(planned).scalar_one() < possible:
                return None
        repeats = store.settings.repeats
        may_come = [sql.LEFT_TO[repeats], *([sql.MAY_BE_REPEATED[repeats]] if store.settings.asks_again else [])]
        if any(connection.execute(pair, {"person": person}).first() is not None for pair in may_come):
            return None
        return "yours" if connection.execute(sql.LEFT).first() is not None else "exhausted"


def is_over(store: Store) -> bool:
    """Whether nobody is handed out pairs any more, or while it is paused."""
    with store.reading() as connection:
        return course(connection, store.now()).over is not None


def act(store: Store, action: str, person: int | None = None) -> str:
    """Pause, resume, close or reopen a campaign; its state then. `person` is who does it, None for a command."""
    before, after = ACTIONS[action]
    with store.writing() as connection:
        state = connection.execute(sa.select(campaign.c.state)).scalar_one()
        if state not in before:
            possible = " or ".join(name for name, (states, _) in ACTIONS.items() if state in states)
            raise Refused(409, f"the campaign is {state}; what can be done is {possible}")
        connection.execute(campaign.update().values(state=after))
        log(connection, store.now(), person, action)
    return after


def change(store: Store, **given: str | None) -> Goals:
    """Set the goals that are given, as `revised` takes them; the goals then."""
    with store.writing() as connection:
        before = Goals.from_stored(connection.execute(sa.select(campaign.c.goals)).scalar_one())
        after = revised(before, store.now(), **given)
        if after != before:
            connection.execute(campaign.update().values(goals=after.to_stored()))
            log(connection, store.now(), None, "goals", before=before.to_stored(), after=after.to_stored())
    return after


def revised(before: Goals, now: int, **given: str | None) -> Goals:
    """Goals with those changed that are given, as somebody writes them: 500, 'doubt < 10%', 2026-12-01, or none."""
    said = {name: text.strip() for name, text in given.items() if text is not None}
    found = {name: None if text.lower() == NONE else _READ[name](name, text) for name, text in said.items()}
    deadline = found.get("deadline")
    if deadline is not None and deadline <= now:
        raise ValueError(f"--deadline {said['deadline']!r} is past: it is {shown_time(now)} now; choose a later one")
    return replace(before, **found)


def _count(name: str, text: str) -> int:
    number = int(text) if text.isascii() and text.isdecimal() and len(text) <= 10 else 0
    if not 1 <= number <= MOST:
        raise ValueError(f"--{name} must be a number of answers from 1 to {MOST:,}, or {NONE}, got {text!r}")
    return number


def _bound(name: str, text: str) -> float:
    found = re.fullmatch(r"doubt\s*<\s*(\d{1,9}(?:\.\d{1,9})?)\s*(%?)", text, re.ASCII)
    if found is None:
        raise ValueError(f"--{name} {text!r} is not of the form 'doubt < 10%'; doubt is that of the dashboard")
    bound = float(found[1]) / (100 if found[2] else 1)
    if not 0 < bound < 0.5:
        raise ValueError(
            f"--{name} {text!r}: doubt is the chance that two items stand in the wrong order, and falls from 50%; name"
            " a bound between 0% and 50%, such as 'doubt < 10%'"
        )
    return bound


def _moment(name: str, text: str) -> int:
    """A time of the tables. A date means the end of that day; without a time zone it is that of this machine."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(
            f"--{name} {text!r} is no time; write 2026-12-01 for the end of that day, or 2026-12-01T18:00, in the time"
            " zone of this machine, or with one: 2026-12-01T18:00+01:00"
        ) from None
    if moment.year > LAST_YEAR:
        raise ValueError(f"--{name} {text!r} is after the year {LAST_YEAR}; choose an earlier time, or {NONE}")
    if moment.year < 1971:  # of which not every machine knows its time zone
        return 0
    if _is_date(text):
        moment += timedelta(days=1)
    return round(moment.timestamp() * SECOND)


def _is_date(text: str) -> bool:
    """Whether this is a day and no time of it."""
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


_READ: dict[str, Callable[[str, str], Any]] = {
    "answers": _count,
    "until": _bound,
    "deadline": _moment,
    "quota": _count,
}


def shown_time(at: int) -> str:
    """A time of the tables as people write it, in the time zone of this machine, which is said."""
    moment = datetime.fromtimestamp(at / SECOND).astimezone()
    return f"{moment:%Y-%m-%d %H:%M} (UTC{moment.isoformat()[-6:]})"


def described(store: Store) -> dict[str, Any]:
    """How far the campaign is, in words for an organiser: state, over, sentences, and the budget and what is spent."""
    with store.reading() as connection:
        now = course(connection, store.now())
        given, _ = connection.execute(sql.GIVEN, {"now": store.now()}).one()
        struck, excluded = left_out(connection)
        found = connection.execute(sql.COURSE, {"person": None}).one()
    goals = now.goals
    several = len(store.settings.questions) > 1
    to = " to all questions" if several else ""
    lines = []
    if goals.answers is not None:
        lines.append(f"{given} of {counted(goals.answers, 'answer')}{to}{_not_counted(given, struck, excluded)}")
    if goals.until is not None:
        each = " of each question" if several else ""
        lines.append(f"until doubt{each} is below {100 * goals.until:.4g}% ({_doubt_so_far(found)})")
    if goals.deadline is not None:
        lines.append(f"until {shown_time(goals.deadline)}")
    if goals.quota is not None:
        lines.append(f"{counted(goals.quota, 'answer')} each person")
    return {"state": now.state, "over": now.over, "goals": lines, "given": given, "goal": goals.answers}


def _not_counted(given: int, struck: int, excluded: int) -> str:
    """Return why fewer answers count than people gave, or nothing where all count."""
    reasons = [f"{excluded} of excluded people"] * bool(excluded) + [f"{struck} struck out"] * bool(struck)
    if not reasons:
        return ""
    do = "does" if excluded + struck == 1 else "do"
    return f" (of {given + excluded + struck} given, {' and '.join(reasons)} {do} not count)"
