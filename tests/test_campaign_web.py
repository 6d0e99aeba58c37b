"""The API and the files that go in and out, without a port."""

import io
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import contextmanager
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import psutil
import pytest
from fastapi.testclient import TestClient
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import items_of
from pairsmith import cli
from pairsmith.campaign import database, exchange
from pairsmith.campaign.create import create, read
from pairsmith.campaign.database import CampaignError
from pairsmith.campaign.report import make as report_on
from pairsmith.campaign.rounds import Worker
from pairsmith.campaign.store import Store
from pairsmith.campaign.web import create_app, render
from pairsmith.files import tables
from pairsmith.files.tables import Items
from test_campaign_store import version_1

PNG = b"\x89PNG\r\n\x1a\n and more"


def client_of(store, **options):
    return TestClient(create_app(store, **options), base_url="http://127.0.0.1")


@pytest.fixture
def api(tmp_path, make):
    store = make(str(tmp_path / "t.db"))
    with client_of(store) as client:
        client.store = store
        yield client


def ask(api, path, **body):
    response = api.post(f"/api/{path}", json=body)
    assert response.status_code == 200, response.text
    return response.json()


def test_the_story_of_a_labeller(api):
    first = ask(api, "next")["pair"]
    assert ask(api, "next")["pair"] == first  # loaded again
    second = ask(api, "next", holding=[first["lease"]])["pair"]
    assert second["lease"] != first["lease"]
    taken = ask(api, "answer", lease=first["lease"], choice="left", seconds=1.5)
    assert taken["counted"]
    assert taken["progress"] == {"answers": 1, "yours": 1, "wanted": 9, "undo": first["lease"]}
    assert not ask(api, "answer", lease=first["lease"], choice="right")["counted"]
    assert ask(api, "next")["pair"] == second
    back = ask(api, "undo", lease=first["lease"])
    assert back["pair"]["left"] == first["left"]
    assert back["progress"]["answers"] == 0
    assert api.get("/api/progress").json()["wanted"] == 10


def test_the_story_of_an_organiser(api):
    assert api.get("/api/ranking").json() == {"answers": 0, "items": []}
    for _ in range(10):
        pair = ask(api, "next")["pair"]
        ask(api, "answer", lease=pair["lease"], choice="left" if str(pair["left"]) < str(pair["right"]) else "right")
    api.store.save_report("report", report_on(api.store.known()))
    ranking = api.get("/api/ranking", params={"limit": 3, "offset": 2}).json()
    assert ranking["answers"] == 10
    assert [item["rank"] for item in ranking["items"]] == [3, 4, 5]
    assert all(item["low"] < item["score"] < item["high"] for item in ranking["items"])
    figures = api.get("/api/dashboard").json()
    assert (figures["answers"], figures["planned"], figures["complete"], figures["last_hour"]) == (10, 10, 10, 10)
    assert figures["report"]["people"][0]["name"] == "local"
    assert ask(api, "next")["pair"] is None


def test_pages_need_nothing_from_elsewhere(api):
    for path in ("/", "/dashboard", "/api", "/static/campaign.js", "/static/campaign.css", "/nowhere"):
        text = api.get(path).text
        assert "//cdn" not in text
        assert "https://" not in text.replace("http://www.w3.org/2000/svg", "")
    assert "POST /api/answer" in api.get("/api").text
    assert api.get("/api/openapi.json").json()["paths"].keys() >= {"/api/next", "/api/answer", "/api/undo"}


def test_what_goes_wrong_is_told(api):
    assert api.get("/nowhere").status_code == 404
    assert api.get("/api/nowhere").json()["detail"] == "Not Found"
    assert api.post("/api/answer", json={"lease": "x", "choice": "left"}).status_code == 404
    wrong = api.post("/api/answer", json={"lease": "x", "choice": "both"})
    assert wrong.status_code == 422
    assert "choice" in wrong.json()["detail"]


def test_a_database_in_trouble_is_told_to_the_organiser_only(api, monkeypatch, capfd):
    pair = ask(api, "next")["pair"]

    def locked(*_args):
        raise CampaignError("/home/me/t.db is locked by another program")

    monkeypatch.setattr(api.store, "answer", locked)
    response = api.post("/api/answer", json={"lease": pair["lease"], "choice": "left"})
    assert response.status_code == 503
    assert "/home" not in response.text
    assert capfd.readouterr().err == "Error: /home/me/t.db is locked by another program\n"


