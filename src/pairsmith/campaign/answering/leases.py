"""Pairs handed out to people, answers taken and undone.

A pair is leased to a person; an answer belongs to a lease, so that an answer sent twice counts once, and an answer to
what was not shown has no place to go. Where there are several questions, a person is given a pair with all of them at
once, a lease each; what is left of them by whoever goes away is given to others. Where a budget or quota has room for
fewer answers than a pair has questions, the first questions are given, and the others stay open.
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

AT_ONCE = 4  # pairs one person may hold: the one on the screen, the next, and some for other tabs


@dataclass(frozen=True)
class Lease:
    """A pair as it is shown to a person: the rows of the items on both sides, and the question, 0 for the first."""

    token: str
    left: int
    right: int
    question: int
    wording: int | None = None  # the number of the question and instructions that go with it; None: the first


def next_pair(store: Store, person: int, holding: Sequence[str] = (), at_once: int = AT_ONCE) -> Lease | None:
    """A pair for this person besides those they hold, or None where there is none now, or they hold `at_once`.

    One that is theirs already comes first, so that a page that is loaded again shows the same pair.
    """
    now = store.now()
    expires = _end_of_a_lease(store, now)
    with store.writing() as connection:
        course = goals.course(connection, now, person)
        if course.over is not None:
            return None
        wording = course.wording
        held = connection.execute(sql.HELD, {"now": now, "person": person}).all()
        for lease in held:
            if lease.token not in holding:
                connection.execute(sql.SHOW, {"lease": lease.id, "until": expires, "shown": wording})
                return _shown(lease.token, lease, lease.left, wording)
        if len({(lease.first, lease.second) for lease in held}) >= at_once or course.room < 1:
            return None
        pair, its_questions = gold.draw(connection, store, person, course.gold_rate), sql.ALL_QUESTIONS_OF
        if pair is None:
            free, its_questions = sql.NEXT_FREE_PAIR[store.settings.repeats], sql.QUESTIONS_OF
            pair = connection.execute(free, {"now": now, "person": person}).first()
        if pair is None and store.settings.asks_again:
            pair, its_questions = _for_a_newcomer(connection, store, person, now), sql.ALL_QUESTIONS_OF
        if pair is None:
            return None
        asked = [pair]
        if len(store.settings.questions) > 1:
            same = {"first": pair.first, "second": pair.second, "now": now, "person": person}
            asked = list(connection.execute(its_questions[store.settings.repeats], same))
        return _hand_out(connection, person, asked[: course.room], expires, pair.why, wording)


def _hand_out(
    connection: sa.Connection, person: int, asked: Sequence[Any], expires: int, why: str, wording: int | None
) -> Lease:
    """Lease a pair with these of its questions; the first."""
    first, second = asked[0].first, asked[0].second
    # Abandoned leases of theirs on this pair are taken up again: two would let them answer twice.
    found = connection.execute(sql.ABANDONED, {"first": first, "second": second, "person": person}).all()
    before = {lease.pair: lease for lease in found}
    left = found[0].left if found else _choose_left(connection, first, second)
    shown = []
    for pair in asked:
        lease = before.get(pair.id)
        if lease is None:
            token = _lease(connection, pair.id, person, left, expires, why, wording)
            shown.append(_shown(token, pair, left, wording))
        else:
            again = {"lease": lease.id, "until": expires, "reason": why, "shown": wording}
            connection.execute(sql.TAKE_UP, again)
            shown.append(_shown(lease.token, pair, lease.left, wording))
    return shown[0]


def renew(store: Store, person: int, tokens: Sequence[str]) -> list[str]:
    """Keep these pairs for this person, who still looks at them; those of them that are still theirs to answer.

    When the last answers of a budget are being given nothing is kept for longer: who does not answer would hold it up.
    Nor is anything once the campaign is closed or past its deadline, and then a pair is theirs until its lease expires.
    """
    now = store.now()
    kept = []
    with store.writing() as connection:
        course, ended = goals.course(connection, now, person), goals.ended_at(connection, now) is not None
        room = course.room
        for token in tokens:
            lease = connection.execute(sql.OWN_LEASE, {"token": token, "person": person}).first()
            if lease is None or lease.state != "open" or (ended and lease.expires <= now):
                continue
            if _is_lost(connection, lease, now, room):
                continue
            kept.append(token)
            if course.over is None and course.budget_room > 0:
                _hold(connection, lease, now, until=_end_of_a_lease(store, now))
                room -= lease.expires <= now
    return kept


def release(store: Store, person: int, tokens: Sequence[str]) -> None:
    """Give back pairs that this person holds and will not answer, with all their questions: others may have them."""
    now = store.now()
    with store.writing() as connection:
        for token in tokens:
            lease = connection.execute(sql.OWN_LEASE, {"token": token, "person": person}).first()
            if lease is not None:
                _hold(connection, lease, now, until=now)


def _hold(connection: sa.Connection, lease: Any, now: int, until: int) -> None:
    """Keep the pair of this lease, with all questions that are left of it, for its person until then."""
    its = {"lease": lease.id, "first": lease.first, "second": lease.second, "holder": lease.person}
    connection.execute(sql.RENEW, its | {"now": now, "until": until})


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
    """Take an answer: left, right, tie or skip. False where this lease was answered before: it counts once.

    `strength` says how much better the one is, slightly or much, where the campaign asks for it. `changed` marks the
    tie or the skip of a program that answered differently from each side. `ago` is how many seconds before now the
    answer was given: a page that was offline sends answers late. What was given after the campaign was closed or past
    its deadline is a person's last answer; their other pairs are given back with it. A program has no screen, and
    answers all that it was asking about.
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
            raise Refused(410, "the campaign is over; besides the pair on the screen nothing can be answered any more")
        if choice == "tie" and not store.settings.ties:
            raise Refused(422, "this campaign has no ties; choose left, right or skip")
        if strength is not None and (choice not in ("left", "right") or not store.settings.graded):
            raise Refused(422, "strength goes with left and right, in campaigns made with --graded; leave it out")
        if comment and not store.settings.comments:
            raise Refused(422, "this campaign takes no comments; leave it out")
        if choice != "skip" and lease.expires <= now:
            room = goals.course(connection, now, person).room
            if _is_lost(connection, lease, now, room):
                raise Refused(409, "this pair waited too long and went to somebody else; here is another")
        outcome = None if choice == "skip" else _outcome(lease, choice)
        given = {
            "lease": lease.id,
            "outcome": outcome,
            "milliseconds": None if seconds is None else milliseconds(seconds),
            "at": now,
            "strength": strength,
            "comment": CHANGED if changed else as_comment(comment),
        }
        connection.execute(sql.ANSWER, given)
        connection.execute(sql.CLOSE, {"lease": lease.id, "how": "skipped" if outcome is None else "answered"})
        if outcome is not None and not lease.excluded:
            connection.execute(sql.ADD_WANTED, {"pair": lease.pair, "step": -1})
        if after_the_end and not lease.program:
            connection.execute(sql.GIVE_BACK, {"holder": person, "now": now, "until": now})
    return True


