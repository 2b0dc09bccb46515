"""A crawl, and where its chunks go."""

import json
from pathlib import Path
from typing import Any

import pytest
from crawls import write_crawl


def chunks(output: Path) -> list[dict[str, Any]]:
    written: list[dict[str, Any]] = json.loads(output.read_text(encoding="utf-8"))
    return written


@pytest.fixture
def crawl(tmp_path: Path) -> Path:
    return write_crawl(tmp_path / "crawl.json")


@pytest.fixture
def output(tmp_path: Path) -> Path:
    return tmp_path / "chunks.json"
