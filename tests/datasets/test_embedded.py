"""Data that need no download."""

import numpy as np
import pytest

import pairsmith as ps
from pairsmith import datasets


@pytest.mark.parametrize("name", datasets.EMBEDDED)
def test_what_needs_no_download(name):
    data = datasets.LOADERS[name]()
    assert len(data.ids) == len(data.X) == len(data.labels)
    assert set(np.unique(data.labels)) == {-1, 1}
    assert np.all(data.pairs[:, 0] < data.pairs[:, 1])
    assert set(np.unique(data.outcomes)) <= {-1, 0, 1}
    assert name in repr(data)
    sel = ps.select(data.X, 5, candidates=data.pairs[:1000])
    assert len(sel) == 5


def test_synthetic_follows_the_paper():
    data = datasets.synthetic(2000, 5, comparisons=5000, sigma_x=4.0, sigma_beta=0.25, seed=3)
    assert data.X.std() == pytest.approx(2.0, rel=0.05)
    assert data.pairs.shape == (5000, 2)
    assert len(np.unique(data.pairs, axis=0)) == 5000
    model = ps.BradleyTerry(1.0).fit(data.X, comparisons=data.pairs, outcomes=data.outcomes)
    agree = np.mean((model.compare(data.X, data.pairs) > 0.5) == (data.outcomes > 0))
    assert agree > 0.7
    again = datasets.synthetic(2000, 5, comparisons=5000, sigma_x=4.0, sigma_beta=0.25, seed=3)
    np.testing.assert_array_equal(again.outcomes, data.outcomes)
    with pytest.raises(ValueError, match="n=1 is too small"):
        datasets.synthetic(1, 2)
    with pytest.raises(ValueError, match="4 items have 6 pairs"):
        datasets.synthetic(4, 2, comparisons=7)
