"""The command line: parse options, call the library, print.

    select            pairsmith select
    fit, rank         pairsmith fit and rank
    forecast          pairsmith forecast
    features          pairsmith features
    serve             pairsmith serve and demo-campaign
    judge             pairsmith judge
    data              pairsmith data
    campaign          pairsmith campaign create; creating: the checks and sentences of create
    campaign_data     pairsmith campaign: items and answers
    campaign_goals    pairsmith campaign: goals, state, wording and gold pairs
    campaign_people   pairsmith campaign: invites, trust and raters
    inputs            shared: options, tables of items, model files, campaigns
    output            shared: tables, summaries and plots
    interruption      shared: what an interrupted command leaves behind

This module joins the commands into one app. Its main() turns users' mistakes into one line on standard error. Modules
import the library only when a command runs, so that --help is quick.
"""

from __future__ import annotations

import os
import sys
import warnings
from typing import Annotated

import typer

from pairsmith.cli import campaign, data, features, fit, forecast, interruption, judge, rank, select, serve
from pairsmith.data.errors import ArgumentError
from pairsmith.data.names import printable

OPTIONS = {  # for each argument of the library, the option that sets it
    "algorithm": "--algorithm",
    "answers_per_pair": "--answers-per-pair",
    "better": "--better",
    "certify": "--certify",
    "checkpoint": "--checkpoint",
    "client": "--dask",
    "dimensions": "--dimensions",
    "goal": "--goal",
    "item_effects": "--item-effects",
    "k": "-k",
    "level": "--level",
    "max_per_item": "--max-per-item",
    "n_jobs": "--jobs",
    "objective": "--objective",
    "random_state": "--seed",
    "ridge": "--ridge",
    "simulations": "--simulations",
    "top": "--top",
}

app = typer.Typer(
    name="pairsmith",
    help="Which pairs should people compare next?",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command(cls=select.SelectCommand)(select.select)
app.command()(fit.fit)
app.command()(rank.rank)
app.command()(features.features)
app.command()(forecast.forecast)
app.command()(serve.serve)
app.command()(judge.judge)
app.command("demo-campaign")(serve.demo_campaign)
app.add_typer(campaign.campaign, name="campaign")
app.add_typer(data.data, name="data")


def main() -> None:
    """Run the command line. A user's mistake becomes one line on standard error and exit code 2."""
    _replace_closed_streams()
    interruption.reset()
    try:
        with interruption.until_terminated(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("always", UserWarning)
            warnings.simplefilter(
                "ignore", DeprecationWarning
            )  # pyparsing, under old matplotlib, warns with a class of both kinds
            warnings.showwarning = lambda text, *_args, **_more: print(printable(f"Warning: {text}"), file=sys.stderr)
            code = app(prog_name="pairsmith", standalone_mode=False)
    except typer.TyperException as error:  # a wrong option or argument
        code = _complain(error.format_message())
    except BrokenPipeError:  # the reader of our output has stopped, as head does
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        code = 0
    except OSError as error:
        code = _complain(f"{error.filename}: {error.strerror}" if error.filename and error.strerror else str(error))
    except ArgumentError as error:
        code = _complain(f"{OPTIONS.get(error.argument, error.argument)}{error.problem}")
    except ValueError as error:
        code = _complain(str(error))
    except MemoryError:
        code = _complain("there is not enough memory for this; see --algorithm")
    except KeyboardInterrupt:
        code = 130
    if code == 130:  # typer or the handler above saw an interruption
        message, code = interruption.describe()
        print(printable(message), file=sys.stderr)
    sys.exit(code or 0)


def _replace_closed_streams() -> None:
    """Open the null device for closed standard streams, so that no file we open gets their descriptors.

    sys.stdout stays None to show that nobody reads standard output.
    """
    for number, stream in enumerate((sys.stdin, sys.stdout, sys.stderr)):
        if stream is None:
            opened = os.open(os.devnull, os.O_RDWR)
            if opened == number:
                os.set_inheritable(opened, True)
            else:
                os.close(opened)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115  open until the process ends


def _complain(message: str) -> int:
    if message:  # empty if help was printed instead
        print(printable(f"Error: {' '.join(message.split())}"), file=sys.stderr)
    return 2


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
