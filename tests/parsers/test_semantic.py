"""SemanticNodeParser: breaks where neighbouring sentences move apart (S0-20 to S0-26)."""

import logging
from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from llama_index.core import MockEmbedding
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.schema import Document, MetadataMode
from parser_laws import SMALL, assert_slices_in_order_that_cover, parse
from strategies import TEXTS
from topics import TOPICS, ForgetfulEmbedding, TopicEmbedding

from rag_nodes.core import metadata as keys
from rag_nodes.core.errors import ConfigurationError, DimensionError, ModelResponseError
from rag_nodes.models.openai import OpenAIServerEmbedding
from rag_nodes.parsers import SemanticNodeParser
from rag_nodes.text.cohesion import Distances, unit_rows
from rag_nodes.text.tokens import count_tokens

METHODS: list[dict[str, Any]] = [
    {},
    {"buffer_size": 1},
    {"buffer_size": 3},
]
EVERY = pytest.mark.parametrize("options", METHODS, ids=str)


class GrowingEmbedding(TopicEmbedding):
    """Longer vectors with every call."""

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        answer = super()._get_text_embeddings(texts)
        return [[*vector, *([0.0] * len(self.seen))] for vector in answer]


class UnevenEmbedding(TopicEmbedding):
    """Vectors of different lengths in one answer."""

    def _get_text_embedding(self, text: str) -> list[float]:
        return [1.0] * (2 + text.count("3"))


class BrokenEmbedding(TopicEmbedding):
    """No numbers."""

    def _get_text_embedding(self, text: str) -> list[float]:
        return [float("nan"), len(text)]


def story(sentences: int = 6, topics: Sequence[str] = TOPICS) -> str:
    return " ".join(
        f"The {topic} number {n} does its {topic} work."
        for topic in topics
        for n in range(sentences)
    )


def test_each_of_four_topics_is_a_node() -> None:
    parser = SemanticNodeParser(embed_model=TopicEmbedding(), min_chunk_size=0)
    chunks = parser.split_text(story())
    assert [next(t for t in TOPICS if t in chunk) for chunk in chunks] == list(TOPICS)
    assert all(sum(topic in chunk for topic in TOPICS) == 1 for chunk in chunks)


@EVERY
def test_s0_21_every_sentence_is_embedded_once_in_one_call_per_window(
    options: dict[str, Any],
) -> None:
    model, text = TopicEmbedding(), story(30)
    chunks = SemanticNodeParser(embed_model=model, window=50, **options).split_text(text)
    assert [len(call) for call in model._calls] == [50, 50, 20]
    assert "".join(model.seen).replace(" ", "") == text.replace(" ", "")
    assert "".join("".join(chunks).split()) == "".join(text.split())


@EVERY
async def test_awaiting_embeds_once_too_and_gives_the_same_nodes(options: dict[str, Any]) -> None:
    model = TopicEmbedding()
    parser = SemanticNodeParser(embed_model=model, window=7, min_chunk_size=0, **options)
    awaited = await parser.acall([Document(text=story(), id_="doc")])
    assert len(model.seen) == 24
    ids = [node.node_id for node in parser([Document(text=story(), id_="doc")])]
    assert [node.node_id for node in awaited] == ids


@EVERY
def test_windows_do_not_change_any_split(options: dict[str, Any]) -> None:
    text = f"# Start\n\nYes. No. Ah.\n\n{story(20)}\n\n## Next\n\nOh.\n\n{story(3)}"
    cuts = [
        SemanticNodeParser(
            embed_model=TopicEmbedding(), chunk_size=90, min_chunk_size=9, window=w, **options
        ).split_text(text)
        for w in (2, 7, 1000)
    ]
    assert cuts[0] == cuts[1] == cuts[2]


@EVERY
@given(text=TEXTS)
def test_s0_26_bounds_hold_and_two_neighbours_that_fit_together_are_never_short(
    options: dict[str, Any], text: str
) -> None:
    parser = SemanticNodeParser(chunk_size=32, min_chunk_size=7, window=5, **options)
    nodes = parser.get_nodes_from_documents([Document(text=text)])
    assert all(count_tokens(node.text) <= 32 for node in nodes)
    assert not "".join(text.split()) or nodes
    for left, right in pairwise(nodes):
        together = text[left.start_char_idx : right.end_char_idx]  # type: ignore[attr-defined]
        if count_tokens(together) <= 32:
            assert min(count_tokens(left.text), count_tokens(right.text)) >= 7


