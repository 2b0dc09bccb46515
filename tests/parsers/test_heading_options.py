"""HeadingHierarchyNodeParser: whole documents, depth, titles and the web preset's sizes."""

from itertools import pairwise
from typing import Any

import pytest
from llama_index.core.schema import Document, TextNode

from rag_nodes.core import metadata as keys
from rag_nodes.core.errors import ConfigurationError
from rag_nodes.parsers import HeadingHierarchyNodeParser
from rag_nodes.text.tokens import count_tokens

BODY = "This section says something of its own about the matter at hand. " * 4
WEB = {
    "chunk_size": 4000,
    "chunk_overlap": 200,
    "min_chunk_size": 500,
    "split_only_if_over": 4000,
}
MANUAL = {keys.TITLE: "Manual"}


def parse(text: str, metadata: dict[str, Any] | None = None, **options: Any) -> list[TextNode]:
    parser = HeadingHierarchyNodeParser(**{"min_chunk_size": 0, **options})
    document = Document(text=text, id_="doc", metadata=metadata or {})
    return parser([document])  # type: ignore[return-value]


def paths(nodes: list[TextNode]) -> list[list[str]]:
    return [node.metadata.get(keys.HEADING_PATH, []) for node in nodes]


def numbered_sentences(count: int) -> str:
    return " ".join(f"Sentence number {n} says something of its own." for n in range(count))


def test_s3_08_a_document_of_at_most_the_threshold_stays_one_node() -> None:
    text = f"# A\n\n{BODY}\n\n# B\n\n{BODY}".strip()
    size = count_tokens(text)
    (node,) = parse(text, split_only_if_over=size)
    assert node.text == text
    assert node.metadata[keys.WHOLE_DOCUMENT] is True
    over = parse(text, split_only_if_over=size - 1)
    assert paths(over) == [["A"], ["B"]]
    assert not [node for node in over if keys.WHOLE_DOCUMENT in node.metadata]


def test_s1_42_without_a_threshold_a_document_below_the_least_size_stays_one_node() -> None:
    text = f"# A\n\n{BODY}\n\n# B\n\n{BODY}".strip()
    size = count_tokens(text)
    (node,) = parse(text, min_chunk_size=size + 1)
    assert node.metadata[keys.WHOLE_DOCUMENT] is True
    assert not any(keys.WHOLE_DOCUMENT in n.metadata for n in parse(text, min_chunk_size=size))


def test_a_threshold_of_nothing_keeps_no_document_whole() -> None:
    (node,) = parse("# A\n\nShort.", min_chunk_size=100, split_only_if_over=0)
    assert keys.WHOLE_DOCUMENT not in node.metadata


def test_a_whole_document_must_fit_into_one_node() -> None:
    with pytest.raises(ConfigurationError, match=r"split_only_if_over \(4001\) must not be over"):
        HeadingHierarchyNodeParser(**{**WEB, "split_only_if_over": 4001})


def test_s3_06_a_page_over_the_size_is_split_into_nodes_between_the_bounds() -> None:
    sections = [f"## Section {n}\n\n{numbered_sentences(30)}" for n in range(30)]
    nodes = parse("# Page\n\n" + "\n\n".join(sections), **WEB)
    sizes = [count_tokens(node.text) for node in nodes]
    assert len(nodes) > 1
    assert max(sizes) <= 4000
    assert min(sizes) >= 500
    assert all(node.text.startswith("#") for node in nodes)


def test_s3_06_the_parts_of_a_long_section_share_up_to_200_tokens_in_whole_sentences() -> None:
    nodes = parse(f"# Page\n\n{numbered_sentences(1500)}\n\n# Next\n\n{BODY}", **WEB)
    *parts, after = nodes
    assert [node.metadata[keys.PART] for node in parts] == list(range(1, len(parts) + 1))
    text = f"# Page\n\n{numbered_sentences(1500)}"
    shared = [text[b.start_char_idx : a.end_char_idx] for a, b in pairwise(parts)]
    assert all(0 < count_tokens(both) <= 200 for both in shared)
    assert count_tokens(shared[0]) > 180  # fewer only where that keeps what follows whole
    assert all(both.startswith("Sentence number") for both in shared)
    assert all(count_tokens(part.text) <= 4000 for part in parts)
    assert after.text.startswith("# Next")


