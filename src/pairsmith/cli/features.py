"""pairsmith features: numbers made from raw texts, images, categories and dates."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from pairsmith.cli.inputs import (
    Dimensions,
    IdColumn,
    ImageColumns,
    ImageEmbedding,
    TextColumns,
    TextEmbedding,
    cache_of,
    making,
)
from pairsmith.cli.output import check_place, check_stdout, check_writable, file_or_stdout, print_frame
from pairsmith.data.names import printable


def features(
    items: Annotated[Path, typer.Argument(help="Items: .csv, .tsv, .jsonl or .parquet.", metavar="ITEMS")],
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", help="Where to write them (.csv, .jsonl, .parquet); else CSV to standard output."
        ),
    ] = None,
    text: TextColumns = None,
    image: ImageColumns = None,
    category: Annotated[
        list[str] | None,
        typer.Option(help="A column whose values only say which items are alike; may be repeated.", metavar="COLUMN"),
    ] = None,
    columns: Annotated[
        list[str] | None,
        typer.Option(
            "--features",
            help="Other columns to use, by name or pattern; may be repeated. Default: all that hold numbers, dates or"
            " few different values.",
            metavar="PATTERN",
        ),
    ] = None,
    dimensions: Dimensions = None,
    text_embedding: TextEmbedding = None,
    image_embedding: ImageEmbedding = None,
    recipe: Annotated[
        Path | None,
        typer.Option(help="Make the same features as before, by a recipe or a model that has one.", metavar="FILE"),
    ] = None,
    save_recipe: Annotated[
        Path | None, typer.Option(help="Where to write how features were made (.json).", metavar="FILE")
    ] = None,
    id_column: IdColumn = None,
) -> None:
    """Make numeric features from raw texts, images, categories and dates.

    What embeddings give is kept beside the output, in OUTPUT.cache, so that a run that was stopped goes on.

    [bold]pairsmith features items.csv --text review --image photo -o features.parquet[/bold]
    """
    output = file_or_stdout(output)
    if output is None:
        check_stdout()
    else:
        check_writable(output, [items, recipe])
    if save_recipe is not None:
        check_place(save_recipe, [items, recipe, output], (".json",))
    if recipe is not None and any((text, image, category, columns, dimensions, text_embedding, image_embedding)):
        raise ValueError(f"--recipe {recipe} says how features are made; leave out the options that say it too")
    from pairsmith.files.write_table import write_table
    from pairsmith.recipe.from_files import read_and_apply, read_and_fit
    from pairsmith.recipe.recipe import Recipe

    if recipe is not None:
        made = Recipe.load(recipe)
        cache = cache_of(output) if made.embeds else None
        found = read_and_apply(items, made, id_column, cache=cache, progress=sys.stderr.isatty())
    else:
        found, made = read_and_fit(
            items,
            text=text or (),
            image=image or (),
            category=category or (),
            features=columns or (),
            id_column=id_column,
            **making(dimensions, text_embedding, image_embedding, output),
        )
    frame = found.features.rename_axis("id").reset_index()
    told = sys.stderr if output is None else sys.stdout
    for line in made.sentences():
        print(printable(line), file=told)
    if output is None:
        print_frame(frame)
    else:
        write_table(frame, output, output.suffix[1:])
        print(printable(f"Wrote {output}: {len(frame)} items, {len(made.names)} features"), file=told)
    if save_recipe is not None:
        made.save(save_recipe)
        print(printable(f"Wrote {save_recipe}"), file=told)
