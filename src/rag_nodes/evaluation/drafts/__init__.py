"""Questions where there are none yet: drafts, which somebody should look at.

`draft_questions` makes them of the documents' own words, `write_questions` lets an LLM write them
and tries each. Made of the documents alone, they share more words with their answers than people's
questions do: `rag_nodes.evaluation.checks.check_dataset` says how many.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rag_nodes.errors import ConfigurationError, DatasetError
from rag_nodes.evaluation.dataset import Dataset
from rag_nodes.evaluation.drafts.offline import OfflineDrafts
from rag_nodes.evaluation.drafts.places import DRAFT_KINDS, DraftKind
from rag_nodes.evaluation.drafts.written import WritingCost, write_questions, writing_cost

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from llama_index.core.schema import Document

__all__ = [
    "COUNT",
    "DRAFT_KINDS",
    "DraftKind",
    "WritingCost",
    "draft_questions",
    "write_questions",
    "writing_cost",
]

COUNT = 50
"""Questions that are drafted unless told otherwise."""


def draft_questions(
    documents: Sequence[Document],
    *,
    count: int = COUNT,
    kinds: Collection[DraftKind] = DRAFT_KINDS,
    seed: int = 0,
) -> Dataset:
    r"""Questions about documents, made of their headings, definitions, lists, tables, sentences.

    Longer documents get more, each part of a document its share, and kinds take turns. What answers
    is an exact span; where the same words stand in several places each of them answers, and what
    stands all over is not asked about. The same documents and seed give the same questions.

    Args:
        documents: what is asked about, each with an id of its own.
        count: questions at most; short documents give fewer.
        kinds: of which places.
        seed: other places for another number.

    Returns:
        A dataset of drafts (`Question.draft`).

    Raises:
        ConfigurationError: a kind is unknown, or nothing is asked for.
        DatasetError: nothing in the documents can be asked about.

    Example:
        >>> from llama_index.core import Document
        >>> text = "# Quiet hours\n\nNobody may run the washing machine between ten and six."
        >>> [question] = draft_questions([Document(text=text)], kinds=["heading"]).questions
        >>> question.text, question.gold[0][0].span
        ('What do I need to know about Quiet hours?', Span(start=15, end=70))
    """
    check_asked(count, kinds)
    questions = OfflineDrafts(documents, kinds, seed).questions(count)
    if not questions:
        raise DatasetError(
            f"nothing in {len(documents)} document(s) could be asked about; they hold too little "
            "prose, or none of the kinds asked for: write questions, or let an LLM draft them"
        )
    return Dataset("drafts", tuple(documents), tuple(questions))


def check_asked(count: int, kinds: Collection[str]) -> None:
    """Refuse what cannot be drafted.

    Raises:
        ConfigurationError: a kind is unknown, or nothing is asked for.
    """
    unknown = [kind for kind in kinds if kind not in DRAFT_KINDS]
    if unknown or not kinds:
        raise ConfigurationError(
            f"drafts of the kind {', '.join(unknown) or 'none'}: choose among "
            f"{', '.join(DRAFT_KINDS)}"
        )
    if count < 1:
        raise ConfigurationError(f"count={count}: at least 1 question must be drafted")
