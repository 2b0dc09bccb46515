"""Images, index nodes and documents without text pass through, as in LlamaIndex's splitters."""

import base64
from typing import Any

import pytest
from llama_index.core.ingestion import IngestionPipeline
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.schema import (
    BaseNode,
    Document,
    ImageDocument,
    ImageNode,
    IndexNode,
    MediaResource,
    MetadataMode,
    NodeWithScore,
    TextNode,
)

from rag_nodes import (
    EmbeddingGuard,
    RagNodesRetriever,
    SentencePostprocessor,
    SpanNodeParser,
    build_pipeline,
    get_embedding,
    ingest_documents,
    leaf_nodes,
    open_store,
)
from rag_nodes.parsers import PRESETS, as_parser, get_parser

PICTURE, OTHER = (base64.b64encode(value).decode() for value in (b"a picture", b"another picture"))
CAPTION = "The red pump in the hall."
NO_TEXT: dict[str, BaseNode] = {
    "image document": ImageDocument(image=PICTURE, id_="i"),
    "image node": ImageNode(image=PICTURE, id_="i"),
    "image at a path": ImageNode(image_path="pump.png", id_="i"),
    "document with an image": Document(
        image_resource=MediaResource(data=PICTURE.encode()), id_="i"
    ),
    "blank caption": ImageDocument(image=PICTURE, text=" \n ", id_="i"),
    "index node": IndexNode(text="", index_id="annex", id_="i"),
    "sound": Document(audio_resource=MediaResource(url="https://example.org/a.mp3"), id_="i"),
}
WITH_TEXT: dict[str, BaseNode] = {
    "image document": ImageDocument(image=PICTURE, text=CAPTION, id_="i", metadata={"k": "v"}),
    "image node": ImageNode(image=PICTURE, text=CAPTION, id_="i"),
}


def parser(name: str) -> SpanNodeParser:
    return as_parser(SentenceSplitter()) if name == "foreign" else get_parser(name)


def kept_fields(node: BaseNode) -> tuple[object, ...]:
    """What a node has beside its text."""
    names = ("image", "image_path")
    return type(node), *(getattr(node, name, None) for name in names)


