"""pairsmith judge."""

import signal
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from campaigns import CREATE, answer_next, chat
from pairsmith.campaign.report import make_report
from pairsmith.campaign.snapshot import take_snapshot
from pairsmith.campaign.store import Store

LEFT = "#!/bin/sh\ncat > last.json\necho left\n"


@pytest.fixture
def campaign(folder, run):
    """A campaign of six pairs, c.db, and a judge who always says left."""
    assert run(*CREATE, "--show", "text:note")[0] == 0
    script(LEFT)
    return folder


def script(text):
    path = Path("judge.sh")
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def test_a_shell_script_judges_beside_people(run, campaign):
    assert run("campaign", "create", "two.db", *CREATE[3:], "--show", "text:note", "--answers-per-pair", "2")[0] == 0
    with Store("two.db") as store:
        for _ in range(6):
            answer_next(store, "left")
    code, out, err = run("judge", "two.db", "--command", "./judge.sh")
    assert (code, err) == (0, "")
    assert out.startswith("6 answers, 0 ties among them; 0 skipped.\nAgrees with people on ")
    assert "of 6 pairs (90% interval" in out
    with Store("two.db") as store:
        snapshot = take_snapshot(store)
        assert set(snapshot.answers["labeller"]) == {"local", "judge.sh"}
        (row,) = make_report(snapshot)["judges"]
        assert (row["name"], row["pairs"]) == ("judge.sh", 6)
    assert '"question": "Which?"' in Path("last.json").read_text()


def test_both_sides_a_budget_and_going_on(run, campaign):
    code, out, _ = run("judge", "c.db", "--command", "./judge.sh", "--both-sides", "--answers", "2", "--name", "bot")
    assert code == 0
    assert out == (
        "2 answers, 2 ties among them; 0 skipped.\nAsked on both sides: 2 pairs; the answer went with the side in 2.\n"
    )
    assert run("judge", "c.db", "--command", "./judge.sh", "--name", "bot")[1].startswith("4 answers, 0 ties")
    with Store("c.db") as store:
        assert set(take_snapshot(store).answers["labeller"]) == {"bot"}


def test_malformed_replies_are_said(run, campaign):
    script("#!/bin/sh\ncat > /dev/null\necho perhaps\n")
    code, out, _ = run("judge", "c.db", "--command", "./judge.sh", "--tries", "2")
    assert code == 0
    assert out == ("0 answers, 0 ties among them; 6 skipped.\nMalformed replies: 12. Requests without a reply: 0.\n")


def test_an_endpoint_judges(run, campaign, endpoint, monkeypatch):
    url, seen = endpoint(chat('{"choice": "right"}'))
    monkeypatch.setenv("MY_KEY", "secret")
    code, out, err = run("judge", "c.db", "--http", url, "--model", "some-model", "--key-from", "MY_KEY")
    assert (code, err) == (0, "")
    assert out.startswith("6 answers")
    assert seen[0][0]["Authorization"] == "Bearer secret"
    with Store("c.db") as store:
        assert set(take_snapshot(store).answers["labeller"]) == {"some-model"}


def test_an_endpoint_gets_as_many_requests_at_a_time_as_there_are_jobs(run, campaign, endpoint):
    lock, together = threading.Lock(), threading.Barrier(3)
    inside = [0]

    def reply(_):
        with lock:
            inside[0] += 1
            assert inside[0] <= 3
        together.wait(30)  # six pairs: three, and then three more
        with lock:
            inside[0] -= 1
        return chat("left")

    url, seen = endpoint(reply)
    code, out, err = run("judge", "c.db", "--http", url, "--model", "m", "--jobs", "3")
    assert (code, err) == (0, "")
    assert out.startswith("6 answers")
    assert len({request["messages"][1]["content"] for _, request in seen}) == len(seen) == 6


@pytest.mark.slow  # starts Python
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_stopped_with_requests_under_way_it_ends_at_once_and_goes_on(run, campaign, endpoint, number, code):
    let_go, waiting = threading.Event(), threading.Semaphore(0)

    def reply(_):
        if len(seen) > 2:
            waiting.release()
            let_go.wait(60)
        return chat("left")

    url, seen = endpoint(reply)
    command = ["judge", "c.db", "--http", url, "--model", "m", "--jobs", "2"]
    process = subprocess.Popen([sys.executable, "-m", "pairsmith.cli", *command], stderr=subprocess.PIPE, text=True)
    for _ in range(2):
        assert waiting.acquire(timeout=60)
    process.send_signal(number)
    _, err = process.communicate(timeout=30)
    assert process.returncode == code
    assert "Every answer so far is in c.db; the same command goes on from there." in err
    let_go.set()
    with Store("c.db") as store:
        before = len(take_snapshot(store).answers)
        assert before == 2
    assert run(*command)[1].startswith("4 answers")


