"""Offline models, small files and a store for the pipeline's tests."""

from __future__ import annotations

from itertools import repeat
from typing import TYPE_CHECKING, Any

import pytest
from folder_ingests import FolderIngests
from llama_index.core.base.embeddings.base import BaseEmbedding
from pydantic import PrivateAttr

from rag_nodes.models import Models
from rag_nodes.parsers import get_parser
from rag_nodes.readers import files
from rag_nodes.store import open_store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from rag_nodes.parsers import SpanNodeParser
    from rag_nodes.store import Store


class CountingEmbedding(BaseEmbedding):
    """Remembers every text it embedded; `before` may raise to play a failing server."""

    _texts: list[str] = PrivateAttr(default_factory=list)
    _before: Any = PrivateAttr(default=None)

    @classmethod
    def class_name(cls) -> str:
        return "CountingEmbedding"

    @property
    def texts(self) -> list[str]:
        return self._texts

    def fail(self, before: Callable[[list[str]], None]) -> None:
        # Another function would be another code of the model, had it a name here.
        self._before = repeat(before)

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        if self._before is not None:
            next(self._before)(texts)
        self._texts.extend(texts)
        return [[1.0, float(len(text)), float(sum(map(ord, text)) % 97)] for text in texts]

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._get_text_embeddings([text])[0]

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embeddings([query])[0]

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)


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
def parsers() -> dict[str, SpanNodeParser]:
    return {
        "fixed": get_parser("fixed", chunk_size=80, chunk_overlap=0),
        "heading": get_parser("heading", chunk_size=60, min_chunk_size=5),
    }


@pytest.fixture
def store() -> Iterator[Store]:
    with open_store(":memory:") as opened:
        yield opened


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

    def noted(path: Path, **options: object) -> object:
        opened.append(path.name)
        return reading(path, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(files, "readings", noted)
    folder = tmp_path / "docs"
    folder.mkdir()
    with open_store(tmp_path / "store") as store:
        made = FolderIngests(folder, store, models, opened)
        for number in range(3):
            made.write(f"{number}.md", f"# Tea {number}\n\nTea number {number} is green.\n" * 20)
        yield made