def test_markdown_is_rendered_and_made_harmless():
    html = render("**bold** `code`\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n[x](https://example.org)")
    assert "<strong>bold</strong>" in html
    assert "<table>" in html
    assert 'rel="noopener noreferrer"' in html
    for attack in (
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "![x](http://evil.example/track.png)",
        "[x](javascript:alert(1))",
        "[x](data:text/html,<script>alert(1)</script>)",
        "<svg/onload=alert(1)>",
        "<a href='https://x' onclick='alert(1)'>x</a>",
        "<style>*{display:none}</style><iframe src=//evil.example>",
    ):
        html = render(attack)
        for bad in ("<script", "<img", "<svg", "<iframe", "<style", 'href="javascript', 'href="data', "<a href='"):
            assert bad not in html, html


# Creation from files


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    items = pd.DataFrame(rng.standard_normal((8, 2)), columns=["f_1", "f_2"])
    items.insert(0, "id", [f"item {row}" for row in range(8)])
    items["note"] = [f"note <b>{row}</b>" for row in range(8)]
    items["path"] = [f"pictures/{row}.png" for row in range(8)]
    items["prompt"] = ["p", "q"] * 4
    (tmp_path / "pictures").mkdir()
    for row in range(8):
        (tmp_path / f"pictures/{row}.png").write_bytes(PNG)
    items.to_csv("items.csv", index=False)
    return tmp_path


@pytest.fixture
def run(folder, monkeypatch, capsys):
    def call(*words):
        monkeypatch.setattr(sys, "argv", ["pairsmith", *words])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        out, err = capsys.readouterr()
        return stop.value.code, out, err

    return call


CREATE = ["campaign", "create", "c.db", "--items", "items.csv", "--features", "f_*", "-k", "6", "--question", "Which?"]


def test_create_from_a_table(run):
    code, out, err = run(*CREATE, "--show", "image:path", "--show", "text:note", "--answers-per-pair", "2", "--no-ties")
    assert (code, err) == (0, "")
    assert "8 items, 6 pairs planned" in out
    store = Store("c.db")
    assert store.settings["answers"] == 2
    assert not store.settings["ties"]
    kinds, values = zip(*store.parts(3), strict=True)
    assert kinds == ("image", "text")
    assert store.folder == os.path.realpath(".")
    assert values == (os.path.join("pictures", "3.png"), "note <b>3</b>")
    with client_of(store) as api:
        assert api.get("/media/3/0").content == PNG
        assert api.get("/media/3/0").headers["content-type"] == "image/png"
        for path in ("/media/3/1", "/media/3/2", "/media/8/0", "/media/99999999999/0", "/media/-1/0"):
            assert api.get(path).status_code in (404, 422)
        pair = ask(api, "next")["pair"]
        assert {part["kind"] for part in pair["left"]} == {"image", "text"}
        os.remove("pictures/3.png")
        assert api.get("/media/3/0").status_code == 404
    store.close()


