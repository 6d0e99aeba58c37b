"""The dashboard of a campaign with many items, in a real browser."""

import json
import re

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import expect

from pairsmith.campaign.reporting import dashboard
from support.browsing import DESKTOP, PHONE, accessible

MANY = 10_000
SCROLL = """async () => {
  const box = document.getElementById("ranking");
  for (let step = 1; step <= 40; step += 1) {
    box.scrollTop = (box.scrollHeight - box.clientHeight) * step / 40;
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  }
}"""


@pytest.fixture
def address(tmp_path, make, served):
    """The address of a dashboard of 10,000 items with pictures, ranked after 400 answers; no planner is running."""
    for number in range(20):
        Image.new("RGB", (640, 480), (12 * number, 80, 120)).save(tmp_path / f"{number}.png")
    parts = [[("image", f"{row % 20}.png"), ("text", f"thing {row}")] for row in range(MANY)]
    store = make(str(tmp_path / "t.db"), n=MANY, parts=parts, media=tmp_path)
    scores = -np.linspace(-3, 3, MANY)
    rows = [[row, row + 1, score, score - 1, score + 1, 1, MANY, 0.5] for row, score in enumerate(scores.tolist())]
    points = [[400, 0.2, 0.2, 0.2], [600, 0.1, 0.15, 0.18]]
    curve = [{"answers": mark, "doubt": 0.4 - mark / 2000, "auc": None} for mark in (200, 400)]
    dashboard.save_report(
        store,
        dashboard.EMPTY_REPORT | {
            "answers": 400, "ranking": rows, "curve": curve, "outlook": {"from": 400, "points": points, "needed": []},
            "advice": {"stop": False, "text": "Go on.", "more": ["One more thing."]},
        },
    )  # fmt: skip
    return f"{served(store)}/dashboard"


def test_ten_thousand_items_are_scrolled_and_searched_without_a_pause(browser, address):
    context = browser.new_context(**DESKTOP)
    page = context.new_page()
    pictures = []
    page.on("request", lambda request: pictures.append(request.url) if request.url.endswith("/small") else None)
    browser.start_tracing(page=page, categories=["disabled-by-default-devtools.timeline"])
    page.goto(address)
    expect(page.locator("#ranked")).to_have_text(re.compile("^10000 items"))
    expect(page.locator("#rows li .rank").first).to_have_text("1")
    expect(page.locator("#sentences li")).to_have_text(["One more thing."])
    expect(page.locator("#doubt polygon.band.two")).to_have_count(1)
    assert page.locator("#rows li").count() < 50
    assert len(pictures) < 50
    page.evaluate(SCROLL)
    expect(page.locator("#rows li .rank").last).to_have_text(str(MANY))
    page.locator("#search").fill("thing 1234")
    expect(page.locator("#rows li .rank")).to_have_text(["1235"])
    page.locator("#search").fill("nothing of this")
    expect(page.locator("#unranked")).to_have_text("Nothing is found.")
    assert longest_task(browser.stop_tracing()) < 100
    page.locator("#search").fill("")
    expect(page.locator("#rows li .rank").first).to_have_text("1")
    assert_scale_below_intervals(page)
    accessible(page)
    context.close()


def longest_task(trace):
    """Return the CPU time of a page's longest task, in milliseconds; the time of day would count other processes."""
    events = json.loads(trace)["traceEvents"]
    threads = [event for event in events if event["name"] == "thread_name"]
    pages = {(event["pid"], event["tid"]) for event in threads if event["args"]["name"] == "CrRendererMain"}
    tasks = [event for event in events if event["name"] == "RunTask" and (event["pid"], event["tid"]) in pages]
    times = [task["tdur"] / 1000 for task in tasks if "tdur" in task]
    assert len(times) > 40  # at least one for each step of scrolling
    return max(times)


def assert_scale_below_intervals(page):
    drawn, scale = page.locator("#rows li svg").first.bounding_box(), page.locator("#scale").bounding_box()
    assert abs(drawn["x"] - scale["x"]) <= 8
    assert abs(drawn["x"] + drawn["width"] - scale["x"] - scale["width"]) <= 24  # its padding, the scroll bar


def test_without_pictures_the_ranking_has_no_column_for_them(browser, tmp_path, make, served):
    store = make(str(tmp_path / "t.db"))
    rows = [[row, row + 1, -row, -row - 1, 1 - row, 1, 12, 0.5] for row in range(12)]
    dashboard.save_report(store, dashboard.EMPTY_REPORT | {"answers": 8, "ranking": rows})
    url = served(store)
    for device in (DESKTOP, PHONE):
        context = browser.new_context(**device)
        page = context.new_page()
        page.goto(f"{url}/dashboard")
        expect(page.locator("#rows .rank").first).to_be_visible()
        rank, words = (page.locator(f"#rows .{kind}").first.bounding_box() for kind in ("rank", "words"))
        assert 0 < words["x"] - rank["x"] - rank["width"] < 20
        expect(page.locator("#rows .ranks").first).to_have_text("rank 1–12")
        ranks, drawn = (page.locator(f"#rows {kind}").first.bounding_box() for kind in (".ranks", "svg"))
        assert words["x"] + words["width"] <= ranks["x"]
        assert ranks["x"] + ranks["width"] <= page.viewport_size["width"]
        assert ranks["y"] + ranks["height"] <= drawn["y"] or drawn["x"] + drawn["width"] <= ranks["x"]
        assert_scale_below_intervals(page)
        context.close()
