"""The user's transformations in an ingest: what they add is kept, and so are the laws."""

import asyncio
import sys
import threading
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest
from llama_index.core.embeddings import MockEmbedding
from llama_index.core.extractors import BaseExtractor, SummaryExtractor, TitleExtractor
from llama_index.core.llms import MockLLM
from llama_index.core.schema import BaseNode, Document, TextNode, TransformComponent
from llama_index.llms.openai import OpenAI
from openai_server import Fault, OpenAIServer
from pydantic import Field, PrivateAttr

from rag_nodes.core import metadata as keys
from rag_nodes.core.errors import ConfigurationError, TransformationError
from rag_nodes.embedding import identity_of
from rag_nodes.models import Models
from rag_nodes.models.asking import awaited
from rag_nodes.parsers import get_parser
from rag_nodes.pipeline import IngestReport, ingest_documents
from rag_nodes.query import RagNodesQueryEngine
from rag_nodes.store import Store, parser_collection


class Letters(TransformComponent):
    """A sync transformation: counts letters."""

    letter: str = "e"

    def __call__(self, nodes: Sequence[BaseNode], **_: Any) -> Sequence[BaseNode]:
        for node in nodes:
            node.metadata["letters"] = node.get_content().count(self.letter)
        return nodes


class Awaited(BaseExtractor):
    """An async extractor: notes the loop and the thread it ran in."""

    _loops: set[int] = PrivateAttr(default_factory=set)

    async def aextract(self, nodes: Sequence[BaseNode]) -> list[dict[str, Any]]:
        await asyncio.sleep(0)
        self._loops.add(id(asyncio.get_running_loop()))
        return [{"thread": threading.current_thread().name} for _ in nodes]


class Changing(TransformComponent):
    """Does to the nodes what a function does."""

    change: Any = Field(exclude=True)

    def __call__(self, nodes: Sequence[BaseNode], **_: Any) -> Any:
        return self.change(list(nodes))


def documents(count: int = 2) -> list[Document]:
    return [
        Document(
            text="\n\n".join(f"# Part {n}\n\nPart {n} of {name} is steel." for n in range(6)),
            id_=name,
            metadata={"file_name": name},
        )
        for name in [f"manual-{number}.md" for number in range(count)]
    ]


PARSER = get_parser("fixed", chunk_size=40, chunk_overlap=0, scale_by_script=False)


def run(
    store: Store, models: Models, *steps: object, given: Sequence[Document] | None = None
) -> IngestReport:
    return ingest_documents(
        documents() if given is None else given,
        {"fixed": PARSER},
        store,
        models=models,
        transformations=steps,
    )


def stored_nodes(store: Store, models: Models) -> list[TextNode]:
    collection = parser_collection("default", PARSER, models.embedding_name)
    nodes = store.vector_store(collection).get_nodes(limit=1000)
    assert all(isinstance(node, TextNode) for node in nodes)
    return sorted(
        (node for node in nodes if isinstance(node, TextNode)),
        key=lambda node: (str(node.ref_doc_id), node.metadata[keys.CHUNK_INDEX]),
    )


def test_nodes_of_sync_and_async_transformations_are_stored(store: Store, models: Models) -> None:
    awaited = Awaited()
    steps = [Letters(), awaited, TitleExtractor(llm=MockLLM(max_tokens=3))]
    report = ingest_documents(
        documents(), {"fixed": PARSER}, store, models=models, transformations=steps
    )
    assert report.columns[0].error is None
    engine = RagNodesQueryEngine(store=store, parser=PARSER, models=models)
    answer = engine.answer("Which part is steel?")
    hit = answer.hits[0].node
    assert hit.metadata["letters"] == hit.get_content().count("e")
    assert hit.metadata["document_title"]
    assert hit.metadata["thread"] != threading.current_thread().name
    assert len(awaited._loops) == 1


def test_added_metadata_are_embedded_unless_hidden(
    store: Store, models: Models, embedding: Any
) -> None:
    run(store, models, Letters())
    assert all("letters: " in text for text in embedding.texts)


