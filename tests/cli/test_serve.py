"""The command that serves."""

import subprocess
import sys

import pytest


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
