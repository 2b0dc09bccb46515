"""A crawl, and where its chunks go."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from crawls import write_crawl

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def crawl(tmp_path: Path) -> Path:
    return write_crawl(tmp_path / "crawl.json")


@pytest.fixture
def output(tmp_path: Path) -> Path:
    return tmp_path / "chunks.json"