def test_files_lie_in_one_folder_that_is_named_once(run, folder, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside")
    (outside / "x.png").write_bytes(PNG)
    for named in (str(outside / "x.png"), "link.png"):
        (folder / "link.png").unlink(missing_ok=True)
        (folder / "link.png").symlink_to(outside / "x.png")
        items = pd.read_csv("items.csv")
        items.loc[5, "path"] = named
        items.to_csv("odd.csv", index=False)
        create = [word.replace("items.csv", "odd.csv") for word in CREATE]
        code, out, err = run(*create, "--show", "image:path")
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert "odd.csv: item 'item 5' shows the file " in err
        assert f"which lies outside {os.path.realpath(folder)}; give a folder that holds all files with --media" in err
        assert not Path("c.db").exists()
        common = os.path.commonpath([os.path.realpath(folder), os.path.realpath(outside)])
        assert run(*create, "--show", "image:path", "--media", common)[0] == 0
        with Store("c.db") as store:
            assert store.folder == common
            with client_of(store) as api:
                assert api.get("/media/5/0").content == PNG
        Path("c.db").unlink()
    assert "--media nowhere: there is no such folder" in run(*CREATE, "--media", "nowhere")[2]
    assert "which lies outside" in run(*CREATE, "--show", "image:path", "--media", str(outside))[2]


def test_files_that_are_not_what_they_claim_are_named(run, folder):
    (folder / "pictures" / "3.png").write_text("root:x:0:0")
    code, _, err = run(*CREATE, "--show", "image:path")
    assert (code, err.count("\n")) == (2, 1)
    assert "item 'item 3' shows the file" in err
    assert "does not begin as image/png does, which its ending claims" in err
    (folder / "pictures" / "3.png").unlink()
    assert "3.png', which is not there, or cannot be read" in run(*CREATE, "--show", "image:path")[2]


def test_features_are_the_columns_that_are_not_shown(folder):
    pd.read_csv("items.csv").drop(columns=["path", "prompt"]).to_csv("few.csv", index=False)
    items, shown = read(folder / "few.csv", ["text:note"])
    assert list(items.features.columns) == ["f_1", "f_2"]
    assert shown[0] == [("text", "note <b>0</b>")]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--show", "video:path"], "kinds are text, markdown, image, audio"),
        (["--show", "text:nothing"], "nothing"),
        (["--show", "image:note"], "use .png"),
        (["--answers-per-pair", "0"], "answers_per_pair must be at least 1"),
        (["--max-per-item", "0"], "--max-per-item must be at least 1"),
        (["--objective", "best"], "choose one of"),
        (["--lease", "0"], "--lease"),
        (["--instructions", "nothing.md"], "nothing.md"),
        (["--labels", "nothing.csv"], "nothing.csv"),
        (["--group-by", "nothing"], "nothing"),
        (["--group-by", "f_1"], "column 'f_1' is of --group-by and matches --features too"),
    ],
)
def test_wrong_options_are_one_line_and_leave_nothing(run, folder, more, message):
    code, out, err = run(*CREATE, *more)
    assert code == 2
    assert out == ""
    assert err.count("\n") == 1
    assert message in err
    assert not (folder / "c.db").exists()


def test_labels_are_kept_as_plus_and_minus_one(run):
    for name, labels, better in (
        ("words", ["high", "low"], ["--better", "high"]),
        ("numbers", [2, 1], []),
        ("turned", [1, 2], ["--better", "1"]),
        ("booleans", [True, False], []),
        ("single", ["high", ""], ["--better", "high"]),
    ):
        pd.DataFrame({"id": ["item 0", "item 3"], "label": labels}).to_csv("labels.csv", index=False)
        create = ["campaign", "create", f"{name}.db", *CREATE[3:], "--labels", "labels.csv"]
        assert run(*create, *better)[0] == 0
        with Store(f"{name}.db") as store:
            assert store.known().labels.tolist() == [1, -1][: 1 if name == "single" else 2]
    pd.DataFrame({"id": ["item 0", "item 3"], "label": ["high", "low"]}).to_csv("labels.csv", index=False)
    for more, told in (
        (
            ["--labels", "labels.csv"],
            "'high' and 'low' are words, and nothing says which is the better; say it, with --better 'high'",
        ),
        (
            ["--labels", "labels.csv", "--better", "hi"],
            "--better 'hi' is none of the labels, which are 'high' and 'low'",
        ),
        (["--better", "high"], "--better names one of the labels of --labels"),
    ):
        code, out, err = run(*CREATE, *more)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert told in err
    assert not Path("c.db").exists()


def test_words_that_an_older_campaign_holds_rank_nothing(run, folder):
    pd.DataFrame({"id": ["item 0", "item 3"], "label": [1, -1]}).to_csv("labels.csv", index=False)
    run(*CREATE, "--labels", "labels.csv")
    with sqlite3.connect("c.db") as connection:
        for label, word in (("1", '"high"'), ("-1", '"low"')):
            connection.execute("UPDATE items SET label = ? WHERE label = ?", (word, label))
    connection.close()
    for words in (
        ["rank", "c.db"],
        ["fit", "c.db", "-o", "m.json"],
        ["select", "c.db", "-k", "2", "--objective", "entropy"],
    ):
        code, out, err = run(*words)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert "are words ('high' and 'low'), and nothing says which is the better" in err
    assert run("campaign", "export", "c.db")[0] == 0
    with Store("c.db") as store, pytest.raises(ValueError, match="'high' and 'low'"):
        report_on(store.known())
    assert "'low ' is none of the labels" in run("campaign", "repair", "c.db", "--better", "low ")[2]
    assert "2 labels are numbers now" in run("campaign", "repair", "c.db", "--better", "low")[1]
    ranking = run("rank", "c.db")[1]
    assert ranking.index("item 3") < ranking.index("item 0")
    assert "its labels are no words" in run("campaign", "repair", "c.db", "--better", "low")[2]


