"""What every command on a campaign begins with: the extra that campaigns need, and the campaign, opened."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated, TextIO

import typer

from pairsmith.data.names import printable

if TYPE_CHECKING:
    from pairsmith.campaign.store.snapshot import CampaignSnapshot
    from pairsmith.campaign.store.store import Store

Campaign = Annotated[str, typer.Argument(help="A campaign: an SQLite file or a postgresql:// URL.", metavar="CAMPAIGN")]
WhichQuestion = Annotated[
    int | None,
    typer.Option(
        "--question", help="Which question of a campaign that asks several, by its number.", metavar="NUMBER", min=1
    ),
]


def needs_app() -> None:
    """One line where the extra is not installed."""
    for module in ("sqlalchemy", "fastapi", "uvicorn", "jinja2", "markdown_it", "nh3"):
        if find_spec(module) is None:
            raise ValueError(f"campaigns need {module}; pip install 'pairsmith[app]'")


def open_campaign(target: str, changes: bool = True) -> Store:
    """The campaign at this place. Without `changes`, a read-only file will do."""
    needs_app()
    from pairsmith.campaign.store.store import Store

    return Store(target, changes=changes)


def which_question(store: Store, number: int | None, option: str = "--question") -> int:
    """The question of this number, as the database counts them: 0 is the first. Of several one has to be named."""
    from pairsmith.campaign.store import wordings

    asked = wordings.questions(store)
    listed = ", ".join(f"{at} ({question})" for at, question in enumerate(asked, 1))
    if number is None and len(asked) > 1:
        raise ValueError(f"{shown(store.target)} asks {len(asked)} questions; say which with {option}: {listed}")
    if number is not None and number > len(asked):
        raise ValueError(f"{option} {number}: {shown(store.target)} asks {listed}; choose one by its number")
    return (number or 1) - 1


def refuse_question(number: int | None) -> None:
    """Of a table there are no questions to choose from."""
    if number is not None:
        raise ValueError("--question is for campaigns that ask several; leave it out")


def snapshot_of(target: str, *refused: object, question: int | None = None) -> CampaignSnapshot:
    """A campaign as it is, for fit, rank and select; options that it has its own answer to are refused."""
    needs_app()
    from pairsmith.campaign.store.snapshot import take_snapshot

    if any(option for option in refused):
        raise ValueError(
            f"{shown(target)} is a campaign and brings its own items, features, groups, labels and answers; leave out"
            " the options that name others"
        )
    with open_campaign(target, changes=False) as store:
        return take_snapshot(store, which_question(store, question))


def nothing_to_learn(target: str) -> str:
    """Why no answer of this campaign counts: there are none, or all were left out."""
    from pairsmith.campaign import counted
    from pairsmith.campaign.answering.corrections import left_out

    with open_campaign(target, changes=False) as store, store.reading() as connection:
        struck, excluded = left_out(connection)
    if struck + excluded == 0:
        return f"{shown(target)} has no answers yet; label some pairs first"
    return (
        f"of {shown(target)} all {counted(struck + excluded, 'answer')} are left out: {struck} struck out, {excluded}"
        " of excluded raters; restore some on the dashboard, or count them with pairsmith campaign include"
    )


def say(text: str, to: TextIO | None = None) -> None:
    """Print what may hold names from files: control characters reach no terminal."""
    print(printable(text), file=to, flush=True)


def shown(target: str) -> str:
    """The campaign's name, without its password."""
    from pairsmith.campaign.store import database

    return database.without_passwords(target)
