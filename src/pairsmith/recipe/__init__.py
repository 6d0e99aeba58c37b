"""Raw columns turned into numeric features, by a recipe that new rows can follow.

    recipe        Recipe: fitted once, applied to new rows with the same result, kept as plain JSON; features()
    ingredients   which columns are used and as what, their values checked before any work
    text          texts: TF-IDF of words and of runs of characters, principal axes, lengths
    images        pictures: statistics of colours and edges, histograms of gradients, thumbnails
    columns       numbers, dates and categories
    embeddings    embeddings that are installed, by name; what they gave is kept in a cache
    axes          principal axes of dense vectors
    from_files    items of a file, with features by a recipe
    tables        tables that users pass, as frames of raw columns with ids
    stored        arrays inside JSON
    progress      a bar for what takes long

Words: a *column* is what users have, a *feature* a column of numbers made from it; *axes* are the directions along
which texts or pictures differ most, and a text's coordinates along them are features.
"""

from typing import Any

_OF_COLUMNS = ("dimensions", "text_embedding", "image_embedding")


def check_unused(making: dict[str, Any]) -> None:
    """Refuse options that say how texts and images become features where no column of either is named."""
    for name in _OF_COLUMNS:
        if making.get(name) is not None:
            option = f"--{name.replace('_', '-')}"
            raise ValueError(f"{option} is of columns that --text or --image names; name one")
