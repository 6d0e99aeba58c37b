"""The organiser's pages of answers, and what they post."""

from pairsmith.campaign.answering import corrections, gold, leases
from pairsmith.campaign.people import invites as people
from pairsmith.campaign.reporting import dashboard
from pairsmith.campaign.reporting.report import make_report
from pairsmith.campaign.store import wordings
from pairsmith.campaign.store.answers import add_answers
from pairsmith.campaign.store.snapshot import take_snapshot
from support.campaigns import answer_next, answers_of, ask, client_of


def test_a_pair_is_seen_as_it_was_shown(tmp_path, make):
    names = [f"{row:03d}" for row in range(12)]
    parts = [[("text", f"<b>{name}</b>"), ("markdown", f"**{name}**")] for name in names]
    store = make(str(tmp_path / "t.db"), parts=parts, question="Which?", comments=True)
    me = people.local_person(store)
    lease = leases.next_pair(store, me)
    leases.answer(store, me, lease.token, "right", 2.5, comment="<i>so</i>")
    wordings.edit(store, "Another?")
    with client_of(store) as api:
        page = api.get("/answers/1").text
        assert "<h1>Which?</h1>" in page
        left, right = (
            page.index(f"&lt;b&gt;{lease.left:03d}&lt;/b&gt;"),
            page.index(f"&lt;b&gt;{lease.right:03d}&lt;/b&gt;"),
        )
        assert left < right
        assert f"<strong>{lease.left:03d}</strong>" in page
        assert left < page.index('class="chosen"') < right
        assert "after 2.5 seconds" in page
        assert "&lt;i&gt;so&lt;/i&gt;" in page
        assert api.get("/answers/2").status_code == 404


def test_pages_of_answers(tmp_path, make):
    store = make(str(tmp_path / "t.db"), n=30, k=60)
    for _ in range(55):
        answer_next(store)
    with client_of(store) as api:
        first = api.get("/answers?person=local").text
        assert "55 answers" in first
        assert first.count("data-answer=") == 50
        assert 'href="?person=local&amp;page=2"' in first
        assert api.get("/answers?person=local&page=2").text.count("data-answer=") == 5
        assert "No such answers" in api.get("/answers", params={"item": "<nothing>"}).text
        assert "&lt;nothing&gt;" in api.get("/answers", params={"item": "<nothing>"}).text
        for wrong in ("page=0", "page=x", "item=%00", "disputed=perhaps"):
            assert api.get(f"/answers?{wrong}").status_code == 422


def test_what_is_posted_is_done_logged_and_shown(api):
    for _ in range(3):
        answer_next(api.store)
    assert ask(api, "strike", answer=1, struck=True) == {"answer": 1, "struck": True}
    assert ask(api, "exclude", name="local", excluded=True) == {"answers": 2}
    figures = api.get("/api/dashboard").json()
    assert (figures["answers"], figures["struck"], figures["excluded"]) == (
        0,
        1,
        [{"name": "local", "answers": 2, "gold": None}],
    )
    assert ask(api, "exclude", name="local", excluded=False) == {"answers": 2}
    assert len(take_snapshot(api.store).answers) == dashboard.count(api.store)["answers"] == 2
    assert ask(api, "wording", question="Why?", instructions="") == {"number": 2}
    page = api.get("/answers").text
    for told in ("local: struck", "local: excluded", "local: included", "local: edited"):
        assert told in page
    for path, body, status in (
        ("exclude", {"name": "carla", "excluded": True}, 404),
        ("exclude", {"name": "a\0", "excluded": True}, 422),
        ("strike", {"answer": 99, "struck": True}, 404),
        ("wording", {"question": " ", "instructions": ""}, 422),
        ("wording", {"question": "Which\none?"}, 422),
    ):
        answer = api.post(f"/api/{path}", json=body)
        assert answer.status_code == status
        assert isinstance(answer.json()["detail"], str)
    assert (
        api.post(
            "/api/strike", json={"answer": 1, "struck": False}, headers={"Origin": "http://evil.example"}
        ).status_code
        == 403
    )


def test_gold_pairs_are_counted_in_the_table_of_labellers(api):
    gold.know(api.store, {(0, 1): 1, (2, 3): -1})
    add_answers(api.store, answers_of([(0, 1), (2, 3), (4, 5), (4, 5)], rater=["anna", "anna", "anna", "ben"]))
    dashboard.save_report(api.store, make_report(take_snapshot(api.store)))
    people = {row["name"]: row for row in api.get("/api/dashboard").json()["report"]["people"]}
    assert people["anna"]["gold"] == [1, 2]
    assert people["ben"]["gold"] is None
    corrections.exclude(api.store, "anna")
    assert api.get("/api/dashboard").json()["excluded"] == [{"name": "anna", "answers": 3, "gold": [1, 2]}]
