"""Questions where there are none yet: drafts, which are material to accept and choose nothing.

`draft_questions` makes them of the documents' own words, `write_questions` lets an LLM write them
and tries each. How long answers are decides which setting a ranking puts first, so a person says it
of each question that is accepted; before that, `rag_nodes.evaluation.drafts.probes` rank.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rag_nodes.errors import ConfigurationError, DatasetError
from rag_nodes.evaluation.dataset import Dataset
from rag_nodes.evaluation.drafts.choose import merged, spread
from rag_nodes.evaluation.drafts.kinds import DRAFT_KINDS, QUESTIONS, DraftKind, drafts_of
from rag_nodes.evaluation.drafts.sections import Page
from rag_nodes.evaluation.drafts.written import write_questions

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from llama_index.core.schema import Document

__all__ = [
    "COUNT",
    "DRAFT_KINDS",
    "QUESTIONS",
    "DraftKind",
    "draft_questions",
    "fewer",
    "write_questions",
]

COUNT = 40
"""Questions that are drafted unless told otherwise."""
_REMEDY = (
    "take headings as search phrases (kind phrase), label passages, about a minute each, or let an "
    "LLM draft"
)


def draft_questions(
    documents: Sequence[Document],
    *,
    count: int = COUNT,
    kinds: Collection[DraftKind] = QUESTIONS,
    seed: int = 0,
) -> Dataset:
    r"""Questions about documents that read as a person's, each with the exact place of its answer.

    Made of headings that are questions or say what is done, of definitions, of numbers of days and
    of tables that explain names, in English and German; in other languages of headings that are
    questions alone. The kind "phrase" is headings as somebody might type them into a search, in any
    language. What has two answers is not asked, and copies of an answer are alternatives.
    Instructions give 30 to 150 questions, reports and handbooks 1 to 10, speech none.

    Args:
        documents: what is asked about, each with an id of its own.
        count: questions at most; see `fewer`.
        kinds: of which places.
        seed: other questions for another number, where there are more than `count`.

    Returns:
        A dataset of drafts (`Question.draft`), in the order of the documents.

    Raises:
        ConfigurationError: a kind is unknown, or nothing is asked for.
        DatasetError: nothing in the documents can be asked about.

    Examples:
        >>> from rag_nodes.evaluation.drafts import draft_questions
        >>> from llama_index.core import Document
        >>> text = "## How do I rinse the pump?\n\nOpen the tap and let it run for a full minute."
        >>> [question] = draft_questions([Document(text=text)]).questions
        >>> question.text, question.gold[0][0].span
        ('How do I rinse the pump?', Span(start=29, end=75))
    """
    unknown = [kind for kind in kinds if kind not in DRAFT_KINDS]
    if unknown or not kinds:
        raise ConfigurationError(
            f"drafts of the kind {', '.join(unknown) or 'none'}: choose among "
            f"{', '.join(DRAFT_KINDS)}"
        )
    if count < 1:
        raise ConfigurationError(f"count={count}: at least 1 question must be drafted")
    wanted = tuple(kind for kind in DRAFT_KINDS if kind in kinds)
    found = [
        (number, one)
        for number, document in enumerate(documents)
        for one in drafts_of(Page(document), wanted)
    ]
    questions = merged(found, documents)
    if not questions:
        raise DatasetError(
            f"nothing in {len(documents)} document(s) could be asked about without a model, as "
            f"they have few headings that say what is done and few definitions: {_REMEDY}"
        )
    chosen = set(spread(questions, count, seed))
    return Dataset("drafts", tuple(documents), tuple(one for one in questions if one in chosen))


def fewer(drafts: Dataset, count: int) -> str:
    """Why there are fewer drafts than asked for, and what to do; "" where there are as many."""
    if len(drafts.questions) >= count:
        return ""
    return (
        f"Only {len(drafts.questions)} places can be asked about without a model, as few headings "
        f"say what is done and few sentences define something: {_REMEDY}."
    )