def undo(store: Store, person: int, token: str) -> Lease:
    """Take back the last answer of this person, which belongs to this lease, and show its pair again."""
    now = store.now()
    with store.writing() as connection:
        lease = _own_lease(connection, person, token)
        course = goals.course(connection, now, person)
        if goals.ended_at(connection, now) is not None:  # no second answer could take the place of this one
            state = "closed" if course.state == "closed" else "past its deadline"
            raise Refused(409, f"the campaign is {state}; its answers stand")
        if lease.state == "undone":  # asked twice
            again = connection.execute(sql.SHOWN_AGAIN, {"pair": lease.pair, "person": person}).first()
            if again is None or again.state != "open":  # set aside by repair, or answered since
                raise Refused(409, "only the last answer can be taken back")
            return _shown(again.token, lease, again.left, again.wording)
        last = connection.execute(sql.LAST_ANSWER, {"person": person}).first()
        of_itself = lease.first == lease.second  # stored by an old import, see repair
        if last is None or last.token != token or of_itself:
            raise Refused(409, "only the last answer can be taken back")
        connection.execute(undos.insert().values(answer=last.id, at=now))
        connection.execute(sql.CLOSE, {"lease": lease.id, "how": "undone"})
        if last.outcome is not None and not lease.excluded:
            connection.execute(sql.ADD_WANTED, {"pair": lease.pair, "step": 1})
        expires = _end_of_a_lease(store, now)
        # A skip reserved nothing any more. Its pair shown again takes the place of another that this person holds.
        if last.outcome is None and course.room < 1 and not _give_back_newest(connection, person, now):
            expires = now
        shown_again = _lease(connection, lease.pair, person, lease.left, expires, lease.why, course.wording, again=True)
    return _shown(shown_again, lease, lease.left, course.wording)


