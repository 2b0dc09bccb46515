"""Offline models, small files and a store for the pipeline's tests."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from counting_models import CountingEmbedding, Prices, served_by
from folder_ingests import FolderIngests
from openai_server import OpenAIServer

from rag_nodes.models import Models
from rag_nodes.parsers import SpanNodeParser, get_parser
from rag_nodes.readers import files
from rag_nodes.store import open_store


@pytest.fixture
def embedding() -> CountingEmbedding:
    return CountingEmbedding(embed_batch_size=1000)


@pytest.fixture
def models(embedding: CountingEmbedding) -> Models:
    return Models(
        embedding=embedding,
        llm=None,
        embedding_name="counting",
        answer_name="extractive",
        offline=True,
    )


@pytest.fixture
def served(openai_server: OpenAIServer, no_configuration: Path) -> Models:
    del no_configuration
    return served_by(openai_server)


@pytest.fixture
def prices(served: Models) -> Prices:
    return {served.embedding_name: (2.0, 0.0)}


@pytest.fixture
def parsers() -> dict[str, SpanNodeParser]:
    return {
        "fixed": get_parser("fixed", chunk_size=80, chunk_overlap=0),
        "heading": get_parser("heading", chunk_size=60, min_chunk_size=5),
    }


@pytest.fixture
def manual(tmp_path: Path) -> Path:
    """A Markdown file of four sections."""
    path = tmp_path / "manual.md"
    path.write_text(manual_text(), encoding="utf-8")
    return path


def manual_text(*, colour: str = "red") -> str:
    sections = [f"# Part {n}\n\nPart {n} of the machine is made of steel." for n in range(4)]
    return "\n\n".join([*sections, f"# Colour\n\nThe machine is {colour}."]) + "\n"


@pytest.fixture
def corpus(
    tmp_path: Path, models: Models, monkeypatch: pytest.MonkeyPatch
) -> Iterator[FolderIngests]:
    opened: list[str] = []
    reading = files.readings

    def note_path(path: Path, **options: object) -> object:
        opened.append(path.name)
        return reading(path, **options)

    monkeypatch.setattr(files, "readings", note_path)
    folder = tmp_path / "docs"
    folder.mkdir()
    with open_store(tmp_path / "store") as store:
        ingests = FolderIngests(folder, store, models, opened)
        for number in range(3):
            ingests.write(f"{number}.md", f"# Tea {number}\n\nTea number {number} is green.\n" * 20)
        yield ingests
