"""Data sets of one table, on tiny files in the published formats, sound and damaged."""

import h5py
import numpy as np
import pytest

import pairsmith as ps
from pairsmith import datasets


def test_mslr(tmp_path):
    lines = [f"{row % 3} qid:{row // 4} 1:{row} 2:{row * row} 3:7" for row in range(12)]
    (tmp_path / "train.txt").write_text("\n".join(lines) + "\n")
    data = datasets.mslr(tmp_path)
    assert data.X.shape == (12, 2)  # the third feature never changes
    assert data.groups.tolist() == [row // 4 for row in range(12)]
    assert data.labels.tolist() == [1 if row % 3 else -1 for row in range(12)]
    assert len(datasets.mslr(tmp_path, rows=8).X) == 8
    assert len(ps.select(data.X, 4, candidates=ps.WithinGroups(data.groups))) == 4
    (tmp_path / "train.txt").write_text("1 qid:1 one:2\n")
    with pytest.raises(ValueError, match="not in SVMlight form"):
        datasets.mslr(tmp_path)


def test_sift(tmp_path):
    table = np.column_stack([np.random.default_rng(0).integers(0, 192, (40, 128)), np.arange(40)])
    np.savetxt(tmp_path / "sift.tsv", table, fmt="%d", delimiter="\t")
    data = datasets.sift(tmp_path, rows=10)
    np.testing.assert_array_equal(data.X, table[data.ids, :128])
    with pytest.raises(ValueError, match="rows=3000"):
        datasets.sift(tmp_path)
    np.savetxt(tmp_path / "sift.tsv", table[:, :50], fmt="%d", delimiter="\t")
    with pytest.raises(ValueError, match="has 50 columns"):
        datasets.sift(tmp_path, rows=10)


@pytest.mark.parametrize("upright", [True, False])
def test_sift_as_published(tmp_path, upright):
    table = np.random.default_rng(0).integers(0, 192, (40, 128), dtype=np.uint8)
    with h5py.File(tmp_path / "SIFT10Mfeatures.mat", "w") as file:
        file["fea"] = table if upright else table.T
    data = datasets.sift(tmp_path, rows=10, seed=1)
    np.testing.assert_array_equal(data.X, table[data.ids])
    with pytest.raises(ValueError, match=r"rows=41, but .* has 40"):
        datasets.sift(tmp_path, rows=41)
    (tmp_path / "SIFT10Mfeatures.mat").write_bytes(b"MATLAB 5.0 MAT-file")
    with pytest.raises(ValueError, match="no MATLAB file of version"):
        datasets.sift(tmp_path)


def test_a_folder_of_tables(tmp_path):
    (tmp_path / "features.csv").write_text("id,a,b\nx,1,2\ny,3,4\nz,0,1\n")
    assert len(datasets.rop(tmp_path).pairs) == 0
    (tmp_path / "labels.csv").write_text("id,label\nx,Normal\nz,Plus\n")
    (tmp_path / "comparisons.csv").write_text("first,second,outcome,count\nx,y,1,5\nz,y,-1,2\n")
    with pytest.raises(ValueError, match="'Normal' and 'Plus' are words"):
        datasets.rop(tmp_path)
    assert datasets.rop(tmp_path, better="Normal").labels.tolist() == [1, -1]
    data = datasets.rop(tmp_path, better="Plus")
    assert data.ids.tolist() == ["x", "y", "z"]
    assert (data.labeled.tolist(), data.labels.tolist()) == ([0, 2], [-1, 1])
    assert (data.pairs.tolist(), data.outcomes.tolist(), data.counts.tolist()) == ([[0, 1], [2, 1]], [1, -1], [5, 2])