def test_places_that_cannot_be(run, folder):
    (folder / "c.db").write_text("mine")
    assert "exists already" in run(*CREATE)[2]
    assert (folder / "c.db").read_text() == "mine"
    assert "there is no folder" in run("campaign", "create", "no/c.db", *CREATE[3:])[2]
    assert "something.db" in run("campaign", "create", "c.csv", *CREATE[3:])[2]
    assert "no such campaign" in run("label", "nothing.db")[2]
    for words in (["fit", "-o", "m.json"], ["rank"], ["select", "-k", "3"]):
        assert "no such campaign" in run(words[0], "nothing.db", *words[1:])[2]
    for words in (["label"], ["rank"], ["campaign", "people"]):
        _, out, err = run(*words, "mysql://anna:secret@host/x")
        assert (out, err.count("\n")) == ("", 1)
        assert err.startswith("Error: mysql:// is no place for a campaign")
    assert "mysql:// is no place" in run("campaign", "create", "mysql://anna:secret@host/x", *CREATE[3:])[2]
    assert run("demo-campaign", "no/d.db")[1:] == ("", "Error: no/d.db: there is no folder no\n")


def test_the_item_with_the_word_is_blamed_not_the_first_one(run):
    items = pd.read_csv("items.csv")
    items["f_1"] = [*items["f_1"][:5], "oops", *items["f_1"][6:]]
    items.to_csv("items.csv", index=False)
    assert "item 'item 5' has the value 'oops' in column 'f_1'" in run(*CREATE)[2]


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


# fit, rank and select on a campaign


def test_fit_rank_and_select_read_a_campaign(run, target):
    run("campaign", "create", target, *CREATE[3:], "--group-by", "prompt")
    assert "no answers yet" in run("fit", target, "-o", "m.json", "--ridge", "1")[2]
    assert "no answers yet" in run("rank", target)[2]
    store = Store(target)
    while (lease := store.next(store.local)) is not None:
        store.answer(store.local, lease.token, "left" if lease.left > lease.right else "right")
    exchange.export(store, "csv", Path("answers.csv"))
    store.close()
    assert run("fit", target, "-o", "m.json", "--ridge", "1")[0] == 0
    assert run("fit", "items.csv", "answers.csv", "--features", "f_*", "-o", "n.json", "--ridge", "1")[0] == 0
    assert json.loads(Path("m.json").read_text()) == json.loads(Path("n.json").read_text())
    assert run("rank", target, "m.json") == run("rank", "items.csv", "n.json")
    code, own, _ = run("rank", target)
    assert code == 0
    assert own.startswith("rank,id,score,error,low,high,above_next\n1,item ")
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


# Exchange


@pytest.fixture
def answered(target, run):
    run("campaign", "create", target, *CREATE[3:], "--show", "text:note", "--group-by", "prompt", "-k", "9")
    store = Store(target)
    anna, ben = (store.person(store.invite(name), "labeller") for name in ('anna é,"', "ben"))
    for turn, choice in enumerate(["left", "right", "tie", "left", "skip", "right", "left", "tie"]):
        person = (anna, ben)[turn % 2]
        store.answer(person, store.next(person).token, choice, 0.25 * turn if turn else None)
    last = store.next(anna)
    store.answer(anna, last.token, "left")
    store.undo(anna, last.token)
    yield store
    store.close()


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet", "label-studio", "choix", "dpo"])
def test_export_import_export_is_the_same_file(run, answered, kind):
    ending = exchange.ENDINGS[kind]
    code, out, err = run("campaign", "export", answered.target, "--format", kind, "-o", f"one{ending}")
    assert (code, err) == (0, "")
    back = f"one{ending}"
    if kind in ("choix", "dpo"):  # which say too little to be read back
        back = "all.csv"
        exchange.export(answered, "csv", Path(back))
        assert "2 ties left out" in out
    code, out, err = run("campaign", "import", answered.target, back)
    assert (code, err) == (0, "")
    assert "7 answers, 0 of them new" in out
    run("campaign", "create", "fresh.db", *CREATE[3:], "--show", "text:note", "--group-by", "prompt")
    assert "7 answers, 7 of them new" in run("campaign", "import", "fresh.db", back)[1]
    run("campaign", "export", "fresh.db", "--format", kind, "-o", f"two{ending}")
    assert Path(f"one{ending}").read_bytes() == Path(f"two{ending}").read_bytes()
    assert len(Path(f"one{ending}").read_bytes()) > 100


