"""Items that a fitted model does not recognise: why their ids do not match, and a warning where that is no intention.

Ranking new items is normal, and the model then goes by their features alone. But 3 and "3" are different ids, so a
table whose ids changed their type, or gained spaces or zeros, looks new as well, and would lose what its answers said.
"""

from __future__ import annotations

import re
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from pairsmith.data.arrays import Ints

if TYPE_CHECKING:
    import pandas as pd

# What pandas infers, in words.
_KINDS = {"string": "text", "integer": "whole numbers", "floating": "fractions", "datetime64": "dates"}
_WHOLE_NUMBER = re.compile(r"0*(\d+)(\.0+)?", re.ASCII)


def warn_of_unknown_items(ids: pd.Index | None, names: pd.Index | None, number: Ints, expected: bool) -> None:
    """Warn where items with the ids `names` are probably those of a model with these `ids`, but are not recognised.

    `number` holds -1 for each item that the model does not know. With `expected`, X is likely to hold items that the
    model was fitted to, so it is worth a warning if it holds none.
    """
    known = int(np.sum(number >= 0))
    if known == len(number):
        return
    why = why_unknown(ids, names, number)
    if why:
        warnings.warn(
            f"{why}. The model knows {known} of the {len(number)} items of X, and ranks the others by their features"
            " alone; give X the ids of the fit",
            stacklevel=4,
        )
    elif expected and known == 0:
        by = "by the whole table, in its order and to the last digit, or by ids"
        warnings.warn(
            "no item of X is one that the model was fitted to, so that only their features count; it knows items"
            f" {by if names is None or ids is None else 'by their ids'}",
            stacklevel=4,
        )


def why_unknown(ids: pd.Index | None, names: pd.Index | None, number: Ints) -> str:
    """Say how the unknown ids differ from the model's; empty if X or the model has no ids, or if they just are new."""
    if ids is None or names is None or not np.any(number < 0):
        return ""
    unknown, model_ids = names[number < 0], dict(zip(map(_normalised, ids), ids.tolist(), strict=True))
    kind, model_kind = _kind(unknown), _kind(ids)
    differ = f"X's ids are {kind}, the model's are {model_kind}"
    for name in unknown.tolist():
        if _normalised(name) in model_ids:
            how = differ if kind != model_kind else "X's ids are written differently from the model's"
            return f"{how}: {name!r} is not {model_ids[_normalised(name)]!r}"
    return differ if kind != model_kind and np.all(number < 0) else ""


def check_order(X: Any, names: pd.Index | None, **arguments: Any) -> None:
    """Refuse a Series that is indexed by the ids of X, but in another order: values are taken row by row."""
    import pandas as pd

    for argument, values in arguments.items():
        if names is None or not isinstance(values, pd.Series) or isinstance(values.index, pd.RangeIndex):
            continue
        same_rows = values.index.equals(names) or (isinstance(X, pd.DataFrame) and values.index.equals(X.index))
        if not same_rows and set(values.index) == set(names):
            raise ValueError(f"{argument} has the ids of X in another order; reorder it with {argument}.loc[ids of X]")


def _normalised(name: Any) -> str:
    """Return an id as text without spaces around it, and a whole number without leading zeros and decimals."""
    text = str(name).strip()
    whole = _WHOLE_NUMBER.fullmatch(text)
    return whole.group(1) if whole else text


def _kind(ids: pd.Index) -> str:
    from pandas.api.types import infer_dtype

    return _KINDS.get(infer_dtype(ids, skipna=False), "of another type")