def test_s3_08_a_page_within_the_size_is_one_node() -> None:
    sections = "\n\n".join(f"## Section {n}\n\n{BODY}" for n in range(50))
    (node,) = parse(sections, **WEB)
    assert 2000 < count_tokens(node.text) <= 4000
    assert node.metadata[keys.WHOLE_DOCUMENT] is True


def test_headings_below_the_deepest_level_stay_in_the_text_of_their_section() -> None:
    text = f"# A\n\n{BODY}\n\n## B\n\n{BODY}\n\n### C\n\n{BODY}\n\n## D\n\n{BODY}"
    nodes = parse(text, max_level=2)
    assert paths(nodes) == [["A"], ["A", "B"], ["A", "D"]]
    assert nodes[1].metadata[keys.HEADINGS_INSIDE] == [[text.index("### C"), ["A", "B", "C"]]]


def test_a_deep_heading_stands_in_where_none_opens_a_section() -> None:
    text = f"### Deep [#](#deep)\n\n{BODY}\n\n### Deeper\n\n{BODY}"
    assert paths(parse(text, max_level=2)) == [["Deep"]]


def test_parts_of_a_section_do_not_end_with_a_heading_of_their_own() -> None:
    text = "# A\n\n" + "\n\n".join(f"### Step {n}\n\n{BODY}" for n in range(20))
    nodes = parse(text, max_level=2, chunk_size=150)
    assert len(nodes) > 5
    assert not [node for node in nodes if node.text.splitlines()[-1].startswith("#")]


def test_s1_38_a_document_without_a_first_level_stands_under_its_title() -> None:
    text = f"{BODY}\n\n## Install\n\n{BODY}\n\n### Linux\n\n{BODY}\n\n## Use\n\n{BODY}"
    assert paths(parse(text, MANUAL)) == [
        ["Manual"],
        ["Manual", "Install"],
        ["Manual", "Install", "Linux"],
        ["Manual", "Use"],
    ]


def test_s1_38_a_title_that_is_the_first_heading_is_not_said_twice() -> None:
    assert paths(parse(f"## Manual\n\n{BODY}\n\n### Use\n\n{BODY}", MANUAL)) == [
        ["Manual"],
        ["Manual", "Use"],
    ]


def test_s1_38_without_a_title_the_first_heading_and_its_equals_are_the_highest() -> None:
    text = f"### Install\n\n{BODY}\n\n#### Linux\n\n{BODY}\n\n### Use\n\n{BODY}"
    assert paths(parse(text)) == [["Install"], ["Install", "Linux"], ["Use"]]


def test_s1_39_before_a_true_first_level_the_title_is_no_parent() -> None:
    text = f"## Two\n\n{BODY}\n\n# One\n\n{BODY}\n\n## Below\n\n{BODY}"
    assert paths(parse(text, MANUAL)) == [["Two"], ["One"], ["One", "Below"]]


def test_front_matter_is_no_first_sentence() -> None:
    text = f"---\ntags: [a, b]\n---\n\nThe very first. {BODY}\n\n# One\n\n{BODY}"
    assert paths(parse(text)) == [["The very first."], ["One"]]


def test_a_heading_without_text_goes_with_the_first_part_of_a_long_section() -> None:
    text = f"# Chapter\n\n## Section\n\n{BODY * 10}"
    nodes = parse(text, chunk_size=200)
    assert nodes[0].text.startswith("# Chapter\n\n## Section\n\nThis")
    assert paths(nodes) == [["Chapter", "Section"]] * len(nodes)


def test_ten_thousand_headings_without_text_are_packed_to_the_size() -> None:
    nodes = parse("\n".join(f"## Heading {n}" for n in range(10_000)), chunk_size=100)
    sizes = [count_tokens(node.text) for node in nodes]
    assert max(sizes) <= 100
    assert min(sizes[:-1]) > 80


def test_a_part_names_only_the_kinds_of_blocks_it_holds() -> None:
    text = f"# A\n\n{BODY * 3}\n\n- one\n- two\n\n{BODY * 3}"
    nodes = parse(text, chunk_size=100)
    assert len(nodes) > 2
    for node in nodes:
        assert node.metadata.get(keys.BLOCKS, []) == (["list"] if "- one" in node.text else [])
