"""pairsmith judge."""

import signal
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from pairsmith.campaign.reporting.dashboard import count
from pairsmith.campaign.reporting.report import make_report
from pairsmith.campaign.store.schema import CHANGED
from pairsmith.campaign.store.snapshot import take_snapshot
from pairsmith.campaign.store.store import Store
from support.campaigns import CREATE, answer_next, chat, is_running

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
        assert set(snapshot.answers["rater"]) == {"local", "judge.sh"}
        (row,) = make_report(snapshot)["judges"]
        assert (row["name"], row["pairs"]) == ("judge.sh", 6)
    assert '"question": "Which?"' in Path("last.json").read_text()


def test_ties_of_both_sides_are_told_from_those_of_the_judge(run, campaign):
    """The judge says tie to the first pair and then left: agreement is about the tie alone."""
    assert run("campaign", "create", "two.db", *CREATE[3:], "--show", "text:note", "--answers-per-pair", "2")[0] == 0
    with Store("two.db") as store:
        for _ in range(6):
            answer_next(store, "tie")
    script("#!/bin/sh\necho >> n\nif [ $(wc -l < n) -le 2 ]; then echo tie; else echo left; fi\n")
    code, out, _ = run("judge", "two.db", "--command", "./judge.sh", "--both-sides")
    assert (code, out.splitlines()) == (0, [
        "6 answers, 6 ties among them; 0 skipped.",
        "Asked on both sides: 6 pairs; the answer went with the side in 5.",
        "Agrees with people on 100% of 1 pair (90% interval 27% to 100%).",
        "Left out of that: 5 pairs answered differently from each side.",
    ])  # fmt: skip
    with Store("two.db") as store:
        (row,) = make_report(take_snapshot(store))["judges"]
        assert (row["pairs"], row["agrees"], row["changed"]) == (1, 1.0, 5)
    assert run("campaign", "comments", "two.db")[1] == "No comments yet.\n"
    run("campaign", "export", "two.db", "-o", "answers.csv")
    assert run("campaign", "create", "again.db", *CREATE[3:], "--show", "text:note")[0] == 0
    run("campaign", "import", "again.db", "answers.csv")
    with Store("again.db") as store:
        assert (take_snapshot(store).answers["comment"] == CHANGED).sum() == 5


def test_both_sides_a_budget_and_going_on(run, campaign):
    code, out, _ = run("judge", "c.db", "--command", "./judge.sh", "--both-sides", "--answers", "2", "--name", "bot")
    assert code == 0
    assert out == (
        "2 answers, 2 ties among them; 0 skipped.\nAsked on both sides: 2 pairs; the answer went with the side in 2.\n"
    )
    assert run("judge", "c.db", "--command", "./judge.sh", "--name", "bot")[1].startswith("4 answers, 0 ties")
    with Store("c.db") as store:
        assert set(take_snapshot(store).answers["rater"]) == {"bot"}


def test_malformed_replies_are_said(run, campaign):
    """Each third reply has a verdict, and each pair is asked twice at most."""
    script("#!/bin/sh\necho >> n\nif [ $(($(wc -l < n) % 3)) = 0 ]; then echo left; else echo perhaps; fi\n")
    code, out, _ = run("judge", "c.db", "--command", "./judge.sh", "--tries", "2")
    assert code == 0
    assert out.splitlines() == [
        "3 answers, 0 ties among them; 3 skipped.",
        "Malformed replies: 6. Requests without a reply: 0.",
        "It has skipped 3 pairs; to ask these again, add --ask-skipped-again.",
    ]


def test_a_judge_without_verdicts_is_given_up_and_goes_on_when_it_is_mended(run, campaign):
    script("#!/bin/sh\necho >> n\necho I prefer the left one.\n")
    code, out, err = run("judge", "c.db", "--command", "./judge.sh", "--answers", "3", "--name", "bot")
    assert (code, out) == (1, "")
    assert err == (
        "Error: no usable reply from the judge to 5 requests in a row: 'I prefer the left one.' has no verdict, which"
        " is one of left, right, tie, skip; fix the judge and run the same command again, which asks these pairs, or"
        " allow more such replies with --give-up-after\n"
    )
    assert Path("n").read_text() == "\n" * 5
    with Store("c.db") as store:
        assert (count(store)["skipped"], count(store)["rounds"]) == (0, 1)
    script(LEFT)
    code, out, _ = run("judge", "c.db", "--command", "./judge.sh", "--name", "bot")
    assert (code, out) == (0, "6 answers, 0 ties among them; 0 skipped.\n")


def test_all_jobs_together_give_a_judge_up(run, campaign, endpoint):
    url, seen = endpoint((200, {}, b"<!doctype html>Sign in"))
    code, _, err = run("judge", "c.db", "--http", url, "--model", "m", "--jobs", "3", "--give-up-after", "4")
    assert code == 1
    assert "to 4 requests in a row: '<!doctype html>Sign in' is no chat completion; fix the judge" in err
    assert 4 <= len(seen) <= 6
    with Store("c.db") as store:
        assert count(store)["skipped"] == 0


def test_skipped_pairs_are_asked_again_where_that_is_said(run, campaign):
    script("#!/bin/sh\necho skip\n")
    code, out, err = run("judge", "c.db", "--command", "./judge.sh")
    hint = "It has skipped 6 pairs; to ask these again, add --ask-skipped-again.\n"
    assert (code, out, err) == (1, "0 answers, 0 ties among them; 6 skipped.\n" + hint, "")
    script(LEFT)
    code, out, _ = run("judge", "c.db", "--command", "./judge.sh", "--name", "judge.sh")
    assert (code, out) == (1, "0 answers, 0 ties among them; 0 skipped.\n" + hint)
    code, out, _ = run("judge", "c.db", "--command", "./judge.sh", "--ask-skipped-again")
    assert (code, out) == (0, "6 answers, 0 ties among them; 0 skipped.\n")


def test_an_endpoint_judges(run, campaign, endpoint, monkeypatch):
    url, seen = endpoint(chat('{"choice": "right"}'))
    monkeypatch.setenv("MY_KEY", "secret")
    code, out, err = run("judge", "c.db", "--http", url, "--model", "some-model", "--key-from", "MY_KEY")
    assert (code, err) == (0, "")
    assert out.startswith("6 answers")
    assert seen[0][0]["Authorization"] == "Bearer secret"
    with Store("c.db") as store:
        assert set(take_snapshot(store).answers["rater"]) == {"some-model"}


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
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_neither_a_program_that_is_being_asked_nor_its_children_outlive_the_command(run, campaign, number):
    script("#!/bin/sh\nsleep 600 &\necho $$ $! >> begun\nwait\n")
    command = [sys.executable, "-m", "pairsmith.cli", "judge", "c.db", "--command", "./judge.sh", "--jobs", "2"]
    before = signal.signal(number, signal.SIG_DFL)  # nohup, if it runs the tests, would hand on that SIGHUP is ignored
    process = subprocess.Popen(command, stderr=subprocess.PIPE)
    signal.signal(number, before)
    while not Path("begun").exists() or len(Path("begun").read_text().split()) < 4:
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(number)
    process.communicate(timeout=30)
    assert not [pid for pid in Path("begun").read_text().split() if is_running(pid)]


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
        ("--command ./judge.sh --give-up-after 0", "--give-up-after"),
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
    from pairsmith.campaign.judging import asking

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
