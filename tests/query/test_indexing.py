"""Documents in memory become searchable; what fails costs nothing else."""

from collections.abc import Sequence

import pytest
from llama_index.core import Document
from llama_index.core.embeddings import BaseEmbedding
from llama_index.core.schema import BaseNode
from llama_index.core.storage.kvstore.simple_kvstore import SimpleKVStore
from llama_index.core.storage.kvstore.types import BaseKVStore

from rag_nodes.core.errors import CancelledError, CredentialsError, ModelRequestError
from rag_nodes.core.processes import Interrupt, interruptible
from rag_nodes.embedding import Progress
from rag_nodes.models import Models
from rag_nodes.parsers import as_parser, get_parser
from rag_nodes.query.indexing import Indexed, indexed
from rag_nodes.store import Query, Store, open_store


def sentences(text: str) -> list[str]:
    return [f"{sentence}." for sentence in text.rstrip(".").split(". ")]


PARSER = as_parser(sentences)
DOCUMENTS = [
    Document(id_="tea", text="Green tea is steeped at 80 degrees. Black tea takes boiling water."),
    Document(id_="oats", text="Oats are weighed at dawn. A brass scale is used for this."),
]


class Server(BaseEmbedding):
    """A model behind a server that takes two texts with a request and refuses some."""

    refused: str = "never"
    key_refused: str = "never"
    asked: list[str]

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        self.asked.extend(texts)
        if any(self.key_refused in text for text in texts):
            raise CredentialsError("the key was refused")
        if any(self.refused in text for text in texts):
            raise ModelRequestError("a text was refused")
        return [[1.0, float(len(text))] for text in texts]

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._get_text_embeddings([text])[0]

    def _get_query_embedding(self, query: str) -> list[float]:
        return [1.0, float(len(query))]

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)


def serve_models(
    refused: str = "never", key_refused: str = "never", cache: BaseKVStore | None = None
) -> tuple[Models, Server]:
    model = Server(
        refused=refused,
        key_refused=key_refused,
        embed_batch_size=2,
        embeddings_cache=cache,
        asked=[],
    )
    return Models.of(embed_model=model), model


def texts_found(store: Store, text: str) -> list[str]:
    query = Query(vector=None, text=text, limit=9, mode="sparse")
    return [hit.node.get_content() for hit in store.search("made", query)]


def test_the_chunks_of_every_document_are_found_and_counted() -> None:
    steps: list[Progress] = []
    with open_store() as store:
        run = indexed(
            store, "made", PARSER, DOCUMENTS, Models.of(), name="s", progress=steps.append
        )
        assert texts_found(store, "brass scale") == ["A brass scale is used for this."]
        assert store.count("made") == run.outcome.chunks == len(run.nodes) == 4
    assert (run.outcome.parser, run.outcome.collection) == ("s", "made")
    assert run.outcome.tokens >= run.outcome.max_tokens > 0
    assert [document.status for document in run.documents.values()] == ["stored", "stored"]
    assert [(step.stage, step.done) for step in steps] == [
        *(("parse", 2), ("parse", 4)),
        ("embed", 4),
        *(("store", 2), ("store", 4)),
    ]


def test_a_document_that_cannot_be_split_costs_no_other() -> None:
    def split(text: str) -> list[str]:
        if "tea" in text:
            raise ValueError("no tea")
        return [text]

    with open_store() as store:
        run = indexed(store, "made", as_parser(split), DOCUMENTS, Models.of())
        assert texts_found(store, "brass scale") == [DOCUMENTS[1].text]
    assert run.documents["oats"].status == "stored"
    assert "ValueError" in (run.documents["tea"].error or "")
    assert "tea" in (run.outcome.error or "")


def test_a_refused_chunk_costs_no_other_chunk() -> None:
    models, _ = serve_models(refused="Green")
    with open_store() as store:
        run = indexed(store, "made", PARSER, DOCUMENTS, models)
        assert store.count("made") == run.outcome.written == 3
    assert run.outcome.error is not None
    tea = run.documents["tea"]
    assert (tea.status, tea.stored, tea.chunks) == ("incomplete", 1, 2)
    assert tea.lack == "1 of 2 chunks stored"
    assert "a text was refused" in (tea.error or "")
    assert run.documents["oats"].status == "stored"


