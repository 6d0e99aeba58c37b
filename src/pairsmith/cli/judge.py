"""pairsmith judge: a program or a language model answers pairs of a campaign."""

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
from pairsmith.cli.inputs import Campaign, display_name, open_campaign
from pairsmith.cli.interruption import leaving
from pairsmith.cli.output import say
from pairsmith.cli.serve import check_origin

if TYPE_CHECKING:
    from pairsmith.campaign.judging.judge import Ask, Tally
    from pairsmith.campaign.store.store import Store

DEFAULT_KEY_VARIABLE = "OPENAI_API_KEY"
MAX_PER_MINUTE_OR_SECONDS = 86_400  # for --per-minute and, as a day, for --timeout


def judge(
    target: Campaign,
    command: Annotated[
        str | None,
        typer.Option(
            help="The program to ask. It reads a pair as JSON and prints left, right, tie or skip, or a JSON object"
            " whose choice is one of these.",
            metavar="COMMAND",
        ),
    ] = None,
    http: Annotated[
        str | None,
        typer.Option(
            help="The OpenAI-compatible endpoint for chat completions to ask instead of a program.", metavar="URL"
        ),
    ] = None,
    model: Annotated[str | None, typer.Option(help="The name of the model, for --http.", metavar="NAME")] = None,
    key_from: Annotated[
        str, typer.Option(help="The environment variable that holds the key for --http.", metavar="VARIABLE")
    ] = DEFAULT_KEY_VARIABLE,
    temperature: Annotated[
        float | None, typer.Option(help="The sampling temperature, for --http. Default: the endpoint's own.", min=0)
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="The name of this rater. Default: the name of the model or program.")
    ] = None,
    both_sides: Annotated[
        bool,
        typer.Option(
            "--both-sides",
            help="Ask about each pair twice, with the sides swapped. If the judge prefers the same side both times, the"
            " answer is a tie, or a skip where ties are not allowed.",
        ),
    ] = False,
    answers: Annotated[
        int | None,
        typer.Option(
            help="Stop after this many answers, and plan new rounds until then. Default: answer the pairs that are"
            " open.",
            metavar="COUNT",
            min=1,
        ),
    ] = None,
    jobs: Annotated[
        int, typer.Option(help="The number of pairs to ask about at the same time.", metavar="COUNT", min=1)
    ] = 1,
    per_minute: Annotated[
        float | None, typer.Option(help="The largest number of requests per minute, over all jobs.", metavar="COUNT")
    ] = None,
    tries: Annotated[
        int, typer.Option(help="The largest number of requests for one pair.", metavar="COUNT", min=1)
    ] = 4,
    timeout: Annotated[float, typer.Option(help="Seconds to wait for a whole reply.", metavar="SECONDS")] = 120.0,
    give_up_after: Annotated[
        int,
        typer.Option(help="Stop after this many replies in a row without a verdict.", metavar="COUNT", min=1),
    ] = 5,
    ask_skipped_again: Annotated[
        bool, typer.Option("--ask-skipped-again", help="Ask again about the pairs that this judge has skipped.")
    ] = False,
) -> None:
    """Let a program or a language model answer pairs, beside people or alone.

    You can stop the command at any time; running it again continues. The exit code is 1 if the judge does not work, or
    has skipped every pair that it could answer.

    [bold]pairsmith judge answers.db --command './judge.sh' --both-sides --answers 200[/bold]
    """
    if (command is None) == (http is None):
        raise ValueError("name the judge by either --command or --http")
    for option, value, minimum in (("--per-minute", per_minute, 1 / 60), ("--timeout", timeout, 0.001)):
        if value is not None and not minimum <= value <= MAX_PER_MINUTE_OR_SECONDS:
            raise ValueError(f"{option} must be between {minimum:.3g} and {MAX_PER_MINUTE_OR_SECONDS:,}, got {value:g}")
    with open_campaign(target) as store:
        check_origin(store, trusted=False)
        from pairsmith.campaign.answering import corrections
        from pairsmith.campaign.judging import judge as judging
        from pairsmith.campaign.planning.pace import count_pairs
        from pairsmith.recipe.progress import Progress

        ask = _ask_function(command, http, model, key_from, timeout, temperature)
        person = judging.enrol(store, name or model or os.path.basename(shlex.split(command or "")[0]))
        if ask_skipped_again:
            corrections.undo_skips(store, person)
        patience = judging.Patience(tries, per_minute, give_up_after)
        with (
            _exit_if_given_up(),
            leaving(f"Every answer so far is in {display_name(target)}; the same command goes on from there."),
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
        _print_reason_to_stop(store, person, tally, answers)


@contextmanager
def _exit_if_given_up() -> Iterator[None]:
    """Exit with code 1 if the judging gives up on the judge."""
    from pairsmith.campaign.judging.judge import GaveUp

    try:
        yield
    except GaveUp as error:
        say(f"Error: {error}", sys.stderr)
        raise typer.Exit(1) from None


def _ask_function(
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
    if key is None and key_from != DEFAULT_KEY_VARIABLE:
        raise ValueError(f"--key-from {key_from}: there is no such environment variable")
    return by_http(url, model, key, timeout, temperature)


def _summarise(store: Store, person: int, tally: Tally, wanted: int | None) -> None:
    """Print what the judge did, and how far it agrees with people."""
    import sqlalchemy as sa

    from pairsmith.campaign.reporting.agreement import compare_judges_with_people
    from pairsmith.campaign.store.answers import load_answers
    from pairsmith.campaign.store.schema import people

    say(f"{counted(tally.answers, 'answer')}, {counted(tally.ties, 'tie')} among them; {tally.skipped} skipped.")
    if tally.both:
        say(f"Asked on both sides: {counted(tally.both, 'pair')}; the answer went with the side in {tally.changed}.")
    if tally.malformed or tally.retried:
        say(f"Malformed replies: {tally.malformed}. Requests without a reply: {tally.retried}.")
    if tally.late:
        say(f"Answered by somebody else before the reply came: {counted(tally.late, 'pair')}.")
    several = len(store.settings.questions) > 1
    with store.reading() as connection:
        name = connection.execute(sa.select(people.c.name).where(people.c.id == person)).scalar_one()
        counted_answers = load_answers(connection)
    for question in range(len(store.settings.questions)):
        which = f"Question {question + 1}: agrees" if several else "Agrees"
        rows = compare_judges_with_people(counted_answers[counted_answers["question"] == question])
        for row in [row for row in rows if row["name"] == name]:
            if row["pairs"]:
                among = "" if row["people"] is None else f"; people with each other {row['people']:.0%}"
                say(f"{which} with people on {row['agrees']:.0%} of {counted(row['pairs'], 'pair')} (90% interval"
                    f" {row['low']:.0%} to {row['high']:.0%}){among}.")  # fmt: skip
            if row["changed"]:
                say(f"Left out of that: {counted(row['changed'], 'pair')} answered differently from each side.")


def _print_reason_to_stop(store: Store, person: int, tally: Tally, wanted: int | None) -> None:
    """Say why there is no other pair. Exit with code 1 if the judge answered nothing and has skipped all that is"
    " left."""
    from pairsmith.campaign.answering.corrections import skipped
    from pairsmith.campaign.answering.goals import ending

    if wanted is not None and tally.answers >= wanted:
        return
    reason = ending(store, person)
    skips = skipped(store, person) if reason in (None, "yours") else 0
    if skips:
        say(f"It has skipped {counted(skips, 'pair')}; to ask these again, add --ask-skipped-again.")
        if tally.answers == 0:
            raise typer.Exit(1)
    elif reason is not None:
        say(OVER[reason])
    elif wanted is not None:
        say("No other pair can be asked now.")
