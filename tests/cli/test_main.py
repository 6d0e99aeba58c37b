"""What holds for every command: help, errors of one line, streams."""

import gzip
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from support.commands import refused

pytestmark = pytest.mark.usefixtures("samples")


@pytest.mark.slow
def test_a_reader_that_goes_away_is_no_error(tmp_path):
    np.save(tmp_path / "items.npy", np.random.default_rng(0).standard_normal((100, 3)))
    command = f"{sys.executable} -m pairsmith.cli select items.npy -k 4000 | head -1"  # more than a pipe holds
    done = subprocess.run(command, shell=True, cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout == "rank,first,second,gain,logdet\n"
    assert done.stderr == ""


def test_help_and_version(run):
    code, out, _ = run("select --help")
    assert code == 0
    for option in (
        "--labels",
        "--answers",
        "--group-by",
        "--max-per-item",
        "--algorithm",
        "--objective",
        "--ridge",
        "--seed",
    ):
        assert option in out
    assert run("--version")[1].startswith("pairsmith ")
    code, out, err = run("")
    assert "Usage: pairsmith" in out + err
    assert "Error" not in err


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("select nowhere.csv -k 3", "nowhere.csv: there is no such file"),
        ("select nowhere.npy -k 3", "nowhere.npy: there is no such file"),
        ("select . -k 3", "is a folder"),
        ("select items.xlsx -k 3", "there is no such file"),
        ("select items.csv", "Missing option '-k'"),
        ("select items.csv -k three", "'-k'"),
        ("select items.csv -k 0", "k must be at least 1"),
        ("select items.csv -k 67", "k=67 pairs asked for, but only 66"),
        ("select items.csv -k 13 --max-per-item 2", "--max-per-item=2 allows at most 12"),
        ("select items.csv -k 3 --ridge 0", "ridge must be a positive number"),
        ("select items.csv -k 3 --ridge lots", "--ridge must be a positive number or auto, got 'lots'"),
        ("select items.csv -k 3 --ridge nan", "ridge must be a positive number"),
        ("select items.csv -k 3 --algorithm best", "choose one of auto, engine, naive"),
        ("select items.csv -k 3 --objective best", "choose one of order, d-optimal, local-d-optimal"),
        ("select items.csv -k 3 --nonsense", "--nonsense"),
        ("select items.csv -k 3 --seed -1", "'--seed': Input should be greater"),
        ("select grouped.csv -k 3", "in column 'prompt', where a finite number is needed"),
        ("select items.csv -k 3 --group-by prompt", "there is no column 'prompt'; it has id, f_1"),
        ("select items.csv -k 3 --id name", "there is no column 'name'"),
        ("select items.csv -k 3 --features g_*", "no column matches --features 'g_*'"),
        ("select items.csv -k 3 --labels other.csv", "row 2 names the item 'zz', which is not in items.csv"),
        ("select items.csv -k 3 --answers selfpair.csv", "row 1 pairs the item '001' with itself"),
        ("select items.csv -k 3 --answers narrow.csv", "first and second, or winner and loser; found first"),
        ("select items.csv -k 3 -o nowhere/pairs.csv", "there is no folder nowhere"),
        ("select items.csv -k 3 -o pairs.txt", "cannot write .txt; use .csv, .jsonl, .parquet"),
        ("select grouped.csv -k 3 --group-by prompt --candidates answers.csv", "give one of them"),
        ("select empty.csv -k 3", "empty.csv is empty"),
        ("select header.csv -k 3", "header.csv has no rows"),
        ("select ragged.csv -k 3", "line 3"),
        ("select long.csv -k 3", "long.csv: "),
        ("select short.csv -k 3", "column 'y' has 1 missing value, the first of item 'b'"),
        ("select infinite.csv -k 3", "item 'b' has the value inf in column 'x'"),
        ("select twice.csv -k 3", "the id 'a' stands in more than one row"),
        ("select noid.csv -k 3", "row 2 has nothing in column 'id'"),
        ("select one.csv -k 1", "at least two"),
        ("select bare.csv -k 1", "no feature columns"),
        ("select latin.csv -k 1", "not UTF-8"),
        ("select broken.parquet -k 1", "broken.parquet: "),
        ("select broken.jsonl -k 1", "broken.jsonl: "),
        ("select broken.npy -k 1", "not a .npy array"),
        ("select flat.npy -k 1", "an (items, features) array is needed"),
        ("select notes.md -k 1", "cannot read .md"),
        ("select cut.csv.gz -k 1", "damaged or cut short"),
        ("select bad.csv.xz -k 1", "bad.csv.xz"),
        ("select nested.jsonl -k 1", "item 'a' has the value [1] in column 'x'"),
        ("select same.csv -k 1", "two columns called 'x'"),
        ("select fractions.csv -k 1", "the first, 'x', holds fractions, not ids"),
        ("select dates.parquet -k 1", "item 'a' has the value 2020-01-01 00:00:00 in column 'x'"),
        ("select items.csv -k 3 -o items.csv", "is one of the input files"),
        ("select items.csv -k 3 -o folder.csv", "is a folder"),
        ("select items.csv -k 3 --labels pairs.csv", "holds pairs"),
        ("select items.csv -k 3 --jobs 0", "--jobs must be"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(run, line, message):
    files = {
        "other.csv": "id\n001\nzz\n",
        "selfpair.csv": "first,second\n001,001\n",
        "narrow.csv": "first\n001\n",
        "empty.csv": "",
        "header.csv": "id,x\n",
        "ragged.csv": "id,x,y\na,1,2\nb,1,2,3\n",
        "long.csv": "id,x\na,1,2\nb,1,2\n",
        "short.csv": "id,x,y\na,1,2\nb,1\n",
        "infinite.csv": "id,x\na,1\nb,inf\n",
        "twice.csv": "id,x\na,1\na,2\n",
        "noid.csv": "id,x\na,1\n,2\n",
        "one.csv": "id,x\na,1\n",
        "bare.csv": "id\na\nb\n",
        "broken.parquet": "PAR1 not really",
        "broken.jsonl": '{"id": "a", "x": 1}\n{"id": "b", "x"\n',
        "broken.npy": "nothing of the kind",
        "notes.md": "# notes",
        "nested.jsonl": '{"id": "a", "x": [1]}\n{"id": "b", "x": [2]}\n',
        "same.csv": "id,x,x\na,1,2\nb,3,4\n",
        "fractions.csv": "x,y\n1.5,2\n2,3\n",
        "pairs.csv": "first,second\n001,002\n",
    }
    for name, text in files.items():
        with open(name, "w") as file:
            file.write(text)
    os.mkdir("folder.csv")
    packed = gzip.compress(b"id,x\n" + b"".join(b"%d,%d\n" % (row, row) for row in range(500)))
    for name, content in (("cut.csv.gz", packed[: len(packed) // 2]), ("bad.csv.xz", b"not packed")):
        with open(name, "wb") as file:
            file.write(content)
    pd.DataFrame({"id": ["a", "b"], "x": pd.to_datetime(["2020-01-01", "2021-01-01"])}).to_parquet("dates.parquet")
    with open("latin.csv", "wb") as file:
        file.write("id,x\nM\xfcnchen,1\nKöln,2\n".encode("latin-1"))
    np.save("flat.npy", np.arange(5.0))
    before = sorted(os.listdir())
    assert refused(run(line), message)
    assert sorted(os.listdir()) == before


def test_a_warning_is_one_line_too(run):
    pd.DataFrame({"id": list("abcd"), "x": [0.0, 1.0, 9.0, 2.0]}).to_csv("path.csv", index=False)
    pd.DataFrame({"first": list("abc"), "second": list("bcd")}).to_csv("edges.csv", index=False)
    code, out, err = run("select path.csv -k 2 --candidates edges.csv --max-per-item 1 --ridge 1")
    assert code == 0
    assert len(out.splitlines()) == 2
    assert err.startswith("Warning: only 1 of k=2 pairs could be picked before every pair left had an item at its cap")
    assert err.count("\n") == 1


@pytest.mark.slow
def test_closed_streams_take_nothing_with_them(tmp_path, run):
    np.save(tmp_path / "items.npy", np.random.default_rng(0).standard_normal((20, 3)))
    (tmp_path / "won.csv").write_text("winner,loser\n1,2\n2,3\n")

    def call(line):
        command = f"{sys.executable} -m pairsmith.cli {line}"
        done = subprocess.run(command, shell=True, cwd=tmp_path, capture_output=True, text=True)
        return done.returncode, done.stdout, done.stderr

    _, pairs, _ = run("select items.npy -k 3")
    assert pairs.count("\n") == 4
    assert call("select items.npy -k 3 2>&-") == (0, pairs, "")
    assert call("select nowhere.npy -k 3 2>&-") == (2, "", "")
    code, out, _ = call("fit items.npy won.csv -o model.json 2>&-")  # a warning goes nowhere, not among the output
    assert (code, "Warning" in out) == (0, False)
    assert call("fit items.npy won.csv -o model.json --ridge 1 >&- 2>&-") == (0, "", "")
    assert call("select items.npy -k 3 -o pairs.csv >&-") == (0, "", "")
    assert (tmp_path / "pairs.csv").read_text() == pairs
    for line in ("select items.npy -k 3", "rank items.npy model.json"):
        assert call(f"{line} >&-") == (2, "", "Error: standard output is closed; say where to write with -o\n")
    quiet = "import sys, numpy as np, pairsmith as ps; ps.select; sys.stderr.close(); sys.stderr = None"
    code = f"{quiet}; print(len(ps.select(np.eye(5), 2, ridge=1.0, progress=True)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "2\n")


def test_the_command_line_starts_without_the_app():
    code = "import sys, pairsmith.cli; print({'sqlalchemy', 'fastapi', 'numpy', 'pandas'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "set()\n"


@pytest.mark.slow
def test_pairs_of_a_table_are_selected_without_scikit_learn():
    """Which takes a good part of a second to import, and only models need it."""
    code = (
        "import atexit, sys; from pairsmith import cli;"
        "atexit.register(lambda: print('sklearn' in sys.modules, file=sys.stderr));"
        "sys.argv[0] = 'pairsmith'; cli.main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "select", "items.csv", "-k", "2"], capture_output=True, text=True
    )
    assert (done.returncode, done.stdout.count("\n"), done.stderr) == (0, 3, "False\n")
