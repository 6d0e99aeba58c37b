"""Gold pairs: pairs with a known outcome, mixed in among the others to see who answers with care.

A known outcome is not an answer, and the model does not see it. Raters' answers to gold pairs count like all others.
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

MAX_RATE = 0.5  # of gold pairs among the pairs handed out
Outcomes = dict[tuple[int, int], int]  # from pairs of rows, the smaller first, to +1, 0 or -1


class GoldScore(NamedTuple):
    """How well gold pairs were answered."""

    right: int  # answers with the known outcome
    asked: int  # answers to gold pairs


def draw(connection: sa.Connection, store: Store, person: int, rate: float) -> Any:
    """Return, with probability `rate`, a gold pair that this person has not seen, and otherwise None.

    The draw depends on the campaign's id, which raters do not know, on the person, and on how many pairs they were
    shown. Where pairs may be repeated, the gold pairs that this person answered least often come again, but never the
    same pair twice in a row.
    """
    if not rate:
        return None
    n_shown = connection.execute(sql.LEASE_COUNT, {"person": person}).scalar_one()
    rng = random.Random(f"{store.settings.id} {person} {n_shown}")
    if rng.random() >= rate:
        return None
    candidates = connection.execute(sql.GOLD_PAIRS, {"person": person, "now": store.now()}).all()
    fewest = 0
    if store.settings.repeats:  # a pair that comes twice in a row would give itself away
        last = connection.execute(sql.LAST_SHOWN, {"person": person}).first()
        candidates = [
            pair for pair in candidates if last is None or (pair.first, pair.second) != (last.first, last.second)
        ]
        fewest = min((pair.times for pair in candidates), default=0)
    least_seen = [pair for pair in candidates if pair.times == fewest]
    return rng.choice(least_seen) if least_seen else None


def read(path: Path, items: Items, ties: bool) -> Outcomes:
    """Read pairs and their outcomes from a file, for `know`; `items` and `ties` are the campaign's."""
    from pairsmith.files.answers import read_answers

    table, names = read_answers(path, items, raters=()), items.features.index
    outcomes: Outcomes = {}
    for (i, j), outcome in zip(table.pairs.tolist(), table.outcomes.astype(int).tolist(), strict=True):
        named = f"{path}: {quoted(names[i])} and {quoted(names[j])}"
        if items.groups is not None and items.groups[i] != items.groups[j]:
            raise ValueError(
                f"{named} are of different groups, which this campaign does not compare; leave the pair out"
            )
        if outcome == 0 and not ties:
            raise ValueError(f"{named} are a tie; this campaign has none, so leave the pair out")
        pair, outcome = ((i, j), outcome) if i < j else ((j, i), -outcome)
        if outcomes.setdefault(pair, outcome) != outcome:
            raise ValueError(f"{named} have two outcomes; keep one of them")
    if not outcomes:
        raise ValueError(f"{path} holds no pair with an outcome")
    return outcomes


def check_rate(rate: float | None) -> None:
    """Raise ValueError unless the rate is None or between 0 and MAX_RATE."""
    if rate is not None and not 0 <= rate <= MAX_RATE:
        raise ValueError(f"--rate must be between 0 and {MAX_RATE}, got {rate:g}")


def know(store: Store, outcomes: Outcomes, rate: float | None = None, question: int = 0) -> int:
    """Store known outcomes for one question, and the rate if given; return how many pairs are gold now.

    A gold pair that is not planned is asked only because it is gold, but with all questions.
    """
    check_rate(rate)
    with store.writing() as connection:
        keep(connection, outcomes, rate, question, len(store.settings.questions))
        log(connection, store.now(), None, "gold", pairs=len(outcomes), rate=rate)
        return connection.execute(sa.select(sa.func.count()).where(pairs.c.gold.is_not(None))).scalar_one()


def keep(
    connection: sa.Connection, outcomes: Outcomes, rate: float | None, question: int = 0, questions: int = 1
) -> None:
    """Store known outcomes as `know` does, within a transaction; `questions` is the number of questions."""
    query = sa.select(pairs.c.id, pairs.c.first, pairs.c.second).where(pairs.c.question == question)
    existing = {(row.first, row.second): row.id for row in connection.execute(query)}
    new = [pair for pair in outcomes if pair not in existing]
    if new:
        rows = [
            {"first": i, "second": j, "question": at, "round": 0, "wanted": 0, "why": GOLD,
             "gold": outcomes[i, j] if at == question else None}
            for i, j in new
            for at in range(questions)
        ]  # fmt: skip
        connection.execute(pairs.insert(), rows)
    for pair in outcomes.keys() & existing.keys():
        connection.execute(pairs.update().where(pairs.c.id == existing[pair]).values(gold=outcomes[pair]))
    if rate is not None:
        connection.execute(campaign.update().values(gold_rate=rate))


def gold_rate_of(store: Store) -> float:
    """Return the share of gold pairs among the pairs handed out."""
    with store.reading() as connection:
        return connection.execute(sa.select(campaign.c.gold_rate)).scalar() or 0.0


def score_raters(connection: sa.Connection, question: int | None = None) -> dict[str, GoldScore]:
    """Score each rater who answered a gold pair, for whatever reason it was asked, on all questions or on one.

    Excluded raters are scored, too: their score may be the reason why they are excluded.
    """
    right = sa.func.sum(sa.case((answers.c.outcome == pairs.c.gold, 1), else_=0))
    rows = connection.execute(
        sa.select(people.c.name, right, sa.func.count())
        .select_from(answers.join(leases).join(pairs, leases.c.pair == pairs.c.id).join(people))
        .where(leases.c.state == "answered", pairs.c.gold.is_not(None))
        .where(sa.true() if question is None else pairs.c.question == question)
        .group_by(people.c.name)
        .order_by(people.c.name)
    )
    return {name: GoldScore(int(n_right), asked) for name, n_right, asked in rows}


def together(connection: sa.Connection) -> GoldScore:
    """Return the common score of all raters whose answers count."""
    out = {row["name"] for row in excluded(connection)}
    scores = [score for name, score in score_raters(connection).items() if name not in out]
    return GoldScore(sum(score.right for score in scores), sum(score.asked for score in scores))
