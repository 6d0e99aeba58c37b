"""Commands for the course of a campaign: its goals, its state, its wording, and its gold pairs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pairsmith.campaign import counted
from pairsmith.cli.inputs import (
    Campaign,
    WhichQuestion,
    check_app_installed,
    display_name,
    open_campaign,
    question_index,
    read_instructions,
)
from pairsmith.cli.output import say

if TYPE_CHECKING:
    from pairsmith.campaign.store.store import Store

Answers = Annotated[
    str | None,
    typer.Option(
        help="End the campaign after this many answers that count. With several questions, each answer to one counts.",
        metavar="COUNT",
    ),
]
Until = Annotated[
    str | None,
    typer.Option(
        help="End the campaign when the dashboard's doubt, the chance that two items stand in the wrong order, is below"
        " this bound: 'doubt < 10%'. With several questions, the doubt of each must be.",
        metavar="BOUND",
    ),
]
Deadline = Annotated[
    str | None,
    typer.Option(
        help="End the campaign at this time: 2026-12-01 (the end of that day) or 2026-12-01T18:00 in the time zone of"
        " this machine, or 2026-12-01T18:00+01:00 with a time zone.",
        metavar="TIME",
    ),
]
Quota = Annotated[str | None, typer.Option(help="The number of answers after which a rater is done.", metavar="COUNT")]

OVER = {
    "paused": "It is paused.",
    "closed": "It is closed.",
    "deadline": "It is over: the deadline is past.",
    "answers": "It is over: all answers are in.",
    "until": "It is over: doubt is below its bound.",
    # for one rater only:
    "quota": "It is over for this one: the quota is reached.",
    "exhausted": "It is over: every pair is answered.",
    "yours": "It is over for this one: the pairs that are left are for others.",
}


def goals(
    target: Campaign, answers: Answers = None, until: Until = None, deadline: Deadline = None, quota: Quota = None
) -> None:
    """Print the goals of a campaign, or change them; none removes a goal. The goal reached first ends the campaign.

    [bold]pairsmith campaign goals retina.db --answers 500 --until 'doubt < 10%' --deadline none[/bold]
    """
    with open_campaign(target) as store:
        from pairsmith.campaign.answering.goals import change

        change(store, answers=answers, until=until, deadline=deadline, quota=quota)
        _print_state(store)


def _print_state(store: Store) -> None:
    from pairsmith.campaign.answering.goals import described

    state = described(store)
    no_goals = "no goals" if state["over"] else "no goals, so that it goes on until every pair is answered"
    goals = "; ".join(state["goals"]) or no_goals
    say(f"{display_name(store.target)}: {goals}. {OVER.get(state['over'], 'It is open.')}")


def pause(target: Campaign) -> None:
    """Hand out no more pairs until the campaign is resumed. Raters may still answer the pair on their screen."""
    _act(target, "pause")


def resume(target: Campaign) -> None:
    """Continue a paused campaign."""
    _act(target, "resume")


def close(target: Campaign) -> None:
    """End a campaign: raters are thanked and can no longer take back answers."""
    _act(target, "close")


def reopen(target: Campaign) -> None:
    """Continue a closed campaign."""
    _act(target, "reopen")


def _act(target: str, action: str) -> None:
    with open_campaign(target) as store:
        from pairsmith.campaign.answering.goals import act

        act(store, action)
        _print_state(store)


def edit(
    target: Campaign,
    question: Annotated[str | None, typer.Option(help="The question to ask about each pair.")] = None,
    instructions: Annotated[
        Path | None,
        typer.Option(help="A text or Markdown file of instructions, shown before the first pair and on request."),
    ] = None,
    number: Annotated[
        int | None,
        typer.Option(help="The number of the question to change, if there are several.", metavar="NUMBER", min=1),
    ] = None,
) -> None:
    """Change the question or the instructions from each rater's next pair on. Every version is kept.

    [bold]pairsmith campaign edit retina.db --question 'Which eye looks worse to you?'[/bold]
    """
    check_app_installed()
    from pairsmith.campaign.store import wordings

    if question is None and instructions is None:
        raise ValueError("there is nothing to change; give --question, --instructions or both")
    if number is not None and question is None:
        raise ValueError("--number says which question is changed; give --question too")
    guidance = None if instructions is None else read_instructions(instructions)
    with open_campaign(target) as store:
        which = 0 if question is None else question_index(store, number, "--number")
        before = wordings.current(store, which)
        now = wordings.edit(store, question, guidance, which=which)
    if now == before:
        say(f"{display_name(target)} asks that already; nothing is changed.")
    else:
        say(f"{display_name(target)}: wording {now.number} is shown from the next pairs on: {now.question}")


def gold(
    target: Campaign,
    known: Annotated[
        Path | None,
        typer.Argument(help="A table with columns first, second and outcome, or winner and loser.", metavar="[FILE]"),
    ] = None,
    rate: Annotated[
        float | None,
        typer.Option(
            help="The share of pairs handed out that are gold pairs, up to 0.5; 0 mixes in none.", metavar="SHARE"
        ),
    ] = None,
    question: WhichQuestion = None,
) -> None:
    """Mix in gold pairs, whose outcome is known, to see who answers with care. Each rater gets each of them once.

    The model does not use the known outcomes. It uses the raters' answers to gold pairs like any other answer.

    [bold]pairsmith campaign gold retina.db gold.csv --rate 0.05[/bold]
    """
    if known is None and rate is None:
        raise ValueError("name a file of pairs whose outcome is known, or give a --rate")
    with open_campaign(target) as store:
        from pairsmith.campaign.answering import gold as gold_pairs
        from pairsmith.campaign.answering.corrections import excluded
        from pairsmith.files.items import Items

        items = Items(Path(display_name(target)), store.items.features, store.items.groups)
        outcomes = {} if known is None else gold_pairs.read(known, items, store.settings.ties)
        which = 0 if known is None else question_index(store, question)
        count = gold_pairs.know(store, outcomes, rate, which)
        mixed_in = gold_pairs.gold_rate_of(store)
        with store.reading() as connection:
            scores, all_who_count = gold_pairs.score_raters(connection), gold_pairs.together(connection)
            out = {row["name"] for row in excluded(connection)}
    say(f"{display_name(target)}: {describe_gold(count, mixed_in)}")
    for name, (right, asked) in scores.items():
        say(f"{name}: {right} of {asked} right{' (excluded)' if name in out else ''}")
    if len(scores) > 1:
        say(f"together{', without those excluded' * bool(out & scores.keys())}: {all_who_count.right} of"
            f" {all_who_count.asked} right")  # fmt: skip


def describe_gold(count: int, rate: float) -> str:
    """Say how many pairs have a known outcome, and whether they are mixed in."""
    count_of_pairs = f"{counted(count, 'pair')} with a known outcome"
    if rate:
        return f"{count_of_pairs}, mixed in at a rate of {100 * rate:.3g}%."
    return f"{count_of_pairs}, asked only where the design asks them; --rate mixes them in."
