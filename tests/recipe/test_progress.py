"""The bar: nothing unless it is asked for."""

from pairsmith.recipe.progress import Progress


def test_a_bar_on_standard_error_or_nothing(capsys):
    for wanted in (False, True):
        with Progress(wanted) as told:
            tell = told.over("photo", 3)
            for _ in range(3):
                tell(1)
            with told.during("review"):
                pass
        out, err = capsys.readouterr()
        assert out == ""
        assert ("photo" in err and "review" in err and err.count("100%") == 2) == wanted
