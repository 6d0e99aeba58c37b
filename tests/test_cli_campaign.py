"""The commands on campaigns."""

import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from contextlib import contextmanager
from pathlib import Path
from xml.etree import ElementTree

import pandas as pd
import pytest

from campaigns import CREATE, answer_next, version_1
from pairsmith.campaign import exchange, leases, people, schema
from pairsmith.campaign.store import Store


@pytest.fixture
def run(folder, run):
    """The command line, in a folder with items."""
    return run


@pytest.mark.parametrize("name", ["", " ", "two\nlines", "\0", "\udcff", 201 * "x"])
def test_a_name_is_one_line(run, name):
    run(*CREATE)
    code, out, err = run("campaign", "invite", "c.db", name)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "is no name" in err


@pytest.mark.parametrize("url", ["label.example.org", "https://", "ftp://label.example.org"])
def test_an_invite_needs_the_address_of_a_server(run, url):
    run(*CREATE)
    code, out, err = run("campaign", "invite", "c.db", "anna", "--url", url)
    assert (code, out) == (2, "")
    assert "is not of the form https://label.example.org" in err


def test_a_missing_extra_is_named(run, monkeypatch):
    run(*CREATE)
    for name in [
        name for name in sys.modules if name.partition(".")[0] == "sqlalchemy" or "pairsmith.campaign." in name
    ]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "sqlalchemy", None)  # as if it were not there
    for words in (
        CREATE,
        [*CREATE, "--labels", "labels.csv", "--better", "high"],
        ["label", "c.db"],
        ["demo-campaign"],
        ["campaign", "export", "c.db"],
        ["campaign", "import", "c.db", "answers.csv"],
        ["campaign", "invite", "c.db", "anna"],
        ["campaign", "revoke", "c.db", "anna"],
        ["campaign", "people", "c.db"],
        ["fit", "c.db", "-o", "m.json"],
        ["fit", "c.db", "-o", "m.json", "--labels", "labels.csv"],
        ["rank", "c.db"],
        ["rank", "c.db", "--id", "id"],
        ["rank", "nothing.db"],
        ["select", "c.db", "-k", "3"],
        ["select", "c.db", "-k", "3", "--labels", "labels.csv"],
        ["select", "c.db", "-k", "3", "--answers", "answers.csv"],
        ["select", "postgresql://anna:secret@host/x", "-k", "3", "--group-by", "prompt"],
    ):
        code, out, err = run(*words)
        assert (code, out) == (2, ""), words
        assert err == "Error: campaigns need sqlalchemy; pip install 'pairsmith[app]'\n"


def test_the_command_line_starts_without_the_app():
    code = "import sys, pairsmith.cli; print({'sqlalchemy', 'fastapi', 'numpy', 'pandas'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "set()\n"


def test_fit_rank_and_select_read_a_campaign(run, target):
    run("campaign", "create", target, *CREATE[3:], "--group-by", "prompt")
    assert "no answers yet" in run("fit", target, "-o", "m.json", "--ridge", "1")[2]
    assert "no answers yet" in run("rank", target)[2]
    store = Store(target)
    while (lease := leases.next_pair(store, people.local_person(store))) is not None:
        leases.answer(store, people.local_person(store), lease.token, "left" if lease.left > lease.right else "right")
    exchange.export_answers(store, "csv", Path("answers.csv"))
    store.close()
    assert run("fit", target, "-o", "m.json", "--ridge", "1")[0] == 0
    assert run("fit", "items.csv", "answers.csv", "--features", "f_*", "-o", "n.json", "--ridge", "1")[0] == 0
    assert json.loads(Path("m.json").read_text()) == json.loads(Path("n.json").read_text())
    assert run("rank", target, "m.json") == run("rank", "items.csv", "n.json")
    code, own, err = run("rank", target)
    assert (code, err) == (0, "")
    assert own.startswith("rank,id,score,error,low,high,above_next,best,worst\n1,item ")
    assert run("fit", target, "-o", "gp.json")[0] == 0
    assert run("rank", target, "gp.json")[1] == own
    code, more, _ = run("select", target, "-k", "3", "--objective", "averaged-d-optimal")
    assert code == 0
    asked = pd.read_csv("answers.csv")[["first", "second"]].apply(tuple, axis=1)
    picked = pd.read_csv(io.StringIO(more))
    assert len(picked) == 3
    for row in picked.itertuples():
        assert (row.first, row.second) not in set(asked)
        assert int(row.first.split()[1]) % 2 == int(row.second.split()[1]) % 2  # of one prompt
    assert "leave out" in run("select", target, "-k", "3", "--group-by", "prompt")[2]
    assert "k must be at least 1, got 0" in run("select", target, "-k", "0")[2]
    code, more, err = run("select", target, "-k", "30")
    assert (code, len(more.splitlines())) == (0, 7)  # two prompts of four items have 12 pairs; 6 were asked
    assert err == "Warning: only 6 of the 30 pairs asked for are left to ask\n"
    assert "ANSWERS is missing" in run("fit", "items.csv", "-o", "x.json")[2]
    assert "MODEL is missing" in run("rank", "items.csv")[2]


