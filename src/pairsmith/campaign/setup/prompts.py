"""What items answer and who wrote them: the prompts and the authors of language models' answers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from pairsmith.campaign.store.items import TEXT_KINDS
from pairsmith.data.names import quoted
from pairsmith.files.items import Items, read_raw_items

_Texts = npt.NDArray[np.object_]


@dataclass(frozen=True)
class Prompts:
    """The prompt that each item answers, shown above its pairs as text or as Markdown."""

    column: str
    kind: str
    texts: _Texts

    def check(self, items: Items) -> None:
        """Refuse prompts where items that answer different ones could be compared."""
        if items.groups is None:
            raise ValueError(
                f"--prompt {self.column} stands above a pair whose items both answer it; say which items these are,"
                f" with --group-by {self.column}"
            )
        first_of: dict[str, int] = {}
        for row, group in enumerate(items.groups):
            first = first_of.setdefault(group, row)
            if self.texts[row] != self.texts[first]:
                one, other = (items.features.index[at] for at in (first, row))
                raise ValueError(
                    f"{items.path}: the items {quoted(one)} and {quoted(other)} are of one group, {quoted(group)},"
                    f" but answer different prompts (column {self.column!r}); mend the table, or give"
                    f" --group-by {self.column}"
                )


@dataclass(frozen=True)
class Authors:
    """Who made each item, for a ranking of those who did."""

    column: str
    names: _Texts


def read_prompts(path: Path, named: str, id_column: str | None = None) -> Prompts:
    """The prompts in the column that is named, as COLUMN or as KIND:COLUMN."""
    kind, colon, column = named.partition(":")
    if not (colon and kind in TEXT_KINDS):
        kind, column = "text", named
    return Prompts(column, kind, _texts(path, column, "--prompt", id_column))


def read_authors(path: Path, column: str, id_column: str | None = None) -> Authors:
    """Who made each item, by this column."""
    return Authors(column, _texts(path, column, "--by", id_column))


def _texts(path: Path, column: str, option: str, id_column: str | None) -> _Texts:
    """This column as text; each item must have something in it, as in a column of groups."""
    if path.suffix == ".npy":
        raise ValueError(f"{path}: a .npy file has no column for {option} to name; use a table")
    found = read_raw_items(path, id_column, column).groups
    assert found is not None
    return found
