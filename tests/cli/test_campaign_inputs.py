"""Campaigns as inputs of commands."""

import io
import json
import os
import shutil
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pandas as pd
import pytest

from pairsmith.campaign.answering import leases
from pairsmith.campaign.exchange import files as exchange
from pairsmith.campaign.people import invites as people
from pairsmith.campaign.store import migrations, schema
from pairsmith.campaign.store.store import Store
from pairsmith.cli import inputs, output
from support.campaigns import CREATE

pytestmark = pytest.mark.usefixtures("folder")


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
        ["serve", "c.db"],
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


def test_fit_rank_and_select_read_a_campaign(run, target):
    run("campaign", "create", target, *CREATE[3:], "--group-by", "prompt")
    assert "no answers yet" in run("fit", target, "-o", "m.json", "--ridge", "1")[2]
    assert "no answers yet" in run("rank", target)[2]
    store = Store(target)
    while (lease := leases.next_pair(store, people.local_rater(store))) is not None:
        leases.answer(store, people.local_rater(store), lease.token, "left" if lease.left > lease.right else "right")
    exchange.export_answers(store, "csv", Path("answers.csv"))
    store.close()
    assert run("fit", target, "-o", "m.json", "--ridge", "1")[0] == 0
    assert run("fit", "items.csv", "answers.csv", "--features", "f_*", "-o", "n.json", "--ridge", "1")[0] == 0
    assert json.loads(Path("m.json").read_text()) == json.loads(Path("n.json").read_text())
    assert run("rank", target, "m.json") == run("rank", "items.csv", "n.json")
    code, own, err = run("rank", target)
    assert (code, err) == (0, "")
    assert own.startswith("rank,id,group,score,error,low,high,above_next,best,worst\n1,item ")
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


def add_a_column(connection):
    connection.exec_driver_sql("ALTER TABLE answers ADD COLUMN note TEXT")


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
    shutil.copy("c.db", "old.db")
    for name in ("c.db", "old.db"):
        Path(name).chmod(0o444)
    commands[2][-1] = str(out / "m.json")
    held = os.listdir()
    export = ["campaign", "export", "c.db", "-o", str(out / "out.csv")]
    with as_a_stranger(place):
        assert [run(*words)[:2] for words in commands[:2]] == expected
        for words in (commands[2], export, ["campaign", "people", "c.db"]):
            assert run(*words)[0] == 0
        with monkeypatch.context() as later:  # a version with another column
            later.setattr(schema, "VERSION", schema.VERSION + 1)
            later.setattr(migrations, "MIGRATIONS", [*migrations.MIGRATIONS, add_a_column])
            assert run("rank", "old.db")[:2] == expected[0]
        for words in (["serve"], ["campaign", "import"], ["campaign", "invite"]):
            code, _, err = run(*words, "c.db", *(["a.csv"] if words[-1] in ("import", "invite") else []))
            assert code == 2
            assert err.startswith("Error: c.db cannot be written to")
    assert len((out / "out.csv").read_text().splitlines()) == 3
    assert os.listdir() == held
    Path("c.db").chmod(0o644)
    with Store("c.db") as theirs:  # which somebody else is labelling, so that the newest answers are in the log
        leases.answer(
            theirs, people.local_rater(theirs), leases.next_pair(theirs, people.local_rater(theirs)).token, "left"
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


def test_a_campaign_brings_its_own_answer_to_some_options(run):
    run(*CREATE)
    found = inputs.read_campaign("c.db", None, [], None)
    assert found.features.shape == (8, 2)
    assert found.planned.shape == (6, 2)
    with pytest.raises(ValueError, match=r"c\.db is a campaign and brings its own .*; leave out the options"):
        inputs.read_campaign("c.db", None, Path("labels.csv"))


def test_a_password_is_not_repeated():
    assert inputs.display_name("postgresql://anna:secret@host/x") == "postgresql://anna:***@host/x"
    url = "postgresql://host/x?user=anna&password=secret&sslpassword=other"
    assert inputs.display_name(url) == "postgresql://host/x?user=anna"
    assert inputs.display_name("c.db") == "c.db"


def test_errors_about_items_do_not_repeat_the_password(run, target):
    target = target.replace("postgres@", "postgres:secret@")  # which a server that trusts everybody does not look at
    run("campaign", "create", target, *CREATE[3:])
    Path("unknown.csv").write_text("first,second,outcome\nnobody,item 2,1\n")
    Path("unknown.json").write_text('[{"data": {"left_id": "nobody", "right_id": "item 2"}, "annotations": []}]')
    for command, file in (("import", "unknown.csv"), ("import", "unknown.json"), ("gold", "unknown.csv")):
        code, _, err = run("campaign", command, target, file)
        assert (code, "nobody" in err, "secret" in err) == (2, True, False), err


def test_control_characters_are_spelled_out(capsys):
    output.say("a\x1b[2Jb\u202e")
    output.say("c\x07", sys.stderr)
    out, err = capsys.readouterr()
    assert (out, err) == ("a\\x1b[2Jb\\u202e\n", "c\\x07\n")
