"""pairsmith features: make numeric features from texts, images, categories and dates."""

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
    cache_beside,
    recipe_options,
)
from pairsmith.cli.output import check_path, check_stdout, check_table_path, file_or_stdout, print_frame
from pairsmith.data.names import printable


def features(
    items: Annotated[Path, typer.Argument(help="A table of items (.csv, .tsv, .jsonl, .parquet).", metavar="ITEMS")],
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            help="The file to write the features to (.csv, .jsonl, .parquet). Default: CSV on standard output.",
        ),
    ] = None,
    text: TextColumns = None,
    image: ImageColumns = None,
    category: Annotated[
        list[str] | None,
        typer.Option(
            help="A column of categories, whose values are only equal or different. May be repeated.", metavar="COLUMN"
        ),
    ] = None,
    columns: Annotated[
        list[str] | None,
        typer.Option(
            "--features",
            help="Another column to use, by name or pattern. May be repeated. Default: all columns of numbers, of dates"
            " or with few different values.",
            metavar="PATTERN",
        ),
    ] = None,
    dimensions: Dimensions = None,
    text_embedding: TextEmbedding = None,
    image_embedding: ImageEmbedding = None,
    recipe: Annotated[
        Path | None,
        typer.Option(help="Make features by this saved recipe, or by the recipe in this saved model.", metavar="FILE"),
    ] = None,
    save_recipe: Annotated[
        Path | None, typer.Option(help="The file to write the recipe of the features to (.json).", metavar="FILE")
    ] = None,
    id_column: IdColumn = None,
) -> None:
    """Make numeric features from raw texts, images, categories and dates.

    Embeddings are cached beside the output in OUTPUT.cache, so that an interrupted run can continue.

    [bold]pairsmith features items.csv --text review --image photo -o features.parquet[/bold]
    """
    output = file_or_stdout(output)
    if output is None:
        check_stdout()
    else:
        check_table_path(output, [items, recipe])
    if save_recipe is not None:
        check_path(save_recipe, [items, recipe, output], (".json",))
    if recipe is not None and any((text, image, category, columns, dimensions, text_embedding, image_embedding)):
        raise ValueError(f"--recipe {recipe} says how features are made; leave out the other options that say so")
    from pairsmith.files.write_table import write_table
    from pairsmith.recipe.from_files import read_and_apply, read_and_fit
    from pairsmith.recipe.recipe import Recipe

    if recipe is not None:
        applied = Recipe.load(recipe)
        cache = cache_beside(output) if applied.embeds else None
        table = read_and_apply(items, applied, id_column, cache=cache, progress=sys.stderr.isatty())
    else:
        table, applied = read_and_fit(
            items,
            text=text or (),
            image=image or (),
            category=category or (),
            features=columns or (),
            id_column=id_column,
            **recipe_options(dimensions, text_embedding, image_embedding, output),
        )
    frame = table.features.rename_axis("id").reset_index()
    messages = sys.stderr if output is None else sys.stdout
    for line in applied.sentences():
        print(printable(line), file=messages)
    if output is None:
        print_frame(frame)
    else:
        write_table(frame, output, output.suffix[1:])
        print(printable(f"Wrote {output}: {len(frame)} items, {len(applied.names)} features"), file=messages)
    if save_recipe is not None:
        applied.save(save_recipe)
        print(printable(f"Wrote {save_recipe}"), file=messages)