@contextmanager
def as_a_stranger(folder):
    """Somebody who may read a folder and write nothing there; root may write everywhere."""
    folder.chmod(0o555)
    if os.geteuid() == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(os.getuid())
        folder.chmod(0o755)


def test_a_campaign_that_cannot_be_written_to_is_read(run, folder, monkeypatch):
    run(*CREATE)
    Path("a.csv").write_text("winner,loser\nitem 5,item 1\nitem 0,item 7\n")
    run("campaign", "import", "c.db", "a.csv")
    commands = (["rank", "c.db"], ["select", "c.db", "-k", "3"], ["fit", "c.db", "--ridge", "1", "-o", "m.json"])
    expected = [run(*words)[:2] for words in commands[:2]]
    place, out = Path(tempfile.mkdtemp()), Path(tempfile.mkdtemp())  # which strangers can get to
    out.chmod(0o777)
    shutil.copy("c.db", place)
    monkeypatch.chdir(place)
    version_1("old.db", [(0, 1, 1, 0)])
    for name in ("c.db", "old.db"):
        Path(name).chmod(0o444)
    commands[2][-1] = str(out / "m.json")
    held = os.listdir()
    export = ["campaign", "export", "c.db", "-o", str(out / "out.csv")]
    with as_a_stranger(place):
        assert [run(*words)[:2] for words in commands[:2]] == expected
        for words in (commands[2], export, ["rank", "old.db"], ["campaign", "people", "c.db"]):
            assert run(*words)[0] == 0
        for words in (["label"], ["campaign", "import"], ["campaign", "repair"], ["campaign", "invite"]):
            code, _, err = run(*words, "c.db", *(["a.csv"] if words[-1] in ("import", "invite") else []))
            assert code == 2
            assert err.startswith("Error: c.db cannot be written to")
    assert len((out / "out.csv").read_text().splitlines()) == 3
    assert os.listdir() == held
    Path("c.db").chmod(0o644)
    with Store("c.db") as theirs:  # which somebody else is labelling, so that the newest answers are in the log
        leases.answer(
            theirs, people.local_person(theirs), leases.next_pair(theirs, people.local_person(theirs)).token, "left"
        )
        with as_a_stranger(place):
            assert run(*export)[0] == 0
        assert len((out / "out.csv").read_text().splitlines()) == 4
        for name in ("c.db", "c.db-wal"):  # and a copy of both without their index
            shutil.copy(name, out)
        (out / "c.db").chmod(0o444)
    monkeypatch.chdir(out)
    with as_a_stranger(out):
        code, _, err = run("rank", "c.db")
    assert code == 2
    assert "its newest answers are in c.db-wal, which cannot be read there; copy both" in err
    shutil.rmtree(place)
    shutil.rmtree(out)


