"""Hand out pairs to people, take their answers, and take answers back.

A pair is leased to a person, and an answer belongs to a lease. So an answer that is sent twice counts once, and an
answer to a pair that was not shown is impossible. With several questions, a person gets a pair with all of its
questions at once, one lease per question. If they leave before the last question, the rest goes to others. If a budget
or quota has room for fewer answers than a pair has questions, the first questions are asked and the others stay open.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from pairsmith.campaign.answering import goals, gold
from pairsmith.campaign.store import statements as sql
from pairsmith.campaign.store.answers import as_comment, milliseconds
from pairsmith.campaign.store.database import Refused
from pairsmith.campaign.store.schema import CHANGED, GOLD, SECOND, undos

if TYPE_CHECKING:
    from pairsmith.campaign.store.store import Store

MAX_PAIRS_HELD = 4  # by one person: the pair on the screen, the next one, and some for other tabs


@dataclass(frozen=True)
class Lease:
    """A pair as it is shown to a person: the rows of the items on both sides, and the question (0 for the first)."""

    token: str
    left: int
    right: int
    question: int
    wording: int | None = None  # the number of the question and instructions shown with it; None: the first


def next_pair(store: Store, person: int, holding: Sequence[str] = (), at_once: int = MAX_PAIRS_HELD) -> Lease | None:
    """Lease a pair to this person, besides the pairs they are `holding`; return None if there is none now.

    A pair that they already hold comes first, so that a reloaded page shows the same pair. A person who holds
    `at_once` pairs gets no more.
    """
    now = store.now()
    expires = _lease_end(store, now)
    with store.writing() as connection:
        status = goals.status(connection, now, person)
        if status.over is not None:
            return None
        wording = status.wording
        held = connection.execute(sql.HELD, {"now": now, "person": person}).all()
        for lease in held:
            if lease.token not in holding:
                connection.execute(sql.SHOW, {"lease": lease.id, "until": expires, "shown": wording})
                return _shown(lease.token, lease, lease.left, wording)
        if len({(lease.first, lease.second) for lease in held}) >= at_once or status.room < 1:
            return None
        pair, its_questions = gold.draw(connection, store, person, status.gold_rate), sql.ALL_QUESTIONS_OF
        if pair is None:
            free, its_questions = sql.NEXT_FREE_PAIR[store.settings.repeats], sql.OPEN_QUESTIONS_OF_PAIR
            pair = connection.execute(free, {"now": now, "person": person}).first()
        if pair is None and store.settings.asks_again:
            pair, its_questions = _repeat_for_newcomer(connection, store, person, now), sql.ALL_QUESTIONS_OF
        if pair is None:
            return None
        questions = [pair]
        if len(store.settings.questions) > 1:
            same = {"first": pair.first, "second": pair.second, "now": now, "person": person}
            questions = list(connection.execute(its_questions[store.settings.repeats], same))
        return _hand_out(connection, person, questions[: status.room], expires, pair.why, wording)


def _hand_out(
    connection: sa.Connection, person: int, questions: Sequence[Any], expires: int, why: str, wording: int | None
) -> Lease:
    """Lease a pair with these of its questions, and return the lease of the first question."""
    first, second = questions[0].first, questions[0].second
    # If the person abandoned leases on this pair, they are used again: new ones would let them answer twice.
    abandoned = connection.execute(sql.ABANDONED, {"first": first, "second": second, "person": person}).all()
    lease_of = {lease.pair: lease for lease in abandoned}
    left = abandoned[0].left if abandoned else _choose_left(connection, first, second)
    shown = []
    for pair in questions:
        lease = lease_of.get(pair.id)
        if lease is None:
            token = _lease(connection, pair.id, person, left, expires, why, wording)
            shown.append(_shown(token, pair, left, wording))
        else:
            renewed = {"lease": lease.id, "until": expires, "reason": why, "shown": wording}
            connection.execute(sql.RESUME_LEASE, renewed)
            shown.append(_shown(lease.token, pair, lease.left, wording))
    return shown[0]


def renew(store: Store, person: int, tokens: Sequence[str]) -> list[str]:
    """Extend the leases of a person who still looks at these pairs; return the tokens they can still answer.

    No lease is extended while the last answers of a budget are being given, because a person who does not answer would
    hold up the end. Nor is any lease extended after a close or a deadline; it then holds until it expires.
    """
    now = store.now()
    kept = []
    with store.writing() as connection:
        status, ended = goals.status(connection, now, person), goals.ended_at(connection, now) is not None
        room = status.room
        for token in tokens:
            lease = connection.execute(sql.OWN_LEASE, {"token": token, "person": person}).first()
            if lease is None or lease.state != "open" or (ended and lease.expires <= now):
                continue
            if _is_lost(connection, lease, now, room):
                continue
            kept.append(token)
            if status.over is None and status.budget_room > 0:
                _hold(connection, lease, now, until=_lease_end(store, now))
                room -= lease.expires <= now
    return kept


def release(store: Store, person: int, tokens: Sequence[str]) -> None:
    """Give back pairs that this person holds and will not answer, with all their questions, so that others get them."""
    now = store.now()
    with store.writing() as connection:
        for token in tokens:
            lease = connection.execute(sql.OWN_LEASE, {"token": token, "person": person}).first()
            if lease is not None:
                _hold(connection, lease, now, until=now)


def _hold(connection: sa.Connection, lease: Any, now: int, until: int) -> None:
    """Reserve the pair of this lease, with all its remaining questions, for its person until a time."""
    of_pair = {"lease": lease.id, "first": lease.first, "second": lease.second, "holder": lease.person}
    connection.execute(sql.RENEW, of_pair | {"now": now, "until": until})


def answer(
    store: Store,
    person: int,
    token: str,
    choice: str,
    seconds: float | None = None,
    strength: str | None = None,
    comment: str | None = None,
    changed: bool = False,
    ago: float = 0.0,
) -> bool:
    """Store an answer; return False if this lease was answered before, because it counts once.

    An answer after a close or a deadline is the person's last one, and gives back their other pairs. A program has no
    screen, so it may still answer all pairs that it was asking about.

    Parameters
    ----------
    choice : left, right, tie or skip.
    seconds : how long the person took.
    strength : "slightly" or "much" better, in campaigns that ask for it.
    changed : whether a program answered differently from each side, and this is the resulting tie or skip.
    ago : how many seconds ago the answer was given; a page that was offline sends answers late.
    """
    now = store.now()
    with store.writing() as connection:
        lease = _own_lease(connection, person, token)
        if lease.state in ("answered", "skipped", "struck"):
            return False
        if lease.state == "undone":
            raise Refused(409, "this answer was taken back; answer the pair as it is shown now")
        ended = goals.ended_at(connection, now)
        after_the_end = ended is not None and now - round(ago * SECOND) > ended
        if after_the_end and lease.expires <= now:
            raise Refused(410, "the campaign is over; only the pair on the screen could still be answered")
        if choice == "tie" and not store.settings.ties:
            raise Refused(422, "this campaign has no ties; choose left, right or skip")
        if strength is not None and (choice not in ("left", "right") or not store.settings.graded):
            raise Refused(422, "strength goes with left and right, in campaigns made with --graded; leave it out")
        if comment and not store.settings.comments:
            raise Refused(422, "this campaign takes no comments; leave it out")
        if choice != "skip" and lease.expires <= now:
            room = goals.status(connection, now, person).room
            if _is_lost(connection, lease, now, room):
                raise Refused(409, "this pair waited too long and went to somebody else; answer the next pair instead")
        outcome = None if choice == "skip" else _outcome(lease, choice)
        values = {
            "lease": lease.id,
            "outcome": outcome,
            "milliseconds": None if seconds is None else milliseconds(seconds),
            "at": now,
            "strength": strength,
            "comment": CHANGED if changed else as_comment(comment),
        }
        connection.execute(sql.ANSWER, values)
        connection.execute(sql.CLOSE, {"lease": lease.id, "how": "skipped" if outcome is None else "answered"})
        if outcome is not None and not lease.excluded:
            connection.execute(sql.ADD_WANTED, {"pair": lease.pair, "step": -1})
        if after_the_end and not lease.program:
            connection.execute(sql.GIVE_BACK, {"holder": person, "now": now, "until": now})
    return True


def undo(store: Store, person: int, token: str) -> Lease:
    """Take back this person's last answer, which must belong to this lease, and show its pair again."""
    now = store.now()
    with store.writing() as connection:
        lease = _own_lease(connection, person, token)
        status = goals.status(connection, now, person)
        if goals.ended_at(connection, now) is not None:  # no second answer could take the place of this one
            state = "closed" if status.state == "closed" else "past its deadline"
            raise Refused(409, f"the campaign is {state}; its answers stand")
        if lease.state == "undone":  # the request came twice
            again = connection.execute(sql.SHOWN_AGAIN, {"pair": lease.pair, "person": person}).first()
            if again is None or again.state != "open":  # answered again since
                raise Refused(409, "only the last answer can be taken back")
            return _shown(again.token, lease, again.left, again.wording)
        last = connection.execute(sql.LAST_ANSWER, {"person": person}).first()
        if last is None or last.token != token:
            raise Refused(409, "only the last answer can be taken back")
        connection.execute(undos.insert().values(answer=last.id, at=now))
        connection.execute(sql.CLOSE, {"lease": lease.id, "how": "undone"})
        if last.outcome is not None and not lease.excluded:
            connection.execute(sql.ADD_WANTED, {"pair": lease.pair, "step": 1})
        expires = _lease_end(store, now)
        # A skip reserves no answer. If there is no room, its pair replaces another one that this person holds.
        if last.outcome is None and status.room < 1 and not _give_back_newest(connection, person, now):
            expires = now
        shown_again = _lease(connection, lease.pair, person, lease.left, expires, lease.why, status.wording, again=True)
    return _shown(shown_again, lease, lease.left, status.wording)


