"""How many pairs are left to be asked, and how fast people answer them: what the planner decides by."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import sqlalchemy as sa

from pairsmith.campaign.store.raters import LOCAL
from pairsmith.campaign.store.schema import MADE_ELSEWHERE, SECOND, answers, items, leases, pairs, people
from pairsmith.campaign.store.statements import closed_states

if TYPE_CHECKING:
    from pairsmith.campaign.store.store import Store

SKIPS = 3  # for each answer: who skips more, beyond a round, is not waited for with new rounds


class Waiting(NamedTuple):
    free: int  # pairs that whoever can be given fewest can be given
    pairs: int  # that there are, answered or not, once for each question
    items: int  # that there are
    given: int  # answers and skips so far


def waiting(store: Store) -> Waiting:
    """How many pairs can be given to whoever can be given fewest; how many pairs, items and answers there are.

    A pair that lacks answers is of no use to somebody who answered or skipped it before. So the next round must not
    wait for second and third answers that nobody who takes part can give; those who hardly answer are not waited for,
    nor those whose invite was revoked.
    """
    free = lacks_answers(store.now())
    used = (
        sa.select(sa.func.count(leases.c.pair.distinct()).label("pairs"))
        .select_from(leases.join(pairs, leases.c.pair == pairs.c.id))
        .where(free, not_for_them_again(store), leases.c.person.in_(people_who_answer(store)))
        .group_by(leases.c.person)
        .subquery()
    )
    with store.reading() as connection:
        lacking = connection.execute(sa.select(sa.func.count()).select_from(pairs).where(free)).scalar_one()
        most = connection.execute(sa.select(sa.func.max(used.c.pairs))).scalar() or 0
        totals = [
            connection.execute(sa.select(sa.func.count()).select_from(table)).scalar_one()
            for table in (pairs, items, answers)
        ]
    return Waiting((lacking - most) // len(store.settings.questions), *totals)


def lacks_answers(now: int) -> sa.ColumnElement[bool]:
    """Pairs that lack answers beyond those being given."""
    other = leases.alias()
    being = (
        sa.select(sa.func.count())
        .where(other.c.pair == pairs.c.id, other.c.state == "open", other.c.expires > now)
        .scalar_subquery()
    )
    return sa.and_(sa.text("wanted > 0"), pairs.c.wanted > being)


def not_for_them_again(store: Store) -> sa.ColumnElement[bool]:
    """Leases whose pair is not given to the same person now: it was answered or skipped, or they hold it."""
    held = (leases.c.state == "open") & (leases.c.expires > store.now())
    return leases.c.state.in_(closed_states(store.settings.repeats)) | held


def rate(store: Store) -> float:
    """Answers and skips a second, of the last hundred within the last minute; imported ones do not count.

    By the median time between two, so that waiting for pairs does not make people look slow: of independent
    arrivals it is ln 2 over their rate.
    """
    return _rate_and_people(store)[0]


def pairs_rate(store: Store) -> float:
    """Pairs a second that people are done with: each takes as many answers as it wants, or as there are people.

    And as many for each question.
    """
    answers_a_second, at_work = _rate_and_people(store)
    return answers_a_second / max(1, min(at_work, store.settings.answers_per_pair)) / len(store.settings.questions)


def _rate_and_people(store: Store) -> tuple[float, int]:
    """The rate of answers, and how many people gave them."""
    with store.reading() as connection:
        recent = connection.execute(
            sa.select(answers.c.at, leases.c.person)
            .select_from(answers.join(leases))
            .where(
                answers.c.at > store.now() - 60 * SECOND,
                leases.c.expires != MADE_ELSEWHERE,
                leases.c.person.in_(people_who_answer(store)),
            )
            .order_by(answers.c.id.desc())
            .limit(100)
        ).all()
    between = -np.diff([row.at for row in recent])
    found = math.log(2) * SECOND / max(float(np.median(between)), 1.0) if len(between) else 0.0
    return found, len({row.person for row in recent})


def people_who_answer(store: Store) -> sa.Select[tuple[int]]:
    """People who may answer, and do not only skip: beyond a round, at most SKIPS pairs for each one they answer."""
    skipped, answered = (
        sa.func.sum(sa.case((leases.c.state == state, 1), else_=0)) for state in ("skipped", "answered")
    )
    a_round = store.settings.k * store.settings.answers_per_pair * len(store.settings.questions)
    return (
        sa.select(leases.c.person)
        .join(people)
        .where(
            leases.c.state.in_(("skipped", "answered")),
            people.c.role == "rater",
            people.c.hash.is_not(None) | (people.c.name == LOCAL),
        )
        .group_by(leases.c.person)
        .having(skipped <= a_round + SKIPS * answered)
    )
