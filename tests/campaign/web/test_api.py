"""The API, without a port, and its schema against random requests."""

import pytest
import schemathesis
from hypothesis import given, settings

from pairsmith.campaign.answering import corrections, gold
from pairsmith.campaign.people import enrolment
from pairsmith.campaign.reporting import dashboard
from pairsmith.campaign.reporting.report import make_report
from pairsmith.campaign.store.answers import add_answers
from pairsmith.campaign.store.snapshot import take_snapshot
from pairsmith.campaign.store.store import Store
from support.campaigns import answer_next, answers_of, ask, client_of


def test_a_rater_answers_and_takes_back(api):
    first = ask(api, "next")["pair"]
    assert ask(api, "next")["pair"] == first  # loaded again
    second = ask(api, "next", holding=[first["lease"]])["pair"]
    assert second["lease"] != first["lease"]
    taken = ask(api, "answer", lease=first["lease"], choice="left", seconds=1.5)
    assert taken["counted"]
    assert taken["progress"] == {"answers": 1, "yours": 1, "wanted": 9, "goal": None, "quota": None,
                                 "undo": first["lease"]}  # fmt: skip
    assert not ask(api, "answer", lease=first["lease"], choice="right")["counted"]
    assert ask(api, "next")["pair"] == second
    back = ask(api, "undo", lease=first["lease"])
    assert back["pair"]["left"] == first["left"]
    assert back["progress"]["answers"] == 0
    assert api.get("/api/progress").json()["wanted"] == 10


def test_an_organiser_sees_the_ranking_and_the_dashboard(api):
    assert api.get("/api/ranking").json() == {"answers": 0, "total": 0, "low": 0.0, "high": 0.0, "items": []}
    for _ in range(10):
        pair = ask(api, "next")["pair"]
        ask(api, "answer", lease=pair["lease"], choice="left" if str(pair["left"]) < str(pair["right"]) else "right")
    dashboard.save_report(api.store, make_report(take_snapshot(api.store)))
    ranking = api.get("/api/ranking", params={"limit": 3, "offset": 2}).json()
    assert ranking["answers"] == 10
    assert [item["rank"] for item in ranking["items"]] == [3, 4, 5]
    assert all(ranking["low"] <= item["low"] < item["score"] < item["high"] for item in ranking["items"])
    assert ranking["total"] == 12
    assert api.get("/api/ranking", params={"search": "007"}).json()["total"] == 1
    figures = api.get("/api/dashboard").json()
    assert (figures["answers"], figures["planned"], figures["complete"], figures["last_hour"]) == (10, 10, 10, 10)
    assert figures["report"]["people"][0]["name"] == "local"
    assert ask(api, "next")["pair"] is None


def test_an_organiser_pauses_and_raters_see_why(api):
    assert ask(api, "next")["over"] is None
    assert ask(api, "state", action="pause") == {"state": "paused"}
    assert ask(api, "next") == {"pair": None, "over": "paused", "progress": api.get("/api/progress").json()}
    assert api.get("/api/dashboard").json()["course"] == {
        "state": "paused", "over": "paused", "goals": [], "given": 0, "goal": None}  # fmt: skip
    again = api.post("/api/state", json={"action": "pause"})
    assert again.status_code == 409
    assert again.json()["detail"] == "the campaign is paused; choose resume or close"
    assert ask(api, "state", action="close") == {"state": "closed"}
    assert ask(api, "next")["over"] == "closed"
    assert ask(api, "state", action="reopen") == {"state": "open"}
    assert ask(api, "next")["pair"] is not None
    elsewhere = {"Origin": "https://evil.example"}
    assert api.post("/api/state", json={"action": "close"}, headers=elsewhere).status_code == 403
    assert ask(api, "next")["pair"] is not None


def test_after_the_end_only_the_pair_on_the_screen_and_earlier_answers_count(api):
    leases = [ask(api, "next")["pair"]["lease"]]
    for _ in range(3):
        leases.append(ask(api, "next", holding=leases)["pair"]["lease"])
    ask(api, "state", action="close")
    assert ask(api, "answer", lease=leases[0], choice="left", ago=3600)["counted"]
    assert ask(api, "answer", lease=leases[1], choice="left")["counted"]
    late = api.post("/api/answer", json={"lease": leases[2], "choice": "left"})
    assert (late.status_code, late.json()["detail"][:20]) == (410, "the campaign is over")
    assert ask(api, "answer", lease=leases[3], choice="left", ago=3600)["counted"]
    assert api.post("/api/answer", json={"lease": leases[2], "choice": "left", "ago": -1}).status_code == 422


def test_the_dashboard_says_how_many_pairs_wait_for_whom(tmp_path, make):
    with client_of(make(str(tmp_path / "t.db"), answers_per_pair=2)) as api:
        assert api.get("/api/dashboard").json()["waits"] == ""
        ask(api, "answer", lease=ask(api, "next")["pair"]["lease"], choice="left")
        told = api.get("/api/dashboard").json()["waits"]
    assert told == "1 pair waits for a second person: nobody else is invited."


def test_corrections_take_effect_and_are_logged(api):
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
    for change in ("local: struck", "local: excluded", "local: included", "local: edited"):
        assert change in page
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


