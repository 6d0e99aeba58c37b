"""The items of a campaign: features, groups, labels, and what raters see of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import sqlalchemy as sa

from pairsmith.campaign.options import CampaignOptions
from pairsmith.campaign.store import statements as sql
from pairsmith.campaign.store.database import CampaignError
from pairsmith.campaign.store.media import MEDIA, file_parts
from pairsmith.campaign.store.schema import items
from pairsmith.data.arrays import Ints

TEXT_KINDS = ("text", "markdown")


@dataclass(frozen=True)
class StoredItems:
    """The items as the model and the design see them."""

    features: pd.DataFrame  # indexed by the items' ids
    groups: npt.NDArray[np.object_] | None
    labeled: Ints  # rows of the items that have labels
    labels: npt.NDArray[Any]  # 1 for the better, -1 for the worse
    authors: npt.NDArray[np.object_] | None = None  # who made each item, if the campaign knows

    @property
    def names(self) -> list[str]:
        """The items' ids, in the order of their rows."""
        return list(self.features.index)


def read(connection: sa.Connection, options: CampaignOptions) -> StoredItems:
    """Return all items of the campaign."""
    rows = connection.execute(
        sa.select(items.c.name, items.c.features, items.c.grouped, items.c.label, items.c.author).order_by(items.c.row)
    ).all()
    X = np.frombuffer(b"".join(row.features for row in rows), dtype="<f8")
    X = X.reshape(len(rows), len(options.feature_names))
    features = pd.DataFrame(X, index=[row.name for row in rows], columns=options.feature_names)
    groups = np.array([row.grouped for row in rows], dtype=object) if options.grouped else None
    labeled = np.array([number for number, row in enumerate(rows) if row.label is not None], dtype=np.int64)
    labels = np.array([rows[number].label for number in labeled])
    authors = None if options.author_column is None else np.array([row.author for row in rows], dtype=object)
    return StoredItems(features, groups, labeled, labels, authors)


def parts(connection: sa.Connection, row: int) -> list[tuple[str, str]]:
    """Return what raters see of an item: kind (text, markdown, image, audio), and the text or the path in the folder.

    The list is empty if there is no such item. Parts that the app cannot show are an error.
    """
    stored = connection.execute(sql.PARTS, {"row": row}).scalar()
    try:
        own = [(str(kind), str(value)) for kind, value in stored or ()]
    except (TypeError, ValueError):
        own = [("", "")]
    if not {kind for kind, _ in own} <= {*TEXT_KINDS, *MEDIA}:
        raise CampaignError(f"row {row} of the table items has no valid parts; restore the campaign from a backup")
    return own


def name(connection: sa.Connection, row: int) -> str:
    """Return the id of an item."""
    return str(connection.execute(sql.NAME, {"row": row}).scalar_one())


def prompt(connection: sa.Connection, row: int) -> str | None:
    """Return the prompt that an item answers, or None."""
    text = connection.execute(sql.PROMPT, {"row": row}).scalar()
    return None if text is None else str(text)


def files(connection: sa.Connection) -> list[tuple[str, str]]:
    """Return (kind, path in the folder) of each file that raters see."""
    all_parts = connection.execute(sa.select(items.c.parts).order_by(items.c.row)).scalars().all()
    return sorted({(kind, path) for own in all_parts for _, kind, path in file_parts(own)})
