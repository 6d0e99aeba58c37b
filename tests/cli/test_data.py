"""pairsmith data."""

from pathlib import Path

import pytest

from support.commands import refused

pytestmark = pytest.mark.usefixtures("samples")


def test_data(run):
    code, out, err = run("data list")
    assert (code, err) == (0, "")
    for name in ("synthetic", "sushi", "netflix", "rop"):
        assert name in out
    code, out, err = run("data info diabetes")
    assert (code, err) == (0, "")
    assert "442, 10 features" in out
    Path("mine").mkdir()
    Path("mine/features.csv").write_text("id,a,b\nx,1,2\ny,3,4\nz,0,1\n")
    Path("mine/comparisons.csv").write_text("first,second,outcome,count\nx,y,1,5\nz,y,-1,2\n")
    assert "2 pairs from 7 answers: first 1, second 1, even 0" in run("data info rop --path mine")[1]
    Path("mine/labels.csv").write_text("id,label\nx,high\ny,low\nz,low\n")
    assert refused(run("data info rop --path mine"), "'high' and 'low' are words")
    assert "labels       3, 1 of them +1" in run("data info rop --path mine --better high")[1]
    assert refused(run("data info digits --better high"), "--better is for rop")
    assert refused(run("data info sushi"), "--path")
    assert refused(run("data info sushi --path ."), "has no file sushi3.idata")
    assert refused(run("data info diabetes --path ."), "leave out --path")
    assert refused(run("data info mine"), "choose one of")
