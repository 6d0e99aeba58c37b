"""pairsmith judge: a program or a language model that answers pairs of a campaign."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from pairsmith.campaign import counted
from pairsmith.cli.campaign_goals import OVER
from pairsmith.cli.interruption import leaving
from pairsmith.cli.opening import Campaign, open_campaign, say, shown
from pairsmith.cli.serve import check_origin

if TYPE_CHECKING:
    from pairsmith.campaign.judging.judge import Ask, Tally
    from pairsmith.campaign.store.store import Store

KEY = "OPENAI_API_KEY"
MOST = 86_400  # requests a minute, or seconds for one: a day


def judge(
    target: Campaign,
    command: Annotated[
        str | None,
        typer.Option(
            help="A program to ask: it reads a pair as JSON and prints left, right, tie or skip, or a JSON object with"
            " that as its choice.",
            metavar="COMMAND",
        ),
    ] = None,
    http: Annotated[
        str | None,
        typer.Option(help="An OpenAI-compatible endpoint for chat completions to ask instead.", metavar="URL"),
    ] = None,
    model: Annotated[str | None, typer.Option(help="The model's name, for --http.", metavar="NAME")] = None,
    key_from: Annotated[
        str, typer.Option(help="The environment variable that holds the key for --http.", metavar="VARIABLE")
    ] = KEY,
    temperature: Annotated[float | None, typer.Option(help="For --http. Default: the endpoint's own.", min=0)] = None,
    name: Annotated[
        str | None, typer.Option(help="Whose the answers are. Default: the model's or the program's name.")
    ] = None,
    both_sides: Annotated[
        bool,
        typer.Option(
            "--both-sides",
            help="Ask each pair on both sides. An answer that goes with the side is a tie, or skipped without ties.",
        ),
    ] = False,
    answers: Annotated[
        int | None,
        typer.Option(
            help="Stop after so many answers, and plan rounds until then. Default: the pairs that are waiting.",
            metavar="COUNT",
            min=1,
        ),
    ] = None,
    jobs: Annotated[int, typer.Option(help="Ask about so many pairs at a time.", metavar="COUNT", min=1)] = 1,
    per_minute: Annotated[
        float | None, typer.Option(help="Requests a minute at most, of all jobs.", metavar="COUNT")
    ] = None,
    tries: Annotated[int, typer.Option(help="So often a pair is asked at most.", metavar="COUNT", min=1)] = 4,
    timeout: Annotated[float, typer.Option(help="Seconds to wait for a whole reply.", metavar="SECONDS")] = 120.0,
    give_up_after: Annotated[
        int,
        typer.Option(help="Stop after so many replies in a row without a verdict.", metavar="COUNT", min=1),
    ] = 5,
    ask_skipped_again: Annotated[
        bool, typer.Option("--ask-skipped-again", help="Ask the pairs again that this judge has skipped before.")
    ] = False,
) -> None:
    """Have a program or a language model answer pairs, beside the people or alone.

    It can be stopped at any time, and the same command goes on. The exit code is 1 where the judge does not work, or
    has skipped all that it could answer.

    [bold]pairsmith judge answers.db --command './judge.sh' --both-sides --answers 200[/bold]
    """
    if (command is None) == (http is None):
        raise ValueError("name the judge by either --command or --http")
    for option, value, least in (("--per-minute", per_minute, 1 / 60), ("--timeout", timeout, 0.001)):
        if value is not None and not least <= value <= MOST:
            raise ValueError(f"{option} must be between {least:.3g} and {MOST:,}, got {value:g}")
    with open_campaign(target) as store:
        check_origin(store, trusted=False)
        from pairsmith.campaign.answering import corrections
        from pairsmith.campaign.judging import judge as judging
        from pairsmith.campaign.planning.pace import count_pairs
        from pairsmith.recipe.progress import Progress

        ask = _asking(command, http, model, key_from, timeout, temperature)
        person = judging.enrol(store, name or model or os.path.basename(shlex.split(command or "")[0]))
        if ask_skipped_again:
            corrections.take_back_skips(store, person)
        patience = judging.Patience(tries, per_minute, give_up_after)
        with (
            _giving_up(),
            leaving(f"Every answer so far is in {shown(target)}; the same command goes on from there."),
            Progress(sys.stderr is not None and sys.stderr.isatty()) as bar,
        ):
            advance = bar.over(
                "judged", answers or max(1, count_pairs(store).open_to_everyone * len(store.settings.questions))
            )
            tally = judging.judge(
                store,
                person,
                ask,
                most=answers,
                both_sides=both_sides,
                jobs=jobs,
                patience=patience,
                tell=lambda _: advance(1),
            )
        store.check()
        _summarise(store, person, tally, answers)
        _tell_why_it_ends(store, person, tally, answers)


@contextmanager
def _giving_up() -> Iterator[None]:
    """Exit with code 1 where the judge is given up."""
    from pairsmith.campaign.judging.judge import GaveUp

    try:
        yield
    except GaveUp as error:
        say(f"Error: {error}", sys.stderr)
        raise typer.Exit(1) from None


def _asking(
    command: str | None, url: str | None, model: str | None, key_from: str, timeout: float, temperature: float | None
) -> Ask:
    from pairsmith.campaign.judging.asking import by_command, by_http

    if url is None:
        if model is not None or temperature is not None:
            raise ValueError("--model and --temperature are for --http; leave them out")
        return by_command(command or "", timeout)
    if model is None:
        raise ValueError("--model is missing: name the model that --http is to ask")
    key = os.environ.get(key_from)
    if key is None and key_from != KEY:
        raise ValueError(f"--key-from {key_from}: there is no such environment variable")
    return by_http(url, model, key, timeout, temperature)


def _summarise(store: Store, person: int, tally: Tally, wanted: int | None) -> None:
    """What was done, and how far it agrees with the people."""
    import sqlalchemy as sa

    from pairsmith.campaign.reporting.agreement import judges_against_people
    from pairsmith.campaign.store.answers import load_answers
    from pairsmith.campaign.store.schema import people

    say(f"{counted(tally.answers, 'answer')}, {counted(tally.ties, 'tie')} among them; {tally.skipped} skipped.")
    if tally.both:
        say(f"Asked on both sides: {counted(tally.both, 'pair')}; the answer went with the side in {tally.changed}.")
    if tally.malformed or tally.retried:
        say(f"Malformed replies: {tally.malformed}. Requests without a reply: {tally.retried}.")
    if tally.late:
        say(f"{counted(tally.late, 'pair')} somebody else had answered when the reply came.")
    several = len(store.settings.questions) > 1
    with store.reading() as connection:
        name = connection.execute(sa.select(people.c.name).where(people.c.id == person)).scalar_one()
        given = load_answers(connection)
    for question in range(len(store.settings.questions)):
        which = f"Question {question + 1}: agrees" if several else "Agrees"
        rows = judges_against_people(given[given["question"] == question])
        for row in [row for row in rows if row["name"] == name]:
            if row["pairs"]:
                among = "" if row["people"] is None else f"; people with each other {row['people']:.0%}"
                say(f"{which} with people on {row['agrees']:.0%} of {counted(row['pairs'], 'pair')} (90% interval"
                    f" {row['low']:.0%} to {row['high']:.0%}){among}.")  # fmt: skip
            if row["changed"]:
                say(f"Left out of that: {counted(row['changed'], 'pair')} answered differently from each side.")


def _tell_why_it_ends(store: Store, person: int, tally: Tally, wanted: int | None) -> None:
    """Say why there is no other pair; exit with code 1 where the judge answered none and has skipped those left."""
    from pairsmith.campaign.answering.corrections import skipped
    from pairsmith.campaign.answering.goals import ending

    if wanted is not None and tally.answers >= wanted:
        return
    over = ending(store, person)
    left_by_skips = skipped(store, person) if over in (None, "yours") else 0
    if left_by_skips:
        say(f"It has skipped {counted(left_by_skips, 'pair')}; to ask these again, add --ask-skipped-again.")
        if tally.answers == 0:
            raise typer.Exit(1)
    elif over is not None:
        say(OVER[over])
    elif wanted is not None:
        say("No other pair can be asked now.")
