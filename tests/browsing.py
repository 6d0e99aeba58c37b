"""What tests in a real browser share."""

import re
import threading
import time
from contextlib import contextmanager

import uvicorn
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from server_fixtures import free_port

DESKTOP = {"viewport": {"width": 1280, "height": 800}}
PHONE = {"viewport": {"width": 390, "height": 780}, "has_touch": True, "is_mobile": True}


@contextmanager
def served(app):
    """The URL of this app, which is served meanwhile; nothing computes behind it."""
    port = free_port()
    server = uvicorn.Server(uvicorn.Config(app, port=port, log_level="error"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.05)
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join(20)


def accessible(page):
    found = Axe().run(page).response["violations"]
    assert [problem for problem in found if problem["impact"] in ("serious", "critical")] == []


def open_page(page, url):
    """Open a page; instructions that come before the first pair are read and closed."""
    page.goto(url)
    if page.locator("#pair").count():
        expect(page.locator("#pair")).to_have_attribute("data-lease", re.compile("."))
        if page.locator("#instructions").is_visible():
            page.locator("#instructions form button").click()


def answerable(page):
    """Wait until a pair was on the screen for long enough."""
    expect(page.locator("#pair")).to_have_attribute("data-lease", re.compile("."))
    expect(page.locator("#pair")).not_to_have_class(re.compile("early"))
