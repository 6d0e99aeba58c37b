"""Tests of asking judges by command and over HTTP."""

import base64
import gzip
import socketserver
import sys
import threading
import time
import tracemalloc
from pathlib import Path

import pytest

from pairsmith.campaign.judging.asking import MAX_REPLY_BYTES, by_command, by_http, messages
from pairsmith.campaign.judging.judge import Malformed, Unavailable
from pairsmith.campaign.store.database import CampaignError
from support.campaigns import PNG, chat, is_running

PAIR = {
    "question": "Which is better?",
    "instructions": "Facts first.",
    "choices": ["left", "right", "skip"],
    "prompt": {"kind": "text", "text": "Why?"},
    "left": {"id": "a", "parts": [{"kind": "text", "text": "Because é."}]},
    "right": {"id": "b", "parts": [{"kind": "markdown", "text": "*So*"}]},
}


def test_command_gets_the_pair_and_prints_the_reply(tmp_path):
    script = tmp_path / "judge.py"
    script.write_text("import json, sys\npair = json.load(sys.stdin)\nprint(pair['left']['parts'][0]['text'], 'left')")
    assert by_command(f"{sys.executable} {script}")(PAIR) == "Because é. left\n"


def test_command_that_fails_or_takes_too_long_is_unavailable():
    with pytest.raises(Unavailable, match=r"sh ended with code 3: out of money"):
        by_command("sh -c 'echo one >&2; echo out of money >&2; exit 3'")(PAIR)
    with pytest.raises(Unavailable, match=r"sleep took more than 0\.05 seconds"):
        by_command("sleep 60", timeout=0.05)(PAIR)


def test_program_need_not_read_a_long_pair():
    long = {"id": "a", "parts": [{"kind": "text", "text": "x" * (1 << 20)}]}
    assert by_command("echo left")(PAIR | {"left": long}) == "left\n"


def test_children_are_killed_with_a_program_that_takes_too_long(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(Unavailable, match=r"sh took more than 0\.5 seconds"):
        by_command("sh -c 'sleep 60 & echo $! > child; wait'", timeout=0.5)(PAIR)
    assert not is_running(Path("child").read_text())


@pytest.mark.parametrize(("begin", "ends"), [("", True), ("setsid ", False)])
def test_reply_is_complete_when_the_program_exits_even_if_a_child_keeps_its_output_open(
    tmp_path, monkeypatch, begin, ends
):
    monkeypatch.chdir(tmp_path)
    began = time.monotonic()
    said = by_command(f"sh -c '{begin}sleep 20 & echo $! > child; echo left'", timeout=10)(PAIR)
    assert said == "left\n"
    assert time.monotonic() - began < 8
    if ends:
        assert not is_running(Path("child").read_text())


def test_output_is_read_only_up_to_the_limit():
    ask = by_command("sh -c 'head -c 50000000 /dev/zero; echo left'")
    tracemalloc.start()
    try:
        with pytest.raises(Malformed, match="sh printed more than 1,048,576 bytes"):
            ask(PAIR)
        assert tracemalloc.get_traced_memory()[1] < 8 * MAX_REPLY_BYTES
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("size", [500_000, 5_000_000])
def test_long_line_of_standard_error_is_cut(size):
    with pytest.raises(Unavailable, match=r"sh .*: xxx") as error:
        by_command(f"sh -c 'head -c {size} /dev/zero | tr \"\\0\" x >&2; exit 1'")(PAIR)
    assert len(str(error.value)) < 500


@pytest.mark.parametrize("command", ["./no-such-judge.sh", "", "'"])
def test_impossible_command_is_refused_at_once(command):
    with pytest.raises(ValueError, match="--command"):
        by_command(command)


def test_endpoint_gets_a_conversation_and_the_key(endpoint):
    url, seen = endpoint(chat('{"choice": "left"}'))
    assert by_http(url, "some-model", "secret", temperature=0.0)(PAIR) == '{"choice": "left"}'
    headers, body = seen[0]
    assert headers["Authorization"] == "Bearer secret"
    assert (body["model"], body["temperature"]) == ("some-model", 0.0)
    system, user = body["messages"]
    assert (system["role"], user["role"]) == ("system", "user")
    assert '"left", "right", "skip".' in system["content"]
    assert "Facts first." in system["content"]
    for said in ("Which is better?", "<prompt>\nWhy?\n</prompt>", "<left>\nBecause é.\n</left>", "<right>\n*So*\n"):
        assert said in user["content"]
    by_http(url, "m")(PAIR)
    assert "Authorization" not in seen[1][0]
    assert "temperature" not in seen[1][1]


def test_temporary_errors_are_unavailable_and_others_fail(endpoint):
    url, _ = endpoint((429, {"Retry-After": "7"}, b""), (503, {}, b"over\nloaded"), (401, {}, b"bad key"))
    ask = by_http(url, "m")
    with pytest.raises(Unavailable, match="429") as error:
        ask(PAIR)
    assert error.value.after == 7.0
    with pytest.raises(Unavailable, match="503 Service Unavailable: over loaded"):
        ask(PAIR)
    with pytest.raises(CampaignError, match="replied 401 Unauthorized: bad key"):
        ask(PAIR)


def test_key_does_not_follow_a_redirect(endpoint):
    other, seen = endpoint(chat("left"))
    url, _ = endpoint((307, {"Location": other}, b""))
    with pytest.raises(CampaignError, match="307"):
        by_http(url, "m", "secret")(PAIR)
    assert seen == []


@pytest.mark.parametrize(
    "reply", [b"", b"{", b"[]", b'{"choices": []}', b'{"choices": [{"message": {}}]}', chat(None)[2]]
)
def test_reply_without_content_is_malformed(endpoint, reply):
    url, _ = endpoint((200, {}, reply))
    with pytest.raises(Malformed):
        by_http(url, "m")(PAIR)


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (b"<!doctype html>\n<title>Sign in</title>", "'<!doctype html> <title>Sign in</title>' is no chat completion"),
        (chat(None)[2], "the content of the chat completion is null"),
        (b"x" * (MAX_REPLY_BYTES + 1), "replied more than 1,048,576 bytes"),
    ],
)
def test_error_says_why_a_reply_is_malformed(endpoint, reply, why):
    url, _ = endpoint((200, {}, reply))
    with pytest.raises(Malformed, match=why):
        by_http(url, "m")(PAIR)


