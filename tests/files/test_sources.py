import os
from pathlib import Path

import pytest

from pairsmith.files.answers import read_answers
from pairsmith.files.items import read_items
from pairsmith.files.sources import contents, kind_of, opened


def test_what_comes_through_a_pipe_is_read_as_from_a_file(tmp_path):
    """Large numbers are looked at twice, and formulas have their apostrophe taken away."""
    table = tmp_path / "items.csv"
    table.write_text("id,x\n'=x,20000000000000000.5\nz,1.5\n")
    answers = tmp_path / "answers.csv"
    answers.write_text("first,second,winner\n'=x,z,'=x\n")

    def piped(path):
        """The other end of a pipe that this file goes through."""
        reading, writing = os.pipe()
        os.write(writing, path.read_bytes())
        os.close(writing)
        return reading

    ends = [piped(table), piped(answers)]
    try:
        items = read_items(Path(f"/dev/fd/{ends[0]}"))
        assert items.features.index.tolist() == ["=x", "z"]
        assert read_answers(Path(f"/dev/fd/{ends[1]}"), items)[1].tolist() == [1.0]
    finally:
        for end in ends:
            os.close(end)


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"id,x\n1,2\n", ".csv"),
        (b"id\tx\n1\t2\n", ".tsv"),
        (b'\n{"id": 1}\n', ".jsonl"),
        (b"PAR1...", ".parquet"),
        (b"a\tb,c\n", ".csv"),
    ],
)
def test_a_pipe_has_no_ending_and_is_looked_at(content, kind):
    reading, writing = os.pipe()
    os.write(writing, content)
    os.close(writing)
    try:
        path = Path(f"/dev/fd/{reading}")
        assert kind_of(path) == kind
        assert contents(path) == content  # again: what came is kept
    finally:
        os.close(reading)


def test_the_ending_of_a_file_is_that_before_its_compression():
    assert kind_of(Path("a.csv")) == ".csv"
    assert kind_of(Path("a.b.jsonl.gz")) == ".jsonl"
    assert kind_of(Path("a.parquet.zst")) == ".parquet"
    assert kind_of(Path("a")) == ""


def test_a_device_is_refused():
    with pytest.raises(ValueError, match="/dev/zero is a device, not a file"):
        opened(Path("/dev/zero"))
