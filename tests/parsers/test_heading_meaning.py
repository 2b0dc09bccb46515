"""HeadingHierarchyNodeParser: long sections cut where their meaning moves apart (S3-26)."""

import asyncio
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
from llama_index.core.schema import Document, TextNode
from topics import TOPICS, ForgetfulEmbedding, TopicEmbedding

from rag_nodes.core import metadata as keys
from rag_nodes.core.errors import ConfigurationError, ModelResponseError
from rag_nodes.parsers import HeadingHierarchyNodeParser, get_parser
from rag_nodes.text.tokens import count_tokens


def sentences(topic: str, count: int) -> Iterator[str]:
    return (f"Sentence {n} is about the {topic} and nothing else." for n in range(count))


def story(count: int) -> str:
    return " ".join(text for topic in TOPICS for text in sentences(topic, count))


def parser_with(model: TopicEmbedding, **options: Any) -> HeadingHierarchyNodeParser:
    sizes = {"chunk_size": 150, "min_chunk_size": 20}
    return HeadingHierarchyNodeParser(
        **{**sizes, "long_sections": "semantic", "sentence_model": model, **options}
    )


def parse(parser: HeadingHierarchyNodeParser, text: str) -> list[TextNode]:
    return parser([Document(text=text, id_="doc")])  # type: ignore[return-value]


def test_a_long_section_is_split_where_its_subject_changes() -> None:
    after = " ".join(sentences("pump", 3))
    nodes = parse(parser_with(TopicEmbedding()), f"# A\n\n{story(8)}\n\n# B\n\n{after}")
    parts = [node for node in nodes if keys.PART in node.metadata]
    assert [[topic for topic in TOPICS if topic in part.text] for part in parts] == [
        [topic] for topic in TOPICS
    ]
    assert {node.metadata[keys.HEADING] for node in parts} == {"A"}


def test_a_sentence_too_long_for_a_part_that_shares_text_is_a_part_of_its_own() -> None:
    long = " ".join(["pump"] * 30) + "."
    parser = parser_with(TopicEmbedding(), chunk_size=40, chunk_overlap=20, min_chunk_size=0)
    parts = [node.text for node in parse(parser, " ".join([long] * 4))]
    assert [part.count(long) for part in parts] == [1, 1, 1, 1]


def test_sections_that_fit_are_not_embedded_and_need_no_model() -> None:
    model = TopicEmbedding()
    parse(parser_with(model), f"# A\n\n{' '.join(sentences('pump', 5))}")
    assert model._calls == []


@pytest.mark.parametrize("text", ["", "# A\n\nShort.", "# A\n\n```\n" + "x = 1\n" * 100 + "```"])
def test_a_model_that_is_not_there_is_missed_only_where_something_is_embedded(text: str) -> None:
    parser = HeadingHierarchyNodeParser(
        long_sections="semantic", embedding="nowhere:none", chunk_size=150, min_chunk_size=20
    )
    parse(parser, text)
    with pytest.raises(ConfigurationError, match="nowhere"):
        parse(parser, f"# A\n\n{story(8)}")


def test_each_sentence_of_the_long_sections_is_embedded_once() -> None:
    model = TopicEmbedding()
    text = f"# A\n\n{story(9)}\n\n# B\n\n{' '.join(sentences('lamp', 3))}\n\n# C\n\n{story(10)}"
    asyncio.run(parser_with(model).acall([Document(text=text)]))
    [batch] = model._calls
    assert " ".join(batch) == f"# A {story(9)} # C {story(10)}"


def test_sentences_are_embedded_in_windows_over_all_long_sections() -> None:
    model = TopicEmbedding()
    sections = [f"# Section {n}\n\n{story(70)}" for n in range(8)]
    nodes = parse(parser_with(model), "\n\n".join(sections))
    every = 8 * (4 * 70 + 1)
    assert list(map(len, model._calls)) == [1000, 1000, every - 2000]
    alone = [node for text in sections for node in parse(parser_with(model), text)]
    assert [node.text for node in nodes] == [node.text for node in alone]


def test_parts_share_whole_sentences_and_stay_within_the_size() -> None:
    nodes = parse(parser_with(TopicEmbedding(), chunk_overlap=30), f"# A\n\n{story(8)}")
    assert len(nodes) >= 4
    for left, right in pairwise(nodes):
        shared = left.text[right.start_char_idx - left.start_char_idx :]
        assert 0 < count_tokens(shared) <= 30
        assert shared.startswith("Sentence")
        assert count_tokens(right.text) <= 150


@pytest.mark.parametrize("oversize", ["keep", "split"])
def test_code_over_the_size_is_never_embedded(oversize: str) -> None:
    model = TopicEmbedding()
    code = "```py\n" + "pump = lamp(roof)\n" * 60 + "```"
    nodes = parse(parser_with(model, oversize=oversize), f"# A\n\n{story(5)}\n\n{code}\n\nEnd.")
    assert not [text for batch in model._calls for text in batch if "pump =" in text]
    holding = [node for node in nodes if "pump =" in node.text]
    assert len(holding) > 1 if oversize == "split" else [n.text for n in holding] == [code]


def test_the_offline_model_is_the_default() -> None:
    parser = get_parser("heading", long_sections="semantic", chunk_size=100, min_chunk_size=20)
    assert parser.to_dict()["embedding"] == "lexical"
    assert len(parse(parser, f"# A\n\n{story(8)}")) > 3


def test_the_model_decides_the_fingerprint() -> None:
    with_model = parser_with(TopicEmbedding())
    assert with_model.embedding == "topics@TopicEmbedding"
    assert with_model.fingerprint != parser_with(TopicEmbedding(model_name="other")).fingerprint


def test_a_model_that_nothing_would_use_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="has no effect with long_sections='sentences'"):
        HeadingHierarchyNodeParser(embedding="openai:text-embedding-3-small")


def test_a_model_that_answers_for_too_few_sentences_is_an_error() -> None:
    with pytest.raises(ModelResponseError, match="vectors for 33 texts"):
        parse(parser_with(ForgetfulEmbedding()), f"# A\n\n{story(8)}")
