"""The pace of a campaign: open pairs and answers per second. The planner uses both to time the next round.

The dashboard also says which pairs are stuck because nobody at work can complete them.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import sqlalchemy as sa

from pairsmith.campaign import counted
from pairsmith.campaign.people import invites
from pairsmith.campaign.store.raters import LOCAL
from pairsmith.campaign.store.schema import MADE_ELSEWHERE, SECOND, answers, items, leases, pairs, people
from pairsmith.campaign.store.statements import finished_lease_states, lacks_answers

if TYPE_CHECKING:
    from pairsmith.campaign.store.store import Store

MAX_SKIPS_PER_ANSWER = 3  # the planner ignores raters who skip more often, once they have skipped a whole round
MAX_RATERS_LISTED = 3  # in a sentence about stuck pairs
ORDINALS = ("first", "second", "third", "fourth", "fifth")


class PairCounts(NamedTuple):
    """What the planner needs to know about the pairs of a campaign."""

    open_to_everyone: int  # pairs that every active rater can still be given
    planned: int  # all pairs so far, once per question
    items: int
    responses: int  # answers and skips


def count_pairs(store: Store) -> PairCounts:
    """Count the pairs that are still open to every active rater, and the campaign's totals.

    Nobody is given a pair twice. If the planner counted all open pairs, it would wait for second answers that the
    raters at work cannot give, and the campaign would stall. So it counts from the point of view of the rater with
    the fewest pairs left. Raters who mostly skip, and raters whose invite was revoked, are not active.
    """
    is_open = lacks_answers(store.now())
    closed_to_rater = (
        sa.select(sa.func.count(leases.c.pair.distinct()).label("pairs"))
        .select_from(leases.join(pairs, leases.c.pair == pairs.c.id))
        .where(is_open, _is_closed_to_its_person(store), leases.c.person.in_(active_raters(store)))
        .group_by(leases.c.person)
        .subquery()
    )
    with store.reading() as connection:
        open_pairs = connection.execute(sa.select(sa.func.count()).select_from(pairs).where(is_open)).scalar_one()
        most_closed = connection.execute(sa.select(sa.func.max(closed_to_rater.c.pairs))).scalar() or 0
        totals = [
            connection.execute(sa.select(sa.func.count()).select_from(table)).scalar_one()
            for table in (pairs, items, answers)
        ]
    return PairCounts((open_pairs - most_closed) // len(store.settings.questions), *totals)


def answers_per_second(store: Store) -> float:
    """Estimate how many answers and skips arrive per second, from the last hundred within the last minute.

    The estimate uses the median time between two answers, which is ln 2 / rate for independent arrivals, so that
    waiting for pairs does not make people look slow. Imported answers do not count.
    """
    return _rate_and_raters_at_work(store)[0]


def completed_pairs_per_second(store: Store) -> float:
    """Estimate how many pairs are completed per second.

    A pair is complete after `answers_per_pair` answers to each question, or after one answer from each rater at
    work if there are fewer raters.
    """
    rate, raters_at_work = _rate_and_raters_at_work(store)
    return rate / max(1, min(raters_at_work, store.settings.answers_per_pair)) / len(store.settings.questions)


def describe_stuck_pairs(store: Store) -> str:
    """Say how many pairs nobody at work can complete, and who could; return "" if there are none.

    A rater is at work who answered within the last hour. If nobody did, all active raters are at work.
    """
    with store.reading() as connection:
        at_work = _raters_at_work(connection, store)
        if not at_work:
            return ""
        is_closed = _is_closed_to_its_person(store)
        stuck = (
            sa.select(leases.c.pair)
            .join(pairs, leases.c.pair == pairs.c.id)
            .where(lacks_answers(store.now()), is_closed, leases.c.person.in_(at_work))
            .group_by(leases.c.pair)
            .having(sa.func.count(leases.c.person.distinct()) == len(at_work))
        )
        missing = connection.execute(
            sa.select(pairs.c.wanted, sa.func.count()).where(pairs.c.id.in_(stuck)).group_by(pairs.c.wanted)
        ).all()
        distinct = sa.select(pairs.c.first, pairs.c.second).where(pairs.c.id.in_(stuck)).distinct().subquery()
        total = connection.execute(sa.select(sa.func.count()).select_from(distinct)).scalar_one()
        rows = connection.execute(
            sa.select(people.c.name, sa.func.count(leases.c.pair.distinct()).label("pairs"))
            .select_from(leases.join(people))
            .where(leases.c.pair.in_(stuck), is_closed)
            .group_by(people.c.name)
        )
        closed_to = {row.name: row.pairs for row in rows}
    if total == 0:
        return ""
    stuck_questions = sum(count for _, count in missing)  # a pair counts once for each question that is stuck
    invited = (name for name, role in invites.invited(store) if role == "rater")
    helpers = [name for name in invited if closed_to.get(name, 0) < stuck_questions]
    whom = _missing_person([wanted for wanted, _ in missing], store.settings.answers_per_pair)
    who = f"{_list_raters(helpers)} could answer them" if helpers else "nobody else is invited"
    return f"{counted(total, 'pair')} {'waits' if total == 1 else 'wait'} for {whom} person: {who}."


def active_raters(store: Store) -> sa.Select[tuple[int]]:
    """Select the raters who may answer and do not mostly skip.

    Beyond one round, an active rater skips at most `MAX_SKIPS_PER_ANSWER` pairs for each pair they answer.
    """
    skipped, answered = (
        sa.func.sum(sa.case((leases.c.state == state, 1), else_=0)) for state in ("skipped", "answered")
    )
    answers_per_round = store.settings.k * store.settings.answers_per_pair * len(store.settings.questions)
    return (
        sa.select(leases.c.person)
        .join(people)
        .where(
            leases.c.state.in_(("skipped", "answered")),
            people.c.role == "rater",
            people.c.hash.is_not(None) | (people.c.name == LOCAL),
        )
        .group_by(leases.c.person)
        .having(skipped <= answers_per_round + MAX_SKIPS_PER_ANSWER * answered)
    )


def _is_closed_to_its_person(store: Store) -> sa.ColumnElement[bool]:
    """Return the condition that a lease's person answered, skipped or still holds its pair, and cannot get it now."""
    held = (leases.c.state == "open") & (leases.c.expires > store.now())
    return leases.c.state.in_(finished_lease_states(store.settings.repeats)) | held


