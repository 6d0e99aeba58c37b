"""Campaigns from elsewhere."""

import os
import subprocess
import sys

import httpx2 as httpx
import pytest

from pairsmith.campaign.people import invites as people
from pairsmith.campaign.people import trust
from pairsmith.campaign.store import database
from pairsmith.campaign.store.store import Store
from support.campaigns import SVG
from support.server_fixtures import WITHOUT_PLANS


@pytest.mark.slow
def test_a_campaign_from_elsewhere_serves_nothing_before_it_is_confirmed(target, make, tmp_path, run, elsewhere, serve):
    (tmp_path / "x.svg").write_bytes(SVG)
    store = make(target, parts=[[("image", "x.svg")]] * 12, media=tmp_path)
    token, organiser = people.invite(store, "anna"), people.invite(store, "ole", "organiser")
    assert trust.is_confirmed(store)
    assert people.person_with_token(store, token, "rater") is not None
    elsewhere()
    assert not trust.is_confirmed(store)
    assert people.person_with_token(store, token, "rater") is None
    assert people.person_with_token(store, organiser, "organiser") is None
    assert people.invited(store) == []
    code, out, err = run("serve", target, "--no-open", "--port", "0")
    assert (code, out) == (2, "")
    assert "was made by another user or machine" in err
    assert f"shows 1 file of {os.path.realpath(tmp_path)}" in err
    assert "anna (rater), ole (organiser)" in err
    assert f"pairsmith campaign trust {database.without_passwords(target)}" in err.splitlines()[-1]
    assert run("campaign", "people", target)[1].count("void") == 2

    code, out, err = run("campaign", "trust", target)
    assert (code, err) == (0, "")
    assert "1 file of" in out
    assert "anna (rater), ole (organiser)" in out
    with Store(target) as again:
        assert trust.is_confirmed(again)
        assert people.person_with_token(again, token, "rater") is not None
        assert people.invited(again) == [("anna", "rater"), ("ole", "organiser")]
    url, _ = serve(target, plans=False)
    assert httpx.get(f"{url}/media/0/0").status_code == 200


@pytest.mark.slow
def test_trusting_can_leave_out_invites_and_name_another_folder(tmp_path, make, run, elsewhere, serve):
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "x.svg").write_bytes(SVG)
    store = make(str(tmp_path / "t.db"), parts=[[("image", "x.svg")]] * 12, media=tmp_path / "here")
    token = people.invite(store, "anna")
    elsewhere()
    (tmp_path / "here").rename(tmp_path / "there")
    code, _, err = run("campaign", "trust", store.target)
    assert code == 2
    assert "which is not there; say where it is with --media" in err
    code, out, _ = run("campaign", "trust", store.target, "--media", str(tmp_path / "there"), "--no-invites")
    assert code == 0
    assert "revoked: anna (rater)" in out
    with Store(store.target) as again:
        assert again.settings.folder == os.path.realpath(tmp_path / "there")
        assert trust.is_confirmed(again)
        assert people.person_with_token(again, token, "rater") is None
    url, _ = serve(store.target, plans=False)
    assert httpx.get(f"{url}/media/0/0").status_code == 200


@pytest.mark.slow
def test_serve_can_confirm_a_campaign_and_skips_it_if_nothing_needs_confirming(tmp_path, make, elsewhere):
    (tmp_path / "x.svg").write_bytes(SVG)
    parts = {"files": [[("image", "x.svg")]] * 12, "text": None}
    targets = {name: make(str(tmp_path / f"{name}.db"), parts=shown, media=tmp_path).target
               for name, shown in parts.items()}  # fmt: skip
    elsewhere()
    for name, options in (("text", []), ("files", ["--trust"]), ("files", [])):
        line = [sys.executable, "-c", WITHOUT_PLANS, "serve", targets[name], "--no-open", "--port", "0", *options]
        with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            lines = []
            while not (lines and lines[-1].startswith("Stop with")):
                lines.append(process.stdout.readline())
                assert lines[-1], process.stderr.read()
            process.terminate()
            told = process.stderr.read()
        assert ("made by another user" in told) == (name == "text")
        assert any(line.startswith("Confirmed") for line in lines) == bool(options)
