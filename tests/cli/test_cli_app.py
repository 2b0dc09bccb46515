"""The command that serves the page."""

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from tests.cli.conftest import Command

from rag_nodes.core import errors
from rag_nodes.core.settings import Settings
from rag_nodes.evaluation.engines.finding import finds
from rag_nodes.operations import ExitCode
from rag_nodes.operations.fields import ParserSpec

SOURCE = Path(errors.__file__).parents[1]


def test_the_app_gets_settings_address_and_documents(
    command: Command, manual: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    called: dict[str, Any] = {}

    def launch(settings: Settings, **options: Any) -> None:
        called.update(settings=settings, **options)

    # Neither Gradio nor the package itself, which imports it: that takes ten seconds.
    monkeypatch.setattr("rag_nodes.apps.require_gradio", lambda: None)
    server = ModuleType("rag_nodes.server")
    server.__path__ = [str(SOURCE / "server")]
    server.launch = launch  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, server.__name__, server)
    from rag_nodes.server.gate import Access

    splitter = "llama_index.core.node_parser:SentenceSplitter(chunk_size=64)"
    flags = ("--port", "8080", "--top-k", "4", "--behind-proxy", "10.0.0.7", "-p", splitter)
    ended = command("app", manual, *flags)
    assert ended.code == 0
    assert called.pop("settings").top_k == 4
    assert called == {
        "host": "127.0.0.1",
        "port": 8080,
        "documents": [manual],
        "access": Access(proxy="10.0.0.7"),
        "mcp": False,
        "parsers": [splitter],
        "collections": {},
    }


def test_the_app_shows_a_stored_collection_as_a_column(
    command: Command, manual: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    called: dict[str, Any] = {}
    monkeypatch.setattr("rag_nodes.server.launch", lambda _, **options: called.update(options))
    command("ingest", manual, "-p", "page", "--store", "kept")
    [stored] = command("status", "--store", "kept", "--json").json["collections"]
    name = stored["name"]
    assert command("app", manual, "--collection", name, "--store", "kept").code == 0
    assert finds(called["collections"][name])
    ended = command("app", "--collection", name, "--store", "kept")
    assert "asked once their documents are loaded: name the files" in " ".join(ended.stderr.split())
    ended = command("app", manual, "--collection", "other", "--store", "kept")
    assert ended.code == ExitCode.FAILURE
    assert f"there is no collection 'other'; there are: {name}" in ended.stderr


def test_the_app_warns_of_a_store_that_agents_find_nothing_in(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rag_nodes.server.launch", lambda _, **__: None)
    ended = command("app", "--mcp", "--store", "nowhere")
    assert ended.code == 0
    assert "nowhere: no documents are stored here" in " ".join(ended.stderr.split())


def test_the_tools_at_mcp_take_the_parser_that_their_warning_asks_for(
    command: Command, manual: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    called: dict[str, Any] = {}
    monkeypatch.setattr("rag_nodes.server.launch", lambda _, **options: called.update(options))
    command("ingest", manual, "-p", "page", "-p", "sentence", "--store", "kept")
    ended = command("app", "--mcp", "--store", "kept")
    assert "only by page, sentence; start the server with --mcp-parser" in (
        " ".join(ended.stderr.split())
    )
    ended = command("app", "--mcp", "--mcp-parser", "page", "--store", "kept")
    assert (ended.code, ended.stderr) == (0, "Loading the app\n")
    assert called["mcp"] == ParserSpec(name="page")
    ended = command("app", "--mcp-parser", "page", "--store", "kept")
    assert ended.code == ExitCode.USAGE
    assert "add --mcp" in ended.stderr
