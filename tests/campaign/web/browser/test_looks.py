"""The looks of the pages in a real browser: nothing is cut off or scrolls sideways, and dark colours are readable."""

from pathlib import Path

import pandas as pd
import pytest
from playwright.sync_api import expect

from pairsmith.campaign.answering import leases
from pairsmith.campaign.reporting import dashboard
from pairsmith.campaign.reporting.report import make_report
from pairsmith.campaign.store.snapshot import take_snapshot
from pairsmith.campaign.store.store import Store
from pairsmith.campaign.web.app import create_app
from pairsmith.campaign.web.folder import Listed, create_listing
from pairsmith.files.items import Items
from support.browsing import DESKTOP, PHONE, accessible, open_page
from support.campaigns import create_campaign, invite_people
from support.server_fixtures import serving

LONG = "Which of these two descriptions would make you want to read the whole of the book that it is about, and why?"
# Elements that are wider than the screen, or scroll sideways. A phone shrinks a page that is too wide, and innerWidth
# grows with it; so the width of the screen is passed in.
TOO_WIDE = """(width) => [...document.querySelectorAll("body, header, main, .scroll")].filter((element) =>
  element.getBoundingClientRect().right > width + 1 || element.scrollWidth > element.clientWidth + 1
).map((element) => element.outerHTML.slice(0, 90))"""


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """A campaign with long names and groups, 24 answers of three people with comments, and a report."""
    place = str(tmp_path_factory.mktemp("looks") / "t.db")
    names = [f"the {at}. description of a book" for at in range(12)]
    features = pd.DataFrame({"f": range(12)}, index=names, dtype=float)
    groups = pd.Series([f"{LONG} {at % 2}" for at in range(12)], index=names)
    items = Items(Path("items.csv"), features, groups=groups.to_numpy())
    create_campaign(
        place, items, [[("text", LONG)]] * 12, question=LONG, k=30, comments=True, instructions=f"{LONG}\n\n" * 12
    )
    with Store(place) as store:
        for person in invite_people(store, 3):
            for _ in range(8):
                leases.answer(store, person, leases.next_pair(store, person).token, "left", 1.5, comment=LONG)
        dashboard.save_report(store, make_report(take_snapshot(store)))
        yield store


@pytest.fixture(scope="module")
def addresses(store):
    """The addresses of the campaign and of its folder."""
    found = [
        Listed("a-campaign-with-a-long-name.db", store, 8101),
        Listed("bad.db", problem=f"bad.db is damaged. {LONG}"),
    ]
    with serving(create_app(store)) as campaign, serving(create_listing(Path("folder"), found)) as folder:
        yield {"campaign": campaign, "folder": folder}


# Two of the four combinations suffice: colours do not depend on the screen, nor the layout on the colours.
@pytest.mark.parametrize(("device", "scheme"), [(DESKTOP, "light"), (PHONE, "dark")], ids=["desktop", "phone"])
def test_every_page_fits_and_is_accessible(browser, addresses, device, scheme):
    context = browser.new_context(**device, color_scheme=scheme)
    page = context.new_page()
    for place, path in [
        ("campaign", "/dashboard"),
        ("campaign", "/answers"),
        ("campaign", "/answers/1"),
        ("campaign", "/"),
        ("campaign", "/nowhere"),
        ("folder", "/"),
    ]:
        open_page(page, addresses[place] + path)
        if path == "/dashboard":
            expect(page.locator("#people tbody th")).to_have_text(["p0", "p1", "p2"])
        assert page.evaluate("document.documentElement.scrollWidth") <= device["viewport"]["width"], path
        assert page.evaluate(TOO_WIDE, device["viewport"]["width"]) == [], path
        accessible(page)
    context.close()


def test_the_dashboard_hides_empty_columns_and_links_to_the_rating_page(browser, addresses):
    page = browser.new_page(**DESKTOP)
    page.goto(f"{addresses['campaign']}/dashboard")
    tile = page.locator("#learned > div", has_text="Predicted right")
    expect(tile.locator("dd")).to_have_text(
        ["–", "of the random pairs, before they were answered", "too few so far: 2 pairs"]
    )
    heads = page.locator("#people thead th")
    expect(heads.filter(visible=True).first).to_have_text("Name")
    assert "Gold right" not in heads.filter(visible=True).all_inner_texts()  # there are no gold pairs
    assert "Slope" in heads.filter(visible=True).all_inner_texts()
    page.get_by_role("link", name="Rate", exact=True).click()
    expect(page.locator("#question")).to_have_text(LONG)
    page.close()


@pytest.mark.parametrize("device", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_long_instructions_open_at_their_beginning(browser, addresses, device):
    context = browser.new_context(**device)
    page = context.new_page()
    page.goto(addresses["campaign"])
    button = page.locator("#instructions form button")
    expect(button).to_be_focused()
    expect(button).to_be_in_viewport(ratio=1)
    expect(page.locator("#how")).to_be_in_viewport(ratio=1)
    assert page.locator("#instructions kbd").first.is_visible() == (device is DESKTOP)  # phones have no keys
    context.close()
