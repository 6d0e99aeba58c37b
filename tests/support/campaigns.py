"""What tests of campaigns share."""

import json
import time
from pathlib import Path

import numpy as np
import pandas as pd
import sqlalchemy as sa
from fastapi.testclient import TestClient

from pairsmith.campaign.answering import leases
from pairsmith.campaign.people import invites as people
from pairsmith.campaign.store import database
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
    return [people.person_of(store, people.invite(store, f"p{at}"), "rater") for at in range(count)]


# The tables of version 1, which had no constraint on pairs.
VERSION_1 = """
CREATE TABLE campaign (id {key}, version INTEGER NOT NULL, settings JSON NOT NULL);
CREATE TABLE items (row INTEGER NOT NULL PRIMARY KEY, name TEXT NOT NULL UNIQUE, features {bytes} NOT NULL,
  grouped TEXT, label JSON, parts JSON NOT NULL, lean INTEGER NOT NULL);
CREATE TABLE pairs (id {key}, "first" INTEGER NOT NULL REFERENCES items (row),
  "second" INTEGER NOT NULL REFERENCES items (row), round INTEGER NOT NULL, wanted INTEGER NOT NULL,
  UNIQUE ("first", "second"));
CREATE INDEX pairs_wanted ON pairs (id) WHERE wanted > 0;
CREATE TABLE people (id {key}, name TEXT NOT NULL, role TEXT NOT NULL, hash TEXT UNIQUE, UNIQUE (name, role));
CREATE TABLE leases (id {key}, token TEXT NOT NULL UNIQUE, pair INTEGER NOT NULL REFERENCES pairs (id),
  person INTEGER NOT NULL REFERENCES people (id), "left" INTEGER NOT NULL REFERENCES items (row), state TEXT NOT NULL,
  again BOOLEAN NOT NULL, expires BIGINT NOT NULL);
CREATE INDEX ix_leases_pair ON leases (pair);
CREATE INDEX leases_state ON leases (state, person);
CREATE TABLE answers (id {key}, lease INTEGER NOT NULL UNIQUE REFERENCES leases (id), outcome INTEGER,
  milliseconds INTEGER, at BIGINT NOT NULL);
CREATE TABLE undos (answer INTEGER NOT NULL PRIMARY KEY REFERENCES answers (id), at BIGINT NOT NULL);
CREATE TABLE reports (name TEXT NOT NULL PRIMARY KEY, content JSON NOT NULL)
"""


def version_1(target, given, wanted=1):
    """A campaign of version 1 with four items, the pair (0, 1) planned, and answers (first, second, outcome, left)."""
    settings = {"question": "?", "instructions": "", "k": 2, "answers": wanted, "ties": True, "repeats": False,
                "max_per_item": None, "objective": "d-optimal", "lease": 600.0, "features": ["f"],
                "grouped": False}  # fmt: skip
    engine = database.connect(target)
    sqlite = engine.dialect.name == "sqlite"
    names = {"key": "INTEGER NOT NULL PRIMARY KEY" if sqlite else "SERIAL PRIMARY KEY",
             "bytes": "BLOB" if sqlite else "BYTEA"}  # fmt: skip
    with engine.execution_options(write=True).begin() as connection:
        for statement in VERSION_1.format(**names).split(";\n"):
            connection.exec_driver_sql(statement)

        def put(statement, **values):
            connection.execute(sa.text(statement), values)

        put("INSERT INTO campaign VALUES (1, 1, :settings)", settings=json.dumps(settings))
        for row, name in enumerate("xyzw"):
            put("INSERT INTO items VALUES (:row, :name, :features, NULL, NULL, '[]', 0)",
                row=row, name=name, features=np.array([row * row], dtype="<f8").tobytes())  # fmt: skip
        put("INSERT INTO people (name, role) VALUES ('imported', 'rater')")
        numbers = {}
        for pair in dict.fromkeys([(0, 1), *((first, second) for first, second, _, _ in given)]):
            numbers[pair] = len(numbers) + 1
            left = wanted - sum(row[:2] == pair for row in given)
            put('INSERT INTO pairs ("first", "second", round, wanted) VALUES (:first, :second, 1, :wanted)',
                first=pair[0], second=pair[1], wanted=left)  # fmt: skip
        for at, (first, second, outcome, left) in enumerate(given, 1):
            put('INSERT INTO leases (token, pair, person, "left", state, again, expires)'
                " VALUES (:token, :pair, 1, :left, 'answered', :again, 0)",
                token=f"t{at}", pair=numbers[first, second], left=left, again=False)  # fmt: skip
            put("INSERT INTO answers (lease, outcome, at) VALUES (:at, :outcome, :at)", at=at, outcome=outcome)
        if sqlite:
            connection.exec_driver_sql(f"PRAGMA application_id={database.APPLICATION}")
    engine.dispose()


def answers_of(pairs, **columns):
    """Answers from elsewhere to these pairs, as `answers.add` takes them."""
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
    person = people.local_person(store) if person is None else person
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
