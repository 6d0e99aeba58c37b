"""Pictures as numbers: every mode and orientation, and files that are none."""

import json

import numpy as np
import pytest
from PIL import Image

from pairsmith.recipe import images
from pairsmith.recipe.images import EDGES, STATISTICS, ImageAxes, check_images, describe, square


def place(row):
    return f"row {row}"


@pytest.fixture
def scene(tmp_path):
    """A picture with a bright corner, upper left, red below, wider than high."""
    array = np.zeros((40, 60, 3), dtype=np.uint8)
    array[:20, :30] = 255
    array[20:] = (200, 30, 30)
    path = tmp_path / "scene.png"
    Image.fromarray(array).save(path)
    return path


def of(path):
    return describe([path], place)[0]


def test_statistics_are_what_they_are_called(scene):
    found = dict(zip(STATISTICS, of(scene), strict=False))
    array = np.asarray(Image.open(scene), dtype=np.float64) / 255
    light = array @ [0.299, 0.587, 0.114]
    assert found["shape"] == pytest.approx(np.log(1.5))
    assert found["mean_light"] == pytest.approx(light.mean(), abs=0.01)
    assert found["spread_light"] == pytest.approx(light.std(), abs=0.02)
    assert found["mean_red-green"] == pytest.approx((array[..., 0] - array[..., 1]).mean(), abs=0.01)
    assert found["mean_yellow-blue"] == pytest.approx((array[..., :2].mean(axis=2) - array[..., 2]).mean(), abs=0.01)


def test_edges_point_where_they_point(tmp_path):
    stripes = np.tile(np.repeat([0, 255], 16), 8)[:128].astype(np.uint8)
    for name, array, way in (
        ("upright", np.tile(stripes, (128, 1)), 0),
        ("lying", np.tile(stripes[:, None], (1, 128)), 4),
    ):
        Image.fromarray(array).save(tmp_path / f"{name}.png")
        edges = of(tmp_path / f"{name}.png")[len(STATISTICS) :][:EDGES].reshape(-1, 9).sum(axis=0)
        assert np.argmax(edges) == way, name  # of 9 ways from 0 to 180 degrees, 90 is between the fifth and the sixth


@pytest.mark.parametrize("orientation", range(2, 9))
def test_exif_orientation_is_honoured(scene, tmp_path, orientation):
    upright = Image.open(scene)
    undo = {2: Image.Transpose.FLIP_LEFT_RIGHT, 3: Image.Transpose.ROTATE_180, 4: Image.Transpose.FLIP_TOP_BOTTOM,
            5: Image.Transpose.TRANSPOSE, 6: Image.Transpose.ROTATE_90, 7: Image.Transpose.TRANSVERSE,
            8: Image.Transpose.ROTATE_270}  # fmt: skip
    exif = Image.Exif()
    exif[0x0112] = orientation
    stored = tmp_path / "turned.png"
    upright.transpose(undo[orientation]).save(stored, exif=exif)
    np.testing.assert_allclose(of(stored), of(scene), atol=1e-9)


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGBA", "CMYK", "I;16", "F"])
def test_every_mode_shows_the_same_grey_scene(tmp_path, mode):
    grey = Image.fromarray(np.repeat([[0, 255]], 32, axis=0).repeat(16, axis=1).astype(np.uint8))
    path = tmp_path / ("grey.tif" if mode in ("CMYK", "I;16", "F") else "grey.png")
    if mode == "I;16":
        image = Image.fromarray(np.asarray(grey).astype(np.uint16) * 257)
    elif mode == "F":
        image = Image.fromarray(np.asarray(grey).astype(np.float32) / 255)
    else:
        image = grey.convert("RGB").convert("P") if mode == "P" else grey.convert(mode)
    image.save(path)
    grey.save(tmp_path / "plain.png")
    np.testing.assert_allclose(
        square(path, 0, place, 32)[0], square(tmp_path / "plain.png", 0, place, 32)[0], atol=0.02
    )


def test_what_is_transparent_is_white(tmp_path):
    Image.new("RGBA", (8, 8), (255, 0, 0, 0)).save(tmp_path / "clear.png")
    assert np.all(square(tmp_path / "clear.png", 0, place, 16)[0] == 1)
    palette = Image.new("P", (8, 8), 1)
    palette.putpalette([0, 0, 0, 255, 0, 0])
    palette.save(tmp_path / "clear.gif", transparency=1)
    assert np.all(square(tmp_path / "clear.gif", 0, place, 16)[0] == 1)


def test_axes_tell_scenes_apart_and_are_the_same_from_a_file(tmp_path):
    rng = np.random.default_rng(0)
    paths = []
    for row in range(12):
        base = np.zeros((20, 20, 3)) if row % 2 else np.indices((20, 20)).sum(axis=0)[..., None].repeat(3, axis=2) * 6
        paths.append(tmp_path / f"{row}.png")
        Image.fromarray((base + rng.integers(0, 20, (20, 20, 3))).astype(np.uint8)).save(paths[-1])
    vectors = describe(paths, place)
    axes = ImageAxes.fit(vectors, 4, seed=0)
    found = axes.apply(vectors)
    assert axes.names[-4:] == ["1", "2", "3", "4"]
    assert 0.3 < axes.kept <= 1
    first = found[:, len(STATISTICS)]
    assert max(first[::2]) < min(first[1::2]) or min(first[::2]) > max(first[1::2])
    again = ImageAxes.from_json(json.loads(json.dumps(axes.to_json())))
    np.testing.assert_allclose(again.apply(describe(paths[3:5], place)), found[3:5], atol=1e-12)
    with pytest.raises(ValueError, match="do not agree"):
        ImageAxes.from_json(ImageAxes(axes.rest.fit(np.eye(5), 2, 0)).to_json())


def test_ten_thousand_pixels_and_more_than_that(tmp_path, monkeypatch):
    path = tmp_path / "long.png"
    Image.new("L", (10_000, 300), 128).save(path)
    assert of(path)[0] == pytest.approx(np.log(10_000 / 300))
    monkeypatch.setattr(
        Image, "MAX_IMAGE_PIXELS", 2_000_000
    )  # large, but not twice as large: it is read, and in silence
    assert np.isfinite(of(path)).all()
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 1_000_000)
    with pytest.raises(
        ValueError, match=r"row 0: the image .*long.png has more than 2 million pixels; make it smaller"
    ):
        check_images([path], place)


def test_what_is_no_image(tmp_path, scene, monkeypatch):
    (tmp_path / "text.png").write_text("no image")
    (tmp_path / "empty.png").write_bytes(b"")
    for name, told in (
        ("missing.png", "there is no file"),
        (".", "there is no file"),
        ("text.png", "is not an image that Pillow can read"),
        ("empty.png", "is not an image that Pillow can read"),
    ):
        with pytest.raises(ValueError, match=f"row 1: .*{told}"):
            check_images([scene, tmp_path / name], place)
    whole = scene.read_bytes()
    (tmp_path / "cut.png").write_bytes(whole[: len(whole) // 2])
    check_images([tmp_path / "cut.png"], place)  # by its beginning it is one
    with pytest.raises(ValueError, match=r"row 0: the image .*cut.png is damaged"):
        describe([tmp_path / "cut.png"], place)
    monkeypatch.setattr(images, "find_spec", lambda name: None)
    with pytest.raises(ValueError, match=r"features of images need Pillow; pip install 'pairsmith\[images\]'"):
        check_images([scene], place)


def test_describing_tells_how_far_it_is(scene):
    told = []
    describe([scene, scene], place, told.append)
    assert told == [1, 1]
