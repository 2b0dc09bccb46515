"""The tools over standard input and output: a process as desktop clients start it."""

import asyncio
import json
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from fixtures_app import offline_settings
from mcp_process import COMMAND, data, environment, mcp_process
from openai_server import Fault, OpenAIServer

from rag_nodes.core.processes import current_interrupt
from rag_nodes.models import choose_models
from rag_nodes.operations import ExitCode
from rag_nodes.operations.agents import TOOLS
from rag_nodes.parsers import get_parser
from rag_nodes.pipeline import ingest
from rag_nodes.server import stdio
from rag_nodes.store import open_store

PATIENCE = 60
TEXT = "# Colour\n\nThe machine is red.\n\n# Size\n\nThe machine is two metres high.\n"
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}


def fill(folder: Path, text: str = TEXT) -> Path:
    """Store a document in a new store."""
    (folder / "note.md").write_text(text, encoding="utf-8")
    with open_store(folder / "kept") as store:
        parsers = {"retrieval": get_parser("retrieval")}
        ingest([folder / "note.md"], parsers, store, models=choose_models(offline_settings()))
    return folder / "kept"


async def test_an_agent_searches_asks_verifies_and_lists_over_stdio(tmp_path: Path) -> None:
    store = fill(tmp_path)
    async with mcp_process(tmp_path, "--store", str(store), "--verbose") as session:
        tools = (await session.list_tools()).tools
        result = data(await session.call_tool("search", {"query": "how high is the machine"}))
        asked = data(await session.call_tool("ask", {"question": "What colour is the machine?"}))
        listed = data(await session.call_tool("list_documents", {}))
        [cited] = [citation for citation in asked["citations"] if "red" in citation["text"]]
        place = {key: cited[key] for key in ("document_id", "start", "end")}
        exact = data(await session.call_tool("quote", {**place, "text": cited["text"]}))
        wrong = data(await session.call_tool("quote", {**place, "text": "The machine is blue."}))
    assert [tool.name for tool in tools] == ["search", "ask", "quote", "list_documents"]
    assert "two metres" in result["passages"][0]["text"]
    assert [document["name"] for document in listed["documents"]] == ["note.md"]
    assert exact["text"] == TEXT[cited["start"] : cited["end"]]
    assert (exact["exact"], wrong["exact"]) == (True, False)
    log = (tmp_path / "stderr.txt").read_text(encoding="utf-8")
    assert [name for name in TOOLS if f"{name}: done" in log] == list(TOOLS)


async def test_neither_gradio_nor_fastapi_is_loaded(tmp_path: Path) -> None:
    store = fill(tmp_path)
    script = (
        "import sys\n"
        "from rag_nodes.cli.program import run\n"
        "run(['mcp', *sys.argv[1:]])\n"
        "sys.stderr.write(f\"loaded: {sorted({'gradio', 'fastapi', 'mcp'} & sys.modules.keys())}\")"
    )
    python = ("-c", script)
    async with mcp_process(tmp_path, "--store", str(store), python=python) as session:
        data(await session.call_tool("ask", {"question": "What colour is the machine?"}))
        data(await session.call_tool("list_documents", {}))
    assert "loaded: ['mcp']" in (tmp_path / "stderr.txt").read_text(encoding="utf-8")


async def test_errors_have_a_kind_and_a_remedy_and_the_server_goes_on(tmp_path: Path) -> None:
    store = fill(tmp_path)
    async with mcp_process(tmp_path, "--store", str(store)) as session:
        [document] = data(await session.call_tool("list_documents", {}))["documents"]
        named = document["document_id"]
        calls: list[tuple[str, dict[str, Any]]] = [
            ("quote", {"document_id": "other", "start": 0, "end": 3}),
            ("quote", {"document_id": named, "start": 0, "end": 900}),
            ("search", {"query": "a", "file": "/etc/passwd"}),
            ("delete", {}),
        ]
        replies = [await session.call_tool(name, arguments) for name, arguments in calls]
        assert data(await session.call_tool("search", {"query": "machine"}))["passages"]
    contents = [reply.structuredContent or {} for reply in replies]
    assert [reply_["kind"] for reply_ in contents] == [
        "DocumentMissingError",
        *["ConfigurationError"] * 3,
    ]
    assert contents[1]["remedy"] == f"choose start and end inside 0 to {len(TEXT.rstrip())}"
    assert all(
        reply.isError and reply_["remedy"] for reply, reply_ in zip(replies, contents, strict=True)
    )


async def test_documents_that_are_ingested_while_the_server_runs_are_found(tmp_path: Path) -> None:
    async with mcp_process(tmp_path, "--store", "kept") as session:
        early = await session.call_tool("search", {"query": "machine"})
        fill(tmp_path)
        late = data(await session.call_tool("search", {"query": "machine"}))
    assert early.isError
    assert "run `rag-nodes ingest` with this --store" in str(early.content)
    assert late["passages"]
    assert "no documents are stored here" in (tmp_path / "stderr.txt").read_text(encoding="utf-8")


