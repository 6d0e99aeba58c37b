"""What organisers correct: they exclude raters and strike out answers. All of it is logged, and nothing is deleted.

An answer that no longer counts is asked for again, like an answer that was taken back.
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


MAX_RATERS_LISTED = 20  # in an error message


def exclude(store: Store, name: str, excluded: bool = True, by: int | None = None) -> int:
    """Exclude a rater, so that their past and future answers do not count, or include them again.

    Return the number of their answers. An excluded rater may continue to answer; to prevent that, revoke the invite.
    """
    with store.writing() as connection:
        check_raters(connection, [name])
        person = connection.execute(
            sa.select(people.c.id, people.c.excluded).where(people.c.name == name, people.c.role == "rater")
        ).one()
        answered = connection.execute(
            sa.select(leases.c.pair, sa.func.count().label("times"))
            .where(leases.c.person == person.id, leases.c.state == "answered")
            .group_by(leases.c.pair)
        ).all()
        if person.excluded != excluded:
            connection.execute(people.update().where(people.c.id == person.id).values(excluded=excluded))
            step = 1 if excluded else -1
            if answered:
                connection.execute(sql.ADD_WANTED, [{"pair": row.pair, "step": step * row.times} for row in answered])
            log(connection, store.now(), by, "excluded" if excluded else "included", name=name)
    return sum(row.times for row in answered)


def excluded(connection: sa.Connection) -> list[dict[str, Any]]:
    """Return the name of each excluded rater and the number of answers that do not count because of it."""
    query = (
        sa.select(people.c.name, sa.func.count(leases.c.id).label("answers"))
        .select_from(people.outerjoin(leases, (leases.c.person == people.c.id) & (leases.c.state == "answered")))
        .where(people.c.excluded)
        .group_by(people.c.id, people.c.name)
        .order_by(people.c.name)
    )
    return [{"name": row.name, "answers": row.answers} for row in connection.execute(query)]


def strike(store: Store, answer: int, struck: bool = True, by: int | None = None) -> None:
    """Strike out the answer with this number, or restore it."""
    with store.writing() as connection:
        lease = connection.execute(
            sa.select(leases.c.id, leases.c.pair, leases.c.person, leases.c.state, people.c.name, people.c.excluded)
            .select_from(answers.join(leases).join(people))
            .where(answers.c.id == answer)
        ).first()
        if lease is None:
            raise Refused(404, f"there is no answer {answer}")
        before, after = ("answered", "struck") if struck else ("struck", "answered")
        if lease.state == after:  # the request came twice
            return
        if lease.state != before:
            raise Refused(409, f"answer {answer} was {'skipped' if lease.state == 'skipped' else 'taken back'}")
        if not struck and not store.settings.repeats and _answered_again(connection, lease):
            raise Refused(409, f"{lease.name} has answered this pair again since; strike that answer out first")
        connection.execute(sql.CLOSE, {"lease": lease.id, "how": after})
        if not lease.excluded:
            connection.execute(sql.ADD_WANTED, {"pair": lease.pair, "step": 1 if struck else -1})
        log(connection, store.now(), by, "struck" if struck else "restored", answer=answer, name=lease.name)


def _answered_again(connection: sa.Connection, lease: Any) -> bool:
    """Return whether the person of this lease has another answer to its pair that stands."""
    same = (leases.c.pair == lease.pair) & (leases.c.person == lease.person) & (leases.c.state == "answered")
    return connection.execute(sa.select(leases.c.id).where(same)).first() is not None


def undo_skips(store: Store, person: int) -> int:
    """Take back all skips of a person, so that they can be given these pairs again; return the number of skips."""
    own = leases.c.person == person, leases.c.state == "skipped"
    with store.writing() as connection:
        skips = sa.select(answers.c.id, sa.literal(store.now())).join(leases).where(*own)
        connection.execute(undos.insert().from_select(["answer", "at"], skips))
        return connection.execute(leases.update().where(*own).values(state="undone")).rowcount


def skipped(store: Store, person: int) -> int:
    """Return how many pairs still lack answers but are not given to this person, who skipped them."""
    own = leases.c.person == person, leases.c.state == "skipped", pairs.c.wanted > 0
    query = sa.select(pairs.c.first, pairs.c.second).join(leases, leases.c.pair == pairs.c.id).where(*own).distinct()
    with store.reading() as connection:
        return len(connection.execute(query).all())


def left_out(connection: sa.Connection) -> tuple[int, int]:
    """Return how many answers were struck out, and how many others do not count because their rater is excluded."""
    struck = sa.select(sa.func.count()).where(leases.c.state == "struck")
    of_excluded = sa.select(sa.func.count()).where(leases.c.state == "answered", ~sql.by_counted_rater)
    return connection.execute(struck).scalar_one(), connection.execute(of_excluded).scalar_one()


def check_raters(connection: sa.Connection, names: Sequence[str]) -> None:
    """Raise `Refused` if no rater has one of these names."""
    query = sa.select(people.c.name).where(people.c.role == "rater").order_by(people.c.name)
    existing = list(connection.execute(query).scalars())
    for name in names:
        if name not in existing:
            more = f" and {len(existing) - MAX_RATERS_LISTED} more" if len(existing) > MAX_RATERS_LISTED else ""
            raise Refused(
                404, f"there is no rater {name!r}; there are: {', '.join(existing[:MAX_RATERS_LISTED]) or 'none'}{more}"
            )
