"""How many answers are still to be given, and how fast people give them: what the planner decides by."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import sqlalchemy as sa

from pairsmith.campaign.schema import MADE_ELSEWHERE, SECOND, answers, items, leases, pairs

if TYPE_CHECKING:
    from pairsmith.campaign.store import Store

SKIPS = 3  # for each answer: who skips more, beyond a round, is not waited for with new rounds


class Waiting(NamedTuple):
    answers: int  # that are wanted and not being given
    pairs: int  # that there are, answered or not
    items: int  # that there are


def waiting(store: Store) -> Waiting:
    """How many answers are wanted and not being given, and how many pairs and items there are.

    For each time a pair was skipped one answer fewer is counted on: it may be that nobody can answer it. Skips of
    those who hardly answer say nothing of the kind.
    """
    skips = (
        sa.select(leases.c.pair, sa.func.count().label("times"))
        .where(leases.c.state == "skipped", leases.c.person.in_(_people_who_answer(store)))
        .group_by(leases.c.pair)
        .subquery()
    )
    likely = pairs.c.wanted - sa.func.coalesce(skips.c.times, 0)
    with store.reading() as connection:
        wanted = connection.execute(
            sa.select(sa.func.sum(likely)).select_from(pairs.outerjoin(skips)).where(sa.text("wanted > 0"), likely > 0)
        ).scalar()
        held = connection.execute(
            sa.select(sa.func.count()).where(leases.c.state == "open", leases.c.expires > store.now())
        ).scalar_one()
        totals = [
            connection.execute(sa.select(sa.func.count()).select_from(table)).scalar_one() for table in (pairs, items)
        ]
    return Waiting(int(wanted or 0) - held, *totals)


def rate(store: Store) -> float:
    """Answers and skips a second, of the last hundred within the last minute; imported ones do not count.

    By the median time between two, so that waiting for pairs does not make people look slow: of independent
    arrivals it is ln 2 over their rate.
    """
    with store.reading() as connection:
        times = connection.execute(
            sa.select(answers.c.at)
            .select_from(answers.join(leases))
            .where(
                answers.c.at > store.now() - 60 * SECOND,
                leases.c.expires != MADE_ELSEWHERE,
                leases.c.person.in_(_people_who_answer(store)),
            )
            .order_by(answers.c.id.desc())
            .limit(100)
        )
        between = -np.diff(times.scalars().all())
    return math.log(2) * SECOND / max(float(np.median(between)), 1.0) if len(between) else 0.0


def _people_who_answer(store: Store) -> sa.Select[tuple[int]]:
    """People who do not only skip: beyond a round, they skip no more than SKIPS pairs for each one they answer."""
    skipped, answered = (
        sa.func.sum(sa.case((leases.c.state == state, 1), else_=0)) for state in ("skipped", "answered")
    )
    a_round = store.settings.k * store.settings.answers_per_pair
    return (
        sa.select(leases.c.person)
        .where(leases.c.state.in_(("skipped", "answered")))
        .group_by(leases.c.person)
        .having(skipped <= a_round + SKIPS * answered)
    )
