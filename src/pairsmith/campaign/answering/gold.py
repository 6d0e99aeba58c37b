"""Pairs whose outcome is known, mixed in among the others to see who answers with care.

What is known is no answer: the model is not told it. The answers to these pairs are answers like all others.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import sqlalchemy as sa

from pairsmith.campaign.answering.corrections import excluded
from pairsmith.campaign.store import statements as sql
from pairsmith.campaign.store.changes import log
from pairsmith.campaign.store.schema import GOLD, answers, campaign, leases, pairs, people
from pairsmith.data.names import quoted

if TYPE_CHECKING:
    from pairsmith.campaign.store.store import Store
    from pairsmith.files.items import Items

MOST = 0.5  # the largest rate
Outcomes = dict[tuple[int, int], int]  # of pairs of rows, the smaller first


class Right(NamedTuple):
    right: int  # answers that were as is known
    asked: int  # answers to pairs whose outcome is known


def draw(connection: sa.Connection, store: Store, person: int, rate: float) -> Any:
    """With the chance `rate` a pair whose outcome is known and that this person has not seen, or else None.

    Chance is a function of the campaign's id, which nobody who labels knows, of the person and of how many pairs they
    were shown. Where pairs may be repeated, those come again that this person answered least often, but none twice in a
    row.
    """
    if not rate:
        return None
    shown = connection.execute(sql.LEASES_OF, {"person": person}).scalar_one()
    chance = random.Random(f"{store.settings.id} {person} {shown}")
    if chance.random() >= rate:
        return None
    found = connection.execute(sql.GOLD_PAIRS, {"person": person, "now": store.now()}).all()
    fewest = 0
    if store.settings.repeats:  # never the same pair twice in a row, which would give it away
        last = connection.execute(sql.LAST_SHOWN, {"person": person}).first()
        found = [pair for pair in found if last is None or (pair.first, pair.second) != (last.first, last.second)]
        fewest = min((pair.times for pair in found), default=0)
    unseen = [pair for pair in found if pair.times == fewest]
    return chance.choice(unseen) if unseen else None


def read(path: Path, items: Items, ties: bool) -> Outcomes:
    """The pairs of a file and their outcomes, as `know` takes them, for a campaign of these items."""
    from pairsmith.files.answers import read_answers

    table, names = read_answers(path, items, raters=()), items.features.index
    found: Outcomes = {}
    for (i, j), outcome in zip(table.pairs.tolist(), table.outcomes.astype(int).tolist(), strict=True):
        named = f"{path}: {quoted(names[i])} and {quoted(names[j])}"
        if items.groups is not None and items.groups[i] != items.groups[j]:
            raise ValueError(f"{named} are of different groups, which this campaign does not compare")
        if outcome == 0 and not ties:
            raise ValueError(f"{named} are a tie; this campaign has none")
        pair, outcome = ((i, j), outcome) if i < j else ((j, i), -outcome)
        if found.setdefault(pair, outcome) != outcome:
            raise ValueError(f"{named} have two outcomes; leave one of them")
    if not found:
        raise ValueError(f"{path} holds no pair with an outcome")
    return found


def check_rate(rate: float | None) -> None:
    """Refuse a share that is none, or more than half of all."""
    if rate is not None and not 0 <= rate <= MOST:
        raise ValueError(f"--rate must be between 0 and {MOST}, got {rate:g}")


def know(store: Store, outcomes: Outcomes, rate: float | None = None, question: int = 0) -> int:
    """Keep what is known of these pairs (rows of items, the smaller first), and the rate if given; how many are known.

    It is known of one question. A pair that is not planned is asked for this reason only, but with all questions.
    """
    check_rate(rate)
    with store.writing() as connection:
        keep(connection, outcomes, rate, question, len(store.settings.questions))
        log(connection, store.now(), None, "gold", pairs=len(outcomes), rate=rate)
        return connection.execute(sa.select(sa.func.count()).where(pairs.c.gold.is_not(None))).scalar_one()


def keep(
    connection: sa.Connection, outcomes: Outcomes, rate: float | None, question: int = 0, questions: int = 1
) -> None:
    """The same, as part of a transaction, of one of so many questions."""
    query = sa.select(pairs.c.id, pairs.c.first, pairs.c.second).where(pairs.c.question == question)
    there = {(row.first, row.second): row.id for row in connection.execute(query)}
    new = [pair for pair in outcomes if pair not in there]
    if new:
        rows = [
            {"first": i, "second": j, "question": at, "round": 0, "wanted": 0, "why": GOLD,
             "gold": outcomes[i, j] if at == question else None}
            for i, j in new
            for at in range(questions)
        ]  # fmt: skip
        connection.execute(pairs.insert(), rows)
    for pair in outcomes.keys() & there.keys():
        connection.execute(pairs.update().where(pairs.c.id == there[pair]).values(gold=outcomes[pair]))
    if rate is not None:
        connection.execute(campaign.update().values(gold_rate=rate))


def rate_of(store: Store) -> float:
    """The share of pairs handed out that are drawn from those whose outcome is known."""
    with store.reading() as connection:
        return connection.execute(sa.select(campaign.c.gold_rate)).scalar() or 0.0


def right_and_asked(connection: sa.Connection, question: int | None = None) -> dict[str, Right]:
    """Of each rater who answered a pair whose outcome is known, why ever it was asked: how many, and how well.

    By all questions, or by this one. Those who are excluded too: how they did on these pairs may be why they are.
    """
    right = sa.func.sum(sa.case((answers.c.outcome == pairs.c.gold, 1), else_=0))
    found = connection.execute(
        sa.select(people.c.name, right, sa.func.count())
        .select_from(answers.join(leases).join(pairs, leases.c.pair == pairs.c.id).join(people))
        .where(leases.c.state == "answered", pairs.c.gold.is_not(None))
        .where(sa.true() if question is None else pairs.c.question == question)
        .group_by(people.c.name)
        .order_by(people.c.name)
    )
    return {name: Right(int(good), asked) for name, good, asked in found}


def together(connection: sa.Connection) -> Right:
    """The same of everybody whose answers count."""
    found, out = right_and_asked(connection), {row["name"] for row in excluded(connection)}
    counts = [own for name, own in found.items() if name not in out]
    return Right(sum(own.right for own in counts), sum(own.asked for own in counts))
