"""Evaluations for those who share a server: questions within bounds, and a few runs at a time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from rag_nodes.evaluation.columns import by_vectors, in_both_ways
from rag_nodes.evaluation.importers import documents_of, place, read_labels
from rag_nodes.evaluation.run import evaluate, recommend
from rag_nodes.parsers.isolation import cutting
from rag_nodes.processes import Leases
from rag_nodes.workspace.bounds import check_amount, check_file, check_labels, check_plan
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

__all__ = ["Evaluation", "documents_of", "evaluated", "placed", "read_questions"]

_NAME = "questions"
_AT_ONCE = Leases(2)
"""Evaluations keep a core busy for minutes; more of them wait for their turn."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What is compared, and what is measured.

    Attributes:
        choice: the parsers, and the models that embed.
        plan: budgets, sizes and search.
        vectors: names of the embeddings by which every column is searched.
        own_document: search only the document a question is about.
        in_both_ways: read every column by sentences as well.
    """

    choice: Choice
    plan: EvaluationPlan
    vectors: tuple[str, ...]
    own_document: bool = False
    in_both_ways: bool = False


def read_questions(path: Path) -> Labels:
    """The questions of a file that somebody sent.

    Raises:
        DatasetTooLargeError: it is too much.
        DatasetError: it is of no known format, or damaged.
    """
    check_file(path)
    labels = read_labels(path)
    check_labels(labels, (), path.name)
    return labels


def placed(labels: Labels, documents: Sequence[Document]) -> Dataset:
    """Questions with the places of their answers.

    Raises:
        CancelledError: whoever sent them has left; see `interruptible`.
        DatasetError: two questions have one id.
    """
    check_labels(labels, documents, _NAME)
    return place(labels, documents, _NAME)


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
        CancelledError: whoever waited for it has left; see `interruptible`.
        DatasetError: no answer has a place in the documents.
        RagNodesError: the parsers contradict themselves, or the models do not answer.
    """
    check_plan(work.plan)
    ways = len(work.vectors) * (2 if work.in_both_ways else 1)
    check_amount(dataset, ways * len(work.choice.parsers), work.plan)
    models = workspace.models(work.choice, answers=False)
    columns: Mapping[str, object] = parsers_of(work.choice, models, offer)
    given: dict[str, Any] = {
        "models": models,
        "progress": progress,
        "parse": cutting.within(CUT_SECONDS),
    }
    asked = dataset.narrowed() if work.own_document else dataset
    plan, options = work.plan, work.plan.options
    with _AT_ONCE.take("the evaluation"):
        if plan.chosen_from == "sizes":
            read = None if options.granularity == "chunks" else options.granularity
            plan = replace(plan, options=replace(options, granularity=read))
            return recommend(asked, columns, plan=plan, vectors=work.vectors, **given)
        columns = by_vectors(columns, options, work.vectors)
        if work.in_both_ways:
            columns = in_both_ways(columns, options)
        return evaluate(asked, columns, plan=plan, **given)
