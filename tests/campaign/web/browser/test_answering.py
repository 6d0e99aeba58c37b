"""Raters answer in a real browser, on a desktop and on a phone."""

import re
import shutil
import subprocess
import sys
import wave
from contextlib import contextmanager

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import expect
from sklearn.datasets import load_digits

from pairsmith.campaign.answering import leases
from pairsmith.campaign.people import invites as people
from pairsmith.campaign.store.snapshot import take_snapshot
from pairsmith.campaign.store.store import Store
from support.browsing import DESKTOP, PHONE, accessible, answerable, open_page


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """The path of the demo campaign, created on the command line."""
    path = tmp_path_factory.mktemp("demo") / "digits.db"
    line = [sys.executable, "-m", "pairsmith.cli", "demo-campaign", str(path), "--no-serve"]
    subprocess.run(line, check=True, stdout=subprocess.DEVNULL)
    return path


@pytest.fixture
def campaign(demo, tmp_path):
    """The path of a copy of the demo campaign; the pictures stay where they are."""
    return shutil.copy(demo, tmp_path / "digits.db")


# A card cuts off what is outside of it, so the focus ring of an element in a card must be inside the element.
RING_IS_WHOLE = """() => {
  const ring = getComputedStyle(document.activeElement);
  const beyond = parseFloat(ring.outlineOffset) + parseFloat(ring.outlineWidth);
  return beyond <= 0 || !document.activeElement.closest(".side");
}"""


class Rater:
    """A rater at the page, who can read digits."""

    def __init__(self, page, url, store):
        self.page, self.url = page, url
        digits = load_digits().target
        self.value = {f"/media/{row}/0": digits[int(name.split()[1])] for row, name in enumerate(store.items.names)}
        self.trouble = []
        page.on("console", lambda message: self.trouble.append(message.text))
        page.on("pageerror", lambda error: self.trouble.append(str(error)))
        page.on("requestfailed", self.failed)
        page.on("response", lambda found: self.trouble.append(found.url) if found.status >= 400 else None)

    def failed(self, request):
        if request.failure != "net::ERR_ABORTED":  # leaving a page aborts its requests
            self.trouble.append(f"{request.url}: {request.failure}")

    def open(self, path="/"):
        open_page(self.page, self.url + path)

    def pair(self):
        expect(self.page.locator("#left img")).to_be_visible()
        return tuple(self.page.get_attribute(f"#{side} img", "src") for side in ("left", "right"))

    def lease(self):
        return self.page.get_attribute("#pair", "data-lease")

    def choose(self, act):
        """Act, and wait for the next pair."""
        self.pair()
        before = self.lease()
        answerable(self.page)
        act()
        expect(self.page.locator("#pair")).not_to_have_attribute("data-lease", before)

    def verdict(self):
        left, right = (self.value[url] for url in self.pair())
        return "tie" if left == right else "left" if left > right else "right"

    def counted(self, yours):
        expect(self.page.locator("#count")).to_have_text(re.compile(rf"· {yours} by you$"))


@pytest.fixture
def at_work(browser, campaign, served):
    """Return at_work(**device), which makes a Rater on a page of this shape."""
    with Store(str(campaign)) as store, raters(browser, served(store), store) as start:
        yield start


@pytest.fixture
def reported(browser, campaign, serve):
    """Return the same as at_work, but served by the command that also plans and reports."""
    with Store(str(campaign)) as store, raters(browser, serve(str(campaign))[0], store) as start:
        yield start


@contextmanager
def raters(browser, url, store):
    contexts = []

    def start(**device):
        contexts.append(browser.new_context(**device))
        return Rater(contexts[-1].new_page(), url, store)

    yield start
    for context in contexts:
        context.close()


