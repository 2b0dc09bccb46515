"""The labelled questions of one visitor, whoever made them: a file, a program, or by hand."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import TYPE_CHECKING

from rag_nodes.errors import DatasetError
from rag_nodes.evaluation.dataset import Dataset

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from llama_index.core.schema import Document

    from rag_nodes.evaluation.dataset import Question

MOST_QUESTIONS = 1000
"""Questions one visitor may keep: the memory is everybody's."""
_NAME = "your questions"


class Questions:
    """Questions with gold in the documents that are loaded; safe from any thread.

    A dataset never changes: whoever took `dataset` goes on with the one it got.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._dataset: Dataset | None = None

    def __len__(self) -> int:
        """How many there are."""
        dataset = self._dataset
        return len(dataset.questions) if dataset else 0

    @property
    def dataset(self) -> Dataset | None:
        """All of them with their documents; None while there was never one."""
        return self._dataset

    def use(self, dataset: Dataset) -> None:
        """Take these in place of whatever was there.

        Raises:
            DatasetError: there are too many.
        """
        with self._lock:
            self._dataset = _bounded(dataset)

    def add(self, questions: Iterable[Question], documents: Sequence[Document]) -> Dataset:
        """Take further ones; one with an id that is known takes the place of that one.

        Args:
            questions: with gold in the documents.
            documents: all that are loaded; used where there is no dataset yet.

        Returns:
            What is there now.

        Raises:
            DatasetError: there are too many, or gold lies outside its document.
        """
        with self._lock:
            before = self._dataset or Dataset(_NAME, tuple(documents), ())
            known = {one.id: one for one in before.questions}
            known.update((one.id, one) for one in questions)
            self._dataset = _bounded(replace(before, questions=tuple(known.values())))
            return self._dataset

    def change(self, question: str, change: Callable[[Question], Question]) -> Question | None:
        """Replace one question by what `change` makes of it, in its place.

        Returns:
            What it is now; None where there is none of that id.

        Raises:
            DatasetError: what was made of it has no gold, or gold outside its document.
        """
        with self._lock:
            found = self._found(question)
            if self._dataset is None or found is None:
                return None
            changed = change(found)
            kept = tuple(changed if one is found else one for one in self._dataset.questions)
            self._dataset = replace(self._dataset, questions=kept)
            return changed

    def remove(self, question: str) -> Question | None:
        """Take one out.

        Returns:
            What it was; None where there is none of that id.
        """
        with self._lock:
            found = self._found(question)
            if self._dataset is not None and found is not None:
                kept = tuple(one for one in self._dataset.questions if one is not found)
                self._dataset = replace(self._dataset, questions=kept)
            return found

    def clear(self) -> None:
        """Forget all, as where other documents are loaded."""
        with self._lock:
            self._dataset = None

    def _found(self, question: str) -> Question | None:
        known = self._dataset.questions if self._dataset else ()
        return next((one for one in known if one.id == question), None)


def _bounded(dataset: Dataset) -> Dataset:
    if len(dataset.questions) > MOST_QUESTIONS:
        raise DatasetError(
            f"{dataset.name}: {len(dataset.questions):,} questions are more than the "
            f"{MOST_QUESTIONS:,} one visitor may keep here; take fewer, or use "
            "`rag-nodes evaluate`, which has no such limit"
        )
    return dataset