def test_formats_do_not_overwrite_each_other(run, answered):
    for kind in exchange.ENDINGS:
        assert run("campaign", "export", answered.target, "--format", kind)[0] == 0
    assert len(list(Path().glob("answers*"))) == len(exchange.ENDINGS)
    assert "first" in json.loads(Path("answers.jsonl").read_text().splitlines()[0])
    assert "chosen" in json.loads(Path("answers-dpo.jsonl").read_text().splitlines()[0])


def test_what_the_formats_say(run, answered):
    known = answered.known().answers
    names = answered.names
    for kind, ending in exchange.ENDINGS.items():
        exchange.export(answered, kind, Path(f"{kind}{ending}"))
    table = pd.read_csv("csv.csv")
    assert list(table.columns) == ["first", "second", "outcome", "left", "labeller", "seconds", "time"]
    assert list(table["outcome"]) == list(known["outcome"])
    wins = [
        (row.first, row.second) if row.outcome > 0 else (row.second, row.first)
        for row in known.itertuples()
        if row.outcome
    ]
    choix = json.loads(Path("choix.json").read_text())
    assert choix["n_items"] == 8
    assert [tuple(pair) for pair in choix["data"]] == wins
    lines = [json.loads(line) for line in Path("dpo.jsonl").read_text().splitlines()]
    assert lines == [
        {"prompt": "pq"[i % 2], "chosen": f"note <b>{i}</b>", "rejected": f"note <b>{j}</b>"} for i, j in wins
    ]
    tasks = json.loads(Path("label-studio.json").read_text())
    row = known.iloc[0]
    annotation = tasks[0]["annotations"][0]
    won = row["first"] if row["outcome"] > 0 else row["second"]
    selected = annotation["result"][0]["value"]["selected"]
    assert tasks[0]["data"][f"{selected}_id"] == names[won]
    assert tasks[0]["data"]["left_id"] == names[row["left"]]
    assert annotation["completed_by"] == {"email": 'anna é,"'}


def test_spaces_around_ids_do_not_count_in_any_import(run):
    items = pd.read_csv("items.csv")
    items["id"] = [" x", "y ", *items["id"][2:]]
    items.to_csv("items.csv", index=False)
    run(*CREATE)
    task = {"data": {"left_id": "x", "right_id": " y"}, "annotations": [{"result": [{"value": {"selected": "left"}}]}]}
    Path("tasks.json").write_text(json.dumps([task]))
    Path("a.csv").write_text("first,second,outcome,left\nx,y,1, y\n x, y ,1,y \n")
    Path("b.csv").write_text("winner,loser\nx,y\n")
    Path("c.csv").write_text("first,second,winner\nx , y,x\n")
    for name, count in (("tasks.json", 1), ("a.csv", 2), ("b.csv", 1), ("c.csv", 1)):
        code, out, err = run("campaign", "import", "c.db", name)
        assert (code, err) == (0, ""), err
        assert f"{count} answers" in out
    with Store("c.db") as store:
        answers = store.known().answers
        assert set(zip(answers["first"], answers["second"], answers["outcome"], strict=True)) == {(0, 1, 1)}
        assert set(answers["left"]) == {0, 1}
    run("campaign", "export", "c.db", "-o", "out.csv")
    assert set(pd.read_csv("out.csv")["first"]) == {" x"}


