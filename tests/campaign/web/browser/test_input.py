"""Clicks, keys, selections and zoom in a real browser: which of them answer; grades, comments and languages."""

import re
import time
from contextlib import contextmanager

import numpy as np
import pytest
import sqlalchemy as sa
from playwright.sync_api import expect

from pairsmith.campaign.setup.demo import png
from pairsmith.campaign.setup.table import Prompts
from pairsmith.campaign.store import schema
from pairsmith.campaign.store.snapshot import take_snapshot
from pairsmith.campaign.store.store import Store
from pairsmith.files.items import Items
from support.browsing import DESKTOP, PHONE, accessible, answerable, open_page
from support.campaigns import BEGINNINGS, create_campaign, items_of

LONG = "\n\n".join(30 * [20 * "long "])


@pytest.fixture
def at_page(browser, tmp_path, make, served):
    """Return at_page(device, parts=..., ...), which opens a page of a new campaign and gives it with its store."""

    @contextmanager
    def start(device, path="", **settings):
        store = make(str(tmp_path / "t.db"), media=tmp_path, **settings)
        url = served(store)
        context = browser.new_context(**device)
        page = context.new_page()
        page.clock.install(time=0)
        open_page(page, url + path)
        yield page, store
        context.close()

    return start


def lease_of(page):
    return page.get_attribute("#pair", "data-lease")


def counted(page, yours):
    expect(page.locator("#count")).to_contain_text(f"· {yours} by you")


def drag(page, start, end):
    page.mouse.move(*start)
    page.mouse.down()
    page.mouse.move(*end, steps=4)
    page.mouse.up()


def centre(locator):
    box = locator.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def test_clicks_selections_and_keys_that_do_not_answer(at_page):
    with at_page(DESKTOP, parts=[[("text", LONG)]] * 12, viewing_seconds=0.2) as (page, store):
        page.clock.pause_at(100_000)  # time passes only in run_for
        status = page.locator("#status")

        def next_pair(after):
            expect(page.locator("#pair")).to_have_attribute("data-lease", re.compile("."))
            page.clock.run_for(after)
            return lease_of(page)

        shown = next_pair(after=500)

        # The down arrow, Page Down and Space scroll long texts, even on both sides at once; the key for a tie is T.
        expect(page.locator("[data-choice=tie] kbd")).to_have_text("T")
        before = 0
        for key in ("ArrowDown", "PageDown", "Space"):
            page.keyboard.press(key)
            for side in ("left", "right"):
                page.wait_for_function(
                    "([side, least]) => document.querySelector(`#${side} .parts`).scrollTop > least", arg=[side, before]
                )
            before = page.evaluate("document.querySelector('#left .parts').scrollTop")
        page.keyboard.press("PageUp")
        assert lease_of(page) == shown

        # Selecting text does not answer, nor does the click that ends the selection; the next click does.
        x, y = centre(page.locator("#left .parts"))
        drag(page, (x - 100, y), (x + 100, y + 30))
        assert "long" in page.evaluate("String(getSelection())")
        page.clock.run_for(500)
        page.mouse.click(x, y)
        page.clock.run_for(500)
        assert lease_of(page) == shown
        page.mouse.click(x, y)
        expect(status).to_have_text("Left. Pair 2.")

        # The second half of a double click does not answer, even if an answer would already count.
        shown = next_pair(after=250)
        page.mouse.click(x, y)
        assert lease_of(page) == shown
        page.clock.run_for(310)
        page.mouse.click(x, y)
        expect(page.locator("#pair")).not_to_have_attribute("data-lease", shown)

        # A key before the pair can have been seen does not answer, and the page says so.
        shown = next_pair(after=190)
        page.keyboard.press("ArrowLeft")
        expect(page.locator("#pair")).to_have_class(re.compile("pulse"))
        expect(status).to_contain_text("too quick")
        page.clock.run_for(20)
        assert lease_of(page) == shown
        page.keyboard.press("t")
        expect(status).to_have_text("Tie. Pair 4.")

        # The number of a pair is one more than the number of answers before it; skips do not count.
        for _ in range(2):
            shown = next_pair(after=500)
            page.keyboard.press("s")
            expect(status).to_have_text("Skipped. Pair 4.")
            expect(page.locator("#pair")).not_to_have_attribute("data-lease", shown)
        counted(page, 3)
        assert take_snapshot(store).answers["outcome"].tolist().count(0) == 1
        assert len(take_snapshot(store).answers) == 3

        # A page that is open keeps its pairs.
        def ends():
            with store.reading() as connection:
                return connection.execute(sa.select(sa.func.max(schema.leases.c.expires))).scalar_one()

        next_pair(after=500)  # between two pairs there would be no lease to renew
        before = ends()
        with page.expect_response("**/api/renew"):
            page.clock.run_for(201_000)
        assert ends() > before