@pytest.mark.parametrize("after", [[Letters(letter="a")], [], [Letters(), Awaited()]])
def test_another_transformation_makes_every_document_due(
    store: Store, models: Models, after: list[TransformComponent]
) -> None:
    run(store, models, Letters())
    before = {node.node_id for node in stored_nodes(store, models)}
    again = run(store, models, *after)
    assert [file.status for file in again.files] == ["read", "read"]
    nodes = stored_nodes(store, models)
    assert {node.node_id for node in nodes} == before
    count = {len(after) and getattr(after[0], "letter", "e")}
    assert all(
        node.metadata.get("letters") == (node.text.count(letter) if letter else None)
        for node in nodes
        for letter in count
    )


def test_an_extractor_that_fails_for_one_document_costs_that_document_alone(
    store: Store, models: Models
) -> None:
    run(store, models)
    former = [node for node in stored_nodes(store, models) if node.ref_doc_id == "manual-1.md"]

    def refuse(nodes: list[BaseNode]) -> list[BaseNode]:
        if nodes[0].ref_doc_id == "manual-1.md":
            raise KeyError("no title for sk-secret123456")
        return nodes

    report = run(store, models, Changing(change=refuse), given=documents(3))
    assert [file.status for file in report.files] == ["read", "incomplete", "read"]
    failed = report.files[1].columns["fixed"]
    assert failed.error is not None
    assert failed.error.startswith("Changing failed: KeyError; what was stored")
    assert "ingest again" in failed.error
    assert failed.superseded == len(former)
    kept = [node for node in stored_nodes(store, models) if node.ref_doc_id == "manual-1.md"]
    assert [node.node_id for node in kept] == [node.node_id for node in former]


def test_a_text_that_was_changed_loses_its_offsets_and_is_counted(
    store: Store, models: Models
) -> None:
    def shout(nodes: list[BaseNode]) -> list[BaseNode]:
        nodes[0].set_content(nodes[0].get_content().upper())
        return nodes

    report = run(store, models, Changing(change=shout), given=documents(1))
    assert report.columns[0].not_located == 1
    changed, *others = stored_nodes(store, models)
    assert changed.text.startswith("# PART 0")
    assert (changed.start_char_idx, changed.end_char_idx) == (None, None)
    assert keys.START_CHAR not in changed.metadata
    assert changed.metadata[keys.HEADING_PATH] == ["Part 0"]
    assert_slices(others)


def assert_slices(nodes: Sequence[TextNode]) -> None:
    texts = {document.id_: document.text for document in documents()}
    assert nodes
    for node in nodes:
        place = slice(node.metadata[keys.START_CHAR], node.metadata[keys.END_CHAR])
        assert texts[str(node.ref_doc_id)][place] == node.text
        assert (node.start_char_idx, node.end_char_idx) == (place.start, place.stop)


def test_bookkeeping_that_was_written_over_is_put_back(store: Store, models: Models) -> None:
    def scribble(nodes: list[BaseNode]) -> list[BaseNode]:
        for node in nodes:
            node.metadata.update({keys.START_CHAR: 7, keys.SOURCE_HASH: "?", "total_chunks": 0})
            assert isinstance(node, TextNode)
            node.start_char_idx = 3
            node.relationships.clear()
        return nodes

    run(store, models, Changing(change=scribble))
    assert_slices(stored_nodes(store, models))
    again = run(store, models, Changing(change=scribble))
    assert [file.status for file in again.files] == ["unchanged", "unchanged"]


def test_chunks_that_were_dropped_and_moved_leave_a_family_that_is_whole(
    store: Store, models: Models
) -> None:
    step = Changing(change=lambda nodes: nodes[:0:-1])
    run(store, models, step, given=documents(1))
    nodes = stored_nodes(store, models)
    assert [node.metadata[keys.TOTAL_CHUNKS] for node in nodes] == [len(nodes)] * len(nodes)
    assert nodes[0].prev_node is None
    assert [node.next_node.node_id for node in nodes[:-1] if node.next_node] == [
        node.node_id for node in nodes[1:]
    ]
    assert_slices(nodes)
    assert run(store, models, step, given=documents(1)).files[0].status == "unchanged"


