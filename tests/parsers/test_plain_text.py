"""Plain text and reStructuredText: no mark of Markdown is assumed, and underlined titles count."""

from pathlib import Path

import pytest
from llama_index.core.schema import Document, TextNode

from rag_nodes.core import metadata as keys
from rag_nodes.parsers import PRESETS, get_parser
from rag_nodes.readers import read
from rag_nodes.text.tokens import count_tokens

SECTION = """{title}
{line}

The call sleeps until the device answers, or until the timeout has passed. It returns zero on
success, and a negative error code otherwise::

    ret = wait_for_device(dev, timeout);

"""


def manual(sections: int) -> str:
    """RST in which one title is underlined with what opens a fence in Markdown."""
    parts = ["=========\nThe calls\n=========\n\n"]
    for number in range(sections):
        title = f"Call {number}"
        parts.append(SECTION.format(title=title, line=("~" if number == 1 else "-") * len(title)))
    return "".join(parts)


def nodes_of(preset: str, document: Document) -> list[TextNode]:
    return get_parser(preset)([document])  # type: ignore[return-value]


@pytest.mark.parametrize("preset", ["heading", "web", "auto"])
@pytest.mark.parametrize("file_name", ["calls.rst", "calls.txt", ""])
def test_an_underline_swallows_no_text_below_it(preset: str, file_name: str) -> None:
    metadata = {keys.FILE_NAME: file_name} if file_name else {}
    nodes = nodes_of(preset, Document(text=manual(151), metadata=metadata))
    most = get_parser(preset).chunk_size  # type: ignore[attr-defined]
    assert max(count_tokens(node.text) for node in nodes) <= most
    assert not [node for node in nodes if keys.OVERSIZED in node.metadata]
    assert {node.metadata[keys.TEXT_FORMAT] for node in nodes} == {"plain"}


def test_underlined_titles_are_the_headings_of_plain_text() -> None:
    parser = get_parser("heading", min_chunk_size=0)
    nodes = parser([Document(text=manual(3), metadata={keys.FILE_NAME: "calls.rst"})])
    assert [node.metadata[keys.HEADING_PATH] for node in nodes] == [
        ["The calls", "Call 0"],
        ["The calls", "Call 0", "Call 1"],
        ["The calls", "Call 2"],
    ]


def test_the_format_of_a_reader_outweighs_text_and_file_name() -> None:
    text = "# One\n\nText.\n\n## Two\n\nMore text."
    for stated in ("markdown", "plain"):
        metadata = {keys.TEXT_FORMAT: stated, keys.FILE_NAME: "x.md"}
        nodes = get_parser("fixed")([Document(text=text, metadata=metadata)])
        assert {node.metadata[keys.TEXT_FORMAT] for node in nodes} == {stated}
        assert (keys.HEADING in nodes[0].metadata) == (stated == "markdown")


@pytest.mark.parametrize("preset", PRESETS)
def test_every_node_says_which_format_its_text_was_read_as(preset: str) -> None:
    for node in nodes_of(preset, Document(text=manual(5))):
        assert node.metadata[keys.TEXT_FORMAT] == "plain"
        assert keys.TEXT_FORMAT in node.excluded_embed_metadata_keys
        assert keys.TEXT_FORMAT in node.excluded_llm_metadata_keys


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a.md", "Only prose.", "markdown"),
        ("a.txt", "Only prose.", "plain"),
        ("a.rst", "Only prose.", "plain"),
        ("a.txt", "# One\n\n## Two\n\n[link](x)", "markdown"),
        ("a.html", "<p>Only prose.</p>", "markdown"),
        ("a.csv", "a,b\n1,2", "markdown"),
    ],
)
def test_readers_say_what_the_format_is(
    tmp_path: Path, name: str, content: str, expected: str
) -> None:
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    assert read(path, isolate=False).metadata[keys.TEXT_FORMAT] == expected


@pytest.mark.parametrize("example", ["No\n--\n", "  Indented\n==========\n"])
def test_two_dashes_and_what_is_indented_underline_no_title(example: str) -> None:
    text = f"Title\n=====\n\nBefore.\n\n{example}\nAfter.\n"
    parser = get_parser("heading", min_chunk_size=0)
    nodes = parser([Document(text=text, metadata={keys.FILE_NAME: "calls.rst"})])
    assert [node.metadata[keys.HEADING_PATH] for node in nodes] == [["Title"]]
