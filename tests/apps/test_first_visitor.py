"""Nothing runs in the background before somebody opens the page."""

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager

from rag_nodes.apps import build_app
from rag_nodes.core.settings import Settings


def test_building_the_app_starts_no_thread(
    leaks_collected: Callable[[], AbstractContextManager[None]],
) -> None:
    before = set(threading.enumerate())
    with leaks_collected():
        build_app(Settings(embedding="lexical", llm="extractive"))
    assert set(threading.enumerate()) <= before