def test_items_and_answers_may_come_through_pipes(folder, run):
    def piped(path):
        os.mkfifo(f"pipe-{path}")
        writer = threading.Thread(target=lambda: Path(f"pipe-{path}").write_bytes(Path(path).read_bytes()))
        writer.start()
        return writer

    Path("how.md").write_text("Look.")
    writers = [piped("items.csv"), piped("how.md")]
    code, out, err = run(*[word.replace("items.csv", "pipe-items.csv") for word in CREATE], "--show", "text:note",
                         "--instructions", "pipe-how.md")  # fmt: skip
    assert (code, err) == (0, "")
    assert "8 items" in out
    Path("a.csv").write_text("winner,loser,labeller\nitem 5,item 1,anna\n")
    Path("t.json").write_text('[{"data": {"left_id": "item 1", "right_id": "item 2"}, "annotations": [{"result":'
                              ' [{"value": {"selected": "left"}}]}]}]')  # fmt: skip
    for name in ("a.csv", "t.json"):
        writers.append(piped(name))
        assert "1 answer, 1 of them new" in run("campaign", "import", "c.db", f"pipe-{name}")[1]
    for writer in writers:
        writer.join()
    os.symlink("/dev/zero", "zero.json")
    os.mkfifo("pipe.db")
    for words in (["campaign", "import", "c.db", "zero.json"], [*CREATE[:2], "d.db", *CREATE[3:], "--instructions",
                  "/dev/zero"], ["rank", "pipe.db"], ["label", "pipe.db"]):  # fmt: skip
        code, _, err = run(*words)
        assert (code, err.count("\n")) == (2, 1)
        assert "is a device" in err


def test_control_characters_reach_no_terminal(run, folder):
    odd = "\x1b[31mred\nline\u202e"
    names = [odd, *"bcdefgh"]
    pd.read_csv("items.csv").assign(id=names).to_csv("items.csv", index=False)
    told = [
        run("select", "items.csv", "--features", "f_*", "-k", "28", "-o", "pairs.csv"),
        run("select", "items.csv", "--features", f"{odd}*", "-k", "2"),
        run("select", f"{odd}.csv", "-k", "2"),
        run("campaign", "create", f"{odd}.db", *CREATE[3:]),
        run("campaign", "people", f"{odd}.db"),
        run("campaign", "revoke", f"{odd}.db", odd),
        run("campaign", "export", f"{odd}.db", "-o", f"{odd}.csv"),
        run("campaign", "import", f"{odd}.db", f"{odd}.csv"),
        run("fit", f"{odd}.db", "-o", f"{odd}.json"),
    ]
    with Store(f"{odd}.db") as store, store.writing() as connection:
        connection.execute(schema.people.insert().values(name=odd, role="labeller", hash="x"))
    told.append(run("campaign", "people", f"{odd}.db"))
    told.append(run("label", f"{odd}.db", "--no-open", "--trust", "--host", "nowhere.invalid"))
    for _, out, err in told:
        assert not {"\x1b", "\u202e"} & set(out + err)
    assert sum("\\x1b[31mred" in out + err for _, out, err in told) >= 8
    assert odd in list(pd.read_csv("pairs.csv")[["first", "second"]].to_numpy().ravel())  # files keep the original


def test_a_terminal_gets_no_control_characters_with_the_pairs(run, monkeypatch):
    pd.read_csv("items.csv").assign(id=["\x1b[2J", *"bcdefgh"]).to_csv("items.csv", index=False)
    _, piped, _ = run("select", "items.csv", "--features", "f_*", "-k", "28")
    assert "\x1b[2J" in piped
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    _, shown, _ = run("select", "items.csv", "--features", "f_*", "-k", "28")
    assert shown == piped.replace("\x1b", "\\x1b")


def test_people_are_listed_or_said_to_be_none(run):
    run(*CREATE)
    assert run("campaign", "people", "c.db")[:2] == (0, "Nobody is invited yet: pairsmith campaign invite c.db NAME\n")
    run("campaign", "invite", "c.db", "anna", "ben")
    run("campaign", "invite", "c.db", "ole", "--dashboard")
    assert run("campaign", "people", "c.db")[1] == "labeller  anna\nlabeller  ben\norganiser  ole\n"


def test_a_plot_has_no_control_characters(run):
    pd.read_csv("items.csv").assign(id=["\x1b[2J\nb", *"bcdefgh"]).to_csv("items.csv", index=False)
    run(*CREATE)
    with Store("c.db") as store:
        answer_next(store)
    assert run("rank", "c.db", "--plot", "p.svg")[0] == 0
    text = Path("p.svg").read_text()
    assert "\\x1b[2J\\nb" in text
    ElementTree.fromstring(text)  # which no escape character may be part of
