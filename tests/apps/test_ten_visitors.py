"""Ten visitors at once: each in their own documents, none behind another, none left over."""

import gc
import threading
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple

import pytest
from gradio_client import Client, handle_file
from gradio_client.client import Job
from openai_server import Fault, OpenAIServer

from rag_nodes.apps import page as app_page
from rag_nodes.apps.visitors.session import PageSession
from rag_nodes.apps.visitors.sessions import PageSessions
from rag_nodes.core.settings import Settings
from rag_nodes.server.serve import launch_options

PATIENCE = 180
"""Seconds after which an answer counts as stuck."""
COLOURS = (
    "amber azure coral crimson emerald indigo magenta olive scarlet turquoise".split()  # noqa: SIM905 - easier to read
)
QUESTION = "What colour is the machine?"


class House(NamedTuple):
    """A served app and who is in it."""

    sessions: PageSessions
    clients: list[Client]


@pytest.fixture
def house(
    settings: Settings,
    openai_server: OpenAIServer,
    monkeypatch: pytest.MonkeyPatch,
    leaks_collected: Callable[[], AbstractContextManager[None]],
    build: object,
) -> Iterator[House]:
    del build  # Gradio's folder and statistics
    opened: list[PageSessions] = []

    def sessions(given: Settings, **options: bool) -> PageSessions:
        opened.append(PageSessions(given, **options))
        return opened[-1]

    monkeypatch.setattr(app_page, "PageSessions", sessions)
    with leaks_collected():
        app = app_page.build_app(settings.model_copy(update={"api_base": openai_server.base}))
        app.launch(server_name="127.0.0.1", prevent_thread_lock=True, **launch_options())
    options = {"verbose": False, "analytics_enabled": False, "httpx_kwargs": {"timeout": PATIENCE}}
    clients = [Client(str(app.local_url), **options) for _ in COLOURS]
    yield House(opened[0], clients)
    with leaks_collected():
        with ThreadPoolExecutor(len(clients)) as pool:
            list(pool.map(Client.close, clients))  # each waits for its heartbeat
        app.close()


def test_each_is_answered_from_their_own_document_while_one_waits_for_a_slow_model(
    house: House, openai_server: OpenAIServer, tmp_path: Path
) -> None:
    earlier = set(threading.enumerate())
    gone = _visit(house, openai_server, tmp_path)
    for thread in set(threading.enumerate()) - earlier:
        if thread.name == "sweep":  # it was told to end, and holds its session until it has
            thread.join(PATIENCE)
    gc.collect()
    assert [one() for one in gone] == [None] * len(COLOURS)
    assert len(house.sessions) == 0


def _visit(
    house: House, openai_server: OpenAIServer, folder: Path
) -> list[weakref.ref[PageSession]]:
    """Ten visitors come, load, ask and leave; what should be gone then."""
    slow, *others = house.clients
    server = {_parameter(slow, "API key"): "any"}
    loading = [
        client.submit(
            [handle_file(_document(folder, colour))],
            **(server if client is slow else {}),
            api_name="/process",
        )
        for client, colour in zip(house.clients, COLOURS, strict=True)
    ]
    for job, colour in zip(loading, COLOURS, strict=True):
        assert f"{colour}.md" in job.result(timeout=PATIENCE)[0]

    held = len(openai_server.asked("embeddings")) + 1
    openai_server.fail(Fault(body="slow"))
    waiting = slow.submit(QUESTION, api_name="/ask")
    openai_server.wait_for("embeddings", held)
    asked = [client.submit(QUESTION, api_name="/ask") for client in others]
    for job, colour in zip(asked, COLOURS[1:], strict=True):
        _assert_own(job, colour)
    assert not waiting.done()
    openai_server.release()
    assert openai_server.answer.split(" [")[0] in waiting.result(timeout=PATIENCE)[0]

    assert len(house.sessions) == len(COLOURS)
    gone = [weakref.ref(house.sessions.of(client.session_hash)) for client in house.clients]
    for client in house.clients:
        house.sessions.end(client.session_hash)
    return gone


def _assert_own(job: Job, colour: str) -> None:
    page = job.result(timeout=PATIENCE)[0]
    assert page.count("<article") == 4
    assert [one for one in COLOURS if one in page] == [colour]


def _document(folder: Path, colour: str) -> Path:
    path = folder / f"{colour}.md"
    path.write_text(f"# Colour\n\nThe machine is {colour}.\n", encoding="utf-8")
    return path


def _parameter(client: Client, label: str) -> str:
    """What the API calls the control with that label."""
    described = client.view_api(print_info=False, return_format="dict")["named_endpoints"]
    parameters = described["/process"]["parameters"]
    return next(str(one["parameter_name"]) for one in parameters if one["label"] == label)
