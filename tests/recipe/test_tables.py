"""Tables that users pass: pandas, polars, Arrow; ids and names of columns."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from pairsmith.recipe.tables import as_table

CONTENT = {"id": ["a", "b"], "review": ["x", None], "price": [1, 2]}


@pytest.mark.parametrize("table", [pd.DataFrame(CONTENT), pl.DataFrame(CONTENT), pa.table(CONTENT)])
def test_ids_and_columns(table):
    frame, ids = as_table(table)
    assert ids.to_list() == ["a", "b"]
    assert list(frame.columns) == ["review", "price"]
    assert frame["price"].tolist() == [1, 2]
    assert frame["review"].tolist()[0] == "x"
    assert pd.isna(frame["review"].tolist()[1])


def test_without_ids():
    frame, ids = as_table(pd.DataFrame({0: [1, 2]}))
    assert (list(frame.columns), ids) == (["0"], None)
    assert as_table(pd.DataFrame({"x": [1, 2]}, index=["p", "q"]))[1].to_list() == ["p", "q"]


def test_what_is_refused():
    for table, told in (
        (np.ones((2, 2)), "table must be a data frame with named columns, got a ndarray"),
        (["one text", "another"], "table must be a data frame"),
        (pl.DataFrame(CONTENT).lazy(), "table is a lazy frame"),
        (pd.DataFrame([[1, 2]], columns=["x", "x"]), "two columns called 'x'"),
        (pd.DataFrame({"id": ["a", "a"], "x": [1, 2]}), "more than one item with the id 'a'"),
    ):
        with pytest.raises(ValueError, match=told):
            as_table(table)
