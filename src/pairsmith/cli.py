"""The command line: parse, call the library, print."""

from __future__ import annotations

import dataclasses
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
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

_kept = "Nothing was written."  # what an interrupted command leaves behind


def main() -> None:
    """Run the command line: whatever the user got wrong is one line on standard error and exit code 2."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("always", UserWarning)
            warnings.showwarning = lambda text, *_args, **_more: print(
                f"Warning: {_in_options(str(text))}", file=sys.stderr
            )
            code = app(prog_name="pairsmith", standalone_mode=False)
    except typer.TyperException as error:  # a wrong option or argument
        code = _complain(error.format_message())
    except BrokenPipeError:  # the reader of our output has gone: no concern of ours
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        code = 0
    except (ValueError, OSError) as error:
        code = _complain(_in_options(str(error)))
    except MemoryError:
        code = _complain("there is not enough memory for this; see --algorithm")
    except KeyboardInterrupt:
        code = 130
    if code == 130:
        print(f"Interrupted. {_kept}", file=sys.stderr)
    sys.exit(code or 0)


def _complain(message: str) -> int:
    if message:  # none where help was printed instead
        print(f"Error: {' '.join(message.split())}", file=sys.stderr)
    return 2


def _in_options(message: str) -> str:
    """The library's argument names, as the command line spells them."""
    for name, option in (("n_jobs", "--jobs"), ("random_state", "--seed"), ("max_per_item", "--max-per-item")):
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
        Path,
        typer.Argument(help="Items with numeric features: .csv, .tsv, .jsonl, .parquet or .npy.", metavar="ITEMS"),
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
            help="Items that have an absolute label already: ids and, optionally, labels; no label, not counted."
        ),
    ] = None,
    compared: Annotated[
        list[Path] | None,
        typer.Option(
            help="Pairs compared already: columns first and second. They are built on, not asked again. Repeat it to"
            " give the files of several rounds."
        ),
    ] = None,
    candidates: Annotated[
        Path | None,
        typer.Option(help="The only pairs that may be asked: columns first and second. Default: all pairs."),
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
    objective: Annotated[str, typer.Option(help="d-optimal or random.")] = "d-optimal",
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
    seed: Annotated[int | None, typer.Option(help="Makes the random objective repeatable.")] = None,
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
) -> None:
    """Pick the pairs of items whose comparison teaches most.

    [bold]pairsmith select items.csv -k 200 --labeled labels.csv -o pairs.csv[/bold]
    """
    if output is not None:
        _check_writable(output, [items, labeled, candidates, *(compared or [])])
    elif sys.stdout is None:
        raise ValueError("standard output is closed; say where to write with -o")
    import numpy as np

    import pairsmith
    from pairsmith import tables

    if refinements and not certify:
        raise ValueError("--refinements tighten the proof of --certify; give that too")
    if checkpoint is not None and any(given is not None and _same(checkpoint, given) for given in (items, output)):
        raise ValueError(f"--checkpoint {checkpoint} is another file of this command; choose another")
    if candidates and group_by:
        raise ValueError("--candidates and --group-by both say which pairs may be asked; give one of them")
    table = tables.read_items(items, id_column, features or (), group_by)
    allowed: pairsmith.WithinGroups | pairsmith.PairList | None = None
    if table.groups is not None:
        allowed = pairsmith.WithinGroups(table.groups)
    elif candidates:
        allowed = pairsmith.PairList(tables.read_pairs(candidates, table))
    with _resumable(checkpoint):
        selection = pairsmith.select(
            table.features.to_numpy(),
            k,
            labeled=tables.read_labeled(labeled, table) if labeled else None,
            comparisons=np.concatenate([tables.read_pairs(path, table) for path in compared]) if compared else None,
            candidates=allowed,
            max_per_item=max_per_item,
            ridge=ridge if ridge == "auto" else _number(ridge, "--ridge"),
            objective=objective,
            algorithm=algorithm,
            random_state=seed,
            n_jobs=jobs,
            progress=sys.stderr.isatty(),
            certify=refinements if refinements else certify,
            checkpoint=checkpoint,
        )
    selection = dataclasses.replace(selection, ids=table.features.index.to_numpy(dtype=object))
    if output is None:
        selection.to_frame().to_csv(sys.stdout, index=False)
    else:
        _write(selection, output)
        _summarise(selection, output)


@contextmanager
def _resumable(checkpoint: Path | None) -> Iterator[None]:
    """Tell whoever interrupts this how to go on."""
    global _kept
    before = _kept
    if checkpoint is not None:
        _kept = f"The pairs picked so far are in {checkpoint}; the same command goes on from there."
    yield
    _kept = before


def _same(path: Path, other: Path) -> bool:
    return path.resolve() == other.resolve()


def _number(text: str, option: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{option} must be a positive number or auto, got {text!r}") from None


def _check_writable(path: Path, inputs: list[Path | None]) -> None:
    if path.is_dir():
        raise ValueError(f"--output {path} is a folder; name a file")
    if any(given is not None and given.exists() and path.exists() and path.samefile(given) for given in inputs):
        raise ValueError(f"--output {path} is one of the input files; choose another")
    if path.suffix == ".parquet" and find_spec("pyarrow") is None:
        raise ValueError(f"--output {path}: writing Parquet needs pyarrow; pip install 'pairsmith[data]'")
    if path.suffix not in WRITERS:
        raise ValueError(
            f"--output {path}: cannot write {path.suffix or 'without an ending'}; use {', '.join(WRITERS)}"
        )
    if not path.parent.is_dir():
        raise ValueError(f"--output {path}: there is no folder {path.parent}")


def _write(selection: Selection, path: Path) -> None:
    from pairsmith.storage import write_whole

    frame = selection.to_frame()
    if path.suffix == ".csv":
        selection.to_csv(path)
    elif path.suffix == ".jsonl":
        write_whole(path, lambda part: frame.to_json(part, orient="records", lines=True, double_precision=15))
    else:
        write_whole(path, lambda part: frame.to_parquet(part, index=False))


def _summarise(selection: Selection, path: Path) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")  # a terminal that cannot show an id still gets its table
    console = Console(highlight=False)
    before, after = selection.logdet[0] - selection.gains[0], selection.logdet[-1]
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
    for row in shown.itertuples():
        table.add_row(str(row.rank), escape(str(row.first)), escape(str(row.second)), f"{row.gain:.4f}")
    console.print(table)
    console.print(f"Wrote {escape(str(path))}")


if __name__ == "__main__":
    main()
