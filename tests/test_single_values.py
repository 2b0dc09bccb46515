"""A single text or path stands for itself wherever several are taken, and a text is a path."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from llama_index.core.schema import Document
from public_signatures import PATHS, TEXTS, public_parameters
from single_values import ASKED, World, cases

from rag_nodes import (
    Dataset,
    EvaluationPlan,
    EvaluationReport,
    Question,
    evaluate,
    get_parser,
    ingest,
    load_dataset,
    open_store,
    read,
    read_all,
)
from rag_nodes.core.errors import FileTooLargeError
from rag_nodes.evaluation import Passage
from rag_nodes.evaluation.drafts import draft_questions
from rag_nodes.evaluation.engines import Placing
from rag_nodes.evaluation.importers import place, read_labels
from rag_nodes.models.kept import KeptAnswers
from rag_nodes.pipeline.ledger import Ledger
from rag_nodes.readers import (
    Limits,
    Reading,
    build_document,
    join_pages,
    pages_of_one_file,
    readings,
)
from rag_nodes.readers.html import read_html
from rag_nodes.readers.pdf import read_pdf
from rag_nodes.text.spans import Span

MADE_BY_US = {
    *("CandidateSentence", "Citation", "CollectionStatus", "DocsReport", "EvaluationReport"),
    *("DocumentsReport", "IngestReport", "Operation", "ReadResult", "Reading", "Repeated"),
}
"""Results, whose fields no caller sets."""
CALLED_BY_US = {"EngineCollection.delete", "EngineCollection.read", "EngineCollection.select",
                "FoundStore.fetch", "Exclusion.below", "Exclusion.leaves_out",
                "Exclusion.leaves_out_any"}  # fmt: skip
"""What `Store` alone asks of an engine, what finds nothing by id, and parts of a path."""
TYPED = {"Settings(encoding)", "Settings(exclude)"}
"""Settings that are read from a text with commas, whatever their annotation says."""


@pytest.fixture(scope="module")
def world(
    tmp_path_factory: pytest.TempPathFactory,
    leaks_collected: Callable[[], AbstractContextManager[None]],
) -> Iterator[World]:
    made = World(tmp_path_factory.mktemp("world"), leaks_collected)
    yield made
    made.close()


@pytest.fixture(autouse=True)
def _in_the_folder(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(world.folder)


def taken_by_callers(elements: set[str]) -> set[str]:
    """The public parameters of which callers may give several values of such a type."""
    ours = MADE_BY_US | CALLED_BY_US
    named = (parameter for parameter in public_parameters() if parameter.elements & elements)
    names = {
        collection.name for collection in named if collection.name.partition("(")[0] not in ours
    }
    return names - {"Dataset(notes)"}  # which importers alone write


def test_every_public_parameter_for_several_texts_is_tried_with_a_single_one(world: World) -> None:
    assert sorted(cases(world)) == sorted(taken_by_callers(TEXTS))


def test_every_public_parameter_for_several_texts_says_that_it_takes_a_single_one() -> None:
    several_only = {
        parameter.name
        for parameter in public_parameters()
        if parameter.elements & TEXTS and not parameter.elements & TEXTS <= parameter.singles
    }
    assert several_only & taken_by_callers(TEXTS) == TYPED


def test_every_public_parameter_for_several_documents_says_that_it_takes_a_single_one() -> None:
    takers = (
        parameter
        for parameter in public_parameters()
        if "Document" in parameter.elements - parameter.singles
    )
    as_in_llama_index = {
        f"AtomicIngestionPipeline{method}(documents)" for method in ("", ".run", ".arun")
    }
    names = {taker.name for taker in takers} - as_in_llama_index
    assert names == {"Dataset(documents)", "Dataset.about(documents)"}, "it takes a tuple"


EXAMPLES = Path(__file__).parents[1] / "examples" / "corpus"
TAKE_DOCUMENTS: dict[str, Callable[[Any], Any]] = {
    "Placing": lambda documents: Placing(documents).documents,
    "draft_questions": lambda documents: draft_questions(documents).questions,
    "join_pages": join_pages,
    "load_dataset": lambda documents: (
        load_dataset(EXAMPLES / "ferry_questions.csv", documents).not_located
    ),
    "pages_of_one_file": pages_of_one_file,
    "place": lambda documents: (
        place(read_labels(EXAMPLES / "ferry_questions.csv"), documents, "ferry").documents
    ),
}


@pytest.mark.parametrize("name", TAKE_DOCUMENTS)
def test_a_single_document_does_what_a_list_of_it_does(name: str) -> None:
    call, [document] = TAKE_DOCUMENTS[name], ASKED
    assert call(document) == call([document])
    assert call(document)


def test_a_single_text_does_what_a_list_of_it_does(world: World) -> None:
    different = {}
    for name, (single, call) in cases(world).items():
        alone, listed = call(single), call([single])
        if listed != (tuple(alone) if isinstance(listed, tuple) else alone) or not listed:
            different[name] = alone, listed
    assert different == {}


def test_patterns_may_come_from_an_iterator(world: World) -> None:
    roots, parsers = ".", {"fixed": PARSER}
    ways: list[Callable[[Iterator[str]], list[Any]]] = [
        lambda exclude: world.read(read_all(roots, exclude=exclude)),
        lambda exclude: world.ingested(ingest(roots, parsers, open_store(), exclude=exclude)),
    ]
    assert [len(way(iter(["a"]))) for way in ways] == [2, 2]


def test_a_path_of_two_letters_reads_neither_of_the_folders_they_name(world: World) -> None:
    assert world.read(read_all("ab")) == [("ab/x.txt", "of ab")]


def saved_report(folder: Path) -> Path:
    document = Document(id_="a", text="The red pump moves water.")
    question = Question("1", "What moves?", ((Passage("a", Span(0, 12)),),))
    plan = EvaluationPlan(target=None, sizes=())
    report = evaluate(Dataset("pumps", (document,), (question,)), {"fixed": PARSER}, plan=plan)
    path = folder / "report.json"
    path.write_text(report.to_json())
    return path


def web_page(folder: Path) -> Path:
    path = folder / "page.html"
    path.write_text("<h1>Pump</h1><p>It moves water.</p>")
    return path


PARSER = get_parser("fixed", chunk_size=200, chunk_overlap=0)
TAKE_PATHS: dict[str, tuple[Callable[[Path], Path], Callable[[Any], Any]]] = {
    "EvaluationReport.load": (saved_report, lambda path: EvaluationReport.load(path).to_json()),
    "Ledger.scratch": (
        lambda folder: folder / "none.sqlite", lambda path: _entered(Ledger.scratch(path))),
    "Limits.check": (
        web_page, lambda path: _refused(lambda: Limits(pages=1).check(path, 2, "pages"))),
    "KeptAnswers": (lambda folder: folder / "texts", lambda path: KeptAnswers(path).path),
    "build_document": (
        lambda folder: folder / "a.txt", lambda path: build_document(path, Reading(text="a")).id_),
    "load_dataset": (
        lambda _: EXAMPLES / "ferry_questions.csv",
        lambda path: len(load_dataset(path, [read(EXAMPLES / "ferry.pdf")]).questions)),
    "read_html": (web_page, lambda path: read_html(path, Limits()).text),
    "read_labels": (lambda _: EXAMPLES / "ferry_questions.csv", read_labels),
    "read_pdf": (lambda _: EXAMPLES / "ferry.pdf", lambda path: read_pdf(path, Limits()).text),
    "readings": (web_page, lambda path: [reading.text for reading in readings(path)]),
}  # fmt: skip


def _entered(scratch: AbstractContextManager[Ledger]) -> list[str]:
    with scratch as ledger:
        return [*ledger.paths("default"), "opened"]


def _refused(check: Callable[[], None]) -> str:
    with pytest.raises(FileTooLargeError) as refusal:
        check()
    return str(refusal.value)


@pytest.mark.parametrize("name", TAKE_PATHS)
def test_a_path_may_be_a_text(name: str, tmp_path: Path) -> None:
    make, call = TAKE_PATHS[name]
    path = make(tmp_path)
    assert call(str(path)) == call(path)
    assert call(str(path))


def test_every_public_parameter_for_a_path_says_that_it_takes_a_text() -> None:
    paths_only = {
        parameter.name.partition("(")[0]
        for parameter in public_parameters()
        if parameter.singles & PATHS and "str" not in parameter.singles
    }
    assert paths_only - MADE_BY_US == set()
