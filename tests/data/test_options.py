import joblib
import numpy as np
import pytest

from pairsmith.data.options import as_choice, as_fraction, as_generator, as_integer, as_refinements, as_threads


def test_valid_values_are_converted():
    assert as_choice("b", "kind", ["a", "b"]) == "b"
    assert [as_integer(value, "k") for value in (1, np.int64(7), np.uint8(3))] == [1, 7, 3]
    cores = joblib.cpu_count()
    assert [as_threads(value) for value in (None, -1, -2, 3, 10**9)] == [cores, cores, max(1, cores - 1), 3, 1024]
    assert as_threads(-(10**6)) == 1
    assert as_generator(5).random() == np.random.default_rng(5).random()
    assert [as_refinements(value) for value in (False, True, 0, 12, np.int32(4))] == [None, 0, 0, 12, 4]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: as_choice("c", "kind", ["a", "b"]), "kind: 'c' is unknown; choose one of a, b"),
        (lambda: as_choice(3, "kind", ["a", "b"]), "kind: a int is unknown"),
        (lambda: as_integer(1.5, "k"), "k must be a whole number, got 1.5"),
        (lambda: as_integer(True, "k"), "k must be a whole number, got True"),
        (lambda: as_integer(0, "k"), "k must be at least 1, got 0"),
        (lambda: as_threads(0), "n_jobs must be a number of threads"),
        (lambda: as_threads(True), "n_jobs must be a number of threads"),
        (lambda: as_generator(-1), "random_state must be None"),
        (lambda: as_generator("seed"), "random_state must be None"),
        (lambda: as_refinements(-1), "certify must be True, False or a number"),
        (lambda: as_refinements(0.5), "certify must be True, False or a number"),
    ],
)
def test_errors_about_invalid_values_are_one_line(call, message):
    with pytest.raises(ValueError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("value", [0, 1, -0.1, 90, True, "0.5", float("nan")])
def test_a_share_is_between_0_and_1(value):
    assert as_fraction(np.float32(0.5), "level") == 0.5
    with pytest.raises(ValueError, match="level must be between 0 and 1, got"):
        as_fraction(value, "level")
