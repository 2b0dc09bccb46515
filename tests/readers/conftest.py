"""Both PDF engines, a pool of readers and small files."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from rag_nodes.readers.isolation import ReaderPool
from rag_nodes.readers.pdf import engines


def write(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def file(folder: Path, name: str) -> Path:
    return write(folder / name, b"anything")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.pdf"


@pytest.fixture(scope="module")
def pool() -> Iterator[ReaderPool]:
    opened = ReaderPool("hostile_reader_child")
    yield opened
    opened.close()


@pytest.fixture(params=["pymupdf", "pdfium"])
def pdf_engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Have "auto" stand for one engine after the other, in child processes too."""
    name: str = request.param
    others = {key: library for key, library in engines.LIBRARIES.items() if key != name}
    monkeypatch.setattr(engines, "LIBRARIES", {name: engines.LIBRARIES[name], **others})
    return name
