"""The plant's manual as a file, a store, and offline models to compare parsers with."""

from pathlib import Path

import pytest
from plant import MANUAL, offline_models

from rag_nodes.models import Models


@pytest.fixture(scope="session")
def models() -> Models:
    return offline_models()


@pytest.fixture
def manual(tmp_path: Path) -> Path:
    path = tmp_path / "manual.md"
    path.write_text(MANUAL)
    return path
