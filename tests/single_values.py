"""Every public parameter that takes several texts or paths, with a single one and what it does."""

import asyncio
import io
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest
from llama_index.core.schema import Document, MetadataMode

from rag_nodes import (
    Comparison,
    Dataset,
    EvaluationPlan,
    Filter,
    QueryOptions,
    Question,
    RagNodesQueryEngine,
    RagNodesRetriever,
    RecursiveNodeParser,
    Store,
    aingest,
    build_pipeline,
    evaluate,
    get_parser,
    ingest,
    ingest_documents,
    open_store,
    read_all,
)
from rag_nodes.apps import build_app, page
from rag_nodes.cli import main
from rag_nodes.core.settings import Settings
from rag_nodes.embedding import embedded_as
from rag_nodes.evaluation import Passage
from rag_nodes.evaluation.compare import ComparisonStream
from rag_nodes.evaluation.engines import StoredCollection, offered_columns
from rag_nodes.parsers import offered
from rag_nodes.pipeline.ledger import Ledger
from rag_nodes.pipeline.upkeep import Inventory, documents_named
from rag_nodes.query.options import asks_for_steps
from rag_nodes.readers import Exclusion, Limits, listed
from rag_nodes.store import document_vectors, query_vectors
from rag_nodes.text.extracts import extract
from rag_nodes.text.spans import Span

SPLITTER = "llama_index.core.node_parser:SentenceSplitter"
TEXTS_BY_ID = {
    "a": "# Pump\n\nThe red pump moves water. Rinse the red pump weekly.",
    "b": "# Valve\n\nThe blue pump moves air. It is rinsed daily.",
}
ASKED = [
    Document(text="## How do I rinse the pump?\n\nOpen the flap. Rinse the pump for a minute.")
]


KEYED = [Document(text="The red pump moves water.", id_="k", metadata={"dept": "hr"})]


def embedded(nodes: Any) -> list[str]:
    """What is embedded of nodes."""
    return [node.get_content(MetadataMode.EMBED) for node in nodes]


def embedded_in(store: Store, collection: str) -> list[str]:
    """What was embedded of a collection's chunks."""
    ids = [node for nodes in store.documents(collection).values() for node in nodes]
    return embedded(store.fetch(collection, ids).values())


class World:
    """Two files and two documents, which are stored in memory."""

    def __init__(self, folder: Path, leaks_collected: Callable[[], Any]) -> None:
        self.folder, self.leaks_collected = folder, leaks_collected
        for name, text in {"ab": "of ab", "a": "of a", "b": "of b"}.items():
            (folder / name).mkdir()
            (folder / name / "x.txt").write_text(text)
        self.documents = [Document(id_=key, text=text) for key, text in TEXTS_BY_ID.items()]
        self.parser = get_parser("fixed", chunk_size=200, chunk_overlap=0)
        self.comparison = Comparison({"fixed": self.parser}, documents=self.documents)
        assert self.comparison.index is not None
        self.store = self.comparison.index.store
        [self.collection] = self.store.engine.names()
        self.ids = {
            letter: next(iter(self.store.stored(self.collection, letter))) for letter in "ab"
        }
        self.ledger = Ledger(folder / "ledger.sqlite")
        ingest([folder / "ab"], {"fixed": self.parser}, open_store(), ledger=self.ledger)
        [self.path] = self.ledger.paths("default")
        [self.listed_id] = self.ledger.documents("default")
        [self.listed] = self.ledger.collections()

    def close(self) -> None:
        self.ledger.close()
        self.comparison.close()

    def left_after_delete(self, node_ids: Any) -> list[str]:
        store = open_store()
        report = ingest_documents(self.documents, {"fixed": self.parser}, store)
        store.delete(report.columns[0].collection, node_ids)
        return [*store.documents(report.columns[0].collection)]

    def read(self, result: Any) -> list[tuple[str, str]]:
        return [(str(file.path), file.document.text) for file in result]

    def decided(self, in_use: Any) -> list[str]:
        question = Question("1", "What moves?", ((Passage("a", Span(8, 34)),),))
        dataset = Dataset("pumps", tuple(self.documents), (question,))
        columns = {"words": self.parser, "whole": get_parser("page")}
        plan = EvaluationPlan(target=None, sizes=())
        return [evaluate(dataset, columns, plan=plan, in_use=in_use).decision.words]

    def embedded_of_documents(self, embed_metadata: Any) -> list[str]:
        store = open_store()
        columns = {"fixed": self.parser}
        report = ingest_documents(KEYED, columns, store, embed_metadata=embed_metadata)
        return embedded_in(store, report.columns[0].collection)

    def embedded_of_files(self, embed_metadata: Any) -> list[str]:
        path = self.folder.with_name(f"{self.folder.name}-keyed") / "note.md"
        path.parent.mkdir(exist_ok=True)
        path.write_text("---\ndept: hr\n---\n\nThe red pump moves water.")
        store = open_store()
        columns = {"fixed": self.parser}
        report = ingest(path, columns, store, embed_metadata=embed_metadata)
        return embedded_in(store, report.columns[0].collection)

    def ingested(self, report: Any) -> list[tuple[str, str]]:
        return [(file.path, file.status) for file in report.files]

    def found(self, searches: Any) -> list[str]:
        return [hit.node.ref_doc_id for hit in searches.retrieve("pump")]

    def forgotten(self, forget: Callable[[Ledger], object]) -> list[str]:
        with Ledger.scratch(self.folder / "ledger.sqlite") as copy:
            forget(copy)
            return [*copy.paths("default"), *copy.documents("default"),
                    *copy.stored(self.listed.name)] or ["nothing is left"]  # fmt: skip

    def captured_page(self, build: Callable[[], object]) -> list[Any]:
        """What a page is made of: its columns, and the documents it starts with."""
        made: list[Any] = []
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(page, "Desk", lambda _of, _example, paths: made.append(paths))
            patch.setattr(
                page, "sessions_of", lambda _settings, _changed, **given: made.append(given["own"])
            )
            patch.setattr(page, "_shell", lambda *_, **__: "")
            # There are no sessions to close.
            with self.leaks_collected(), pytest.raises(AttributeError):
                build()
        return made

    def printed(self, arguments: Any) -> str:
        said = io.StringIO()
        with redirect_stdout(said), pytest.raises(SystemExit):
            main(arguments)
        return said.getvalue()

    def streamed(self, document_ids: Any) -> list[str]:
        with ComparisonStream(self.comparison, "pump", document_ids) as stream:
            return told(stream.wait())


