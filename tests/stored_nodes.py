"""Chunks with what filters ask for, parents with children, and passages below a heading."""

from collections.abc import Callable

from llama_index.core.schema import (
    BaseNode,
    MetadataMode,
    NodeRelationship,
    RelatedNodeInfo,
    TextNode,
)

from rag_nodes.store import Query, Store
from rag_nodes.store.filters import Filter

MakeNode = Callable[..., TextNode]


X, Y = [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]


def family(make_node: MakeNode, *, embedding: list[float] | None) -> list[TextNode]:
    """A parent, here first as a pipeline writes it, and its two children."""
    children = [
        make_node("zebra grass", X, total_chunks=2, level=1),
        make_node("lion meat", Y, total_chunks=2, level=1),
    ]
    parent = make_node("zebra grass lion meat", X, total_chunks=1, level=0)
    parent.embedding = embedding
    infos = [RelatedNodeInfo(node_id=child.node_id) for child in children]
    for child in children:
        child.relationships[NodeRelationship.PARENT] = RelatedNodeInfo(node_id=parent.node_id)
    parent.relationships[NodeRelationship.CHILD] = infos
    return [parent, *children]


def fill(store: Store, collection: str, make_node: MakeNode) -> None:
    """Add four chunks of two documents, with files, pages, headings and addresses."""

    def node(name: str, pages: tuple[int, int], path: list[str], document: str) -> TextNode:
        return make_node(
            f"pump {name}",
            [1.0, 0.0, 0.5],
            document=document,
            file_name=f"{document}.pdf",
            page_start=pages[0],
            page_end=pages[1],
            heading_path=path,
            source=f"https://example.org/{document}",
            also_at=[f"https://example.org/old-{document}"],
            Heading=" > ".join(path),
        )

    store.add(
        collection,
        [
            node("one", (1, 2), ["Setup"], "manual"),
            node("two", (3, 3), ["Setup", "Install the pump"], "manual"),
            node("three", (4, 6), ["Use", "Daily care"], "manual"),
            node("four", (3, 4), ["Setup", "Install the pump"], "annex"),
        ],
    )


def names_found(store: Store, collection: str, wanted: Filter, **options: object) -> set[str]:
    """Names of the chunks that a search for all of them finds."""
    hits = store.search(
        collection, Query(vector=[1.0, 0.0, 0.5], text="pump", limit=10, filter=wanted, **options)
    )
    return {hit.node.text.split()[1] for hit in hits}


def passages(*texts: str, document: str = "manual") -> list[TextNode]:
    """Nodes of a document in their order, below one heading."""
    source = {NodeRelationship.SOURCE: RelatedNodeInfo(node_id=document)}
    return [
        TextNode(
            id_=f"{document}-{number}",
            text=text,
            metadata={"Heading": "Manual > Tank", "title": document, "start_char": number},
            excluded_embed_metadata_keys=["title", "start_char"],
            excluded_llm_metadata_keys=["title", "start_char"],
            relationships=source,
        )
        for number, text in enumerate(texts)
    ]


def embedded_text(node: BaseNode) -> str:
    """What a model is given of a node to embed."""
    return node.get_content(MetadataMode.EMBED)
