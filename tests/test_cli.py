import gzip
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import pairsmith as ps
from oracle import assert_greedy, pairs_within
from pairsmith import cli
from pairsmith.criteria import CRITERIA
from pairsmith.files.items import read_items
from pairsmith.paper.greedy import ALGORITHMS


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """run("select ...") in a folder with sample files -> (exit code, standard output, standard error)."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    items = pd.DataFrame(rng.standard_normal((12, 3)), columns=["f_1", "f_2", "f_3"])
    items.insert(0, "id", [f"{row:03d}" for row in range(12)])
    items.to_csv("items.csv", index=False)
    items.assign(prompt=["p", "q", "NA"] * 4).to_csv("grouped.csv", index=False)
    (tmp_path / "labels.csv").write_text("id,label\n001,1\n007,-1\n009,\n")
    (tmp_path / "answers.csv").write_text("winner,loser\n000,003\n006,009\n")

    def call(line):
        monkeypatch.setattr(sys, "argv", ["pairsmith", *line.split()])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        out, err = capsys.readouterr()
        return stop.value.code, out, err

    return call


def refused(answer, message):
    code, out, err = answer
    assert code == 2
    assert out == ""
    assert err.startswith("Error: ")
    assert err.count("\n") == 1
    assert message in err
    return True


def test_the_whole_story(run):
    code, out, err = run(
        "select grouped.csv -k 10 --labels labels.csv --answers answers.csv --group-by prompt --max-per-item 4"
        " --ridge 0.01 --algorithm scalar-lazy -o pairs.csv"
    )
    assert (code, err) == (0, "")
    assert "Picked 10 pairs" in out
    assert "Wrote pairs.csv" in out
    written = pd.read_csv("pairs.csv", dtype={"first": str, "second": str})
    assert list(written.columns) == ["rank", "first", "second", "gain", "logdet"]
    assert written["first"][0] in out
    X = pd.read_csv("items.csv")[["f_1", "f_2", "f_3"]].to_numpy()

    class Picked:
        pairs = written[["first", "second"]].astype(int).to_numpy()
        gains, logdet = written["gain"].to_numpy(), written["logdet"].to_numpy()

    assert_greedy(Picked, X, pairs_within([0, 1, 2] * 4), 0.01, [1, 7], [(0, 3), (6, 9)], cap=4)


def test_every_format_reads_and_writes_the_same(run):
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


def test_what_was_picked_can_be_fed_back(run):
    run("select items.csv -k 4 -o round1.csv")
    run("select items.csv -k 4 --answers round1.csv -o round2.csv")
    rounds = pd.concat([pd.read_csv("round1.csv"), pd.read_csv("round2.csv")])
    assert not rounds.duplicated(["first", "second"]).any()
    run("select items.csv -k 2 --answers round1.csv --answers round2.csv -o round3.csv")
    run("select items.csv -k 10 -o both.csv")
    rounds = pd.concat([rounds, pd.read_csv("round3.csv")])
    assert (
        rounds[["first", "second"]].to_numpy().tolist()
        == pd.read_csv("both.csv")[["first", "second"]].to_numpy().tolist()
    )


def test_candidates_features_ids_and_seed(run):
    _, out, _ = run("select items.csv -k 2 --candidates answers.csv")
    assert {tuple(line.split(",")[1:3]) for line in out.splitlines()[1:]} == {("000", "003"), ("006", "009")}
    _, out, _ = run("select grouped.csv -k 2 --features f_1 --features f_3")
    assert len(out.splitlines()) == 3
    pd.DataFrame({"f_1": [1.0, 2.0, 4.0], "name": ["NA", "null", "x"]}).to_csv("named.csv", index=False)
    _, out, _ = run("select named.csv -k 1 --id name")
    assert out.splitlines()[1].startswith("1,NA,x,")
    one, two = (run("select items.csv -k 5 --objective random --seed 4") for _ in range(2))
    assert one == two
    assert one != run("select items.csv -k 5 --objective random --seed 5")


def test_odd_names_and_files(run, tmp_path):
    odd = pd.DataFrame({"id": ["[/b]", "naïve", "c"], "x": [1.0, 5.0, 2.0]}).set_index("id")
    odd.to_parquet("indexed.parquet")
    code, out, err = run("select indexed.parquet -k 1 -o odd.csv")
    assert (code, err) == (0, "")
    assert "[/b]" in out
    pd.DataFrame({"key": ["p", "q", "r"], "id": [10, 40, 90], "x": [1, 5, 2]}).to_csv("both.csv", index=False)
    assert run("select both.csv -k 1 --id key")[1].splitlines()[1].startswith("1,p,q,")
    assert refused(run("select both.csv -k 1 --id key --features id"), "column 'id' matches --features")
    (tmp_path / "none.csv").write_text("first,second\n")
    assert run("select items.csv -k 1 --answers none.csv")[0] == 0
    os.symlink("real.csv", "link.csv")
    run("select items.csv -k 1 -o link.csv")
    assert os.path.islink("link.csv")
    assert os.path.exists("real.csv")


@pytest.mark.slow
def test_a_reader_that_goes_away_is_no_error(tmp_path):
    np.save(tmp_path / "items.npy", np.random.default_rng(0).standard_normal((200, 3)))
    command = f"{sys.executable} -m pairsmith.cli select items.npy -k 15000 | head -1"
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
        ("select items.csv -k 3 --objective best", "choose one of d-optimal, local-d-optimal"),
        ("select items.csv -k 3 --nonsense", "--nonsense"),
        ("select items.csv -k 3 --seed -1", "--seed must be"),
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


def test_pipes_are_read_once_and_devices_refused(run):
    table = pd.read_csv("items.csv", dtype={"id": str})
    table.to_json("items.jsonl", orient="records", lines=True)
    table.to_parquet("items.parquet")
    table.to_csv("items.tsv", sep="\t", index=False)
    for name in ("items.csv", "items.jsonl", "items.parquet", "items.tsv"):
        pipes = []
        for content in (name, "answers.csv", "labels.csv"):
            out, into = os.pipe()
            os.write(into, Path(content).read_bytes())
            os.close(into)
            pipes.append(out)
        items, answers, labels = (f"/dev/fd/{out}" for out in pipes)
        expected = run(f"select {name} -k 4 --answers answers.csv --labels labels.csv")
        assert expected[0] == 0
        assert run(f"select {items} -k 4 --answers {answers} --labels {labels}") == expected
        for out in pipes:
            os.close(out)
    np.save("items.npy", pd.read_csv("items.csv")[["f_1", "f_2", "f_3"]].to_numpy())
    for name in ("items.csv", "items.npy"):
        os.mkfifo(f"pipe-{name}")
        writer = threading.Thread(target=lambda name=name: Path(f"pipe-{name}").write_bytes(Path(name).read_bytes()))
        writer.start()
        assert run(f"select pipe-{name} -k 4") == run(f"select {name} -k 4")
        writer.join()
    os.symlink("/dev/zero", "zero.csv")
    os.symlink("/dev/zero", "zero.npy")
    for line in ("select zero.csv -k 3", "select zero.npy -k 3", "select items.csv -k 3 --labels zero.csv"):
        assert refused(run(line), "is a device, not a file")
    assert refused(run("select items.csv -k 3 --checkpoint /dev/zero"), "name a file")
    assert refused(run("rank items.csv /dev/zero"), "is no file")


@pytest.mark.slow
def test_standard_input_can_be_a_table(tmp_path, run):
    expected = run("select items.csv -k 4")[1]
    command = [sys.executable, "-m", "pairsmith.cli", "select", "/dev/stdin", "-k", "4"]
    table = Path("items.csv").read_text()
    assert subprocess.run(command, input=table, capture_output=True, text=True, check=True).stdout == expected
    with open("items.csv") as file:
        assert subprocess.run(command, stdin=file, capture_output=True, text=True, check=True).stdout == expected


@pytest.mark.slow
def test_a_full_disk_is_one_line_that_names_the_file(tmp_path, run):
    """Files that may not grow beyond 100 bytes are what everybody can make of a full disk."""
    limited = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100));"
        "from pairsmith import cli; sys.argv[0] = 'pairsmith'; cli.main()"
    )
    before = sorted(os.listdir())
    for name in ("pairs.csv", "pairs.jsonl", "pairs.parquet"):
        command = [sys.executable, "-c", limited, "select", "items.csv", "-k", "20", "-o", name]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 2
        assert done.stderr.startswith(f"Error: {name}: ")
        assert done.stderr.count("\n") == 1
        assert "oo large" in done.stderr
    assert sorted(os.listdir()) == before


def test_a_warning_is_one_line_too(run):
    pd.DataFrame({"id": list("abcd"), "x": [0.0, 1.0, 9.0, 2.0]}).to_csv("path.csv", index=False)
    pd.DataFrame({"first": list("abc"), "second": list("bcd")}).to_csv("edges.csv", index=False)
    code, out, err = run("select path.csv -k 2 --candidates edges.csv --max-per-item 1 --ridge 1")
    assert code == 0
    assert len(out.splitlines()) == 2
    assert err.startswith("Warning: --max-per-item=1: only 1 of k=2")
    assert err.count("\n") == 1


# The command line, which says so on standard output when the first pair is picked.
TELLING = """
from pairsmith import cli
from pairsmith.run import Journal

