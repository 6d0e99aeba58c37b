"""Edited campaigns are used as before, or refused in one line."""

import json
import shutil
import sqlite3
from contextlib import closing

import pytest

from pairsmith.campaign.answering import goals, leases
from pairsmith.campaign.answering.goals import Goals, described
from pairsmith.campaign.people import invites as people
from pairsmith.campaign.reporting import dashboard
from pairsmith.campaign.store import schema, wordings
from pairsmith.campaign.store.database import CampaignError
from pairsmith.campaign.store.integrity import find_problem
from pairsmith.campaign.store.snapshot import take_snapshot
from pairsmith.campaign.store.store import Store
from support.campaigns import answer_next
from support.edits import edits, read_or_refused

VALUES = (None, 7, -1, 0.5, 1e300, "weird", "", "{}", "[]", "[1]", "null", '{"a": 1, "a": 2}', b"", b"\xff", 10**18)


@pytest.fixture
def whole(tmp_path, make):
    """A campaign with answers of every kind, closed."""
    store = make(str(tmp_path / "whole.db"), parts=[[("text", "a"), ("markdown", "b")]] * 12, goals=Goals(answers=9),
                 graded=True, comments=True)  # fmt: skip
    person = people.person_with_token(store, people.invite(store, "anna"), "rater")
    for _ in range(3):
        answer_next(store)
    answer_next(store, "skip", person)
    lease = leases.next_pair(store, person)
    assert leases.answer(store, person, lease.token, "left", 1.0, "much", "a comment")
    leases.undo(store, person, lease.token)
    wordings.edit(store, "Why?")
    goals.act(store, "pause")
    with store.reading() as connection:
        assert find_problem(connection) is None
    store.close()
    return tmp_path / "whole.db"


def use(path):
    """Look at a campaign as the commands and the pages do."""
    with Store(path) as store:
        snapshot = take_snapshot(store)
        described(store)
        dashboard.count(store)
        person = people.local_rater(store)
        lease = leases.next_pair(store, person)
        if lease is not None:
            store.parts(lease.left), store.prompt(lease.left), store.wording(lease.wording, lease.question)
        return snapshot


COLUMNS = [f"{table.name}.{column.name}" for table in schema.tables.sorted_tables for column in table.columns]


@pytest.mark.parametrize("column", COLUMNS)
def test_any_value_in_a_column_is_read_or_refused_in_one_line(whole, tmp_path, column):
    table, name = column.split(".")
    for value in VALUES:
        path = tmp_path / "edited.db"
        shutil.copy(whole, path)
        with closing(sqlite3.connect(path)) as edited, edited:
            try:
                edited.execute(
                    f'UPDATE {table} SET "{name}" = ? WHERE rowid = (SELECT max(rowid) FROM {table})', [value]
                )
            except sqlite3.IntegrityError:
                continue
        with read_or_refused(path):
            use(str(path))


@pytest.mark.parametrize("statement", [
    "DELETE FROM campaign", "DELETE FROM items", "DELETE FROM items WHERE row = 3", "DELETE FROM pairs",
    "INSERT INTO campaign (id, version, settings) SELECT 2, version, settings FROM campaign", "DROP TABLE campaign",
    "DROP TABLE leases", "ALTER TABLE items RENAME features TO numbers", "UPDATE campaign SET version = 2",
    "UPDATE campaign SET version = 0", "UPDATE campaign SET version = 3", "UPDATE items SET row = row + 50",
])  # fmt: skip
def test_missing_rows_and_tables_are_refused_in_one_line(whole, statement):
    with closing(sqlite3.connect(whole)) as edited, edited:
        edited.execute(statement)
    with pytest.raises(CampaignError) as caught:
        use(str(whole))
    assert str(caught.value).startswith(str(whole))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("column", ["settings", "goals"])
def test_edited_json_is_read_or_refused_in_one_line(whole, column):
    with closing(sqlite3.connect(whole)) as found:
        content = json.loads(found.execute(f"SELECT {column} FROM campaign").fetchone()[0])
    for _, edited in edits(content):
        with closing(sqlite3.connect(whole)) as target, target:
            target.execute(f"UPDATE campaign SET {column} = ?", [json.dumps(edited)])
        with read_or_refused(whole):
            use(str(whole))


@pytest.mark.parametrize("command", ["campaign exclude c.db anna", "campaign goals c.db", "campaign export c.db",
                                     "rank c.db", "serve c.db --no-open",
                                     "campaign backup c.db --output copy.db"])  # fmt: skip
@pytest.mark.parametrize("change", ["settings = '{}'", "state = 'weird'", "goals = 'x'", "settings = 7"])
def test_commands_refuse_an_edited_campaign_in_one_line(whole, run, monkeypatch, command, change):
    monkeypatch.chdir(whole.parent)
    whole.rename("c.db")
    with closing(sqlite3.connect("c.db")) as edited, edited:
        edited.execute(f"UPDATE campaign SET {change}")
    code, out, err = run(command)
    if command.startswith("campaign backup"):  # whatever it holds
        assert code == 0
    else:
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert "c.db was damaged or edited: " in err
        assert err.endswith("; restore it from a backup\n")


@pytest.mark.parametrize("edited", ["x", 3, ["answers"], {"answers": "500"}, {"quota": None}, {"until": True}])
def test_goals_of_another_type_do_not_vanish(whole, edited):
    with closing(sqlite3.connect(whole)) as target, target:
        target.execute("UPDATE campaign SET goals = ?", [json.dumps(edited)])
    with pytest.raises(CampaignError, match="its goals are not numbers"):
        use(str(whole))


@pytest.mark.parametrize("column", ["settings", "goals"])
def test_a_repeated_key_is_refused(whole, column):
    with closing(sqlite3.connect(whole)) as edited, edited:
        edited.execute(f"""UPDATE campaign SET {column} = replace({column}, '{{', '{{"k": 2, "k": 3, ')""")
    with pytest.raises(CampaignError, match="was damaged or edited: the key 'k' is there twice; keep one"):
        use(str(whole))


def test_labels_that_are_words_are_refused(whole):
    with closing(sqlite3.connect(whole)) as edited, edited:
        edited.execute("""UPDATE items SET label = '"good"' WHERE row = 3""")
    with pytest.raises(CampaignError, match="row 3 of the table items has no valid label"):
        use(str(whole))
