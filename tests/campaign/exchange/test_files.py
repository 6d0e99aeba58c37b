"""Export and import answers."""

import json
import subprocess
import sys
import tempfile
from collections import Counter
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pairsmith.campaign.answering import leases
from pairsmith.campaign.exchange import files as exchange
from pairsmith.campaign.people import invites as people
from pairsmith.campaign.store.answers import add_answers
from pairsmith.campaign.store.snapshot import take_snapshot
from pairsmith.campaign.store.store import Store
from pairsmith.files.items import Items
from support.campaigns import CREATE, create_campaign, items_of


@pytest.fixture
def run(folder, run):
    """The command line, in a folder with items."""
    return run


@pytest.fixture
def answered(target, run):
    run("campaign", "create", target, *CREATE[3:], "--show", "text:note", "--group-by", "prompt", "-k", "9")
    store = Store(target)
    anna, ben = (people.person_with_token(store, people.invite(store, name), "rater") for name in ('anna é,"', "ben"))
    for turn, choice in enumerate(["left", "right", "tie", "left", "skip", "right", "left", "tie"]):
        person = (anna, ben)[turn % 2]
        leases.answer(store, person, leases.next_pair(store, person).token, choice, 0.25 * turn if turn else None)
    last = leases.next_pair(store, anna)
    leases.answer(store, anna, last.token, "left")
    leases.undo(store, anna, last.token)
    yield store
    store.close()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet", "label-studio", "choix", "dpo", "argilla"])
def test_export_import_export_is_the_same_file(run, answered, kind):
    ending = exchange.ENDINGS[kind]
    code, out, err = run("campaign", "export", answered.target, "--format", kind, "-o", f"one{ending}")
    assert (code, err) == (0, "")
    back = f"one{ending}"
    if kind in ("choix", "dpo", "argilla"):  # which say too little to be read back
        back = "all.csv"
        exchange.export_answers(answered, "csv", Path(back))
        assert kind == "argilla" or ("left out: 2 ties" if kind == "dpo" else "2 ties left out") in out
    code, out, err = run("campaign", "import", answered.target, back)
    assert (code, err) == (0, "")
    assert "7 answers, 0 of them new" in out
    run("campaign", "create", "fresh.db", *CREATE[3:], "--show", "text:note", "--group-by", "prompt", "-k", "9")
    assert "7 answers, 7 of them new" in run("campaign", "import", "fresh.db", back)[1]
    run("campaign", "export", "fresh.db", "--format", kind, "-o", f"two{ending}")
    assert Path(f"one{ending}").read_bytes() == Path(f"two{ending}").read_bytes()
    assert len(Path(f"one{ending}").read_bytes()) > 100


@pytest.mark.parametrize("kind", exchange.TABLES)
def test_strength_and_comment_are_written_and_read_back(run, kind):
    run(*CREATE, "--graded", "--comments")
    said = [("much", "=1+1"), ("slightly", ""), (None, "two\nlines, é")]
    with Store("c.db") as store:
        person = people.local_rater(store)
        for strength, comment in said:
            token = leases.next_pair(store, person).token
            leases.answer(store, person, token, "left", strength=strength, comment=comment)
    file = f"one.{kind}"
    assert run("campaign", "export", "c.db", "--format", kind, "-o", file)[0] == 0
    run("campaign", "create", "fresh.db", *CREATE[3:])
    assert "3 answers, 3 of them new" in run("campaign", "import", "fresh.db", file)[1]
    with Store("fresh.db") as store:
        given = take_snapshot(store).answers
        assert given[["strength", "comment"]].to_numpy().tolist() == [[strength or "", said] for strength, said in said]
    run("campaign", "export", "fresh.db", "--format", kind, "-o", f"two.{kind}")
    assert Path(file).read_bytes() == Path(f"two.{kind}").read_bytes()


def test_an_unknown_strength_is_refused(run):
    run(*CREATE)
    Path("a.csv").write_text("winner,loser,strength\nitem 1,item 2,much\nitem 2,item 3,very\n")
    code, _, err = run("campaign", "import", "c.db", "a.csv")
    assert (code, err.count("\n")) == (2, 1)
    assert "row 2 has the strength 'very'; write slightly or much" in err


