"""The command line: parse, call the library, print."""

from __future__ import annotations

import dataclasses
import glob
import os
import signal
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pairsmith.campaign import is_campaign, printable
from pairsmith.cli import campaign as campaigns

if TYPE_CHECKING:
    import pandas as pd

    from pairsmith.model.bradley_terry import BradleyTerry
    from pairsmith.selection import Selection

app = typer.Typer(
    name="pairsmith",
    help="Which pairs should people compare next?",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

WRITERS = (".csv", ".jsonl", ".parquet")
FEW = 10  # held-out answers: on fewer, an AUC says little

_kept = "Nothing was written."  # what an interrupted command leaves behind
_terminated = False  # by SIGTERM rather than Ctrl-C


def main() -> None:
    """Run the command line: whatever the user got wrong is one line on standard error and exit code 2."""
    _take_closed_streams()
    try:
        with _until_terminated(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("always", UserWarning)
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
    if code == 130:
        print(printable(f"{'Terminated' if _terminated else 'Interrupted'}. {_kept}"), file=sys.stderr)
        code = 143 if _terminated else 130
    sys.exit(code or 0)


@contextmanager
def _until_terminated() -> Iterator[None]:
    """Make SIGTERM an interruption, so that what has been begun is cleared away; a server has handlers of its own."""

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        global _terminated
        _terminated = True
        raise KeyboardInterrupt

    here = threading.current_thread() is threading.main_thread()  # nobody else may set handlers
    if not here or signal.getsignal(signal.SIGTERM) != signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


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
    for name, option in (("n_jobs", "--jobs"), ("random_state", "--seed"), ("max_per_item", "--max-per-item"),
                         ("better=", "--better ")):  # fmt: skip
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


@app.command()
def select(
    items: Annotated[
        str,
        typer.Argument(
            help="Items with numeric features: .csv, .tsv, .jsonl, .parquet or .npy; or a campaign, whose answers are"
            " built on.",
            metavar="ITEMS",
        ),
    ],
    k: Annotated[int, typer.Option("-k", "--pairs", help="How many pairs to pick.", metavar="K")],
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            help="Where to write them (.csv, .jsonl, .parquet); else CSV to standard output.",
        ),
    ] = None,
    labeled: Annotated[
        Path | None,
        typer.Option(
            help="Items that have an absolute label already: columns id and, optionally, label; no label, not counted."
        ),
    ] = None,
    better: Annotated[
        str | None,
        typer.Option(help="The better one of the two labels of --labeled, where they are words.", metavar="LABEL"),
    ] = None,
    compared: Annotated[
        list[Path] | None,
        typer.Option(
            help="Pairs compared already: columns first and second, or winner and loser. They are built on, not asked"
            " again. Repeat it to give the files of several rounds."
        ),
    ] = None,
    candidates: Annotated[
        Path | None,
        typer.Option(
            help="The only pairs that may be asked: columns first and second, or winner and loser. Default: all pairs."
        ),
    ] = None,
    group_by: Annotated[
        str | None, typer.Option(help="Pair only items with the same value in this column.", metavar="COLUMN")
    ] = None,
    max_per_item: Annotated[
        int | None, typer.Option(help="No item in more than this many of the pairs picked now.", metavar="COUNT")
    ] = None,
    id_column: Annotated[
        str | None,
        typer.Option("--id", help="The column of item ids. Default: id, or else the first.", metavar="COLUMN"),
    ] = None,
    features: Annotated[
        list[str] | None,
        typer.Option(
            help="Feature columns, by name or pattern such as 'f_*'; may be repeated. Default: all other columns.",
            metavar="PATTERN",
        ),
    ] = None,
    objective: Annotated[
        str,
        typer.Option(
            help="d-optimal, local-d-optimal, averaged-d-optimal, a-optimal, entropy, fisher, mutual-information or"
            " random. Where a model is needed, it is --model or fitted to the labels of --labeled and the outcomes of"
            " --compared."
        ),
    ] = "d-optimal",
    model: Annotated[
        Path | None, typer.Option(help="A model that pairsmith fit wrote, for the objectives that use one.")
    ] = None,
    algorithm: Annotated[
        str,
        typer.Option(
            help="auto (the engine), or one of the paper's eight: naive, factorization, scalar, naive-lazy,"
            " factorization-lazy, factorization-lazy-memo, scalar-lazy, scalar-lazy-memo."
        ),
    ] = "auto",
    ridge: Annotated[
        str, typer.Option(help="Lambda of the objective. auto: 1e-5 times the mean norm of the features.")
    ] = "auto",
    seed: Annotated[
        int | None, typer.Option(help="Makes the random objective repeatable; other samples for mutual-information.")
    ] = None,
    jobs: Annotated[int | None, typer.Option(help="Threads. Default: all cores.")] = None,
    certify: Annotated[
        bool, typer.Option("--certify", help="Prove how close to the best possible pairs these are: one more scan.")
    ] = False,
    refinements: Annotated[
        int, typer.Option(help="With --certify: scans more to tighten the proof; 20 do much.", metavar="SCANS", min=0)
    ] = 0,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            help="Keep the pairs picked so far in this file; the same command, run again, goes on from there."
        ),
    ] = None,
    dask: Annotated[
        str | None,
        typer.Option(
            help="Scan on a Dask cluster: a scheduler's address (tcp://host:8786), or local:4 for four workers here.",
            metavar="WHERE",
        ),
    ] = None,
) -> None:
    """Pick the pairs of items whose comparison teaches most.

    [bold]pairsmith select items.csv -k 200 --labeled labels.csv -o pairs.csv[/bold]
    """
    if output is not None:
        _check_writable(output, [Path(items), labeled, candidates, *(compared or [])])
    else:
        _check_stdout()
    import numpy as np

    import pairsmith
    from pairsmith.criteria import CRITERIA
    from pairsmith.files import tables

    if refinements and not certify:
        raise ValueError("--refinements tighten the proof of --certify; give that too")
    if checkpoint is not None and any(given and _same(checkpoint, Path(given)) for given in (items, output)):
        raise ValueError(f"--checkpoint {checkpoint} is another file of this command; choose another")
    if better is not None and labeled is None:
        raise ValueError("--better names one of the labels of --labeled; give that too")
    if candidates and group_by:
        raise ValueError("--candidates and --group-by both say which pairs may be asked; give one of them")
    options: dict[str, Any] = {
        "max_per_item": max_per_item,
        "ridge": ridge if ridge == "auto" else _number(ridge, "--ridge"),
        "objective": objective,
        "algorithm": algorithm,
        "random_state": seed,
        "n_jobs": jobs,
        "progress": sys.stderr.isatty(),
        "certify": refinements if refinements else certify,
        "checkpoint": checkpoint,
    }
    if is_campaign(items):
        from pairsmith.campaign.rounds import design

        asked = campaigns.known(items, labeled, compared, candidates, group_by, id_column, features)
        with _resumable(checkpoint), _cluster(dask) as client:
            more = design(asked, k, model=_load(model, asked.features) if model else None, client=client, **options)
        if more is None:
            raise ValueError(f"{campaigns.shown(items)}: every pair has been asked; there are no more to pick")
        if len(more) < k:
            warnings.warn(f"only {len(more)} of the {k} pairs asked for are left to ask", stacklevel=2)
        selection, names = more, asked.features.index
    else:
        table = tables.read_items(Path(items), id_column, features or (), group_by)
        allowed: pairsmith.WithinGroups | pairsmith.PairList | None = None
        if table.groups is not None:
            allowed = pairsmith.WithinGroups(table.groups)
        elif candidates:
            allowed = pairsmith.PairList(tables.read_pairs(candidates, table))
        known: dict[str, Any] = {}
        learns = model is None and objective in CRITERIA and CRITERIA[objective].needs_model
        if labeled and learns:
            known["labeled"], known["labels"] = tables.read_labels(labeled, table)
            known["better"] = None if better is None else tables.as_label(better, known["labels"])
        elif labeled:
            known["labeled"] = tables.read_labeled(labeled, table)
        if compared and learns:
            answers = [tables.read_answers(path, table) for path in compared]
            known["comparisons"] = np.concatenate([pairs for pairs, _, _ in answers])
            known["outcomes"] = np.concatenate([outcomes for _, outcomes, _ in answers])
        elif compared:
            known["comparisons"] = np.concatenate([tables.read_pairs(path, table) for path in compared])
        path = Path(items).resolve()
        with _resumable(checkpoint), _cluster(dask) as client:
            selection = pairsmith.select(
                path if client is not None and path.suffix == ".npy" and path.is_file() else table.features.to_numpy(),
                k,
                **known,
                candidates=allowed,
                model=_load(model, table.features) if model else None,
                client=client,
                **options,
            )
        names = table.features.index
    selection = dataclasses.replace(selection, ids=names.to_numpy(dtype=object))
    if output is None:
        _print_frame(selection.to_frame())
    else:
        tables.write_table(selection.to_frame(), output, output.suffix[1:])
        _summarise(selection, output)