def test_gold_pairs_are_counted_in_the_table_of_raters(api):
    gold.know(api.store, {(0, 1): 1, (2, 3): -1})
    add_answers(api.store, answers_of([(0, 1), (2, 3), (4, 5), (4, 5)], rater=["anna", "anna", "anna", "ben"]))
    dashboard.save_report(api.store, make_report(take_snapshot(api.store)))
    people = {row["name"]: row for row in api.get("/api/dashboard").json()["report"]["people"]}
    assert people["anna"]["gold"] == [1, 2]
    assert people["ben"]["gold"] is None
    corrections.exclude(api.store, "anna")
    assert api.get("/api/dashboard").json()["excluded"] == [{"name": "anna", "answers": 3, "gold": [1, 2]}]


def test_a_person_with_an_enrolment_link_enrols_once(public, store):
    link = enrolment.open_places(store, 2)
    assert public.get("/enrol/guess").status_code == 401
    page = public.get(f"/enrol/{link}?lang=es")
    assert page.status_code == 200
    assert "Su nombre" in page.text
    assert enrolment.places_left(store, link) == 2  # opening the link does not take a place
    assert public.get("/").status_code == 401
    taken = public.post("/api/enrol", json={"link": link, "name": "anna"})
    assert taken.status_code == 200
    cookie = taken.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "secure" in cookie
    assert "samesite=lax" in cookie
    assert public.get("/").status_code == 200
    assert public.get("/dashboard").status_code == 401
    again = public.get(f"/enrol/{link}?lang=es", follow_redirects=False)  # the same browser
    assert (again.status_code, again.headers["location"]) == (303, "/?lang=es")
    public.cookies.clear()
    assert public.post("/api/enrol", json={"link": link, "name": "Anna"}).status_code == 409
    assert public.post("/api/enrol", json={"link": link, "name": " "}).status_code == 422
    assert public.post("/api/enrol", json={"link": link, "name": "ben"}).status_code == 200
    public.cookies.clear()
    assert public.post("/api/enrol", json={"link": link, "name": "carla"}).status_code == 410
    assert "All places are taken" in public.get(f"/enrol/{link}").text
    foreign = {"Origin": "https://evil.example"}
    assert public.post("/api/enrol", json={"link": link, "name": "d"}, headers=foreign).status_code == 403


def test_markdown_comes_with_its_source(tmp_path, make):
    with client_of(make(str(tmp_path / "t.db"), parts=[[("markdown", "some *words*")]] * 12)) as api:
        (part,) = ask(api, "next")["pair"]["left"]
        assert (part["text"], part["html"].strip()) == ("some *words*", "<p>some <em>words</em></p>")


@pytest.mark.slow
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b'{"lease": 1, "choice": "left"}',
        b'{"lease": null, "choice": "left"}',
        b'{"lease": "\\u0000", "choice": "left"}',
        b'{"lease": "\\ud800", "choice": "left"}',
        b'{"lease": "\xff", "choice": "left"}',
        b'{"lease": "x", "choice": "left", "seconds": "soon"}',
        b'{"lease": "x", "choice": "left", "seconds": -1}',
        b'{"lease": "x", "choice": "left", "seconds": NaN}',
        b'{"lease": "x", "choice": "left", "seconds": 1e999}',
        b'{"lease": "x", "choice": "left", "outcome": 1}',
        b'{"lease": {"$ne": ""}, "choice": "left"}',
        b"[" * 10_000,
    ],
)
def test_wrong_types_are_refused(local, body):
    answer = local.post("/api/answer", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code in (400, 422)
    assert isinstance(answer.json()["detail"], str)


def test_a_rater_does_not_wait_for_all_items_to_be_read(local, monkeypatch):
    monkeypatch.setattr(Store, "items_as_of", lambda *_: pytest.fail("all items were read"))
    pair = local.post("/api/next", json={}).json()["pair"]
    assert {pair["left_id"], pair["right_id"]} <= {f"{row:03}" for row in range(1000)}
    assert local.post("/api/answer", json={"lease": pair["lease"], "choice": "left"}).json()["counted"]


OPERATIONS = [
    ("/api/campaign", "GET"),
    ("/api/next", "POST"),
    ("/api/renew", "POST"),
    ("/api/answer", "POST"),
    ("/api/undo", "POST"),
    ("/api/progress", "GET"),
    ("/api/state", "POST"),
    ("/api/enrol", "POST"),
    ("/api/ranking", "GET"),
    ("/api/dashboard", "GET"),
    ("/api/exclude", "POST"),
    ("/api/strike", "POST"),
    ("/api/wording", "POST"),
]


@pytest.mark.slow
@pytest.mark.parametrize("mode", [schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE])
@pytest.mark.parametrize(("path", "method"), OPERATIONS)
def test_every_response_follows_the_schema(local, path, method, mode):
    contract = schemathesis.openapi.from_asgi("/api/openapi.json", local.app, headers={"Host": "127.0.0.1"})
    assert {(path, method.upper()) for path in contract for method in contract[path]} == set(OPERATIONS)
    if mode == schemathesis.GenerationMode.NEGATIVE and method == "GET" and path != "/api/ranking":
        return  # these requests have nothing that could be wrong

    @settings(max_examples=30)
    @given(case=contract[path][method].as_strategy(generation_mode=mode))
    def check(case):
        case.call_and_validate(headers={"Host": "127.0.0.1"})

    check()