def test_a_parent_whose_children_were_all_dropped_is_a_chunk_and_the_document_is_whole(
    store: Store, models: Models
) -> None:
    child = {"chunk_size": 8, "chunk_overlap": 0}
    parsers = {"family": get_parser("parent-child", child_options=child)}
    step = Changing(change=lambda nodes: [node for node in nodes if not node.parent_node])

    def again() -> IngestReport:
        given = documents(1)
        return ingest_documents(given, parsers, store, models=models, transformations=[step])

    first = again().columns[0]
    assert first.chunks == first.written > 0
    assert first.parents == 0
    second = again()
    assert second.files[0].status == "unchanged"
    assert second.columns[0].chunks == first.chunks


def test_new_chunks_have_no_place_and_ids_that_stay(store: Store, models: Models) -> None:
    def add(nodes: list[BaseNode]) -> list[BaseNode]:
        first = nodes[0]
        assert isinstance(first, TextNode)
        start = first.start_char_idx or 0
        half = TextNode(text=first.text[2:10], start_char_idx=start + 2, end_char_idx=start + 10)
        question = TextNode(text="What is steel?", start_char_idx=0, end_char_idx=14)
        return [half, question, *nodes]

    run(store, models, Changing(change=add), given=documents(1))
    half, question, *others = first = stored_nodes(store, models)
    assert_slices(others)
    assert half.start_char_idx is question.start_char_idx is None
    assert keys.START_CHAR not in half.metadata
    assert all(uuid.UUID(node.node_id).version == 5 for node in first)
    changed = documents(1)[0]
    changed.metadata["title"] = "Steel"
    run(store, models, Changing(change=add), given=[changed])
    assert [node.node_id for node in stored_nodes(store, models)] == [
        node.node_id for node in first
    ]


def related_ids(node: BaseNode) -> dict[Any, list[str]]:
    """The ids of the nodes around one, by relation."""
    return {
        relation: [
            node.node_id
            for node in (related_nodes if isinstance(related_nodes, list) else [related_nodes])
        ]
        for relation, related_nodes in node.relationships.items()
    }


@pytest.mark.parametrize("preset", ["sentence-window", "parent-child"])
def test_presets_keep_their_nodes_behind_an_extractor(
    preset: str, store: Store, models: Models
) -> None:
    def ingest_steps(corpus: str, *steps: TransformComponent) -> list[BaseNode]:
        ingest_documents(
            documents(),
            {preset: get_parser(preset)},
            store,
            models=models,
            transformations=steps,
            corpus=corpus,
        )
        collection = parser_collection(corpus, get_parser(preset), models.embedding_name)
        nodes = store.vector_store(collection).get_nodes(limit=1000)
        return sorted(nodes, key=lambda node: node.node_id)

    bare, extracted = ingest_steps("bare"), ingest_steps("extracted", Letters(), Awaited())
    added = {"letters", "thread", keys.SOURCE_HASH}
    for before, after in zip(bare, extracted, strict=True):
        assert after.node_id == before.node_id
        assert after.get_content() == before.get_content()
        assert related_ids(after) == related_ids(before)
        assert {k: v for k, v in after.metadata.items() if k not in added} == {
            k: v for k, v in before.metadata.items() if k not in added
        }


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda _: None, "returned NoneType, not nodes"),
        (lambda _: sys.exit(0), "Changing failed: SystemExit"),
        (lambda nodes: [*nodes, "text"], "returned a str among the nodes"),
        (lambda nodes: [nodes[0].metadata.update(x={1}), nodes][1], "metadata that cannot be"),
        (lambda nodes: [nodes[0], nodes[0]], "several nodes with the same id"),
    ],
)
def test_unstorable_metadata_name_their_transformation(
    change: Any, words: str, store: Store, models: Models
) -> None:
    report = run(store, models, Changing(change=change), given=documents(1))
    error = report.files[0].columns["fixed"].error
    assert error is not None
    assert words in error


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        (Letters(), "put it into a list"),
        ([MockEmbedding(embed_dim=3)], "give it as embed_model"),
        ([len], "not a TransformComponent of LlamaIndex"),
    ],
)
def test_invalid_transformations_are_refused_before_reading(
    steps: Any, words: str, store: Store, models: Models
) -> None:
    with pytest.raises(ConfigurationError, match=words):
        ingest_documents(
            documents(), {"fixed": PARSER}, store, models=models, transformations=steps
        )