def progress(store: Store, person: int) -> dict[str, Any]:
    """Return how far the campaign and this person have come.

    answers  by everybody; imported ones count, too
    yours    given here by this person; imported answers under their name do not count
    wanted   answers that are still wanted
    goal     the budget of answers by everybody; None without one
    quota    the goal for this person; None without one
    undo     the token of the lease whose answer this person may take back; None if there is none
    """
    with store.reading() as connection:
        row = connection.execute(sql.PROGRESS, {"person": person}).one()
        over = goals.ended_at(connection, store.now()) is not None
    limits = goals.Goals.from_stored(row.goals)
    return {
        "answers": row.total,
        "yours": row.own,
        "wanted": row.wanted,
        "goal": limits.answers,
        "quota": limits.quota if row.quota is None else row.quota,
        "undo": None if over else row.last,
    }


def was_shown(store: Store, person: int, row: int) -> bool:
    """Return whether this person was ever shown this item here."""
    with store.reading() as connection:
        return bool(connection.execute(sql.SHOWN, {"person": person, "row": row}).scalar())


def _repeat_for_newcomer(connection: sa.Connection, store: Store, person: int, now: int) -> Any:
    """Return a complete pair for a person without any answer, and otherwise None.

    Rounds only plan repeated pairs for raters who already take part.
    """
    if connection.execute(sql.ANSWERED_HERE, {"person": person}).first() is not None:
        return None
    return connection.execute(
        sql.RANDOM_REPEATABLE_PAIR[store.settings.repeats], {"person": person, "now": now}
    ).first()