note = Journal.note

def first(journal, step):
    Journal.note = note
    note(journal, step)
    print("picked", flush=True)

Journal.note = first
cli.main()
"""


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["naive", "factorization", "scalar", "factorization-lazy"])
def test_interrupting_leaves_no_file(tmp_path, algorithm):
    np.save(tmp_path / "items.npy", np.random.default_rng(0).standard_normal((2500, 30)))
    command = [sys.executable, "-c", TELLING, "select", "items.npy", "-k", "100000", "--algorithm", algorithm]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    process = subprocess.Popen([*command, "-o", "pairs.csv"], cwd=tmp_path, **pipes)
    assert process.stdout.readline() == "picked\n"
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert err == "Interrupted. Nothing was written.\n"
    assert process.returncode == 130
    assert os.listdir(tmp_path) == ["items.npy"]


def test_log_det_is_told_as_it_is_under_every_objective(run):
    """Gains of a-optimal are no log dets: what is said of log det comes from log det."""
    told = {}
    for objective in ("d-optimal", "a-optimal", "random"):
        code, out, _ = run(f"select items.csv -k 3 --seed 1 --objective {objective} -o {objective}.csv --ridge 0.25")
        assert code == 0
        told[objective] = re.search(r"log det of the information: (\S+) before, (\S+) with them", out).groups()
        assert float(told[objective][1]) == pytest.approx(pd.read_csv(f"{objective}.csv").logdet.iloc[-1], abs=6e-4)
        assert ("gain: what the trace of A^-1" in out) == (objective == "a-optimal")
    d = pd.read_csv("items.csv").shape[1] - 1
    assert {float(before) for before, _ in told.values()} == {round(d * np.log(0.25), 3)}
    code, _, err = run("select items.csv -k 3 --objective entropy --certify")
    assert code == 2
    assert "certify bounds log det" in err


def test_what_a_gain_is_stands_on_one_line_under_narrow_tables(run):
    out = run("select items.csv -k 1 --objective a-optimal -o pairs.csv")[1]
    assert "\ngain: what the trace of A^-1, the summed variance of the coefficients, falls by\n" in out
    assert out.startswith("Picked 1 pair in ")


@pytest.mark.slow
def test_standard_output_may_be_named(run):
    command = [sys.executable, "-m", "pairsmith.cli", "select", "items.csv", "-k", "4"]
    plain, named = (
        subprocess.run([*command, *more], capture_output=True, text=True, check=True).stdout
        for more in ([], ["-o", "/dev/stdout"])
    )
    assert plain == named
    assert plain.startswith("rank,first,second")


def test_the_help_lists_every_objective_and_algorithm(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    told = " ".join(run("select --help")[1].replace("│", " ").split())
    for name in [*CRITERIA, *ALGORITHMS]:
        assert re.search(rf"[ :]{name}[,.]", told), name


def test_certify_and_checkpoint(run):
    code, out, err = run("select items.csv -k 6 --certify 3 --checkpoint run.json -o pairs.csv")
    assert (code, err) == (0, "")
    assert "Proved: no 6 pairs add more than" in out
    assert len(json.loads(Path("run.json").read_text())["pairs"]) == 6
    assert refused(run("select items.csv -k 6 --ridge 7 --checkpoint run.json"), "is of another problem: ridge was")
    bounds = []
    for line in (
        "--certify -o pairs.csv",
        "-o pairs.csv --certify",
        "--certify 20 -o pairs.csv",
        "--certify=20 -o pairs.csv",
    ):
        code, out, err = run(f"select items.csv -k 6 {line}")
        assert (code, err) == (0, "")
        bounds.append(float(re.search(r"more than (\S+) to it", out)[1]))
    assert bounds[0] == bounds[1] > bounds[2] == bounds[3]
    assert run("select --certify items.csv -k 1 -o pairs.csv")[1].count("Proved: no pair adds more than") == 1
    assert refused(run("select items.csv -k 6 --certify -2"), "'--certify'")
    assert refused(run("select items.csv -k 6 --checkpoint items.csv"), "--checkpoint items.csv is another file")
    assert refused(run("select items.csv -k 6 --checkpoint no/run.json"), "no place for a file")


@pytest.fixture
def answered(run):
    """Answers to 40 pairs of the items, made by a known score."""
    items = pd.read_csv("items.csv", dtype={"id": str})
    score = items[["f_1", "f_2", "f_3"]].to_numpy() @ [2.0, -1.0, 0.5]
    rng = np.random.default_rng(0)
    pairs = np.array([rng.choice(12, 2, replace=False) for _ in range(40)])
    first, second = (items.id.to_numpy()[pairs[:, side]] for side in (0, 1))
    outcome = np.sign(score[pairs[:, 0]] - score[pairs[:, 1]]).astype(int)
    table = pd.DataFrame({"first": first, "second": second, "outcome": outcome})
    table.to_csv("outcomes.csv", index=False)
    table.assign(outcome=["first" if win > 0 else "second" for win in outcome]).to_csv("words.csv", index=False)
    winner, loser = np.where(outcome > 0, first, second), np.where(outcome > 0, second, first)
    pd.DataFrame({"first": first, "second": second, "winner": winner}).to_csv("named.csv", index=False)
    pd.DataFrame({"winner": winner, "loser": loser, "count": 1}).to_csv("won.csv", index=False)
    return items.id.to_numpy()[np.argsort(-score)]


@pytest.fixture
def rated(answered, tmp_path):
    """The same answers in rated.csv, by three people: what was shown left is known, and `dice` throws them."""
    table = pd.read_csv("outcomes.csv", dtype=str)
    rng = np.random.default_rng(5)
    table["left"] = np.where(rng.random(len(table)) < 0.5, table["first"], table["second"])
    everyone = [table.assign(rater=name) for name in ("anna", "ben", "dice")]
    everyone[2]["outcome"] = rng.choice(["1", "-1"], len(table))
    pd.concat(everyone).to_csv("rated.csv", index=False)
    return answered


def test_fit_tells_what_was_learned_and_rank_how_sure_it_is(run, answered):
    code, out, err = run("fit items.csv outcomes.csv -o model.json --labels labels.csv")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == "Fitted to 40 answers and 2 labels about 12 items."
    shares = [int(share) for share in re.findall(r"(\d+)%", lines[1])]
    assert lines[1].startswith("Features explain ")
    assert abs(shares[0] - shares[1] - shares[2]) <= 1 >= abs(shares[0] + shares[3] - 100)
    model = ps.BradleyTerryGP.load("model.json")
    assert lines[2] == (
        f"Doubt {model.doubt_:.1%}, the chance that two items stand in the wrong order; reliability"
        f" {model.reliability_:.2f}."
    )
    right, loss = re.fullmatch(
        r"Each answer predicted by all the others: (\d+)% right, log loss (0\.\d+) \(0\.693 by guessing\)\.", lines[3]
    ).groups()
    assert int(right) > 70
    assert float(loss) < 0.693
    assert lines[4:] == ["Wrote model.json"]
    code, _, err = run("rank items.csv model.json -o ranking.csv --plot ranking.png --top 3")
    assert (code, err) == (0, "")
    assert Path("ranking.png").stat().st_size > 5000
    ranking = pd.read_csv("ranking.csv", dtype={"id": str})
    columns = ["rank", "id", "score", "error", "low", "high", "above_next", "best", "worst", "in_top"]
    assert list(ranking.columns) == columns
    assert np.corrcoef([list(answered).index(name) for name in ranking.id], range(12))[0, 1] > 0.9
    assert ranking.in_top.sum() == pytest.approx(3)
    assert ((ranking.best <= ranking["rank"]) & (ranking["rank"] <= ranking.worst)).all()
    assert run("rank items.csv model.json")[1].splitlines()[0] == ",".join(columns[:-1])
    assert refused(run("rank items.csv model.json --top 13"), "top must be a number of items from 1 to 12, got 13")


def test_who_answered_counts_and_is_told(run, rated):
    code, out, err = run("fit items.csv rated.csv -o model.json")
    assert (code, err) == (0, "")
    rows = {row.split()[1]: row.split() for row in out.splitlines() if row.startswith("│")}
    assert rows.keys() == {"anna", "ben", "dice"}
    slope = {name: float(row[5]) for name, row in rows.items()}
    assert slope["dice"] < slope["anna"]
    assert rows["dice"][3] == "40"
    named = pd.read_csv("rated.csv", dtype=str).rename(columns={"rater": "labeller"})
    named.to_csv("exported.csv", index=False)  # as campaigns call them
    assert run("fit items.csv exported.csv -o other.json")[1].replace("other.json", "model.json") == out
    assert refused(run("fit items.csv rated.csv outcomes.csv -o m.json"), "outcomes.csv has no column rater, which")
    named.assign(labeller=["", *named.labeller[1:]]).to_csv("gap.csv", index=False)
    assert refused(run("fit items.csv gap.csv -o m.json"), "row 1 has nothing in column 'labeller'")
    named.assign(left="004").to_csv("left.csv", index=False)
    assert refused(run("fit items.csv left.csv -o m.json"), "names an item as left that is neither of the two")


def test_winners_are_not_taken_for_what_was_shown_first(run, answered):
    """In a table of winners and losers the winner is first, always: that is no preference for a side."""
    won = pd.read_csv("won.csv", dtype=str)
    won.assign(rater=["anna", "ben"] * 20).to_csv("rated_won.csv", index=False)
    code, out, _ = run("fit items.csv rated_won.csv -o model.json")
    assert code == 0
    biases = [float(row.split()[9]) for row in out.splitlines() if row.startswith("│")]
    assert len(biases) == 2
    assert max(map(abs, biases)) < 0.6
    ranking = ps.BradleyTerryGP.load("model.json").rank(read_items(Path("items.csv")).features)
    assert np.corrcoef([list(answered).index(name) for name in ranking.index], range(12))[0, 1] > 0.9


def test_items_without_features_are_ranked_by_their_answers(run, answered):
    pd.read_csv("items.csv", dtype=str)[["id"]].assign(note="some words").to_csv("notes.csv", index=False)
    assert refused(run("fit notes.csv outcomes.csv -o bare.json"), "has the value 'some words' in column 'note'")
    code, out, err = run("fit notes.csv outcomes.csv -o bare.json --no-features")
    assert (code, err) == (0, "")
    assert "There are no features: each item's score is its own." in out
    _, ranking, err = run("rank notes.csv bare.json")
    assert err == ""
    assert run("rank items.csv bare.json")[1] == ranking  # its columns are of no use to this model
    pd.read_csv("items.csv", dtype=str)[["id"]].to_csv("ids.csv", index=False)
    assert run("fit ids.csv outcomes.csv -o ids.json")[0] == 0
    assert run("rank ids.csv ids.json")[1] == ranking
    Path("more.csv").write_text(Path("ids.csv").read_text() + "new\n")
    assert refused(run("rank more.csv bare.json"), "item 'new' was not there when the model was fitted, and without")
    for line in ("--no-features --features f_*", "--no-features --linear", "--no-features --ridge 1"):
        assert refused(run(f"fit items.csv outcomes.csv -o m.json {line}"), "--no-features leaves nothing for")
    assert refused(run("fit ids.csv outcomes.csv -o m.json --linear"), "there are no feature columns besides 'id'")


def test_items_that_the_model_has_not_seen_are_ranked_and_said_to_be_new(run, answered):
    run("fit items.csv outcomes.csv -o model.json")
    table = pd.read_csv("items.csv", dtype={"id": str})
    table.assign(id=[*table.id[:-2], "x", "y"]).to_csv("some.csv", index=False)
    code, out, err = run("rank some.csv model.json")
    assert (code, len(out.splitlines())) == (0, 13)
    assert err == (
        "Note: 2 of 12 items were not there when the model was fitted, for example 'x': ranked by their features"
        " alone\n"
    )
    table.assign(id=list("abcdefghijkl")).to_csv("all.csv", index=False)
    assert run("rank all.csv model.json")[2].startswith("Note: all 12 items were not there")


def test_islands_are_said_once(run):
    Path("apart.csv").write_text("winner,loser\n000,001\n001,002\n005,006\n006,005\n")
    code, _, err = run("fit items.csv apart.csv -o model.json")
    assert code == 0
    assert err.startswith("Warning: the answers leave the items in 2 islands that were never compared with each other")
    assert err.count("\n") == 1


def test_models_of_both_kinds_are_read_and_told_apart(run, answered):
    run("fit items.csv outcomes.csv -o linear.json --linear")
    run("fit items.csv outcomes.csv -o model.json")
    assert refused(run("rank items.csv linear.json --top 3"), "--top is not for a linear model")
    assert refused(
        run("select items.csv -k 2 --objective entropy --model model.json"),
        "--model model.json is not linear in the features; make one that is with pairsmith fit --linear",
    )
    with pytest.raises(ValueError, match="holds a BradleyTerryGP, not a BradleyTerry; load it as that"):
        ps.BradleyTerry.load("model.json")
    with pytest.raises(ValueError, match="holds a BradleyTerry, not a BradleyTerryGP"):
        ps.BradleyTerryGP.load("linear.json")
    Path("future.json").write_text('{"pairsmith model": 7}')
    assert refused(run("rank items.csv future.json"), "written by another version of pairsmith (format 7)")


def test_fit_and_rank(run, answered):
    code, out, err = run("fit items.csv outcomes.csv -o model.json --ridge 0.1 --labels labels.csv")
    assert (code, err) == (0, "")
    assert "Fitted to 40 answers and 2 labels (linear in the features, ridge 0.1)" in out
    code, out, err = run("rank items.csv model.json -o ranking.csv --plot ranking.png")
    assert code == 0
    assert "not what features do not explain" in err
    assert Path("ranking.png").stat().st_size > 5000
    ranking = pd.read_csv("ranking.csv", dtype={"id": str})
    assert list(ranking.columns) == ["rank", "id", "score", "error", "low", "high", "above_next"]
    assert np.corrcoef([list(answered).index(name) for name in ranking.id], range(12))[0, 1] > 0.95
    code, out, err = run("rank items.csv model.json")
    assert code == 0
    assert err.startswith("Note: intervals count what the answers leave open about the weights of the features")
    assert out.splitlines()[0] == "rank,id,score,error,low,high,above_next"


def test_answers_in_every_form_say_the_same(run, answered):
    models = []
    for name in ("outcomes", "words", "named", "won"):
        assert run(f"fit items.csv {name}.csv -o {name}.json --ridge 0.1")[0] == 0
        models.append(json.loads(Path(f"{name}.json").read_text())["coef"])
    np.testing.assert_allclose(models, [models[0]] * 4, rtol=1e-6)
    code, out, _ = run("fit items.csv outcomes.csv words.csv -o both.json --linear")
    assert code == 0
    assert "Fitted to 80 answers" in out
    assert "AUC" in out
    half = pd.read_csv("outcomes.csv", dtype=str)
    half.loc[20:, "outcome"] = None
    half.to_csv("half.csv", index=False)
    assert "Fitted to 20 answers" in run("fit items.csv half.csv -o half.json --ridge 1")[1]


def test_a_ridge_chosen_by_hardly_anything_is_said_to_be(run, answered):
    pd.read_csv("outcomes.csv", dtype=str).head(6).to_csv("few.csv", index=False)
    code, out, err = run("fit items.csv few.csv -o few.json --linear")
    assert code == 0
    held = int(re.search(r"chosen by (\d+) held out: log likelihood -\d\.\d{3} each", out).group(1))
    assert 0 < held <= 6
    assert err.startswith(f"Warning: only {held} of the answers and labels could be held out")
    assert err.count("\n") == 1
    pd.concat([pd.read_csv("outcomes.csv", dtype=str)] * 20).to_csv("many.csv", index=False)
    assert run("fit items.csv many.csv -o many.json --linear")[2] == ""


def test_select_with_a_model(run, answered):
    run("fit items.csv outcomes.csv -o model.json --ridge 0.1")
    for objective in ("local-d-optimal", "entropy", "fisher", "mutual-information"):
        code, out, err = run(f"select items.csv -k 5 --objective {objective} --model model.json --seed 0")
        assert (code, err) == (0, "")
        assert len(out.splitlines()) == 6
        known = "--answers outcomes.csv --labels labels.csv"
        assert run(f"select items.csv -k 5 --objective {objective} {known}")[0] == 0
        needed = f"--objective {objective} needs a model: give --labels, --answers or --model"
        assert refused(run(f"select items.csv -k 5 --objective {objective}"), needed)


@pytest.mark.slow
def test_of_two_words_somebody_has_to_say_which_is_better(run, answered):
    best = list(answered)
    Path("numbers.csv").write_text(
        "id,label\n" + "".join(f"{name},{1 if at < 6 else -1}\n" for at, name in enumerate(best))
    )
    Path("words.csv").write_text(
        "id,label\n" + "".join(f"{name},{'high' if at < 6 else 'low'}\n" for at, name in enumerate(best))
    )
    Path("one.csv").write_text(f"winner,loser\n{best[0]},{best[-1]}\n")
    for how in ("--ridge 0.1", "--linear"):
        fit = f"fit items.csv outcomes.csv -o model.json {how}"
        assert run(f"{fit} --labels numbers.csv")[0] == 0
        right = json.loads(Path("model.json").read_text())
        code, _, _ = run(f"{fit} --labels words.csv --better high")
        told = json.loads(Path("model.json").read_text())
        assert code == 0
        assert (told["coef"], told["classes"]) == (right["coef"], ["low", "high"])
        assert run(f"{fit} --labels numbers.csv --better -1")[0] == 0
        assert json.loads(Path("model.json").read_text())["classes"] == [1, -1]
    Path("model.json").unlink()
    known = "--labels words.csv --objective entropy"
    right = run("select items.csv -k 3 --labels numbers.csv --objective entropy")
    assert run(f"select items.csv -k 3 {known} --better high") == right
    words = "'high' and 'low' are words, and nothing says which is the better; say it, with --better 'high'"
    for line, message in (
        ("fit items.csv one.csv -o model.json --ridge 1 --labels words.csv", words),
        ("fit items.csv one.csv -o model.json --labels words.csv", words),
        (f"select items.csv -k 3 {known}", words),
        (f"select items.csv -k 3 {known} --better good", "--better 'good' is none of the labels, which are 'high' and"),
        ("fit items.csv one.csv -o model.json --ridge 1 --labels numbers.csv --better 3", "none of the labels"),
        ("fit items.csv one.csv -o model.json --ridge 1 --better high", "--better names one of the labels of --labels"),
        ("select items.csv -k 3 --better high", "--better names one of the labels of --labels"),
    ):
        assert refused(run(line), message), line
    assert not Path("model.json").exists()
    assert run("select items.csv -k 3 --labels words.csv")[0] == 0  # d-optimality does not look at labels


def test_select_reads_who_won_as_fit_does(run, tmp_path):
    pd.DataFrame({"id": range(1, 6), "x": [1.0, 4.0, 9.0, 16.0, 25.0]}).to_csv("five.csv", index=False)
    (tmp_path / "won.csv").write_text("labeller,winner,loser\n1,2,3\n1,5,4\n")
    (tmp_path / "pairs.csv").write_text("first,second\n2,3\n4,5\n")
    for option in ("--answers", "--candidates"):
        assert run(f"select five.csv -k 2 {option} won.csv") == run(f"select five.csv -k 2 {option} pairs.csv")
    (tmp_path / "odd.csv").write_text("labeller,left,right\n1,2,3\n")
    for option in ("--answers", "--candidates"):
        assert refused(
            run(f"select five.csv -k 1 {option} odd.csv"), "or winner and loser; found labeller, left, right"
        )
    assert refused(run("fit five.csv odd.csv -o m.json"), "or winner and loser; found labeller, left, right")


def test_whole_numbers_of_an_array_are_not_rounded_either(run):
    np.save("large.npy", np.array([[2**60 + row] for row in range(4)]))
    Path("won.csv").write_text("winner,loser\n0,1\n2,3\n")
    for line in (
        "select large.npy -k 1",
        "fit large.npy won.csv -o m.json",
        "fit large.npy won.csv -o m.json --ridge 1",
    ):
        assert refused(run(line), "X holds a whole number beyond 2^53 at row 0")
    np.save("small.npy", np.arange(4)[:, None])
    assert run("fit small.npy won.csv -o m.json --ridge 1")[0] == 0
    assert run("rank small.npy m.json")[0] == 0
    assert refused(run("rank large.npy m.json"), "X holds a whole number beyond 2^53 at row 0")


@pytest.mark.slow
def test_closed_streams_take_nothing_with_them(tmp_path):
    np.save(tmp_path / "items.npy", np.random.default_rng(0).standard_normal((20, 3)))
    (tmp_path / "won.csv").write_text("winner,loser\n1,2\n2,3\n")

    def call(line):
        command = f"{sys.executable} -m pairsmith.cli {line}"
        done = subprocess.run(command, shell=True, cwd=tmp_path, capture_output=True, text=True)
        return done.returncode, done.stdout, done.stderr

    _, pairs, _ = call("select items.npy -k 3")
    assert pairs.count("\n") == 4
    assert call("select items.npy -k 3 2>&-") == (0, pairs, "")
    assert call("select items.npy -k 999 2>&-") == (2, "", "")
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


def test_ids_are_drawn_as_they_are_written(run):
    names = ["$a$", "\\alpha$b_{", "$c^", "d$$"]
    pd.DataFrame({"id": names, "x": [1, 3, 0, 4], "y": [2, 5, 9, 4]}).to_csv("money.csv", index=False)
    pd.DataFrame({"winner": names[:2], "loser": names[2:]}).to_csv("won.csv", index=False)
    assert run("fit money.csv won.csv -o model.json --ridge 1")[0] == 0
    code, _, err = run("rank money.csv model.json -o ranking.csv --plot ranking.svg")
    assert (code, err.count("\n")) == (0, 1)  # the note on intervals
    drawn = Path("ranking.svg").read_text()
    for name in names:
        assert f"<!-- {name} -->" in drawn


@pytest.mark.slow
def test_without_a_place_for_compiled_code_it_is_compiled_again(tmp_path):
    package = tmp_path / "site" / "pairsmith"
    shutil.copytree(Path(cli.__file__).parent.parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    for folder in (package, *(path for path in package.rglob("*") if path.is_dir())):
        (folder / "__pycache__").write_text("")  # no folder can be made here, by nobody
    np.save(tmp_path / "items.npy", np.random.default_rng(0).standard_normal((9, 2)))
    nowhere = {"HOME": os.devnull, "XDG_CACHE_HOME": f"{os.devnull}/x", "LOCALAPPDATA": os.devnull}
    command = [sys.executable, "-m", "pairsmith.cli", "select", "items.npy", "-k", "2", "--algorithm", "scalar"]
    for more, told in (({}, 1), ({"NUMBA_CACHE_DIR": str(tmp_path / "cache")}, 0)):
        own = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
        own |= nowhere | {"PYTHONPATH": str(package.parent)} | more
        done = subprocess.run(command, cwd=tmp_path, env=own, capture_output=True, text=True)
        assert (done.returncode, done.stdout.count("\n")) == (0, 3), done.stderr
        assert done.stderr.count("\n") == done.stderr.count("Warning: there is no place that can be written to") == told
    assert any((tmp_path / "cache").rglob("*.nbi"))


def test_what_fit_and_rank_refuse(run, answered):
    run("fit items.csv outcomes.csv -o model.json --ridge 0.1")
    Path("odd.csv").write_text("first,second,outcome\n000,001,better\n")
    Path("stranger.csv").write_text("first,second,outcome\n000,999,1\n")
    Path("neither.csv").write_text("first,second,winner\n000,001,005\n")
    Path("counts.csv").write_text("winner,loser,count\n000,001,-3\n")
    Path("three.csv").write_text("id,label\n000,1\n001,2\n002,3\n")
    Path("other.csv").write_text("id,g\n000,1\n001,2\n")
    for line, told in (
        ("fit items.csv odd.csv -o m.json", "outcome 'better'"),
        ("fit items.csv stranger.csv -o m.json", "'999'"),
        ("fit items.csv neither.csv -o m.json", "neither of the two"),
        ("fit items.csv counts.csv -o m.json", "no proper count"),
        ("fit items.csv labels.csv -o m.json", "winner and loser"),
        ("fit items.csv outcomes.csv -o m.pkl", "use .json"),
        ("fit items.csv outcomes.csv -o no/m.json", "no folder"),
        ("fit items.csv outcomes.csv -o m.json --ridge -1", "ridge must be a positive number"),
        ("fit items.csv outcomes.csv -o m.json --ridge much", "--ridge must be"),
        ("fit items.csv outcomes.csv -o m.json --labels three.csv", "3 different labels"),
        ("rank items.csv items.csv", "is no model of pairsmith"),
        ("rank items.csv missing.json", "no such file"),
        ("rank other.csv model.json", "no column"),
        ("rank items.csv model.json --plot r.txt", "use .png"),
        ("rank items.csv model.json --level 90", "level must be"),
        ("select items.csv -k 3 --objective entropy --model items.csv", "is no model of pairsmith"),
        ("select other.csv -k 1 --objective entropy --model model.json", "no column 'f_1'"),
    ):
        assert refused(run(line), told), line
    assert not Path("m.json").exists()


def test_data(run):
    code, out, err = run("data list")
    assert (code, err) == (0, "")
    for name in ("synthetic", "sushi", "netflix", "rop"):
        assert name in out
    code, out, err = run("data info diabetes")
    assert (code, err) == (0, "")
    assert "442, 10 features" in out
    Path("mine").mkdir()
    Path("mine/features.csv").write_text("id,a,b\nx,1,2\ny,3,4\nz,0,1\n")
    Path("mine/comparisons.csv").write_text("first,second,outcome,count\nx,y,1,5\nz,y,-1,2\n")
    assert "2 pairs from 7 answers: first 1, second 1, even 0" in run("data info rop --path mine")[1]
    Path("mine/labels.csv").write_text("id,label\nx,high\ny,low\nz,low\n")
    assert refused(run("data info rop --path mine"), "'high' and 'low' are words")
    assert "labels       3, 1 of them +1" in run("data info rop --path mine --better high")[1]
    assert refused(run("data info digits --better high"), "--better is for rop")
    assert refused(run("data info sushi"), "--path")
    assert refused(run("data info sushi --path ."), "has no file sushi3.idata")
    assert refused(run("data info diabetes --path ."), "leave out --path")
    assert refused(run("data info mine"), "choose one of")