def test_identical_sentences_make_no_break_but_keep_the_size() -> None:
    parser = SemanticNodeParser(embed_model=TopicEmbedding(), chunk_size=50, min_chunk_size=10)
    sizes = [count_tokens(chunk) for chunk in parser.split_text("The pump is on. " * 60)]
    assert max(sizes) <= 50
    assert len(sizes) < 10


def test_one_sentence_needs_no_model_call() -> None:
    model = TopicEmbedding()
    assert SemanticNodeParser(embed_model=model).split_text("Just one.") == ["Just one."]
    assert model.seen == []


@EVERY
def test_every_section_starts_a_node_where_it_is_long_enough(options: dict[str, Any]) -> None:
    text = "\n\n".join(f"## About {topic}\n\n" + f"It has {topic}s. " * 12 for topic in TOPICS)
    parser = SemanticNodeParser(embed_model=TopicEmbedding(), min_chunk_size=20, **options)
    chunks = parser.split_text(text)
    assert {f"## About {topic}" for topic in TOPICS} <= {chunk.split("\n")[0] for chunk in chunks}
    assert not any("\n## " in chunk for chunk in chunks)


def test_headings_on_top_of_each_other_stay_together_with_the_text() -> None:
    text = "# Book\n\n## Part\n\n### Chapter\n\n" + story(4)
    parser = SemanticNodeParser(
        embed_model=TopicEmbedding(), min_chunk_size=0, breakpoint_percentile=0
    )
    first = parser.split_text(text)[0]
    assert first.startswith("# Book\n\n## Part\n\n### Chapter\n\nThe pump number 0")


def test_a_table_within_the_size_is_never_split() -> None:
    table = "| lamp | door |\n|---|---|\n" + "\n".join(f"| {n} | pump |" for n in range(9))
    text = f"{story()}\n\n{table}\n\n{story()}"
    chunks = SemanticNodeParser(embed_model=TopicEmbedding()).split_text(text)
    assert sum(table in chunk for chunk in chunks) == 1


@pytest.mark.parametrize(
    ("model", "error", "says"),
    [
        (ForgetfulEmbedding(), ModelResponseError, "vectors for"),
        (GrowingEmbedding(), DimensionError, "different lengths"),
        (UnevenEmbedding(), DimensionError, "embedding model"),
        (BrokenEmbedding(), ModelResponseError, "embedding model"),
    ],
)
@EVERY
def test_a_model_that_answers_wrongly_is_an_error_that_says_so(
    options: dict[str, Any], model: BaseEmbedding, error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        SemanticNodeParser(embed_model=model, window=5, **options).split_text(story())


@pytest.mark.parametrize("vectors", [[[1.0], None], [None, None], [[1.0], ["1"]]], ids=str)
def test_an_invalid_vector_is_an_error(vectors: Any) -> None:
    with pytest.raises(DimensionError, match="are not numbers"):
        unit_rows(vectors, 2)


def test_models_of_one_name_on_two_servers_or_of_two_settings_are_two_configurations() -> None:
    models = (
        OpenAIServerEmbedding(model_name="nomic", api_base="http://127.0.0.1:1/v1"),
        OpenAIServerEmbedding(model_name="nomic", api_base="http://127.0.0.1:2/v1"),
        MockEmbedding(model_name="nomic", embed_dim=8),
        MockEmbedding(model_name="nomic", embed_dim=16),
    )
    assert len({SemanticNodeParser(embed_model=model).fingerprint for model in models}) == 4


def test_the_model_is_known_by_name_in_the_configuration_and_never_serialised() -> None:
    parser = SemanticNodeParser(embed_model=TopicEmbedding())
    data = parser.to_dict()
    assert data["embedding"] == "topics@TopicEmbedding"
    assert "embed_model" not in data
    again = SemanticNodeParser.from_dict(data, embed_model=TopicEmbedding())
    assert again == parser
    assert again.fingerprint == parser.fingerprint
    assert parser.fingerprint != SemanticNodeParser().fingerprint


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"chunk_size": 50, "min_chunk_size": 100}, "must not be over chunk_size"),
        ({"max_sentences": 1}, "max_sentences"),
    ],
    ids=str,
)
def test_options_that_contradict_each_other_are_refused(options: Any, says: str) -> None:
    with pytest.raises(ConfigurationError, match=says):
        SemanticNodeParser(**options)