def picture(folder):
    (folder / "tall.png").write_bytes(png(np.eye(30)[:, :8].repeat(4, axis=0)))


def scale_of(page, side):
    found = page.evaluate(f"document.querySelector('#{side} img').style.transform")
    return float(re.search(r"scale\((.*)\)", found)[1]) if found else 1.0


def test_pictures_have_room_and_are_zoomed_without_answering(at_page, tmp_path):
    picture(tmp_path)
    parts = [[("image", "tall.png"), ("markdown", LONG)]] * 12
    with at_page(DESKTOP, parts=parts) as (page, _):
        answerable(page)
        shown = lease_of(page)
        frame, place = page.locator("#left .picture"), page.locator("#left .parts")
        assert (
            frame.bounding_box()["height"] > 0.6 * place.bounding_box()["height"]
        )  # although there is a long text, too
        page.set_viewport_size({"width": 640, "height": 400})  # as with a browser zoom of 200%
        for side in ("left", "right"):
            box, around = (page.locator(f"#{side} {name}").bounding_box() for name in (".picture", ".parts"))
            assert box["y"] >= around["y"]
            assert box["y"] + box["height"] <= min(400, around["y"] + around["height"])
            assert box["height"] > 100
        expect(page.locator("#left")).to_have_attribute("aria-label", "Left")
        page.set_viewport_size(DESKTOP["viewport"])

        page.keyboard.press("+")  # both at once
        assert scale_of(page, "left") == scale_of(page, "right") == 1.5
        page.keyboard.press("0")
        x, y = centre(frame)
        page.mouse.move(x, y)
        page.mouse.wheel(0, 200)  # the picture is whole already, so the text scrolls
        page.wait_for_function("() => document.querySelector('#left .parts').scrollTop > 0")
        page.evaluate("document.querySelector('#left .parts').scrollTop = 0")
        page.mouse.wheel(0, -200)
        page.wait_for_function("() => document.querySelector('#left img').style.transform.includes('scale(1.6')")
        assert scale_of(page, "right") == 1
        before = page.locator("#left img").bounding_box()
        drag(page, (x, y), (x + 40, y + 20))
        after = page.locator("#left img").bounding_box()
        assert (after["x"] - before["x"], after["y"] - before["y"]) == pytest.approx((40, 20), abs=1)
        page.get_by_role("button", name="Zoom in").first.click()
        assert scale_of(page, "left") > 2
        accessible(page)
        page.get_by_role("button", name="Show the whole picture").first.click()
        assert scale_of(page, "left") == 1
        assert lease_of(page) == shown
        page.clock.run_for(500)
        page.mouse.click(x, y)  # now the click answers
        expect(page.locator("#pair")).not_to_have_attribute("data-lease", shown)
        assert scale_of(page, "left") == 1


def test_on_a_phone_cards_are_upper_and_lower_and_two_fingers_zoom(at_page, tmp_path):
    picture(tmp_path)
    with at_page(PHONE, parts=[[("image", "tall.png")]] * 12) as (page, store):
        answerable(page)
        shown = lease_of(page)
        expect(page.locator("#left img")).to_have_attribute("alt", "Upper picture")
        expect(page.get_by_role("button", name="Lower")).to_be_visible()
        for side in ("left", "right"):
            box, around = (page.locator(f"#{side} {name}").bounding_box() for name in (".picture", ".parts"))
            assert around["y"] <= box["y"] <= box["y"] + box["height"] <= around["y"] + around["height"] + 1
        x, y = centre(page.locator("#left .picture"))
        touch = page.context.new_cdp_session(page)
        for kind, apart in (("Start", 20), ("Move", 40), ("Move", 60), ("End", None)):
            points = [] if apart is None else [{"x": x - apart, "y": y, "id": 0}, {"x": x + apart, "y": y, "id": 1}]
            touch.send("Input.dispatchTouchEvent", {"type": f"touch{kind}", "touchPoints": points})
        assert scale_of(page, "left") == pytest.approx(3, rel=0.1)
        assert lease_of(page) == shown
        accessible(page)
        page.set_viewport_size({"width": 780, "height": 390})  # the phone is turned
        expect(page.locator("#left img")).to_have_attribute("alt", "Left picture")
        page.set_viewport_size(PHONE["viewport"])
        page.locator("#right .picture").tap()
        expect(page.locator("#status")).to_have_text("Lower. Pair 2.")
        counted(page, 1)
        (answer,) = take_snapshot(store).answers.itertuples()
        assert answer.outcome == (1 if answer.first != answer.left else -1)


