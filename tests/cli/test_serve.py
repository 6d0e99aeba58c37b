"""The command that serves a campaign, or the campaigns of a folder."""

import re
import subprocess
import sys
import time

import httpx2 as httpx
import pytest

from pairsmith.campaign.store.snapshot import take_snapshot
from pairsmith.campaign.store.store import Store


@pytest.mark.slow
def test_a_server_that_is_terminated_ends_as_by_hand(tmp_path, make, serve):
    make(str(tmp_path / "t.db")).close()
    _, process = serve(str(tmp_path / "t.db"))
    process.terminate()
    out, _ = process.communicate(timeout=30)
    assert out.endswith(f"Stopped. Every answer is in {tmp_path}/t.db.\n")
    assert process.returncode == 0


@pytest.mark.slow
def test_a_taken_port_is_one_line(tmp_path, store, serve):
    url, _ = serve(store.target, plans=False)
    port = url.split(":")[-1]
    again = subprocess.run(
        [sys.executable, "-m", "pairsmith.cli", "serve", store.target, "--no-open", "--port", port],
        capture_output=True,
        text=True,
    )
    assert again.returncode == 2
    assert again.stderr.startswith(f"Error: cannot serve at 127.0.0.1, port {port}: ")
    assert again.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "options", [["--invited"], ["--insecure"], ["--host", "0.0.0.0"]], ids=["invited", "insecure", "elsewhere"]
)
def test_a_folder_is_for_this_machine_only(tmp_path, make, run, options):
    make(str(tmp_path / "t.db"))
    code, out, err = run("serve", str(tmp_path), "--no-open", *options)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "an invite is to one campaign; serve each with a pairsmith serve of its own" in err


def test_the_help_says_that_a_folder_works(run):
    code, out, _ = run("serve", "--help")
    assert code == 0
    assert "CAMPAIGN|FOLDER" in out
    assert "pairsmith serve campaigns/" in out


def test_an_empty_folder_says_what_to_do(tmp_path, run):
    code, out, err = run("serve", str(tmp_path), "--no-open")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "pairsmith campaign create" in err


@pytest.mark.slow
def test_every_campaign_is_served_at_a_port_of_its_own(tmp_path, make):
    for name in ("one", "two"):
        make(str(tmp_path / f"{name}.db"), question=f"{name}?").close()
    (tmp_path / "other.db").write_text("something else")
    (tmp_path / "link.db").symlink_to("one.db")
    process = subprocess.Popen(
        [sys.executable, "-m", "pairsmith.cli", "serve", str(tmp_path), "--no-open", "--port", "0"],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        url = process.stdout.readline().split()[-1]
        for _ in range(200):
            try:
                page = httpx.get(url).text
                break
            except httpx.TransportError:
                time.sleep(0.05)
        ports = dict(re.findall(r">(\w+)\?</td>.*?:(\d+)/\">Rate", page, re.DOTALL))
        assert ports.keys() == {"one", "two"}
        assert "other.db is no campaign of pairsmith" in page
        assert "one.db and link.db are the same file; remove the link link.db" in page
        for name, port in ports.items():
            base = f"http://127.0.0.1:{port}"
            pair = httpx.post(f"{base}/api/next", json={}).json()["pair"]
            assert pair["wording"]["question"] == f"{name}?"
            if name == "one":
                given = {"lease": pair["lease"], "choice": "left"}
                other = {"Origin": f"http://127.0.0.1:{ports['two']}"}  # the page of one cannot answer in the other
                assert httpx.post(f"{base}/api/answer", json=given, headers=other).status_code == 403
                assert httpx.post(f"{base}/api/answer", json=given).json()["counted"]
                beside = [sys.executable, "-m", "pairsmith.cli", "campaign", "export", f"{tmp_path}/one.db"]
                assert subprocess.run(beside, cwd=tmp_path, capture_output=True, check=True).stdout.startswith(b"Wrote")
                assert httpx.post(f"{base}/api/next", json={}).status_code == 200
        process.terminate()
        out, _ = process.communicate(timeout=30)
        assert out.endswith(f"Stopped. Every answer is in its campaign, 2 files of {tmp_path}.\n")
        assert process.returncode == 0
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
    for name, count in (("one", 1), ("two", 0)):
        with Store(str(tmp_path / f"{name}.db")) as store:
            assert len(take_snapshot(store).answers) == count