def test_an_unknown_reason_is_refused_and_a_known_one_is_kept(run):
    run(*CREATE)
    Path("a.csv").write_text("winner,loser,why\nitem 1,item 2,random\nitem 2,item 3,because\n")
    code, _, err = run("campaign", "import", "c.db", "a.csv")
    assert (code, err.count("\n")) == (2, 1)
    assert "row 2 has the why 'because'; write designed, random, repeated, gold or imported" in err
    Path("a.csv").write_text("winner,loser,why\nitem 1,item 2,random\nitem 2,item 3,\n")
    assert run("campaign", "import", "c.db", "a.csv")[0] == 0
    with Store("c.db") as store:
        assert take_snapshot(store).answers["why"].tolist() == ["random", "imported"]


@pytest.mark.parametrize(
    ("column", "value", "told"),
    [
        ("seconds", '"2,5"', "row 3 has the seconds '2,5'; write a number such as 2.5, or nothing"),
        ("seconds", "fast", "row 3 has the seconds 'fast'; write a number"),
        ("seconds", "-1", "row 3 has the seconds '-1"),
        ("seconds", "inf", "row 3 has the seconds 'inf'"),
        ("strength", "very", "row 3 has the strength 'very'"),
        ("time", "yesterday", "row 3 has the time 'yesterday'"),
    ],
)
def test_unreadable_values_are_refused_with_their_row(run, column, value, told):
    run(*CREATE)
    Path("a.csv").write_text(f"first,second,outcome,{column}\nitem 0,item 1,1,\nitem 0,item 2,,\n"
                             f"item 1,item 2,1,{value}\n")  # fmt: skip
    code, _, err = run("campaign", "import", "c.db", "a.csv")
    assert (code, err.count("\n")) == (2, 1)
    assert told in err


def test_an_item_may_be_called_like_a_missing_value(run):
    """Where the winner is named, and where numbers name items and people and some rows say less than others."""
    names = ["NA", "null", "None", "nan", *"1234"]
    pd.read_csv("items.csv").assign(id=names).to_csv("items.csv", index=False)
    run(*CREATE)
    Path("a.csv").write_text("first,second,winner,rater\nNA,null,NA,anna\nNone,nan,nan,ben\nNA,nan,,ben\n")
    code, out, err = run("campaign", "import", "c.db", "a.csv")
    assert (code, err, "2 answers, 2 of them new" in out) == (0, "", True)
    records = [
        {"first": 1, "second": 2, "winner": 2, "rater": 7, "left": 1},
        {"first": 3, "second": 4},
        {"first": 3, "second": 4, "winner": 3},
    ]
    Path("b.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    code, out, err = run("campaign", "import", "c.db", "b.jsonl")
    assert (code, err, "2 answers, 2 of them new" in out) == (0, "", True)
    with Store("c.db") as store:
        given = take_snapshot(store).answers
    found = given[["first", "second", "outcome", "rater"]].itertuples(index=False, name=None)
    assert set(found) == {(0, 1, 1, "anna"), (2, 3, -1, "ben"), (4, 5, -1, "7"), (6, 7, 1, "imported")}


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("csv", "answers.jsonl"),
        ("csv", "answers.parquet"),
        ("csv", "answers.tsv"),
        ("jsonl", "answers.csv"),
        ("jsonl", "answers.jsonl.gz"),
        ("dpo", "answers.csv"),
        ("label-studio", "answers.jsonl"),
    ],
)
def test_a_file_name_with_the_ending_of_another_format_is_refused(run, kind, name):
    run(*CREATE)
    code, _, err = run("campaign", "export", "c.db", "--format", kind, "-o", name)
    ending = exchange.ENDINGS[kind]
    assert (code, err) == (2, f"Error: --output {name}: --format {kind} writes {ending}; change one of the two\n")
    assert not Path(name).exists()
    assert run("campaign", "export", "c.db", "--format", kind, "-o", "whatever.txt")[0] == 0