def _give_back_newest(connection: sa.Connection, person: int, now: int) -> bool:
    """Expire the newest lease that this person holds; return False if there is none."""
    held = connection.execute(sql.HELD, {"now": now, "person": person}).all()
    if not held:
        return False
    connection.execute(sql.EXPIRE, {"lease": max(lease.id for lease in held), "now": now})
    return True


def _is_lost(connection: sa.Connection, lease: Any, now: int, room: int) -> bool:
    """Return whether this lease expired and its place was taken, on its pair or in a budget or quota."""
    if lease.expires > now:
        return False
    if room < 1:
        return True
    if lease.why == GOLD:
        return False
    others = connection.execute(sql.BEING_ANSWERED, {"pair": lease.pair, "now": now}).scalar_one()
    return bool(lease.wanted <= others)


def _lease_end(store: Store, now: int) -> int:
    return now + round(store.settings.lease_seconds * SECOND)


def _own_lease(connection: sa.Connection, person: int, token: str) -> Any:
    lease = connection.execute(sql.OWN_LEASE, {"token": token, "person": person}).first()
    if lease is None:
        raise Refused(404, "this pair was not shown to you")
    return lease


def _lease(
    connection: sa.Connection,
    pair: int,
    person: int,
    left: int,
    expires: int,
    why: str,
    wording: int | None,
    again: bool = False,
) -> str:
    """Lease this pair to a person, and return the token."""
    token = secrets.token_urlsafe(16)
    values = {"token": token, "pair": pair, "person": person, "left": left, "state": "open", "again": again}
    connection.execute(sql.LEASE, values | {"expires": expires, "why": why, "wording": wording})
    return token


def _shown(token: str, pair: Any, left: int, wording: int | None) -> Lease:
    """Return the lease of a pair (a row with first, second and question) with the item `left` on the left side."""
    return Lease(token, left, _other(pair, left), pair.question, wording)


def _other(pair: Any, row: int) -> int:
    """Return the row of the other item of this pair."""
    return int(pair.second if row == pair.first else pair.first)


def _outcome(lease: Any, choice: str) -> int:
    """Return +1 if the pair's first item is preferred, -1 if the second is, and 0 for a tie."""
    if choice == "tie":
        return 0
    preferred = lease.left if choice == "left" else _other(lease, lease.left)
    return 1 if preferred == lease.first else -1


def _choose_left(connection: sa.Connection, first: int, second: int) -> int:
    """Return which of two items goes left: the one shown left less often, or a random one."""
    two = {"one": first, "other": second}
    lean = {row.row: row.lean for row in connection.execute(sql.LEAN_OF_TWO, two)}
    sides = [first, second]
    left = secrets.choice(sides) if lean[first] == lean[second] else min(sides, key=lambda row: lean[row])
    connection.execute(sql.LEAN, two | {"leftmost": left})
    return left
