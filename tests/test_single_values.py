"""A single text or path stands for itself wherever several are taken, and a text is a path."""

import ast
import asyncio
import inspect
import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import pytest
from llama_index.core.schema import Document, MetadataMode

import rag_nodes
from rag_nodes import (
    Comparison,
    Dataset,
    EvaluationPlan,
    EvaluationReport,
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
    join_pages,
    load_dataset,
    open_store,
    read,
    read_all,
)
from rag_nodes.apps import build_app, page
from rag_nodes.core.settings import Settings
from rag_nodes.evaluation import Passage
from rag_nodes.evaluation.drafts import draft_questions
from rag_nodes.query.options import asks_for_steps
from rag_nodes.readers import Limits
from rag_nodes.store import document_vectors, query_vectors
from rag_nodes.store.exporting import export_folder
from rag_nodes.text.spans import Span

ROOT = Path(__file__).parents[1]
LABELS = ROOT / "examples" / "corpus" / "ferry_questions.csv"
FERRY = ROOT / "examples" / "corpus" / "ferry.pdf"
SPLITTER = "llama_index.core.node_parser:SentenceSplitter"
PARSER = get_parser("fixed", chunk_size=200, chunk_overlap=0)
PARSERS = {"fixed": PARSER}
PUMPS = [
    Document(id_="a", text="# Pump\n\nThe red pump moves water. Rinse the red pump weekly."),
    Document(id_="b", text="# Valve\n\nThe blue pump moves air. It is rinsed daily."),
]
KEYED = [Document(text="The red pump moves water.", id_="k", metadata={"dept": "hr"})]
MOVES = Question("1", "What moves?", ((Passage("a", Span(8, 34)),),))
RESULTS = {"Answer", "Citation", "EvaluationReport", "IngestReport", "Operation"}
"""Whose fields no caller sets."""
OF_OTHERS = {"EngineCollection.delete", "EngineCollection.read", "EngineCollection.select",
             "RagNodesVectorStore.delete_nodes", "RagNodesVectorStore.get_nodes"}  # fmt: skip
"""What stores alone ask of an engine, and what LlamaIndex declares."""
WRITTEN_BY_IMPORTERS = {"Dataset(notes)", "Dataset(repeats)"}
FIELDS = {"Limits(encoding)", "Settings(encoding)", "Settings(exclude)",
          "RecursiveNodeParser(separators)"}  # fmt: skip
"""Of classes that are in no reference, or whose signature does not tell."""
_SEVERAL = {"Collection", "Iterable", "Iterator", "Sequence", "list", "set", "tuple"}
PATHS = {"Path", "PathLike"}
TEXTS = {"str", *PATHS}


class Parameter(NamedTuple):
    """A public parameter: what single values it takes, and of what it takes several."""

    name: str
    singles: set[str]
    elements: set[str]


def documented_functions() -> Iterator[tuple[str, Any]]:
    """Every function, and constructor and method of a class, in the reference of the API."""
    pages = (path.read_text() for path in (ROOT / "docs" / "reference" / "api").glob("*.md"))
    entries = [entry for text in pages for entry in re.findall("(?m)^::: (.+)$", text)]
    for entry in dict.fromkeys([*entries, *(f"rag_nodes.{name}" for name in rag_nodes.__all__)]):
        module, _, name = entry.rpartition(".")
        public = getattr(import_module(module), name)
        if inspect.isfunction(public):
            yield name, public
        elif inspect.isclass(public) and not issubclass(public, BaseException):
            yield name, public
            for method, function in inspect.getmembers(public, inspect.isfunction):
                if not method.startswith("_") and function.__module__.startswith("rag_nodes"):
                    yield function.__qualname__, inspect.unwrap(function)


def public_parameters() -> list[Parameter]:
    parameters = {}
    for name, function in documented_functions():
        for parameter in inspect.signature(function).parameters.values():
            key, annotation = f"{name}({parameter.name})", parameter.annotation
            if isinstance(annotation, str):  # of a field of pydantic it is a type
                members = _members(ast.parse(annotation, mode="eval").body)
                names = {_name_of(part) for member in members for part in _elements(member)}
                parameters[key] = Parameter(key, set(map(_name_of, members)), names)
    return list(parameters.values())


