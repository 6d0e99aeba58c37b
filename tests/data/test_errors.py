import pickle

from pairsmith.data.errors import ArgumentError


def test_the_message_begins_with_the_argument():
    error = ArgumentError("k", " must be at least 1, got 0")
    assert str(error) == "k must be at least 1, got 0"
    assert (error.argument, error.problem) == ("k", " must be at least 1, got 0")
    assert isinstance(error, ValueError)


def test_the_error_can_be_sent_between_processes():
    error = pickle.loads(pickle.dumps(ArgumentError("top", "=9, but there are 8 items")))
    assert (str(error), error.argument) == ("top=9, but there are 8 items", "top")
