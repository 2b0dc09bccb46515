"""The tools as an agent meets them: a real MCP client over loopback."""

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

import httpx
import pytest
from app_server import listening
from fixtures_app import offline_settings
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client
from mcp.types import CallToolResult
from pydantic import SecretStr
from starlette.applications import Starlette

from rag_nodes.core.settings import Settings
from rag_nodes.models import choose_models
from rag_nodes.parsers import get_parser, offered
from rag_nodes.pipeline import ingest
from rag_nodes.server.gate import Access, Gate
from rag_nodes.server.limits import BodyLimits, ServerLimits
from rag_nodes.server.mcp import PATH, make_mcp
from rag_nodes.server.served import ServedOperations
from rag_nodes.store import open_store

TOKEN = "a-token-for-tests-only"
TEXT = "# Colour\n\nThe machine is red.\n\n# Size\n\nThe machine is two metres high.\n"


@contextmanager
def _served(settings: Settings) -> Iterator[str]:
    limits = ServerLimits()
    tools = make_mcp(ServedOperations.of(settings, offered(), limits))
    app = Starlette(routes=[tools.route], lifespan=lambda _: tools.manager.run())
    gate = Gate(BodyLimits(app, limits), Access(token=SecretStr(TOKEN)))
    with listening(gate) as opened:
        yield f"{opened}{PATH}"


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """Of a server whose operator has stored a document by two parsers."""
    folder = tmp_path_factory.mktemp("of the operator")
    (folder / "note.md").write_text(TEXT, encoding="utf-8")
    settings = offline_settings().model_copy(update={"store": str(folder / "stored")})
    with open_store(settings.store) as store:
        parsers = {name: get_parser(name) for name in ("heading", "auto")}
        ingest([folder / "note.md"], parsers, store, models=choose_models(settings))
    return settings


@pytest.fixture(scope="module")
def address(stored: Settings) -> Iterator[str]:
    with _served(stored) as opened:
        yield opened


@asynccontextmanager
async def _connected(address: str) -> AsyncIterator[ClientSession]:
    headers = {"Authorization": f"Bearer {TOKEN}"}
    async with (
        httpx.AsyncClient(headers=headers, timeout=60) as client,
        streamable_http_client(address, http_client=client) as (reading, writing, _),
        ClientSession(reading, writing) as session,
    ):
        await session.initialize()
        yield session


def _data(result: CallToolResult) -> dict[str, Any]:
    assert not result.isError, result.content
    assert result.structuredContent is not None
    return result.structuredContent


async def test_an_agent_finds_tools_that_only_read_of_a_server_with_our_version(
    address: str,
) -> None:
    async with _connected(address) as session:
        about = (await session.initialize()).serverInfo
        tools = (await session.list_tools()).tools
        unknown = await session.call_tool("nothing", {})
    assert (about.name, about.version) == ("rag_nodes", version("rag-nodes"))
    assert {tool.name for tool in tools} == {"ask"}
    for tool in tools:
        assert tool.annotations is not None
        assert tool.annotations.readOnlyHint is True
        assert tool.annotations.destructiveHint is False
    assert unknown.isError


async def test_an_agents_question_stands_alone_unless_it_brings_the_earlier_question(
    address: str,
) -> None:
    asked = {"question": "How tall?", "parser": "heading"}
    earlier = "What is the size of the machine?"
    async with _connected(address) as session:
        await session.call_tool("ask", {**asked, "question": earlier})
        alone = _data(await session.call_tool("ask", asked))
        following = _data(await session.call_tool("ask", {**asked, "follow_up": earlier}))
        unknown = await session.call_tool("ask", {**asked, "follow_up": True})
    assert alone["question"] == "How tall?"
    assert following["question"] == f"{earlier} How tall?"
    assert "give the earlier question as follow_up" in str(unknown.content)


async def test_an_agent_asks_the_stored_documents_and_changes_nothing(
    address: str, stored: Settings
) -> None:
    with open_store(stored.store) as store:
        before = store.collections()
    question = {"question": "How high is the machine?", "parser": "auto"}
    async with _connected(address) as session:
        asked = await session.call_tool("ask", question)
        missing = await session.call_tool("ask", {**question, "parser": "page"})
    assert "two metres" in _data(asked)["text"]
    assert _data(asked)["citations"][0]["file_name"] == "note.md"
    assert missing.isError
    said = json.dumps([asked.model_dump(), missing.model_dump()])
    assert str(Path(stored.store).parent) not in said
    with open_store(stored.store) as store:
        assert store.collections() == before


async def test_asking_where_nothing_is_stored_says_so_and_makes_no_folder(tmp_path: Path) -> None:
    settings = offline_settings().model_copy(update={"store": str(tmp_path / "stored")})
    with _served(settings) as address:
        async with _connected(address) as session:
            reply = await session.call_tool("ask", {"question": "What?"})
    assert reply.isError
    assert "no documents are stored" in str(reply.content)
    assert not (tmp_path / "stored").exists()


async def test_wrong_arguments_are_an_error_the_agent_can_read(address: str) -> None:
    wrong: list[dict[str, Any]] = [
        {"question": "a", "parser": "nonsense"},
        {"question": "a", "parser": {"name": "semantic", "options": {"embed_model": "x"}}},
        {"question": "a", "parser": "fixed:chunk_size=1,chunk_overlap=0"},
        {"question": "a", "file": "/etc/passwd"},
        {"question": "a", "text": "b"},
        {"question": "a", "budget": 10**9},
        {},
    ]
    async with _connected(address) as session:
        replies = [await session.call_tool("ask", arguments) for arguments in wrong]
    for reply in replies:
        assert reply.isError
        said = str(reply.content)
        assert "Traceback" not in said
        assert "pydantic" not in said