def _members(annotation: ast.expr) -> list[ast.expr]:
    """The members of a union."""
    if isinstance(annotation, ast.BinOp):
        return [*_members(annotation.left), *_members(annotation.right)]
    return [annotation]


def _elements(member: ast.expr) -> list[ast.expr]:
    if not isinstance(member, ast.Subscript) or _name_of(member) not in _SEVERAL:
        return []
    parts = member.slice.elts if isinstance(member.slice, ast.Tuple) else [member.slice]
    return [element for part in parts for element in _members(part)]


def _name_of(annotation: ast.expr) -> str:
    named = annotation.value if isinstance(annotation, ast.Subscript) else annotation
    return ast.unparse(named).rpartition(".")[2]


def parameters_for_several() -> set[str]:
    """The public parameters of which callers may give several texts or paths."""
    names = {parameter.name for parameter in public_parameters() if parameter.elements & TEXTS}
    ours = RESULTS | OF_OTHERS
    return {name for name in names if name.partition("(")[0] not in ours} - WRITTEN_BY_IMPORTERS


def embedded_texts(nodes: Any) -> list[str]:
    return [node.get_content(MetadataMode.EMBED) for node in nodes]


class World:
    """Files of the folder that the tests are in, and two documents that are stored in memory."""

    def __init__(self, folder: Path, leaks_collected: Callable[[], Any]) -> None:
        self.folder, self.leaks_collected = folder, leaks_collected
        for name, text in {"ab": "of ab", "a": "of a", "b": "of b"}.items():
            (folder / name).mkdir()
            (folder / name / "x.txt").write_text(text)
        (folder / "keyed.md").write_text("---\ndept: hr\n---\n\nThe red pump moves water.")
        self.comparison = Comparison(PARSERS, documents=PUMPS)
        assert self.comparison.index is not None
        self.store = self.comparison.index.store
        [self.collection] = self.store.engine.names()
        self.chunk = next(iter(self.store.stored(self.collection, "a")))

    def left_after_delete(self, node_ids: Any) -> list[str]:
        store = open_store()
        [column] = ingest_documents(PUMPS, PARSERS, store).columns
        store.delete(column.collection, node_ids)
        return [*store.documents(column.collection)]

    def exported(self, collections: Any) -> list[str]:
        with TemporaryDirectory() as folder:
            reports = export_folder(self.store, folder, collections)
        return [report.collection for report in reports]

    def of_store(self, read_of: Callable[[Store, str, Any], Any]) -> Callable[[Any], Any]:
        return lambda value: read_of(self.store, self.collection, value)

    def decided(self, in_use: Any) -> list[str]:
        columns = {"words": PARSER, "whole": get_parser("page")}
        plan = EvaluationPlan(target=None, sizes=())
        dataset = Dataset("pumps", tuple(PUMPS), (MOVES,))
        return [evaluate(dataset, columns, plan=plan, in_use=in_use).decision.words]

    def embedded_by(self, ingested: Callable[..., Any], given: Any, keys: Any) -> list[str]:
        store = open_store()
        [column] = ingested(given, PARSERS, store, embed_metadata=keys).columns
        ids = [node for nodes in store.documents(column.collection).values() for node in nodes]
        return embedded_texts(store.fetch(column.collection, ids).values())

    def documents_found(self, searches: Callable[..., Any], document_ids: Any) -> list[str]:
        place = {"store": self.store, "collection": self.collection}
        hits = searches(**place, document_ids=document_ids).retrieve("pump")
        return [hit.node.ref_doc_id for hit in hits]

    def captured_page(self, **given: Any) -> list[Any]:
        """What a page is made of: its columns, and the documents it starts with."""
        opened: list[Any] = []
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(page, "Desk", lambda _of, _example, paths: opened.append(paths))
            patch.setattr(
                page,
                "sessions_of",
                lambda _settings, _changed, **given: opened.append(given["own"]),
            )
            patch.setattr(page, "_shell", lambda *_, **__: "")
            # There are no sessions to close.
            with self.leaks_collected(), pytest.raises(AttributeError):
                build_app(**given)
        return opened


def texts(results: Any) -> list[tuple[str, str]]:
    return [(str(file.path), file.document.text) for file in results]


