"""SUSHI, on tiny files in the published format, sound and damaged."""

import numpy as np
import pytest

from pairsmith import datasets

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
