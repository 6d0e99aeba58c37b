"""Questions and instructions edited while people answer."""

import pytest

from pairsmith.campaign.answering import leases
from pairsmith.campaign.exchange import files as exchange
from pairsmith.campaign.options import OptionError
from pairsmith.campaign.people import invites as people
from pairsmith.campaign.store import wordings
from pairsmith.campaign.store.changes import logged
from pairsmith.campaign.store.database import CampaignError
from pairsmith.campaign.store.snapshot import take_snapshot
from pairsmith.campaign.store.store import Store
from support.campaigns import answer_next, ask, client_of, invite_people


def test_every_version_is_kept_and_each_answer_has_the_one_its_rater_saw(target, make, tmp_path):
    store, elsewhere = make(target, question="Which?", instructions="Look."), Store(target)
    (anna,) = invite_people(store, 1)
    answer_next(store, person=anna)
    on_screen = leases.next_pair(store, anna)  # before the edit
    assert wordings.edit(elsewhere, question=" Which now? ") == (2, "Which now?", "Look.")
    assert wordings.edit(elsewhere, question="Which now?").number == 2  # nothing is new
    assert wordings.current(store) == (2, "Which now?", "Look.")
    following = leases.next_pair(store, anna, [on_screen.token])
    assert (on_screen.wording, following.wording) == (None, 1)
    for lease in (on_screen, following):
        leases.answer(store, anna, lease.token, "left")
    wordings.edit(store, instructions="", by=anna)
    answer_next(store, person=anna)
    assert take_snapshot(store).answers["wording"].tolist() == [1, 1, 2, 3]
    again = leases.undo(store, anna, leases.progress(store, anna)["undo"])
    assert store.wording(again.wording) == (3, "Which now?", "")
    with store.reading() as connection:
        assert [(row.what, row.person, row.content["wording"]) for row in logged(connection)] == [
            ("edited", "p0", 3), ("edited", None, 2),
        ]  # fmt: skip
    exchange.export_answers(store, "csv", tmp_path / "a.csv")
    lines = (tmp_path / "a.csv").read_text().splitlines()
    assert lines[0].endswith(",wording")
    assert [line[-1] for line in lines[1:]] == ["1", "1", "2"]
    elsewhere.close()


def test_a_pair_that_is_loaded_again_has_the_newest_wording(target, make):
    store = make(target)
    me = people.local_rater(store)
    first = leases.next_pair(store, me)
    wordings.edit(store, question="Which now?")
    again = leases.next_pair(store, me)  # the page was loaded again
    assert (again.token, again.wording) == (first.token, 1)


def test_raters_get_an_edit_with_their_next_pair(tmp_path, make):
    store = make(str(tmp_path / "t.db"), question="Which?")
    with client_of(store) as api:
        first = ask(api, "next")["pair"]
        assert first["wording"] == {"number": 1, "question": "Which?", "instructions": ""}
        wordings.edit(store, "Which now?", "**Look**")
        second = ask(api, "next", holding=[first["lease"]])["pair"]["wording"]
        assert second == {"number": 2, "question": "Which now?", "instructions": "<p><strong>Look</strong></p>\n"}
        assert "Which now?</h1>" in api.get("/").text
        assert "Which now?" in api.get("/dashboard").text


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("", "is empty"),
        ("  ", "is empty"),
        ("\u202e\u200b", "is empty"),
        ("Which\0?", r"holds '\\x00'"),
        ("Which\x1b[31m?", r"holds '\\x1b'"),
        ("Which\none?", r"holds '\\n'"),
        ("Which\u2028one?", r"holds '\\u2028'"),
        ("Which\udcff?", r"holds '\\udcff'"),  # as a byte that is no UTF-8 comes from a command line
        ("?" * 301, "has 301 characters, and at most 300"),
    ],
)
def test_creating_and_editing_refuse_the_same_questions(tmp_path, make, question, told):
    store = make(str(tmp_path / "t.db"))
    with pytest.raises(CampaignError, match=f"^question {told}") as edited:
        wordings.edit(store, question)
    with pytest.raises(OptionError) as made:
        make(str(tmp_path / "other.db"), question=question)
    assert str(made.value) == str(edited.value)
    assert wordings.current(store).number == 1


def test_questions_in_any_script_are_accepted(tmp_path, make):
    """Joiners hold letters together, in Persian and in emoji, and are no printable characters for Python."""
    asked = "کدام بهتر می\u200cنویسد؟ 👩\u200d💻"
    store = make(str(tmp_path / "t.db"), question=f" {asked}\n")
    assert wordings.current(store).question == asked
    assert wordings.edit(store, asked * 2).question == asked * 2


@pytest.mark.parametrize(("instructions", "told"), [("a\0", "NUL"), ("\ud800", "NUL"), ("a" * 50_001, "50,001 char")])
def test_creating_and_editing_refuse_the_same_instructions(tmp_path, make, instructions, told):
    store = make(str(tmp_path / "t.db"))
    with pytest.raises(CampaignError, match=f"^instructions .*{told}") as edited:
        wordings.edit(store, instructions=instructions)
    with pytest.raises(OptionError) as made:
        make(str(tmp_path / "other.db"), instructions=instructions)
    assert str(made.value) == str(edited.value)
