"""Several questions about a pair, in a real browser."""

import re

import pytest
from playwright.sync_api import expect

from pairsmith.campaign.store.snapshot import take_snapshot
from support.browsing import DESKTOP, PHONE, accessible, answerable, open_page

TWO = ["Which is better written?", "Which is funnier?"]


class Rater:
    """A rater at the page, who tells pairs apart by their texts."""

    def __init__(self, page, url):
        self.page = page
        open_page(page, url)

    def pair(self):
        return tuple(self.page.locator(f"#{side} .text").inner_text() for side in ("left", "right"))

    def wait_for_question(self, number):
        expect(self.page.locator("#which")).to_have_text(f"Question {number} of 2")
        expect(self.page.locator("h1")).to_have_text(TWO[number - 1])
        expect(self.page).to_have_title(TWO[number - 1])

    def press(self, key):
        """Press a key as soon as it counts, and wait for the next pair."""
        answerable(self.page)
        before = self.page.get_attribute("#pair", "data-lease")
        self.page.keyboard.press(key)
        expect(self.page.locator("#pair")).not_to_have_attribute("data-lease", before)

    def counted(self, yours):
        expect(self.page.locator("#count")).to_have_text(re.compile(rf"· {yours} by you$"))


@pytest.mark.parametrize("device", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_a_pair_stays_until_all_its_questions_are_answered(browser, tmp_path, make, served, device):
    store = make(str(tmp_path / "t.db"), question=TWO, n=6)
    url = served(store)
    context = browser.new_context(**device)
    me = Rater(context.new_page(), url)
    me.wait_for_question(1)
    accessible(me.page)
    first = me.pair()
    marked = me.page.locator("#left .text").element_handle()
    me.press("ArrowLeft")
    me.wait_for_question(2)
    assert me.pair() == first
    assert me.page.locator("#left .text").element_handle().evaluate("(now, then) => now === then", marked)
    accessible(me.page)
    assert me.page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    expect(me.page.locator("#status")).to_have_text(re.compile("Answer 2"))
    me.counted(1)  # the server has it
    open_page(me.page, url)  # a reload between the two questions
    me.wait_for_question(2)
    assert me.pair() == first
    me.press("ArrowRight")
    me.wait_for_question(1)
    second = me.pair()
    assert second != first
    me.counted(2)
    me.press("u")  # back to the second question of the first pair
    me.wait_for_question(2)
    assert me.pair() == first
    me.press("u")  # and to its first question
    me.wait_for_question(1)
    assert me.pair() == first
    me.counted(0)
    for key in ("ArrowRight", "ArrowLeft"):
        me.press(key)
    me.wait_for_question(1)
    assert me.pair() == second  # it had been shown before
    me.counted(2)
    left, right = (store.items.names.index(name) for name in first)
    for question, winner in ((0, right), (1, left)):
        (answer,) = take_snapshot(store, question).answers.itertuples()
        assert (answer.first if answer.outcome > 0 else answer.second) == winner
    context.close()


def test_graded_answers_ties_comments_and_skips_belong_to_their_question(browser, tmp_path, make, served):
    store = make(str(tmp_path / "t.db"), question=TWO, n=6, graded=True, comments=True)
    url = served(store)
    page = browser.new_page(**DESKTOP)
    me = Rater(page, url)
    page.locator("#comment").fill("well put")
    page.locator("#comment").press("Enter")
    me.press("1")
    me.wait_for_question(2)
    expect(page.locator("#comment")).to_have_value("")
    me.press("ArrowDown")
    me.wait_for_question(1)
    me.press("s")
    me.wait_for_question(2)
    me.press("5")
    me.wait_for_question(1)
    me.counted(3)
    given = [take_snapshot(store, question).answers for question in (0, 1)]
    assert given[0][["strength", "comment"]].to_numpy().tolist() == [["much", "well put"]]
    assert given[1]["strength"].tolist() == ["", "much"]
    assert given[1]["outcome"].iloc[0] == 0
    assert given[1]["comment"].tolist() == ["", ""]
    page.close()


def test_a_key_pressed_too_soon_does_not_answer_the_next_question(browser, tmp_path, make, served):
    store = make(str(tmp_path / "t.db"), question=TWO, n=6, viewing_seconds=3.0)
    url = served(store)
    page = browser.new_page(**DESKTOP)
    me = Rater(page, url)
    me.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    expect(page.locator("#status")).to_contain_text("too quick")
    me.wait_for_question(2)
    me.counted(1)
    assert len(take_snapshot(store, 1).answers) == 0
    page.close()


def test_the_dashboard_shows_one_question_at_a_time(browser, tmp_path, make, serve):
    store = make(str(tmp_path / "t.db"), question=TWO, n=6, k=15)
    url, _ = serve(store.target)
    page = browser.new_page(**DESKTOP)
    for _ in range(15):
        for question in (1, 2):
            pair = page.request.post(f"{url}/api/next", data={"holding": []}).json()["pair"]
            assert pair["question"] == question
            smaller = "left" if pair["left_id"] < pair["right_id"] else "right"
            larger = {"left": "right", "right": "left"}[smaller]
            choice = smaller if question == 1 else larger
            assert page.request.post(f"{url}/api/answer", data={"lease": pair["lease"], "choice": choice}).ok
    page.goto(f"{url}/dashboard")
    expect(page.locator("#rows li .words b").first).to_have_text("000", timeout=30_000)
    expect(page.locator("[data-doubt='1']")).to_contain_text("doubt")
    expect(page.get_by_text("the next pairs are chosen for it")).to_have_count(1)
    expect(page.locator("#answers")).to_have_text("15")
    accessible(page)
    page.get_by_role("link", name=re.compile(TWO[1])).click()
    expect(page.locator("h1")).to_have_text(TWO[1])
    expect(page.locator("#rows li .words b").first).to_have_text("005", timeout=30_000)
    expect(page.get_by_role("link", name="Ranking.csv")).to_have_attribute("href", "/download/ranking.csv?question=2")
    page.locator("summary").click()
    page.get_by_role("textbox", name="Question").fill("Which made you laugh?")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("#saved")).to_contain_text("Saved as wording 2")
    expect(page.get_by_role("link", name=re.compile("2. Which made you laugh?"))).to_be_visible()
    page.goto(f"{url}/answers")
    expect(page.locator("tbody tr").first.locator("td").nth(2)).to_have_text("2")
    page.get_by_label("Question").select_option("1: " + TWO[0])
    page.get_by_role("button", name="Show", exact=True).click()
    expect(page.locator("h2").first).to_contain_text("15 answers")
    expect(page.locator("tbody tr").first.locator("td").nth(2)).to_have_text("1")
    expect(page.get_by_label("Question")).to_have_value("1")
    accessible(page)
    page.close()
