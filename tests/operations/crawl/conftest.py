"""A crawl, and where its chunks go."""

from pathlib import Path

import pytest
from crawls import write_crawl


@pytest.fixture
def crawl(tmp_path: Path) -> Path:
    return write_crawl(tmp_path / "crawl.json")


@pytest.fixture
def output(tmp_path: Path) -> Path:
    return tmp_path / "chunks.json"
