"""Organisers exclude raters, strike out answers and edit the wording, in a real browser."""

import re

from playwright.sync_api import expect

from pairsmith.campaign.answering import leases
from pairsmith.campaign.reporting import dashboard
from pairsmith.campaign.store import wordings
from pairsmith.campaign.store.snapshot import take_snapshot
from support.browsing import DESKTOP, PHONE, accessible, answerable, open_page
from support.campaigns import invite_people


def add_answers(store, count=12):
    """Add answers of two people to the same pairs; the second always chooses left."""
    for person in invite_people(store, 2):
        for _ in range(count):
            lease = leases.next_pair(store, person)
            choice = "left" if person == 2 or lease.left < lease.right else "right"
            leases.answer(store, person, lease.token, choice, 1.5)


def test_a_rater_is_excluded_and_included_again(browser, tmp_path, make, serve):
    store = make(str(tmp_path / "t.db"), answers_per_pair=2, k=20)
    add_answers(store)
    url, _ = serve(str(tmp_path / "t.db"))
    page = browser.new_page(**DESKTOP)
    page.goto(f"{url}/dashboard")
    row = page.locator("#people tbody tr", has_text="p1")
    expect(row).to_be_visible(timeout=30_000)
    expect(row.locator("td[data-key=flags]")).to_contain_text("looks one-sided: 100% of 12 answers")
    accessible(page)
    row.get_by_role("button", name="Exclude p1").click()
    expect(row.get_by_role("button", name="Include p1")).to_be_visible()
    expect(page.locator("#answers")).to_have_text("12")
    expect(page.locator("#left_out")).to_contain_text("12 answers of excluded raters")
    assert set(take_snapshot(store).answers["rater"]) == {"p0"}
    accessible(page)
    row.get_by_role("button", name="Include p1").click()
    expect(row.get_by_role("button", name="Exclude p1")).to_be_visible(timeout=30_000)
    expect(page.locator("#answers")).to_have_text("24")
    expect(page.locator("#left_out")).to_be_hidden()
    page.close()


def test_buttons_that_need_a_script_are_disabled_until_it_runs(browser, tmp_path, make, served):
    """If scripts load slowly, a click would be lost, or a form sent as if there were no script."""
    store = make(str(tmp_path / "t.db"), answers_per_pair=2, k=20)
    add_answers(store, 1)
    url = served(store)
    page = browser.new_page(**DESKTOP)
    page.route("**/static/*.js", lambda route: route.abort())
    for path, button in (("answers", "Strike out answer 1"), ("answers/1", "Strike out"), ("dashboard", "Save")):
        page.goto(f"{url}/{path}")
        for summary in page.locator("summary").all():
            summary.click()
        expect(page.get_by_role("button", name=button, exact=True)).to_be_disabled()
    page.close()


def test_an_answer_is_viewed_struck_out_and_restored(browser, tmp_path, make, served):
    store = make(str(tmp_path / "t.db"), answers_per_pair=2, k=20)
    add_answers(store, 3)
    url = served(store)
    page = browser.new_page(**PHONE)
    page.goto(f"{url}/dashboard")
    page.get_by_role("link", name="All answers").click()
    expect(page.locator("h2").first).to_have_text("6 answers")
    accessible(page)
    page.get_by_label("Rater").select_option("p1")
    page.get_by_role("button", name="Show", exact=True).click()
    expect(page.locator("h2").first).to_have_text("3 answers")
    page.get_by_role("button", name="Strike out answer 5").click()
    expect(page.get_by_role("button", name="Restore answer 5")).to_be_visible()
    assert len(take_snapshot(store).answers) == 5
    page.get_by_role("link", name="5", exact=True).click()
    expect(page.locator("main")).to_contain_text("p1 answered left")
    expect(page.locator(".chosen .over")).to_contain_text("Left: ")
    accessible(page)
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    page.get_by_role("button", name="Restore").click()
    expect(page.get_by_role("button", name="Strike out")).to_be_visible()
    assert len(take_snapshot(store).answers) == 6
    page.close()


def test_the_table_says_so_when_no_answers_are_left(browser, tmp_path, make, served):
    store = make(str(tmp_path / "t.db"))
    row = {"name": "p0", "answers": 1, "flags": []}
    dashboard.save_report(store, dashboard.EMPTY_REPORT | {"answers": 1, "people": [row]})
    page = browser.new_page()
    page.goto(f"{served(store)}/dashboard")
    expect(page.locator("#people tbody")).to_contain_text("p0")
    dashboard.save_report(store, dashboard.EMPTY_REPORT)
    expect(page.locator("#people tbody")).to_have_text("Nobody has answered yet.", timeout=30_000)
    page.close()


def test_an_edited_question_comes_with_the_next_pair(browser, tmp_path, make, served):
    store = make(str(tmp_path / "t.db"), question="Which?")
    url = served(store)
    organiser, rater = browser.new_page(), browser.new_page()
    open_page(rater, url)
    rater.wait_for_load_state("networkidle")  # it has loaded the next pair, with the old question
    organiser.goto(f"{url}/dashboard")
    organiser.locator("summary").click()
    organiser.get_by_label("Question").fill("Which now?")
    organiser.get_by_label("Instructions").fill("**Look** again.")
    organiser.get_by_role("button", name="Save").click()
    expect(organiser.locator("#saved")).to_contain_text("Saved as wording 2")
    assert wordings.current(store) == (2, "Which now?", "**Look** again.")
    for _ in range(2):
        answerable(rater)
        shown = rater.get_attribute("#pair", "data-lease")
        rater.keyboard.press("ArrowLeft")
        expect(rater.locator("#pair")).not_to_have_attribute("data-lease", shown)
        expect(rater.locator("#count")).to_have_text(re.compile("by you$"))
    expect(rater.locator("h1")).to_have_text("Which now?")
    expect(rater.locator("#instructions strong")).to_have_text("Look")
    expect(rater.locator("#instructions")).to_be_visible()
    accessible(rater)
    rater.locator("#instructions form button").click()
    expect(rater.locator("#status")).to_contain_text("have changed")
    answerable(rater)
    rater.keyboard.press("ArrowLeft")
    expect(rater.locator("#count")).to_have_text(re.compile("3 by you$"))
    assert take_snapshot(store).answers["wording"].tolist() == [1, 1, 2]
    organiser.close()
    rater.close()


def test_the_question_can_be_edited_beside_long_instructions(browser, tmp_path, make, served):
    store = make(str(tmp_path / "t.db"), question="Which?", instructions=6000 * "x")  # a form may send 5000
    url = served(store)
    page = browser.new_page()
    page.goto(f"{url}/dashboard")
    page.locator("summary").click()
    page.get_by_role("button", name="Save").click()
    expect(page.locator("#saved")).to_have_text("Nothing has changed.")
    page.get_by_label("Question").fill("Which now?")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("#saved")).to_contain_text("Saved as wording 2")
    assert wordings.current(store) == (2, "Which now?", 6000 * "x")
    page.close()
