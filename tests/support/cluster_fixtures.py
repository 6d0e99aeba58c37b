"""Clusters. Dask takes a second to import, so that is done only when a test needs one."""

import pytest

import pairsmith as ps


@pytest.fixture
def small_tasks(monkeypatch):
    """Small tasks, so that there are many, and no wait of more than a minute."""
    import dask

    from pairsmith.cluster import scan

    monkeypatch.setattr(scan, "_LEAST_WORK", 3e6)
    monkeypatch.setattr(scan, "_ROWS_IN_FLOAT64", 300)
    with dask.config.set({"pairsmith.timeout": 60}):
        yield


@pytest.fixture
def farm(small_tasks):
    """A cluster of its own, for a test that starts and kills workers."""
    from support.clusters import Farm

    farm = Farm()
    yield farm
    farm.close()


@pytest.fixture(scope="session")
def two_workers():
    """Started once, because that takes seconds; `shared` is what tests ask for."""
    from support.clusters import Farm

    farm = Farm().start(2)
    yield farm
    farm.close()


@pytest.fixture
def shared(two_workers, small_tasks):
    """A cluster of two workers, which all tests share that leave it as it was."""
    return two_workers


@pytest.fixture(scope="session")
def picked_here():
    """What this machine picks by itself: a cluster has to pick the same."""
    from support.clusters import OPTIONS, X

    return ps.select(X, 60, **OPTIONS)


@pytest.fixture
def on_result(monkeypatch):
    """Call something once, when a scan's first tile is done."""
    from pairsmith.cluster.submit import Submitter

    def arrange(number, then):
        each, events = Submitter.each, [then]

        def watched(self, label, *args):
            for result in each(self, label, *args):
                if label == f"tile-scan-{number}" and events:
                    events.pop()()
                yield result

        monkeypatch.setattr(Submitter, "each", watched)
        return events

    return arrange
