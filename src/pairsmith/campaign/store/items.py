"""The items of a campaign: features, groups, labels, and what people see of them."""

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
from pairsmith.campaign.store.media import MEDIA, parts_with_files
from pairsmith.campaign.store.schema import items
from pairsmith.data.arrays import Ints

TEXT_KINDS = ("text", "markdown")


@dataclass(frozen=True)
class StoredItems:
    """Items as the model and the design look at them."""

    features: pd.DataFrame  # indexed by the items' ids
    groups: npt.NDArray[np.object_] | None
    labeled: Ints  # rows of the items that have labels
    labels: npt.NDArray[Any]  # 1 and -1; words in campaigns of version 1
    authors: npt.NDArray[np.object_] | None = None  # who made each, where the campaign knows

    @property
    def names(self) -> list[str]:
        """The items' ids, in the order of their rows."""
        return list(self.features.index)


def read(connection: sa.Connection, settings: CampaignOptions) -> StoredItems:
    """All items of the campaign."""
    rows = connection.execute(
        sa.select(items.c.name, items.c.features, items.c.grouped, items.c.label, items.c.author).order_by(items.c.row)
    ).all()
    X = np.frombuffer(b"".join(row.features for row in rows), dtype="<f8").reshape(
        len(rows), len(settings.feature_names)
    )
    features = pd.DataFrame(X, index=[row.name for row in rows], columns=settings.feature_names)
    groups = np.array([row.grouped for row in rows], dtype=object) if settings.grouped else None
    labeled = np.array([at for at, row in enumerate(rows) if row.label is not None], dtype=np.int64)
    authors = np.array([row.author for row in rows], dtype=object) if settings.by is not None else None
    return StoredItems(features, groups, labeled, np.array([rows[at].label for at in labeled]), authors)


def parts(connection: sa.Connection, row: int) -> list[tuple[str, str]]:
    """What is shown of an item: kind (text, markdown, image, audio), and the text or the path in the folder."""
    found = connection.execute(sql.PARTS, {"row": row}).scalar()
    try:
        shown = [(str(kind), str(value)) for kind, value in found or ()]
    except (TypeError, ValueError):
        shown = [("", "")]
    if not {kind for kind, _ in shown} <= {*TEXT_KINDS, *MEDIA}:
        raise CampaignError(f"row {row} of the table items has no valid parts; restore the campaign from a backup")
    return shown


def name(connection: sa.Connection, row: int) -> str:
    """The id of an item."""
    return str(connection.execute(sql.NAME, {"row": row}).scalar_one())


def prompt(connection: sa.Connection, row: int) -> str | None:
    """What this item answers, None where there is no prompt."""
    found = connection.execute(sql.PROMPT, {"row": row}).scalar()
    return None if found is None else str(found)


def files(connection: sa.Connection) -> list[tuple[str, str]]:
    """(kind, path in the folder) of each file shown."""
    found = connection.execute(sa.select(items.c.parts).order_by(items.c.row)).scalars().all()
    return sorted({(kind, path) for parts in found for _, kind, path in parts_with_files(parts)})
