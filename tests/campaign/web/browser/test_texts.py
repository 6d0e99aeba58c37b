"""The demo with texts, in a real browser: from one command to the ranking."""

import pandas as pd
from playwright.sync_api import expect

from pairsmith.campaign.setup.demo import REVIEWS
from support.browsing import DESKTOP, accessible, answerable, open_page


def test_texts_alone_are_rated_from_the_first_pair_to_the_ranking(run, serve, browser, tmp_path):
    target = str(tmp_path / "reviews.db")
    assert run("demo-campaign", target, "--texts", "--no-serve")[0] == 0
    url, _ = serve(target)
    with browser.new_context(**DESKTOP) as context:
        page = context.new_page()
        page.goto(url)
        expect(page.locator("#instructions")).to_contain_text("none of which you can see")
        open_page(page, url)
        expect(page.get_by_role("heading", name="Which review is more helpful?")).to_be_visible()
        accessible(page)
        for _ in range(15):  # this rater finds longer reviews more helpful
            answerable(page)
            left, right = (len(page.locator(f"#{side}").inner_text()) for side in ("left", "right"))
            before = page.get_attribute("#pair", "data-lease")
            page.keyboard.press("ArrowLeft" if left >= right else "ArrowRight")
            expect(page.locator("#pair")).not_to_have_attribute("data-lease", before)

        page.goto(f"{url}/dashboard")
        expect(page.locator("#answers")).to_have_text("15")
        expect(page.locator("#rows .rank").first).to_have_text("1", timeout=30_000)
        best = page.locator("#rows .said").all_inner_texts()[:10]
        lengths = pd.read_csv(REVIEWS)["review"].str.len()
        assert len(best) == 10
        assert min(map(len, best)) > lengths.median()
        accessible(page)
