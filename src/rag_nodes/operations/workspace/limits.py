"""Limits on the work of one visitor of a shared server, on the page, over REST and over MCP."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rag_nodes.core.errors import DatasetTooLargeError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from llama_index.core.schema import Document

    from rag_nodes.evaluation.dataset import Dataset
    from rag_nodes.evaluation.importers.formats import Labels
    from rag_nodes.evaluation.plan import EvaluationPlan

MOST_QUESTIONS = 1000
"""Questions one visitor may keep: the memory is everybody's."""
MOST_PASSAGES = 20
"""Passages of an answer, and answers to a question; of more, none is sure to be the answer."""
MOST_QUOTES = 5_000
"""Quotes of all questions together."""
MOST_QUOTE = 5_000
"""Characters of one quote."""
MOST_COMPARED = 5 * 10**11
"""Characters of all quotes times those of the documents in which they are looked for."""
MOST_BYTES = 10_000_000
"""Bytes of a file of questions: it is read in this process."""
MOST_ANSWERS = 20_000
"""Questions times rows: each answer of a row takes some 4 KB until the run has ended."""
MOST_CHARACTERS = 20_000_000
"""Characters of all documents times rows: all of them are split, embedded and searched."""
FILE_SECONDS = 30.0
"""Seconds that reading a file may take at most; large ones get more."""
MAX_KEPT_BYTES = 20 * 1024**2
"""Bytes of a visitor's PDFs that are kept in memory, for the boxes of what is cited."""
MEMORY = ":memory:"
"""The store of whoever leaves nothing behind."""
LARGEST = 100_000
"""The most that a number of tokens or characters may be that somebody sends."""
_ELSEWHERE = "or run `rag-nodes evaluate` on a computer of your own, which has no such limit"


def check_file(path: Path) -> None:
    """Refuse a file of questions that takes long to read.

    Raises:
        DatasetTooLargeError: it does.
    """
    if path.stat().st_size > MOST_BYTES:
        raise DatasetTooLargeError(
            f"{path.name} is over {MOST_BYTES / 1_000_000:g} MB; send fewer questions, without "
            f"the texts of their documents, {_ELSEWHERE}"
        )


def check_labels(labels: Labels, documents: Sequence[Document], name: str) -> None:
    """Refuse more than can be looked up while others wait.

    Args:
        labels: questions of a file.
        documents: in which their quotes will be looked for.
        name: of the file.

    Raises:
        DatasetTooLargeError: it is too much; says how much is not.
    """
    quotes = [
        len(quote.text)
        for question in labels.questions
        for answer in question.gold
        for quote in answer
    ]
    check_questions(len(labels.questions), name)
    for number, most, what in (
        (len(quotes), MOST_QUOTES, "quotes"),
        (max(quotes, default=0), MOST_QUOTE, "characters in one quote"),
    ):
        if number > most:
            raise DatasetTooLargeError(
                f"{name} has {number:,} {what}, over the {most:,} of one visitor; send fewer, "
                f"{_ELSEWHERE}"
            )
    if sum(quotes) * sum(len(document.text) for document in documents) > MOST_COMPARED:
        raise DatasetTooLargeError(
            f"{name} quotes {sum(quotes):,} characters, too many to look up in these documents; "
            f"send fewer questions or documents, {_ELSEWHERE}"
        )


def check_questions(number: int, name: str) -> None:
    """Refuse more questions than one visitor may keep.

    Raises:
        DatasetTooLargeError: there are.
    """
    if number > MOST_QUESTIONS:
        raise DatasetTooLargeError(
            f"{name} has {number:,} questions, over the {MOST_QUESTIONS:,} of one visitor; take "
            f"fewer, {_ELSEWHERE}"
        )


def check_amount(dataset: Dataset, columns: int, plan: EvaluationPlan) -> None:
    """Refuse what one visitor may not have measured beside the others.

    Raises:
        DatasetError: there is no question, or none has a place in the documents.
        DatasetTooLargeError: too much is to be measured.
    """
    dataset.check_asked()
    rows, questions = rows_of(columns, plan), len(dataset.questions)
    if rows * questions > MOST_ANSWERS:
        raise DatasetTooLargeError(
            f"{questions:,} questions in {rows:,} rows are {rows * questions:,} answers to judge, "
            f"over the {MOST_ANSWERS:,} of one visitor; take fewer sizes, parsers or questions, "
            f"{_ELSEWHERE}"
        )
    check_documents(dataset.documents, rows)


def check_documents(documents: Sequence[Document], rows: int = 1) -> None:
    """Refuse more text than can be worked on while others wait.

    Args:
        documents: all there are.
        rows: how often they are worked on.

    Raises:
        DatasetTooLargeError: it is too much.
    """
    characters = sum(len(document.text) for document in documents)
    if rows * characters > MOST_CHARACTERS:
        raise DatasetTooLargeError(
            f"{characters:,} characters in {rows:,} rows are {rows * characters:,} to split and "
            f"search, over the {MOST_CHARACTERS:,} of one visitor; take fewer sizes, parsers or "
            f"documents, {_ELSEWHERE}"
        )


def rows_of(columns: int, plan: EvaluationPlan) -> int:
    """Rows that are measured at most; LlamaIndex's splitter is one where sizes are tried."""
    return columns * (1 + len(plan.sizes) + bool(plan.target)) + bool(plan.sizes)
