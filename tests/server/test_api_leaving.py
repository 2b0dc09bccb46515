"""REST clients that leave, and sessions that end while questions wait: nothing goes on unseen."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

import httpx
import pytest
from app_server import PATIENCE, Api, hanging_up
from hostile_parsers import HangingNodeParser, is_running, wait_for
from openai_server import Fault

from rag_nodes.errors import SessionEndedError
from rag_nodes.server.clients import HeldStream
from rag_nodes.server.limits import ServerLimits
from rag_nodes.server.workers import Workers
from rag_nodes.workspace import workspace as workspace_module

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from openai_server import OpenAIServer

    from rag_nodes.compare import ComparisonStream
    from rag_nodes.settings import Settings

LIMITS = ServerLimits(body_bytes=100_000)
QUESTION = {"question": "What colour is the machine?"}


@pytest.fixture
def api(settings: Settings) -> Api:
    return Api(settings, LIMITS, local_models=True)


@pytest.fixture
def workers(api: Api) -> Workers:
    return api.workers


@pytest.fixture
def address(api: Api) -> Iterator[str]:
    with api.opened() as client:
        yield str(client.base_url).rstrip("/")


@pytest.fixture
def body(openai_server: OpenAIServer) -> dict[str, Any]:
    return {**QUESTION, "models": {"api_key": "sk-any", "api_base": openai_server.base}}


@contextmanager
def _client(address: str) -> Iterator[httpx.Client]:
    """A client with a document; its question is embedded, so that only the chat is asked again."""
    with httpx.Client(base_url=address, timeout=PATIENCE) as client:
        file = ("files", ("red.md", b"The machine is red."))
        session = client.post("/upload", files=[file]).json()["session"]
        client.headers["X-Session"] = session
        yield client


def _free(workers: Workers) -> None:
    """Wait until nothing is worked on."""
    waiting = threading.Event()
    for _ in range(PATIENCE * 20):
        if not workers._running:
            return
        waiting.wait(0.05)
    pytest.fail(f"still worked on: {workers._running}")


def test_a_client_that_wanted_it_all_at_once_and_left_keeps_no_model_busy(
    address: str, body: dict[str, Any], workers: Workers, openai_server: OpenAIServer
) -> None:
    with _client(address) as client:
        assert client.post("/ask", json=body).status_code == 200
        asked = len(openai_server.asked("chat/completions"))
        openai_server.fail(Fault(body="slow"))
        with hanging_up(f"{address}/ask", body, client.headers):
            openai_server.wait_for("chat/completions", asked + 1)
        _free(workers)  # although the model still has not answered
        assert client.post("/ask", json=QUESTION).status_code == 200


@pytest.mark.parametrize("path", ["/chunk", "/ask", "/compare"])
def test_a_client_that_left_ends_the_process_that_cuts_its_document(
    path: str,
    address: str,
    workers: Workers,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    note = tmp_path / "process"
    parser = HangingNodeParser(note=str(note))
    monkeypatch.setattr(workspace_module, "make_parsers", lambda *_: {"fixed": parser})
    bodies = {"/chunk": {"text": "Hello."}, "/ask": QUESTION, "/compare": QUESTION}
    with _client(address) as client:
        with hanging_up(f"{address}{path}", bodies[path], client.headers):
            process = wait_for(note)
            assert is_running(process)
        _free(workers)
        assert not is_running(process)
        assert client.get("/status").json()["documents"]


def test_clearing_ends_the_process_that_cuts_for_a_question(
    address: str, workers: Workers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    note = tmp_path / "process"
    parser = HangingNodeParser(note=str(note))
    monkeypatch.setattr(workspace_module, "make_parsers", lambda *_: {"fixed": parser})
    with _client(address) as client, ThreadPoolExecutor(1) as threads:
        asking = threads.submit(_status, client, QUESTION)
        process = wait_for(note)
        assert client.post("/clear").status_code == 200
        assert asking.result(PATIENCE) == 404
        assert not is_running(process)
        _free(workers)


def test_clearing_ends_the_questions_that_wait_for_their_turn_as_well(
    address: str, body: dict[str, Any], workers: Workers, openai_server: OpenAIServer
) -> None:
    with _client(address) as client:
        assert client.post("/ask", json=body).status_code == 200
        asked = len(openai_server.asked("chat/completions"))
        openai_server.fail(Fault(body="slow"), times=3)
        outcomes: list[int] = []
        asking = [
            threading.Thread(target=lambda: outcomes.append(_status(client, body)))
            for _ in range(3)
        ]
        for one in asking:
            one.start()
        openai_server.wait_for("chat/completions", asked + 1)
        assert client.post("/clear").status_code == 200
        for one in asking:
            one.join(PATIENCE)
        assert outcomes == [404] * 3
        _free(workers)
        assert len(openai_server.asked("chat/completions")) == asked + 1


def test_whoever_reads_on_while_a_session_ends_hears_that_it_has_ended() -> None:
    class Stream:
        def close(self) -> None:
            """What wakes the reader."""
            with pytest.raises(SessionEndedError, match="has ended"):
                asking.report()

    held = threading.Lock()
    held.acquire()
    asking = HeldStream(cast("ComparisonStream", Stream()), held)
    asking.close()
    assert not held.locked()


@pytest.mark.parametrize("announced", [True, False])
def test_a_client_reads_why_it_was_refused_however_much_it_sends(
    address: str, announced: bool
) -> None:
    piece = b" " * 500_000
    for _ in range(3):
        content = 40 * piece if announced else iter([piece] * 40)
        assert httpx.post(f"{address}/ask", content=content, timeout=PATIENCE).status_code == 413


def _status(client: httpx.Client, body: dict[str, Any]) -> int:
    return client.post("/ask", json=body).status_code
