"""A document without text is a failed row, and asking afterwards says what is true (S0-44)."""

from llama_index.core import Document

from rag_nodes.evaluation.compare import Comparison
from rag_nodes.models import Models
from rag_nodes.parsers import SpanNodeParser
from rag_nodes.pipeline import ingest_documents
from rag_nodes.store import Store

BLANK = Document(text=" \n\t ", id_="blank", metadata={"source": "https://tea.test/blank"})
TEA = Document(text="The tank holds nine litres.", id_="tea")
REASON = (
    "https://tea.test/blank: the document has no text, so nothing of it is stored; "
    "check what made it"
)
Parsers = dict[str, SpanNodeParser]


def test_a_blank_document_fails_and_stops_no_other_and_asking_says_so(
    models: Models, parsers: Parsers
) -> None:
    with Comparison(parsers, documents=BLANK, models=models) as comparison:
        answered = comparison.ask("How much does the tank hold?")
    expected = f"there is nothing to search, because nothing could be read: {REASON}"
    assert [column.error for column in answered.columns] == [expected, expected]
    with Comparison(parsers, documents=[BLANK, TEA], models=models) as comparison:
        rows = [(file.status, file.error, [*file.columns]) for file in comparison.loaded.files]
        answered = comparison.ask("How much does the tank hold?")
    assert rows == [("failed", REASON, []), ("read", None, [*parsers])]
    assert all(column.answer for column in answered.columns)


def test_nothing_is_found_any_more_of_a_document_that_turned_blank(
    store: Store, models: Models, parsers: Parsers
) -> None:
    ingest_documents([TEA], parsers, store, models=models)
    report = ingest_documents([Document(text="", id_="tea")], parsers, store, models=models)
    assert [file.status for file in report.files] == ["failed"]
    assert {store.count(column.collection) for column in report.columns} == {0}
