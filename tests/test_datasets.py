"""Loaders on tiny files in the published formats, sound and damaged."""

import h5py
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


ITEMS = """\
0\tebi\t1\t0\t6\t2.7\t2.1\t1.8\t0.84
1\tanago\t1\t0\t3\t0.9\t1.9\t1.9\t0.88
2\tmaguro\t1\t1\t1\t1.7\t2.3\t2.0\t0.88
"""


@pytest.fixture
def sushi_folder(tmp_path):
    (tmp_path / "sushi3.idata").write_text(ITEMS)
    (tmp_path / "sushi3b.5000.10.order").write_text("3 1\n0 3 2 0 1\n0 3 2 1 0\n0 2 0 2\n0 2 0 1\n")
    return tmp_path


def test_sushi(sushi_folder):
    data = datasets.sushi(sushi_folder)
    assert data.X.shape == (3, 20)
    assert data.names.tolist() == ["ebi", "anago", "maguro"]
    np.testing.assert_array_equal(data.X[0], [0, 1, 1, 0, *np.eye(12)[6], 2.7, 2.1, 1.8, 0.84])
    found = {
        tuple(pair): (win, n) for pair, win, n in zip(data.pairs.tolist(), data.outcomes, data.counts, strict=True)
    }
    assert found == {(0, 1): (1, 3), (0, 2): (-1, 3), (1, 2): (-1, 2)}
    assert data.labels[2] == 1
    assert data.labels[1] == -1


@pytest.mark.parametrize(
    ("file", "content", "told"),
    [
        ("sushi3.idata", "0\tebi\t1\n", "sushi3.idata, line 1: 3 fields"),
        ("sushi3.idata", ITEMS.replace("2.7", "much"), "sushi3.idata, line 1: could not convert"),
        ("sushi3.idata", ITEMS.replace("\t6\t", "\t12\t"), "out of range"),
        ("sushi3b.5000.10.order", "3 1\n0 2 0 7\n", "line 2: ranks the item 7"),
        ("sushi3b.5000.10.order", "3 1\n0 2 0 0\n", "line 2: a ranking has at least two items"),
        ("sushi3b.5000.10.order", "3 1\n", "has no rankings"),
    ],
)
def test_damaged_sushi(sushi_folder, file, content, told):
    (sushi_folder / file).write_text(content)
    with pytest.raises(ValueError, match=told):
        datasets.sushi(sushi_folder)


def ratings_table():
    rng = np.random.default_rng(0)
    table = rng.integers(1, 6, (12, 9)) * (rng.random((12, 9)) < 0.8)
    table[:, 0] *= np.arange(12) > 2
    table[3] = [5, 1, 3, 3, 4, 2, 5, 1, 2]
    return table


def test_netflix_in_every_form(tmp_path):
    table = ratings_table()
    plain, prize, single = tmp_path / "plain", tmp_path / "prize", tmp_path / "single"
    for folder in (plain, prize, single):
        folder.mkdir()
    np.savetxt(plain / "ratings_12x9.txt", table, fmt="%d")
    movies = []
    for movie in range(9):
        lines = [f"{user},{table[user, movie]},2005-09-06" for user in range(12) if table[user, movie]]
        movies.append("\n".join([f"{movie}:", *lines]) + "\n")
        (single / f"mv_{movie:07d}.txt").write_text(movies[-1])
    (prize / "combined_data_1.txt").write_text("".join(movies[:5]))
    (prize / "combined_data_2.txt").write_text("".join(movies[5:]))
    found = [datasets.netflix(folder, 3, d=4) for folder in (plain, prize, single)]
    for data in found:
        assert data.X.shape == (9, 4)
        np.testing.assert_allclose(data.X, found[0].X, atol=1e-5)
        assert data.ids.tolist() == list(range(9))
        scores = table[3]
        np.testing.assert_array_equal(data.labels, np.where(scores > scores.mean(), 1, -1))
        for (i, j), win in zip(data.pairs, data.outcomes, strict=True):
            assert win == (1 if scores[i] > scores[j] else -1)  # the paper breaks ties by -1
    assert datasets.netflix(plain, least=8, d=4).source.endswith("user 3")
    assert datasets.netflix(prize, nth=1, least=5, d=4).source != datasets.netflix(prize, least=5, d=4).source
    with pytest.raises(ValueError, match="nth=12, but only"):
        datasets.netflix(prize, nth=12, least=1, d=4)
    with pytest.raises(ValueError, match="no user rated more than least=833"):
        datasets.netflix(plain, d=4)
    with pytest.raises(ValueError, match="user=77 is not among"):
        datasets.netflix(plain, 77, d=4)
    with pytest.raises(ValueError, match="d=30 is too large"):
        datasets.netflix(plain, 3)


