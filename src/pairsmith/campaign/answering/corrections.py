"""What organisers put right: raters excluded, answers struck out, and a record of all they did. Nothing is deleted.

Answers that do not count are asked for again, as those are that somebody took back.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from pairsmith.campaign.store import statements as sql
from pairsmith.campaign.store.changes import log
from pairsmith.campaign.store.database import Refused
from pairsmith.campaign.store.schema import answers, leases, pairs, people, undos

if TYPE_CHECKING:
    from pairsmith.campaign.store.store import Store


NAMED = 20  # raters at most whom an error names


def exclude(store: Store, name: str, excluded: bool = True, by: int | None = None) -> int:
    """Leave all answers of this rater, those to come too, out of everything, or count them again; how many.

    They may go on labelling: whose link is to be worthless is revoked.
    """
    with store.writing() as connection:
        check_raters(connection, [name])
        person = connection.execute(
            sa.select(people.c.id, people.c.excluded).where(people.c.name == name, people.c.role == "rater")
        ).one()
        given = connection.execute(
            sa.select(leases.c.pair, sa.func.count().label("times"))
            .where(leases.c.person == person.id, leases.c.state == "answered")
            .group_by(leases.c.pair)
        ).all()
        if person.excluded != excluded:
            connection.execute(people.update().where(people.c.id == person.id).values(excluded=excluded))
            step = 1 if excluded else -1
            if given:
                connection.execute(sql.ADD_WANTED, [{"pair": row.pair, "step": step * row.times} for row in given])
            log(connection, store.now(), by, "excluded" if excluded else "included", name=name)
    return sum(row.times for row in given)


def excluded(connection: sa.Connection) -> list[dict[str, Any]]:
    """Of each rater who is excluded: name, and how many answers that leaves out."""
    query = (
        sa.select(people.c.name, sa.func.count(leases.c.id).label("answers"))
        .select_from(people.outerjoin(leases, (leases.c.person == people.c.id) & (leases.c.state == "answered")))
        .where(people.c.excluded)
        .group_by(people.c.id, people.c.name)
        .order_by(people.c.name)
    )
    return [{"name": row.name, "answers": row.answers} for row in connection.execute(query)]


def strike(store: Store, answer: int, struck: bool = True, by: int | None = None) -> None:
    """Strike out this answer, by its number, or restore it."""
    with store.writing() as connection:
        found = connection.execute(
            sa.select(leases.c.id, leases.c.pair, leases.c.person, leases.c.state, people.c.name, people.c.excluded)
            .select_from(answers.join(leases).join(people))
            .where(answers.c.id == answer)
        ).first()
        if found is None:
            raise Refused(404, f"there is no answer {answer}")
        before, after = ("answered", "struck") if struck else ("struck", "answered")
        if found.state == after:  # asked twice
            return
        if found.state != before:
            raise Refused(409, f"answer {answer} was {'skipped' if found.state == 'skipped' else 'taken back'}")
        if not struck and not store.settings.repeats and _answered_again(connection, found):
            raise Refused(409, f"{found.name} has answered this pair again since; strike that answer out first")
        connection.execute(sql.CLOSE, {"lease": found.id, "how": after})
        if not found.excluded:
            connection.execute(sql.ADD_WANTED, {"pair": found.pair, "step": 1 if struck else -1})
        log(connection, store.now(), by, "struck" if struck else "restored", answer=answer, name=found.name)


def _answered_again(connection: sa.Connection, lease: Any) -> bool:
    same = (leases.c.pair == lease.pair) & (leases.c.person == lease.person) & (leases.c.state == "answered")
    return connection.execute(sa.select(leases.c.id).where(same)).first() is not None


def take_back_skips(store: Store, person: int) -> int:
    """Take back all skips of this person, who can then be given these pairs again; return how many there were."""
    own = leases.c.person == person, leases.c.state == "skipped"
    with store.writing() as connection:
        skips = sa.select(answers.c.id, sa.literal(store.now())).join(leases).where(*own)
        connection.execute(undos.insert().from_select(["answer", "at"], skips))
        return connection.execute(leases.update().where(*own).values(state="undone")).rowcount


def skipped(store: Store, person: int) -> int:
    """Return how many pairs that lack answers this person skipped, and so is not given."""
    own = leases.c.person == person, leases.c.state == "skipped", pairs.c.wanted > 0
    query = sa.select(pairs.c.first, pairs.c.second).join(leases, leases.c.pair == pairs.c.id).where(*own).distinct()
    with store.reading() as connection:
        return len(connection.execute(query).all())


def left_out(connection: sa.Connection) -> tuple[int, int]:
    """How many answers were struck out, and how many others are of raters who are excluded."""
    struck = sa.select(sa.func.count()).where(leases.c.state == "struck")
    theirs = sa.select(sa.func.count()).where(leases.c.state == "answered", ~sql.of_those_who_count)
    return connection.execute(struck).scalar_one(), connection.execute(theirs).scalar_one()


def check_raters(connection: sa.Connection, names: Sequence[str]) -> None:
    """Refuse names that no rater has."""
    query = sa.select(people.c.name).where(people.c.role == "rater").order_by(people.c.name)
    there = list(connection.execute(query).scalars())
    for name in names:
        if name not in there:
            more = f" and {len(there) - NAMED} more" if len(there) > NAMED else ""
            raise Refused(404, f"there is no rater {name!r}; there are: {', '.join(there[:NAMED]) or 'none'}{more}")
