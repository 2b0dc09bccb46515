"""The plant's manual as a file, a store, and offline models to compare parsers with."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from plant import MANUAL, offline_models

from rag_nodes.store import open_store

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rag_nodes.models import Models
    from rag_nodes.store import Store


@pytest.fixture(scope="session")
def models() -> Models:
    return offline_models()


@pytest.fixture
def manual(tmp_path: Path) -> Path:
    path = tmp_path / "manual.md"
    path.write_text(MANUAL)
    return path


@pytest.fixture
def store() -> Iterator[Store]:
    with open_store(":memory:") as opened:
        yield opened