def test_answers_from_elsewhere(run, target):
    run("campaign", "create", target, *CREATE[3:])
    Path("a.csv").write_text("winner,loser\nitem 5,item 1\nitem 0,item 7\nitem 0,item 7\n")
    assert "3 answers, 3 of them new" in run("campaign", "import", target, "a.csv")[1]
    assert "3 answers, 0 of them new" in run("campaign", "import", target, "a.csv")[1]
    store = Store(target)
    frame = store.known().answers
    assert sorted(zip(frame["first"], frame["second"], frame["outcome"], strict=True)) == [
        (0, 7, 1),
        (0, 7, 1),
        (1, 5, -1),
    ]
    assert set(frame["labeller"]) == {"imported"}
    # What is answered is not asked again, and conditions the next round.
    assert (1, 5) in set(map(tuple, store.known().planned))
    store.close()
    for content, message in (
        ("winner,loser\nitem 5,item 99\n", "'item 99', which is not in"),
        ("first,second,outcome,time\nitem 1,item 2,1,yesterday\n", "row 1 has the time 'yesterday'"),
        ("first,second,outcome,left\nitem 1,item 2,1,item 3\n", "neither of the two"),
        ("first,second,outcome,count\nitem 1,item 2,1,1e12\n", "column 'count' adds up to 1e+12 answers"),
        ("first,second,outcome,count\nitem 1,item 2,1,inf\n", "column 'count' adds up to inf answers"),
        ("first,second,outcome,time\nitem 1,item 2,1,0001-01-01T00:00+23:00\n", "between 1970 and 2255"),
        ("first,second,outcome,time\nitem 1,item 2,1,9999-12-31T23:59-23:00\n", "between 1970 and 2255"),
    ):
        Path("bad.csv").write_text(content)
        code, _, err = run("campaign", "import", target, "bad.csv")
        assert code == 2
        assert message in err
        assert err.count("\n") == 1
    task = '[{"data": {"left_id": "item 1", "right_id": "item 2"}, "annotations": %s}]'
    answer = '[{"result": [{"value": {"selected": "left"}}], "created_at": []}]'
    for content, message in (
        ("{", "no JSON"),
        (100_000 * "[", "no JSON"),
        (task % 5, "task 1: annotations is no list"),
        (task % '[{"result": 5}]', "task 1: result is no list"),
        (task % answer, "task 1 has the time []"),
        (task.replace("item 2", "item 9") % "[]", "task 1 names the item 'item 9', which is not in"),
        ("{}", "list of Label Studio tasks"),
        ('[{"data": {}}]', "left_id"),
        ('[{"data": {"left_id": "item 1", "right_id": "item 1"}, "annotations": [{"result": [{"value": {"selected":'
         ' "left"}}]}]}]', "with itself"),
    ):  # fmt: skip
        Path("bad.json").write_text(content)
        code, _, err = run("campaign", "import", target, "bad.json")
        assert (code, err.count("\n")) == (2, 1)
        assert message in err
    Path("long.json").write_text(task % answer.replace('"created_at": []', '"lead_time": 1' + 400 * "0"))
    assert "1 answers, 1 of them new" in run("campaign", "import", target, "long.json")[1]
    assert "unknown" in run("campaign", "export", target, "--format", "xml")[2]


def test_items_of_an_answer_stay_apart_in_whichever_order_they_come(run, target):
    """Each file of one, two or three answers to the first items, its rows swapped or not."""
    run("campaign", "create", target, *CREATE[3:], "-k", "1")
    store = Store(target)
    expected = Counter()
    for number, turned in enumerate(turn for count in (1, 2, 3) for turn in product([False, True], repeat=count)):
        lines = ["first,second,outcome,left,labeller"]
        for row, swapped in enumerate(turned):
            pair = ["item 2", "item 1"] if swapped else ["item 1", "item 2"]
            outcome, left = (1, -1, 0)[row], pair[number % 2]
            lines.append(f"{','.join(pair)},{outcome},{left},p{number}")
            expected[1, 2, -outcome if swapped else outcome, int(left[-1]), f"p{number}"] += 1
        Path("a.csv").write_text("\n".join(lines))
        assert exchange.bring(store, Path("a.csv")) == (len(turned), len(turned))
    found = store.known().answers[["first", "second", "outcome", "left", "labeller"]]
    assert Counter(found.itertuples(index=False, name=None)) == expected
    store.close()


def test_a_campaign_that_an_old_import_broke_is_repaired_by_a_command(run, folder):
    version_1("old.db", [(0, 1, 1, 0), (1, 1, -1, 2), (2, 2, 1, 2)])
    for words in (["rank"], ["fit", "-o", "m.json"], ["select", "-k", "2"], ["campaign", "export"]):
        where = 2 if words[0] == "campaign" else 1
        code, out, err = run(*words[:where], "old.db", *words[where:])
        assert (code, out) == (2, "")
        assert err.startswith("Error: old.db holds 2 answers that compare an item with itself")
        assert err.endswith("mend them with: pairsmith campaign repair old.db\n")
    Path("a.csv").write_text("winner,loser\ny,z\n")
    assert "campaign repair" in run("campaign", "import", "old.db", "a.csv")[2]
    code, out, _ = run("campaign", "repair", "old.db")
    assert code == 0
    assert out.startswith("old.db: 1 answers restored, 1 set aside.\nOf those set aside")
    assert run("campaign", "repair", "old.db")[:2] == (0, "old.db: nothing to repair.\n")
    assert run("rank", "old.db")[0] == 0
    run("campaign", "export", "old.db", "-o", "out.csv")
    rows = pd.read_csv("out.csv")[["first", "second", "outcome", "left"]]
    assert rows.to_numpy().tolist() == [["x", "y", 1, "x"], ["y", "z", -1, "z"]]
    # The file that it came from is known again.
    Path("a.csv").write_text("first,second,outcome\nz,y,1\n")
    assert "1 answers, 0 of them new" in run("campaign", "import", "old.db", "a.csv")[1]


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
        theirs.answer(theirs.local, theirs.next(theirs.local).token, "left")
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


