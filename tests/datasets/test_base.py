"""What all data sets have in common."""

import numpy as np
import pytest

from pairsmith import datasets
from pairsmith.datasets.base import Dataset, file_in, of_scores


@pytest.mark.parametrize("name", sorted(set(datasets.LOADERS) - set(datasets.EMBEDDED)))
def test_folders_that_are_not_there_or_empty(tmp_path, name):
    with pytest.raises(ValueError, match="there is no such folder"):
        datasets.LOADERS[name](tmp_path / "nowhere")
    with pytest.raises(ValueError, match="has no"):
        datasets.LOADERS[name](tmp_path)


def test_items_without_ids_are_numbered_and_an_answer_counts_once():
    data = Dataset("three", np.eye(3), "here", pairs=np.array([[0, 1], [1, 2]]), outcomes=np.array([1, -1]))
    assert data.ids.tolist() == [0, 1, 2]
    assert data.counts.tolist() == [1, 1]
    assert repr(data) == "Dataset('three': 3 items, 3 features, 0 labels, 2 comparisons)"


def test_scores_become_answers_to_all_pairs():
    pairs, outcomes = of_scores(np.array([2.0, 5.0, 2.0]))
    assert pairs.tolist() == [[0, 1], [0, 2], [1, 2]]
    assert outcomes.tolist() == [-1, 0, 1]
    assert of_scores(np.array([2.0, 2.0]), ties=-1)[1].tolist() == [-1]


def test_the_first_of_several_files_that_is_there(tmp_path):
    for name in ("b.txt", "c.txt"):
        (tmp_path / name).touch()
    (tmp_path / "a.txt").mkdir()  # a folder is no file
    assert file_in(tmp_path, "a.txt", "b.txt", "c.txt") == tmp_path / "b.txt"
    with pytest.raises(ValueError, match=r"has no file x\.txt or y\.txt"):
        file_in(tmp_path, "x.txt", "y.txt")
