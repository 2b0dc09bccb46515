"""The queue of events: whoever fills it finds no more room, and everybody else does."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from gradio.data_classes import PredictBodyInternal

from rag_nodes.apps.inside_gradio import MOST_WAITING, NO_EVENT, TOO_MANY

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    import gradio as gr
    from gradio.queueing import Queue

    from rag_nodes.settings import Settings

ASKED = 3 * MOST_WAITING


@pytest.fixture
def queue(
    build: Callable[..., gr.Blocks],
    settings: Settings,
    leaks_collected: Callable[[], AbstractContextManager[None]],
) -> Queue:
    """One that nobody serves, so that whatever comes in waits."""
    import gradio as gr
    from fastapi import FastAPI

    app = build(settings)
    with leaks_collected():
        gr.mount_gradio_app(FastAPI(), app, path="/")
    return app._queue


async def _push(queue: Queue, address: str, tab: str, event: int = 0) -> Any:
    request: Any = SimpleNamespace(client=SimpleNamespace(host=address))
    body = PredictBodyInternal(data=[], fn_index=event, session_hash=tab)
    return await queue.push(body, request, None)


async def test_one_address_leaves_room_for_others_however_many_tabs_it_has(queue: Queue) -> None:
    pushed = [await _push(queue, "192.0.2.1", f"tab {number}") for number in range(ASKED)]
    assert [one[0] for one in pushed].count(True) == MOST_WAITING
    assert pushed[-1][1:] == (TOO_MANY, "queue_full")
    assert (await _push(queue, "192.0.2.2", "another"))[0]


@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
async def test_on_this_machine_each_tab_counts_for_itself(queue: Queue, address: str) -> None:
    pushed = [await _push(queue, address, "one tab") for _ in range(ASKED)]
    assert [one[0] for one in pushed].count(True) == MOST_WAITING
    assert (await _push(queue, address, "another"))[0]


async def test_an_event_that_is_none_is_refused_in_words(queue: Queue) -> None:
    for number in (-1, 10**6, 10**30):
        assert await _push(queue, "192.0.2.1", "tab", number) == (False, NO_EVENT, "error")
    assert len(queue) == 0
