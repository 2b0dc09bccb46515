"""HeadingHierarchyNodeParser: code over the size, kept whole or split, and long tables."""

from typing import Any

import pytest
from llama_index.core.schema import Document, MetadataMode, TextNode

from rag_nodes.core import metadata as keys
from rag_nodes.core.errors import ConfigurationError
from rag_nodes.parsers import HeadingHierarchyNodeParser
from rag_nodes.text.tokens import count_tokens

BODY = "This section says something of its own about the matter at hand. " * 4
LINES = [f"    value_{n} = compute(value_{n - 1})" for n in range(1, 80)]
CODE = "```python title=x\ndef run():\n" + "\n".join(LINES) + "\n```"


def parse(text: str, **options: Any) -> list[TextNode]:
    options = {"min_chunk_size": 0, "chunk_size": 150, **options}
    if options.get("oversize", "keep") == "keep":
        options = {"max_block_tokens": 5000, **options}
    document = Document(text=text, id_="doc")
    return HeadingHierarchyNodeParser(**options)([document])  # type: ignore[return-value]


def with_code(nodes: list[TextNode]) -> list[TextNode]:
    return [node for node in nodes if "code" in node.metadata.get(keys.BLOCKS, [])]


def test_split_code_is_split_at_line_ends_within_the_size() -> None:
    pieces = with_code(parse(f"# A\n\n{BODY}\n\n{CODE}\n\n{BODY}", oversize="split"))
    assert len(pieces) > 5
    assert all(count_tokens(piece.text) <= 150 for piece in pieces)
    assert "\n".join(piece.text for piece in pieces) == CODE
    assert not [piece for piece in pieces if keys.OVERSIZED in piece.metadata]


def test_every_piece_of_code_after_the_first_names_the_language_of_its_fence() -> None:
    pieces = with_code(parse(f"# A\n\n{CODE}", oversize="split"))
    languages = [piece.metadata.get(keys.CODE_LANGUAGE) for piece in pieces]
    assert languages == [None] + ["python"] * (len(pieces) - 1)
    assert "python" not in pieces[1].get_content(MetadataMode.EMBED)
    assert "python" not in pieces[1].get_content(MetadataMode.LLM)


def test_code_without_a_language_is_split_without_one() -> None:
    pieces = with_code(parse("# A\n\n```\n" + "x = 1\n" * 200 + "```", oversize="split"))
    assert len(pieces) > 2
    assert not [piece for piece in pieces if keys.CODE_LANGUAGE in piece.metadata]


@pytest.mark.parametrize("lines", range(20, 40))
def test_a_closing_fence_is_never_alone(lines: int) -> None:
    code = "```\n" + "\n".join(f"value = {n}" for n in range(lines)) + "\n```"
    assert parse(f"# A\n\n{code}", oversize="split", chunk_size=40)[-1].text != "```"


def test_a_line_of_code_over_the_size_is_split_between_words() -> None:
    line = " ".join(f"word{n}" for n in range(300))
    pieces = with_code(parse(f"# A\n\n```\n{line}\n```", oversize="split"))
    assert all(count_tokens(piece.text) <= 150 for piece in pieces)
    words = " ".join(piece.text for piece in pieces).split()
    assert words == ["#", "A", "```", *line.split(), "```"]


def test_code_within_the_size_is_split_in_neither_way() -> None:
    code = "```\n" + "x = 1\n" * 20 + "```"
    for oversize in ("keep", "split"):
        nodes = parse(f"# A\n\n{BODY * 2}\n\n{code}\n\n{BODY}", oversize=oversize)
        assert [node for node in nodes if code in node.text]


def test_code_that_fits_alone_is_not_marked_for_the_heading_above_it() -> None:
    code = "```\n" + "x = 1\n" * 35 + "```"
    size = count_tokens(code)
    nodes = parse(f"# A heading of several words\n\n{code}", chunk_size=size)
    assert [node.text for node in nodes] == ["# A heading of several words", code]
    assert not [node for node in nodes if keys.OVERSIZED in node.metadata]


