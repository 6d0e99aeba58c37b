"""pairsmith data: the data sets that can be read, and what is in one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pairsmith.data.names import printable

data = typer.Typer(help="Data sets that pairsmith can read.", no_args_is_help=True)


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
