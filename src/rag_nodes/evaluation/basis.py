"""Sentences on what a report rests on, and on what was left out of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rag_nodes.core.spelling import counted
from rag_nodes.evaluation.wording import some_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rag_nodes.evaluation.dataset import Dataset
    from rag_nodes.evaluation.report import Row

NOT_MEASURABLE = "not measurable"
"""Beginning of the error of a row whose chunks cannot be located."""


def basis(
    questions: int, documents: int, unaccepted: int = 0, repeats: Sequence[str] = ()
) -> Iterator[str]:
    """Describe the basis of a result, and which drafts and repeated questions were left out."""
    about_them = "one document" if documents == 1 else f"{documents:,} documents"
    yield f"Based on {counted(questions, 'question')} about {about_them}."
    if unaccepted:
        were = "was" if unaccepted == 1 else "were"
        yield f"{counted(unaccepted, 'draft')} that nobody has accepted {were} left out."
    if repeats:
        were = "that repeats another was" if len(repeats) == 1 else "that repeat others were"
        yield f"{counted(len(repeats), 'question')} {were} left out ({some_of(repeats)})."


def asked_twice(dataset: Dataset) -> Iterator[str]:
    """Name questions in the words of another that count all the same, as their answers differ."""
    if asked_again := dataset.asked_again:
        repeat = "repeats" if len(asked_again) == 1 else "repeat"
        yield (
            f"{some_of([*asked_again])} {repeat} a question with another answer, and both count. "
            "Give both the same id if an answer needs both passages."
        )


def unused(dataset: Dataset) -> Iterator[str]:
    """Count the questions that nothing was measured with, and name them by reason."""
    entries = len(dataset.questions) + len(dataset.not_located) + len(dataset.repeats)
    entries += dataset.unaccepted + sum(dataset.left_out.values())
    reasons: dict[str, list[str]] = {}
    for question in dataset.not_located:
        reasons.setdefault(question.reason, []).append(question.id)
    if reasons:
        were = "was" if len(dataset.not_located) == 1 else "were"
        start = f"{len(dataset.not_located):,} of {counted(entries, 'question')} {were} left out"
        if len(reasons) > 1:
            yield f"{start}:"
        for reason, ids in reasons.items():
            about = some_of(ids) if len(reasons) > 1 else f"{start} ({some_of(ids)})"
            yield f"{about}: {_as_sentence(reason)}"
    for reason, count in dataset.left_out.items():
        were = "was" if count == 1 else "were"
        of_all = f"{count:,} of {counted(entries, 'entry')} of the file {were} left out"
        yield f"{of_all}: {_as_sentence(reason)}"


def _as_sentence(words: str) -> str:
    return words if words.endswith((".", "?", "!")) else f"{words}."


def lost(row: Row) -> Iterator[str]:
    """Describe what a column loses: chunks not located, documents changed since the ingest."""
    if row.error and row.error.startswith(NOT_MEASURABLE):
        yield f"{row.name} is {row.error}, so it has no score."
        return
    chunks, recovery = row.chunks.chunks, row.cost.recovery
    lost = round(chunks * (1 - (1 if recovery is None else recovery)))
    if lost:
        yield f"{row.name} {not_located(lost, chunks)}; they are read and score nothing."
    if outdated := row.cost.outdated:
        yield (
            f"{row.name}: the collection holds another version of {counted(outdated, 'document')}, "
            "whose chunks were looked for by their text; ingest the documents again with "
            "rag-nodes ingest and evaluate again."
        )


def not_located(chunks: int, total: int) -> str:
    """Say how many chunks of a column have no known location."""
    return f"cannot be located: {chunks:,} of {total:,} chunks"
