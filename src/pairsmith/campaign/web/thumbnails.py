"""Small pictures, for lists of many; with Pillow only, which is optional."""

from __future__ import annotations

import io
import warnings
from contextlib import suppress
from dataclasses import dataclass, field
from typing import BinaryIO

SIDE = 112  # pixels at most, of both sides: twice what is shown, for fine screens
MAX_PIXELS = 50_000_000  # of a picture that is decoded beside people who rate: some 200 MB, and as much to shrink it
MADE = "image/webp"
READABLE = {"image/png": "PNG", "image/jpeg": "JPEG", "image/gif": "GIF", "image/webp": "WEBP", "image/avif": "AVIF"}


@dataclass(frozen=True)
class Picture:
    """An open file, and what tells it from others and from what it was before."""

    file: BinaryIO = field(compare=False)
    row: int
    part: int
    changed: int
    size: int


def small(picture: Picture) -> bytes | None:
    """The picture, upright and no larger than SIDE, as WebP.

    None where it cannot be read, has too many pixels, or Pillow is missing.
    """
    try:
        import numpy as np
        from PIL import Image, ImageOps
    except ImportError:
        return None
    with warnings.catch_warnings(), suppress(Exception):  # readers of many formats raise what they like
        warnings.simplefilter("ignore")
        with Image.open(picture.file, formats=list(READABLE.values())) as image:
            image.draft("RGB", (2 * SIDE, 2 * SIDE))  # a JPEG is decoded at a fraction of its size
            if image.width * image.height > MAX_PIXELS:
                return None
            upright = ImageOps.exif_transpose(image)
            if upright.mode.startswith("I"):  # 16 bits, which Pillow would cut off at 255: all white
                upright = Image.fromarray((np.asarray(upright) >> 8).astype(np.uint8))
            upright.thumbnail((SIDE, SIDE), Image.Resampling.BILINEAR, reducing_gap=2.0)
            made = io.BytesIO()
            upright.convert("RGBA" if "transparency" in upright.info or "A" in upright.mode else "RGB").save(
                made, "WEBP", quality=75
            )
            return made.getvalue()
    return None
