import numpy as np
import pytest

from pairsmith.engine import top_pairs
from pairsmith.engine.top_pairs import Hits, TopPairs, join, largest, renumber


def random_hits(rng, count, ties):
    i = rng.integers(0, 1000, count).astype(np.int32)
    gain = rng.integers(0, 20, count).astype(float) if ties else rng.random(count)
    return Hits(i, (i + 1 + rng.integers(0, 1000, count)).astype(np.int32), gain)


@pytest.mark.parametrize("ties", [False, True])
def test_exact_hits_are_cut_to_the_largest_whatever_their_order(monkeypatch, ties):
    """Of equal gains, the smaller pairs are kept. The floor bounds the gains that were dropped."""
    monkeypatch.setattr(top_pairs, "_OVERFLOW_SLACK", 50)
    rng = np.random.default_rng(0)
    hits = random_hits(rng, 5000, ties)
    expected = sorted(zip(-hits.gain, hits.i, hits.j, strict=True))[:100]
    for _ in range(5):
        top = TopPairs(0.0, 100, (9**9, 9**9))
        for part in np.array_split(rng.permutation(5000), 40):
            batch = hits.only(part)
            batch = batch.only(batch.gain >= top.floor)
            top.add(batch.only(top.wanted(batch)))
        kept, floor, _ = largest(join(top.hits), 100, top.floor)
        assert sorted(zip(-kept.gain, kept.i, kept.j, strict=True)) == expected
        assert floor == pytest.approx(-expected[-1][0], rel=1e-11)
        assert top.count < 5000


def test_the_floor_rises_when_bounds_overflow(monkeypatch):
    monkeypatch.setattr(top_pairs, "_OVERFLOW_SLACK", 50)
    hits = random_hits(np.random.default_rng(1), 5000, ties=False)
    top = TopPairs(0.2, 100)
    for part in np.array_split(np.arange(5000), 40):
        top.add(hits.only(part[hits.gain[part] >= top.floor]))
    kept = join(top.hits)
    assert top.floor > 0.2
    assert len(kept.i) >= 100
    assert sorted(kept.gain) == sorted(hits.gain[hits.gain >= kept.gain.min()])
    assert hits.gain[hits.gain < kept.gain.min()].max() <= top.floor


def test_hits_within_capacity_are_all_kept():
    hits = random_hits(np.random.default_rng(2), 10, ties=True)
    assert largest(hits, 10, -1.0) == (hits, -1.0, None)
    assert len(join([]).i) == 0


def test_renumber_returns_distinct_items_and_places():
    i, j = np.array([7, 3, 7]), np.array([9, 4, 3])
    items, first, second = renumber(12, i, j)
    assert items.tolist() == [3, 4, 7, 9]
    np.testing.assert_array_equal(items[first], i)
    np.testing.assert_array_equal(items[second], j)
