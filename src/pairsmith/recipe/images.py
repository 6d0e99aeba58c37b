"""Pictures as numbers, by Pillow and NumPy alone: colours, edges, and what the whole looks like from afar.

Every picture is turned upright as its EXIF orientation says, laid on white where it is transparent, and made 64 pixels
wide and high. Of that are taken

    statistics    the logarithm of width over height; mean, deviation and skewness of brightness and of two differences
                  of colours; how strong and how even its edges are
    edges         histograms of oriented gradients: in each of 8 x 8 cells, how much gradient points which of 9 ways
    thumbnail     16 x 16 pixels of brightness and the two differences of colours

and of edges and thumbnails, with the same weight, the principal axes (`axes`).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pairsmith.data.arrays import Floats
from pairsmith.data.names import quoted
from pairsmith.recipe.axes import PrincipalAxes

if TYPE_CHECKING:
    from PIL.Image import Image

SIDE, CELLS, WAYS, THUMBNAIL = 64, 8, 9, 16
STATISTICS = ["shape", *(f"{what}_{of}" for of in ("light", "red-green", "yellow-blue") for what in ("mean", "spread",
              "skew")), "edges", "edge_spread"]  # fmt: skip
EDGES, PIXELS = CELLS * CELLS * WAYS, THUMBNAIL * THUMBNAIL * 3  # how many numbers each has
_MODES = ("L", "RGB", "RGBA")  # that Pillow resizes as they should be

Place = Callable[[int], str]  # what to call a row in an error


@dataclass(frozen=True)
class ImageAxes:
    """What turns descriptions of pictures into features: statistics as they are, and axes of the rest."""

    rest: PrincipalAxes

    @classmethod
    def fit(cls, vectors: Floats, dimensions: int, seed: int) -> ImageAxes:
        return cls(PrincipalAxes.fit(vectors[:, len(STATISTICS) :], dimensions, seed, blocks=[EDGES]))

    @property
    def names(self) -> list[str]:
        """Of the columns that `apply` gives."""
        return [*STATISTICS, *self.rest.names]

    @property
    def kept(self) -> float:
        """Share of the variance of edges and thumbnails."""
        return self.rest.kept

    def apply(self, vectors: Floats) -> Floats:
        return np.hstack([vectors[:, : len(STATISTICS)], self.rest.apply(vectors[:, len(STATISTICS) :])])

    def to_json(self) -> dict[str, Any]:
        return self.rest.to_json()

    @classmethod
    def from_json(cls, content: Any) -> ImageAxes:
        rest = PrincipalAxes.from_json(content)
        if len(rest.center) != EDGES + PIXELS:
            raise ValueError("the parts do not agree")
        return cls(rest)


def check_images(paths: Sequence[Path], place: Place) -> None:
    """Refuse what is no picture, or too large a one, by the beginnings of all files: nothing is decoded."""
    if find_spec("PIL") is None:
        raise ValueError("features of images need Pillow; pip install 'pairsmith[images]'")
    for row, path in enumerate(paths):
        _opened(path, row, place).close()


def describe(paths: Sequence[Path], place: Place, tell: Callable[[int], object] = lambda _: None) -> Floats:
    """(N, statistics + edges + thumbnail) of these files; `tell` hears of every one."""
    vectors = np.empty((len(paths), len(STATISTICS) + EDGES + PIXELS))
    for row, path in enumerate(paths):
        small, shape = square(path, row, place, SIDE)
        vectors[row] = np.concatenate([[np.log(shape)], _described(small)])
        tell(1)
    return vectors


def square(path: Path, row: int, place: Place, side: int) -> tuple[Floats, float]:
    """The picture, upright, (side, side, 3) from 0 to 1, and its width over its height."""
    from PIL import Image, ImageOps

    with warnings.catch_warnings(), _opened(path, row, place) as image:
        warnings.simplefilter("ignore")  # about odd metadata, and large pictures, which were let through on purpose
        try:
            image.draft("RGB", (2 * side, 2 * side))  # a JPEG is decoded at a fraction of its size
            upright = ImageOps.exif_transpose(image)
            shape = upright.width / upright.height
            plain = _plain(upright).resize((side, side), Image.Resampling.BILINEAR, reducing_gap=3.0)
            if plain.mode == "RGBA":
                plain = Image.alpha_composite(Image.new("RGBA", plain.size, "white"), plain)
            return np.asarray(plain.convert("RGB"), dtype=np.float64) / 255, shape
        except MemoryError:
            raise
        except Exception as error:  # readers of many formats, which raise what they like on damaged files
            raise ValueError(f"{place(row)}: the image {path} is damaged ({error or type(error).__name__})") from None


def _opened(path: Path, row: int, place: Place) -> Image:
    """The file, its beginning read."""
    from PIL import Image, UnidentifiedImageError

    try:
        there = path.is_file()
    except OSError as error:  # a name that is too long, for instance
        raise ValueError(f"{place(row)}: {quoted(str(path))} is no path of a file ({error.strerror})") from None
    if not there:
        raise ValueError(f"{place(row)}: there is no file {path}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # from 90 million pixels on; twice as many are refused
        try:
            return Image.open(path)
        except Image.DecompressionBombError:
            raise ValueError(
                f"{place(row)}: the image {path} has more than {2 * (Image.MAX_IMAGE_PIXELS or 0) // 10**6} million"
                " pixels; make it smaller"
            ) from None
        except UnidentifiedImageError:
            raise ValueError(f"{place(row)}: {path} is not an image that Pillow can read") from None
        except Exception as error:  # as above
            raise ValueError(f"{place(row)}: {path} cannot be read as an image ({error})") from None


def _plain(image: Image) -> Image:
    """The picture as grey, RGB or RGBA of 8 bits."""
    from PIL import Image as images

    if image.mode.startswith(("I", "F")):  # 16 bits and more
        values = np.asarray(image, dtype=np.float64)
        low, high = (0.0, 65535.0) if image.mode[0] == "I" and values.max() > 255 else (0.0, 255.0)
        if image.mode == "F":
            values = np.nan_to_num(values)
            low, high = float(values.min()), float(values.max())
        grey = np.clip((values - low) / max(high - low, 1e-300), 0, 1) * 255
        return images.fromarray(grey.astype(np.uint8))
    if image.mode in _MODES and "transparency" not in image.info:
        return image
    return image.convert("RGBA" if "A" in image.getbands() or "transparency" in image.info else "RGB")


def _described(small: Floats) -> Floats:
    red, green, blue = np.moveaxis(small, -1, 0)
    light = 0.299 * red + 0.587 * green + 0.114 * blue
    channels = np.stack([light, red - green, (red + green) / 2 - blue])
    edges, strength = _gradients(light)
    mean, spread = channels.mean(axis=(1, 2)), channels.std(axis=(1, 2))
    third = ((channels - mean[:, None, None]) ** 3).mean(axis=(1, 2))
    statistics = np.column_stack([mean, spread, np.cbrt(third)]).ravel()
    size = SIDE // THUMBNAIL
    thumbnail = channels.reshape(3, THUMBNAIL, size, THUMBNAIL, size).mean(axis=(2, 4))
    return np.concatenate([statistics, [strength.mean(), strength.std()], edges, thumbnail.ravel()])


def _gradients(light: Floats) -> tuple[Floats, Floats]:
    """Histograms of the directions of gradients in each cell, and the strength of the gradient at each pixel."""
    down, right = np.gradient(light)
    strength = np.hypot(down, right)
    # An edge from dark to light is the same as one from light to dark; strength is shared by the two nearest ways.
    way = np.arctan2(down, right) % np.pi / np.pi * WAYS
    lower = np.floor(way).astype(int)
    part = way - lower
    at = np.arange(SIDE) * CELLS // SIDE
    cell = at[:, None] * CELLS + at[None, :]
    histogram = np.zeros(EDGES)
    for index, share in ((lower % WAYS, 1 - part), ((lower + 1) % WAYS, part)):
        histogram += np.bincount((cell * WAYS + index).ravel(), (strength * share).ravel(), minlength=EDGES)
    cells = histogram.reshape(CELLS * CELLS, WAYS)
    length = np.linalg.norm(cells, axis=1, keepdims=True)
    return (cells / (length + 0.1 * length.mean() + 1e-12)).ravel(), strength