def test_what_is_exported_to_standard_output_is_the_answers_alone(folder, run, tmp_path):
    run(*CREATE)
    Path("a.csv").write_text("winner,loser\nitem 5,item 1\n")
    run("campaign", "import", "c.db", "a.csv")
    run("campaign", "export", "c.db", "-o", "out.csv")
    command = [sys.executable, "-m", "pairsmith.cli", "campaign", "export", "c.db", "-o", "/dev/stdout"]
    with open("log.csv", "w") as log:
        log.write("kept\n")
        log.flush()
        done = subprocess.run(command, stdout=log, stderr=subprocess.PIPE, text=True, check=True)
    assert Path("log.csv").read_text() == "kept\n" + Path("out.csv").read_text()
    assert done.stderr == "Wrote 1 answers to /dev/stdout\n"


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
        assert "1 answers, 1 of them new" in run("campaign", "import", "c.db", f"pipe-{name}")[1]
    for writer in writers:
        writer.join()
    os.symlink("/dev/zero", "zero.json")
    os.mkfifo("pipe.db")
    for words in (["campaign", "import", "c.db", "zero.json"], [*CREATE[:2], "d.db", *CREATE[3:], "--instructions",
                  "/dev/zero"], ["rank", "pipe.db"], ["label", "pipe.db"]):  # fmt: skip
        code, _, err = run(*words)
        assert (code, err.count("\n")) == (2, 1)
        assert "is a device" in err


def test_a_server_that_is_terminated_ends_as_by_hand(tmp_path, make, serve):
    make(str(tmp_path / "t.db")).close()
    _, process = serve(str(tmp_path / "t.db"))
    process.terminate()
    out, _ = process.communicate(timeout=30)
    assert out.endswith(f"Stopped. Every answer is in {tmp_path}/t.db.\n")
    assert process.returncode == 0


# Texts that are more than text

FORMULAS = ["=1+1", "'=1+1", "''=x", "+x", "-x", "@x", "\tx", "\rx", "'x", "'", "-1", "'-1", "-1.5", "-", "x=1", "NA"]
texts = st.text(st.sampled_from("'=+-@\t\r1.x\n\u00e9\",") | st.characters(exclude_categories=["Cs", "Cc"]), min_size=1)


@given(st.lists(texts | st.sampled_from(FORMULAS)))
def test_no_cell_of_a_csv_is_a_formula_and_reading_undoes_it(cells):
    frame = pd.DataFrame({"first": pd.Series(cells, dtype=object), "outcome": -1})
    written = tables.map_texts(frame, tables._safe)
    for before, after in zip(cells, written["first"], strict=True):
        assert after in (before, f"'{before}")
        assert after[0] not in "=+-@\t\r" or after.lstrip("+-").replace(".", "", 1).isdecimal()
    assert (written["outcome"] == -1).all()
    assert list(tables.as_written(written["first"], Path("x.csv.gz"))) == cells
    assert list(tables.as_written(frame["first"], Path("x.jsonl"))) == cells


@settings(max_examples=10)
@given(st.lists(texts.filter(lambda text: text.strip()), min_size=3, max_size=6, unique=True))
def test_formulas_survive_export_and_import(names):
    names = [*names, *(name for name in FORMULAS if name not in names)]
    features = items_of(len(names)).features.set_axis(names)
    shown = [[("text", "x")]] * len(names)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        stores = []
        for target in ("one.db", "two.db"):
            create(str(folder / target), Items(Path("i"), features), shown, question="?", k=20)
            stores.append(Store(str(folder / target)))
        one, two = stores
        first, second = np.arange(len(names) - 1), np.arange(1, len(names))
        given = pd.DataFrame({"first": first, "second": second, "outcome": -1, "left": second, "seconds": 1.0})
        given["labeller"] = [names[row] for row in first]
        one.take(given.assign(at=np.arange(len(given)) * 1e6))
        for kind, more in (("csv", ".gz"), ("csv", ""), ("jsonl", "")):
            path = folder / f"one.{kind}"
            exchange.export(one, kind, path)
            assert exchange.bring(two, path) == (len(given), len(given) if more else 0)
            exchange.export(two, kind, folder / f"two.{kind}")
            assert path.read_bytes() == (folder / f"two.{kind}").read_bytes()
        pd.testing.assert_frame_equal(two.known().answers, one.known().answers)
        for store in stores:
            store.close()


