"""Assertions about what a command of pairsmith answers."""


def refused(answer, message):
    code, out, err = answer
    assert code == 2
    assert out == ""
    assert err.startswith("Error: ")
    assert err.count("\n") == 1
    assert message in err
    return True
