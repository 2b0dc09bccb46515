"""What the app takes from inside Gradio: a test for each assumption."""

import asyncio
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gradio as gr
import httpx
import pytest
from app_server import listening
from fastapi import FastAPI, Request

from rag_nodes.apps import build_app
from rag_nodes.apps.inside_gradio import PageBlocks, is_uploaded, user_of
from rag_nodes.core.settings import Settings

OFFLINE = Settings(embedding="lexical", llm="extractive")


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Who was logged in, for each action."""
    users: list[str] = []

    async def noting(request: Any) -> str:
        users.append(await user_of(request))
        return users[-1]

    monkeypatch.setattr("rag_nodes.apps.page.user_of", noting)
    return users


@pytest.fixture
def mounted(
    _gradio: None, leaks_collected: Callable[[], AbstractContextManager[None]]
) -> Callable[..., AbstractContextManager[Callable[..., httpx.Response]]]:
    """Mounts the page in a FastAPI app, and sends actions to it."""

    @contextmanager
    def mount(**options: Any) -> Iterator[Callable[..., httpx.Response]]:
        with leaks_collected():
            page = build_app(OFFLINE)
            app = gr.mount_gradio_app(FastAPI(), page, path="/", **options)
        [component] = [block for block in page.blocks.values() if isinstance(block, gr.HTML)]
        with leaks_collected(), listening(app) as address, httpx.Client(timeout=60) as client:

            def act(**headers: str) -> httpx.Response:
                sent = {"token": "a" * 48, "action": "arrive", "payload": {}}
                body = {"session_hash": "s", "component_id": component._id, "fn_name": "act",
                        "data": sent}  # fmt: skip
                where = f"{address}/gradio_api/component_server"
                return client.post(where, json=body, headers=headers)

            act.client, act.address = client, address  # type: ignore[attr-defined]
            yield act
            page.at_end()

    return mount


def test_without_a_login_every_visitor_is_nobody(mounted: Any, seen: list[str]) -> None:
    with mounted() as act:
        assert act().status_code == 200
    assert seen == [""]


def test_a_login_of_the_host_names_the_visitor_and_others_are_refused(
    mounted: Any, seen: list[str]
) -> None:
    def who(request: Request) -> str | None:
        return request.headers.get("x-user")

    with mounted(auth_dependency=who) as act:
        assert act().status_code == 401
        assert act(**{"x-user": "ann"}).status_code == 200
    assert seen == ["ann"]


def test_a_login_of_gradio_names_the_visitor(mounted: Any, seen: list[str]) -> None:
    with mounted(auth=("ann", "secret")) as act:
        assert act().status_code == 401
        form = {"username": "ann", "password": "secret"}
        assert act.client.post(f"{act.address}/login", data=form).status_code == 200
        assert act().status_code == 200
    assert seen == ["ann"]


def test_a_mounted_page_takes_no_path_of_this_server_for_an_upload(
    leaks_collected: Callable[[], AbstractContextManager[None]],
) -> None:
    with leaks_collected(), gr.Blocks() as host:
        inner = build_app(OFFLINE)
    assert host.has_launched
    with leaks_collected():
        alone = build_app(OFFLINE)
    assert alone.has_launched
    assert inner is not host


def test_the_queue_of_a_page_rests(
    leaks_collected: Callable[[], AbstractContextManager[None]],
) -> None:
    with leaks_collected():
        app = PageBlocks()
        app.queue()
    assert app._queue.sleep_when_free >= 0.04
    assert app._queue.progress_update_sleep_when_free >= 1


def test_only_files_in_the_upload_folder_count_as_uploads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "uploads"
    (folder / "hash").mkdir(parents=True)
    monkeypatch.setitem(os.environ, "GRADIO_TEMP_DIR", str(folder))
    inside, outside = folder / "hash" / "a.md", tmp_path / "a.md"
    for path in (inside, outside):
        path.write_text("text")
    link = folder / "hash" / "link.md"
    link.symlink_to(outside)
    verdicts = [is_uploaded(path) for path in (inside, outside, link, folder / ".." / "a.md")]
    assert verdicts == [True, False, False, False]
    assert not is_uploaded(folder / "hash" / "gone.md")


def test_somebody_with_a_cookie_that_is_no_login_is_nobody() -> None:
    app = SimpleNamespace(auth_dependency=None, cookie_id="1", tokens={"t": "ann"})
    request = SimpleNamespace(scope={"app": app}, cookies={"access-token-1": "other"})
    with ThreadPoolExecutor(1) as thread:  # browser tests leave a loop running in this one
        assert thread.submit(asyncio.run, user_of(request)).result() == ""
