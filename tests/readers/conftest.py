"""Both PDF engines for the tests of what reads PDF files."""

import pytest

from rag_nodes.readers.pdf import engines


@pytest.fixture(params=["pymupdf", "pdfium"])
def pdf_engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Have "auto" stand for one engine after the other, in child processes too."""
    name: str = request.param
    others = {key: library for key, library in engines.LIBRARIES.items() if key != name}
    monkeypatch.setattr(engines, "LIBRARIES", {name: engines.LIBRARIES[name], **others})
    return name
