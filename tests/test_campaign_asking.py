"""Judges that are commands, and judges behind HTTP."""

import base64
import sys

import pytest

from campaigns import PNG, chat
from pairsmith.campaign.asking import by_command, by_http, messages
from pairsmith.campaign.database import CampaignError
from pairsmith.campaign.judge import Malformed, Unavailable

PAIR = {
    "question": "Which is better?",
    "instructions": "Facts first.",
    "choices": ["left", "right", "skip"],
    "prompt": {"kind": "text", "text": "Why?"},
    "left": {"id": "a", "parts": [{"kind": "text", "text": "Because é."}]},
    "right": {"id": "b", "parts": [{"kind": "markdown", "text": "*So*"}]},
}


def test_a_command_gets_the_pair_and_its_words_are_the_reply(tmp_path):
    script = tmp_path / "judge.py"
    script.write_text("import json, sys\npair = json.load(sys.stdin)\nprint(pair['left']['parts'][0]['text'], 'left')")
    assert by_command(f"{sys.executable} {script}")(PAIR) == "Because é. left\n"


def test_a_command_that_fails_or_takes_too_long_did_not_reply():
    with pytest.raises(Unavailable, match=r"sh ended with code 3: out of money"):
        by_command("sh -c 'echo one >&2; echo out of money >&2; exit 3'")(PAIR)
    with pytest.raises(Unavailable, match=r"sleep took more than 0\.05 seconds"):
        by_command("sleep 60", timeout=0.05)(PAIR)


@pytest.mark.parametrize("command", ["./no-such-judge.sh", "", "'"])
def test_a_command_that_cannot_be_is_refused_at_once(command):
    with pytest.raises(ValueError, match="--command"):
        by_command(command)


def test_an_endpoint_gets_a_conversation_and_the_key(endpoint):
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


def test_what_passes_is_told_from_what_does_not(endpoint):
    url, _ = endpoint((429, {"Retry-After": "7"}, b""), (503, {}, b"over\nloaded"), (401, {}, b"bad key"))
    ask = by_http(url, "m")
    with pytest.raises(Unavailable, match="429") as error:
        ask(PAIR)
    assert error.value.after == 7.0
    with pytest.raises(Unavailable, match="503 Service Unavailable: over loaded"):
        ask(PAIR)
    with pytest.raises(CampaignError, match="replied 401 Unauthorized: bad key"):
        ask(PAIR)


def test_a_key_does_not_follow_a_redirect(endpoint):
    other, seen = endpoint(chat("left"))
    url, _ = endpoint((307, {"Location": other}, b""))
    with pytest.raises(CampaignError, match="307"):
        by_http(url, "m", "secret")(PAIR)
    assert seen == []


@pytest.mark.parametrize(
    "reply", [b"", b"{", b"[]", b'{"choices": []}', b'{"choices": [{"message": {}}]}', chat(None)[2]]
)
def test_a_reply_without_content_is_malformed(endpoint, reply):
    url, _ = endpoint((200, {}, reply))
    with pytest.raises(Malformed):
        by_http(url, "m")(PAIR)


def test_nobody_there(endpoint):
    url, _ = endpoint(chat("left"))
    with pytest.raises(Unavailable):
        by_http(url.replace("127.0.0.1", "127.0.0.1:1/x?"), "m", timeout=5)(PAIR)
    with pytest.raises(ValueError, match="is no URL of a chat endpoint"):
        by_http("file:///etc/passwd", "m")


def test_images_go_along_and_sounds_are_refused(tmp_path):
    (tmp_path / "x.png").write_bytes(PNG)
    shown = {"id": "a", "parts": [{"kind": "image", "path": str(tmp_path / "x.png")}]}
    content = messages(PAIR | {"left": shown})[1]["content"]
    (image,) = [piece for piece in content if piece["type"] == "image_url"]
    assert image["image_url"]["url"] == f"data:image/png;base64,{base64.b64encode(PNG).decode()}"
    with pytest.raises(CampaignError, match="takes no audio"):
        messages(PAIR | {"left": {"id": "a", "parts": [{"kind": "audio", "path": "x.mp3"}]}})
