"""The commands on campaigns."""

import os
import threading
from pathlib import Path

import pandas as pd
import pytest

from pairsmith.campaign.store import schema
from pairsmith.campaign.store.store import Store
from support.campaigns import CREATE


@pytest.fixture
def run(folder, run):
    """The command line, in a folder with items."""
    return run


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
    Path("a.csv").write_text("winner,loser,rater\nitem 5,item 1,anna\n")
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
                  "/dev/zero"], ["rank", "pipe.db"], ["serve", "pipe.db"]):  # fmt: skip
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
        connection.execute(schema.people.insert().values(name=odd, role="rater", hash="x"))
    told.append(run("campaign", "people", f"{odd}.db"))
    told.append(run("serve", f"{odd}.db", "--no-open", "--trust", "--host", "nowhere.invalid"))
    for _, out, err in told:
        assert not {"\x1b", "\u202e"} & set(out + err)
    assert sum("\\x1b[31mred" in out + err for _, out, err in told) >= 8
    assert odd in list(pd.read_csv("pairs.csv")[["first", "second"]].to_numpy().ravel())  # files keep the original
