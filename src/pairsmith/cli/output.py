"""What commands write: tables to files and to standard output, summaries, plots, sentences."""

from __future__ import annotations

import sys
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from pairsmith.data.names import printable
from pairsmith.files.write import descriptor

if TYPE_CHECKING:
    import pandas as pd

    from pairsmith.selection.select import Selection

TABLE_ENDINGS = (".csv", ".jsonl", ".parquet")
STDOUT_DESCRIPTOR = 1


def say(text: str, to: TextIO | None = None) -> None:
    """Print a sentence that may hold names from files, without control characters that a terminal would obey."""
    print(printable(text), file=to, flush=True)


def file_or_stdout(path: Path | None) -> Path | None:
    """Return the file that -o names, or None for standard output, which may be named too, as /dev/stdout."""
    return None if path is None or descriptor(str(path)) == STDOUT_DESCRIPTOR else path


def check_stdout() -> None:
    """Refuse to print a table if standard output is closed."""
    if sys.stdout is None:
        raise ValueError("standard output is closed; say where to write with -o")


def check_table_path(path: Path, inputs: list[Path | None]) -> None:
    """Refuse a file that no table can be written to, or that is one of the inputs, before any work."""
    if path.suffix == ".parquet" and find_spec("pyarrow") is None:
        raise ValueError(f"--output {path}: writing Parquet needs pyarrow; pip install 'pairsmith[data]'")
    check_path(path, inputs, TABLE_ENDINGS)


def check_path(path: Path, inputs: list[Path | None], endings: tuple[str, ...]) -> None:
    """Refuse a file in a missing folder, with another ending, or that is one of the inputs."""
    option = "--plot" if ".png" in endings else "--output"
    if path.is_dir():
        raise ValueError(f"{option} {path} is a folder; name a file")
    if any(other is not None and other.exists() and path.exists() and path.samefile(other) for other in inputs):
        raise ValueError(f"{option} {path} is one of the input files; choose another")
    if path.suffix not in endings:
        raise ValueError(
            f"{option} {path}: cannot write {path.suffix or 'without an ending'}; use {', '.join(endings)}"
        )
    if not path.parent.is_dir():
        raise ValueError(f"{option} {path}: there is no folder {path.parent}")


def print_frame(frame: pd.DataFrame) -> None:
    """Print a table as CSV. On a terminal, control characters in it are spelled out."""
    from pairsmith.files.write_table import map_texts, write_csv

    write_csv(map_texts(frame, printable) if sys.stdout.isatty() else frame, sys.stdout)


def summarise(selection: Selection, path: Path) -> None:
    """Print what was selected, the first pairs, and the file that they were written to."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")  # a terminal that cannot show an id still gets its table
    console = Console(highlight=False)
    for sentence in selection.sentences():
        console.print(sentence)
    first_pairs = selection.to_frame().head(10)
    title = f"The first {len(first_pairs)} of {len(selection)}" if len(selection) > len(first_pairs) else None
    table = Table(title=title)
    table.add_column("rank", justify="right")
    table.add_column("first")
    table.add_column("second")
    table.add_column("gain", justify="right")
    for row in first_pairs.itertuples():
        first, second = (escape(printable(str(name))) for name in (row.first, row.second))
        table.add_row(str(row.rank), first, second, f"{row.gain:.4g}")
    console.print(table)
    console.print(f"gain: {selection.gain_description}", soft_wrap=True)
    console.print(f"Wrote {escape(printable(str(path)))}")


def draw_ranking(frame: pd.DataFrame, path: Path, level: float) -> None:
    """Draw a ranking to a file, as ps.plot.ranking does, but without pyplot, which may need a screen."""
    from matplotlib.figure import Figure

    from pairsmith import plot
    from pairsmith.files.write import write_whole

    figure = Figure(figsize=plot.size_for(len(frame)), layout="constrained")
    plot.draw_ranking(frame.set_index("id"), level, None, figure.subplots())
    with warnings.catch_warnings():
        # plot.draw_ranking has warned about all missing glyphs together; matplotlib warns about each.
        warnings.filterwarnings("ignore", message="Glyph ")
        write_whole(path, lambda part: figure.savefig(part, dpi=120))
