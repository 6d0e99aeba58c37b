import shutil
import signal
from pathlib import Path

import pytest
import threadpoolctl
from hypothesis import HealthCheck, settings
from xdist.scheduler import LoadFileScheduling

from pairsmith.files.items import read_items

pytest_plugins = [f"support.{name}_fixtures" for name in ("campaign", "cluster", "command", "server")]

# A shell that starts the tests in the background has them ignore Ctrl-C, and then no test could be interrupted by one.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Compiled code makes first calls slow and the rest fast: no deadline, and the same examples on every run.
settings.register_profile(
    "pairsmith", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow], max_examples=60
)
settings.load_profile("pairsmith")


# `make quick` leaves out the tests that need a browser, a cluster, PostgreSQL or nginx, that kill processes, or that
# take more than a few seconds: the tests of these files, tests with these fixtures, and tests marked slow.
SLOW_FILES = "campaign/web/browser/", "campaign/test_crash.py"
SLOW_FIXTURES = {"postgresql", "nginx", "browser", "farm", "shared"}
TESTS = Path(__file__).parent


def pytest_collection_modifyitems(items):
    for item in items:
        database = item.callspec.params.get("target") if hasattr(item, "callspec") else None
        if (
            item.path.relative_to(TESTS).as_posix().startswith(SLOW_FILES)
            or SLOW_FIXTURES.intersection(item.fixturenames)
            or database == "postgresql"
        ):
            item.add_marker(pytest.mark.slow)


# Browsers and clusters take seconds to start, and several of each would slow each other down: one process runs all
# tests of each of these folders.
ONE_PROCESS_EACH = "campaign/web/browser/", "cluster/"


class ByFileOrSharedFolder(LoadFileScheduling):
    def _split_scope(self, nodeid):
        return next(
            (folder for folder in ONE_PROCESS_EACH if f"tests/{folder}" in nodeid), super()._split_scope(nodeid)
        )


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    return ByFileOrSharedFolder(config, log)


@pytest.fixture(scope="session", autouse=True)
def own_home(tmp_path_factory):
    """The key that seals campaigns is not that of whoever runs the tests, in processes they start neither."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PAIRSMITH_HOME", str(tmp_path_factory.mktemp("home")))
        yield


@pytest.fixture(scope="session")
def browser_type_launch_args():
    path = next((found for name in ("chromium", "chromium-browser") if (found := shutil.which(name))), None)
    assert path, "these tests need Chromium; on Debian: apt-get install chromium"
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
             "--disable-background-networking", "--disable-component-update", "--disable-sync"]  # fmt: skip
    return {"executable_path": path, "args": flags}


@pytest.fixture
def two_blas_threads():
    """BLAS with more than one thread, as users have it; `make test` leaves one to each of its processes."""
    with threadpoolctl.threadpool_limits(2, user_api="blas"):
        yield


@pytest.fixture
def write(tmp_path):
    """write("a.csv", text) -> the path of a new file."""

    def put(name, text):
        path = tmp_path / name
        path.write_text(text)
        return path

    return put


@pytest.fixture
def items(write):
    """Five items with the ids 1 to 5, from a file."""
    return read_items(write("items.csv", "id,x\n1,5\n2,3\n3,1\n4,9\n5,7\n"))
