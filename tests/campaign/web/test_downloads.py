"""What organisers take away."""

import io

import pandas as pd

from pairsmith.campaign.reporting import dashboard
from pairsmith.campaign.reporting.report import make_report
from pairsmith.campaign.store.answers import add_answers
from pairsmith.campaign.store.snapshot import take_snapshot
from support.campaigns import answer_next, answers_of


def test_the_ranking_and_the_answers_as_csv(api):
    for _ in range(3):
        answer_next(api.store)
    add_answers(api.store, answers_of([(0, 1)], rater="=cmd()"))
    dashboard.save_report(api.store, make_report(take_snapshot(api.store)))
    found = api.get("/download/ranking.csv")
    assert found.headers["content-disposition"] == 'attachment; filename="ranking.csv"'
    assert found.headers["content-type"] == "text/csv; charset=utf-8"
    ranking = pd.read_csv(io.StringIO(found.text), dtype={"id": str})
    assert ranking["rank"].tolist() == list(range(1, 13))
    assert set(ranking["id"]) == set(api.store.items.names)
    assert ranking["score"].is_monotonic_decreasing
    answers = pd.read_csv(io.StringIO(api.get("/download/answers.csv").text), dtype=str)
    assert len(answers) == 4
    assert "'=cmd()" in answers["rater"].tolist()  # no formula for a spreadsheet


def test_before_any_report_there_is_an_empty_ranking(api):
    assert api.get("/download/ranking.csv").text == "rank,id,score,low,high,best,worst,in_top\n"
