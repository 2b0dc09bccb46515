"""What embedding takes is counted where it is asked for: per parser, per question, and priced."""

from pathlib import Path

import pytest
from counting_models import Prices
from llama_index.core import Document, MockEmbedding
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.schema import MetadataMode
from openai_server import OpenAIServer

from rag_nodes.core.settings import Settings
from rag_nodes.embedding import Progress
from rag_nodes.embedding.requests import EmbeddedTokens
from rag_nodes.evaluation.compare import Comparison
from rag_nodes.models import Models, choose_models
from rag_nodes.models.prices import PRICES, cost_of, dollars, price_of
from rag_nodes.parsers import get_parser
from rag_nodes.pipeline import ingest, ingest_documents
from rag_nodes.query import QueryOptions
from rag_nodes.store import Layout, Store, parser_collection
from rag_nodes.text.tokens import count_tokens

TEXT = "# Tank\n\n" + "The tank holds nine litres. The pump is checked weekly. " * 20
QUESTION = "What holds nine litres?"
pytestmark = pytest.mark.usefixtures("no_configuration")


def test_every_parser_is_charged_for_what_it_had_embedded(
    store: Store, served: Models, openai_server: OpenAIServer, prices: Prices
) -> None:
    parsers = {
        "fixed": get_parser("fixed", chunk_size=300, chunk_overlap=0),
        "semantic": get_parser("semantic", embed_model=served.embedding),
    }
    document = Document(text=TEXT, id_="tank")
    report = ingest_documents([document], parsers, store, models=served, prices=prices)
    fixed, semantic = report.columns
    nodes = parsers["fixed"]([document])
    assert fixed.embedding_tokens == sum(
        count_tokens(node.get_content(MetadataMode.EMBED)) for node in nodes
    )
    assert semantic.embedding_tokens > fixed.embedding_tokens, "its sentences are embedded too"
    sent = sum(
        count_tokens(text) for body in openai_server.asked("embeddings") for text in body["input"]
    )
    assert report.embedding_tokens == sent
    assert report.embedding_cost == pytest.approx(sent * 2 / 1e6)
    again = ingest_documents([document], parsers, store, models=served, prices=prices)
    assert [column.embedding_tokens for column in again.columns] == [0, 0]
    assert again.embedding_cost == 0.0
    assert again.as_dict()["embedding_cost"] == 0.0


def test_progress_says_what_was_spent_so_far_and_how_long_it_will_take(
    store: Store, served: Models, prices: Prices, tmp_path: Path
) -> None:
    paths = [tmp_path / f"{n}.md" for n in range(4)]
    for number, path in enumerate(paths):
        path.write_text(f"{TEXT} {number}")
    steps: list[Progress] = []
    parsers = {"fixed": get_parser("fixed", chunk_size=100, chunk_overlap=0)}
    report = ingest(paths, parsers, store, models=served, prices=prices, progress=steps.append)
    spent = [step for step in steps if step.stage == "embed"]
    assert [step.tokens for step in spent] == sorted(step.tokens for step in spent)
    assert spent[-1].tokens == report.embedding_tokens > 0
    assert spent[-1].cost == pytest.approx(report.embedding_cost)
    first, *others = [step for step in steps if step.stage == "read"]
    assert first.seconds_left is None
    assert all(step.seconds_left is not None and step.seconds_left > 0 for step in others)


def test_a_question_is_charged_once_and_not_where_it_is_known(
    served: Models, prices: Prices
) -> None:
    parsers = {"fixed": get_parser("fixed"), "heading": get_parser("heading")}
    options = QueryOptions(prices=prices)
    document = Document(text=TEXT, id_="tank")
    compared = Comparison(parsers, documents=document, models=served, options=options)
    first, second = (compared.ask(QUESTION).columns[0].answer for _ in range(2))
    assert first
    assert second
    assert first.embedding_tokens == count_tokens(QUESTION)
    assert first.embedding_cost == pytest.approx(first.embedding_tokens * 2 / 1e6)
    assert (second.embedding_tokens, second.embedding_cost) == (0, 0.0)


def test_an_unknown_price_is_said_and_offline_models_cost_nothing(
    store: Store, served: Models
) -> None:
    document, parsers = Document(text=TEXT, id_="tank"), {"fixed": get_parser("fixed")}
    report = ingest_documents([document], parsers, store, models=served)
    assert report.embedding_cost is None
    offline = choose_models(Settings(embedding="lexical", llm="extractive"))
    free = ingest_documents([document], parsers, store, models=offline)
    assert (free.embedding_tokens, free.embedding_cost) == (0, 0.0)


def test_embeddings_of_the_parser_s_own_model_are_not_charged(
    store: Store, served: Models, prices: Prices
) -> None:
    document = Document(text=TEXT, id_="tank")
    other = MockEmbedding(embed_dim=3)

    def count_embedded_tokens(model: BaseEmbedding) -> int:
        parsers = {"semantic": get_parser("semantic", embed_model=model)}
        report = ingest_documents([document], parsers, store, models=served, prices=prices)
        (column,) = report.columns
        assert column.chunks
        assert column.error is None
        return column.embedding_tokens - sum(
            count_tokens(node.get_content(MetadataMode.EMBED))
            for node in parsers["semantic"]([document])
        )

    assert count_embedded_tokens(other) == 0
    assert count_embedded_tokens(served.embedding) > 0


def test_the_inner_counter_counts_and_none_outside() -> None:
    model = MockEmbedding(embed_dim=3)
    counts, others = EmbeddedTokens(model), EmbeddedTokens(model)
    with others.counting(), counts.counting():
        model.get_text_embedding_batch(["one two three"])
    model.get_text_embedding_batch(["not counted"])
    assert (counts.tokens, others.tokens) == (count_tokens("one two three"), 0)


def test_one_table_holds_the_prices_and_ones_own_win() -> None:
    assert price_of("text-embedding-3-small", {}) == PRICES["text-embedding-3-small"]
    assert price_of("text-embedding-3-small", {"text-embedding-3-small": (9.0, 0.0)}) == (9.0, 0.0)
    assert cost_of(1000, 0, "text-embedding-ada-002", {}) == pytest.approx(0.0001)  # S4-21
    assert price_of("text-embedding-3-small@localhost/v1", {}) is None
    assert price_of("gpt-4o@localhost/v1", {"gpt-4o": (1.0, 2.0)}) == (1.0, 2.0)
    assert [dollars(value) for value in (0.0, 0.00002, 0.5, None)] == [
        "$0.0000",
        "under $0.0001",
        "$0.5000",
        "price unknown",
    ]


def test_a_collection_of_another_program_ends_its_column_before_every_document_was_embedded(
    served: Models, openai_server: OpenAIServer, store: Store
) -> None:
    parser = get_parser("fixed", chunk_size=40, chunk_overlap=0)
    name = parser_collection("default", parser, served.embedding_name)
    store.engine.create(name, Layout(openai_server.dimension, sparse=None))
    documents = [Document(text=f"Tank {number} leaks.", id_=str(number)) for number in range(80)]
    [column] = ingest_documents(documents, {"fixed": parser}, store, models=served).columns
    assert "was written by another program" in (column.error or "")
    assert len(openai_server.embedded) < len(documents)