def progress(store: Store, person: int) -> dict[str, Any]:
    """Answers of all and of this person, answers still wanted, and the lease whose answer they may take back.

    Imported answers that carry this person's name are not theirs: they count for all only.
    And how many answers are the goal, of all (`goal`) and of this person (`quota`); None where there is none.
    """
    with store.reading() as connection:
        found = connection.execute(sql.PROGRESS, {"person": person}).one()
        over = goals.ended_at(connection, store.now()) is not None
    wanted = goals.Goals.from_stored(found.goals)
    return {
        "answers": found.total,
        "yours": found.own,
        "wanted": found.wanted,
        "goal": wanted.answers,
        "quota": wanted.quota if found.quota is None else found.quota,
        "undo": None if over else found.last,
    }


def was_shown(store: Store, person: int, row: int) -> bool:
    """Whether this person was ever asked about this item here."""
    with store.reading() as connection:
        return bool(connection.execute(sql.SHOWN, {"person": person, "row": row}).scalar())


def _for_a_newcomer(connection: sa.Connection, store: Store, person: int, now: int) -> Any:
    """A complete pair, once more, for somebody who has not answered any: rounds ask again only those who take part."""
    if connection.execute(sql.ANSWERED_HERE, {"person": person}).first() is not None:
        return None
    return connection.execute(sql.FOR_A_NEWCOMER[store.settings.repeats], {"person": person, "now": now}).first()


def _give_back_newest(connection: sa.Connection, person: int, now: int) -> bool:
    """Expire the newest lease that this person holds; False where there is none."""
    held = connection.execute(sql.HELD, {"now": now, "person": person}).all()
    if not held:
        return False
    connection.execute(sql.EXPIRE, {"lease": max(lease.id for lease in held), "now": now})
    return True


def _is_lost(connection: sa.Connection, lease: Any, now: int, room: int) -> bool:
    """Whether this lease expired and its answer went to others: the pair's, or the last of a budget or quota."""
    if lease.expires > now:
        return False
    if room < 1:
        return True
    if lease.why == GOLD:
        return False
    others = connection.execute(sql.BEING_ANSWERED, {"pair": lease.pair, "now": now}).scalar_one()
    return bool(lease.wanted <= others)


def _end_of_a_lease(store: Store, now: int) -> int:
    return now + round(store.settings.lease_seconds * SECOND)


def _own_lease(connection: sa.Connection, person: int, token: str) -> Any:
    found = connection.execute(sql.OWN_LEASE, {"token": token, "person": person}).first()
    if found is None:
        raise Refused(404, "this pair was not shown to you")
    return found


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
    """Lease this pair to a person; the token."""
    token = secrets.token_urlsafe(16)
    given = {"token": token, "pair": pair, "person": person, "left": left, "state": "open", "again": again}
    connection.execute(sql.LEASE, given | {"expires": expires, "why": why, "wording": wording})
    return token


def _shown(token: str, pair: Any, left: int, wording: int | None) -> Lease:
    """The lease of this pair (a row with first, second and question) with `left` on the left side."""
    return Lease(token, left, _other(pair, left), pair.question, wording)


def _other(pair: Any, row: int) -> int:
    """The item of this pair that is not in this row."""
    return int(pair.second if row == pair.first else pair.first)


def _outcome(lease: Any, choice: str) -> int:
    """+1 where the pair's first item is preferred, -1 where the second is, 0 for a tie."""
    if choice == "tie":
        return 0
    preferred = lease.left if choice == "left" else _other(lease, lease.left)
    return 1 if preferred == lease.first else -1


def _choose_left(connection: sa.Connection, first: int, second: int) -> int:
    """Which of two items goes left: the one shown left less often; by chance if equal."""
    two = {"one": first, "other": second}
    lean = {found.row: found.lean for found in connection.execute(sql.LEAN_OF_TWO, two)}
    sides = [first, second]
    left = secrets.choice(sides) if lean[first] == lean[second] else min(sides, key=lambda row: lean[row])
    connection.execute(sql.LEAN, two | {"leftmost": left})
    return left
