"""Who is waited for: pairs that those who take part cannot complete by themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import sqlalchemy as sa

from pairsmith.campaign import counted
from pairsmith.campaign.people import invites as people
from pairsmith.campaign.planning import pace
from pairsmith.campaign.store.schema import SECOND, answers, leases, pairs
from pairsmith.campaign.store.schema import people as persons

if TYPE_CHECKING:
    from pairsmith.campaign.store.store import Store

NAMED = 3  # people at most who are named
ORDINALS = ("first", "second", "third", "fourth", "fifth")


def waits(store: Store) -> str:
    """A sentence on the pairs that nobody at work can answer (any more), and who could; empty where there are none.

    At work are those who answered within the last hour, or else whoever ever answered and may still come.
    """
    with store.reading() as connection:
        at_work = _at_work(connection, store)
        if not at_work:
            return ""
        done = pace.not_for_them_again(store)
        stuck = (
            sa.select(leases.c.pair)
            .join(pairs, leases.c.pair == pairs.c.id)
            .where(pace.lacks_answers(store.now()), done, leases.c.person.in_(at_work))
            .group_by(leases.c.pair)
            .having(sa.func.count(leases.c.person.distinct()) == len(at_work))
        )
        wanted = connection.execute(
            sa.select(pairs.c.wanted, sa.func.count()).where(pairs.c.id.in_(stuck)).group_by(pairs.c.wanted)
        ).all()
        asked = sum(count for _, count in wanted)  # pairs, once for each question that waits
        several = sa.select(pairs.c.first, pairs.c.second).where(pairs.c.id.in_(stuck)).distinct().subquery()
        total = connection.execute(sa.select(sa.func.count()).select_from(several)).scalar_one()
        rows = connection.execute(
            sa.select(persons.c.name, sa.func.count(leases.c.pair.distinct()).label("pairs"))
            .select_from(leases.join(persons))
            .where(leases.c.pair.in_(stuck), done)
            .group_by(persons.c.name)
        )
        done_by = {row.name: row.pairs for row in rows}
    if total == 0:
        return ""
    invited = (name for name, role in people.invited(store) if role == "rater")
    others = [name for name in invited if done_by.get(name, 0) < asked]
    whom = _whom([left for left, _ in wanted], store.settings.answers_per_pair)
    who = f"{_listed(others)} could answer them" if others else "nobody else is invited"
    return f"{counted(total, 'pair')} {'waits' if total == 1 else 'wait'} for {whom} person: {who}."


def _at_work(connection: sa.Connection, store: Store) -> list[int]:
    may = sa.select(leases.c.person).distinct().where(leases.c.person.in_(pace.people_who_answer(store)))
    of_late = may.join(answers).where(answers.c.at > store.now() - 3600 * SECOND)
    return list(connection.execute(of_late).scalars()) or list(connection.execute(may).scalars())


def _whom(wanted: list[int], answers_per_pair: int) -> str:
    """Which persons lack where so many answers are wanted: a second or third, or another where none was counted on."""
    places = sorted({place for left in wanted for place in range(answers_per_pair - left, answers_per_pair)})
    if places[0] < 1:  # skipped by everybody, and not answered
        return "another"
    return "a " + " or ".join(ORDINALS[at] if at < len(ORDINALS) else f"{at + 1}th" for at in places)


def _listed(names: list[str]) -> str:
    """Some names, and how many more."""
    shown = names if len(names) <= NAMED else [*names[:NAMED], f"{len(names) - NAMED} more"]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