async def test_two_clients_share_a_store_and_wait_while_it_is_in_use_for_a_short_time(
    tmp_path: Path,
) -> None:
    store = fill(tmp_path)
    (tmp_path / "other").mkdir()
    async with (
        mcp_process(tmp_path, "--store", str(store)) as first,
        mcp_process(tmp_path / "other", "--store", str(store)) as other,
    ):
        for session in (first, other, first, other):
            assert data(await session.call_tool("search", {"query": "machine"}))["passages"]
        with open_store(store):
            waiting = asyncio.create_task(other.call_tool("search", {"query": "machine"}))
            await asyncio.wait({waiting}, timeout=1)
        assert data(await waiting)["passages"]


async def test_a_key_is_in_no_error_and_in_no_log(
    tmp_path: Path, openai_server: OpenAIServer
) -> None:
    key = "sk-canary-2c9d51f7ab"
    variables = {
        "RAG_NODES_API_KEY": key,
        "RAG_NODES_API_BASE": openai_server.base,
        "RAG_NODES_EMBEDDING": "lexical",
        "RAG_NODES_LLM": "openai",
        "RAG_NODES_RETRY_SECONDS": "0",
    }
    store = fill(tmp_path)
    echo = f"Incorrect API key provided: {key}"
    openai_server.fail(Fault(401, "invalid_api_key", echo))
    openai_server.fail(Fault(400, None, echo))
    async with mcp_process(tmp_path, "--store", str(store), "--verbose", **variables) as session:
        question = {"question": "What colour is the machine?"}
        replies = [await session.call_tool("ask", question) for _ in range(2)]
    assert {request.authorization for request in openai_server.requests} == {f"Bearer {key}"}
    assert [reply.isError for reply in replies] == [True, True]
    written = str(replies) + (tmp_path / "stderr.txt").read_text(encoding="utf-8")
    assert "canary" not in written


async def test_a_call_that_the_agent_cancels_ends() -> None:
    began, ended = threading.Event(), threading.Event()

    def work() -> dict[str, Any]:
        with current_interrupt().killing(ended.set):
            began.set()
            ended.wait(PATIENCE)
        return {}

    task = asyncio.create_task(stdio._call(work, None))
    assert await asyncio.to_thread(began.wait, PATIENCE)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await asyncio.to_thread(ended.wait, PATIENCE)


def start_server(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    """A server that has answered the first request."""
    process = subprocess.Popen(
        [sys.executable, *COMMAND, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=folder,
        env=environment(folder, PYTHONPATH=":".join([*sys.path, str(folder)])),
        text=True,
        encoding="utf-8",
    )
    assert process.stdin
    assert process.stdout
    process.stdin.write(json.dumps(INITIALIZE) + "\n")
    process.stdin.flush()
    assert json.loads(process.stdout.readline())["id"] == 1
    return process


def test_stdout_holds_the_protocol_and_nothing_that_others_print(tmp_path: Path) -> None:
    (tmp_path / "loud.py").write_text(
        "import os, sys\n"
        "from llama_index.core.node_parser import SentenceSplitter\n"
        "class Loud(SentenceSplitter):\n"
        "    def __init__(self, **options):\n"
        "        super().__init__(**options)\n"
        "        print('printed', flush=True)\n"
        "        os.write(1, b'written\\n')\n",
        encoding="utf-8",
    )
    fill(tmp_path)
    call = {"name": "search", "arguments": {"query": "machine"}}
    sent = [
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call},
        {"jsonrpc": "2.0", "id": 3, "method": "ping"},
    ]
    arguments = ("--store", "kept", "--parser", "loud:Loud", "--verbose")
    with start_server(tmp_path, *arguments) as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write("no protocol\n" + "".join(f"{json.dumps(reply_)}\n" for reply_ in sent))
        process.stdin.flush()
        answered: set[int] = set()
        while answered != {2, 3}:
            message = json.loads(process.stdout.readline())
            assert message["jsonrpc"] == "2.0"
            answered |= {message["id"]} if "id" in message else set()
        rest, errors = process.communicate(timeout=PATIENCE)
    assert rest == ""
    assert "printed\n" in errors
    assert "written\n" in errors
    assert process.returncode == ExitCode.DONE


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, ExitCode.INTERRUPTED)]
)
def test_a_signal_ends_a_server_whose_client_keeps_it_open(
    number: signal.Signals, code: int, tmp_path: Path
) -> None:
    with start_server(tmp_path) as process:
        process.send_signal(number)
        assert process.wait(PATIENCE) == code


def test_without_its_extra_the_command_names_the_install_line(tmp_path: Path) -> None:
    script = (
        "import sys\n"
        "class Missing:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.split('.')[0] == 'mcp':\n"
        "            raise ModuleNotFoundError(name, name='mcp')\n"
        "sys.meta_path.insert(0, Missing())\n"
        "from rag_nodes.cli.program import run\n"
        "sys.exit(run(['mcp']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert done.returncode == ExitCode.UNAVAILABLE
    assert "pip install 'rag-nodes[mcp]'" in done.stderr
    assert done.stdout == ""
