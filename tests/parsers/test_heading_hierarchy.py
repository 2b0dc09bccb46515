"""HeadingHierarchyNodeParser: sections of the heading tree (S1-40 to S1-45)."""

import pytest
from llama_index.core.schema import Document, MetadataMode, TextNode

from rag_nodes.core import metadata as keys
from rag_nodes.parsers import get_parser
from rag_nodes.text.tokens import count_tokens

BODY = "This section says something of its own about the matter at hand. " * 4


def parse(text: str, title: str = "", **options: int) -> list[TextNode]:
    parser = get_parser("heading", **{"min_chunk_size": 0, **options})
    metadata = {keys.TITLE: title} if title else {}
    return parser([Document(text=text, id_="doc", metadata=metadata)])  # type: ignore[return-value]


def paths(nodes: list[TextNode]) -> list[list[str]]:
    return [node.metadata.get(keys.HEADING_PATH, []) for node in nodes]


def test_every_level_makes_a_section_with_the_headings_above_it() -> None:
    text = "\n\n".join(f"{'#' * n} H{n}\n\n{BODY}" for n in range(1, 7))
    assert paths(parse(text)) == [[f"H{n}" for n in range(1, deep + 1)] for deep in range(1, 7)]


def test_s1_40_skipped_levels_are_no_gap() -> None:
    text = f"# One\n\n{BODY}\n\n### Three\n\n{BODY}\n\n## Two\n\n{BODY}"
    assert paths(parse(text)) == [["One"], ["One", "Three"], ["One", "Two"]]


def test_s1_41_without_headings_the_first_sentence_or_the_title_stands_in() -> None:
    text = "\n\n".join(f"Paragraph {n} is here. {BODY}" for n in range(30))
    assert paths(parse(text, chunk_size=200))[0] == ["Paragraph 0 is here."]
    assert paths(parse(text, chunk_size=200))[-1] == ["Paragraph 0 is here."]
    assert paths(parse(text, title="Manual", chunk_size=200))[-1] == ["Manual"]


@pytest.mark.parametrize(
    ("text", "metadata"),
    [
        ("import os\n\n# Seconds between two starts\nEVERY = 3\n", {"file_name": "pump.py"}),
        ("Bring the keys.\n\nFeed the cat.", {"file_path": "/notes/monday.txt"}),
        ("Bring the keys.\n\nFeed the cat.", {keys.TEXT_FORMAT: "plain"}),
        ("<html><head><title>T</title></head>\n<body><p>Rinse it.</p></body></html>", {}),
        ("<!DOCTYPE html>\n\nRinse it.\n\n<p>Twice.</p>", {}),
    ],
)
def test_the_first_line_of_code_notes_and_raw_html_is_no_heading(
    text: str, metadata: dict[str, str]
) -> None:
    parser = get_parser("heading", chunk_size=10, min_chunk_size=0)
    for title, path in (("", []), ("Manual", ["Manual"])):
        nodes = parser([Document(text=text, metadata={**metadata, keys.TITLE: title})])
        assert all(stated == path for stated in paths(nodes))


def test_code_and_tables_stand_in_for_no_missing_heading() -> None:
    text = f"```py\nimport os\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nThe pump. {BODY}"
    assert paths(parse(text)) == [["The pump."]]


def test_s1_43_a_long_section_is_split_and_its_parts_numbered() -> None:
    nodes = parse("# Long\n\n" + "\n\n".join([BODY] * 20), chunk_size=200)
    assert len(nodes) > 4
    assert [node.metadata[keys.PART] for node in nodes] == list(range(1, len(nodes) + 1))
    assert {node.metadata[keys.PARTS] for node in nodes} == {len(nodes)}
    assert paths(nodes) == [["Long"]] * len(nodes)


def test_s1_44_code_is_never_split_and_s1_45_stands_alone_when_it_is_too_long() -> None:
    code = "```py\n" + "value = compute(value)\n\n# not a heading\n" * 50 + "```"
    nodes = parse(f"# A\n\n{BODY}\n\n{code}\n\n{BODY}", chunk_size=150)
    holding = [node for node in nodes if "```" in node.text]
    assert [node.text for node in holding] == [code]
    assert holding[0].metadata[keys.OVERSIZED] is True
    assert holding[0].metadata[keys.BLOCKS] == ["code"]
    assert all(
        count_tokens(node.text) <= 150 for node in nodes if not node.metadata.get(keys.OVERSIZED)
    )


