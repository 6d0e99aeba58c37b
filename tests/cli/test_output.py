"""What commands write: tables, summaries and plots."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

from pairsmith.campaign import counted
from pairsmith.campaign.store.store import Store
from pairsmith.cli import output
from pairsmith.files.items import read_items
from support.campaigns import CREATE, answer_next


def test_every_format_reads_and_writes_the_same(samples, run):
    items = read_items(Path("items.csv")).features.rename_axis("id").reset_index()  # pandas 2 by itself rounds
    items.to_csv("items.tsv", sep="\t", index=False)
    items.to_csv("items.csv.gz", index=False)
    with open("items.jsonl", "w") as file:
        file.writelines(json.dumps(record) + "\n" for record in items.to_dict("records"))
    items.to_parquet("items.parquet")
    np.save("items.npy", items[["f_1", "f_2", "f_3"]].to_numpy())
    _, expected, _ = run("select items.csv -k 5")
    for name in ("items.tsv", "items.csv.gz", "items.jsonl", "items.parquet"):
        assert run(f"select {name} -k 5") == (0, expected, "")
    _, by_number, _ = run("select items.npy -k 5")
    first = [line.split(",")[1] for line in expected.splitlines()[1:]]
    assert [line.split(",")[1].zfill(3) for line in by_number.splitlines()[1:]] == first
    run("select items.csv -k 5 -o pairs.jsonl")
    with open("pairs.jsonl") as file:
        assert [json.loads(line)["first"] for line in file] == first
    run("select items.csv -k 5 -o pairs.parquet")
    assert pd.read_parquet("pairs.parquet")["first"].tolist() == first


@pytest.mark.slow
def test_a_full_disk_is_one_line_that_names_the_file(samples, run):
    """Files that may not grow beyond 100 bytes are what everybody can make of a full disk."""
    names = ["pairs.csv", "pairs.jsonl", "pairs.parquet"]
    limited = f"""
import resource, sys
from pairsmith import cli
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
for name in {names}:
    sys.argv = ["pairsmith", "select", "items.csv", "-k", "20", "-o", name]
    try:
        cli.main()
    except SystemExit as end:
        print(end.code)