def test_formats_do_not_overwrite_each_other(run, answered):
    for kind in exchange.ENDINGS:
        assert run("campaign", "export", answered.target, "--format", kind)[0] == 0
    assert len(list(Path().glob("answers*"))) == len(exchange.ENDINGS) + 1  # the config of Label Studio
    assert "first" in json.loads(Path("answers.jsonl").read_text().splitlines()[0])
    assert "chosen" in json.loads(Path("answers-dpo.jsonl").read_text().splitlines()[0])


def test_the_content_of_each_format(run, answered):
    known = take_snapshot(answered).answers
    names = answered.items.names
    for kind, ending in exchange.ENDINGS.items():
        exchange.export_answers(answered, kind, Path(f"{kind}{ending}"))
    table = pd.read_csv("csv.csv")
    assert list(table.columns) == ["first", "second", "outcome", "left", "rater", "seconds", "time", "why"]
    assert list(table["outcome"]) == list(known["outcome"])
    assert list(table["why"]) == list(known["why"])
    assert set(table["why"]) <= {"designed", "random"}
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
    assert annotation["rater"] == 'anna é,"'


def test_spaces_around_ids_are_ignored_in_every_import(run):
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
        assert f"{count} answer{'s' * (count > 1)}, " in out
    with Store("c.db") as store:
        answers = take_snapshot(store).answers
        assert set(zip(answers["first"], answers["second"], answers["outcome"], strict=True)) == {(0, 1, 1)}
        assert set(answers["left"]) == {0, 1}
    run("campaign", "export", "c.db", "-o", "out.csv")
    assert set(pd.read_csv("out.csv")["first"]) == {" x"}