# --- S0-45: a bound on what is embedded, never on what is cut ------------------------------------

SENTENCES = 18
STORY = story(9, TOPICS[:2])
capped = partial(SemanticNodeParser, chunk_size=40, min_chunk_size=6, window=4)


@EVERY
def test_s0_45_no_more_is_embedded_than_the_cap_allows_and_what_is_beyond_it_says_so(
    options: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    model = TopicEmbedding()
    with caplog.at_level(logging.WARNING):
        nodes = capped(embed_model=model, max_sentences=6, **options)([Document(text=STORY)])
    assert len(model.seen) == 6
    assert_slices_in_order_that_cover(STORY, nodes)  # type: ignore[arg-type]
    place = STORY.index("The pump number 6")
    for node in nodes:
        assert node.metadata[keys.TOKEN_COUNT] <= 40
        beyond = node.metadata[keys.END_CHAR] > place
        assert beyond == ("beyond the first 6" in node.metadata.get(keys.SPLIT_BY_SIZE, ""))
        assert keys.SPLIT_BY_SIZE not in node.get_content(MetadataMode.EMBED)
    (record,) = caplog.records
    assert record.getMessage() == (
        f"{SENTENCES - 6} of {SENTENCES} sentences are not embedded but split by size: "
        "max_sentences is 6"
    )


@EVERY
def test_s0_45_beyond_the_cap_nodes_are_as_full_as_their_size_allows(
    options: dict[str, Any],
) -> None:
    nodes = capped(max_sentences=2, **options)([Document(text=STORY)])
    sizes = [node.metadata[keys.TOKEN_COUNT] for node in nodes]
    sentence_tokens = count_tokens("The pump number 1 does its pump work.")
    assert all(size > 40 - sentence_tokens for size in sizes[1:-2])


@EVERY
def test_s0_45_beyond_the_cap_a_heading_still_opens_a_node(options: dict[str, Any]) -> None:
    text = "\n\n".join(f"# Part {n}\n\n{STORY[:300]}" for n in range(4))
    nodes = capped(max_sentences=3, **options)([Document(text=text)])
    assert not [node for node in nodes if node.get_content().rstrip().endswith(tuple("0123"))]
    assert sum(node.get_content().startswith("# Part") for node in nodes) == 4


@EVERY
def test_s0_45_a_cap_that_is_not_reached_changes_nothing(options: dict[str, Any]) -> None:
    usual = capped(**options)([Document(text=STORY)])
    bounded = capped(max_sentences=SENTENCES, **options)([Document(text=STORY)])
    assert [n.get_content() for n in bounded] == [n.get_content() for n in usual]
    assert not [node for node in bounded if keys.SPLIT_BY_SIZE in node.metadata]


@EVERY
@given(text=TEXTS)
def test_s0_45_all_laws_hold_beyond_the_cap(options: dict[str, Any], text: str) -> None:
    parser = SemanticNodeParser(**{**SMALL["semantic"], **options}, max_sentences=2)
    nodes = parse(parser, text)
    assert_slices_in_order_that_cover(text, nodes)
    assert all(node.metadata[keys.TOKEN_COUNT] <= parser.chunk_size for node in nodes)


# --- the arithmetic --------------------------------------------------------------


def rows_of(count: int, seed: int, width: int = 3) -> np.ndarray[Any, np.dtype[np.float64]]:
    return unit_rows(np.random.default_rng(seed).normal(size=(count, width)) + 1, count)  # type: ignore[arg-type]


@given(
    count=st.integers(2, 25),
    buffer=st.integers(0, 4),
    window=st.integers(1, 7),
    seed=st.integers(0, 10_000),
)
def test_distances_do_not_depend_on_the_windows_vectors_arrive_in(
    count: int, buffer: int, window: int, seed: int
) -> None:
    vectors = rows_of(count, seed)
    whole, windowed = Distances(buffer), Distances(buffer)
    whole.add(vectors)
    for first in range(0, count, window):
        windowed.add(vectors[first : first + window])
    expected = [
        vectors[max(0, i - buffer) : i + buffer + 1].sum(axis=0) for i in range(len(vectors))
    ]
    cosines = [a @ b / np.linalg.norm(a) / np.linalg.norm(b) for a, b in pairwise(expected)]
    distances = whole.finish()
    assert distances == pytest.approx(np.maximum(0, 1 - np.array(cosines)), abs=1e-8)
    assert windowed.finish().tolist() == distances.tolist()