def test_code_that_crawlers_write_as_a_long_code_span_is_not_split_either() -> None:
    code = "`\n" + "_10\nnpm install something --save\n" * 40 + "`"
    nodes = parse(f"# A\n\n{BODY}\n\n{code}", chunk_size=150)
    assert code in [node.text for node in nodes]


def test_a_heading_without_text_joins_the_section_below_it() -> None:
    nodes = parse(f"# Chapter\n\n## Section\n\n{BODY}")
    assert [node.text.splitlines()[0] for node in nodes] == ["# Chapter"]
    assert paths(nodes) == [["Chapter", "Section"]]


def test_short_sections_are_merged_under_the_heading_they_share() -> None:
    text = (
        f"# A\n\n{BODY}\n\n{BODY}\n\n## B\n\nTiny.\n\n## C\n\nTiny too.\n\n# D\n\n{BODY}\n\n{BODY}"
    )
    nodes = parse(text, min_chunk_size=60)
    assert paths(nodes) == [["A"], ["D"]]
    assert "## C" in nodes[0].text


def test_a_section_that_is_most_of_a_node_names_it() -> None:
    text = f"# A\n\n## Long\n\n{BODY}\n\n{BODY}\n\n## Short\n\nTiny."
    (node,) = parse(text, min_chunk_size=30)
    assert paths([node]) == [["A", "Long"]]


def test_anchor_links_are_taken_from_the_heading_and_kept() -> None:
    (node,) = parse(f"## Auth SMTP [\\#](\\#auth-smtp)\n\n{BODY}")
    assert node.metadata[keys.HEADING] == "Auth SMTP"
    assert node.metadata[keys.LINK] == "#auth-smtp"


def test_s1_06_the_headings_are_embedded_with_the_text_and_nothing_else_is() -> None:
    node = parse(f"# A\n\n## B {{x}}\n\n{BODY}")[0]
    assert node.get_content(MetadataMode.EMBED) == f"Heading: A > B {{x}}\n\n{node.text}"
    assert node.get_content(MetadataMode.LLM) == node.get_content(MetadataMode.EMBED)


@pytest.mark.parametrize("name", ["fixed", "token-overlap", "semantic"])
def test_nodes_of_every_parser_know_the_headings_above_and_inside_them(name: str) -> None:
    text = f"# A\n\n{BODY}\n\n## B\n\n{BODY}\n\n# C\n\n{BODY}"
    nodes = get_parser(name)([Document(text=text, id_="doc")])
    assert nodes[0].metadata[keys.HEADING_PATH] == ["A"]
    headings = {
        (offset, tuple(path))
        for node in nodes
        for offset, path in node.metadata.get(keys.HEADINGS_INSIDE, [])
    } | {(node.start_char_idx, tuple(node.metadata[keys.HEADING_PATH])) for node in nodes}
    assert {(text.index("## B"), ("A", "B")), (text.index("# C"), ("C",))} <= headings


def test_headings_found_by_a_parser_survive_the_next_one() -> None:
    first = get_parser("heading", min_chunk_size=0)
    document = Document(text=f"# A\n\n## B\n\n{BODY * 3}", id_="doc")
    nodes = get_parser("fixed", chunk_size=200, chunk_overlap=0)(first([document]))
    assert [node.metadata[keys.HEADING_PATH] for node in nodes] == (
        [["A"]] + [["A", "B"]] * (len(nodes) - 1)
    )


def test_the_link_of_a_section_of_a_web_page_is_the_page_with_the_anchor() -> None:
    page = Document(
        text=f"## Auth SMTP [\\#](\\#auth-smtp)\n\n{BODY}",
        metadata={keys.SOURCE: "https://example.org/guide#top"},
    )
    (node,) = get_parser("heading")([page])
    assert node.metadata[keys.LINK] == "https://example.org/guide#auth-smtp"


def test_the_link_of_a_section_survives_the_next_parser() -> None:
    page = Document(
        text=f"## Auth SMTP [\\#](\\#auth-smtp)\n\n{BODY * 3}",
        metadata={keys.SOURCE: "https://example.org/guide"},
    )
    nodes = get_parser("fixed", chunk_size=200, chunk_overlap=0)(get_parser("heading")([page]))
    assert len(nodes) > 1
    links = {node.metadata.get(keys.LINK) for node in nodes}
    assert links == {"https://example.org/guide#auth-smtp"}


def test_a_file_name_is_no_title() -> None:
    document = Document(text=f"## Setup\n\n{BODY}", metadata={keys.FILE_NAME: "guide.md"})
    (node,) = get_parser("heading")([document])
    assert node.metadata[keys.HEADING_PATH] == ["Setup"]