def files(report: Any) -> list[tuple[str, str]]:
    return [(file.path, file.status) for file in report.files]


def answers_of(report: Any) -> list[str]:
    """The answers of a comparison."""
    return [column.answer.text for column in report.columns]


def cases(world: World) -> dict[str, tuple[Any, Callable[[Any], Any]]]:
    """By parameter: a single value, and what is made of it."""
    compared, chunk = world.comparison, world.chunk
    return {
        "Comparison.aask(document_ids)": (
            "a", lambda value: answers_of(asyncio.run(compared.aask("pump", document_ids=value)))),
        "Comparison.ask(document_ids)": (
            "a", lambda value: answers_of(compared.ask("pump", document_ids=value))),
        "Comparison.stream(document_ids)": (
            "a", lambda value: answers_of(compared.stream("pump", document_ids=value).wait())),
        "ColumnEngines.engine(document_ids)": (
            "a", lambda value: compared.engine("fixed", document_ids=value).retrieve("red")),
        "Filter(document_ids)": ("a", lambda value: Filter(document_ids=value).conditions()),
        "Filter(heading_path)": ("Setup", lambda value: Filter(heading_path=value).conditions()),
        "Filter.within(document_ids)": ("a", lambda value: Filter().within(value).conditions()),
        "Limits(encoding)": ("cp1250", lambda value: Limits(encoding=value).encoding),
        "QueryOptions(step_words)": (
            "set up",
            lambda value: asks_for_steps("Set up it", QueryOptions(step_words=value).step_words)),
        "Question(within)": ("a", lambda value: [*Question("1", "?", (), within=value).within]),
        "RagNodesQueryEngine(document_ids)": (
            "a", lambda value: world.documents_found(RagNodesQueryEngine, value)),
        "RagNodesRetriever(document_ids)": (
            "a", lambda value: world.documents_found(RagNodesRetriever, value)),
        "RecursiveNodeParser(separators)": (
            "\n\n", lambda value: RecursiveNodeParser(separators=value).separators),
        "Settings(encoding)": ("cp1250", lambda value: Settings(encoding=value).encoding),
        "Settings(exclude)": ("x.txt", lambda value: Settings(exclude=value).exclude),
        "SpanNodeParser.split_texts(texts)": ("The pump.", PARSER.split_texts),
        "SpanNodeParser.split_texts_metadata_aware(metadata_strs)": (
            "no", lambda value: PARSER.split_texts_metadata_aware(["The pump."], value)),
        "SpanNodeParser.split_texts_metadata_aware(texts)": (
            "The pump.", lambda value: PARSER.split_texts_metadata_aware(value, ["no"])),
        "Store.count_of(document_ids)": ("a", world.of_store(Store.count_of)),
        "Store.delete(node_ids)": (chunk, world.left_after_delete),
        "Store.fetch(node_ids)": (chunk, world.of_store(lambda *args: [*Store.fetch(*args)])),
        "Store.select(keys)": (
            "doc_id", world.of_store(lambda store, name, keys: store.select(name, None, keys))),
        "Store.vectors(node_ids)": (chunk, world.of_store(Store.vectors)),
        "Store.vectors_of(document_ids)": (
            "a", world.of_store(lambda *args: [*Store.vectors_of(*args)])),
        "aingest(paths)": (
            "ab", lambda value: files(asyncio.run(aingest(value, PARSERS, open_store())))),
        "build_app(columns)": (SPLITTER, lambda value: world.captured_page(columns=value)),
        "build_app(documents)": ("ab", lambda value: world.captured_page(documents=value)),
        "build_pipeline(embed_metadata)": (
            "dept",
            lambda value: embedded_texts(
                build_pipeline("fixed", embed_metadata=value).run(documents=KEYED)
            )),
        "document_vectors(texts)": ("red pump", lambda value: list(document_vectors(value)[0])),
        "evaluate(in_use)": ("words", world.decided),
        "export_folder(collections)": (world.collection, world.exported),
        "ingest(embed_metadata)": (
            "dept", lambda value: world.embedded_by(ingest, "keyed.md", value)),
        "ingest(exclude)": (
            "x.txt", lambda v: [ingest(["ab", "a"], PARSERS, open_store(), exclude=v).excluded]),
        "ingest(paths)": ("ab", lambda value: files(ingest(value, PARSERS, open_store()))),
        "ingest_documents(embed_metadata)": (
            "dept", lambda value: world.embedded_by(ingest_documents, KEYED, value)),
        "query_vectors(texts)": ("red pump", lambda value: list(query_vectors(value)[0])),
        "read_all(exclude)": (
            "a", lambda value: texts(read_all(["ab", "a", "b"], exclude=value))),
        "read_all(paths)": ("ab", lambda value: texts(read_all(value))),
    }  # fmt: skip


