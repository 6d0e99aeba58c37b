"""Two campaigns to try: pictures of digits (which is larger?) and short reviews (which is more helpful?)."""

from __future__ import annotations

from importlib.util import find_spec
from io import BytesIO
from pathlib import Path

import numpy as np
import pandas as pd

from pairsmith.campaign import is_url
from pairsmith.campaign.options import CampaignOptions, TableColumns
from pairsmith.campaign.setup.create import check_place, create
from pairsmith.campaign.setup.table import Parts, read_item_table
from pairsmith.campaign.store.database import CampaignError
from pairsmith.data.arrays import Floats
from pairsmith.datasets.embedded import digits
from pairsmith.files.items import Items
from pairsmith.recipe.recipe import Recipe

REVIEWS = Path(__file__).with_name("reviews.csv")


def make_demo(target: str, count: int = 300, k: int = 60, seed: int = 0) -> int:
    """Make a campaign from the digits of scikit-learn, drawn as images into a folder beside it."""
    check_place(target)
    if find_spec("PIL") is None:
        raise CampaignError("the digits are drawn with Pillow; pip install 'pairsmith[app]', or try --texts")
    data = digits()
    chosen = np.sort(np.random.default_rng(seed).choice(len(data.X), count, replace=False))
    folder = Path(target).with_suffix("") if not is_url(target) else Path("digits")
    folder = folder.with_name(f"{folder.name}-images")
    folder.mkdir(exist_ok=True)
    X = data.X[chosen]
    parts: list[Parts] = []
    for row, pixels in zip(chosen, X, strict=True):
        path = folder / f"{row}.png"
        try:
            path.write_bytes(png(pixels.reshape(8, 8) / 16))
        except OSError as error:  # on a full disk, the error names no file
            raise CampaignError(f"{path} cannot be written: {error.strerror}") from None
        parts.append([("image", path.name)])
    X = X / 16
    X = X[:, X.std(axis=0) > 0]
    names = [f"pixel_{column}" for column in range(X.shape[1])]
    features = pd.DataFrame(X, index=[f"digit {row}" for row in chosen], columns=names)
    return create(
        target,
        Items(Path(target), features),
        parts,
        CampaignOptions(
            questions=["Which digit is larger?"],
            instructions="Choose the **larger digit**: 7 is larger than 3. Where both are the same, call it a tie."
            " Where you cannot read one of them, skip.",
            k=k,
            folder=str(folder),
        ),
    )


def make_text_demo(target: str, k: int = 30) -> tuple[int, Recipe]:
    """Make a campaign from 60 short reviews, as `pairsmith campaign create` does from a table of texts.

    Return the number of pairs in its first round, and the recipe that made features of the texts.
    """
    check_place(target)
    columns = TableColumns(show=["text:review"])
    table = read_item_table(REVIEWS, columns)
    assert table.recipe is not None  # texts get their features from one
    options = CampaignOptions(
        questions=["Which review is more helpful?"],
        instructions="These are reviews of many things, **none of which you can see**. Choose the one that would help"
        " you more to decide whether to buy: what it says counts, not whether it praises.",
        k=k,
        columns=columns,
    )
    return create(target, table.items, table.parts, options, recipe=table.recipe), table.recipe


def png(ink: Floats, size: int = 120) -> bytes:
    """Return a small grey PNG of values from 0 (paper) to 1 (ink), enlarged smoothly."""
    from PIL import Image

    framed = np.pad(ink, 1).astype(np.float32)
    height, width = (round(side * size / len(framed)) for side in framed.shape)
    large = np.asarray(Image.fromarray(framed).resize((width, height), Image.Resampling.BICUBIC))
    grey = np.round(255 * (1 - np.clip(1.5 * large - 0.25, 0, 1))).astype(np.uint8)  # crisper than the scan
    written = BytesIO()
    Image.fromarray(grey).save(written, "PNG")
    return written.getvalue()
