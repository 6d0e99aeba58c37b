"""Campaigns are made from tables, whole or not at all."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pairsmith.campaign.answering import leases
from pairsmith.campaign.options import CampaignOptions
from pairsmith.campaign.people import invites as people
from pairsmith.campaign.planning import planner as planning
from pairsmith.campaign.reporting import dashboard
from pairsmith.campaign.reporting.report import make_report
from pairsmith.campaign.setup.create import create
from pairsmith.campaign.setup.demo import png
from pairsmith.campaign.store import database
from pairsmith.campaign.store.database import CampaignError
from pairsmith.campaign.store.snapshot import take_snapshot
from pairsmith.campaign.store.store import Store
from support.campaigns import CREATE, PNG, ask, client_of, items_of


@pytest.fixture
def run(folder, run):
    """The command line, in a folder with items."""
    return run


def test_creation_is_whole_or_not_at_all(target, make, tmp_path, monkeypatch):
    items = items_of()
    shown = [[("text", "x")]] * 12
    with pytest.raises(ValueError, match="question is empty"):
        create(target, items, shown, CampaignOptions([" "], k=3))
    monkeypatch.setattr("pairsmith.campaign.setup.create.new_pair_rows", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        create(target, items, shown, CampaignOptions(["?"], k=3))
    monkeypatch.undo()
    assert list(tmp_path.iterdir()) == []
    if "postgresql" not in target:  # and where somebody was faster, theirs stays
        made = database.create
        monkeypatch.setattr(database, "create", lambda *given: (made(*given), Path(target).write_text("theirs")))
        with pytest.raises(CampaignError, match="exists already"):
            create(target, items, shown, CampaignOptions(["?"], k=3))
        monkeypatch.undo()
        assert Path(target).read_text() == "theirs"
        Path(target).unlink()
        assert list(tmp_path.iterdir()) == []
    make(target)
    with pytest.raises(CampaignError, match="already"):
        create(target, items, shown, CampaignOptions(["?"], k=3))


ON_SMALL_DISKS = """
import json, os, resource, shutil, subprocess, sys
from pathlib import Path
from support.campaigns import items_of
from pairsmith.campaign.options import CampaignOptions
from pairsmith.campaign.setup.create import create
from pairsmith.campaign.store.snapshot import take_snapshot
from pairsmith.campaign.store.store import Store

folder, mounted = Path(sys.argv[1]), sys.argv[2] == "mount"
items = items_of(300, 40)
options = CampaignOptions(["?"], k=200)
create(str(folder / "whole.db"), items, [[("text", 500 * "x")]] * 300, options)
size = os.path.getsize(folder / "whole.db")
os.remove(folder / "whole.db")
for share in (0.05, 0.5, 0.9, 1.0, 1.1, 1.3, 1.6, 2.0, 3.0):
    if mounted:
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={int(share * size)}", "tmpfs", folder], check=True)
    else:
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(share * size), resource.RLIM_INFINITY))
    told = ""
    try:
        create(str(folder / "c.db"), items, [[("text", 500 * "x")]] * 300, options)
    except ValueError as error:
        told = str(error)
    left = sorted(os.listdir(folder))
    if not told:
        shutil.copy(folder / "c.db", folder.parent / "copy.db")  # to where there is room
        with Store(str(folder.parent / "copy.db")) as store:
            assert len(store.items.names) == 300 and len(take_snapshot(store).planned) == 200
    print(json.dumps([share, told, left]))
    if mounted:
        subprocess.run(["umount", folder], check=True)
    elif not told:
        os.remove(folder / "c.db")
