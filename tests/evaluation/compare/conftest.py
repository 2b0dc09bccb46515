"""The plant's manual as a file, a store, and offline models to compare parsers with."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from plant import MANUAL, offline_models

from rag_nodes.models import Models
from rag_nodes.store import Store, open_store


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
