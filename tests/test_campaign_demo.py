"""The campaign to try."""

from io import BytesIO

import numpy as np
from matplotlib.image import imread
from sklearn.datasets import load_digits

from pairsmith.campaign.demo import make_demo, png
from pairsmith.campaign.media_files import open_file
from pairsmith.campaign.snapshot import take_snapshot
from pairsmith.campaign.store import Store


def test_the_demo_shows_digits_and_compares_their_pixels(tmp_path):
    target = str(tmp_path / "d.db")
    assert make_demo(target, count=20, k=5) == 5
    with Store(target) as store:
        snapshot = take_snapshot(store)
        assert store.settings.folder == str(tmp_path.resolve() / "d-images")
        digits = load_digits().data
        for row, name in enumerate(store.items.names):
            number = int(name.removeprefix("digit "))
            ((kind, path),) = store.parts(row)
            assert path == f"{number}.png"
            open_file(store.settings.folder, path, kind).close()
            assert np.isclose(snapshot.features.loc[name].sum() * 16, digits[number].sum(), rtol=1e-12)
    assert len(snapshot.planned) == 5


def test_ink_is_dark_and_paper_white():
    ink = np.zeros((8, 8))
    ink[:, 4:] = 1
    picture = imread(BytesIO(png(ink)))
    assert picture.shape == (120, 120)
    assert (picture[60, 20], picture[60, 80]) == (1, 0)
