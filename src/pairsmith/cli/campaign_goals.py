"""Commands for how a campaign goes on and ends, and for pairs whose outcome is known."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pairsmith.campaign import counted
from pairsmith.cli.opening import Campaign, WhichQuestion, open_campaign, say, shown, which_question

if TYPE_CHECKING:
    from pairsmith.campaign.store.store import Store

Answers = Annotated[
    str | None,
    typer.Option(help="Over after so many answers that count; the answer to each question is one.", metavar="COUNT"),
]
Until = Annotated[
    str | None,
    typer.Option(
        help="Over when the doubt of the dashboard, the chance that two items stand in the wrong order, is below a"
        " bound: 'doubt < 10%'. Of several questions, that of each.",
        metavar="BOUND",
    ),
]
Deadline = Annotated[
    str | None,
    typer.Option(
        help="Over at a time: 2026-12-01 (the end of that day) or 2026-12-01T18:00, in the time zone of this machine,"
        " or with one, 2026-12-01T18:00+01:00.",
        metavar="TIME",
    ),
]
Quota = Annotated[str | None, typer.Option(help="Each person is done after so many answers.", metavar="COUNT")]

OVER = {
    "paused": "It is paused.",
    "closed": "It is closed.",
    "deadline": "It is over: the deadline is past.",
    "answers": "It is over: all answers are in.",
    "until": "It is over: doubt is below its bound.",
    # For one rater only:
    "quota": "It is over for this one: the quota is reached.",
    "exhausted": "It is over: every pair is answered.",
    "yours": "It is over for this one: the pairs that are left are for others.",
}


def goals(
    target: Campaign, answers: Answers = None, until: Until = None, deadline: Deadline = None, quota: Quota = None
) -> None:
    """Say when a campaign is over, and change it: a number, a bound, a time, or none. It is over by what comes first.

    [bold]pairsmith campaign goals retina.db --answers 500 --until 'doubt < 10%' --deadline none[/bold]
    """
    with open_campaign(target) as store:
        from pairsmith.campaign.answering.goals import change

        change(store, answers=answers, until=until, deadline=deadline, quota=quota)
        _say_how_far(store)


def _say_how_far(store: Store) -> None:
    from pairsmith.campaign.answering.goals import described

    now = described(store)
    none = "no goals" if now["over"] else "no goals, so that it goes on until every pair is answered"
    lines = "; ".join(now["goals"]) or none
    say(f"{shown(store.target)}: {lines}. {OVER.get(now['over'], 'It is open.')}")


def pause(target: Campaign) -> None:
    """Hand out no more pairs until it is resumed. What people have on the screen they may still answer."""
    _act(target, "pause")


def resume(target: Campaign) -> None:
    """Go on with a campaign that was paused."""
    _act(target, "resume")


def close(target: Campaign) -> None:
    """End a campaign: raters are thanked, and no answer is taken back any more."""
    _act(target, "close")


def reopen(target: Campaign) -> None:
    """Go on with a campaign that was closed."""
    _act(target, "reopen")


def _act(target: str, action: str) -> None:
    with open_campaign(target) as store:
        from pairsmith.campaign.answering.goals import act

        act(store, action)
        _say_how_far(store)


def gold(
    target: Campaign,
    known: Annotated[
        Path | None,
        typer.Argument(help="A table with first, second and outcome, or winner and loser.", metavar="[FILE]"),
    ] = None,
    rate: Annotated[
        float | None,
        typer.Option(help="The share of pairs handed out that are of these, up to 0.5; 0 for none.", metavar="SHARE"),
    ] = None,
    question: WhichQuestion = None,
) -> None:
    """Mix in pairs whose outcome is known, to see who answers with care. Each person is asked each of them once.

    What is known is no answer, and the model is not told it. What people answer is an answer like any other.

    [bold]pairsmith campaign gold retina.db gold.csv --rate 0.05[/bold]
    """
    if known is None and rate is None:
        raise ValueError("name a file of pairs whose outcome is known, or give a --rate")
    with open_campaign(target) as store:
        from pairsmith.campaign.answering import gold as golden
        from pairsmith.campaign.answering.corrections import excluded
        from pairsmith.files.items import Items

        items = Items(Path(shown(target)), store.items.features, store.items.groups)
        outcomes = {} if known is None else golden.read(known, items, store.settings.ties)
        which = 0 if known is None else which_question(store, question)
        count = golden.know(store, outcomes, rate, which)
        mixed_in = golden.rate_of(store)
        with store.reading() as connection:
            found, all_who_count = golden.right_and_asked(connection), golden.together(connection)
            out = {row["name"] for row in excluded(connection)}
    say(f"{shown(target)}: {gold_pairs(count, mixed_in)}")
    for name, (right, asked) in found.items():
        say(f"{name}: {right} of {asked} right{' (excluded)' if name in out else ''}")
    if len(found) > 1:
        say(f"together{', without those excluded' * bool(out & found.keys())}: {all_who_count.right} of"
            f" {all_who_count.asked} right")  # fmt: skip


def gold_pairs(count: int, rate: float) -> str:
    """How many pairs with a known outcome there are, and whether they are mixed in."""
    told = f"{counted(count, 'pair')} with a known outcome"
    if rate:
        return f"{told}, mixed in at a rate of {100 * rate:.3g}%."
    return f"{told}, asked only where the design asks them; --rate mixes them in."
