"""When a campaign is over: its goals, and whether it is open, paused or closed.

A campaign is over when enough answers were given (`answers`, a budget), when the doubt of the last report is below a
bound (`until`), at a time (`deadline`), or when an organiser closes it. For one person it is also over after a number
of their own answers (`quota`). Then no more pairs are handed out. Pairs that people hold may still be answered, but
after a close or a deadline each person gives only one more answer (`leases.answer`). With several questions, the
answer to each is an answer, and the doubt is the largest of all.

A budget counts the answers that count everywhere else: no answers that were taken back or struck out, and none by
excluded people. A quota counts the answers that its person gave here, excluded or not. Each open lease reserves one
answer of both until it expires, so that neither can be overspent.
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

MIN_ANSWERS_FOR_DOUBT = 40  # the doubt of a report of fewer answers ends nothing
NONE = "none"  # removes a goal
MAX_ANSWERS = 10**9  # of a budget or quota
LAST_YEAR = 2255  # of deadlines, and of all times that are read from files
# What an organiser can do: the states in which it is possible, and the state afterwards.
ACTIONS = {
    "pause": (("open",), "paused"),
    "resume": (("paused",), "open"),
    "close": (("open", "paused"), "closed"),
    "reopen": (("closed",), "open"),
}


_IS_VALID: dict[str, Callable[[Any], bool]] = {  # for the stored value of each goal
    "answers": lambda value: type(value) is int and 1 <= value <= MAX_ANSWERS,
    "until": lambda value: type(value) is float and 0 < value < 0.5,
    "deadline": lambda value: type(value) is int and 0 <= value < 9_100_000_000 * SECOND,  # the end of LAST_YEAR
    "quota": lambda value: type(value) is int and 1 <= value <= MAX_ANSWERS,
}


@dataclass(frozen=True)
class Goals:
    """What ends a campaign; None if a goal is not set."""

    answers: int | None = None  # by everybody together
    until: float | None = None  # the doubt below which it is over
    deadline: int | None = None  # in microseconds since 1970
    quota: int | None = None  # answers of each person without a quota of their own

    @classmethod
    def from_stored(cls, stored: Any) -> Self:
        """Return the valid goals of a stored JSON object; a foreign database may hold anything."""
        values = stored if isinstance(stored, Mapping) else {}
        return cls(**{name: values[name] for name, is_valid in _IS_VALID.items() if is_valid(values.get(name))})

    def to_stored(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if value is not None}


@dataclass(frozen=True)
class Status:
    """How far a campaign has come, for one person or for nobody in particular."""

    state: str
    goals: Goals
    quota: int | None  # of this person
    gold_rate: float
    over: str | None  # why no more pairs are handed out to this person: a state, or the name of a goal
    budget_room: int  # answers of the budget that are neither given nor reserved by a lease; MAX_ANSWERS without one
    quota_room: int  # the same for this person's quota
    wording: int | None  # the number of the current question and instructions; None: the first

    @property
    def room(self) -> int:
        """Return how many more answers can be reserved for this person."""
        return min(self.budget_room, self.quota_room)


def status(connection: sa.Connection, now: int, person: int | None = None) -> Status:
    """Return how far the campaign has come."""
    row = connection.execute(sql.COURSE, {"person": person}).one()
    goals = Goals.from_stored(row.goals)
    quota = goals.quota if row.quota is None else row.quota
    over = None if row.state == "open" else row.state
    if over is None and goals.deadline is not None and now >= goals.deadline:
        over = "deadline"
    if over is None and goals.until is not None and _doubt(row) < goals.until:
        over = "until"
    room = {"answers": MAX_ANSWERS, "quota": MAX_ANSWERS}
    for name, goal, counts in (("answers", goals.answers, sql.GIVEN), ("quota", quota, sql.OWN_COUNTS)):
        if goal is not None and (name == "answers" or person is not None):
            given, reserved = connection.execute(counts, {"now": now, "person": person}).one()
            room[name] = goal - given - reserved
            if over is None and given >= goal:
                over = name
    gold_rate = row.gold_rate or 0.0
    return Status(row.state, goals, quota, gold_rate, over, room["answers"], room["quota"], row.wording)


def ended_at(connection: sa.Connection, now: int) -> int | None:
    """Return when the campaign was closed or its deadline passed; None while neither has happened."""
    row = connection.execute(sql.END).one()
    ends = [row.closed_at or 0] if row.state == "closed" else []
    deadline = Goals.from_stored(row.goals).deadline
    if deadline is not None and deadline <= now:
        ends.append(deadline)
    return min(ends, default=None)


def _doubt(row: Any) -> float:
    """Return the doubt of the last report; 1 if there is none, if it had too few answers, or after a correction.

    `row` is a row of `statements.COURSE`.
    """
    reported = row.doubt if isinstance(row.doubt, Mapping) else {}
    if reported.get("doubt") is None or reported["answers"] < MIN_ANSWERS_FOR_DOUBT:
        return 1.0
    return 1.0 if _is_corrected(row) else float(reported["doubt"])


def _is_corrected(row: Any) -> bool:
    """Return whether answers or items were corrected since the last report."""
    return isinstance(row.doubt, Mapping) and row.doubt.get("revision", 0) != row.revision


def _doubt_so_far(row: Any) -> str:
    doubt = _doubt(row)
    if doubt < 1:
        return f"{doubt:.1%} now"
    if _is_corrected(row):
        return "not known since the last correction"
    return f"known after {MIN_ANSWERS_FOR_DOUBT} answers"


def ending(store: Store, person: int) -> str | None:
    """Return why a person for whom there is no pair now gets no more; None if more pairs may come.

    Besides the reasons in `Status.over`, there are "exhausted", if every possible pair has all its answers, and
    "yours", if every possible pair is planned and only others can give the missing answers.
    """
    with store.reading() as connection:
        over = status(connection, store.now(), person).over
        if over is not None:
            return over
        possible = store.possible_pairs(connection)
        for planned in (sql.PAIRS, sql.PAIRS_WITHIN_GROUPS):  # the second is slower and seldom needed
            if connection.execute(planned).scalar_one() < possible:
                return None
        repeats = store.settings.repeats
        may_come = [
            sql.UNFINISHED_PAIR_FOR[repeats],
            *([sql.REPEATABLE_PAIR[repeats]] if store.settings.asks_again else []),
        ]
        if any(connection.execute(pair, {"person": person}).first() is not None for pair in may_come):
            return None
        return "yours" if connection.execute(sql.LEFT).first() is not None else "exhausted"


def is_over(store: Store) -> bool:
    """Return whether no pairs are handed out to anybody, because the campaign is over or paused."""
    with store.reading() as connection:
        return status(connection, store.now()).over is not None


def act(store: Store, action: str, person: int | None = None) -> str:
    """Pause, resume, close or reopen a campaign, and return its new state.

    `person` is the organiser who does it, or None for a command.
    """
    before, after = ACTIONS[action]
    with store.writing() as connection:
        state = connection.execute(sa.select(campaign.c.state)).scalar_one()
        if state not in before:
            possible = " or ".join(name for name, (states, _) in ACTIONS.items() if state in states)
            raise Refused(409, f"the campaign is {state}; choose {possible}")
        connection.execute(campaign.update().values(state=after))
        log(connection, store.now(), person, action)
    return after


def change(store: Store, **changes: str | None) -> Goals:
    """Change the goals that are named, with values as `revised` takes them; return all goals."""
    with store.writing() as connection:
        before = Goals.from_stored(connection.execute(sa.select(campaign.c.goals)).scalar_one())
        after = revised(before, store.now(), **changes)
        if after != before:
            connection.execute(campaign.update().values(goals=after.to_stored()))
            log(connection, store.now(), None, "goals", before=before.to_stored(), after=after.to_stored())
    return after


def revised(before: Goals, now: int, **changes: str | None) -> Goals:
    """Return the goals with some of them changed, as people write them: 500, 'doubt < 10%', 2026-12-01, or none."""
    texts = {name: text.strip() for name, text in changes.items() if text is not None}
    values = {name: None if text.lower() == NONE else _PARSERS[name](name, text) for name, text in texts.items()}
    deadline = values.get("deadline")
    if deadline is not None and deadline <= now:
        raise ValueError(f"--deadline {texts['deadline']!r} is past: it is {shown_time(now)} now; choose a later one")
    return replace(before, **values)


def _parse_count(name: str, text: str) -> int:
    number = int(text) if text.isascii() and text.isdecimal() and len(text) <= 10 else 0
    if not 1 <= number <= MAX_ANSWERS:
        raise ValueError(f"--{name} must be a number of answers from 1 to {MAX_ANSWERS:,}, or {NONE}, got {text!r}")
    return number


def _parse_bound(name: str, text: str) -> float:
    match = re.fullmatch(r"doubt\s*<\s*(\d{1,9}(?:\.\d{1,9})?)\s*(%?)", text, re.ASCII)
    if match is None:
        raise ValueError(f"--{name} {text!r} is not of the form 'doubt < 10%'; use the doubt that the dashboard shows")
    bound = float(match[1]) / (100 if match[2] else 1)
    if not 0 < bound < 0.5:
        raise ValueError(
            f"--{name} {text!r}: doubt is the chance that two items are in the wrong order, and falls from 50%; choose"
            " a bound between 0% and 50%, such as 'doubt < 10%'"
        )
    return bound


def _parse_time(name: str, text: str) -> int:
    """Return a time in microseconds. A date means the end of that day; the default time zone is this machine's."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(
            f"--{name} {text!r} is no time; write 2026-12-01 for the end of that day, or 2026-12-01T18:00, in the time"
            " zone of this machine, or with one: 2026-12-01T18:00+01:00"
        ) from None
    if moment.year > LAST_YEAR:
        raise ValueError(f"--{name} {text!r} is after the year {LAST_YEAR}; choose an earlier time, or {NONE}")
    if moment.year < 1971:  # not every machine knows the time zones of earlier times
        return 0
    if _is_date(text):
        moment += timedelta(days=1)
    return round(moment.timestamp() * SECOND)


