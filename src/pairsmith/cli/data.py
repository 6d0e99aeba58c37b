"""pairsmith data: list the data sets that pairsmith can load, and describe one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pairsmith.data.names import printable

data = typer.Typer(help="List and describe the data sets that pairsmith can load.", no_args_is_help=True)


@data.command("list")
def list_data() -> None:
    """List the data sets."""
    from rich.console import Console
    from rich.table import Table

    from pairsmith import datasets

    table = Table("name", "what", "needs")
    for name, loader in datasets.LOADERS.items():
        description = (loader.__doc__ or "").strip().splitlines()[0]
        table.add_row(name, description, "nothing" if name in datasets.EMBEDDED else "--path, a folder with its files")
    Console(highlight=False).print(table)


@data.command()
def info(
    name: Annotated[str, typer.Argument(help="A name from pairsmith data list.", metavar="NAME")],
    path: Annotated[Path | None, typer.Option(help="The folder with the data set's files.")] = None,
    better: Annotated[
        str | None,
        typer.Option(help="For rop: the better one of the two labels, if they are words.", metavar="LABEL"),
    ] = None,
) -> None:
    """Load a data set and describe it.

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
        dataset = loader()
    elif path is None:
        raise ValueError(f"{name} is read from its files; say where they are with --path")
    else:
        dataset = loader(path) if better is None else loader(path, better=better)
    print(inspect.getdoc(loader))
    print()
    (n, d), rank = dataset.X.shape, np.linalg.matrix_rank(dataset.X - dataset.X.mean(axis=0))
    print(f"items        {n:,}, {d} features (rank {rank} about the mean)")
    print(f"labels       {len(dataset.labels):,}, {int(np.sum(dataset.labels > 0)):,} of them +1")
    wins = [int(np.sum(dataset.outcomes == side)) for side in (1, -1, 0)]
    answers = f"{len(dataset.pairs):,} pairs from {int(dataset.counts.sum()):,} answers"
    print(f"comparisons  {answers}: first {wins[0]:,}, second {wins[1]:,}, even {wins[2]:,}")
    if dataset.groups is not None:
        sizes = np.unique(dataset.groups, return_counts=True)[1]
        print(f"groups       {len(sizes):,}, the largest of {sizes.max()}")
    print(printable(f"source       {dataset.source}"))