def test_exports_for_spreadsheets_and_raw(run, folder):
    names = ["=cmd", "'=cmd", "-1", "@x", *"abcd"]
    pd.read_csv("items.csv").assign(id=names).to_csv("items.csv", index=False)
    assert run(*CREATE, "--show", "text:note")[0] == 2  # '=cmd is how a CSV spells =cmd
    names[1] = "''=cmd"
    pd.read_csv("items.csv").assign(id=names).to_csv("items.csv", index=False)
    assert run(*CREATE, "--show", "text:note")[0] == 0
    Path("a.csv").write_text("winner,loser,labeller\n=cmd,''=cmd,=me\n-1,@x,me\n")
    assert "2 new" in run("campaign", "import", "c.db", "a.csv")[1].replace("of them ", "")
    run("campaign", "export", "c.db")
    rows = {tuple(row) for row in pd.read_csv("answers.csv", dtype=str)[["first", "second", "labeller"]].to_numpy()}
    assert rows == {("'=cmd", "''=cmd", "'=me"), ("-1", "'@x", "me")}
    refused = run("campaign", "export", "c.db", "--raw")
    assert refused[2] == "Error: answers.csv is there already; name it with -o to replace it, or another file\n"
    run("campaign", "export", "c.db", "--raw", "-o", "answers.csv")
    rows = {tuple(row) for row in pd.read_csv("answers.csv", dtype=str)[["first", "second", "labeller"]].to_numpy()}
    assert rows == {("=cmd", "'=cmd", "=me"), ("-1", "@x", "me")}
    # select and rank write in the same way, and read what they wrote.
    run("select", "items.csv", "--features", "f_*", "-k", "20", "-o", "pairs.csv")
    code, more, err = run("select", "items.csv", "--features", "f_*", "-k", "28", "--answers", "pairs.csv")
    assert code == 2
    code, more, err = run("select", "items.csv", "--features", "f_*", "-k", "8", "--answers", "pairs.csv")
    assert (code, err) == (0, "")
    both = Path("pairs.csv").read_text() + more
    for spelled in ("'=cmd", "''=cmd", "'@x", "-1"):
        assert f",{spelled}," in both
    for formula in (",=cmd,", ",@x,"):
        assert formula not in both


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
    with Store(f"{odd}.db") as store, store._writing() as connection:
        connection.execute(database.people.insert().values(name=odd, role="labeller", hash="x"))
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


# The process behind the pages


def wait_for(what, seconds=40):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if found := what():
            return found
        time.sleep(0.1)
    raise AssertionError(f"did not happen within {seconds} s")


def test_the_worker_plans_and_reports_and_is_started_again(target, make):
    store = make(target, n=12, k=8, clock=lambda: time.time() - 3600)  # nobody is fast now: a round has k pairs
    with Worker(target) as worker:
        wait_for(lambda: store.report("report"))
        first = worker.process
        os.kill(first.pid, signal.SIGKILL)
        for _ in range(7):
            store.answer(store.local, store.next(store.local).token, "left")
        wait_for(lambda: len(store.known().planned) == 16)
        wait_for(lambda: store.report("report")["answers"] == 7)
        assert worker.process.pid != first.pid
        assert psutil.Process(worker.process.pid).nice() == 19
        assert "postgresql" not in " ".join(psutil.Process(worker.process.pid).cmdline())
        last = worker.process
    assert last.poll() is not None


def test_what_the_worker_cannot_do_is_shown(tmp_path, make, monkeypatch):
    from pairsmith.campaign import rounds

    store = make(str(tmp_path / "t.db"), k=3)

    def fail(*_args, **_more):
        raise ValueError("no memory")

    def stop(_seconds):
        raise KeyboardInterrupt

    monkeypatch.setattr(rounds, "design", fail)
    monkeypatch.setattr(rounds.time, "sleep", stop)
    for _ in range(3):
        store.answer(store.local, store.next(store.local).token, "left")
    with pytest.raises(KeyboardInterrupt):
        rounds.watch(store)
    assert "no memory" in store.report("problem")
