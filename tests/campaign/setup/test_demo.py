"""The demo campaigns."""

from io import BytesIO

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from sklearn.datasets import load_digits

from pairsmith.campaign.setup import demo
from pairsmith.campaign.setup.additions import add_items
from pairsmith.campaign.setup.demo import REVIEWS, make_demo, make_text_demo, png
from pairsmith.campaign.store.database import CampaignError
from pairsmith.campaign.store.media import open_file
from pairsmith.campaign.store.snapshot import take_snapshot
from pairsmith.campaign.store.store import Store


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


def test_png_draws_dark_ink_on_white_paper():
    ink = np.zeros((8, 8))
    ink[:, 4:] = 1
    picture = Image.open(BytesIO(png(ink)))
    assert (picture.format, picture.mode, picture.size) == ("PNG", "L", (120, 120))
    assert (picture.getpixel((20, 60)), picture.getpixel((80, 60))) == (255, 0)  # across, down
    assert Image.open(BytesIO(png(np.zeros((8, 3)), 40))).size == (20, 40)  # and a frame of paper


def test_digits_need_pillow(tmp_path, monkeypatch):
    monkeypatch.setattr(demo, "find_spec", lambda name: None)
    with pytest.raises(CampaignError, match=r"drawn with Pillow; pip install 'pairsmith\[app\]', or try --texts"):
        make_demo(str(tmp_path / "d.db"))
    assert list(tmp_path.iterdir()) == []


def test_the_demo_of_texts_has_no_numbers_and_takes_more_texts(tmp_path):
    table = pd.read_csv(REVIEWS)
    assert list(table.columns) == ["id", "review"]
    assert len(table) == table["review"].nunique() == 60
    target = str(tmp_path / "r.db")
    count, recipe = make_text_demo(target, k=5)
    assert count == 5
    assert [(one.column, one.kind) for one, _ in recipe.columns] == [("review", "text")]
    with Store(target) as store:
        assert [store.parts(row) for row in range(60)] == [[("text", text)] for text in table["review"]]
        assert list(store.items.features.columns) == recipe.names
    more = tmp_path / "more.csv"
    more.write_text("id,review\nreview 61,It leaks.\n")
    with Store(target) as store:
        add_items(store, more)
        assert store.parts(60) == [("text", "It leaks.")]
