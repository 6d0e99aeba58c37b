"""This user's key."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from pairsmith.campaign.people import seals
from support.campaigns import SVG


@pytest.mark.slow
def test_concurrent_processes_make_one_private_key(tmp_path):
    code = "from pairsmith.campaign.people import seals; print(seals.key().hex())"
    own = os.environ | {"PAIRSMITH_HOME": str(tmp_path / "new" / "home")}
    line = [sys.executable, "-c", code]
    started = [subprocess.Popen(line, env=own, stdout=subprocess.PIPE, text=True) for _ in range(6)]
    found = {process.communicate()[0].strip() for process in started}
    assert len(found) == 1
    assert len(bytes.fromhex(found.pop())) == seals.KEY_BYTES
    assert [path.name for path in (tmp_path / "new" / "home").iterdir()] == ["key"]
    assert stat.S_IMODE((tmp_path / "new" / "home" / "key").stat().st_mode) == 0o600


def test_a_key_is_made_on_a_file_system_without_hard_links(tmp_path, monkeypatch):
    def refused(*_args):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setenv("PAIRSMITH_HOME", str(tmp_path))
    monkeypatch.setattr(os, "link", refused)
    assert seals.key() == (tmp_path / "key").read_bytes()
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("platform", ["linux", "darwin", "win32"])
def test_where_the_key_is_kept(tmp_path, monkeypatch, platform):
    monkeypatch.delenv("PAIRSMITH_HOME")
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    for name in ("XDG_DATA_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    usual = {"linux": ".local/share", "darwin": "Library/Application Support", "win32": "AppData/Local"}[platform]
    assert seals.home() == tmp_path / usual / "pairsmith"
    monkeypatch.setenv("XDG_DATA_HOME", "relative")  # which is to be ignored
    assert seals.home() == tmp_path / usual / "pairsmith"
    for name in ("XDG_DATA_HOME", "LOCALAPPDATA"):
        monkeypatch.setenv(name, str(tmp_path / "own"))
    if platform != "darwin":
        assert seals.home() == tmp_path / "own" / "pairsmith"


@pytest.mark.slow
def test_without_a_place_for_a_key_only_requests_that_need_one_fail(tmp_path, monkeypatch, make, run, serve):
    (tmp_path / "file").write_text("no folder")
    (tmp_path / "x.svg").write_bytes(SVG)
    monkeypatch.setenv("PAIRSMITH_HOME", str(tmp_path / "file"))
    shown = {"text": None, "files": [[("image", "x.svg")]] * 12}
    for name, parts in shown.items():
        with pytest.warns(UserWarning, match="is made without a seal, to be confirmed later"):
            make(str(tmp_path / f"{name}.db"), parts=parts, media=tmp_path)
    serve(str(tmp_path / "text.db"), plans=False)
    for words in (["serve", str(tmp_path / "files.db")], ["campaign", "trust", str(tmp_path / "files.db")],
                  ["campaign", "invite", str(tmp_path / "text.db"), "anna"]):  # fmt: skip
        code, _, err = run(*words)
        assert code == 2
        assert err.startswith(f"Error: no key can be kept in {tmp_path / 'file'} (")
        assert "PAIRSMITH_HOME" in err
        assert err.count("\n") == 1
    monkeypatch.setenv("PAIRSMITH_HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "key").write_bytes(b"short")
    assert "is no key of pairsmith (5 bytes, not 32)" in run("serve", str(tmp_path / "files.db"))[2]