def test_kept_code_takes_the_headings_directly_above_it_along() -> None:
    text = f"# A\n\n{BODY}\n\n#### Listing\n\n{CODE}\n\n{BODY}"
    nodes = parse(text, max_level=3)
    assert [node.text for node in with_code(nodes)] == [f"#### Listing\n\n{CODE}"]
    assert nodes[0].text == f"# A\n\n{BODY.strip()}"


def test_parts_around_code_share_no_half_of_it() -> None:
    code = "```\n" + "\n".join(f"call({n})" for n in range(12)) + "\n```"
    text = "# A\n\n" + "\n\n".join([BODY, code] * 6)
    nodes = parse(text, chunk_overlap=60)
    assert len(nodes) > 4
    assert all(node.text.count("```") % 2 == 0 for node in nodes)


@pytest.mark.parametrize("oversize", ["keep", "split"])
def test_s2_07_a_long_table_is_split_between_rows_and_its_header_kept_in_the_metadata(
    oversize: str,
) -> None:
    rows = "\n".join(f"| item {n} | {n} |" for n in range(100))
    table = f"| name | value |\n| --- | --- |\n{rows}"
    nodes = parse(f"# A\n\n{table}", oversize=oversize)
    assert len(nodes) > 3
    for node in nodes[1:]:
        assert node.text.startswith("| item")
        assert node.text.endswith("|")
        assert node.metadata[keys.TABLE_HEADER] == "| name | value |\n| --- | --- |"


def test_an_unclosed_fence_is_one_block_of_code() -> None:
    text = "# A\n\n```js\n" + "call(1);\n# no heading\n" * 100
    (kept,) = parse(text)
    assert kept.metadata[keys.OVERSIZED] is True
    pieces = parse(text, oversize="split")
    assert len(pieces) > 3
    assert {piece.metadata[keys.CODE_LANGUAGE] for piece in pieces[1:]} == {"js"}


@pytest.mark.parametrize(
    ("chunk_size", "given", "expected"),
    [(100, None, 400), (1000, None, 4000), (4000, None, 7000), (8000, None, 8000), (8, 90, 90)],
)
def test_kept_code_has_a_ceiling_that_an_embedding_model_takes(
    chunk_size: int, given: int | None, expected: int
) -> None:
    parser = HeadingHierarchyNodeParser(
        chunk_size=chunk_size, min_chunk_size=0, max_block_tokens=given
    )
    assert parser.block_ceiling == expected
    split = parser.model_copy(update={"oversize": "split", "max_block_tokens": None})
    assert split.block_ceiling == chunk_size


def test_code_over_the_ceiling_is_split_at_line_ends_and_every_piece_says_so() -> None:
    text = f"# A\n\n{BODY}\n\n{CODE}\n\n{BODY}"
    (kept,) = with_code(parse(text, max_block_tokens=count_tokens(CODE)))
    assert kept.metadata[keys.OVERSIZED] is True
    assert keys.SPLIT_BLOCK not in kept.metadata
    nodes = parse(text, max_block_tokens=count_tokens(CODE) - 1)
    pieces = with_code(nodes)
    assert "\n".join(piece.text for piece in pieces) == CODE
    assert all(count_tokens(piece.text) <= 150 for piece in pieces)
    assert [node for node in nodes if node.metadata.get(keys.SPLIT_BLOCK)] == pieces
    assert not [node for node in nodes if keys.OVERSIZED in node.metadata]
    assert "split_block" not in pieces[0].get_content(MetadataMode.EMBED)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_block_tokens": 149}, "must not be under chunk_size"),
        ({"max_block_tokens": 600, "oversize": "split"}, "no effect"),
    ],
)
def test_a_ceiling_that_contradicts_the_size_is_refused(
    options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigurationError, match=message):
        HeadingHierarchyNodeParser(chunk_size=150, **options)
