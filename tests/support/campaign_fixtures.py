"""Campaigns to test with, and clients of their web app."""

import time

import pytest
from fastapi.testclient import TestClient

from pairsmith.campaign.store.store import Store
from pairsmith.campaign.web.app import create_app
from support.campaigns import EVIL, client_of, create_campaign, items_of


@pytest.fixture
def make(request):
    """make(target, n=12, ...) -> a Store on a new campaign; what is shown of an item is its id unless parts= says."""
    opened = []

    def build(target, n=12, d=3, parts=None, clock=time.time, **settings):
        items = items_of(n, d)
        shown = parts or [[("text", name)] for name in items.features.index]
        create_campaign(target, items, shown, **settings)
        store = Store(target, clock)
        opened.append(store)
        return store

    yield build
    for store in opened:
        store.close()


@pytest.fixture
def api(tmp_path, make):
    """A client of a campaign on its own machine; its `store` is the campaign."""
    store = make(str(tmp_path / "t.db"))
    with client_of(store) as client:
        client.store = store
        yield client


@pytest.fixture
def store(tmp_path, make):
    """A campaign whose items, shown in a browser, would do harm."""
    secret = tmp_path / "secret.txt"
    secret.write_text("secret")
    (tmp_path / "shown.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>')
    parts = [[("image", str(tmp_path / "shown.svg")), ("text", EVIL), ("markdown", EVIL)]] * 12
    return make(str(tmp_path / "t.db"), parts=parts, question=EVIL, media=tmp_path)


@pytest.fixture
def local(store):
    """A client of it on its own machine, where nobody needs an invite."""
    with TestClient(create_app(store), base_url="http://127.0.0.1:8000") as client:
        yield client


@pytest.fixture
def public(store):
    """A client of it through TLS, where everybody needs one."""
    with TestClient(create_app(store, local=False), base_url="https://label.example.org") as client:
        yield client


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """elsewhere() -> from now on this is another user's machine."""
    return lambda: monkeypatch.setenv("PAIRSMITH_HOME", str(tmp_path / "elsewhere"))