def _is_date(text: str) -> bool:
    """Return whether this is a date without a time."""
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


_PARSERS: dict[str, Callable[[str, str], Any]] = {
    "answers": _parse_count,
    "until": _parse_bound,
    "deadline": _parse_time,
    "quota": _parse_count,
}


def shown_time(at: int) -> str:
    """Return a stored time as people write it, in the time zone of this machine, with the offset."""
    moment = datetime.fromtimestamp(at / SECOND).astimezone()
    return f"{moment:%Y-%m-%d %H:%M} (UTC{moment.isoformat()[-6:]})"


def described(store: Store) -> dict[str, Any]:
    """Describe for an organiser how far the campaign has come: state, reason why it is over, goals, answers, budget."""
    with store.reading() as connection:
        current = status(connection, store.now())
        given, _ = connection.execute(sql.GIVEN, {"now": store.now()}).one()
        struck, excluded = left_out(connection)
        row = connection.execute(sql.COURSE, {"person": None}).one()
    goals = current.goals
    several = len(store.settings.questions) > 1
    to_all = " to all questions" if several else ""
    lines = []
    if goals.answers is not None:
        lines.append(f"{given} of {counted(goals.answers, 'answer')}{to_all}{_not_counted(given, struck, excluded)}")
    if goals.until is not None:
        each = " of each question" if several else ""
        lines.append(f"until doubt{each} is below {100 * goals.until:.4g}% ({_doubt_so_far(row)})")
    if goals.deadline is not None:
        lines.append(f"until {shown_time(goals.deadline)}")
    if goals.quota is not None:
        lines.append(f"{counted(goals.quota, 'answer')} each person")
    return {"state": current.state, "over": current.over, "goals": lines, "given": given, "goal": goals.answers}


def _not_counted(given: int, struck: int, excluded: int) -> str:
    """Return why fewer answers count than people gave, or "" if all count."""
    reasons = [f"{excluded} of excluded people"] * bool(excluded) + [f"{struck} struck out"] * bool(struck)
    if not reasons:
        return ""
    do = "does" if excluded + struck == 1 else "do"
    return f" (of {given + excluded + struck} given, {' and '.join(reasons)} {do} not count)"