def test_compressed_reply_is_read_or_refused(endpoint):
    body = gzip.compress(chat("left")[2])
    kinds = [({"Content-Encoding": name}, body) for name in ("gzip", "br")]
    url, _ = endpoint(*((200, headers, body) for headers, body in kinds), (200, {"Content-Encoding": "gzip"}, b"no"))
    ask = by_http(url, "m")
    assert ask(PAIR) == "left"
    with pytest.raises(Malformed, match=r"compressed \(br\) and cannot be read"):
        ask(PAIR)
    with pytest.raises(Malformed, match=r"compressed \(gzip\) and cannot be read"):
        ask(PAIR)


@pytest.fixture
def raw_endpoint():
    """Return a function that starts a server: raw_endpoint(sent, dripped=b"") -> URL, event.

    The server sends `sent` at once and `dripped` at ten bytes per second, and then hangs up. The event says that the
    client has hung up.
    """
    servers = []

    def start(sent, dripped=b""):
        gone = threading.Event()

        class Handler(socketserver.BaseRequestHandler):
            def handle(self):
                received = self.request.recv(1 << 16)
                while not received.endswith(b"}"):
                    received += self.request.recv(1 << 16)
                self.request.sendall(sent)
                try:
                    for at in range(len(dripped)):
                        time.sleep(0.1)
                        self.request.sendall(dripped[at : at + 1])
                except OSError:
                    gone.set()

        server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, args=[0.01], daemon=True).start()
        servers.append(server)
        return f"http://127.0.0.1:{server.server_address[1]}/v1", gone

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        OK + b"X: ",
        OK + b"Content-Length: 1000\r\n\r\n",
        OK + CHUNKED,  # a length of many digits
        b"HTTP/1.1 503 No\r\nContent-Length: 1000\r\n\r\n",
    ],
)
def test_one_deadline_covers_the_whole_request(raw_endpoint, sent):
    url, gone = raw_endpoint(sent, b"0" * 60)
    began = time.monotonic()
    with pytest.raises(Unavailable, match=r"no reply within 0\.5 seconds"):
        by_http(url, "m", timeout=0.5)(PAIR)
    assert time.monotonic() - began < 3
    assert gone.wait(3)


@pytest.mark.parametrize(
    "sent",
    [
        OK + b"Content-Length: 1000\r\n\r\n" + chat("left")[2],
        OK + CHUNKED + b"5\r\n{}   \r\n",
        OK + CHUNKED + b"ff\r\n{}",
        OK + b"Content-Le",
    ],
)
def test_truncated_reply_is_unavailable(raw_endpoint, sent):
    url, _ = raw_endpoint(sent)
    with pytest.raises(Unavailable):
        by_http(url, "m", timeout=5)(PAIR)


def test_unreachable_endpoint_is_unavailable(endpoint):
    url, _ = endpoint(chat("left"))
    with pytest.raises(Unavailable):
        by_http(url.replace("127.0.0.1", "127.0.0.1:1/x?"), "m", timeout=5)(PAIR)
    with pytest.raises(ValueError, match="is no URL of a chat endpoint"):
        by_http("file:///etc/passwd", "m")


def test_images_are_sent_and_sounds_are_refused(tmp_path):
    (tmp_path / "x.png").write_bytes(PNG)
    shown = {"id": "a", "parts": [{"kind": "image", "path": str(tmp_path / "x.png")}]}
    content = messages(PAIR | {"left": shown})[1]["content"]
    (image,) = [piece for piece in content if piece["type"] == "image_url"]
    assert image["image_url"]["url"] == f"data:image/png;base64,{base64.b64encode(PNG).decode()}"
    with pytest.raises(CampaignError, match="takes no audio"):
        messages(PAIR | {"left": {"id": "a", "parts": [{"kind": "audio", "path": "x.mp3"}]}})
