"""SemanticNodeParser with `method="optimal"`, its arithmetic, and what both methods promise."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.schema import Document
from strategies import TEXTS

from rag_nodes.errors import ConfigurationError, DimensionError, ModelResponseError
from rag_nodes.parsers import SemanticNodeParser
from rag_nodes.text.cohesion import Distances, RunScores, unit_rows
from rag_nodes.text.tokens import count_tokens

TOPICS = ("pump", "lamp", "roof", "door")


class CountingEmbedding(BaseEmbedding):
    """One axis per topic word; remembers every text it was given."""

    model_name: str = "counting"
    _seen: list[str] = PrivateAttr(default_factory=list)

    @classmethod
    def class_name(cls) -> str:
        return "CountingEmbedding"

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        self._seen += texts
        return [self._get_text_embedding(text) for text in texts]

    async def _aget_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return self._get_text_embeddings(texts)

    def _get_text_embedding(self, text: str) -> list[float]:
        return [float(text.count(topic)) + 0.01 for topic in TOPICS]

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)


class ForgetfulEmbedding(CountingEmbedding):
    """Answers for one text less than it was asked."""

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return super()._get_text_embeddings(texts)[:-1]


class GrowingEmbedding(CountingEmbedding):
    """Longer vectors with every call."""

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        answer = super()._get_text_embeddings(texts)
        return [[*vector, *([0.0] * len(self._seen))] for vector in answer]


optimal = partial(SemanticNodeParser, method="optimal")
METHODS: list[dict[str, Any]] = [
    {},
    {"buffer_size": 1},
    {"buffer_size": 3},
    {"method": "optimal"},
]
EVERY = pytest.mark.parametrize("options", METHODS, ids=str)


def story(sentences: int = 6) -> str:
    return " ".join(
        f"The {topic} number {n} does its {topic} work."
        for topic in TOPICS
        for n in range(sentences)
    )


def rows_of(count: int, seed: int, width: int = 3) -> np.ndarray[Any, np.dtype[np.float64]]:
    return unit_rows(np.random.default_rng(seed).normal(size=(count, width)) + 1, count)  # type: ignore[arg-type]


def cohesion(vectors: Any, first: int, last: int) -> float:
    return float((vectors[first : last + 1].sum(axis=0) ** 2).sum()) / (last + 1 - first)


@given(
    count=st.integers(1, 12),
    longest=st.integers(1, 6),
    price=st.floats(0, 2),
    window=st.integers(1, 5),
    seed=st.integers(0, 10_000),
)
def test_no_partition_is_better_than_the_one_that_is_found(
    count: int, longest: int, price: float, window: int, seed: int
) -> None:
    vectors = rows_of(count, seed)
    firsts = np.maximum(0, np.arange(count) - longest + 1)
    scores = RunScores(np.ones(count, dtype=np.int64), firsts, np.arange(count) + 1)
    for first in range(0, count, window):
        scores.add(vectors[first : first + window])
    runs = scores.best(price)
    best = [0.0]
    for last in range(count):
        best.append(
            max(best[f] + cohesion(vectors, f, last) - price for f in range(firsts[last], last + 1))
        )
    assert sum(cohesion(vectors, *run) - price for run in runs) == pytest.approx(best[-1], abs=1e-3)
    assert [first for first, _ in runs] == [0, *(last + 1 for _, last in runs[:-1])]
    assert runs[-1][1] == count - 1
    assert all(last - first < longest for first, last in runs)


def test_runs_longer_than_one_block_of_the_product_are_scored_right() -> None:
    vectors = rows_of(200, 3)
    ones, none = np.ones(200, dtype=np.int64), np.zeros(200, dtype=np.int64)
    scores = RunScores(ones, none, np.arange(200) + 1)
    scores.add(vectors)
    assert scores.best(price=1000.0) == [(0, 199)]
    assert scores._scores[199, 0] == pytest.approx(cohesion(vectors, 0, 199) * 100_000, abs=1)


def test_short_runs_are_taken_only_where_nothing_else_is_possible() -> None:
    vectors = unit_rows([[1.0, 0.0], [0.0, 1.0]] * 5, 10)
    ones, none = np.ones(10, dtype=np.int64), np.zeros(10, dtype=np.int64)
    scores = RunScores(ones, none, short_from=np.arange(10) - 1)
    scores.add(vectors)
    assert all(last - first >= 2 for first, last in scores.best(price=0.0))


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


@EVERY
def test_every_sentence_is_embedded_exactly_once(options: dict[str, Any]) -> None:
    model = CountingEmbedding(embed_batch_size=2048)
    text = story(30)
    SemanticNodeParser(embed_model=model, window=50, **options).split_text(text)
    assert len(model._seen) == 120
    assert "".join(model._seen).replace(" ", "") == text.replace(" ", "")


@EVERY
async def test_awaiting_embeds_once_too_and_gives_the_same_nodes(options: dict[str, Any]) -> None:
    model = CountingEmbedding()
    parser = SemanticNodeParser(embed_model=model, window=7, min_chunk_size=0, **options)
    awaited = await parser.acall([Document(text=story(), id_="doc")])
    assert len(model._seen) == 24
    ids = [node.node_id for node in parser([Document(text=story(), id_="doc")])]
    assert [node.node_id for node in awaited] == ids


@EVERY
def test_windows_do_not_change_any_cut(options: dict[str, Any]) -> None:
    text = f"# Start\n\nYes. No. Ah.\n\n{story(20)}\n\n## Next\n\nOh.\n\n{story(3)}"
    cuts = [
        SemanticNodeParser(
            embed_model=CountingEmbedding(), chunk_size=90, min_chunk_size=9, window=w, **options
        ).split_text(text)
        for w in (2, 7, 1000)
    ]
    assert cuts[0] == cuts[1] == cuts[2]


@EVERY
@given(text=TEXTS)
def test_bounds_hold_and_two_neighbours_that_fit_together_are_never_short(
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


def test_optimal_cuts_between_topics() -> None:
    chunks = optimal(embed_model=CountingEmbedding(), min_chunk_size=0).split_text(story())
    assert [next(t for t in TOPICS if t in chunk) for chunk in chunks] == list(TOPICS)
    assert all(sum(topic in chunk for topic in TOPICS) == 1 for chunk in chunks)


def test_optimal_finds_the_cut_that_a_greedy_split_at_the_widest_gap_misses() -> None:
    """The widest gap is a single stray sentence; the topics change elsewhere."""
    stray = "The door number 1 does its door work."
    pumps = "The pump number 1 does its pump work. " * 6
    lamps = "The lamp number 1 does its lamp work. " * 6
    text = f"{pumps}{stray} {pumps}{lamps}"
    parser = optimal(embed_model=CountingEmbedding(), min_chunk_size=40, chunk_penalty=10.0)
    chunks = parser.split_text(text.strip())
    assert [("pump" in chunk, "lamp" in chunk) for chunk in chunks] == [
        (True, False),
        (False, True),
    ]


def test_a_higher_penalty_gives_fewer_nodes() -> None:
    sizes = [
        len(optimal(min_chunk_size=0, chunk_penalty=penalty).split_text(story(20)))
        for penalty in (0.2, 1.0, 5.0)
    ]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] > sizes[2]


@EVERY
def test_every_section_starts_a_node_where_it_is_long_enough(options: dict[str, Any]) -> None:
    text = "\n\n".join(f"## About {topic}\n\n" + f"It has {topic}s. " * 12 for topic in TOPICS)
    parser = SemanticNodeParser(embed_model=CountingEmbedding(), min_chunk_size=20, **options)
    chunks = parser.split_text(text)
    assert {f"## About {topic}" for topic in TOPICS} <= {chunk.split("\n")[0] for chunk in chunks}
    assert not any("\n## " in chunk for chunk in chunks)


def test_headings_on_top_of_each_other_stay_together_with_the_text() -> None:
    text = "# Book\n\n## Part\n\n### Chapter\n\n" + story(4)
    chunks = optimal(embed_model=CountingEmbedding(), min_chunk_size=0).split_text(text)
    assert chunks[0].startswith("# Book\n\n## Part\n\n### Chapter\n\nThe pump number 0")


def test_a_table_within_the_size_is_never_cut() -> None:
    table = "| lamp | door |\n|---|---|\n" + "\n".join(f"| {n} | pump |" for n in range(9))
    chunks = optimal(embed_model=CountingEmbedding()).split_text(
        f"{story()}\n\n{table}\n\n{story()}"
    )
    assert sum(table in chunk for chunk in chunks) == 1


@pytest.mark.parametrize(
    ("model", "error", "says"),
    [
        (ForgetfulEmbedding(), ModelResponseError, "vectors for"),
        (GrowingEmbedding(), DimensionError, "different lengths"),
    ],
)
@EVERY
def test_a_model_that_answers_wrongly_is_an_error_that_says_so(
    options: dict[str, Any], model: BaseEmbedding, error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        SemanticNodeParser(embed_model=model, window=5, **options).split_text(story())


@pytest.mark.parametrize("vectors", [[[1.0], None], [None, None], [[1.0], ["1"]]], ids=str)
def test_what_is_no_vector_is_an_error_that_says_so(vectors: Any) -> None:
    with pytest.raises(DimensionError, match="no numbers"):
        unit_rows(vectors, 2)


@pytest.mark.parametrize(
    "options",
    [
        {"method": "optimal", "buffer_size": 1},
        {"method": "optimal", "breakpoint_percentile": 90.0},
        {"method": "percentile", "chunk_penalty": 2.0},
    ],
    ids=str,
)
def test_an_option_of_the_other_method_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match="choose the other method"):
        SemanticNodeParser(**options)


def test_both_methods_come_back_from_their_own_data() -> None:
    for options in METHODS:
        parser = SemanticNodeParser(**options)
        assert SemanticNodeParser.from_dict(parser.to_dict()) == parser
    assert len({SemanticNodeParser(**options).fingerprint for options in METHODS}) == len(METHODS)
