import json
from io import StringIO
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pairsmith.files.formats import read_table
from pairsmith.files.write_table import as_written, map_texts, no_formula, write_csv, write_table

FORMULAS = ["=1+1", "'=1+1", "''=x", "+x", "-x", "@x", "\tx", "\rx", "'x", "'", "-1", "'-1", "-1.5", "-", "x=1", "NA"]
texts = st.text(st.sampled_from("'=+-@\t\r1.x\n\u00e9\",") | st.characters(exclude_categories=["Cs", "Cc"]), min_size=1)


@given(st.lists(texts | st.sampled_from(FORMULAS)))
def test_no_cell_of_a_csv_is_a_formula_and_reading_undoes_it(cells):
    frame = pd.DataFrame({"first": pd.Series(cells, dtype=object), "outcome": -1})
    written = map_texts(frame, no_formula)
    for before, after in zip(cells, written["first"], strict=True):
        assert after in (before, f"'{before}")
        assert after[0] not in "=+-@\t\r" or after.lstrip("+-").replace(".", "", 1).isdecimal()
    assert (written["outcome"] == -1).all()
    assert list(as_written(written["first"], Path("x.csv.gz"))) == cells
    assert list(as_written(frame["first"], Path("x.jsonl"))) == cells


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_what_is_written_reads_back(tmp_path, kind):
    frame = pd.DataFrame({"id": ["=1+1", "a\rb", "'@x"], "x": [0.1 + 0.2, -1.0, 1e-300], "note": ["é", "NA", "-1"]})
    path = tmp_path / f"table.{kind}"
    write_table(frame, path, kind)
    found = read_table(path, lambda columns: ["id", "note"])
    assert as_written(found["id"], path).tolist() == frame["id"].tolist()
    assert found["note"].tolist() == frame["note"].tolist()
    assert found["x"].tolist() == frame["x"].tolist()


def test_raw_csv_and_other_formats_hold_texts_as_they_are(tmp_path):
    frame = pd.DataFrame({"id": ["=1+1"], "n": [-1]})
    for raw, expected in ((False, "id,n\n'=1+1,-1\n"), (True, "id,n\n=1+1,-1\n")):
        place = StringIO()
        write_csv(frame, place, raw)
        assert place.getvalue() == expected
    write_table(pd.DataFrame({"id": ["=1"], "x": [None]}), tmp_path / "a.jsonl", "jsonl")
    assert json.loads((tmp_path / "a.jsonl").read_text()) == {"id": "=1", "x": None}
