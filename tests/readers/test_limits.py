"""The limits are those that the documentation states, and hold to the last byte."""

from dataclasses import asdict
from pathlib import Path

import pytest

from rag_nodes.core.errors import FileTooLargeError
from rag_nodes.core.settings import Settings
from rag_nodes.readers import Limits, read
from rag_nodes.readers.base import SLOWEST

DOCS = Path(__file__).parents[2] / "docs" / "reference" / "formats.md"
MEGABYTE = 1024 * 1024


def test_the_limits_are_those_of_the_documentation() -> None:
    assert asdict(Limits()) == {
        "seconds": 120.0,
        "memory_bytes": 2 * 1024 * MEGABYTE,
        "file_bytes": 500 * MEGABYTE,
        "pages": 20_000,
        "characters": 100_000_000,
        "pdf_engine": "auto",
        "encoding": (),
        "ocr": None,
    }
    stated = " ".join(DOCS.read_text(encoding="utf-8").split())
    assert (
        "120 seconds and a little more for large files, 2 GiB of memory on Linux, 500 MB of file, "
        "20,000 pages, 100 million characters"
    ) in stated


@pytest.mark.usefixtures("no_configuration")
def test_the_settings_have_the_same_limits_unless_they_say_otherwise() -> None:
    assert Limits(**Settings().reading()) == Limits()


def test_large_files_get_a_second_more_for_each_quarter_of_a_megabyte() -> None:
    assert SLOWEST == MEGABYTE / 4
    assert Limits().seconds_for(0) == 120
    assert Limits().seconds_for(100 * MEGABYTE) == 520


@pytest.mark.parametrize(("limit", "size"), [("file_bytes", 1000), ("characters", 1000)])
def test_a_limit_holds_to_the_last_one(limit: str, size: int, tmp_path: Path) -> None:
    path = tmp_path / "note.txt"
    path.write_text("x" * size, encoding="ascii")
    assert len(read(path, limits=Limits(**{limit: size})).text) == size
    path.write_text("x" * (size + 1), encoding="ascii")
    with pytest.raises(FileTooLargeError, match=r"1,001 .* over the limit of 1,000"):
        read(path, limits=Limits(**{limit: size}))
