"""What earlier versions stored, mended."""

import sqlite3
from pathlib import Path

import pandas as pd
import pytest
import sqlalchemy as sa

from pairsmith.campaign.answering import leases
from pairsmith.campaign.people import invites as people
from pairsmith.campaign.planning import planner as planning
from pairsmith.campaign.reporting import dashboard
from pairsmith.campaign.reporting.report import make_report
from pairsmith.campaign.store import schema
from pairsmith.campaign.store.database import CampaignError, Refused
from pairsmith.campaign.store.repair import repair_answers
from pairsmith.campaign.store.snapshot import take_snapshot
from pairsmith.campaign.store.store import Store
from support.campaigns import CREATE, version_1


@pytest.fixture
def run(folder, run):
    """The command line, in a folder with items."""
    return run


def given_to(store):
    found = take_snapshot(store).answers
    return sorted(zip(found["first"], found["second"], found["outcome"], found["left"], strict=True))


def test_answers_that_an_old_import_mangled_are_restored_or_set_aside(target):
    """Version 1 stored z, y as y, y, with the outcome seen from y; what was shown left may tell the rest."""
    sound = [(0, 1, 1, 1), (0, 2, -1, 0)]
    restorable = [(1, 1, -1, 2), (1, 1, 1, 3), (1, 1, 1, 3), (0, 0, 0, 1)]
    lost = [(1, 1, -1, 1), (2, 2, 1, 2)]
    version_1(target, [*sound, *restorable, *lost], wanted=9)
    store = Store(target)  # the migration does not mind
    for refused in (lambda: take_snapshot(store), lambda: planning.plan_round(store)):
        with pytest.raises(CampaignError, match=r"holds 6 answers .* pairsmith campaign repair"):
            refused()
    mangled = [(lease.left, lease.right) for lease in (leases.next_pair(store, people.local_person(store)),) if lease]
    assert mangled in ([(0, 1)], [(1, 0)])  # what is mangled is not asked
    assert repair_answers(store) == (4, 2)
    expected = sorted([*sound, (1, 2, -1, 2), (1, 3, 1, 3), (1, 3, 1, 3), (0, 1, 0, 1)])
    assert given_to(store) == expected
    assert repair_answers(store) == (0, 0)
    assert dashboard.count(store)["undone"] == 2
    with store.reading() as connection:
        assert connection.execute(sa.select(sa.func.count()).select_from(schema.answers)).scalar_one() == 8
        found = connection.execute(sa.select(schema.pairs)).all()
    wanted = {(row.first, row.second): row.wanted for row in found if row.wanted}
    assert wanted == {(0, 1): 7, (0, 2): 8, (1, 2): 8, (1, 3): 7}
    for token in ("t7", "t8"):
        with pytest.raises(Refused, match="only the last answer"):
            leases.undo(store, 1, token)
    assert planning.plan_round(store)
    store.close()
    with Store(target) as again:
        assert given_to(again) == expected
        assert {tuple(pair) for pair in take_snapshot(again).planned} >= {(0, 1), (0, 2), (1, 2), (1, 3)}
        assert all(first < second for first, second in take_snapshot(again).planned)


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
        make_report(take_snapshot(store))
    assert "'low ' is none of the labels" in run("campaign", "repair", "c.db", "--better", "low ")[2]
    assert "2 labels are numbers now" in run("campaign", "repair", "c.db", "--better", "low")[1]
    ranking = run("rank", "c.db")[1]
    assert ranking.index("item 3") < ranking.index("item 0")
    assert "its labels are no words" in run("campaign", "repair", "c.db", "--better", "low")[2]


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
    assert out.startswith("old.db: 1 answer restored, 1 set aside.\nOf those set aside")
    assert run("campaign", "repair", "old.db")[:2] == (0, "old.db: nothing to repair.\n")
    assert run("rank", "old.db")[0] == 0
    run("campaign", "export", "old.db", "-o", "out.csv")
    rows = pd.read_csv("out.csv")[["first", "second", "outcome", "left"]]
    assert rows.to_numpy().tolist() == [["x", "y", 1, "x"], ["y", "z", -1, "z"]]
    # The file that it came from is known again.
    Path("a.csv").write_text("first,second,outcome\nz,y,1\n")
    assert "1 answer, 0 of them new" in run("campaign", "import", "old.db", "a.csv")[1]
