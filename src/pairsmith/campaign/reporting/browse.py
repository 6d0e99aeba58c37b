"""Single answers as organisers look at them: who was shown what, on which side, in which words, and what they said."""

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
_FOUND = (
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
# Pairs on which answers that count differ, to the same question.
_DISPUTED = (
    sa.select(leases.c.pair)
    .join(answers)
    .where(leases.c.state == "answered", sql.of_those_who_count)
    .group_by(leases.c.pair)
    .having(sa.func.min(answers.c.outcome) != sa.func.max(answers.c.outcome))
)


class Filter(NamedTuple):
    """Which answers to look at; nothing means all."""

    person: str = ""  # the name of a rater
    item: str = ""  # the id of an item, without the spaces around it
    disputed: bool = False  # only where answers that count differ on the pair
    question: int = 0  # 1 for the first

    def conditions(self) -> list[sa.ColumnElement[bool]]:
        found: list[sa.ColumnElement[bool]] = [leases.c.state.in_(("answered", "struck"))]
        if self.person:
            found.append(people.c.name == self.person)
        if self.item:
            found.append(sa.or_(*(sa.func.trim(side.c.name) == self.item.strip() for side in (_left, _right))))
        if self.disputed:
            found.append(leases.c.pair.in_(_DISPUTED))
        if self.question:
            found.append(pairs.c.question == self.question - 1)
        return found


def browse(connection: sa.Connection, wanted: Filter, offset: int, limit: int) -> tuple[int, list[Any]]:
    """How many such answers there are, and some of them: the latest first, those of one pair together if disputed."""
    query = _FOUND.where(*wanted.conditions())
    total = connection.execute(sa.select(sa.func.count()).select_from(query.subquery())).scalar_one()
    order = (leases.c.pair.desc(), answers.c.id.desc()) if wanted.disputed else (answers.c.id.desc(),)
    return total, list(connection.execute(query.order_by(*order).offset(offset).limit(limit)))


def one(connection: sa.Connection, answer: int) -> Any | None:
    """The answer of this number, None where there is none that stands or was struck out."""
    return connection.execute(_FOUND.where(answers.c.id == answer, *Filter().conditions())).first()


def commented(connection: sa.Connection) -> list[Any]:
    """Return the answers and skips on which somebody commented, in order."""
    given = leases.c.state.in_(("answered", "skipped")), answers.c.comment != CHANGED
    return list(connection.execute(_FOUND.where(*given).order_by(answers.c.id)))


def raters(connection: sa.Connection) -> list[str]:
    """The names of all who have answered something."""
    query = sa.select(people.c.name).where(people.c.id.in_(sa.select(leases.c.person).where(leases.c.state != "open")))
    return list(connection.execute(query.order_by(people.c.name)).scalars())
