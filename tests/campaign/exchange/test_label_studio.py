"""Tasks of Label Studio with their labelling config."""

import json
import re
from pathlib import Path
from xml.etree import ElementTree as xml

import numpy as np
import pytest

from pairsmith.campaign.exchange import files as exchange
from pairsmith.campaign.exchange import label_studio
from pairsmith.campaign.setup.table import Prompts
from pairsmith.campaign.store.answers import add_answers
from pairsmith.campaign.store.snapshot import take_snapshot
from pairsmith.campaign.store.store import Store
from pairsmith.files.items import Items
from support.campaigns import PNG, answers_of, create_campaign, items_of


@pytest.fixture
def make_campaign(tmp_path, monkeypatch):
    """make_campaign("c.db") -> a campaign of six items with a picture, a text and, some of them, a second text."""
    monkeypatch.chdir(tmp_path)
    Path("a b.png").write_bytes(PNG)
    groups = np.array(["x"] * 6, dtype=object)
    items = Items(tmp_path / "items.csv", items_of(6).features, groups)
    shown = [
        [("image", "a b.png"), ("markdown", f"*text* {row}"), *([("markdown", "more")] if row > 3 else [])]
        for row in range(6)
    ]
    texts = np.array(['Is "this" <good> & right?'] * 6, dtype=object)

    def build(target):
        prompts = Prompts("prompt", "text", texts)
        create_campaign(target, items, shown, question="Which & why?", k=8, media=tmp_path, prompts=prompts)
        return Store(target)

    return build


def test_the_config_shows_all_that_tasks_hold(make_campaign):
    with make_campaign("c.db") as store:
        exchange.export_answers(store, "label-studio", Path("out.json"))
        planned = len(take_snapshot(store).planned)
    tasks = json.loads(Path("out.json").read_text())
    top = xml.parse("out.xml").getroot()
    assert (top.tag, top.find("Header").get("value")) == ("View", "Which & why?")
    wanted = set(re.findall(r'value="\$(\w+)"', Path("out.xml").read_text()))
    sides = {f"{side}_{name}" for side in ("left", "right") for name in ("image", "markdown", "markdown_2")}
    assert wanted == {"prompt", *sides}
    names = {tag.get("name"): tag.tag for tag in top.iter() if tag.get("name")}
    assert names["left"] == names["right"] == "Image"
    for control in ("Pairwise", "Choices"):
        assert set(top.find(control).get("toName").split(",")) <= set(names)
    assert len(tasks) == planned == 8  # to be answered there
    for task in tasks:
        data = task["data"]
        assert wanted <= data.keys()
        assert data["left_image"] == "/data/local-files/?d=a%20b.png"
        assert data["left_markdown"] == f"<p><em>text</em> {int(data['left_id'])}</p>\n"
        assert (data["left_markdown_2"] == "") == (int(data["left_id"]) <= 3)
        assert data["prompt"] == 'Is "this" <good> & right?'
        assert task["annotations"] == []


def test_each_pair_is_one_task_and_is_read_back(make_campaign):
    outcomes, lefts = [1, -1, 0, 1], [0, 1, 0, 1]
    with make_campaign("c.db") as store, make_campaign("d.db") as other:
        given = answers_of([(0, 1)] * 4, outcome=outcomes, left=lefts, rater=list("abcd"), at=np.arange(4) * 1e6)
        add_answers(store, given)
        told = exchange.export_answers(store, "label-studio", Path("out.json"))
        tasks = json.loads(Path("out.json").read_text())
        assert told == f"4 answers to out.json ({len(tasks)} tasks), the labelling config to out.xml"
        (task,) = [task for task in tasks if task["annotations"]]
        results = [annotation["result"][0] for annotation in task["annotations"]]
        assert [result["value"] for result in results] == [
            {"selected": "left"}, {"selected": "right"}, {"choices": ["tie"]}, {"selected": "left"}]  # fmt: skip
        config = {tag.get("name"): tag for tag in xml.parse("out.xml").getroot().iter() if tag.get("name")}
        for result in results:
            assert result["to_name"] in config  # one tag: Label Studio drops what names another, or two
            assert config[result["from_name"]].tag.lower() == result["type"]
        assert exchange.import_answers(other, Path("out.json")) == (4, 4)
        assert exchange.import_answers(other, Path("out.json")) == (4, 0)
        both = [take_snapshot(one).answers[["first", "second", "outcome", "rater", "at"]] for one in (store, other)]
        assert both[0].equals(both[1])


def test_without_ties_the_config_has_no_tie(tmp_path, make):
    store = make(str(tmp_path / "t.db"), ties=False)
    exchange.export_answers(store, "label-studio", tmp_path / "out.json")
    assert "tie" not in (tmp_path / "out.xml").read_text()
    assert "prompt" not in (tmp_path / "out.xml").read_text()


def test_only_an_email_address_is_completed_by(make_campaign):
    """Label Studio refuses a whole file for one e-mail of nobody it knows; names come back all the same."""
    with make_campaign("c.db") as store, make_campaign("d.db") as other:
        people = ["anna", "ben@example.org", "@carla"]
        add_answers(store, answers_of([(0, 1)] * 3, rater=people, at=np.arange(3) * 1e6))
        exchange.export_answers(store, "label-studio", Path("out.json"))
        (task,) = [task for task in json.loads(Path("out.json").read_text()) if task["annotations"]]
        said = [{name: given.get(name) for name in ("rater", "completed_by")} for given in task["annotations"]]
        assert said == [
            {"rater": "anna", "completed_by": None},
            {"rater": None, "completed_by": {"email": "ben@example.org"}},
            {"rater": "@carla", "completed_by": None},
        ]
        exchange.import_answers(other, Path("out.json"))
        assert set(take_snapshot(other).answers["rater"]) == set(people)


@pytest.mark.parametrize(
    "tasks",
    [
        [],
        [{"data": {"left_id": "000", "right_id": "001"}}],
        [{"data": {"left_id": "000", "right_id": "001"}, "annotations": [{"was_cancelled": True, "result": []}]}],
    ],
)
def test_a_file_without_annotations_is_refused(make_campaign, tasks):
    Path("in.json").write_text(json.dumps(tasks))
    with (
        make_campaign("c.db") as store,
        pytest.raises(ValueError, match=r"^in\.json has no annotations that choose left"),
    ):
        exchange.import_answers(store, Path("in.json"))


def test_a_repeated_key_is_refused(tmp_path):
    (tmp_path / "tasks.json").write_text('[{"data": {"left_id": "a", "left_id": "b"}}]')
    with pytest.raises(ValueError, match=r"tasks\.json: the key 'left_id' is there twice"):
        label_studio.read_tasks(tmp_path / "tasks.json", items_of())
