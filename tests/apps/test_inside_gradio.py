"""What the app takes from inside Gradio: each assumption has a test that breaks with it."""

import asyncio
import errno
import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gradio as gr
import pytest
from fixtures_app import offline_settings
from gradio.context import LocalContext
from gradio.data_classes import PredictBodyInternal
from gradio.queueing import Queue
from gradio.state_holder import SessionState

from rag_nodes.apps.inside_gradio import (
    DOES_NOT_FIT,
    MOST_WAITING,
    NO_EVENT,
    TOO_MANY,
    Drawn,
    GuardedBlocks,
    data_of,
    newest_wins,
    now,
    offer,
    outermost,
    take_uploads_only,
)

ASKED = 3 * MOST_WAITING


@pytest.fixture
def page(leaks_collected: Callable[[], AbstractContextManager[None]]) -> GuardedBlocks:
    """Blocks with one event that takes files."""
    with leaks_collected(), GuardedBlocks() as page:
        files = gr.File(file_count="multiple")
        said = gr.Textbox()
        gr.Button().click(lambda _: "called", files, said)
    return page


@pytest.fixture(scope="module")
def unserved(
    build: Callable[..., gr.Blocks],
    leaks_collected: Callable[[], AbstractContextManager[None]],
) -> Queue:
    """One that nobody serves, so that whatever comes in waits."""
    from fastapi import FastAPI

    app = build(offline_settings())
    with leaks_collected():
        gr.mount_gradio_app(FastAPI(), app, path="/")
    return app._queue


@pytest.fixture
def queue(unserved: Queue) -> Queue:
    """The same, empty."""
    for events in unserved.event_queue_per_concurrency_id.values():
        events.queue.clear()
    return unserved


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


@pytest.mark.parametrize(
    ("fault", "level"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), logging.WARNING),
        (FileNotFoundError(errno.ENOENT, "No such file"), logging.DEBUG),
        (TypeError("a list is no number"), logging.DEBUG),
    ],
    ids=["full disk", "no such file", "wrong type"],
)
async def test_a_fault_of_the_server_is_logged_and_nonsense_is_not(
    fault: Exception,
    level: int,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    leaks_collected: Callable[[], AbstractContextManager[None]],
) -> None:
    async def stumble(*_: Any) -> list[Any]:
        raise fault

    monkeypatch.setattr(gr.Blocks, "preprocess_data", stumble)
    caplog.set_level(logging.DEBUG, "rag_nodes.apps.inside_gradio")
    with leaks_collected(), GuardedBlocks() as page:
        gr.Textbox()
    with pytest.raises(gr.Error, match=DOES_NOT_FIT):
        await page.preprocess_data(None, [1])
    assert [
        one.levelno for one in caplog.records if one.name == "rag_nodes.apps.inside_gradio"
    ] == [level]


def test_the_data_of_a_click_is_in_a_private_field_of_its_event() -> None:
    assert data_of(gr.EventData(None, {"act": "best"})) == {"act": "best"}


async def test_every_input_and_all_data_of_an_event_pass_the_blocks(page: GuardedBlocks) -> None:
    [event] = page.fns.values()
    address: Any = {"path": "http://example.org/a.pdf", "meta": {"_type": "gradio.FileData"}}
    with pytest.raises(gr.Error, match="addresses are not opened"):
        await page.process_api(event, [[address]], None)
    with pytest.raises(gr.Error, match=DOES_NOT_FIT):
        await page.process_api(event, [None], event_data=gr.EventData(None, {"f": address}))
    assert (await page.process_api(event, [None], None))["data"] == ["called"]


async def test_what_was_read_first_changes_nothing_where_it_arrives_last(
    leaks_collected: Callable[[], AbstractContextManager[None]],
) -> None:
    read, sent = threading.Event(), threading.Event()

    def slow() -> Drawn:
        at = now()
        read.set()
        sent.wait(60)
        return Drawn(at, ("before", "typed", "kept"))

    with leaks_collected(), GuardedBlocks() as page:
        state = gr.State("")
        outputs = [gr.HTML(), gr.Textbox(), state]
        private: dict[str, Any] = {"api_visibility": "private"}
        gr.Button().click(slow, None, outputs, **private)
        gr.Button().click(
            lambda: Drawn(now(), ("after", gr.skip(), "new")), None, outputs, **private
        )
        gr.on([], slow, None, outputs, api_visibility="public")  # for scripts
    newest_wins(page)
    events = list(page.fns.values())
    visitor, other = SessionState(page), SessionState(page)
    late = asyncio.create_task(page.process_api(events[0], [], visitor))
    await asyncio.to_thread(read.wait, 60)
    assert (await page.process_api(events[1], [], visitor))["data"][0] == "after"
    sent.set()
    assert (await late)["data"][:2] == [gr.skip(), "typed"]
    assert visitor[state._id] == "new"
    asked = await page.process_api(events[2], [], visitor)
    assert asked["data"][:2] == ["before", "typed"]
    # Another visitor's page shows nothing newer.
    assert (await page.process_api(events[0], [], other))["data"][0] == "before"


@pytest.mark.parametrize(("kind", "again"), [("private", gr.skip()), ("public", "all")])
async def test_a_page_is_not_sent_the_last_values_of_an_event_again_and_a_script_is(
    kind: Any, again: Any, leaks_collected: Callable[[], AbstractContextManager[None]]
) -> None:
    def grow() -> Iterator[str]:
        yield "some"
        yield "all"

    with leaks_collected(), GuardedBlocks() as page:
        gr.Button().click(grow, None, gr.Textbox(), api_visibility=kind)
    newest_wins(page)
    [event], state, sent = page.fns.values(), SessionState(page), []
    answer: Any = {"iterator": None, "is_generating": True}
    while answer["is_generating"]:
        answer = await page.process_api(
            event, [], state, iterator=answer["iterator"], session_hash="tab", event_id="event"
        )
        sent.append(answer["data"])
    assert len(sent) == 3
    assert sent[-1] == [again]


def test_blocks_that_are_open_are_part_of_the_outermost(
    leaks_collected: Callable[[], AbstractContextManager[None]],
) -> None:
    with leaks_collected():
        with GuardedBlocks() as alone:
            assert outermost(alone) is alone
        with gr.Blocks() as outer, GuardedBlocks() as inner:
            assert outermost(inner) is outer


@pytest.mark.parametrize("launched", [True, False])
async def test_only_blocks_that_have_launched_refuse_paths_that_were_not_uploaded(
    page: GuardedBlocks, tmp_path: Path, *, launched: bool
) -> None:
    """So `take_uploads_only` says so of blocks that nobody launches."""
    secret = tmp_path / "secret.txt"
    secret.write_text("secret")
    if launched:
        take_uploads_only(page)
    LocalContext.blocks.set(page)
    [event] = page.fns.values()
    file: Any = {"path": str(secret), "meta": {"_type": "gradio.FileData"}}
    try:
        await page.preprocess_data(event, [[file]], None)
    except gr.Error:
        taken = False
    else:
        taken = True
    assert taken is not launched


def test_what_is_offered_is_below_the_folder_of_uploads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRADIO_TEMP_DIR", str(tmp_path))
    offered = Path(offer(b"text", "chunks-fixed.csv"))
    assert offered.read_bytes() == b"text"
    assert offered.name == "chunks-fixed.csv"
    assert tmp_path in offered.parents


def test_an_idle_app_wakes_less_than_fifty_times_a_second(queue: Queue) -> None:
    pauses = [queue.sleep_when_free, queue.progress_update_sleep_when_free]
    assert sum(1 / pause for pause in pauses) < 50
