"""What all tests share: hypothesis profiles, the loopback model server and the app."""

import gc
import logging
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from rag_nodes.store import Store

settings.register_profile(
    "default",
    max_examples=20,
    deadline=None,
    derandomize=True,  # the same code passes or fails the same way; to explore is what deep is for
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.register_profile(
    "deep", parent=settings.get_profile("default"), max_examples=1000, derandomize=False
)
settings.register_profile("quick", parent=settings.get_profile("default"), max_examples=5)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

_IN_MEMORY = Path("/dev/shm")  # noqa: S108 -- below it every test has a folder of its own
if _IN_MEMORY.is_dir() and shutil.disk_usage(_IN_MEMORY).free > 4 << 30:
    # Stores wait for the disk each time they are made, flushed and removed: longer than they work.
    tempfile.tempdir = os.environ.setdefault("TMPDIR", str(_IN_MEMORY))

# Gradio takes the first port that is free, and fails where another process takes it meanwhile.
_WORKER = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
os.environ["GRADIO_SERVER_PORT"] = str(7860 + 100 * _WORKER)

for _signal, _handler in (
    (signal.SIGINT, signal.default_int_handler),
    (getattr(signal, "SIGHUP", signal.SIGINT), signal.SIG_DFL),
):
    if signal.getsignal(_signal) is signal.SIG_IGN:
        # As in the background of a shell, and by `nohup`: nothing that a test starts would hear it.
        signal.signal(_signal, _handler)

# Tests and modules stay until the end: no collection of garbage is to walk through them again.
gc.disable()


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


pytest_plugins = ["fixtures_app", "fixtures_openai", "quick"]


@pytest.fixture(autouse=True, scope="session")
def _state_of_the_tests(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Ledgers of servers stay out of the folder of whoever runs the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield


@pytest.fixture(autouse=True)
def _closed_clients() -> Iterator[None]:
    """A client that nobody closed would be told of in a later test."""
    yield
    if module := sys.modules.get("memory_clients"):
        while module.OPEN:
            module.OPEN.pop().close()


@pytest.fixture(autouse=True)
def heard_logger() -> None:
    """Messages reach `caplog`, whatever a command of another test left behind."""
    ours = logging.getLogger("rag_nodes")
    ours.setLevel(logging.NOTSET)
    ours.propagate = True


@pytest.fixture
def store() -> "Iterator[Store]":
    """Open an empty store in memory."""
    from rag_nodes.store import open_store

    with open_store() as opened:
        yield opened