@pytest.mark.slow
def test_imported_answers_are_added_once(run, target):
    run("campaign", "create", target, *CREATE[3:])
    Path("a.csv").write_text("winner,loser\nitem 5,item 1\nitem 0,item 7\nitem 0,item 7\n")
    assert "3 answers, 3 of them new" in run("campaign", "import", target, "a.csv")[1]
    assert "3 answers, 0 of them new" in run("campaign", "import", target, "a.csv")[1]
    store = Store(target)
    frame = take_snapshot(store).answers
    assert sorted(zip(frame["first"], frame["second"], frame["outcome"], strict=True)) == [
        (0, 7, 1),
        (0, 7, 1),
        (1, 5, -1),
    ]
    assert set(frame["rater"]) == {"imported"}
    # What is answered is not asked again, and conditions the next round.
    assert (1, 5) in set(map(tuple, take_snapshot(store).planned))
    store.close()
    for content, message in (
        ("winner,loser\nitem 5,item 99\n", "'item 99', which is not in"),
        ("first,second,outcome,time\nitem 1,item 2,1,yesterday\n", "row 1 has the time 'yesterday'"),
        ("first,second,outcome,left\nitem 1,item 2,1,item 3\n", "neither of the two"),
        ("first,second,outcome,count\n" + 11 * "item 1,item 2,1,1e6\n", "column 'count' adds up to 1.1e+07 answers"),
        ("first,second,outcome,count\nitem 1,item 2,1,1e12\n", "row 1 has no proper count"),
        ("first,second,outcome,count\nitem 1,item 2,1,inf\n", "row 1 has no proper count"),
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
    assert "1 answer, 1 of them new" in run("campaign", "import", target, "long.json")[1]
    assert "unknown" in run("campaign", "export", target, "--format", "xml")[2]


def test_imported_pairs_may_have_either_order(run, target):
    """Each file of one, two or three answers to the first items, its rows swapped or not."""
    run("campaign", "create", target, *CREATE[3:], "-k", "1")
    store = Store(target)
    expected = Counter()
    for number, turned in enumerate(turn for count in (1, 2, 3) for turn in product([False, True], repeat=count)):
        lines = ["first,second,outcome,left,rater"]
        for row, swapped in enumerate(turned):
            pair = ["item 2", "item 1"] if swapped else ["item 1", "item 2"]
            outcome, left = (1, -1, 0)[row], pair[number % 2]
            lines.append(f"{','.join(pair)},{outcome},{left},p{number}")
            expected[1, 2, -outcome if swapped else outcome, int(left[-1]), f"p{number}"] += 1
        Path("a.csv").write_text("\n".join(lines))
        assert exchange.import_answers(store, Path("a.csv")) == (len(turned), len(turned))
    found = take_snapshot(store).answers[["first", "second", "outcome", "left", "rater"]]
    assert Counter(found.itertuples(index=False, name=None)) == expected
    store.close()


@pytest.mark.slow
def test_standard_output_gets_only_the_answers(folder, run, tmp_path):
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
    assert done.stderr == "Wrote 1 answer to /dev/stdout\n"


FORMULAS = ["=1+1", "'=1+1", "''=x", "+x", "-x", "@x", "\tx", "\rx", "'x", "'", "-1", "'-1", "-1.5", "-", "x=1", "NA"]


texts = st.text(st.sampled_from("'=+-@\t\r1.x\n\u00e9\",") | st.characters(exclude_categories=["Cs", "Cc"]), min_size=1)


@pytest.mark.slow
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
            create_campaign(str(folder / target), Items(Path("i"), features), shown, question="?", k=20)
            stores.append(Store(str(folder / target)))
        one, two = stores
        first, second = np.arange(len(names) - 1), np.arange(1, len(names))
        given = pd.DataFrame({"first": first, "second": second, "outcome": -1, "left": second, "seconds": 1.0})
        given["rater"] = [names[row] for row in first]
        add_answers(one, given.assign(at=np.arange(len(given)) * 1e6))
        for kind, more in (("csv", ".gz"), ("csv", ""), ("jsonl", "")):
            path = folder / f"one.{kind}"
            exchange.export_answers(one, kind, path)
            assert exchange.import_answers(two, path) == (len(given), len(given) if more else 0)
            exchange.export_answers(two, kind, folder / f"two.{kind}")
            assert path.read_bytes() == (folder / f"two.{kind}").read_bytes()
        pd.testing.assert_frame_equal(take_snapshot(two).answers, take_snapshot(one).answers)
        for store in stores:
            store.close()


def test_exports_escape_formulas_unless_raw(run, folder):
    names = ["=cmd", "'=cmd", "-1", "@x", *"abcd"]
    pd.read_csv("items.csv").assign(id=names).to_csv("items.csv", index=False)
    assert run(*CREATE, "--show", "text:note")[0] == 2  # '=cmd is how a CSV spells =cmd
    names[1] = "''=cmd"
    pd.read_csv("items.csv").assign(id=names).to_csv("items.csv", index=False)
    assert run(*CREATE, "--show", "text:note")[0] == 0
    Path("a.csv").write_text("winner,loser,rater\n=cmd,''=cmd,=me\n-1,@x,me\n")
    assert "2 new" in run("campaign", "import", "c.db", "a.csv")[1].replace("of them ", "")
    run("campaign", "export", "c.db")
    rows = {tuple(row) for row in pd.read_csv("answers.csv", dtype=str)[["first", "second", "rater"]].to_numpy()}
    assert rows == {("'=cmd", "''=cmd", "'=me"), ("-1", "'@x", "me")}
    refused = run("campaign", "export", "c.db", "--raw")
    assert refused[2] == "Error: answers.csv is there already; name it with -o to replace it, or another file\n"
    run("campaign", "export", "c.db", "--raw", "-o", "answers.csv")
    rows = {tuple(row) for row in pd.read_csv("answers.csv", dtype=str)[["first", "second", "rater"]].to_numpy()}
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


def test_pairs_of_different_groups_are_not_imported(folder, run):
    run(*CREATE, "--group-by", "prompt")
    Path("a.csv").write_text("winner,loser\nitem 0,item 2\nitem 3,item 0\n")
    Path("t.json").write_text('[{"data": {"left_id": "item 3", "right_id": "item 0"}, "annotations": [{"result":'
                              ' [{"value": {"selected": "left"}}]}]}]')  # fmt: skip
    for name in ("a.csv", "t.json"):
        code, out, err = run("campaign", "import", "c.db", name)
        assert (code, out) == (2, "")
        assert (
            err
            == f"Error: {name}: 'item 0' and 'item 3' are of different groups, which this campaign does not compare\n"
        )
    with Store("c.db") as store:
        assert len(take_snapshot(store).answers) == 0
