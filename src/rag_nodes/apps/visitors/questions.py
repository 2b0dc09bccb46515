"""The labelled questions of one visitor, whoever made them: a file, a program, or by hand."""

from __future__ import annotations

import hashlib
import threading
from dataclasses import replace
from typing import TYPE_CHECKING

from rag_nodes.core.errors import DatasetError
from rag_nodes.core.metadata import display_name
from rag_nodes.evaluation.dataset import Dataset, Question
from rag_nodes.evaluation.drafts import draft_questions
from rag_nodes.evaluation.importers import place, read_labels
from rag_nodes.evaluation.metrics import Passage
from rag_nodes.operations.workspace.limits import (
    MOST_PASSAGES,
    check_file,
    check_labels,
    check_questions,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from llama_index.core.schema import Document

    from rag_nodes.evaluation.dataset import Answer
    from rag_nodes.text.spans import Span

_NAME = "your questions"
OF_THE_EXAMPLE = (
    "When do quiet hours begin?",
    "At which oil pressure must an engine of the Heron be stopped?",
    "What does fault code N-11 mean?",
)
_EXAMPLE = "ferry.pdf"
_MOST_CHARACTERS = 90
"""Length of a suggestion: a longer question fits no button."""


class Questions:
    """Questions with gold in the documents that are loaded; safe from any thread.

    A dataset never changes: whoever took `dataset` goes on with the one it got.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._dataset: Dataset | None = None
        self._marked: Answer = ()

    def __len__(self) -> int:
        """Return the number of questions."""
        dataset = self._dataset
        return len(dataset.questions) if dataset else 0

    @property
    def dataset(self) -> Dataset | None:
        """All of them with their documents; None while there was never one."""
        return self._dataset

    @property
    def accepted(self) -> int:
        """Questions that somebody asked or accepted."""
        return self._dataset.accepted if self._dataset else 0

    @property
    def marked(self) -> Answer:
        """Passages marked as the answer of a question that nobody has typed yet, in their order."""
        return self._marked

    def mark(self, passage: Passage) -> None:
        """Mark one more; those it overlaps become one with it.

        Raises:
            DatasetError: there are too many.
        """
        with self._lock:
            marked = joined([*self._marked, passage])
            if len(marked) > MOST_PASSAGES:
                raise DatasetError(
                    f"a question takes {MOST_PASSAGES} passages: take one back, or ask about less"
                )
            self._marked = marked

    def unmark(self, position: int | None = None) -> None:
        """Take a mark back.

        Args:
            position: of the passage, counted from 0; None for all of them.
        """
        with self._lock:
            kept = enumerate(self._marked) if position is not None else ()
            self._marked = tuple(passage for number, passage in kept if number != position)

    def take(self, dataset: Dataset) -> Dataset:
        """Add the questions of a file, and its list of those that could not be located.

        A question replaces the known one with the same words and answer, or with the same id and
        either of both. A question that only has the id of another, as when two sheets number their
        rows, gets a new id.

        Returns:
            What is there now.

        Raises:
            DatasetTooLargeError: there are too many.
        """
        with self._lock:
            before = self._dataset
            if before is None or not (before.questions or before.not_located):
                return self._keep(dataset)
            questions = _together(before.questions, dataset.questions)
            asked = {question.text for question in questions}
            lost = [missing for missing in before.not_located if missing.text not in asked]
            unplaced = tuple(dict.fromkeys([*lost, *dataset.not_located]))
            name = before.name if before.name == dataset.name else _NAME
            return self._keep(Dataset(name, before.documents, questions, unplaced))

    def add(self, questions: Iterable[Question], documents: Sequence[Document]) -> Dataset:
        """Take further ones; one with an id that is known takes the place of that one.

        Args:
            questions: with gold in the documents.
            documents: all that are loaded; used where there is no dataset yet.

        Returns:
            What is there now.

        Raises:
            DatasetError: gold lies outside its document.
            DatasetTooLargeError: there are too many.
        """
        with self._lock:
            before = self._dataset or Dataset(_NAME, tuple(documents), ())
            by_id = {question.id: question for question in before.questions}
            by_id.update((question.id, question) for question in questions)
            return self._keep(replace(before, questions=tuple(by_id.values())))

    def change(self, question: str, change: Callable[[Question], Question]) -> Question | None:
        """Replace one question by what `change` makes of it, in its place.

        Returns:
            What it is now; None where there is none of that id.

        Raises:
            DatasetError: what was made of it has no gold, or gold outside its document.
        """
        with self._lock:
            asked = self._found(question)
            if self._dataset is None or asked is None:
                return None
            changed = change(asked)
            kept = tuple(changed if other is asked else other for other in self._dataset.questions)
            self._keep(replace(self._dataset, questions=kept))
            return changed

    def remove(self, question: str) -> Question | None:
        """Take one out.

        Returns:
            What it was; None where there is none of that id.
        """
        with self._lock:
            removed = self._found(question)
            if self._dataset is not None and removed is not None:
                kept = tuple(other for other in self._dataset.questions if other is not removed)
                self._keep(replace(self._dataset, questions=kept))
            return removed

    def keep(self, documents: Sequence[Document]) -> None:
        """Forget the questions whose answers are not all in these documents, which are loaded now.

        Marks are forgotten if one of them is in another document.
        """
        loaded = {document.id_ for document in documents}
        with self._lock:
            if not _documents_of([self._marked]) <= loaded:
                self._marked = ()
            if self._dataset is not None:
                kept = tuple(question for question in self._dataset.questions
                             if _documents_of(question.gold) <= loaded)  # fmt: skip
                self._dataset = replace(self._dataset, documents=tuple(documents), questions=kept)

    def clear(self) -> None:
        """Forget all, as where other documents are loaded."""
        with self._lock:
            self._dataset, self._marked = None, ()

    def _keep(self, dataset: Dataset) -> Dataset:
        """Under the lock."""
        check_questions(len(dataset.questions), dataset.name)
        self._dataset = dataset
        return dataset

    def _found(self, question: str) -> Question | None:
        questions = self._dataset.questions if self._dataset else ()
        return next((asked for asked in questions if asked.id == question), None)


def read_questions(path: Path, documents: Sequence[Document]) -> Dataset:
    """The questions of a file over the loaded documents.

    Raises:
        DatasetError: no documents are loaded, or the file is too large or no questions.
    """
    if not documents:
        raise DatasetError("load the documents first; answers are looked up in them")
    check_file(path)
    labels = read_labels(path)
    check_labels(labels, documents, path.name)
    return place(labels, documents, path.stem)


def labelled(text: str, gold: tuple[Answer, ...]) -> Question:
    """A question somebody has labelled; the same words about the same passages have the same id."""
    places = "".join(
        f"\n{passage.document} {passage.span}" for answer in gold for passage in answer
    )
    digest = hashlib.sha256(f"{text}{places}".encode("utf-8", "replace"))
    return Question(f"own-{digest.hexdigest()[:10]}", text, gold)


def joined(passages: Iterable[Passage]) -> Answer:
    """The passages with those that overlap or touch made one, in the order of the first of each."""
    answer: list[Passage] = []
    for passage in passages:
        document, span = passage
        at = len(answer)
        for position in reversed(range(len(answer))):
            other = answer[position]
            if other.document == document and _touch(other.span, span):
                span, at = span.union(other.span), position
                del answer[position]
        answer.insert(at, Passage(document, span))
    return tuple(answer)


def _together(before: Sequence[Question], added: Sequence[Question]) -> tuple[Question, ...]:
    """Both, each question once and under an id of its own."""
    by_id = {question.id: question for question in before}
    ids = {(question.text, question.gold): question.id for question in before}
    for question in added:
        own = replace(question, id=ids.get((question.text, question.gold), question.id))
        number = 1
        while (other := by_id.get(own.id)) and other.text != own.text and other.gold != own.gold:
            number += 1
            own = replace(question, id=f"{question.id} ({number})")
        by_id[own.id] = own
    return tuple(by_id.values())


def _documents_of(answers: Iterable[Answer]) -> set[str]:
    return {passage.document for answer in answers for passage in answer}


def _touch(span: Span, other: Span) -> bool:
    return span.start <= other.end and other.start <= span.end


def suggested_questions(documents: Sequence[Document], count: int) -> list[str]:
    """Headings of the documents that are questions; none where none is."""
    if len(documents) == 1 and display_name(documents[0].metadata) == _EXAMPLE:
        return list(OF_THE_EXAMPLE)
    try:
        drafts = draft_questions(documents, count=2 * count).questions
    except DatasetError:
        return []
    return [draft.text for draft in drafts if len(draft.text) <= _MOST_CHARACTERS][:count]
