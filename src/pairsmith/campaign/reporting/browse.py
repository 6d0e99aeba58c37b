"""Single answers as organisers browse them: who was shown what, on which side, in which wording, and the answer."""

from __future__ import annotations

from typing import Any, NamedTuple

import sqlalchemy as sa

from pairsmith.campaign.store import statements as sql
from pairsmith.campaign.store.schema import CHANGED, MADE_ELSEWHERE, answers, items, leases, pairs, people

_left, _right = items.alias(), items.alias()
_choice = sa.case(
    (answers.c.outcome.is_(None), "skip"),
    (answers.c.outcome == 0, "tie"),
    ((answers.c.outcome > 0) == (leases.c.left == pairs.c.first), "left"),
    else_="right",
)
_ANSWERS = (
    sa.select(
        answers.c.id,
        answers.c.at,
        people.c.name.label("rater"),
        people.c.excluded,
        _left.c.row.label("left_row"),
        _left.c.name.label("left"),
        _right.c.row.label("right_row"),
        _right.c.name.label("right"),
        _choice.label("choice"),
        answers.c.strength,
        answers.c.milliseconds,
        answers.c.comment,
        (leases.c.state == "struck").label("struck"),
        leases.c.wording,
        pairs.c.question,
        (leases.c.expires == MADE_ELSEWHERE).label("elsewhere"),
    )
    .select_from(answers.join(leases).join(pairs, leases.c.pair == pairs.c.id).join(people))
    .join(_left, _left.c.row == leases.c.left)
    .join(_right, _right.c.row == pairs.c.first + pairs.c.second - leases.c.left)
)
# Pairs whose counting answers to the same question differ.
_DISPUTED = (
    sa.select(leases.c.pair)
    .join(answers)
    .where(leases.c.state == "answered", sql.by_counted_rater)
    .group_by(leases.c.pair)
    .having(sa.func.min(answers.c.outcome) != sa.func.max(answers.c.outcome))
)


class Filter(NamedTuple):
    """Which answers to browse; the defaults select all."""

    person: str = ""  # the name of a rater
    item: str = ""  # the id of an item, without the spaces around it
    disputed: bool = False  # only pairs whose counting answers differ
    question: int = 0  # 1 for the first

    def conditions(self) -> list[sa.ColumnElement[bool]]:
        """Return the conditions of the query; answers that were taken back never match."""
        conditions: list[sa.ColumnElement[bool]] = [leases.c.state.in_(("answered", "struck"))]
        if self.person:
            conditions.append(people.c.name == self.person)
        if self.item:
            conditions.append(sa.or_(*(sa.func.trim(side.c.name) == self.item.strip() for side in (_left, _right))))
        if self.disputed:
            conditions.append(leases.c.pair.in_(_DISPUTED))
        if self.question:
            conditions.append(pairs.c.question == self.question - 1)
        return conditions


def browse(connection: sa.Connection, wanted: Filter, offset: int, limit: int) -> tuple[int, list[Any]]:
    """Return the number of matching answers and one page of them.

    The latest come first. With `wanted.disputed`, the answers to one pair stand together.
    """
    query = _ANSWERS.where(*wanted.conditions())
    total = connection.execute(sa.select(sa.func.count()).select_from(query.subquery())).scalar_one()
    order = (leases.c.pair.desc(), answers.c.id.desc()) if wanted.disputed else (answers.c.id.desc(),)
    return total, list(connection.execute(query.order_by(*order).offset(offset).limit(limit)))


def one(connection: sa.Connection, answer: int) -> Any | None:
    """Return the answer with this number; None if there is none, or if it is a skip or was taken back."""
    return connection.execute(_ANSWERS.where(answers.c.id == answer, *Filter().conditions())).first()


def commented(connection: sa.Connection) -> list[Any]:
    """Return the answers and skips with a comment, in order."""
    commented = leases.c.state.in_(("answered", "skipped")), answers.c.comment != CHANGED
    return list(connection.execute(_ANSWERS.where(*commented).order_by(answers.c.id)))


def raters(connection: sa.Connection) -> list[str]:
    """Return the names of all raters who have answered something."""
    query = sa.select(people.c.name).where(people.c.id.in_(sa.select(leases.c.person).where(leases.c.state != "open")))
    return list(connection.execute(query.order_by(people.c.name)).scalars())
