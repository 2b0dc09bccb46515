"""Parents and children on their way into the store: children are found, parents are read."""

from dataclasses import replace
from itertools import pairwise

from llama_index.core import Document
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.schema import BaseNode, NodeRelationship

from rag_nodes.core.errors import ModelRequestError
from rag_nodes.models import Models
from rag_nodes.parsers import SpanNodeParser, get_parser
from rag_nodes.parsers.parent_child import parents_first
from rag_nodes.pipeline import IngestReport, ingest_documents
from rag_nodes.store import Store

PARSER = get_parser(
    "parent-child",
    parent_options={"chunk_size": 60, "min_chunk_size": 0},
    child_options={"chunk_size": 14, "chunk_overlap": 0, "whole_document_below": 0},
)


def document(sections: int = 4, *, colour: str = "red") -> Document:
    text = "\n\n".join(
        f"# Part {n}\n\nPart {n} of the machine is {colour}. It is made of steel, and it is heavy."
        for n in range(sections)
    )
    return Document(text=text, id_="manual")


def run(
    store: Store, models: Models, wanted: Document, parser: SpanNodeParser = PARSER
) -> IngestReport:
    return ingest_documents([wanted], {"family": parser}, store, models=models)


def levels(wanted: Document) -> tuple[list[BaseNode], list[BaseNode]]:
    nodes = PARSER([wanted])
    parents = [node for node in nodes if NodeRelationship.CHILD in node.relationships]
    return parents, [node for node in nodes if node not in parents]


def test_parents_are_stored_cost_no_embedding_and_are_no_chunks(
    store: Store, models: Models, embedding: BaseEmbedding
) -> None:
    parents, children = levels(document())
    sizes = [child.metadata["token_count"] for child in children]
    for column in (run(store, models, document()).columns[0] for _ in range(2)):
        assert column.error is None
        assert (column.chunks, column.parents) == (len(children), len(parents))
        assert (column.tokens, column.max_tokens) == (sum(sizes), max(sizes))
        assert column.written + column.unchanged == store.count(column.collection) == len(children)
    assert len(embedding.texts) == len(children)
    ids = {node.node_id for node in parents}
    assert set(store.fetch(column.collection, list(ids))) == ids


def test_a_lost_parent_comes_back_with_the_next_run(store: Store, models: Models) -> None:
    [column] = run(store, models, document()).columns
    [lost, *_], _ = levels(document())
    store.delete(column.collection, [lost.node_id])
    run(store, models, document())
    assert lost.node_id in store.fetch(column.collection, [lost.node_id])


def test_a_document_of_which_only_parents_are_stored_is_completed(
    store: Store, models: Models
) -> None:
    [column] = run(store, models, document()).columns
    before = store.stored(column.collection, "manual")
    _, children = levels(document())
    store.delete(column.collection, [child.node_id for child in children])
    run(store, models, document())
    assert store.stored(column.collection, "manual") == before


def test_a_changed_document_leaves_no_parent_of_its_previous_version(
    store: Store, models: Models
) -> None:
    [column] = run(store, models, document(colour="red")).columns
    run(store, models, document(colour="blue"))
    former = [node.node_id for level in levels(document(colour="red")) for node in level]
    assert store.fetch(column.collection, former) == {}


def test_a_server_is_sent_as_many_texts_as_it_takes_at_once(
    store: Store, models: Models, embedding: BaseEmbedding
) -> None:
    requests: list[int] = []
    embedding.embed_batch_size = 3
    embedding.fail(lambda texts: requests.append(len(texts)))
    run(store, replace(models, offline=False), document(9))
    _, children = levels(document(9))
    assert sum(requests) == len(children)
    assert set(requests[:-1]) == {3}


def test_each_parent_comes_right_before_its_first_child() -> None:
    ordered = parents_first(PARSER([document()]))
    assert sorted(node.node_id for node in ordered) == sorted(
        node.node_id for level in levels(document()) for node in level
    )
    for before, node in pairwise(ordered):
        if NodeRelationship.CHILD in before.relationships:
            assert node.parent_node is not None
            assert node.parent_node.node_id == before.node_id


def test_a_request_that_is_refused_costs_no_parent_of_another_document(
    store: Store, models: Models, embedding: BaseEmbedding
) -> None:
    def refuse(texts: list[str]) -> None:
        if any("secret" in text for text in texts):
            raise ModelRequestError("too secret")

    embedding.embed_batch_size = 1
    embedding.fail(refuse)
    documents = [Document(text="A secret.", id_="first"), document()]
    served = replace(models, offline=False)
    [column] = ingest_documents(documents, {"two": PARSER}, store, models=served).columns
    parents, children = levels(document())
    wanted = {node.node_id for node in (*parents, *children)}
    assert wanted == set(store.stored(column.collection, document().id_))
