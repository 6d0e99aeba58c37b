"""What tests of campaigns share."""

import json
import time
from dataclasses import fields
from pathlib import Path

import numpy as np
import pandas as pd
from fastapi.testclient import TestClient

from pairsmith.campaign.answering import leases
from pairsmith.campaign.options import CampaignOptions
from pairsmith.campaign.people import invites as people
from pairsmith.campaign.setup.create import create
from pairsmith.campaign.web.app import create_app
from pairsmith.files.items import Items

# A table of items is made a campaign; the fixture `folder` has the table.
CREATE = ["campaign", "create", "c.db", "--items", "items.csv", "--features", "f_*", "-k", "6", "--question", "Which?"]
EVIL = '<script>document.title="owned"</script><img src=x onerror="document.title=\'owned\'">'
PNG = b"\x89PNG\r\n\x1a\n and more"
SVG = b'<?xml version="1.0"?><!-- <svg> --><svg xmlns="http://www.w3.org/2000/svg"/>'
BEGINNINGS = {
    ".png": b"\x89PNG\r\n\x1a\n",
    ".jpg": b"\xff\xd8\xff\xe0",
    ".gif": b"GIF89a",
    ".webp": b"RIFF\x10\x00\x00\x00WEBPVP8 ",
    ".avif": b"\x00\x00\x00\x1cftypmif1\x00\x00\x00\x00mif1avif",
    ".svg": SVG,
    ".mp3": b"\xff\xfb\x90\x64",
    ".wav": b"RIFF\x10\x00\x00\x00WAVEfmt ",
    ".opus": b"OggS",
    ".flac": b"fLaC",
    ".m4a": b"\x00\x00\x00\x20ftypM4A ",
    ".webm": b"\x1aE\xdf\xa3\x9f\x42\x86\x81\x01\x42\x82\x84webm",
}


class Clock:
    """Time that passes when a test says so."""

    now = 1_700_000_000.0

    def __call__(self):
        return self.now


def items_of(n=12, d=3, seed=0):
    """So many items with random features, named by their numbers."""
    X = np.random.default_rng(seed).standard_normal((n, d))
    features = pd.DataFrame(X, index=[f"{row:03d}" for row in range(n)], columns=[f"f_{c}" for c in range(d)])
    return Items(Path("items.csv"), features)


def invite_people(store, count):
    """So many raters, by their numbers."""
    return [people.person_with_token(store, people.invite(store, f"p{at}"), "rater") for at in range(count)]


def create_campaign(target, items, parts, question="Which is better?", k=10, answers_per_pair=1, media=None, **more):
    """Make a campaign from keywords: options of a campaign, and the other arguments of `create`."""
    own = {field.name: more.pop(field.name) for field in fields(CampaignOptions) if field.name in more}
    options = CampaignOptions(
        questions=[question] if isinstance(question, str) else question,
        k=k,
        answers_per_pair=1 if answers_per_pair == "auto" else answers_per_pair,
        asks_again=answers_per_pair == "auto",
        folder=None if media is None else str(media),
        **own,
    )
    return create(target, items, parts, options, **more)


def answers_of(pairs, **columns):
    """Answers from elsewhere to these pairs, as `add_answers` takes them."""
    first, second = np.array(pairs).T
    usual = {"outcome": 1, "left": first, "rater": "anna", "seconds": np.nan, "at": np.nan}
    return pd.DataFrame({"first": first, "second": second, **usual, **columns})


def client_of(store, **options):
    """A client of the app of this campaign, without a port."""
    return TestClient(create_app(store, **options), base_url="http://127.0.0.1")


def ask(api, path, **body):
    response = api.post(f"/api/{path}", json=body)
    assert response.status_code == 200, response.text
    return response.json()


def answer_next(store, choice="left", person=None):
    """This person, or whoever sits at this machine, gets the next pair and answers it."""
    person = people.local_rater(store) if person is None else person
    assert leases.answer(store, person, leases.next_pair(store, person).token, choice)


def chat(content):
    """What an endpoint for chat completions replies: a status, headers and a body."""
    return 200, {}, json.dumps({"choices": [{"message": {"role": "assistant", "content": content}}]}).encode()


def truthfully(lease):
    """To the first question the item of the smaller row is the better, to the second that of the greater."""
    smaller = "left" if lease.left < lease.right else "right"
    return smaller if lease.question == 0 else {"left": "right", "right": "left"}[smaller]


def answer_truthfully(store, person, most=10**6):
    """Everything that this person is given, in order: (pair, question) each."""
    asked = []
    while len(asked) < most and (lease := leases.next_pair(store, person)) is not None:
        assert leases.answer(store, person, lease.token, truthfully(lease), 1.0)
        asked.append((frozenset((lease.left, lease.right)), lease.question))
    return asked


def is_running(number):
    """Whether a process of this number is there and no zombie, after what has been killed had a moment to end."""
    status = Path(f"/proc/{int(number)}/stat")
    for _ in range(100):
        try:
            if status.read_text().rpartition(")")[2].split()[0] == "Z":
                return False
        except (FileNotFoundError, ProcessLookupError):
            return False
        time.sleep(0.01)
    return True
