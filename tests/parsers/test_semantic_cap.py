"""SemanticNodeParser with `max_sentences`: a bound on what is embedded, never on what is cut."""

from __future__ import annotations

import logging
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.schema import Document, MetadataMode
from parser_laws import SMALL, assert_slices_in_order_that_cover, parse
from strategies import TEXTS

from rag_nodes import metadata as keys
from rag_nodes.errors import ConfigurationError
from rag_nodes.parsers import SemanticNodeParser
from rag_nodes.text.tokens import count_tokens

METHODS: list[dict[str, Any]] = [{}, {"buffer_size": 2}, {"method": "optimal"}]
EVERY = pytest.mark.parametrize("options", METHODS, ids=str)
STORY = " ".join(
    f"The {topic} number {n} does its {topic} work." for topic in ("pump", "lamp") for n in range(9)
)
SENTENCES = 18


class CountingEmbedding(BaseEmbedding):
    """One axis per topic; remembers every text it was given."""

    model_name: str = "counting"
    _seen: list[str] = PrivateAttr(default_factory=list)

    @classmethod
    def class_name(cls) -> str:
        return "CountingEmbedding"

    def _get_text_embedding(self, text: str) -> list[float]:
        self._seen.append(text)
        return [float("pump" in text) + 0.01, float("lamp" in text) + 0.01]

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)


capped = partial(SemanticNodeParser, chunk_size=40, min_chunk_size=6, window=4)


@EVERY
def test_s0_45_no_more_sentences_are_embedded_than_the_cap_allows_and_no_text_is_dropped(
    options: dict[str, Any],
) -> None:
    model = CountingEmbedding()
    parser = capped(embed_model=model, max_sentences=6, **options)
    nodes = parser([Document(text=STORY)])
    assert len(model._seen) == 6
    assert_slices_in_order_that_cover(STORY, nodes)  # type: ignore[arg-type]
    assert max(node.metadata[keys.TOKEN_COUNT] for node in nodes) <= 40


@EVERY
def test_s0_45_nodes_beyond_the_cap_say_so_to_people_but_to_no_model(
    options: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        nodes = capped(max_sentences=6, **options)([Document(text=STORY)])
    place = STORY.index("The pump number 6")
    for node in nodes:
        beyond = node.metadata[keys.END_CHAR] > place
        assert beyond == ("beyond the first 6" in node.metadata.get(keys.CUT_BY_SIZE, ""))
        assert keys.CUT_BY_SIZE not in node.get_content(MetadataMode.EMBED)
    (record,) = caplog.records
    assert record.getMessage() == (
        f"{SENTENCES - 6} of {SENTENCES} sentences are not embedded but cut by size: "
        "max_sentences is 6"
    )


@EVERY
def test_s0_45_beyond_the_cap_nodes_are_as_full_as_their_size_allows(
    options: dict[str, Any],
) -> None:
    nodes = capped(max_sentences=2, **options)([Document(text=STORY)])
    sizes = [node.metadata[keys.TOKEN_COUNT] for node in nodes]
    one = count_tokens("The pump number 1 does its pump work.")
    assert all(size > 40 - one for size in sizes[1:-2])


@EVERY
def test_s0_45_beyond_the_cap_a_heading_still_opens_a_node(options: dict[str, Any]) -> None:
    text = "\n\n".join(f"# Part {n}\n\n{STORY[:300]}" for n in range(4))
    nodes = capped(max_sentences=3, **options)([Document(text=text)])
    assert not [node for node in nodes if node.get_content().rstrip().endswith(tuple("0123"))]
    opened = [node for node in nodes if node.get_content().startswith("# Part")]
    assert len(opened) == 4


@EVERY
def test_s0_45_a_cap_that_is_not_reached_changes_nothing(options: dict[str, Any]) -> None:
    usual = capped(**options)([Document(text=STORY)])
    bounded = capped(max_sentences=SENTENCES, **options)([Document(text=STORY)])
    assert [n.get_content() for n in bounded] == [n.get_content() for n in usual]
    assert not [node for node in bounded if keys.CUT_BY_SIZE in node.metadata]


@EVERY
@given(text=TEXTS)
def test_s0_45_all_laws_hold_beyond_the_cap(options: dict[str, Any], text: str) -> None:
    parser = SemanticNodeParser(**{**SMALL["semantic"], **options}, max_sentences=2)
    nodes = parse(parser, text)
    assert_slices_in_order_that_cover(text, nodes)
    for node in nodes:
        assert node.metadata[keys.TOKEN_COUNT] == count_tokens(node.text) <= parser.chunk_size


def test_s0_45_a_cap_below_two_sentences_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="max_sentences"):
        SemanticNodeParser(max_sentences=1)
