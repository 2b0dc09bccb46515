"""Summaries by several processes: as by one, and never paid for twice."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
from hostile_parsers import PoisonedNodeParser
from openai_server import OpenAIServer
from stored_points import points_of, without_seconds

from rag_nodes import ingest
from rag_nodes.models import Models
from rag_nodes.models.executors import Pool
from rag_nodes.models.openai import OpenAIServerLLM
from rag_nodes.pipeline import run
from rag_nodes.store import Store, open_store

KEY = "canary-0123456789"


def says(prompt: str) -> str:
    """Another thing about everything."""
    return f"It is about {crc32(prompt.encode()):x}."


@pytest.fixture
def server(openai_server: OpenAIServer, no_configuration: Path) -> OpenAIServer:
    del no_configuration
    openai_server.answer = says
    return openai_server


@pytest.fixture
def paid(server: OpenAIServer) -> Models:
    llm = OpenAIServerLLM(model="tea-1", api_base=server.base, api_key=KEY, retry_seconds=0)
    return Models.of(embed_model="lexical", llm=llm)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(tmp_path / "store") as store:
        yield store


@pytest.fixture
def alone(tmp_path: Path) -> Iterator[Store]:
    with open_store(tmp_path / "alone") as store:
        yield store


def write_files(folder: Path, texts: dict[str, str]) -> Path:
    folder.mkdir()
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def manuals(count: int, **more: str) -> dict[str, str]:
    text = "# Part {0}\n\nIt is made of steel.\n\n## Care of {0}\n\nOil it."
    return {f"{number:02}.md": text.format(number) for number in range(count)} | {
        f"{name.strip('_')}.md": text for name, text in more.items()
    }


def prompts(server: OpenAIServer) -> list[str]:
    return [body["messages"][0]["content"] for body in server.asked("chat/completions")]


def test_two_processes_of_which_one_dies_write_what_one_writes_for_the_same_requests(
    server: OpenAIServer,
    paid: Models,
    store: Store,
    alone: Store,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(run, "MOST_FILES", 3)
    folder = write_files(tmp_path / "files", manuals(6, _05_="# Kill\n\nkill"))
    parsers = {"x": PoisonedNodeParser(note=str(tmp_path / "note"), chunk_size=60, chunk_overlap=0)}
    options: dict[str, Any] = {"models": paid, "text": "summary"}
    executor = Pool(2)
    report = ingest([folder], parsers, store, **options, executor=executor)
    assert (tmp_path / "note").exists()
    asked = prompts(server)
    assert len(asked) == len(set(asked)), "what a worker paid for that died is not asked again"
    server.requests.clear()
    expected = ingest([folder], parsers, alone, **options)
    assert sorted(prompts(server)) == sorted(asked)
    assert without_seconds(report) == without_seconds(expected)
    collection = expected.columns[0].collection
    assert points_of(store, collection) == points_of(alone, collection)

    # The key went to the server and nowhere else.
    kept = [path.read_bytes() for path in (tmp_path / "store").rglob("*") if path.is_file()]
    assert any(path.name == "written.sqlite" for path in (tmp_path / "store").iterdir())
    assert not any(KEY.encode() in content for content in kept)
    assert KEY not in f"{caplog.text}{report}"