@pytest.mark.parametrize("device", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_a_rater_answers_and_the_dashboard_and_the_export_follow(reported, campaign, device, tmp_path):
    me = reported(**device)
    page = me.page
    me.open()
    me.pair()
    accessible(page)

    keys = {"left": "ArrowLeft", "right": "ArrowRight", "tie": "ArrowDown"}
    for _ in range(10):
        key = keys[me.verdict()]
        me.choose(lambda key=key: page.keyboard.press(key))
    me.counted(10)
    touch = device is PHONE
    for turn in range(10):
        place = page.locator(f"[data-choice={me.verdict()}]")
        if turn % 2 and me.verdict() != "tie":
            place = page.locator(f"#{me.verdict()} img")  # the picture itself
        me.choose(place.tap if touch else place.click)
    me.counted(20)

    # One more, taken back, a tie instead.
    pair, lease = me.pair(), me.lease()
    me.choose(lambda: page.keyboard.press("ArrowLeft"))
    me.counted(21)
    me.choose(lambda: page.keyboard.press("u") if touch else page.locator("#undo").click())
    assert me.pair() == pair
    assert me.lease() != lease
    me.counted(20)
    me.choose(lambda: page.keyboard.press("t"))
    me.counted(21)
    me.choose(lambda: page.keyboard.press("s"))

    # After a reload the pair is the same.
    pair = me.pair()
    page.reload()
    assert me.pair() == pair
    me.counted(21)

    # Instructions on demand, by keyboard alone.
    page.keyboard.press("?")
    expect(page.locator("#instructions")).to_be_visible()
    accessible(page)
    page.keyboard.press("ArrowLeft")  # does not answer now
    page.keyboard.press("Escape")
    expect(page.locator("#instructions")).to_be_hidden()
    assert me.pair() == pair
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")

    # The dashboard.
    me.open("/dashboard")
    expect(page.locator("#answers")).to_have_text("21")
    expect(page.locator("#undone")).to_have_text("1")
    expect(page.locator("#skipped")).to_have_text("1")
    expect(page.locator("#rows .rank").first).to_have_text("1", timeout=30_000)
    expect(page.locator("#rows img").first).to_have_js_property("complete", True)
    expect(page.locator("#doubt polyline")).to_have_count(1)
    expect(page.locator("#people tbody")).to_contain_text("local")
    accessible(page)
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")

    # It updates by itself.
    other = reported(**device)
    other.open()
    other.choose(lambda: other.page.keyboard.press("ArrowLeft"))
    expect(page.locator("#answers")).to_have_text("22", timeout=10_000)
    assert me.trouble == other.trouble == []

    line = [sys.executable, "-m", "pairsmith.cli", "campaign", "export", str(campaign), "-o", str(tmp_path / "a.csv")]
    subprocess.run(line, check=True, stdout=subprocess.DEVNULL)
    table = pd.read_csv(tmp_path / "a.csv")
    assert len(table) == 22
    assert (table["outcome"] == 0).sum() >= 1
    digits = load_digits().target
    first, second = (digits[table[side].str.split().str[1].astype(int)][:20] for side in ("first", "second"))
    shown = table["outcome"].to_numpy()[:20]
    assert ((first > second) * 1 - (first < second) * 1 == shown).all()
    assert (table["seconds"] > 0).all()


def test_pages_are_accessible_in_dark_colours_and_by_tab_alone(reported):
    me = reported(**DESKTOP, color_scheme="dark")
    me.open()
    me.pair()
    accessible(me.page)
    names = []
    for _ in range(8):
        me.page.keyboard.press("Tab")
        names.append(me.page.evaluate("document.activeElement.textContent.trim().replace(/\\s+/g, ' ')"))
        assert me.page.evaluate(RING_IS_WHOLE)
    assert {"← Left", "Right →", "Tie ↓", "Skip S", "Help ?"} <= set(names)
    me.page.locator("[data-choice=right]").focus()
    me.choose(lambda: me.page.keyboard.press("Enter"))
    me.counted(1)
    me.open("/dashboard")
    expect(me.page.locator("#rows .rank").first).to_have_text("1", timeout=30_000)
    accessible(me.page)
    me.open("/api")
    accessible(me.page)
    assert me.trouble == []


def test_the_next_pair_is_there_before_the_answer_is_sent(at_work):
    me = at_work(**DESKTOP)
    me.open()
    me.pair()
    me.page.wait_for_load_state("networkidle")  # the next pair is loaded meanwhile
    sent = []
    me.page.route("**/api/answer", lambda route: sent.append(route))  # holds the answer back
    me.choose(lambda: me.page.keyboard.press("ArrowLeft"))
    assert me.page.evaluate("document.querySelector('#left img').complete")
    me.counted(0)
    sent[0].continue_()
    me.counted(1)


def test_an_answer_given_offline_is_kept_and_sent_again(at_work):
    me = at_work(**DESKTOP)
    me.page.clock.install()
    me.open()
    me.pair()
    me.page.wait_for_load_state("networkidle")  # no other request could fail
    answerable(me.page)
    me.page.context.set_offline(True)
    me.page.keyboard.press("ArrowLeft")
    expect(me.page.locator("#status")).to_contain_text("not saved yet")
    answerable(me.page)
    me.page.keyboard.press("ArrowLeft")
    expect(me.page.locator("#empty")).to_contain_text("No connection. Your answers are kept on this page")
    me.page.clock.pause_at(4_000_000_000_000)  # no timer ends from now on, so only the event can wake the page
    me.page.context.set_offline(False)
    expect(me.page.locator("#status")).to_have_text("Saved.")
    me.counted(2)
    me.pair()


def test_a_pair_taken_back_while_another_is_requested_comes_once(at_work):
    me = at_work(**DESKTOP)
    me.open()
    first = me.pair()
    me.page.wait_for_load_state("networkidle")
    held, released = [], []
    me.page.route("**/api/next", lambda route: route.continue_() if released else held.append(route))
    with me.page.expect_request("**/api/next"):
        me.choose(lambda: me.page.keyboard.press("ArrowLeft"))
    me.counted(1)
    me.page.keyboard.press("u")
    me.page.wait_for_timeout(500)  # time in which the server could have taken the answer back
    released.append(True)
    held[0].continue_()
    expect(me.page.locator("#status")).to_have_text("Taken back. Answer this pair again.")
    assert me.pair() == first
    for count in (1, 2):
        me.choose(lambda: me.page.keyboard.press("ArrowLeft"))
        me.counted(count)
        assert me.pair() != first


def test_answers_in_two_tabs_count_once(at_work, campaign):
    one, two = at_work(**DESKTOP), at_work(**DESKTOP)
    one.open()
    two.open()
    assert one.pair() == two.pair()
    two.page.wait_for_load_state("networkidle")  # it has loaded the next pair, too
    seen = []
    for count in (1, 2):
        seen.append(one.pair())
        one.choose(lambda: one.page.keyboard.press("ArrowLeft"))
        one.counted(count)
    answerable(two.page)
    two.page.keyboard.press("ArrowRight")  # stale, and so is the pair after it
    expect(two.page.locator("#status")).to_contain_text("Not counted: this pair was answered before")
    two.counted(2)
    assert two.pair() == one.pair()
    assert two.pair() not in seen
    assert len(take_snapshot(Store(str(campaign))).answers) == 2

    # A tab that comes to the front again checks whether its pair is still open.
    one.choose(lambda: one.page.keyboard.press("ArrowLeft"))
    one.counted(3)
    two.choose(lambda: two.page.evaluate("document.dispatchEvent(new Event('visibilitychange'))"))
    expect(two.page.locator("#status")).to_have_text("The last pair was answered elsewhere. Here is another one.")
    assert two.pair() == one.pair()


def test_sounds_play_without_answering_and_keys_answer(browser, tmp_path, make, served):
    with wave.open(str(tmp_path / "hum.wav"), "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(8000)
        sound.writeframes((3000 * np.sin(np.arange(4 * 8000) / 5)).astype("<i2").tobytes())
    store = make(
        str(tmp_path / "t.db"), parts=[[("audio", str(tmp_path / "hum.wav")), ("text", "hum")]] * 12, media=tmp_path
    )
    url = served(store)
    page = browser.new_page()
    page.goto(url)
    left, right = (page.locator(f"#{side} audio") for side in ("left", "right"))
    state = "sound => ({ at: sound.currentTime, paused: sound.paused, failed: sound.error !== null })"

    def playing(sound):
        page.wait_for_function("sound => !sound.paused && sound.currentTime > 0.2", arg=sound.element_handle())
        assert not sound.evaluate(state)["failed"]

    def press_play(sound):
        box = sound.bounding_box()
        page.mouse.click(box["x"] + 26, box["y"] + box["height"] / 2)

    press_play(left)
    playing(left)
    press_play(right)
    playing(right)
    assert left.evaluate(state)["paused"]  # one at a time
    assert leases.progress(store, people.local_rater(store))["yours"] == 0  # playing is not answering
    accessible(page)

    # A rater who came by Tab plays and seeks with the keys of the control.
    for _ in range(20):
        page.keyboard.press("Tab")
        if left.evaluate("sound => document.activeElement === sound"):
            break
    expect(left).to_be_focused()
    shown = page.get_attribute("#pair", "data-lease")
    before = left.evaluate(state)["at"]
    page.keyboard.press("ArrowRight")
    assert page.get_attribute("#pair", "data-lease") == shown
    assert left.evaluate(state)["at"] != before
    answerable(page)
    page.keyboard.press("s")
    expect(page.locator("#pair")).not_to_have_attribute("data-lease", shown)

    # A rater who played a sound with the mouse answers with the arrows.
    shown = page.get_attribute("#pair", "data-lease")
    press_play(left)
    playing(left)
    heard = left.element_handle()
    answerable(page)
    page.keyboard.press("ArrowRight")
    expect(page.locator("#pair")).not_to_have_attribute("data-lease", shown)
    expect(page.locator("#count")).to_have_text(re.compile("· 1 by you$"))
    assert heard.evaluate(state)["paused"]  # the sound stops with the answer
    page.close()


def test_long_texts_scroll_by_keyboard(browser, tmp_path, make, served):
    store = make(str(tmp_path / "t.db"), parts=[[("text", 500 * "long ")]] * 6 + [[("text", "short")]] * 6)
    url = served(store)
    page = browser.new_page()
    page.set_viewport_size({"width": 800, "height": 500})
    page.goto(url)
    answerable(page)
    long = page.locator(".parts", has_text="long")
    for _ in range(10):  # until a long text comes
        expect(page.locator("#pair")).to_have_attribute("data-lease", re.compile("."))
        accessible(page)
        if long.count():
            break
        answerable(page)
        page.keyboard.press("ArrowLeft")
    given = leases.progress(store, people.local_rater(store))["yours"]
    shown = page.get_attribute("#pair", "data-lease")
    page.keyboard.press("Tab")
    while not long.first.evaluate("text => document.activeElement === text"):
        page.keyboard.press("Tab")
    page.keyboard.press("ArrowDown")
    page.wait_for_function("() => document.activeElement.scrollTop > 0")
    assert page.get_attribute("#pair", "data-lease") == shown
    assert page.locator(".parts", has_text="short").and_(page.locator("[tabindex='0']")).count() == 0
    answerable(page)
    page.keyboard.press("ArrowRight")
    expect(page.locator("#pair")).not_to_have_attribute("data-lease", shown)
    expect(page.locator("#count")).to_have_text(re.compile(f"· {given + 1} by you$"))
    page.close()


def test_script_in_item_text_does_not_run(browser, tmp_path, make, served):
    evil = "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"
    parts = [[("text", evil), ("markdown", f"**bold** {evil} [link](javascript:document.title='owned')")]] * 12
    store = make(str(tmp_path / "t.db"), parts=parts, question=f"Which? {evil}", instructions=evil)
    url = served(store)
    page = browser.new_page()
    page.goto(url)
    expect(page.locator("#left .plain")).to_have_text(evil)
    expect(page.locator("#left strong")).to_have_text("bold")
    assert page.locator("#left img, #left script").count() == 0
    page.goto(f"{url}/dashboard")
    page.wait_for_timeout(300)
    assert "owned" not in page.title().removeprefix(f"Which? {evil}")
    page.close()