def test_netflix_across_blocks(tmp_path, monkeypatch):
    table = ratings_table()
    lines = []
    for movie in range(9):
        lines += [f"{movie}:", *(f"{user},{table[user, movie]},2005-09-06" for user in np.flatnonzero(table[:, movie]))]
    (tmp_path / "combined_data_1.txt").write_bytes("\r\n".join(lines).encode())  # and no end of line at the end
    whole = datasets.netflix(tmp_path, 3, d=4)
    monkeypatch.setattr("pairsmith.datasets.ratings._BLOCK", 40)
    (tmp_path / "combined_data_1.txt").write_bytes("\n".join(lines).encode())  # another file: nothing old is served
    cut = datasets.netflix(tmp_path, 3, d=4)
    np.testing.assert_array_equal(cut.X, whole.X)
    np.testing.assert_array_equal(cut.outcomes, whole.outcomes)
    damaged = [*lines[:30], "x", *lines[30:]]
    (tmp_path / "combined_data_1.txt").write_text("\n".join(damaged))
    with pytest.raises(ValueError, match="line 31: 'x'"):
        datasets.netflix(tmp_path, 3, d=4)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("5,3,2005-01-01\n", "line 1: the file must begin"),
        ("1:\n5,3,2005-01-01\nfive,3,x\n", "line 3: 'five,3,x'"),
        ("1:\n5,3,2005-01-01\n6,9,2005-01-01\n", "line 3: '6,9,2005-01-01'"),
        ("1:\n5,3,2005-01-01\n99999999999,3,x\n", "line 3: '99999999999,3,x'"),
        ("1:\n5,3,2005-01-01\n6,259,x\n", "line 3: '6,259,x'"),  # 3 in eight bits
        ("1:\n", "has no ratings"),
        ("1:\n5,3,2005-01-01\n5,4,2005-01-02\n", "rated a movie twice"),
    ],
)
def test_damaged_netflix(tmp_path, content, told):
    (tmp_path / "combined_data_1.txt").write_text(content)
    with pytest.raises(ValueError, match=told):
        datasets.netflix(tmp_path)


def test_camra(tmp_path):
    table = ratings_table() * 20
    user, item = np.nonzero(table)
    lines = [f"{u + 1} {i + 100} {table[u, i]}" for u, i in zip(user, item, strict=True)]
    (tmp_path / "userRatingTrain.txt").write_text("\n".join(lines[:50]) + "\n")
    with pytest.raises(ValueError, match="no file userRatingTest"):
        datasets.camra(tmp_path, 4, d=3)
    (tmp_path / "userRatingTest.txt").write_text("\n".join(lines[50:]) + "\n")
    data = datasets.camra(tmp_path, 4, d=3)
    assert data.X.shape == (9, 3)
    assert data.ids.tolist() == list(range(100, 109))
    (tmp_path / "userRatingTest.txt").write_text("1 2\n")
    with pytest.raises(ValueError, match="three columns of numbers"):
        datasets.camra(tmp_path, 4, d=3)


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


@pytest.mark.parametrize("name", sorted(set(datasets.LOADERS) - set(datasets.EMBEDDED)))
def test_folders_that_are_not_there_or_empty(tmp_path, name):
    with pytest.raises(ValueError, match="there is no such folder"):
        datasets.LOADERS[name](tmp_path / "nowhere")
    with pytest.raises(ValueError, match="has no"):
        datasets.LOADERS[name](tmp_path)
