"""Tables that users pass, as frames of raw columns with ids."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pairsmith.data.user_features import check_ids, split_ids

if TYPE_CHECKING:
    import pandas as pd


def as_table(table: Any) -> tuple[pd.DataFrame, Any]:
    """The columns of a table as a pandas frame whose names are text, and its items' ids, None where it has none."""
    import pandas as pd

    if hasattr(table, "collect"):
        raise ValueError("table is a lazy frame; pass table.collect()")
    frame, ids = split_ids(table)
    if not hasattr(frame, "columns"):
        raise ValueError(f"table must be a data frame with named columns, got a {type(table).__name__}")
    if not isinstance(frame, pd.DataFrame):
        frame = pd.DataFrame({name: pd.Series(frame[name].to_list(), dtype=object) for name in frame.columns})
    names = [str(name) for name in frame.columns]
    if twice := [name for name in names if names.count(name) > 1]:
        raise ValueError(f"table has two columns called {twice[0]!r}; rename one")
    if ids is not None:
        named = np.empty(len(ids), dtype=object)
        named[:] = ids.to_list()
        check_ids(named)
    return frame.set_axis(names, axis=1), ids
