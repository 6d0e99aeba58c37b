"""Raters enrol in a real browser, answer until a campaign is over, and are thanked."""

import re

import pytest
from playwright.sync_api import expect

from pairsmith.campaign.answering import goals
from pairsmith.campaign.answering.goals import Goals
from pairsmith.campaign.people import enrolment
from pairsmith.campaign.people import invites as people
from pairsmith.campaign.store.snapshot import take_snapshot
from support.browsing import DESKTOP, PHONE, accessible, answerable


@pytest.fixture
def page_of(browser):
    """Return page_of(device, locale), which opens a page with cookies of its own."""
    contexts = []

    def open_one(device=DESKTOP, locale="en-GB"):
        contexts.append(browser.new_context(**device, locale=locale))
        return contexts[-1].new_page()

    yield open_one
    for context in contexts:
        context.close()


def begin(page, url, link, name):
    page.goto(f"{url}/enrol/{link}")
    page.fill("#name", name)
    page.locator("#enrol button").click()


def answer(page):
    answerable(page)
    before = page.get_attribute("#pair", "data-lease")
    page.keyboard.press("ArrowLeft")
    expect(page.locator("#pair")).not_to_have_attribute("data-lease", before)


@pytest.mark.parametrize("device", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_enrol_answer_to_the_end_of_the_budget_and_be_thanked(tmp_path, make, served, page_of, device):
    target = str(tmp_path / "t.db")
    store = make(target, n=8, k=10, goals=Goals(answers=6))
    link = enrolment.open_places(store, 2)
    url = served(store, local=False)
    anna, ben = page_of(device), page_of(device, "es-MX")
    anna.goto(f"{url}/enrol/{link}")
    accessible(anna)
    begin(anna, url, link, "Anna")
    expect(anna.locator("#count")).to_have_text("0 of 6 answered · 0 by you")
    begin(ben, url, link, "anna")
    expect(ben.locator("#status")).to_contain_text("Alguien tiene ya este nombre")
    ben.fill("#name", "Ben")
    ben.keyboard.press("Enter")
    for page, times in ((anna, 2), (ben, 1), (anna, 2)):
        for _ in range(times):
            answer(page)
    expect(ben.locator("#count")).to_have_text(re.compile("de 6 respondidos · 1 por usted"))
    answer(ben)  # the last answer of the budget
    expect(ben.locator("#empty")).to_contain_text("¡Gracias!")
    expect(ben.locator("#empty")).to_contain_text("todas las respuestas que se querían")
    expect(anna.locator("#empty")).to_contain_text("Thank you! The campaign is over: all the answers it needed are in.")
    expect(anna.locator("nav [data-choice=skip]")).to_be_hidden()
    accessible(anna)
    assert len(take_snapshot(store).answers) == 6
    third = page_of(device)
    third.goto(f"{url}/enrol/{link}")
    expect(third.locator("main")).to_contain_text("All places are taken")
    goals.change(store, answers="9")  # the pages notice; one page takes two pairs, one of them for later
    expect(anna.locator("#pair")).to_have_attribute("data-lease", re.compile("."), timeout=15_000)


def test_an_organiser_pauses_and_closes_on_the_dashboard(tmp_path, make, served, page_of):
    target = str(tmp_path / "t.db")
    store = make(target, n=8, k=10, answers_per_pair=3, goals=Goals(answers=20, quota=9))
    url = served(store)
    boss, rater = page_of(), page_of()
    rater.goto(url)
    expect(rater.locator("#count")).to_have_text("0 of your 9 answered")
    boss.goto(f"{url}/dashboard")
    expect(boss.locator("#standing")).to_have_text("Open. 0 of 20 answers · 9 answers each person.")
    accessible(boss)
    boss.on("dialog", lambda dialog: dialog.accept())
    boss.get_by_role("button", name="Pause").click()
    expect(boss.locator("#standing")).to_contain_text("Paused")
    answer(rater)
    answer(rater)  # the pair on the screen and the one behind it still count
    expect(rater.locator("#empty")).to_contain_text("Paused.")
    expect(boss.locator("#waits")).to_contain_text("2 pairs wait for a second or third person")
    boss.get_by_role("button", name="Resume").click()
    expect(rater.locator("#pair")).to_have_attribute("data-lease", re.compile("."), timeout=15_000)
    boss.get_by_role("button", name="Close").click()
    expect(boss.get_by_role("button", name="Reopen")).to_be_visible()
    answer(rater)  # the pair on the screen counts; the one behind it is given back
    expect(rater.locator("#empty")).to_contain_text("Thank you! The campaign is over: it was closed.")
    expect(rater.locator("#undo")).to_be_disabled()
    expect(rater.locator("#status")).to_have_text("")
    assert len(take_snapshot(store).answers) == 3


def test_an_answer_given_before_the_page_knows_of_the_end_does_not_count(tmp_path, make, served, page_of):
    """The page learns late of the end, because the previous answer is acknowledged late."""
    store = make(str(tmp_path / "t.db"), n=8, k=10)
    page = page_of()
    page.goto(served(store))
    answer(page)
    answerable(page)
    goals.act(store, "close")
    page.route("**/api/answer", lambda route: (page.wait_for_timeout(1500), route.continue_()))
    answer(page)
    answer(page)
    expect(page.locator("#empty")).to_contain_text("Thank you! The campaign is over: it was closed.", timeout=15_000)
    expect(page.locator("#status")).to_have_text("Not counted: the campaign was over before you answered.")
    assert len(take_snapshot(store).answers) == 2


def test_answers_given_offline_before_the_end_count(tmp_path, make, served, page_of):
    store = make(str(tmp_path / "t.db"), n=8, k=10)
    page = page_of()
    page.goto(served(store))
    answer(page)
    answerable(page)
    page.wait_for_load_state("networkidle")  # the next pair is loaded ahead
    page.context.set_offline(True)
    answer(page)
    answer(page)
    expect(page.locator("#status")).to_contain_text("not saved yet")
    page.wait_for_timeout(200)
    goals.act(store, "close")
    page.context.set_offline(False)
    expect(page.locator("#empty")).to_contain_text("Thank you! The campaign is over: it was closed.", timeout=15_000)
    assert len(take_snapshot(store).answers) == 3


def test_two_campaigns_in_one_browser_keep_both_invites(tmp_path, make, served, page_of):
    stores = [make(str(tmp_path / f"{name}.db")) for name in ("one", "two")]
    urls = [served(store, local=False, insecure=True) for store in stores]
    page = page_of()
    for store, url in zip(stores, urls, strict=True):
        page.goto(f"{url}/join/{people.invite(store, 'anna')}")
        answerable(page)
    for url in urls:
        page.goto(url)
        answer(page)
    assert [len(take_snapshot(store).answers) for store in stores] == [1, 1]
