"""Small pictures of pictures."""

import builtins
import io

import numpy as np
import pytest
from PIL import Image

from pairsmith.campaign.web import thumbnails
from pairsmith.campaign.web.thumbnails import Picture, small


def picture(name, size=(400, 200), mode="RGB", **options):
    file = io.BytesIO()
    Image.new(mode, size, "red").save(file, name, **options)
    file.seek(0)
    return Picture(file, 0, 0, 1, 2)


@pytest.mark.parametrize("name", ["PNG", "JPEG", "GIF", "WEBP"])
def test_pictures_become_small(name):
    with Image.open(io.BytesIO(small(picture(name)))) as made:
        assert (made.format, made.size) == ("WEBP", (thumbnails.SIDE, thumbnails.SIDE // 2))
        red, green, blue = made.convert("RGB").getpixel((50, 20))
        assert red > 240
        assert max(green, blue) < 20


def test_transparent_ones_stay_so_and_turned_ones_are_turned():
    file = io.BytesIO()
    Image.new("RGBA", (20, 20), (0, 0, 0, 0)).save(file, "PNG")
    with Image.open(io.BytesIO(small(Picture(file, 0, 0, 1, 2)))) as made:
        assert made.convert("RGBA").getpixel((3, 3))[3] == 0
        assert made.size == (20, 20)  # never larger than it was
    exif = Image.Exif()
    exif[0x0112] = 6  # by a quarter
    with Image.open(io.BytesIO(small(picture("JPEG", exif=exif)))) as made:
        assert made.size == (thumbnails.SIDE // 2, thumbnails.SIDE)


def test_what_cannot_be_read_or_without_pillow_gives_none(monkeypatch):
    assert small(Picture(io.BytesIO(b"\x89PNG\r\n\x1a\n and more"), 0, 0, 1, 2)) is None
    assert small(picture("BMP")) is None  # readable, but none of those that campaigns show
    real = builtins.__import__

    def without(name, *rest):
        if name == "PIL":
            raise ImportError
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    assert small(Picture(io.BytesIO(), 0, 0, 1, 2)) is None


def test_grey_of_sixteen_bits_is_grey():
    file = io.BytesIO()
    Image.fromarray(np.full((20, 20), 128 * 257, dtype=np.uint16)).save(file, "PNG")
    with Image.open(io.BytesIO(small(Picture(file, 0, 0, 1, 2)))) as made:
        assert abs(made.convert("L").getpixel((10, 10)) - 128) < 3


def test_a_huge_picture_is_not_decoded_but_for_a_jpeg_at_a_fraction_of_its_size(monkeypatch):
    monkeypatch.setattr(thumbnails, "MAX_PIXELS", 1000 * 1000 - 1)
    assert small(picture("PNG", (1000, 1000))) is None
    assert small(picture("JPEG", (1000, 1000))) is not None


def test_pictures_are_known_by_when_they_were_changed():
    one, same, other = (Picture(io.BytesIO(), 0, 0, changed, 2) for changed in (1, 1, 2))
    assert one == same
    assert hash(one) == hash(same)
    assert one != other