@app.command()
def fit(
    items: Annotated[
        str, typer.Argument(help="Items with numeric features, as for select; or a campaign.", metavar="ITEMS")
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="Where to write the model (.json).")],
    answers: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Answers: columns first, second and outcome (1 first preferred, -1 second, 0 tie), or winner, loser."
            " A campaign has its own.",
            metavar="[ANSWERS...]",
        ),
    ] = None,
    labels: Annotated[Path | None, typer.Option(help="Absolute labels of two values: columns id and label.")] = None,
    better: Annotated[
        str | None,
        typer.Option(help="The better one of the two labels of --labels, where they are words.", metavar="LABEL"),
    ] = None,
    ridge: Annotated[
        str, typer.Option(help="Penalty on the coefficients. auto: the one under which held-out answers are likeliest.")
    ] = "auto",
    id_column: Annotated[
        str | None,
        typer.Option("--id", help="The column of item ids. Default: id, or else the first.", metavar="COLUMN"),
    ] = None,
    features: Annotated[
        list[str] | None, typer.Option(help="Feature columns, by name or pattern; may be repeated.", metavar="PATTERN")
    ] = None,
) -> None:
    """Fit a Bradley-Terry model to answers.

    [bold]pairsmith fit items.csv answers.csv -o model.json[/bold]
    """
    _check_place(output, [Path(items), *(answers or []), labels], (".json",))
    import numpy as np
    from rich.console import Console
    from rich.markup import escape

    import pairsmith
    from pairsmith.files import tables

    known: dict[str, Any]
    best: Any = None
    if is_campaign(items):
        from pairsmith.campaign.rounds import evidence

        asked = campaigns.known(items, answers, labels, better, id_column, features)
        X, known = asked.features, evidence(asked)
        if "comparisons" not in known:
            raise ValueError(f"{campaigns.shown(items)} has no answers yet; label some pairs first")
        weights = np.ones(len(known["comparisons"]) + len(known.get("y", [])))
    else:
        if better is not None and labels is None:
            raise ValueError("--better names one of the labels of --labels; give that too")
        if not answers:
            raise ValueError("ANSWERS is missing: name at least one file of answers, or a campaign instead of items")
        table = tables.read_items(Path(items), id_column, features or ())
        parts = [tables.read_answers(path, table) for path in answers]
        known = {
            "comparisons": np.concatenate([pairs for pairs, _, _ in parts]),
            "outcomes": np.concatenate([outcomes for _, outcomes, _ in parts]),
        }
        weights = np.concatenate([counts for _, _, counts in parts])
        if len(weights) == 0 and not labels:
            raise ValueError(f"{answers[0]} holds no answers yet; nothing can be learned from it")
        if labels:
            known["labeled"], known["y"] = tables.read_labels(labels, table)
            best = None if better is None else tables.as_label(better, known["y"])
            weights = np.concatenate([np.ones(len(known["y"])), weights])
        X = table.features
    model: pairsmith.BradleyTerry
    if ridge == "auto":
        model = pairsmith.BradleyTerryCV(better=best).fit(X, **known, sample_weight=weights)
        told = f"ridge {model.ridge_:.3g}"
        chosen = (
            f"The ridge was chosen by {model.n_validated_} held out: log likelihood {model.scores_.max():.3f} each"
            f" ({np.log(0.5):.3f} by guessing), AUC {model.auc_:.3f}."
        )
        if model.n_validated_ < FEW:
            warnings.warn(
                f"only {model.n_validated_} of the answers and labels could be held out to choose the ridge by, which"
                " says little; name one with --ridge, or ask for more answers",
                stacklevel=1,
            )
    else:
        model = pairsmith.BradleyTerry(_number(ridge, "--ridge"), best).fit(X, **known, sample_weight=weights)
        told, chosen = f"ridge {model.ridge:.3g}", ""
    model.save(output)
    right = model.compare(X, known["comparisons"])
    decided = known["outcomes"] != 0
    agree = np.mean((right[decided] > 0.5) == (known["outcomes"][decided] > 0)) if decided.any() else np.nan
    console = Console(highlight=False)
    console.print(f"Fitted to {len(known['comparisons'])} answers and {len(known.get('y', []))} labels ({told}).")
    if chosen:
        console.print(chosen, soft_wrap=True)
    console.print(f"It agrees with {agree:.0%} of the answers it was fitted to.")
    console.print(f"Wrote {escape(printable(str(output)))}")


