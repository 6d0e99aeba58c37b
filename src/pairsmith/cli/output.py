"""What commands write: tables to files and to standard output, summaries, plots."""

from __future__ import annotations

import sys
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from pairsmith.data.names import printable
from pairsmith.files.write import descriptor

if TYPE_CHECKING:
    import pandas as pd

    from pairsmith.selection.select import Selection

WRITERS = (".csv", ".jsonl", ".parquet")
_STANDARD_OUTPUT = 1  # the number of its file descriptor


def file_or_stdout(path: Path | None) -> Path | None:
    """The file that -o names; None for standard output, also where that is named, as /dev/stdout."""
    return None if path is None or descriptor(str(path)) == _STANDARD_OUTPUT else path


def check_stdout() -> None:
    """Refuse to print a table where nobody can read it."""
    if sys.stdout is None:
        raise ValueError("standard output is closed; say where to write with -o")


def check_writable(path: Path, inputs: list[Path | None]) -> None:
    """Refuse a place for a table before any work: `inputs` are the files that must not be overwritten."""
    if path.suffix == ".parquet" and find_spec("pyarrow") is None:
        raise ValueError(f"--output {path}: writing Parquet needs pyarrow; pip install 'pairsmith[data]'")
    check_place(path, inputs, WRITERS)


def check_place(path: Path, inputs: list[Path | None], endings: tuple[str, ...]) -> None:
    """Refuse what is no place for a file of such an ending."""
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


def print_frame(frame: pd.DataFrame) -> None:
    """As CSV, to a file or another program as it is written to files, to a terminal without what would command it."""
    from pairsmith.files.write_table import map_texts, write_csv

    write_csv(map_texts(frame, printable) if sys.stdout.isatty() else frame, sys.stdout)


def summarise(selection: Selection, path: Path) -> None:
    """What was picked, and where it is now."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")  # a terminal that cannot show an id still gets its table
    console = Console(highlight=False)
    for sentence in selection.sentences():
        console.print(sentence)
    shown = selection.to_frame().head(10)
    table = Table(title=f"The first {len(shown)} of {len(selection)}" if len(selection) > len(shown) else None)
    table.add_column("rank", justify="right")
    table.add_column("first")
    table.add_column("second")
    table.add_column("gain", justify="right")
    for row in shown.itertuples():
        table.add_row(
            str(row.rank), *(escape(printable(str(name))) for name in (row.first, row.second)), f"{row.gain:.4g}"
        )
    console.print(table)
    console.print(f"gain: {selection.gain_is}", soft_wrap=True)
    console.print(f"Wrote {escape(printable(str(path)))}")


def draw_ranking(frame: pd.DataFrame, path: Path, level: float) -> None:
    """A file with what ps.plot.ranking draws; without pyplot, which could want a screen."""
    from matplotlib.figure import Figure

    from pairsmith import plot
    from pairsmith.files.write import write_whole

    figure = Figure(figsize=plot.size_for(len(frame)), layout="constrained")
    plot.draw_ranking(frame.set_index("id"), level, None, figure.subplots())
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph ")  # each, after all together were told
        write_whole(path, lambda part: figure.savefig(part, dpi=120))


def counted(number: int, noun: str) -> str:
    """1 answer, 2 answers."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