"""


@pytest.mark.slow
def test_a_campaign_made_on_a_nearly_full_disk_is_whole_or_not_there(tmp_path):
    """On a small disk of its own where that can be mounted, else with a limit on the size of files."""
    folder = tmp_path / "disk"
    folder.mkdir()
    private = ["unshare", "--mount", *(["--map-root-user"] if os.geteuid() else [])]
    probe = [*private, "mount", "-t", "tmpfs", "tmpfs", folder]
    mounts = shutil.which("unshare") and subprocess.run(probe, capture_output=True).returncode == 0
    command = [
        *(private if mounts else []),
        sys.executable,
        "-c",
        ON_SMALL_DISKS,
        folder,
        "mount" if mounts else "limit",
    ]
    done = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    results = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(results) == 9
    for share, told, left in results:
        if told:
            assert re.search(
                r"/disk/c\.db (has no room to grow: the disk is full|could not be (read or )?written)", told
            )
            assert left == []
        else:
            assert left == ["c.db"]
        assert bool(told) == (share < 1.0) or 1.0 <= share <= 1.1


def test_create_from_a_table(run):
    code, out, err = run(*CREATE, "--show", "image:path", "--show", "text:note", "--answers-per-pair", "2", "--no-ties")
    assert (code, err) == (0, "")
    assert "8 items, 6 pairs planned" in out
    store = Store("c.db")
    assert store.settings.answers_per_pair == 2
    assert not store.settings.ties
    kinds, values = zip(*store.parts(3), strict=True)
    assert kinds == ("image", "text")
    assert store.settings.folder == os.path.realpath(".")
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


def test_files_outside_the_folder_are_refused(run, folder, tmp_path_factory):
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
            assert store.settings.folder == common
            with client_of(store) as api:
                assert api.get("/media/5/0").content == PNG
        Path("c.db").unlink()
    assert "--media nowhere does not exist" in run(*CREATE, "--media", "nowhere")[2]
    assert "which lies outside" in run(*CREATE, "--show", "image:path", "--media", str(outside))[2]


def test_a_file_of_another_type_than_its_ending_is_named(run, folder):
    (folder / "pictures" / "3.png").write_text("root:x:0:0")
    code, _, err = run(*CREATE, "--show", "image:path")
    assert (code, err.count("\n")) == (2, 1)
    assert "item 'item 3' shows the file" in err
    assert "does not begin as image/png does, which its ending claims" in err
    (folder / "pictures" / "3.png").unlink()
    assert "3.png', which is not there, or cannot be read" in run(*CREATE, "--show", "image:path")[2]


def test_web_addresses_are_refused(run, folder):
    items = pd.read_csv("items.csv")
    items.loc[2, "path"] = "https://example.org/a.png"
    items.to_csv("odd.csv", index=False)
    for features in (["--features", "f_*"], []):
        made = run(
            "campaign", "create", "c.db", "--items", "odd.csv", "--show", "image:path", "--question", "?", *features
        )
        told = "odd.csv: --show image:path has the address 'https://example.org/a.png' in row 3; download the files"
        assert (made[0], told in made[2], made[2].count("\n")) == (2, True, 1), made


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--show", "video:path"], "kinds are text, markdown, image, audio"),
        (["--show", "text:nothing"], "nothing"),
        (["--show", "image:note"], "use .png"),
        (["--answers-per-pair", "0"], "--answers-per-pair must be at least 1"),
        (["--answers-per-pair", "many"], "--answers-per-pair 'many' is neither a number, such as 3, nor auto"),
        (["--answers-per-pair", "auto", "--objective", "entropy"], "auto needs objective 'order', got 'entropy'"),
        (["--random-share", "1.1"], "--random-share must be between 0 and 1, such as 0.1 for one pair in ten, got 1.1"),
        (["--random-share", "nan"], "--random-share must be between 0 and 1"),
        (["--no-features"], "--no-features leaves nothing for --features"),
        (["--max-per-item", "0"], "--max-per-item must be at least 1"),
        (["--objective", "best"], "choose one of"),
        (["--lease", "0"], "--lease"),
        (["--viewing", "-1"], "--viewing must be between 0 and 60 seconds"),
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


WITHOUT = ["campaign", "create", "c.db", "--items", "items.csv", "--question", "Which?", "-k", "6", "--no-features"]


def test_a_campaign_without_features_from_its_first_pair_to_its_ranking(run, folder):
    code, out, err = run(*WITHOUT, "--show", "image:path", "--labels", "labels.csv")
    assert code == 2  # a file that is not there, before anything is made
    code, out, err = run(*WITHOUT, "--show", "image:path")
    assert (code, err) == (0, "")
    assert out.startswith("There are no features: only answers tell items apart.\nMade c.db: 8 items, 6 pairs planned.")
    with Store("c.db") as store:
        person = people.local_rater(store)
        for _ in range(3):
            while (lease := leases.next_pair(store, person)) is not None:
                leases.answer(store, person, lease.token, "left" if lease.left < lease.right else "right")
            planning.plan_round(store)
        snapshot = take_snapshot(store)
        assert snapshot.features.shape == (8, 0)
        assert len(snapshot.answers) == 18
        report = make_report(snapshot)
        assert report["ranking"][0][0] in (0, 1)  # rows
        assert report["learned"]["explained"] is None
        dashboard.save_report(store, report)
        with client_of(store) as api:
            assert api.get("/dashboard").status_code == 200
            assert api.get("/api/dashboard").status_code == 200
    assert run("fit c.db -o m.json")[0] == 0
    assert run("rank c.db")[0] == 0
    code, out, _ = run("select c.db -k 2 -o pairs.csv")
    assert (code, len(pd.read_csv("pairs.csv"))) == (0, 2)
    assert run("campaign export c.db -o answers.csv")[0] == 0
    assert run("campaign", "create", "d.db", *WITHOUT[3:])[0] == 0
    assert "18 answers, 18 of them new" in run("campaign import d.db answers.csv")[1]


def test_without_features_only_criteria_of_item_effects_design_rounds(run, folder):
    code, _, err = run(*WITHOUT, "--objective", "d-optimal")
    assert (code, err.count("\n")) == (2, 1)
    assert "--objective d-optimal designs by features, and there are none; leave it out" in err
    assert run(*WITHOUT, "--objective", "random")[0] == 0
    pd.DataFrame({"id": ["a", "b"], "sound": ["a.mp3", "b.mp3"]}).to_csv("sounds.csv", index=False)
    code, _, err = run("campaign create s.db --items sounds.csv --question Which? --show audio:sound")
    assert (code, err.count("\n")) == (2, 1)
    assert "use --no-features to do without" in err


def test_a_table_of_ids_is_enough(run, folder):
    pd.DataFrame({"id": ["a", "b", "c"]}).to_csv("ids.csv", index=False)
    code, out, err = run("campaign create ids.db --items ids.csv --question Which?")
    assert (code, err) == (0, "")
    assert out.startswith(
        "There are no features: only answers tell items apart.\nMade ids.db: 3 items, 3 pairs planned."
    )


def test_items_that_share_features_are_counted(run, folder):
    items = pd.read_csv("items.csv")
    items.loc[[1, 4], ["f_1", "f_2"]] = items.loc[0, ["f_1", "f_2"]].to_numpy(dtype=float)
    items.to_csv("items.csv", index=False)
    said = "3 of 8 items share their features with another; only answers can tell these apart."
    assert run(*CREATE)[1].splitlines()[0] == said
    items.assign(f_1=1.0, f_2=0.0).to_csv("items.csv", index=False)
    said = "All items share their features with another; only answers can tell these apart."
    assert run("campaign", "create", "d.db", *CREATE[3:])[1].splitlines()[0] == said


def test_shown_images_become_features_by_default(run, folder):
    rng = np.random.default_rng(0)
    for row in range(8):
        (folder / f"pictures/{row}.png").write_bytes(png(rng.random((8, 8)), 40))
    pd.read_csv("items.csv")[["id", "path"]].to_csv("photos.csv", index=False)
    code, out, err = run("campaign create p.db --items photos.csv --question Which? --show image:path -k 5")
    assert (code, err) == (0, "")
    assert out.startswith("No numbers are given: features are made from path: image, ")
    with Store("p.db") as store:
        assert store.items.features.shape[1] > 0


def test_labels_are_stored_as_plus_and_minus_one(run):
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
            assert take_snapshot(store).labels.tolist() == [1, -1][: 1 if name == "single" else 2]
    pd.DataFrame({"id": ["item 0", "item 3"], "label": ["high", "low"]}).to_csv("labels.csv", index=False)
    for more, told in (
        (
            ["--labels", "labels.csv"],
            "'high' and 'low' are words, and nothing says which is the better; name it, for example 'high'",
        ),
        (
            ["--labels", "labels.csv", "--better", "hi"],
            "--better='hi' is none of the labels, which are 'high' and 'low'",
        ),
        (["--better", "high"], "--better names one of the labels of --labels"),
    ):
        code, out, err = run(*CREATE, *more)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert told in err
    assert not Path("c.db").exists()


def test_impossible_places_are_refused(run, folder):
    (folder / "c.db").write_text("mine")
    assert "exists already" in run(*CREATE)[2]
    assert (folder / "c.db").read_text() == "mine"
    assert "there is no folder" in run("campaign", "create", "no/c.db", *CREATE[3:])[2]
    assert "something.db" in run("campaign", "create", "c.csv", *CREATE[3:])[2]
    assert "no such campaign" in run("serve", "nothing.db")[2]
    for words in (["fit", "-o", "m.json"], ["rank"], ["select", "-k", "3"]):
        assert "no such campaign" in run(words[0], "nothing.db", *words[1:])[2]
    for words in (["serve"], ["rank"], ["campaign", "people"]):
        _, out, err = run(*words, "mysql://anna:secret@host/x")
        assert (out, err.count("\n")) == ("", 1)
        assert err.startswith("Error: mysql:// is no place for a campaign")
    assert "mysql:// is no place" in run("campaign", "create", "mysql://anna:secret@host/x", *CREATE[3:])[2]
    assert run("demo-campaign", "no/d.db")[1:] == ("", "Error: no/d.db: there is no folder no\n")
    Path("mine.csv").write_text("id\na\n")
    refusal = "Error: mine.csv is there already and is no campaign; name another file\n"
    assert run("demo-campaign", "mine.csv", "--no-serve") == (2, "", refusal)
    assert Path("mine.csv").read_text() == "id\na\n"


def test_a_word_among_numbers_is_reported_with_its_item(run):
    items = pd.read_csv("items.csv")
    items["f_1"] = [*items["f_1"][:5], "oops", *items["f_1"][6:]]
    items.to_csv("items.csv", index=False)
    assert "item 'item 5' has the value 'oops' in column 'f_1'" in run(*CREATE)[2]
