"""The page that lists the campaigns of a folder."""

import asyncio
import re
from concurrent.futures import ThreadPoolExecutor

from fastapi.testclient import TestClient

from pairsmith.campaign.store import wordings
from pairsmith.campaign.web.folder import ByPort, Listed, create_listing
from support.campaigns import Clock, answer_next


def test_campaigns_are_listed_with_question_state_and_answers(tmp_path, make):
    one = make(str(tmp_path / "one.db"), question="<b>Which?</b>", clock=Clock())
    two = make(str(tmp_path / "two.db"), question="Why?")
    answer_next(one)
    found = [Listed("one.db", one, 8101), Listed("two.db", two, 8102), Listed("bad.db", problem="bad.db is damaged")]
    with TestClient(create_listing(tmp_path, found), base_url="http://127.0.0.1:8000") as client:
        page = client.get("/").text
        cells = [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in page.split('<th scope="row"')[1:]]
        described = [[row[0], *row[2:4]] for row in cells[:2]]  # the links are in between
        assert described == [["&lt;b&gt;Which?&lt;/b&gt;", "open", "1"], ["Why?", "open", "0"]]
        assert "2023-11-14 22:13:20" in page  # the time of the clock
        assert 'href="http://127.0.0.1:8101/"' in page
        assert 'href="http://127.0.0.1:8102/dashboard"' in page
        assert "bad.db is damaged" in page
        wordings.edit(two, "Why now?")
        assert "Why now?" in client.get("/").text
        assert client.get("/", headers={"Host": "label.example.org"}).status_code == 400
        assert client.get("/", headers={"X-Forwarded-For": "1.2.3.4"}).status_code == 400


def test_the_port_of_a_request_selects_the_campaign():
    reached, first = [], []

    def app(name):
        async def call(scope, receive, send):
            reached.append(name)

        return call

    by_port = ByPort(app("list"), {8101: app("one"), 8102: app("two")}, first.append)
    for scope in (
        {"type": "lifespan"},
        {"type": "http", "server": ("127.0.0.1", 8102)},
        {"type": "http", "server": ("127.0.0.1", 8000)},
        {"type": "http", "server": ("127.0.0.1", 8101)},
        {"type": "http", "server": ("127.0.0.1", 8102)},
    ):
        with ThreadPoolExecutor(1) as elsewhere:  # this thread may already run the event loop of a browser
            elsewhere.submit(asyncio.run, by_port(scope, None, None)).result()
    assert reached == ["list", "two", "list", "one", "two"]
    assert first == [8102, 8101]
