"""What tests in a real browser share."""

import re

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

DESKTOP = {"viewport": {"width": 1280, "height": 800}}
PHONE = {"viewport": {"width": 390, "height": 780}, "has_touch": True, "is_mobile": True}

expect.set_options(timeout=15_000)  # patience where other tests take the processors


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
