import numpy as np
import pandas as pd
import pytest

import pairsmith as ps
from test_gaussian_process import drawn

pytestmark = pytest.mark.filterwarnings("ignore:the answers leave")


def test_saved_and_loaded_it_says_the_same(tmp_path):
    X, _, pairs, outcomes = drawn(9)
    frame = pd.DataFrame(X, index=[f"i{at}" for at in range(len(X))], columns=list("abcd"))
    model = ps.BradleyTerryGP().fit(frame, comparisons=pairs, outcomes=outcomes)
    model.save(tmp_path / "model.json")
    loaded = ps.BradleyTerryGP.load(tmp_path / "model.json")
    pd.testing.assert_frame_equal(loaded.rank(frame), model.rank(frame))
    new = pd.DataFrame(X[:5] + 1, columns=list("abcd"))
    np.testing.assert_allclose(loaded.decision_function(new), model.decision_function(new), rtol=1e-12)
    assert (loaded.doubt_, loaded.reliability_, loaded.shares_) == (model.doubt_, model.reliability_, model.shares_)
    plain = ps.BradleyTerryGP().fit(n_items=9, comparisons=[(0, 1), (2, 3)], outcomes=[1, -1])
    plain.save(tmp_path / "model.json")
    pd.testing.assert_frame_equal(ps.BradleyTerryGP.load(tmp_path / "model.json").rank(), plain.rank())
    text = (tmp_path / "model.json").read_text()
    for damaged in (text[: len(text) // 2], text.replace('"tau"', '"tan"'), text.replace("[0, 2]", "[0, 20]"), "[]"):
        (tmp_path / "model.json").write_text(damaged)
        with pytest.raises(ValueError, match="is no model of pairsmith"):
            ps.BradleyTerryGP.load(tmp_path / "model.json")
    linear = ps.BradleyTerry().fit(X, comparisons=pairs, outcomes=outcomes)
    linear.save(tmp_path / "linear.json")
    with pytest.raises(ValueError, match="another version"):
        ps.BradleyTerryGP.load(tmp_path / "linear.json")
