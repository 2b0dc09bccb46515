"""SemanticNodeParser: breaks where neighbouring sentences move apart (S0-20 to S0-26)."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from llama_index.core import MockEmbedding
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.schema import Document

from rag_nodes.errors import ConfigurationError, DimensionError, ModelResponseError
from rag_nodes.models.openai import OpenAIServerEmbedding
from rag_nodes.parsers import SemanticNodeParser
from rag_nodes.text.tokens import count_tokens

TOPICS = ("pump", "lamp", "roof", "door")


class TopicEmbedding(BaseEmbedding):
    """One axis per topic word; counts the texts and calls it sees."""

    model_name: str = "topics"
    _calls: list[list[str]] = PrivateAttr(default_factory=list)

    @classmethod
    def class_name(cls) -> str:
        return "TopicEmbedding"

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        self._calls.append(texts)
        return [self._get_text_embedding(text) for text in texts]

    def _get_text_embedding(self, text: str) -> list[float]:
        return [float(topic in text) + 0.01 for topic in TOPICS]

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)


class BrokenEmbedding(TopicEmbedding):
    answers: Any = None

    def _get_text_embedding(self, text: str) -> list[float]:
        return list(self.answers[len(text) % 2])


def story(sentences: int = 6) -> str:
    return " ".join(
        f"The {topic} number {n} does its {topic} work."
        for topic in TOPICS
        for n in range(sentences)
    )


def test_breaks_fall_between_topics() -> None:
    parser = SemanticNodeParser(embed_model=TopicEmbedding(), min_chunk_size=0)
    chunks = parser.split_text(story())
    assert [next(t for t in TOPICS if t in chunk) for chunk in chunks] == list(TOPICS)
    assert all(sum(topic in chunk for topic in TOPICS) == 1 for chunk in chunks)


def test_s0_21_all_sentences_go_to_the_model_once_in_one_call() -> None:
    model = TopicEmbedding(embed_batch_size=2048)
    SemanticNodeParser(embed_model=model).split_text(story(10))
    assert [len(call) for call in model._calls] == [40]


def test_s0_45_long_documents_are_embedded_in_windows_and_nothing_is_dropped() -> None:
    text = story(300)
    model = TopicEmbedding(embed_batch_size=2048)
    chunks = SemanticNodeParser(embed_model=model, window=500).split_text(text)
    assert [len(call) for call in model._calls] == [500, 500, 200]
    assert "".join("".join(chunks).split()) == "".join(text.split())


def test_windows_do_not_change_where_a_document_is_cut() -> None:
    whole = SemanticNodeParser(embed_model=TopicEmbedding(), window=10_000)
    windowed = SemanticNodeParser(embed_model=TopicEmbedding(), window=7)
    assert whole.split_text(story(20)) == windowed.split_text(story(20))


def test_s0_23_a_quarter_of_the_gaps_breaks_at_percentile_75_of_distance() -> None:
    rng = np.random.default_rng(7)
    vectors = rng.normal(size=(400, 8))
    similarity = [
        float(a @ b / (np.linalg.norm(a) * np.linalg.norm(b))) for a, b in pairwise(vectors)
    ]
    below = [s < np.percentile(similarity, 25) for s in similarity]
    distance = [1 - s for s in similarity]
    above = [d > np.percentile(distance, 75) for d in distance]
    assert below == above
    assert sum(below) == 100


def test_s0_26_pieces_stay_between_the_least_and_the_most_tokens() -> None:
    parser = SemanticNodeParser(embed_model=TopicEmbedding(), chunk_size=60, min_chunk_size=20)
    sizes = [count_tokens(chunk) for chunk in parser.split_text(story(9))]
    assert max(sizes) <= 60
    assert min(sizes) >= 20


def test_identical_sentences_make_no_break_but_keep_the_size() -> None:
    parser = SemanticNodeParser(embed_model=TopicEmbedding(), chunk_size=50, min_chunk_size=10)
    sizes = [count_tokens(chunk) for chunk in parser.split_text("The pump is on. " * 60)]
    assert max(sizes) <= 50
    assert len(sizes) < 10


def test_one_sentence_needs_no_model_call() -> None:
    model = TopicEmbedding()
    assert SemanticNodeParser(embed_model=model).split_text("Just one.") == ["Just one."]
    assert model._calls == []


async def test_awaiting_gives_the_same_nodes() -> None:
    parser = SemanticNodeParser(embed_model=TopicEmbedding(), min_chunk_size=0)
    document = Document(text=story(), id_="doc")
    awaited = await parser.acall([document])
    assert [n.node_id for n in awaited] == [n.node_id for n in parser([document])]


def test_headings_stay_with_the_text_below_them() -> None:
    text = "\n\n".join(f"## About\n\nThe {t} is here. It is a good {t}." for t in TOPICS)
    parser = SemanticNodeParser(
        embed_model=TopicEmbedding(), min_chunk_size=0, breakpoint_percentile=0
    )
    assert all(not chunk.rstrip().endswith("## About") for chunk in parser.split_text(text))


@pytest.mark.parametrize(
    ("answers", "error"),
    [
        (([1.0, 2.0], [1.0, 2.0, 3.0]), DimensionError),
        (([float("nan"), 1.0], [float("nan"), 1.0]), ModelResponseError),
    ],
)
def test_unusable_vectors_are_an_error_that_says_so(answers: Any, error: type[Exception]) -> None:
    parser = SemanticNodeParser(embed_model=BrokenEmbedding(answers=answers))
    with pytest.raises(error, match="embedding model"):
        parser.split_text("One odd sentence. And an even one.")


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


def test_a_least_size_over_the_size_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="must not be over chunk_size"):
        SemanticNodeParser(chunk_size=50, min_chunk_size=100)