@app.command()
def rank(
    items: Annotated[
        str, typer.Argument(help="Items with the features the model was fitted to; or a campaign.", metavar="ITEMS")
    ],
    model: Annotated[
        Path | None,
        typer.Argument(
            help="A model that pairsmith fit wrote. A campaign is ranked without one as on its dashboard.",
            metavar="[MODEL]",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", help="Where to write the ranking (.csv, .jsonl, .parquet); else CSV to standard output."
        ),
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw scores with their intervals (.png, .svg, .pdf).")] = None,
    level: Annotated[float, typer.Option(help="Of the intervals.")] = 0.9,
    id_column: Annotated[
        str | None,
        typer.Option("--id", help="The column of item ids. Default: id, or else the first.", metavar="COLUMN"),
    ] = None,
) -> None:
    """Rank items, best first, with how sure that is.

    [bold]pairsmith rank items.csv model.json -o ranking.csv --plot ranking.png[/bold]
    """
    if output is not None:
        _check_writable(output, [Path(items), model])
    else:
        _check_stdout()
    if plot is not None:
        _check_place(plot, [Path(items), model, output], (".png", ".svg", ".pdf"))
        if find_spec("matplotlib") is None:
            raise ValueError("--plot needs matplotlib; pip install 'pairsmith[plots]'")
    from pairsmith.files import tables
    from pairsmith.model.bradley_terry import BradleyTerry

    fitted = None if model is None else BradleyTerry.load(model)
    if is_campaign(items):
        from pairsmith.campaign.rounds import learn

        asked = campaigns.known(items, id_column)
        features, fitted = asked.features, fitted or learn(asked)
        if fitted is None:
            raise ValueError(f"{campaigns.shown(items)} has no answers yet; label some pairs first")
    elif fitted is None:
        raise ValueError("MODEL is missing: name a model that pairsmith fit wrote, or a campaign instead of items")
    else:
        wanted = [str(name) for name in getattr(fitted, "feature_names_in_", [])]
        features = tables.read_items(Path(items), id_column, wanted and [glob.escape(name) for name in wanted]).features
    ranking = fitted.rank(_matching(fitted, features), level)
    frame = ranking.rename_axis("id").reset_index()[["rank", "id", *ranking.columns[1:]]]
    if output is None:
        _print_frame(frame)
    else:
        tables.write_table(frame, output, output.suffix[1:])
    if plot is not None:
        _caterpillar(frame, plot, level)
    for path in (output, plot):
        if path is not None:
            print(printable(f"Wrote {path}"), file=sys.stderr if output is None else sys.stdout)
    print(
        "Note: intervals count what the answers leave open about the weights of the features, not what features do not"
        " explain of an item; where that is much, they are too narrow.",
        file=sys.stderr,
    )


app.command()(campaigns.label)
app.command("demo-campaign")(campaigns.demo_campaign)
app.add_typer(campaigns.campaign, name="campaign")

data = typer.Typer(help="Data sets that pairsmith can read.", no_args_is_help=True)
app.add_typer(data, name="data")


@data.command("list")
def list_data() -> None:
    """What there is."""
    from rich.console import Console
    from rich.table import Table

    from pairsmith import datasets

    table = Table("name", "what", "needs")
    for name, loader in datasets.LOADERS.items():
        what = (loader.__doc__ or "").strip().splitlines()[0]
        table.add_row(name, what, "nothing" if name in datasets.EMBEDDED else "--path, a folder with its files")
    Console(highlight=False).print(table)


@data.command()
def info(
    name: Annotated[str, typer.Argument(help="A name that `pairsmith data list` shows.", metavar="NAME")],
    path: Annotated[Path | None, typer.Option(help="The folder with its files.")] = None,
    better: Annotated[
        str | None,
        typer.Option(help="Of rop: the better one of the two labels, where they are words.", metavar="LABEL"),
    ] = None,
) -> None:
    """Load a data set and say what is in it.

    [bold]pairsmith data info sushi --path sushi3-2016[/bold]
    """
    import inspect

    import numpy as np

    from pairsmith import datasets

    if name not in datasets.LOADERS:
        raise ValueError(f"there is no data set {name!r}; choose one of {', '.join(datasets.LOADERS)}")
    loader = datasets.LOADERS[name]
    if better is not None and name != "rop":
        raise ValueError(f"--better is for rop, whose labels may be words; leave it out for {name}")
    if name in datasets.EMBEDDED:
        if path is not None:
            raise ValueError(f"{name} needs no files; leave out --path")
        found = loader()
    elif path is None:
        raise ValueError(f"{name} is read from its files; say where they are with --path")
    else:
        found = loader(path) if better is None else loader(path, better=better)
    print(inspect.getdoc(loader))
    print()
    (n, d), rank = found.X.shape, np.linalg.matrix_rank(found.X - found.X.mean(axis=0))
    print(f"items        {n:,}, {d} features (rank {rank} about the mean)")
    print(f"labels       {len(found.labels):,}, {int(np.sum(found.labels > 0)):,} of them +1")
    wins = [int(np.sum(found.outcomes == side)) for side in (1, -1, 0)]
    print(f"comparisons  {len(found.pairs):,} pairs from {int(found.counts.sum()):,} answers: first {wins[0]:,}, second"
          f" {wins[1]:,}, even {wins[2]:,}")  # fmt: skip
    if found.groups is not None:
        sizes = np.unique(found.groups, return_counts=True)[1]
        print(f"groups       {len(sizes):,}, the largest of {sizes.max()}")
    print(printable(f"source       {found.source}"))


def _load(path: Path, features: pd.DataFrame) -> BradleyTerry:
    from pairsmith.model.bradley_terry import BradleyTerry

    model = BradleyTerry.load(path)
    _matching(model, features)
    return model


def _matching(model: BradleyTerry, features: pd.DataFrame) -> pd.DataFrame:
    """These features in the model's order, or an error that says what is missing."""
    if hasattr(model, "feature_names_in_"):
        wanted = list(model.feature_names_in_)
        missing = [name for name in wanted if name not in features.columns]
        if missing:
            raise ValueError(f"the items have no column {missing[0]!r}, which the model was fitted to")
        if len(features.columns) != len(wanted) or list(features.columns) != wanted:
            features = features[wanted]
    elif features.shape[1] != model.n_features_in_:
        raise ValueError(
            f"the items have {features.shape[1]} features, but the model was fitted to {model.n_features_in_}"
        )
    return features


def _caterpillar(frame: pd.DataFrame, path: Path, level: float) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    from pairsmith.files.write import write_whole

    shown = frame if len(frame) <= 60 else frame.iloc[[*range(30), *range(len(frame) - 30, len(frame))]]
    figure, axis = plt.subplots(figsize=(7, 1.2 + 0.2 * len(shown)), layout="constrained")
    places = list(range(len(shown), 0, -1))
    axis.hlines(places, shown["low"], shown["high"], color="#0072b2", lw=2, alpha=0.6)
    axis.plot(shown["score"], places, "o", color="#0072b2", ms=4)
    axis.set_yticks(places, [str(name) for name in shown["id"]], fontsize=8, parse_math=False)  # "$" is a letter
    if len(shown) < len(frame):
        axis.axhline(30.5, color="0.6", ls=":", lw=1)
        axis.annotate(
            f"{len(frame) - 60} more",
            (1, 30.5),
            xycoords=("axes fraction", "data"),
            ha="right",
            va="bottom",
            color="0.4",
        )
    axis.set(xlabel=f"score, with {level:.0%} intervals", title=f"{len(frame)} items, best first")
    axis.set_ylim(0, len(shown) + 1)
    axis.grid(axis="x", alpha=0.25)
    axis.spines[["top", "right", "left"]].set_visible(False)
    axis.tick_params(left=False)
    write_whole(path, lambda part: figure.savefig(part, dpi=120))
    plt.close(figure)


@contextmanager
def _resumable(checkpoint: Path | None) -> Iterator[None]:
    """Tell whoever interrupts this how to go on."""
    global _kept
    before = _kept
    if checkpoint is not None:
        _kept = f"The pairs picked so far are in {checkpoint}; the same command goes on from there."
    yield
    _kept = before


@contextmanager
def _cluster(where: str | None) -> Iterator[Any]:
    """A client of the Dask cluster that --dask names, if any."""
    if where is None:
        yield None
        return
    if find_spec("distributed") is None:
        raise ValueError("--dask needs Dask; pip install 'pairsmith[distributed]'")
    from pairsmith.cluster.client import connect

    with connect(where) as client:
        yield client


def _same(path: Path, other: Path) -> bool:
    return path.resolve() == other.resolve()


def _number(text: str, option: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{option} must be a positive number or auto, got {text!r}") from None


def _check_stdout() -> None:
    if sys.stdout is None:
        raise ValueError("standard output is closed; say where to write with -o")


def _check_writable(path: Path, inputs: list[Path | None]) -> None:
    if path.suffix == ".parquet" and find_spec("pyarrow") is None:
        raise ValueError(f"--output {path}: writing Parquet needs pyarrow; pip install 'pairsmith[data]'")
    _check_place(path, inputs, WRITERS)


def _check_place(path: Path, inputs: list[Path | None], endings: tuple[str, ...]) -> None:
    option = "--plot" if ".png" in endings else "--output"
    if path.is_dir():
        raise ValueError(f"{option} {path} is a folder; name a file")
    if any(given is not None and given.exists() and path.exists() and path.samefile(given) for given in inputs):
        raise ValueError(f"{option} {path} is one of the input files; choose another")
    if path.suffix not in endings:
        raise ValueError(
            f"{option} {path}: cannot write {path.suffix or 'without an ending'}; use {', '.join(endings)}"
        )
    if not path.parent.is_dir():
        raise ValueError(f"{option} {path}: there is no folder {path.parent}")


def _print_frame(frame: pd.DataFrame) -> None:
    """As CSV, to a file or another program as it is written to files, to a terminal without what would command it."""
    from pairsmith.files.tables import map_texts, write_csv

    write_csv(map_texts(frame, printable) if sys.stdout.isatty() else frame, sys.stdout)


def _summarise(selection: Selection, path: Path) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")  # a terminal that cannot show an id still gets its table
    console = Console(highlight=False)
    before, after = selection.logdet_before, selection.logdet[-1]
    console.print(
        f"Picked {len(selection)} pairs in {selection.seconds[-1]:.2f} s"
        f" ({selection.objective}, {selection.algorithm}, ridge {selection.ridge:.3g})."
    )
    console.print(f"log det of the information: {before:.3f} before, {after:.3f} with them.")
    if selection.optimality is not None:
        console.print(
            f"Proved: no {len(selection)} pairs add more than {selection.bound:.3f} to it; these add"
            f" {after - before:.3f}, {selection.optimality:.1%} of that."
        )
    shown = selection.to_frame().head(10)
    table = Table(title=f"The first {len(shown)} of {len(selection)}" if len(selection) > len(shown) else None)
    table.add_column("rank", justify="right")
    table.add_column("first")
    table.add_column("second")
    table.add_column("gain", justify="right")
    table.caption = f"gain: {selection.gain_is}"
    for row in shown.itertuples():
        table.add_row(
            str(row.rank), *(escape(printable(str(name))) for name in (row.first, row.second)), f"{row.gain:.4f}"
        )
    console.print(table)
    console.print(f"Wrote {escape(printable(str(path)))}")
