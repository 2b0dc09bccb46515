"""Lines of nodes in their text files, counted in the files."""

import re
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import TEXTS

from rag_nodes import get_parser, read
from rag_nodes.core.errors import EmptyFileError, MisnamedFileError
from rag_nodes.query.citations import cite_passage
from rag_nodes.readers import lines_of
from rag_nodes.store import Hit

NOTE = "# Filter\r\n\r\nRinse it.\rAt noon.\nNever before.\n"
PARSERS = [
    get_parser("heading"),
    get_parser("fixed", chunk_size=40, chunk_overlap=10),
    get_parser("sentence"),
]


def _lines(text: str) -> list[str]:
    """Lines with their ends, as editors count them."""
    return re.findall(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+", text)


@given(TEXTS, st.sampled_from([".md", ".txt", ".py"]), st.sampled_from(PARSERS))
def test_a_node_is_in_its_lines_of_the_file_and_begins_and_ends_there(
    text: str, suffix: str, parser: object
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"note{suffix}")
        path.write_bytes(text.encode("utf-8", "replace"))
        source = path if suffix != ".py" else path.with_suffix(".txt")
        source.write_bytes(path.read_bytes())
        try:
            document = read(source)
        except (EmptyFileError, MisnamedFileError):
            return
        document.metadata["source"] = str(path)
        for node in parser.get_nodes_from_documents([document]):  # type: ignore[attr-defined]
            hit = Hit(node, 1, 1.0)
            line_range = hit.lines()
            assert line_range is not None
            assert line_range == cite_passage(1, hit, 0, len(node.text)).lines()
            lines = _lines(document.text)[line_range.start_line - 1 : line_range.end_line]
            assert node.text in "".join(lines)
            assert node.text not in "".join(lines[1:])
            assert node.text not in "".join(lines[:-1])


@pytest.mark.parametrize(
    ("quote", "lines"),
    [
        ("# Filter", (1, 1)),
        ("# Filter\r\n", (1, 1)),
        ("\n\r\nRinse", (1, 3)),
        ("Rinse it.", (3, 3)),
        ("At noon.\nNever", (4, 5)),
        (NOTE, (1, 5)),
    ],
)
def test_every_kind_of_line_end_ends_one_line(quote: str, lines: tuple[int, int]) -> None:
    start = NOTE.index(quote)
    assert lines_of(NOTE, start, start + len(quote)) == lines


def test_a_changed_a_moved_and_a_missing_file(tmp_path: Path) -> None:
    path = tmp_path / "note.txt"
    path.write_text("one\ntwo\nthree", "utf-8")
    [node] = get_parser("fixed").get_nodes_from_documents([read(path)])
    hit = Hit(node, 1, 1.0)
    assert hit.lines() == (1, 3)
    moved = path.rename(tmp_path / "moved.txt")
    assert hit.lines() is None
    assert hit.lines(moved) == (1, 3)
    path.write_text("One\ntwo\nthree", "utf-8")
    assert hit.lines() is None


@pytest.mark.parametrize(
    "name", ["handbook.pdf", "prices.csv"], ids=["a page", "rows that are written anew"]
)
def test_other_formats_have_no_lines(name: str, tmp_path: Path) -> None:
    path = Path(__file__).parents[2] / "examples/corpus" / name
    if not path.exists():
        path = tmp_path / name
        path.write_text("a,b\n1,2\n", "utf-8")
    nodes = get_parser("fixed").get_nodes_from_documents([read(path)])
    assert {Hit(node, 1, 1.0).lines() for node in nodes} == {None}
