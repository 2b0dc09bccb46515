"""Files, models and parsers for the tests of workers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rag_nodes.models import Models
from rag_nodes.parsers import get_parser

if TYPE_CHECKING:
    from pathlib import Path

    from rag_nodes.parsers import SpanNodeParser


@pytest.fixture(scope="session")
def models() -> Models:
    return Models.of(embed_model="lexical")


@pytest.fixture(scope="session")
def parsers() -> dict[str, SpanNodeParser]:
    return {
        "heading": get_parser("heading", chunk_size=60, min_chunk_size=5),
        "family": get_parser("parent-child"),
        "semantic": get_parser("semantic", chunk_size=96, min_chunk_size=8),
    }


@pytest.fixture
def corpus(tmp_path: Path) -> list[Path]:
    """Six small files, one of them blank."""
    folder = tmp_path / "corpus"
    folder.mkdir()
    paths = []
    for number in range(6):
        path = folder / f"manual {number}.md"
        parts = [
            f"# Part {part}\n\nPart {part} of machine {number} is made of steel. It is heavy."
            for part in range(4)
        ]
        path.write_text("" if number == 3 else "\n\n".join(parts), encoding="utf-8")
        paths.append(path)
    return paths
