"""Tests of the dashboard's figures and columns, and of stored reports."""

import re

from pairsmith.campaign.answering import corrections, goals, leases
from pairsmith.campaign.people import invites
from pairsmith.campaign.planning import planner
from pairsmith.campaign.reporting import browse, dashboard
from pairsmith.campaign.reporting.report import make_report
from pairsmith.campaign.store.answers import add_answers
from pairsmith.campaign.store.raters import LOCAL
from pairsmith.campaign.store.snapshot import take_snapshot
from support.campaigns import Clock, answer_next, answers_of


def test_figures_count_what_happened(target, make):
    clock = Clock()
    store = make(target, n=8, k=6, clock=clock)
    me = invites.local_rater(store)
    for choice in ("left", "tie", "skip", "right"):
        answer_next(store, choice)
    leases.undo(store, me, leases.progress(store, me)["undo"])
    clock.now += 3601
    answer_next(store, "left")  # the pair that was taken back
    assert planner.plan_round(store)
    assert dashboard.count(store) == {
        "answers": 3, "last_hour": 1, "skipped": 1, "undone": 1, "planned": 12, "complete": 3, "rounds": 2,
    }  # fmt: skip


def test_page_shows_each_figure_and_column(api):
    shown = {key for figure in dashboard.FIGURES for key in (figure.key, figure.out_of) if key}
    assert shown == dashboard.count(api.store).keys()
    assert shown <= api.get("/api/dashboard").json().keys()
    page = api.get("/dashboard").text
    figures = page[page.index('<dl id="figures"') : page.index("</dl>")]
    assert re.findall(r'id="(\w+)">–', figures) == [
        key for figure in dashboard.FIGURES for key in (figure.key, figure.out_of) if key
    ]
    answer_next(api.store)
    (row,) = make_report(take_snapshot(api.store))["people"]
    assert row.keys() | {"gold"} == {column.key for column in dashboard.PEOPLE_COLUMNS}
    assert make_report(take_snapshot(api.store))["learned"].keys() == {figure.key for figure in dashboard.LEARNED}
    built = [*dashboard.LEARNED, *dashboard.PEOPLE_COLUMNS, *dashboard.JUDGE_COLUMNS]
    assert re.findall(r'data-key="(\w+)"', page) == [shown.key for shown in built]
    known = re.search(r"const formats = \{(.*?)\n\};", api.get("/static/dashboard.js").text, re.DOTALL).group(1)
    assert {shown.format for shown in built} <= set(re.findall(r"^  (\w+):", known, re.MULTILINE))


def test_only_the_last_report_is_kept(target, make):
    store = make(target)
    empty = {key: value for key, value in dashboard.EMPTY_REPORT.items() if key != "ranking"}
    assert dashboard.last_report(store) == empty
    assert dashboard.last_ranking(store) == []
    assert dashboard.last_problem(store) == ""
    for number in (1, 2):
        dashboard.save_report(store, {"answers": number, "ranking": [[number]]})
        dashboard.save_state(store, {"doubts": {}}, {"from": number})
        dashboard.save_problem(store, f"no room {number}")
    assert dashboard.last_report(store) == empty | {"answers": 2}  # missing parts are empty
    assert dashboard.last_ranking(store) == [[2]]
    assert dashboard.last_state(store) == ({"doubts": {}}, {"from": 2})
    assert dashboard.last_problem(store) == "no room 2"
    dashboard.save_problem(store, "")
    assert dashboard.last_problem(store) == ""


def test_advice_is_withdrawn_after_corrections_and_many_more_answers(target, make):
    """A report of 60 answers holds for the next 25, and one of 200 for the next 50. A pause corrects nothing."""
    store = make(target, n=8, k=4)
    report = {"answers": 60, "outlook": {"points": []}, "advice": {"stop": True, "text": "You can stop.", "more": []}}

    def shown(now, **changed):
        dashboard.save_report(store, report | changed)
        return dashboard.shown_report(store, now)

    for current in (shown(59), shown(60), shown(84), shown(249, answers=200)):
        assert current["outlook"] == report["outlook"]
        assert current["advice"] == report["advice"]
    assert shown(90, advice=None)["advice"] is None
    for outdated in (shown(85), shown(250, answers=200)):
        assert outdated["outlook"] is None
        assert not outdated["advice"]["stop"]
    assert outdated["advice"]["text"] == (
        "Being computed again: the figures below are from 200 answers, and there are 250 answers now."
    )
    goals.act(store, "pause")
    assert shown(60)["advice"]["stop"]
    goals.act(store, "resume")
    answer_next(store)
    corrections.exclude(store, LOCAL)
    assert shown(60)["advice"] == {
        "stop": False,
        "text": "Being computed again: the figures below are from 60 answers, and there were corrections since.",
        "more": [],
    }
    assert shown(60, revision=take_snapshot(store).revision)["advice"]["stop"]


def test_each_correction_has_its_own_revision(target, make):
    store = make(target, n=8, k=4)
    answer_next(store)
    with store.reading() as connection:
        _, (answer,) = browse.browse(connection, browse.Filter(), 0, 2)
    seen = [take_snapshot(store).revision]
    for change in (
        lambda: corrections.exclude(store, LOCAL),
        lambda: corrections.exclude(store, LOCAL, False),
        lambda: corrections.strike(store, answer.id),
        lambda: corrections.strike(store, answer.id, False),
    ):
        change()
        seen.append(take_snapshot(store).revision)
    assert seen == sorted(set(seen))


def test_changes_differ_after_each_event(target, make):
    store = make(target, n=8, k=4)
    seen = [dashboard.changes(store)]
    me = invites.local_rater(store)
    for change in (
        lambda: answer_next(store),
        lambda: leases.undo(store, me, leases.progress(store, me)["undo"]),
        lambda: add_answers(store, answers_of([(0, 1)])),
        lambda: planner.plan_round(store),
    ):
        change()
        seen.append(dashboard.changes(store))
    assert len(set(seen)) == 5
    leases.next_pair(store, me)  # handing out a pair changes no report
    assert dashboard.changes(store) == seen[-1]