@pytest.mark.slow  # starts Python
def test_a_program_that_is_being_asked_does_not_outlive_the_command(run, campaign):
    script("#!/bin/sh\necho $$ >> begun\nexec sleep 600\n")
    command = [sys.executable, "-m", "pairsmith.cli", "judge", "c.db", "--command", "./judge.sh", "--jobs", "2"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE)
    while not Path("begun").exists() or len(Path("begun").read_text().split()) < 2:
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=30)
    for number in Path("begun").read_text().split():
        status = Path(f"/proc/{number}/stat")
        assert not status.exists() or status.read_text().split()[2] == "Z"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("", "name the judge by either --command or --http"),
        ("--command ./judge.sh --http http://x", "name the judge by either"),
        ("--command ./none.sh", "--command: there is no program './none.sh'"),
        ("--command ./judge.sh --model m", "--model and --temperature are for --http"),
        ("--http http://127.0.0.1:1", "--model is missing"),
        ("--http ftp://x --model m", "is no URL of a chat endpoint"),
        ("--http http://127.0.0.1:1 --model m --key-from NO_SUCH", "--key-from NO_SUCH: there is no such environment"),
        ("--command ./judge.sh --per-minute 0", "--per-minute must be between 0.0167 and 86,400, got 0"),
        ("--command ./judge.sh --per-minute 1e-300", "--per-minute must be between"),
        ("--command ./judge.sh --timeout inf", "--timeout must be between 0.001 and 86,400, got inf"),
        ("--command ./judge.sh --timeout nan", "--timeout must be between"),
        ("--command ./judge.sh --name a\x1b[31m", "is no name; use 1 to 200 characters"),
        ("--command ./judge.sh --tries 0", "--tries"),
        ("--command ./judge.sh --jobs 0", "--jobs"),
    ],
)
def test_what_cannot_be_is_one_line(run, campaign, options, said):
    code, _, err = run("judge", "c.db", *options.split())
    assert (code, err.count("\n")) == (2, 1)
    assert said in err


def test_a_judge_that_is_not_there_is_one_line_and_nothing_is_kept(run, campaign):
    script("#!/bin/sh\necho no money >&2\nexit 1\n")
    code, _, err = run("judge", "c.db", "--command", "./judge.sh", "--tries", "1")
    assert (code, err) == (
        2,
        "Error: no reply from the judge after 1 request: ./judge.sh ended with code 1: no money\n",
    )


def test_interrupted_it_says_what_is_kept(run, campaign, monkeypatch):
    from pairsmith.campaign import asking

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(asking, "by_command", lambda *_: interrupted)
    code, _, err = run("judge", "c.db", "--command", "./judge.sh")
    assert (code, err) == (130, "Interrupted. Every answer so far is in c.db; the same command goes on from there.\n")


def test_files_of_a_foreign_campaign_are_handed_to_nobody(run, folder, elsewhere):
    run(*CREATE, "--show", "image:path")
    script(LEFT)
    elsewhere()
    code, _, err = run("judge", "c.db", "--command", "./judge.sh")
    assert code == 2
    assert "pairsmith campaign trust c.db" in err
    assert not Path("last.json").exists()


def test_why_there_are_no_more_pairs_is_said(run, campaign):
    script(LEFT)
    run("campaign", "goals", "c.db", "--quota", "2")
    out = run("judge", "c.db", "--command", "./judge.sh", "--answers", "5")[1].splitlines()
    assert out == ["2 answers, 0 ties among them; 0 skipped.", "It is over for this one: the quota is reached."]
    run("campaign", "goals", "c.db", "--quota", "none")
    run("campaign", "pause", "c.db")
    out = run("judge", "c.db", "--command", "./judge.sh")[1].splitlines()
    assert out == ["0 answers, 0 ties among them; 0 skipped.", "It is paused."]
    run("campaign", "resume", "c.db")
    out = run("judge", "c.db", "--command", "./judge.sh", "--answers", "100")[1].splitlines()
    assert out == ["26 answers, 0 ties among them; 0 skipped.", "It is over: every pair is answered."]
