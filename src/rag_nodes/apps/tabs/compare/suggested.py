"""Questions that are suggested about the loaded documents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rag_nodes.errors import DatasetError
from rag_nodes.evaluation.drafts import DRAFT_KINDS, QUESTIONS, draft_questions
from rag_nodes.metadata import display_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from llama_index.core.schema import Document

OF_THE_EXAMPLE = (
    "When do quiet hours begin?",
    "At which oil pressure must an engine of the Heron be stopped?",
    "What is to be done at fault code E-13?",
)
_EXAMPLE = "ferry.pdf"
_MOST_CHARACTERS = 90
"""Of a suggestion: a longer one fits no button."""


def suggested_questions(documents: Sequence[Document], count: int) -> list[str]:
    """Questions of the documents' own headings and definitions, or their headings as searches.

    Args:
        documents: that are loaded.
        count: questions at most.
    """
    if len(documents) == 1 and display_name(documents[0].metadata) == _EXAMPLE:
        return list(OF_THE_EXAMPLE)
    found: list[str] = []
    for kinds in (QUESTIONS, DRAFT_KINDS):
        try:
            drafts = draft_questions(documents, count=2 * count, kinds=kinds)
        except DatasetError:
            continue
        texts = (one.text for one in drafts.questions)
        found += [text for text in texts if len(text) <= _MOST_CHARACTERS and text not in found]
        if len(found) >= count:
            break
    return found[:count]