"""
    before = sorted(os.listdir())
    done = subprocess.run([sys.executable, "-c", limited], capture_output=True, text=True)
    assert done.stdout == 3 * "2\n"
    for name, told in zip(names, done.stderr.splitlines(), strict=True):
        assert told.startswith(f"Error: {name}: ")
        assert "oo large" in told
    assert sorted(os.listdir()) == before


def test_log_det_is_told_as_it_is_under_every_objective(samples, run):
    """Gains of a-optimal are no log dets: what is said of log det comes from log det."""
    told = {}
    for objective in ("d-optimal", "a-optimal", "random"):
        code, out, _ = run(f"select items.csv -k 3 --seed 1 --objective {objective} -o {objective}.csv --ridge 0.25")
        assert code == 0
        told[objective] = re.search(r"log det of the information: (\S+) before, (\S+) with them", out).groups()
        assert float(told[objective][1]) == pytest.approx(pd.read_csv(f"{objective}.csv").logdet.iloc[-1], abs=6e-4)
        assert ("gain: the decrease of the trace of A^-1" in out) == (objective == "a-optimal")
    d = pd.read_csv("items.csv").shape[1] - 1
    assert {float(before) for before, _ in told.values()} == {round(d * np.log(0.25), 3)}
    code, _, err = run("select items.csv -k 3 --objective entropy --certify")
    assert code == 2
    assert "certify bounds log det" in err


def test_what_a_gain_is_stands_on_one_line_under_narrow_tables(samples, run):
    out = run("select items.csv -k 1 --objective a-optimal -o pairs.csv")[1]
    assert "\ngain: the decrease of the trace of A^-1, the total variance of the coefficients\n" in out
    assert out.startswith("Picked 1 pair in ")


@pytest.mark.slow
def test_standard_output_may_be_named(samples, run):
    words = ["select", "items.csv", "-k", "4"]
    command = [sys.executable, "-m", "pairsmith.cli", *words, "-o", "/dev/stdout"]
    named = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert named == run(*words)[1]
    assert named.startswith("rank,first,second")


def test_ids_are_drawn_as_they_are_written(samples, run):
    names = ["$a$", "\\alpha$b_{", "$c^", "d$$"]
    pd.DataFrame({"id": names, "x": [1, 3, 0, 4], "y": [2, 5, 9, 4]}).to_csv("money.csv", index=False)
    pd.DataFrame({"winner": names[:2], "loser": names[2:]}).to_csv("won.csv", index=False)
    assert run("fit money.csv won.csv -o model.json --ridge 1")[0] == 0
    code, _, err = run("rank money.csv model.json -o ranking.csv --plot ranking.svg")
    assert (code, err.count("\n")) == (0, 1)  # the note on intervals
    drawn = Path("ranking.svg").read_text()
    for name in names:
        assert f"<!-- {name} -->" in drawn


def test_a_terminal_gets_no_control_characters_with_the_pairs(folder, run, monkeypatch):
    pd.read_csv("items.csv").assign(id=["\x1b[2J", *"bcdefgh"]).to_csv("items.csv", index=False)
    _, piped, _ = run("select", "items.csv", "--features", "f_*", "-k", "28")
    assert "\x1b[2J" in piped
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    _, shown, _ = run("select", "items.csv", "--features", "f_*", "-k", "28")
    assert shown == piped.replace("\x1b", "\\x1b")


def test_a_plot_has_no_control_characters(folder, run):
    pd.read_csv("items.csv").assign(id=["\x1b[2J\nb", *"bcdefgh"]).to_csv("items.csv", index=False)
    run(*CREATE)
    with Store("c.db") as store:
        answer_next(store)
    assert run("rank", "c.db", "--plot", "p.svg")[0] == 0
    text = Path("p.svg").read_text()
    assert "\\x1b[2J\\nb" in text
    ElementTree.fromstring(text)  # which no escape character may be part of


def test_places_for_files_are_checked_before_any_work(tmp_path):
    (tmp_path / "items.csv").touch()
    os.symlink("items.csv", tmp_path / "link.csv")
    for name, told in (
        (".", "is a folder"),
        ("items.csv", "is one of the input files"),
        ("link.csv", "is one of the input files"),
        ("pairs", "cannot write without an ending; use .csv, .jsonl, .parquet"),
        ("pairs.xlsx", "cannot write .xlsx"),
        ("nowhere/pairs.csv", "there is no folder"),
    ):
        with pytest.raises(ValueError, match=re.escape(told)):
            output.check_table_path(tmp_path / name, [tmp_path / "items.csv", None])
    output.check_table_path(tmp_path / "pairs.csv", [tmp_path / "items.csv"])
    with pytest.raises(ValueError, match=r"--plot .*use \.png, \.svg"):
        output.check_path(tmp_path / "plot.csv", [], (".png", ".svg"))


def test_standard_output_by_any_of_its_names():
    for path in (None, Path("/dev/stdout"), Path("/dev/fd/1"), Path("/proc/self/fd/1")):
        assert output.file_or_stdout(path) is None
    for path in (Path("pairs.csv"), Path("/dev/stderr")):
        assert output.file_or_stdout(path) == path


def test_one_is_not_counted_in_the_plural():
    assert [counted(number, "pair") for number in (0, 1, 2)] == ["0 pairs", "1 pair", "2 pairs"]


def test_a_plot_of_ids_in_any_script_warns_once_at_most(folder, run):
    """Whether a font for them is installed or not, nobody reads of each of their glyphs."""
    names = ["中文", "日本語", "한국어", "العربية", "ü", "$x$", "😀", "h"]
    pd.read_csv("items.csv").assign(id=names).to_csv("items.csv", index=False)
    Path("a.csv").write_text("winner,loser\n中文,日本語\nü,h\n")
    assert run(*CREATE)[0] == run("campaign", "import", "c.db", "a.csv")[0] == 0
    for ending in ("png", "svg", "pdf"):
        code, _, err = run("rank", "c.db", "-o", "r.csv", "--plot", f"p.{ending}")
        assert code == 0
        assert "Glyph" not in err
        assert err.count("\n") <= 1
        assert Path(f"p.{ending}").stat().st_size > 1000
