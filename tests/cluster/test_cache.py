"""What a worker keeps, in bounded memory."""

import gc
import threading

import numpy as np
import pytest

from pairsmith.cluster.cache import Cache, buffer


class Owner:
    name = "one"


@pytest.fixture
def cache():
    return Cache()


def never():
    raise AssertionError("it was kept, and is made again")


def test_what_was_made_is_kept(cache):
    made = cache.get(("a", 1), lambda: (np.arange(5), np.zeros(2)))
    assert cache.get(("a", 1), never) is made


def test_the_least_recently_used_go_when_there_is_too_much(cache):
    cache.limit = 300
    for name in "abc":
        cache.get((name, 0), lambda: (np.zeros(100, dtype=np.uint8),))
    cache.get(("a", 0), never)  # now b was used least recently
    cache.get(("d", 0), lambda: (np.zeros(100, dtype=np.uint8),))
    assert {name for name, _ in cache.entries} == {"c", "a", "d"}
    (large,) = cache.get(("e", 0), lambda: (np.zeros(1000, dtype=np.uint8),))
    assert len(large) == 1000  # given to whoever asked, though it leaves room for nothing else
    assert {name for name, _ in cache.entries} == {"e"}


def test_what_was_kept_for_an_owner_goes_with_it(cache):
    owner, other = Owner(), Owner()
    other.name = "two"
    for of in (owner, other):
        cache.get_for(of, "rows", lambda: (np.zeros(3),))
    cache.get_for(owner, "rows", never)
    del owner, of
    gc.collect()
    assert {name for name, _ in cache.entries} == cache.owners == {"two"}


def test_one_thread_makes_it_while_others_wait(cache):
    begun, go_on, found, made = threading.Event(), threading.Event(), [], []

    def make():
        begun.set()
        assert go_on.wait(30)
        made.append(1)
        return (np.arange(3),)

    threads = [threading.Thread(target=lambda: found.append(cache.get(("a", 0), make))) for _ in range(4)]
    for thread in threads:
        thread.start()
    assert begun.wait(30)
    cache.get(("b", 0), lambda: (np.zeros(1),))  # who wants something else does not wait
    go_on.set()
    for thread in threads:
        thread.join()
    assert len(made) == 1
    assert all(arrays is found[0] for arrays in found)
    assert len(found) == 4


def test_what_could_not_be_made_is_tried_again(cache):
    with pytest.raises(AssertionError, match="made again"):
        cache.get(("a", 0), never)
    assert cache.get(("a", 0), lambda: (np.ones(1),))[0][0] == 1


def test_a_buffer_is_used_again_by_its_thread_alone():
    first = buffer("test", (4, 5))
    again = buffer("test", (2, 3), np.float32)
    assert (again.shape, again.dtype) == ((2, 3), np.float32)
    assert np.shares_memory(first, again)
    assert not np.shares_memory(first, buffer("another", (4, 5)))
    others = []
    thread = threading.Thread(target=lambda: others.append(buffer("test", (4, 5))))
    thread.start()
    thread.join()
    assert not np.shares_memory(first, others[0])
    assert buffer("test", (50, 5)).shape == (50, 5)
