"""Mending what earlier versions of pairsmith stored. Nothing is deleted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import sqlalchemy as sa

from pairsmith.campaign.store import statements as sql
from pairsmith.campaign.store.answers import pair_ids
from pairsmith.campaign.store.database import CampaignError
from pairsmith.campaign.store.schema import answers, items, leases, pairs, undos

if TYPE_CHECKING:
    from pairsmith.campaign.store.store import Store


def repair_answers(store: Store) -> tuple[int, int]:
    """Mend what imports of version 1 could do to answers: how many were restored, and how many set aside.

    An answer to z and y, where z comes after y, was stored as y against y, its outcome as seen from y. The item
    shown left tells what z was, unless y was shown left; then the answer is taken back, as an undo does.
    """
    now, restored = store.now(), 0
    broken = (
        sa.select(answers.c.id, answers.c.lease, leases.c.left, pairs.c.first)
        .select_from(answers.join(leases).join(pairs, leases.c.pair == pairs.c.id))
        .where(leases.c.state == "answered", pairs.c.first == pairs.c.second)
    )
    with store.writing() as connection:
        found = connection.execute(broken).all()
        restorable = [(row.first, row.left) for row in found if row.left > row.first]
        ids = pair_ids(connection, restorable, store.settings)
        for row in found:
            if row.left > row.first:
                pair = ids[row.first, row.left, 0]  # versions with several questions do not store such
                connection.execute(leases.update().where(leases.c.id == row.lease).values(pair=pair))
                connection.execute(sql.ADD_WANTED, {"pair": pair, "step": -1})
                restored += 1
            else:
                connection.execute(undos.insert().values(answer=row.id, at=now))
                connection.execute(sql.CLOSE, {"lease": row.lease, "how": "undone"})
    return restored, len(found) - restored


def labels_to_numbers(store: Store, better: str) -> int:
    """Turn labels that are words, as version 1 kept them, into 1 for `better` and -1; how many there are."""
    from pairsmith.model.evidence import classes_of  # scikit-learn, which serving does without

    labeled, labels = store.items.labeled, store.items.labels
    if labels.dtype.kind != "U":
        raise CampaignError(f"{store.target}: its labels are no words; --better has nothing to say here")
    best = classes_of(labels, better)[1]
    with store.writing() as connection:
        for row, label in zip(labeled.tolist(), labels.tolist(), strict=True):
            value = 1 if label == best else -1
            connection.execute(items.update().where(items.c.row == row).values(label=value))
    store.forget_items()
    return len(labeled)
