"""A campaign at one moment: all that planning, the model and the report look at."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import sqlalchemy as sa

from pairsmith.campaign.options import CampaignOptions
from pairsmith.campaign.store import answers
from pairsmith.campaign.store.raters import LOCAL
from pairsmith.campaign.store.schema import MADE_ELSEWHERE, leases, pairs, people
from pairsmith.campaign.store.statements import REVISION, closed_states
from pairsmith.data.arrays import Ints

if TYPE_CHECKING:
    from pairsmith.campaign.store.store import Store


@dataclass(frozen=True)
class CampaignSnapshot:
    """Items, pairs and answers of one moment; items are named by their rows."""

    features: pd.DataFrame  # indexed by the items' ids
    groups: npt.NDArray[np.object_] | None
    labeled: Ints  # rows of the items that have labels
    labels: npt.NDArray[Any]
    planned: Ints  # (m, 2) pairs asked or to be asked, in order
    last_pair: int  # the id of the last of them
    answers: pd.DataFrame  # as `answers.standing` gives them
    recipe: dict[str, Any] | None = None  # of the features, as JSON
    last_round: int = 0  # its number
    asked: int = 0  # how many answers were asked for so far, those given included
    # (r, 2) those of `planned` that may be asked again: answered, and somebody is there who did not answer them
    repeatable: Ints = field(default_factory=lambda: np.zeros((0, 2), dtype=np.int64))
    authors: npt.NDArray[np.object_] | None = None  # who made each item, where the campaign knows
    by: str | None = None  # the column that said so
    question: int = 0  # that the answers are to; 0: the first
    asks_again: bool = False  # whether the design may ask a pair again
    revision: int = 0  # of the corrections so far, see `statements.REVISION`


def take_snapshot(store: Store, question: int = 0) -> CampaignSnapshot:
    """The campaign as it is now, with the answers to this question."""
    settings = store.settings  # before the transaction: a database in memory, as of a read-only file, has but one
    with store.reading() as connection:
        items = store.items_as_of(connection)
        columns = pairs.c.id, pairs.c.first, pairs.c.second, pairs.c.round, pairs.c.wanted
        found = connection.execute(sa.select(*columns).where(pairs.c.question == question).order_by(pairs.c.id)).all()
        last = connection.execute(sa.select(sa.func.max(pairs.c.id))).scalar()
        given = answers.standing(connection, store.target, question=question)
        again = _repeatable(connection, settings, question)
        revision = connection.execute(REVISION).scalar_one()
    planned = np.array([(row.first, row.second) for row in found], dtype=np.int64).reshape(-1, 2)
    planned = planned[planned[:, 0] != planned[:, 1]]  # imports of version 1 could store such, see `repair`
    return CampaignSnapshot(
        items.features,
        items.groups,
        items.labeled,
        items.labels,
        planned,
        last or 0,
        given,
        settings.recipe,
        max((row.round for row in found), default=0),
        len(given) + sum(row.wanted for row in found),
        again,
        items.authors,
        settings.by,
        question,
        settings.asks_again,
        revision,
    )


def _repeatable(connection: sa.Connection, settings: CampaignOptions, question: int) -> Ints:
    """Pairs that want no answer to this question now, and that somebody who answers here has neither skipped nor,
    unless one person may be asked twice, answered. Gold pairs are not asked for what the model learns from them.
    """
    if not settings.asks_again:
        return np.zeros((0, 2), dtype=np.int64)
    there = (
        sa.select(leases.c.person)
        .join(people)
        .where(leases.c.state == "answered", leases.c.expires != MADE_ELSEWHERE, people.c.excluded == sa.false())
        .where(people.c.hash.is_not(None) | (people.c.name == LOCAL))
        .distinct()
    )
    finished = (
        sa.select(leases.c.pair, sa.func.count(leases.c.person.distinct()).label("people"))
        .where(leases.c.state.in_(closed_states(settings.repeats)))
        .where(leases.c.person.in_(there))
        .group_by(leases.c.pair)
        .subquery()
    )
    everybody = sa.select(sa.func.count()).select_from(there.subquery()).scalar_subquery()
    found = connection.execute(
        sa.select(pairs.c.first, pairs.c.second)
        .select_from(pairs.outerjoin(finished, finished.c.pair == pairs.c.id))
        .where(pairs.c.wanted <= 0, pairs.c.gold.is_(None), pairs.c.first < pairs.c.second)
        .where(pairs.c.question == question)
        .where(sa.func.coalesce(finished.c.people, 0) < everybody)
        .order_by(pairs.c.id)
    ).all()
    return np.array([tuple(row) for row in found], dtype=np.int64).reshape(-1, 2)