@pytest.fixture
def stock_llm(openai_server: OpenAIServer) -> Iterator[OpenAI]:
    llm = OpenAI(
        model="gpt-4o-mini", api_key="sk-canary-1", api_base=openai_server.base, max_retries=0
    )
    yield llm
    awaited(llm._get_aclient().close())


def test_connections_of_an_extractors_model_outlive_documents_columns_and_runs(
    store: Store, models: Models, openai_server: OpenAIServer, stock_llm: OpenAI
) -> None:
    online = replace(models, offline=False)  # two threads, one for each parser
    report = ingest_documents(
        documents(4),
        {"fixed": PARSER, "heading": get_parser("heading")},
        store,
        models=online,
        transformations=[SummaryExtractor(llm=stock_llm, show_progress=False)],
    )
    again = run(store, models, Letters(), SummaryExtractor(llm=stock_llm, show_progress=False))
    assert [column.error for column in (*report.columns, *again.columns)] == [None] * 3
    assert all("section_summary" in node.metadata for node in stored_nodes(store, models))
    chunks = sum(column.chunks for column in (*report.columns, *again.columns))
    assert len(openai_server.asked("/v1/chat/completions")) == chunks


def test_a_key_that_a_stock_model_had_refused_ends_the_column_and_is_printed_nowhere(
    store: Store, models: Models, openai_server: OpenAIServer, stock_llm: OpenAI
) -> None:
    openai_server.fail(Fault(status=401, message="no such key: sk-canary-1"), times=99)
    report = run(
        store, models, TitleExtractor(llm=stock_llm, show_progress=False), given=documents(3)
    )
    assert "the key was refused" in str(report.columns[0].error)
    assert [file.status for file in report.files] == ["incomplete"] * 3
    assert "canary" not in f"{report.as_dict()}"
    asked = openai_server.asked("/v1/chat/completions")
    assert len(asked) <= len(PARSER(documents(1)))


class Keyed(Letters):
    """Has a key, and options of speed."""

    api_key: str = "sk-1"
    timeout: float = 1.0
    keywords: int = 5
    work: Any = None


class Private(Letters):
    """Keeps what it was told to itself."""

    _words: list[str] = PrivateAttr(default_factory=list)
    _api_key: str = PrivateAttr(default="")
    _timeout: float = PrivateAttr(default=1.0)

    def __init__(self, *words: str, key: str = "", timeout: float = 1.0) -> None:
        super().__init__()
        self._words, self._api_key, self._timeout = [*words], key, timeout


@pytest.mark.parametrize(
    ("left", "other", "same"),
    [
        (Keyed(), Keyed(api_key="sk-2", timeout=9.0), True),
        (Keyed(), Keyed(keywords=6), False),
        (Keyed(), Keyed(letter="a"), False),
        (Keyed(), Letters(), False),
        (Keyed(work=len), Keyed(work=max), False),
        (Keyed(work=object()), Keyed(work=object()), True),
        (Private("pump"), Private("pump", key="sk-2", timeout=9.0), True),
        (Private("pump"), Private("pump", "valve"), False),
    ],
)
def test_the_identity_follows_options_and_private_state_and_neither_keys_nor_speed(
    left: Letters, other: Letters, *, same: bool
) -> None:
    assert (identity_of(left) == identity_of(other)) is same


def test_a_component_that_cannot_say_what_it_is_is_refused() -> None:
    class Silent(Letters):
        def to_dict(self, **_: Any) -> dict[str, Any]:
            raise TypeError

    with pytest.raises(ConfigurationError, match="exclude=True"):
        identity_of(Silent())


def test_a_failure_outside_of_an_ingest_is_raised_with_its_type() -> None:
    from rag_nodes.embedding import UserTransformations

    step = UserTransformations([Changing(change=lambda nodes: nodes[9])])
    with pytest.raises(TransformationError, match="Changing failed: IndexError"):
        step(PARSER(documents(1)))
