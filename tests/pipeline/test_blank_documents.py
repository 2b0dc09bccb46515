"""A document without text is a failed row, and asking afterwards says what is true (S0-44)."""

from collections.abc import Iterator

import pytest
from llama_index.core import Document

from rag_nodes.compare import Comparison
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


@pytest.fixture
def comparison(store: Store, models: Models, parsers: Parsers) -> Iterator[Comparison]:
    with Comparison(store=store, models=models, columns=parsers) as made:
        yield made


def test_a_blank_document_fails_and_stops_no_other_and_asking_says_so(
    comparison: Comparison,
) -> None:
    comparison.ingest_documents([BLANK])
    answered = comparison.ask("How much does the tank hold?")
    expected = f"there is nothing to search, because nothing could be read: {REASON}"
    assert [column.error for column in answered.columns] == [expected, expected]
    report = comparison.ingest_documents([BLANK, TEA])
    assert [(one.status, one.error) for one in report.files] == [("failed", REASON), ("read", None)]
    assert all(column.answer for column in comparison.ask("How much does the tank hold?").columns)


def test_nothing_is_found_any_more_of_a_document_that_turned_blank(
    comparison: Comparison, store: Store, models: Models, parsers: Parsers
) -> None:
    ingest_documents([TEA], parsers, store, models=models)
    report = comparison.ingest_documents([Document(text="", id_="tea")])
    assert [file.status for file in report.files] == ["failed"]
    assert {store.count(comparison.collection(name)) for name in parsers} == {0}
    assert not any(column.answer for column in comparison.ask("How much is it?").columns)