@pytest.fixture(scope="module")
def world(
    tmp_path_factory: pytest.TempPathFactory,
    leaks_collected: Callable[[], AbstractContextManager[None]],
) -> Iterator[World]:
    opened = World(tmp_path_factory.mktemp("world"), leaks_collected)
    yield opened
    opened.comparison.close()


@pytest.fixture(autouse=True)
def _in_the_folder(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(world.folder)


def test_every_public_parameter_for_several_texts_takes_a_single_one(world: World) -> None:
    assert sorted({*cases(world)} - FIELDS) == sorted(parameters_for_several())
    several_only = {
        parameter.name for parameter in public_parameters()
        if parameter.elements & TEXTS and not parameter.elements & TEXTS <= parameter.singles
    }  # fmt: skip
    assert several_only & parameters_for_several() == set(), "its annotation does not say so"


def test_every_public_parameter_for_several_documents_says_that_it_takes_a_single_one() -> None:
    takers = {
        parameter.name
        for parameter in public_parameters()
        if "Document" in parameter.elements - parameter.singles
    }
    as_in_llama_index = {
        f"AtomicIngestionPipeline{method}(documents)" for method in (".run", ".arun")
    }
    tuples = {"Dataset(documents)", "Dataset.about(documents)"}
    assert takers - as_in_llama_index == tuples


def test_a_single_text_does_what_a_list_of_it_does(world: World) -> None:
    different = {}
    for name, (single, call) in cases(world).items():
        alone, listed = call(single), call([single])
        if listed != (tuple(alone) if isinstance(listed, tuple) else alone) or not listed:
            different[name] = alone, listed
    assert different == {}


def test_patterns_may_come_from_an_iterator() -> None:
    read = texts(read_all(".", exclude=iter(["a"])))
    report = ingest(".", PARSERS, open_store(), exclude=iter(["a"]))
    assert (len(read), len(report.files)) == (3, 3)


def test_a_path_of_two_letters_reads_neither_of_the_folders_they_name() -> None:
    assert texts(read_all("ab")) == [("ab/x.txt", "of ab")]


TAKE_DOCUMENTS: dict[str, Callable[[Any], Any]] = {
    "draft_questions": lambda documents: draft_questions(documents).questions,
    "join_pages": join_pages,
    "load_dataset": lambda documents: load_dataset(LABELS, documents).not_located,
}


@pytest.mark.parametrize("name", TAKE_DOCUMENTS)
def test_a_single_document_does_what_a_list_of_it_does(name: str) -> None:
    document = Document(
        text="## How do I rinse the pump?\n\nOpen the flap. Rinse for a minute now."
    )
    call = TAKE_DOCUMENTS[name]
    assert call(document) == call([document])
    assert call(document)


def test_a_path_may_be_a_text(tmp_path: Path) -> None:
    report = evaluate(
        Dataset("pumps", tuple(PUMPS), (MOVES,)),
        PARSERS,
        plan=EvaluationPlan(target=None, sizes=()),
    )
    saved = tmp_path / "report.json"
    saved.write_text(report.to_json())
    assert EvaluationReport.load(str(saved)) == EvaluationReport.load(saved)
    assert load_dataset(str(LABELS), read(str(FERRY))).questions


def test_every_public_parameter_for_a_path_says_that_it_takes_a_text() -> None:
    paths_only = {
        parameter.name for parameter in public_parameters()
        if parameter.singles & PATHS and "str" not in parameter.singles
    }  # fmt: skip
    assert {name for name in paths_only if name.partition("(")[0] not in RESULTS} == set()
