"""A campaign at one moment: all that planning, the model and the report may read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import sqlalchemy as sa

from pairsmith.campaign.options import CampaignOptions
from pairsmith.campaign.store.answers import load_answers
from pairsmith.campaign.store.raters import LOCAL
from pairsmith.campaign.store.schema import MADE_ELSEWHERE, leases, pairs, people
from pairsmith.campaign.store.statements import REVISION, finished_lease_states
from pairsmith.data.arrays import Ints

if TYPE_CHECKING:
    from pairsmith.campaign.store.store import Store


@dataclass(frozen=True)
class CampaignSnapshot:
    """The items, pairs and answers of one moment. Items are numbered by their rows."""

    features: pd.DataFrame  # indexed by the items' ids
    groups: npt.NDArray[np.object_] | None
    labeled: Ints  # rows of the items that have labels
    labels: npt.NDArray[Any]
    planned: Ints  # (m, 2) all pairs so far, in the order in which they were planned
    last_pair: int  # id of the newest pair
    answers: pd.DataFrame  # see `load_answers`
    recipe: dict[str, Any] | None = None  # of the features, as JSON
    last_round: int = 0  # its number
    asked: int = 0  # answers that all pairs together want, those given included
    # (r, 2) planned pairs that may be asked again: complete, and some active rater has not answered them
    repeatable: Ints = field(default_factory=lambda: np.zeros((0, 2), dtype=np.int64))
    authors: npt.NDArray[np.object_] | None = None  # who made each item, if the campaign knows
    author_column: str | None = None  # the column of the table that named them
    question: int = 0  # the question that the answers are to; 0: the first
    asks_again: bool = False  # whether the design may ask a pair again
    revision: int = 0  # of corrections, see `statements.REVISION`


def take_snapshot(store: Store, question: int = 0) -> CampaignSnapshot:
    """Return the campaign as it is now, with the answers to one question."""
    options = store.settings  # before the transaction: a read-only file is a copy in memory with a single connection
    with store.reading() as connection:
        items = store.items_as_of(connection)
        columns = pairs.c.id, pairs.c.first, pairs.c.second, pairs.c.round, pairs.c.wanted
        rows = connection.execute(sa.select(*columns).where(pairs.c.question == question).order_by(pairs.c.id)).all()
        last_pair = connection.execute(sa.select(sa.func.max(pairs.c.id))).scalar()
        answers = load_answers(connection, question=question)
        repeatable = _repeatable_pairs(connection, options, question)
        revision = connection.execute(REVISION).scalar_one()
    return CampaignSnapshot(
        features=items.features,
        groups=items.groups,
        labeled=items.labeled,
        labels=items.labels,
        planned=np.array([(row.first, row.second) for row in rows], dtype=np.int64).reshape(-1, 2),
        last_pair=last_pair or 0,
        answers=answers,
        recipe=options.recipe,
        last_round=max((row.round for row in rows), default=0),
        asked=len(answers) + sum(row.wanted for row in rows),
        repeatable=repeatable,
        authors=items.authors,
        author_column=options.author_column,
        question=question,
        asks_again=options.asks_again,
        revision=revision,
    )


def _repeatable_pairs(connection: sa.Connection, options: CampaignOptions, question: int) -> Ints:
    """Return the pairs that want no answer to this question now, but could get one from an active rater.

    A rater is done with a pair after skipping it, or after answering it unless one person may answer twice. Gold pairs
    are not repeatable: they are not asked for what the model learns from them.
    """
    if not options.asks_again:
        return np.zeros((0, 2), dtype=np.int64)
    active = (
        sa.select(leases.c.person)
        .join(people)
        .where(leases.c.state == "answered", leases.c.expires != MADE_ELSEWHERE, people.c.excluded == sa.false())
        .where(people.c.hash.is_not(None) | (people.c.name == LOCAL))
        .distinct()
    )
    done = (
        sa.select(leases.c.pair, sa.func.count(leases.c.person.distinct()).label("people"))
        .where(leases.c.state.in_(finished_lease_states(options.repeats)))
        .where(leases.c.person.in_(active))
        .group_by(leases.c.pair)
        .subquery()
    )
    active_count = sa.select(sa.func.count()).select_from(active.subquery()).scalar_subquery()
    rows = connection.execute(
        sa.select(pairs.c.first, pairs.c.second)
        .select_from(pairs.outerjoin(done, done.c.pair == pairs.c.id))
        .where(pairs.c.wanted <= 0, pairs.c.gold.is_(None), pairs.c.first < pairs.c.second)
        .where(pairs.c.question == question)
        .where(sa.func.coalesce(done.c.people, 0) < active_count)
        .order_by(pairs.c.id)
    ).all()
    return np.array([tuple(row) for row in rows], dtype=np.int64).reshape(-1, 2)