def told(report: Any) -> list[str]:
    """The answers of a comparison."""
    return [column.answer.text for column in report.columns]


def cases(world: World) -> dict[str, tuple[Any, Callable[[Any], Any]]]:
    """By parameter: a single value, and what is made of it."""
    comparison, parsers, store = world.comparison, {"fixed": world.parser}, world.store
    inventory = Inventory(store, world.ledger)
    [held] = inventory.collections("memory")
    return {
        "Comparison.aask(document_ids)": (
            "a",
            lambda value: told(asyncio.run(comparison.aask("pump", document_ids=value))),
        ),
        "Comparison.ask(document_ids)": (
            "a",
            lambda value: told(comparison.ask("pump", document_ids=value)),
        ),
        "Comparison.stream(document_ids)": (
            "a",
            lambda value: told(comparison.stream("pump", document_ids=value).wait()),
        ),
        "ColumnEngines.engine(document_ids)": (
            "a",
            lambda value: world.found(comparison.engine("fixed", document_ids=value)),
        ),
        "ComparisonStream(document_ids)": ("a", world.streamed),
        "Exclusion(patterns)": ("x.txt", lambda value: [Exclusion(value).leaves_out(["x.txt"])]),
        "Filter(document_ids)": ("a", lambda value: Filter(document_ids=value).conditions()),
        "Filter(heading_path)": ("Setup", lambda value: Filter(heading_path=value).conditions()),
        "Filter.within(document_ids)": ("a", lambda value: Filter().within(value).conditions()),
        "Inventory.size_of(document_ids)": ("a", lambda value: inventory.size_of(held, value)),
        "Ledger.documents(document_ids)": (
            world.listed_id,
            lambda value: world.ledger.documents("default", value),
        ),
        "Ledger.forget_documents(document_ids)": (
            world.listed_id,
            lambda value: world.forgotten(lambda ledger: ledger.forget_documents("default", value)),
        ),
        "Ledger.forget_files(paths)": (
            world.path,
            lambda value: world.forgotten(lambda ledger: ledger.forget_files("default", value)),
        ),
        "Ledger.forget_stored(document_ids)": (
            world.listed_id,
            lambda value: world.forgotten(
                lambda ledger: ledger.forget_stored(world.listed.name, value)
            ),
        ),
        "Ledger.known(paths)": (world.path, lambda value: world.ledger.known("default", value)),
        "Ledger.open(document_ids)": (
            world.listed_id,
            lambda value: world.forgotten(lambda ledger: ledger.open(world.listed.name, value)),
        ),
        "Ledger.stored(document_ids)": (
            world.listed_id,
            lambda value: world.ledger.stored(world.listed.name, value),
        ),
        "Ledger.unheld(lost)": (world.path, lambda value: world.ledger.unheld("default", value)),
        "QueryOptions(step_words)": (
            "set up",
            lambda value: asks_for_steps(
                "Set up the pump", QueryOptions(step_words=value).step_words
            ),
        ),
        "Question(within)": ("a", lambda value: [*Question("1", "?", (), within=value).within]),
        "RagNodesQueryEngine(document_ids)": (
            "a",
            lambda value: world.found(
                RagNodesQueryEngine(store=store, collection=world.collection, document_ids=value)
            ),
        ),
        "RagNodesRetriever(document_ids)": (
            "a",
            lambda value: world.found(
                RagNodesRetriever(store=store, collection=world.collection, document_ids=value)
            ),
        ),
        "RecursiveNodeParser(separators)": (
            "\n\n",
            lambda value: RecursiveNodeParser(separators=value).separators,
        ),
        "Limits(encoding)": ("cp1250", lambda value: Limits(encoding=value).encoding),
        "Settings(encoding)": ("cp1250", lambda value: Settings(encoding=value).encoding),
        "Settings(exclude)": ("x.txt", lambda value: Settings(exclude=value).exclude),
        "SpanNodeParser.split_texts(texts)": ("The pump.", world.parser.split_texts),
        "SpanNodeParser.split_texts_metadata_aware(metadata_strs)": (
            "no",
            lambda value: world.parser.split_texts_metadata_aware(["The pump."], value),
        ),
        "SpanNodeParser.split_texts_metadata_aware(texts)": (
            "The pump.",
            lambda value: world.parser.split_texts_metadata_aware(value, ["no"]),
        ),
        "Store.count_of(document_ids)": (
            "a",
            lambda value: store.count_of(world.collection, value),
        ),
        "Store.delete(node_ids)": (world.ids["a"], world.left_after_delete),
        "Store.fetch(node_ids)": (
            world.ids["a"],
            lambda value: [*store.fetch(world.collection, value)],
        ),
        "Store.select(keys)": ("doc_id", lambda value: store.select(world.collection, None, value)),
        "Store.vectors(node_ids)": (
            world.ids["a"],
            lambda value: store.vectors(world.collection, value),
        ),
        "Store.vectors_of(document_ids)": (
            "a",
            lambda value: [*store.vectors_of(world.collection, value)],
        ),
        "StoredCollection.nodes_of(document_ids)": (
            "a",
            lambda value: [
                node.text for node in StoredCollection(store, world.collection).nodes_of(value)
            ],
        ),
        "aingest(paths)": (
            "ab",
            lambda value: world.ingested(asyncio.run(aingest(value, parsers, open_store()))),
        ),
        "build_app(columns)": (
            SPLITTER,
            lambda value: world.captured_page(lambda: build_app(columns=value)),
        ),
        "build_app(documents)": (
            "ab",
            lambda value: world.captured_page(lambda: build_app(documents=value)),
        ),
        "build_pipeline(embed_metadata)": (
            "dept",
            lambda value: embedded(
                build_pipeline("fixed", embed_metadata=value).run(documents=KEYED)
            ),
        ),
        "embedded_as(metadata)": (
            "dept",
            lambda value: [step.to_dict() for step in embedded_as("heading", [], metadata=value)],
        ),
        "ingest(embed_metadata)": ("dept", world.embedded_of_files),
        "ingest_documents(embed_metadata)": ("dept", world.embedded_of_documents),
        "documents_named(words)": (
            "ab/x.txt",
            lambda value: documents_named(
                "default", value, inventory.documents("default", inventory.collections("default"))
            ),
        ),
        "evaluate(in_use)": ("words", world.decided),
        "extract(passages)": (
            "The red pump moves water.",
            lambda value: extract("What moves water?", value),
        ),
        "ingest(exclude)": (
            "x.txt",
            lambda value: [ingest(["ab", "a"], parsers, open_store(), exclude=value).excluded],
        ),
        "document_vectors(texts)": ("red pump", lambda value: list(document_vectors(value)[0])),
        "query_vectors(texts)": ("red pump", lambda value: list(query_vectors(value)[0])),
        "ingest(paths)": ("ab", lambda value: world.ingested(ingest(value, parsers, open_store()))),
        "listed(paths)": ("ab", lambda value: [file.path for file in listed(value)]),
        "main(arguments)": ("--version", world.printed),
        "offered(foreign)": (SPLITTER, lambda value: [*offered(value)]),
        "offered_columns(columns)": (SPLITTER, lambda value: [*offered_columns(value)]),
        "read_all(exclude)": (
            "a",
            lambda value: world.read(read_all(["ab", "a", "b"], exclude=value)),
        ),
        "read_all(paths)": ("ab", lambda value: world.read(read_all(value))),
    }
