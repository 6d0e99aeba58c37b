"""What all data sets have in common."""

import pytest

from pairsmith import datasets


@pytest.mark.parametrize("name", sorted(set(datasets.LOADERS) - set(datasets.EMBEDDED)))
def test_folders_that_are_not_there_or_empty(tmp_path, name):
    with pytest.raises(ValueError, match="there is no such folder"):
        datasets.LOADERS[name](tmp_path / "nowhere")
    with pytest.raises(ValueError, match="has no"):
        datasets.LOADERS[name](tmp_path)
