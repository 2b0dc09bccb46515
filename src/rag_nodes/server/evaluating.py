"""Evaluations for those who share a server: how much of one there may be, and how it is run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rag_nodes.errors import DatasetError
from rag_nodes.evaluation.importers import documents_of, read_labels
from rag_nodes.evaluation.importers.placing import place
from rag_nodes.evaluation.run import evaluate
from rag_nodes.parsers.isolation.parent import cutting
from rag_nodes.processes import Leases
from rag_nodes.server.failures import too_large
from rag_nodes.workspace.questions import MOST_QUESTIONS
from rag_nodes.workspace.workspace import CUT_SECONDS, parsers_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from llama_index.core.schema import Document

    from rag_nodes.evaluation.dataset import Dataset
    from rag_nodes.evaluation.importers.labels import Labels
    from rag_nodes.evaluation.plan import EvaluationPlan, Step
    from rag_nodes.evaluation.report import EvaluationReport
    from rag_nodes.parsers import Preset
    from rag_nodes.workspace import Choice, Workspace

__all__ = [
    "MOST_QUESTIONS",
    "MOST_QUOTE",
    "Evaluation",
    "check_length",
    "documents_of",
    "evaluated",
    "placed",
    "read_questions",
]

MOST_QUOTE = 5_000
"""Characters of one quoted answer."""
MOST_ASKED = 20_000
"""Questions of all rows of an evaluation together."""
MOST_MEASURED = 20_000_000
"""Characters of all documents in all rows together."""
_MOST_QUOTES = 5_000
"""Quotes of all questions together."""
_MOST_COMPARED = 5 * 10**11
"""Characters of all quotes times those of the documents in which they are looked for."""
_MOST_YAML = 500_000
"""Bytes of a file that takes a minute to be read where it has megabytes."""
_AT_ONCE = Leases(2)
"""Evaluations keep a core busy for minutes; more of them wait for their turn."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What is compared, and what is measured.

    Attributes:
        choice: the parsers, and the models that embed.
        plan: budgets, sizes and search.
        own_document: search only the document a question is about.
    """

    choice: Choice
    plan: EvaluationPlan
    own_document: bool = False


def read_questions(path: Path) -> Labels:
    """The questions of a file that somebody sent.

    Raises:
        ApiError: it is too much.
        DatasetError: it is of no known format, or damaged.
    """
    if path.suffix.lower() in (".yaml", ".yml") and path.stat().st_size > _MOST_YAML:
        raise too_large(f"questions in YAML have at most {_MOST_YAML:,} bytes")
    labels = read_labels(path)
    _check_questions(labels)
    return labels


def placed(labels: Labels, documents: Sequence[Document]) -> Dataset:
    """Questions with the places of their answers.

    Raises:
        ApiError: it is too much.
        CancelledError: whoever sent them has left; see `interruptible`.
        DatasetError: two questions have one id.
    """
    _check_questions(labels)
    quoted = sum(len(quote) for quote in _quotes(labels))
    if quoted * sum(len(document.text) for document in documents) > _MOST_COMPARED:
        raise too_large(f"{quoted:,} quoted characters are too many to look up in these documents")
    return place(labels, documents, "questions")


def check_length(documents: Sequence[Document], rows: int = 1) -> None:
    """Refuse more text than can be worked on while somebody waits.

    Args:
        documents: all there are.
        rows: how often they are worked on.

    Raises:
        ApiError: it is too much.
    """
    characters = rows * sum(len(document.text) for document in documents)
    if characters > MOST_MEASURED:
        raise too_large(
            f"the documents, {rows} times, have {characters:,} characters, more than "
            f"{MOST_MEASURED:,}"
        )


def evaluated(
    workspace: Workspace,
    dataset: Dataset,
    work: Evaluation,
    offer: Mapping[str, Preset] | None,
    progress: Callable[[Step], None],
) -> EvaluationReport:
    """The report of an evaluation in a store of its own, which is gone afterwards.

    Args:
        workspace: whose models embed.
        dataset: documents and questions.
        work: what is compared and measured.
        offer: parsers that may be named; None for presets and plug-ins.
        progress: hears of every step.

    Raises:
        ApiError: it is too much.
        CancelledError: whoever waited for it has left; see `interruptible`.
        DatasetError: no answer has a place in the documents.
        RagNodesError: the parsers contradict themselves, or the models do not answer.
    """
    if dataset.unplaced and not dataset.questions:
        raise DatasetError(
            f"no answer has a place in the documents; the first one: {dataset.unplaced[0].reason}"
        )
    _check_amount(dataset, work)
    models = workspace.models(work.choice, answers=False)
    columns = parsers_of(work.choice, models, offer)
    with _AT_ONCE.take("the evaluation"):
        return evaluate(
            dataset.narrowed() if work.own_document else dataset,
            columns,
            plan=work.plan,
            models=models,
            progress=progress,
            parse=cutting.within(CUT_SECONDS),
        )


def _quotes(labels: Labels) -> list[str]:
    return [quote.text for one in labels.questions for answer in one.gold for quote in answer]


def _check_questions(labels: Labels) -> None:
    """Refuse more questions and longer answers than can be looked up while somebody waits."""
    if len(labels.questions) > MOST_QUESTIONS:
        raise too_large(f"{len(labels.questions):,} questions are more than {MOST_QUESTIONS:,}")
    quotes = _quotes(labels)
    if len(quotes) > _MOST_QUOTES:
        raise too_large(f"{len(quotes):,} quoted answers are more than {_MOST_QUOTES:,}")
    longest = max(map(len, quotes), default=0)
    if longest > MOST_QUOTE:
        raise too_large(f"a quoted answer of {longest:,} characters has more than {MOST_QUOTE:,}")


def _check_amount(dataset: Dataset, work: Evaluation) -> None:
    """Refuse more rows of questions and of text than can be measured while somebody waits."""
    each = 1 + len(work.plan.sizes) + bool(work.plan.target)
    rows = len(work.choice.parsers) * each + 1  # and the control
    asked = rows * len(dataset.questions)
    if asked > MOST_ASKED:
        raise too_large(
            f"{len(dataset.questions):,} questions in {rows} rows are {asked:,}, more than "
            f"{MOST_ASKED:,}"
        )
    check_length(dataset.documents, rows)