def _rate_and_raters_at_work(store: Store) -> tuple[float, int]:
    """Return the answers and skips per second, and how many raters gave them."""
    with store.reading() as connection:
        recent = connection.execute(
            sa.select(answers.c.at, leases.c.person)
            .select_from(answers.join(leases))
            .where(
                answers.c.at > store.now() - 60 * SECOND,
                leases.c.expires != MADE_ELSEWHERE,
                leases.c.person.in_(active_raters(store)),
            )
            .order_by(answers.c.id.desc())
            .limit(100)
        ).all()
    gaps = -np.diff([row.at for row in recent])
    rate = math.log(2) * SECOND / max(float(np.median(gaps)), 1.0) if len(gaps) else 0.0
    return rate, len({row.person for row in recent})


def _raters_at_work(connection: sa.Connection, store: Store) -> list[int]:
    active = sa.select(leases.c.person).distinct().where(leases.c.person.in_(active_raters(store)))
    recent = active.join(answers).where(answers.c.at > store.now() - 3600 * SECOND)
    return list(connection.execute(recent).scalars()) or list(connection.execute(active).scalars())


def _missing_person(wanted: list[int], answers_per_pair: int) -> str:
    """Say which person is missing on pairs that want these numbers of answers: "a second or third", or "another"."""
    places = sorted({place for left in wanted for place in range(answers_per_pair - left, answers_per_pair)})
    if places[0] < 1:  # everybody skipped the pair, and nobody answered it
        return "another"
    return "a " + " or ".join(ORDINALS[at] if at < len(ORDINALS) else f"{at + 1}th" for at in places)


def _list_raters(names: list[str]) -> str:
    """Name the first raters and say how many more there are."""
    listed = names
    if len(names) > MAX_RATERS_LISTED:
        listed = [*names[:MAX_RATERS_LISTED], f"{len(names) - MAX_RATERS_LISTED} more"]
    return listed[0] if len(listed) == 1 else f"{', '.join(listed[:-1])} and {listed[-1]}"