NAMES = [*PRESETS, "foreign"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("given", NO_TEXT)
async def test_a_document_without_text_becomes_a_single_node(name: str, given: str) -> None:
    for nodes in (parser(name)([NO_TEXT[given]]), await parser(name).acall([NO_TEXT[given]])):
        [node] = nodes
        assert isinstance(node, TextNode)
        assert (node.text, node.ref_doc_id) == ("", "i")
        assert (node.start_char_idx, node.end_char_idx) == (0, 0)


@pytest.mark.parametrize("name", NAMES)
def test_images_and_index_nodes_become_what_llama_index_makes_of_them(name: str) -> None:
    index = IndexNode(text=CAPTION, index_id="annex", id_="i", metadata={"k": "v"})
    images = NO_TEXT["image document"], WITH_TEXT["image document"]
    for document in (*images, index, NO_TEXT["index node"], NO_TEXT["sound"]):
        [stock] = SentenceSplitter()([document])
        for node in leaf_nodes(parser(name)([document])):
            assert (*kept_fields(node), node.get_content()) == (
                *kept_fields(stock),
                stock.get_content(),
            )
            assert node.metadata.items() >= stock.metadata.items()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("mode", [MetadataMode.EMBED, MetadataMode.LLM])
def test_an_image_without_text_is_embedded_and_read_by_its_metadata(
    name: str, mode: MetadataMode
) -> None:
    document = ImageDocument(
        image=PICTURE,
        metadata={"file_name": "pump.png", "shelf": 3},
        excluded_embed_metadata_keys=["shelf"],
    )
    [stock] = SentenceSplitter()([document])
    assert "pump.png" in stock.get_content(mode), "VectorStoreIndex skips what embeds nothing"
    for node in parser(name)([document]):
        assert node.get_content(mode) == stock.get_content(mode)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("given", WITH_TEXT)
def test_chunks_of_a_caption_keep_the_image(name: str, given: str) -> None:
    source = WITH_TEXT[given]
    nodes = parser(name)([source])
    assert nodes
    for node in nodes:
        assert kept_fields(node) == (ImageNode, *kept_fields(source)[1:])
        assert node.get_content() == CAPTION


@pytest.mark.parametrize("name", NAMES)
def test_text_next_to_an_image_is_split_as_without_it(name: str) -> None:
    text = Document(text="Rinse the pump weekly. It stands in the hall.", id_="t")
    alone = parser(name)([text])
    beside = parser(name)([NO_TEXT["image document"], text])
    assert [node for node in beside if node.ref_doc_id == "t"] == alone
    assert len(beside) == len(alone) + 1


def test_a_document_without_anything_still_gives_no_node() -> None:
    for name in NAMES:
        assert parser(name)([Document(text=""), Document(text=" \n")]) == []


def test_an_image_goes_through_two_parsers_and_the_guard() -> None:
    long = ImageDocument(image=PICTURE, text="Words of a caption. " * 60, id_="i")
    steps = [get_parser("heading"), get_parser("sentence"), EmbeddingGuard(max_tokens=64)]
    nodes = IngestionPipeline(transformations=steps).run(documents=[long])
    assert len(nodes) > 2
    assert {node.image for node in nodes} == {PICTURE}


@pytest.mark.parametrize("name", ["retrieval", "parent-child"])
def test_a_pipeline_stores_an_image_and_reads_it_back(name: str) -> None:
    with open_store() as store:
        vectors = store.vector_store("images")
        pipeline = build_pipeline(name, embed_model=get_embedding("lexical"), vector_store=vectors)
        pipeline.run(documents=[NO_TEXT["image document"], Document(text="Words.", id_="t")])
        images = [node for node in vectors.get_nodes() if node.ref_doc_id == "i"]
    assert [kept_fields(node) for node in images] == [(ImageNode, PICTURE, None)]


def ingest_and_retrieve(store: Any, *documents: Document) -> tuple[Any, list[Any]]:
    report = ingest_documents(documents, {"retrieval": get_parser("retrieval")}, store)
    [collection] = store.engine.names()
    retriever = RagNodesRetriever(store=store, collection=collection)
    return report, [hit.node for hit in retriever.retrieve("Which pump is in the hall?")]


def test_an_ingest_keeps_the_image_of_a_caption_and_notes_another_image() -> None:
    with open_store() as store:
        for picture in (PICTURE, OTHER):
            caption = ImageDocument(image=picture, text=CAPTION, id_="i")
            _, [node] = ingest_and_retrieve(store, caption)
            assert (node.image, node.text) == (picture, CAPTION)


def test_an_ingest_says_of_an_image_without_text_that_it_is_not_stored() -> None:
    with open_store() as store:
        text = Document(text="The pump is in the hall.", id_="t")
        report, nodes = ingest_and_retrieve(store, ImageDocument(image=PICTURE, id_="i"), text)
        [collection] = store.engine.names()
        assert [*store.documents(collection)] == ["t"]
    [image, _] = report.files
    assert image.status == "failed"
    assert image.error == (
        "i: the document is an image, sound or film without text, so it is not stored; give it a "
        "text that can be found, such as a caption"
    )
    assert len(nodes) == 1


def test_an_image_without_a_caption_stays_behind_the_sentences_that_are_read() -> None:
    nodes = [ImageNode(image=PICTURE), TextNode(text="The red pump.")]
    hits = [NodeWithScore(node=node, score=0.5) for node in nodes]
    read = SentencePostprocessor(budget=5).postprocess_nodes(hits, query_str="red pump")
    assert [hit.node.get_content() for hit in read] == ["The red pump.", ""]
    assert read[1].node is nodes[0]
