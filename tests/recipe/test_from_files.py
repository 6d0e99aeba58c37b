"""Items of a file with features by a recipe."""

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from pairsmith.recipe.from_files import read_and_apply, read_and_fit


@pytest.fixture
def reviews(tmp_path):
    """Texts, of which one is a number and one reads NA, pictures, a price, a group and ids that are not first."""
    (tmp_path / "pictures").mkdir()
    for row in range(6):
        Image.new("RGB", (4, 4), (40 * row, 0, 0)).save(tmp_path / f"pictures/{row}.png")
    path = tmp_path / "reviews.csv"
    pd.DataFrame(
        {
            "review": ["good", "bad", "10", "NA", "good and bad", "'=good"],
            "id": [f"{row:03d}" for row in range(6)],
            "photo": [f"pictures/{row}.png" for row in range(6)],
            "price": range(6),
            "prompt": ["p", "q"] * 3,
        }
    ).to_csv(path, index=False)
    return path


def test_items_are_read_and_read_again(reviews):
    items, recipe = read_and_fit(reviews, text=["review"], image=["photo"], group_by="prompt", dimensions=2)
    assert items.features.index.tolist() == [f"{row:03d}" for row in range(6)]
    assert items.groups.tolist() == ["p", "q"] * 3
    used = [one.column for one, _ in recipe.columns]
    assert used == ["review", "photo", "price"]
    np.testing.assert_allclose(np.ptp(items.features["review_characters"]), np.ptp(np.log1p([4, 3, 2, 2, 12, 5]))
                               / np.log1p([4, 3, 2, 2, 12, 5]).std())  # fmt: skip
    again = read_and_apply(reviews, recipe, group_by="prompt")
    np.testing.assert_allclose(again.features, items.features, atol=1e-12)
    assert again.groups.tolist() == items.groups.tolist()


def test_which_other_columns_are_used(reviews):
    def used(**options):
        return [one.column for one, _ in read_and_fit(reviews, **options)[1].columns]

    assert used(text=["review"], features=["pri*"]) == ["review", "price"]
    assert used(text=["review"], features=None) == ["review"]
    assert used(text=["review"], leave_out=["price"]) == ["review", "prompt"]
    assert used(category=["prompt"], features=["price"]) == ["price", "prompt"]
    assert used(text=["review"], id_column="photo") == ["review", "price", "prompt"]  # "id" is no feature


def test_errors_name_the_file(reviews):
    for options, told in (
        ({"text": ["revue"]}, "reviews.csv: text: there is no column 'revue'"),
        ({"image": ["review"]}, r"reviews.csv: row 1 \(item '000'\), column 'review': there is no file .*good"),
        ({"text": ["review"], "features": ["cost"]}, "no column matches --features 'cost'"),
        ({"text": ["review"], "id_column": "name"}, "there is no column 'name'"),
    ):
        with pytest.raises(ValueError, match=told):
            read_and_fit(reviews, **options)
    recipe = read_and_fit(reviews, text=["review"])[1]
    reviews.write_text("id,other\na,1\nb,2\n")
    with pytest.raises(
        ValueError, match=r"reviews.csv: the table has no column 'review', which the recipe was made from"
    ):
        read_and_apply(reviews, recipe)