def test_instructions_grades_and_comments_in_the_language_of_the_browser(at_page):
    device = {**DESKTOP, "locale": "es-MX"}
    options = {"instructions": "Elija el **mejor**.", "graded": True, "comments": True}
    with at_page(device, path="/nowhere", **options) as (page, store):
        page.goto(page.url.replace("/nowhere", "/"))
        dialog, status = page.locator("#instructions"), page.locator("#status")
        expect(dialog).to_contain_text("Elija el mejor.")
        accessible(page)
        page.keyboard.press("Enter")  # begin
        expect(dialog).to_be_hidden()
        expect(page.locator("#pair")).to_have_class("early")  # the pair can be seen only now
        answerable(page)
        accessible(page)
        shown = lease_of(page)
        page.locator("#left .parts").click()  # a click does not say how much better
        page.keyboard.press("c")
        page.keyboard.type("just 1 test?")
        page.keyboard.press("ArrowLeft")
        page.keyboard.press("Enter")
        assert lease_of(page) == shown
        page.keyboard.press("Shift+ArrowRight")
        expect(status).to_have_text("Derecha: Mucho mejor. Par 2.")
        expect(page.locator("#comment")).to_have_value("")
        page.keyboard.press("u")
        expect(page.locator("#comment")).to_have_value("just 1 test?")
        for act, said in (
            (lambda: page.keyboard.press("5"), "Derecha: Mucho mejor"),
            (lambda: page.keyboard.press("ArrowLeft"), "Izquierda: Algo mejor"),
            (lambda: page.get_by_role("button", name="Izquierda: Mucho mejor").click(), "Izquierda: Mucho mejor"),
            (lambda: page.keyboard.press("3"), "Empate"),
        ):
            answerable(page)
            act()
            expect(status).to_contain_text(said)
        expect(page.locator("#count")).to_contain_text("4 por usted")
        given = take_snapshot(store).answers
        assert given["strength"].tolist() == ["much", "slightly", "much", ""]
        assert given["comment"].tolist() == ["just 1 test?", "", "", ""]
        wins = given["outcome"] * np.where(given["left"] == given["first"], 1, -1)
        assert wins.tolist() == [-1, 1, 1, 0]
        page.goto(f"{page.url}?lang=zh")
        expect(page.locator("#count")).to_have_text("已回答 4 · 您回答了 4")
        expect(page.locator("html")).to_have_attribute("lang", "zh")
        expect(dialog).to_be_hidden()  # the rater has answers, so the instructions were read


def test_a_long_prompt_scrolls_above_the_pair_without_answering(browser, tmp_path, served):
    items = items_of(6)
    groups = np.array(["one"] * 6, dtype=object)
    prompts = Prompts("prompt", "markdown", np.array([f"**Why?**\n\n{LONG}"] * 6, dtype=object))
    shown = [[("text", f"because {row}")] for row in range(6)]
    target = str(tmp_path / "t.db")
    create_campaign(target, Items(items.path, items.features, groups), shown, question="Which?", k=9, prompts=prompts)
    store = Store(target)
    url = served(store)
    for device in (DESKTOP, PHONE):
        context = browser.new_context(**device)
        page = context.new_page()
        open_page(page, url)
        expect(page.locator("#prompt strong")).to_have_text("Why?")
        answerable(page)
        lease = lease_of(page)
        accessible(page)
        page.locator("#prompt").click()
        page.keyboard.press("ArrowDown")  # scrolls instead of answering
        scrolled = "document.querySelector('.prompt').scrollTop"
        deadline = time.monotonic() + 5  # the page's policy forbids wait_for_function with a string
        while page.evaluate(scrolled) == 0 and time.monotonic() < deadline:
            page.wait_for_timeout(20)
        assert page.evaluate(scrolled) > 0
        assert lease_of(page) == lease
        assert page.locator("#left button").bounding_box()["y"] < device["viewport"]["height"]
        page.keyboard.press("ArrowLeft")
        expect(page.locator("#pair")).not_to_have_attribute("data-lease", lease)
        assert page.evaluate(scrolled) > 0  # the next pair has the same prompt, which stays
        context.close()
    store.close()


def test_files_that_cannot_be_loaded_say_so(at_page, tmp_path):
    (tmp_path / "broken.png").write_bytes(BEGINNINGS[".png"])
    (tmp_path / "broken.wav").write_bytes(BEGINNINGS[".wav"])
    parts = [[("image", "broken.png"), ("audio", "broken.wav"), ("text", "A text.")]] * 12
    with at_page(DESKTOP, parts=parts) as (page, _):
        message = page.get_by_text("This file could not be loaded. Skip this pair")
        expect(message).to_have_count(4)
        expect(page.get_by_text("A text.")).to_have_count(2)
        accessible(page)
        answerable(page)
        page.keyboard.press("+")  # there is nothing to zoom
        before = lease_of(page)
        page.get_by_role("button", name="Skip").click()
        page.wait_for_function(f"() => document.getElementById('pair').dataset.lease !== '{before}'")
