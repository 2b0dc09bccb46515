"""REST and MCP name what the server offers, take nothing else, and say what was recovered."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from splitters import Given
from starlette.applications import Starlette
from starlette.routing import Mount

from rag_nodes.parsers import PRESETS, offered
from rag_nodes.server.clients import Clients
from rag_nodes.server.limits import ServerLimits
from rag_nodes.server.mcp import make_mcp
from rag_nodes.server.rest.application import make_api
from rag_nodes.server.workers import Workers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rag_nodes.settings import Settings

    Call = Callable[..., dict[str, Any]]

NAMES = [*PRESETS, "lossy"]
OFFER = {"lossy": Given(["The pump draws water.", "Words of its own."])}


@pytest.fixture
def call(settings: Settings) -> Iterator[Call]:
    limits = ServerLimits()
    with_clients = Clients(settings, offer=offered(OFFER))
    api = Starlette(
        routes=[Mount("/api", make_api(settings, with_clients, Workers(limits), limits))]
    )

    async def send(method: str, path: str, **options: Any) -> httpx.Response:
        transport = httpx.ASGITransport(api)
        async with httpx.AsyncClient(transport=transport, base_url="http://here") as client:
            return await client.request(method, f"/api{path}", **options)

    def call(method: str, path: str, status: int = 200, **options: Any) -> dict[str, Any]:
        reply = asyncio.run(send(method, path, **options))
        assert reply.status_code == status, reply.text
        found: dict[str, Any] = reply.json()
        return found

    yield call
    with_clients.close()


def test_the_document_and_the_status_name_what_is_offered(call: Call) -> None:
    models = call("GET", "/openapi.json")["components"]["schemas"]
    assert models["ChunkBody"]["properties"]["parser"]["enum"] == NAMES
    assert [one["name"] for one in call("GET", "/status")["parsers"]] == NAMES


def test_a_cut_by_a_foreign_splitter_says_the_share_of_chunks_with_a_place(call: Call) -> None:
    body = {"text": "The pump draws water. It hums.", "parser": "lossy"}
    reply = call("POST", "/chunk", json=body)
    assert (reply["total"], reply["recovery"]) == (2, 0.5)
    assert [one["start"] for one in reply["chunks"]] == [0, None]
    assert call("POST", "/chunk", json={**body, "parser": "fixed"})["recovery"] == 1


def test_a_comparison_says_it_for_each_column(call: Call) -> None:
    files = {"files": ("pump.md", b"The pump draws water. It hums.")}
    session = {"X-Session": call("POST", "/upload", files=files)["session"]}
    body = {"question": "What draws water?", "parsers": ["lossy", "fixed"]}
    columns = call("POST", "/compare", json=body, headers=session)["columns"]
    assert [one["recovery"] for one in columns] == [0.5, 1]


@pytest.mark.parametrize("name", ["os:system", "splitters:Given(pieces=[])", "lossy-2", "nothing"])
def test_a_parser_that_is_not_offered_is_refused_and_not_imported(call: Call, name: str) -> None:
    refused = call("POST", "/chunk", status=422, json={"text": "Tea.", "parser": name})
    assert "unknown parser" in refused["error"]


@pytest.mark.parametrize(
    "options", [{"embedding": "openai:any"}, {"tokenizer": "any"}, {"path": "os:system"}]
)
def test_options_that_are_texts_cannot_be_sent(call: Call, options: dict[str, str]) -> None:
    body = {"text": "Tea.", "parser": "semantic", "options": options}
    call("POST", "/chunk", status=422, json=body)


def test_every_number_of_every_preset_can_be_sent_and_a_window_is_bounded(call: Call) -> None:
    models = call("GET", "/openapi.json")["components"]["schemas"]
    known = models["ParserOptions"]["properties"]
    assert {"chunk_size", "window", "chunk_penalty", "whole_document_below"} <= set(known)
    assert "sentence-window" in known["window"]["description"]
    body = {"text": "Tea.", "parser": "sentence-window", "options": {"window": 51}}
    assert "at most 50" in call("POST", "/chunk", status=422, json=body)["error"]


def test_agents_see_what_is_offered(settings: Settings) -> None:
    limits = ServerLimits()
    server = make_mcp(settings, Workers(limits), limits, offered(OFFER))
    tools = {tool.name: tool.inputSchema for tool in asyncio.run(server.list_tools())}
    assert tools["chunk"]["properties"]["parser"]["enum"] == NAMES
    assert tools["compare"]["properties"]["parsers"]["items"]["enum"] == NAMES
