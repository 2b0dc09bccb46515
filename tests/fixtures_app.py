"""Fixtures of what is served: offline settings, and Gradio without the tracks it leaves behind."""

from __future__ import annotations

import asyncio
import gc
import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from rag_nodes.core.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    import gradio as gr


@pytest.fixture
def settings() -> Settings:
    return offline_settings()


@pytest.fixture(scope="session")
def _gradio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Gradio with its own upload folder, without statistics, and without what it leaves behind."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GRADIO_TEMP_DIR", str(tmp_path_factory.mktemp("uploads")))
        # Otherwise it computes statistics after every event, with calls that pandas deprecates.
        patch.setenv("GRADIO_ANALYTICS_CACHE_FREQUENCY", "1000000")
        # It refuses to launch where the first answer takes three seconds, as on a busy machine.
        patch.setattr("gradio.networking.url_ok", lambda _: True)
        yield


@pytest.fixture(scope="session")
def leaks_collected() -> Callable[[], AbstractContextManager[None]]:
    """See `collecting`."""
    return collecting


@pytest.fixture(scope="session")
def app(_gradio: None) -> Iterator[gr.Blocks]:
    """The app, served on a free port of the loopback interface to all tests, one after another."""
    from rag_nodes.apps import build_app
    from rag_nodes.server.serve import launch_options

    with collecting():
        built = build_app(offline_settings())
        built.launch(server_name="127.0.0.1", prevent_thread_lock=True, **launch_options())
    yield built
    with collecting():
        built.close()


@contextmanager
def collecting() -> Iterator[None]:
    """Collect the event loops and sockets that Gradio opens and never closes while it builds."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        yield
        asyncio.set_event_loop(None)
        gc.collect()


def offline_settings() -> Settings:
    return Settings(embedding="lexical", llm="extractive", api_key=None, api_base=None)
