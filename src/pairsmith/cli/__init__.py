"""The command line: parse, call the library, print.

    select            pairsmith select; selecting: behind its options
    model             pairsmith fit and rank; fitting: behind the options of fit
    features          pairsmith features
    forecast           pairsmith forecast
    campaign          pairsmith campaign: create, export, import; creating: behind the options of create
    campaign_goals    pairsmith campaign: when it ends, and its state
    campaign_people   pairsmith campaign: who takes part, and whether its maker is trusted
    campaign_corrections  pairsmith campaign: whose answers count, its wording, more items, a copy
    serve             pairsmith serve and demo-campaign; serve_folder: of all campaigns of a folder
    judge             pairsmith judge
    data              pairsmith data
    opening           what every command on a campaign begins with: the campaign, opened
    inputs            what several commands read: model files, numbers, a cluster
    output            tables, summaries and plots
    interruption      what a command that is stopped leaves behind

Here: the app that they join, and main(), which turns what users got wrong into one line. Modules load the library when
a command runs, so that --help is quick.
"""

from __future__ import annotations

import os
import re
import sys
import warnings
from typing import Annotated

import typer

from pairsmith.cli import campaign, data, features, forecast, interruption, judge, model, select, serve
from pairsmith.data.names import printable

app = typer.Typer(
    name="pairsmith",
    help="Which pairs should people compare next?",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command(cls=select.Command)(select.select)
app.command()(model.fit)
app.command()(model.rank)
app.command()(features.features)
app.command()(forecast.forecast)
app.command()(serve.serve)
app.command()(judge.judge)
app.command("demo-campaign")(serve.demo_campaign)
app.add_typer(campaign.campaign, name="campaign")
app.add_typer(data.data, name="data")


def main() -> None:
    """Run the command line: whatever the user got wrong is one line on standard error and exit code 2."""
    _take_closed_streams()
    interruption.forget()
    try:
        with interruption.until_terminated(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("always", UserWarning)
            warnings.simplefilter("ignore", DeprecationWarning)  # pyparsing's, for old matplotlib, are of both kinds
            warnings.showwarning = lambda text, *_args, **_more: print(
                printable(f"Warning: {_in_options(str(text))}"), file=sys.stderr
            )
            code = app(prog_name="pairsmith", standalone_mode=False)
    except typer.TyperException as error:  # a wrong option or argument
        code = _complain(error.format_message())
    except BrokenPipeError:  # the reader of our output has gone: no concern of ours
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        code = 0
    except OSError as error:
        code = _complain(f"{error.filename}: {error.strerror}" if error.filename and error.strerror else str(error))
    except ValueError as error:
        code = _complain(_in_options(str(error)))
    except MemoryError:
        code = _complain("there is not enough memory for this; see --algorithm")
    except KeyboardInterrupt:
        code = 130
    if code == 130:  # from typer, or from above
        message, code = interruption.told()
        print(printable(message), file=sys.stderr)
    sys.exit(code or 0)


def _take_closed_streams() -> None:
    """Put the null device where standard streams are closed: a file that we open must not get their numbers.

    sys.stdout stays None, which says that nobody reads what would be written there.
    """
    for number, stream in enumerate((sys.stdin, sys.stdout, sys.stderr)):
        if stream is None:
            opened = os.open(os.devnull, os.O_RDWR)
            if opened == number:
                os.set_inheritable(opened, True)
            else:
                os.close(opened)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115  to the end


def _complain(message: str) -> int:
    if message:  # none where help was printed instead
        print(printable(f"Error: {' '.join(message.split())}"), file=sys.stderr)
    return 2


def _in_options(message: str) -> str:
    """The library's argument names, as the command line spells them."""
    message = re.sub(r"^(objective|algorithm|goal): ", r"--\1: ", message)
    message = re.sub(r"^(top|ridge|level|simulations|certify|checkpoint)(?= (must|is|bounds)\b)", r"--\1", message)
    message = re.sub(r"^k(?= must\b)", "-k", message)
    message = re.sub(r"\b(objective|algorithm|goal)='([\w-]+)'", r"--\1 \2", message)
    for name, option in (
        ("labels (of labeled), outcomes (of comparisons) or model", "--labels, --answers or --model"),
        (
            "is what a BradleyTerryGP has learned; leave it out where model is one",
            "is what the model has learned; leave it out",
        ),
        ("is for features, and X is None;", "is for features, and there are none;"),
        ("X has 1 item;", "there is only one item;"),
        ("n_items is 1;", "there is only one item;"),
        ("n_jobs", "--jobs"),
        ("random_state", "--seed"),
        ("max_per_item", "--max-per-item"),
        ("answers_per_pair", "--answers-per-pair"),
        ("item_effects", "--item-effects"),
        ("better=", "--better "),
        ("top=", "--top "),
    ):
        message = message.replace(name, option)
    return message


def _version(wanted: bool) -> None:
    if wanted:
        from pairsmith import __version__

        print(f"pairsmith {__version__}")
        raise typer.Exit


@app.callback()
def _common(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass
