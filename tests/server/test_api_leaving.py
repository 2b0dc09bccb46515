"""Clients that leave, and sessions that end while questions wait: nothing goes on unseen."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from app_server import PATIENCE, Api, hanging_up
from hostile_parsers import HangingNodeParser
from openai_server import Fault, OpenAIServer
from pydantic import SecretStr

from rag_nodes.core.errors import CancelledError
from rag_nodes.core.processes import Interrupt, interruptible
from rag_nodes.core.settings import Settings
from rag_nodes.models import choose_models
from rag_nodes.operations.agent_forms import AgentQuestion
from rag_nodes.operations.agents import StoredTools
from rag_nodes.parsers import get_parser
from rag_nodes.pipeline import ingest
from rag_nodes.server.events import MEDIA_TYPE
from rag_nodes.server.limits import ServerLimits
from rag_nodes.store import open_store

LIMITS = ServerLimits(body_bytes=100_000)
QUESTION = {"question": "What colour is the machine?"}


@pytest.fixture
def api(openai_server: OpenAIServer) -> Api:
    """A server whose models are asked over a network."""
    return Api(_settings(openai_server), LIMITS)


@pytest.fixture
def address(api: Api) -> Iterator[str]:
    with api.opened() as client:
        yield str(client.base_url).rstrip("/")


def _settings(openai_server: OpenAIServer) -> Settings:
    return Settings(
        embedding="openai",
        llm="openai",
        api_base=openai_server.base,
        api_key=SecretStr("sk-any"),
        retry_seconds=0,
    )


@contextmanager
def _client(address: str) -> Iterator[httpx.Client]:
    """A client with a document; its question is embedded, so that only the chat is asked again."""
    with httpx.Client(base_url=address, timeout=PATIENCE) as client:
        file = ("files", ("red.md", b"The machine is red."))
        session = client.post("/upload", files=[file]).json()["session"]
        client.headers["X-Session"] = session
        yield client


@pytest.mark.parametrize("accept", ["application/json", MEDIA_TYPE])
def test_a_client_that_left_keeps_no_model_busy(
    accept: str, address: str, api: Api, openai_server: OpenAIServer
) -> None:
    with _client(address) as client:
        client.headers["Accept"] = accept
        assert client.post("/ask", json=QUESTION).status_code == 200
        asked = len(openai_server.asked("chat/completions"))
        openai_server.fail(Fault(body="slow"))
        with hanging_up(f"{address}/ask", QUESTION, client.headers):
            openai_server.wait_for("chat/completions", asked + 1)
        api.rest()  # although the model still has not answered
        assert client.post("/ask", json=QUESTION).status_code == 200


@pytest.mark.parametrize("before", range(2))  # the question, the answer
def test_an_agent_that_left_has_nobody_wait_for_the_model(
    before: int, openai_server: OpenAIServer, tmp_path: Path
) -> None:
    (tmp_path / "red.md").write_text("The machine is red.", "utf-8")
    settings = _settings(openai_server).model_copy(update={"store": str(tmp_path / "kept")})
    with open_store(settings.store) as store:
        models = choose_models(settings)
        ingest([tmp_path / "red.md"], {"auto": get_parser("auto")}, store, models=models)
    interrupt = Interrupt()

    def ask_interruptibly() -> None:
        with interruptible(interrupt):
            StoredTools(settings).call("ask", AgentQuestion.model_validate(QUESTION))

    openai_server.fail(Fault(), before)
    openai_server.fail(Fault(body="slow"))
    number = len(openai_server.requests) + before + 1
    with ThreadPoolExecutor(1) as threads:
        asking = threads.submit(ask_interruptibly)
        openai_server.wait_for("", number)
        interrupt.set()
        with pytest.raises(CancelledError):
            asking.result(PATIENCE)


@pytest.mark.parametrize(
    ("path", "body", "accept"),
    [
        ("/chunk", {"text": "Hello."}, "application/json"),
        ("/compare", QUESTION, "application/json"),
        ("/compare", QUESTION, MEDIA_TYPE),
    ],
)
def test_a_client_that_left_ends_the_parser_of_its_document(
    path: str,
    body: dict[str, Any],
    accept: str,
    address: str,
    api: Api,
    hanging: HangingNodeParser,
) -> None:
    with _client(address) as client:
        client.headers["Accept"] = accept
        with hanging_up(f"{address}{path}", body, client.headers):
            hanging.wait_until_started()
        api.rest()
        hanging.wait_until_cancelled()
        assert client.get("/status").json()["documents"]


def test_clearing_ends_the_parser_of_a_question(
    address: str, api: Api, hanging: HangingNodeParser
) -> None:
    with _client(address) as client, ThreadPoolExecutor(1) as threads:
        asking = threads.submit(_status, client, QUESTION)
        hanging.wait_until_started()
        assert client.post("/clear").status_code == 200
        assert asking.result(PATIENCE) == 404
        hanging.wait_until_cancelled()
        api.rest()


def test_clearing_ends_the_questions_that_wait_for_their_turn_as_well(
    address: str, api: Api, openai_server: OpenAIServer
) -> None:
    with _client(address) as client, ThreadPoolExecutor(3) as threads:
        assert client.post("/ask", json=QUESTION).status_code == 200
        asked = len(openai_server.asked("chat/completions"))
        openai_server.fail(Fault(body="slow"), times=3)
        asking = [threads.submit(_status, client, QUESTION) for _ in range(3)]
        openai_server.wait_for("chat/completions", asked + 1)
        assert client.post("/clear").status_code == 200
        assert [future.result(PATIENCE) for future in asking] == [404] * 3
        api.rest()
        assert len(openai_server.asked("chat/completions")) == asked + 1


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