def test_a_model_that_refuses_every_request_is_asked_once() -> None:
    models, model = serve_models(key_refused="")
    with open_store() as store:
        run = indexed(store, "made", PARSER, DOCUMENTS, models)
    assert len(model.asked) == 2
    assert [document.stored for document in run.documents.values()] == [0, 0]
    assert "the key was refused" in (run.outcome.error or "")


def test_a_model_that_fails_for_good_costs_nothing_that_it_answered_before() -> None:
    models, model = serve_models(key_refused="Oats")
    documents = [*DOCUMENTS, Document(id_="rye", text="Rye is sown late. It stands the winter.")]
    with open_store() as store:
        run = indexed(store, "made", PARSER, documents, models)
        assert store.count("made") == 2
    assert len(model.asked) == 4
    assert [document.status for document in run.documents.values()] == [
        "stored",
        *["incomplete"] * 2,
    ]
    assert all(
        "the key was refused" in (run.documents[text].error or "") for text in ("oats", "rye")
    )


def test_a_parser_whose_model_fails_for_good_is_asked_for_no_further_document() -> None:
    split: list[str] = []

    def by_model(text: str) -> list[str]:
        split.append(text)
        if "Oats" in text:
            raise CredentialsError("the key was refused")
        return [text]

    documents = [*DOCUMENTS, Document(id_="rye", text="Rye is sown late.")]
    with open_store() as store:
        run = indexed(store, "made", as_parser(by_model), documents, Models.of())
    assert split == [document.text for document in DOCUMENTS]
    assert all(
        "the key was refused" in (document.error or "") for document in run.documents.values()
    )


def test_tokens_are_counted_once_and_what_the_cache_knows_is_saved() -> None:
    cache = SimpleKVStore()
    sent: list[Indexed] = []
    for _ in range(2):
        models, model = serve_models(cache=cache)
        with open_store() as store:
            sent.append(indexed(store, "made", PARSER, DOCUMENTS, models))
    first, second = (gate.outcome for gate in sent)
    assert first.embedding_tokens > 0
    assert first.saved_tokens == second.embedding_tokens == len(model.asked) == 0
    assert second.saved_tokens == second.tokens
    assert second.written == first.written == 4


@pytest.mark.parametrize("stage", ["parse", "embed", "store"])
def test_a_cancelled_run_leaves_nothing_in_the_store(stage: str) -> None:
    interrupt = Interrupt()

    def cancel(step: Progress) -> None:
        if step.stage == stage:
            interrupt.set()
            interrupt.check("the test")

    with open_store() as store:
        with interruptible(interrupt), pytest.raises(CancelledError):
            indexed(store, "made", PARSER, DOCUMENTS, Models.of(), progress=cancel)
        assert store.collections() == []


def test_parents_without_a_child_that_can_be_found_are_left_out() -> None:
    def texts(nodes: Sequence[BaseNode]) -> int:
        return sum("tea" in node.get_content() for node in nodes)

    models, _ = serve_models(refused="tea")
    parser = get_parser("parent-child")
    with open_store() as store:
        run = indexed(store, "made", parser, DOCUMENTS, models)
        kept = store.fetch("made", [node.node_id for node in run.nodes])
    assert texts(run.nodes) > 0
    assert texts(list(kept.values())) == 0


TWINS = [Document(id_=name, text=DOCUMENTS[0].text) for name in ("first", "second")]


def test_a_server_is_asked_for_equal_texts_once() -> None:
    models, server = serve_models()
    with open_store() as store:
        run = indexed(store, "made", PARSER, TWINS, models)
        assert store.count("made") == 4
    assert sorted(server.asked) == sorted(set(server.asked))
    assert len(server.asked) == 2
    assert run.outcome.embedding_tokens == run.outcome.saved_tokens > 0
    assert [row.status for row in run.documents.values()] == ["stored", "stored"]


def test_equal_texts_that_a_server_refuses_are_missing_in_every_document() -> None:
    models, _ = serve_models(refused="boiling")
    with open_store() as store:
        run = indexed(store, "made", PARSER, TWINS, models)
        assert store.count("made") == 2
    assert [row.lack for row in run.documents.values()] == ["1 of 2 chunks stored"] * 2
    assert [row.error for row in run.documents.values()] == ["a text was refused"] * 2
