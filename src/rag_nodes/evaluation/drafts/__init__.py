"""Questions where there are none yet: drafts, which are material to accept and choose nothing.

`draft_questions` makes them of the documents' own words, `write_questions` lets an LLM write them
and tries each. How long answers are decides which setting a ranking puts first, so a person says it
of each question that is accepted; before that, `rag_nodes.evaluation.drafts.probes` rank.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import zip_longest
from typing import TYPE_CHECKING

from rag_nodes.errors import ConfigurationError, DatasetError
from rag_nodes.evaluation.dataset import Dataset, Question
from rag_nodes.evaluation.drafts.kinds import DRAFT_KINDS, QUESTIONS, DraftKind, drafts_of
from rag_nodes.evaluation.drafts.probes import MOST_PLACES, Place, copies, drafted, evenly
from rag_nodes.evaluation.drafts.sections import Page
from rag_nodes.evaluation.drafts.written import write_questions
from rag_nodes.evaluation.metrics import Passage
from rag_nodes.several import several
from rag_nodes.text.languages import content_words

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from llama_index.core.schema import Document

    from rag_nodes.evaluation.drafts.kinds import Draft

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
_MANY = 3
"""Documents with all words of a heading, from which it says too little of which is meant."""
_OF_A_TABLE = 5
"""Rows asked about of one table."""
_REMEDY = "label passages, about a minute each, or let an LLM draft"


def draft_questions(
    documents: Document | Sequence[Document],
    *,
    count: int = COUNT,
    kinds: DraftKind | Collection[DraftKind] = QUESTIONS,
    seed: int = 0,
) -> Dataset:
    r"""Questions about documents that read as a person's, each with the exact place of its answer.

    Made of headings that are questions or say what is done, of definitions, of numbers of days and
    of tables that explain names, in English and German; in other languages of headings that are
    questions alone. The kind "phrase" is headings as somebody might type them into a search, in any
    language. What has two answers is not asked, and copies of an answer are alternatives.
    Instructions give 30 to 150 questions, reports and handbooks 1 to 10, speech none.

    Args:
        documents: what is asked about, each with an id of its own; or a single one.
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
    given: Sequence[Document] = several(documents)
    asked: Collection[str] = several(kinds)
    unknown = [kind for kind in asked if kind not in DRAFT_KINDS]
    if unknown or not asked:
        raise ConfigurationError(
            f"drafts of the kind {', '.join(unknown) or 'none'}: choose among "
            f"{', '.join(DRAFT_KINDS)}"
        )
    if count < 1:
        raise ConfigurationError(f"count={count}: at least 1 question must be drafted")
    wanted = tuple(kind for kind in DRAFT_KINDS if kind in asked)
    found = [
        (number, one)
        for number, document in enumerate(given)
        for one in drafts_of(Page(document), wanted)
    ]
    questions = _merged(found, given)
    if not questions:
        raise DatasetError(
            f"nothing in {len(given)} document(s) could be asked about without a model, "
            f"{_as_few(wanted)}: {_REMEDY}"
        )
    chosen = set(_spread(questions, count, seed))
    return Dataset("drafts", tuple(given), tuple(one for one in questions if one in chosen))


def fewer(
    drafts: Dataset,
    count: int,
    kinds: DraftKind | Iterable[DraftKind] = QUESTIONS,
    *,
    remedy: str = _REMEDY,
) -> str:
    """Why there are fewer drafts than asked for, and what to do; "" where there are as many."""
    found = len(drafts.questions)
    if found >= count:
        return ""
    places = f"{found} place{'' if found == 1 else 's'}"
    return f"Only {places} can be asked about without a model, {_as_few(several(kinds))}: {remedy}"


def _as_few(kinds: Iterable[DraftKind]) -> str:
    if set(kinds) == set(QUESTIONS):
        return "as few headings say what is done and few sentences define something"
    return f"as few places are of the kind {', '.join(kinds)}"


def _merged(found: Sequence[tuple[int, Draft]], documents: Sequence[Document]) -> list[Question]:
    """Each question once, where one thing answers it; copies of the answer are alternatives."""
    texts = [document.text for document in documents]
    said = [set(content_words(text)) for text in texts] if len(texts) >= _MANY else []
    groups: dict[str, list[tuple[int, Draft]]] = defaultdict(list)
    for number, one in found:
        groups[(one.label or one.text).casefold()].append((number, one))
    kept, taken, rows = list[tuple[Place, Question]](), set[Place](), Counter[tuple[int, int]]()
    for group in groups.values():
        number, first = group[0]
        quotes = {
            " ".join(one.span.of(texts[at]).split()): Place(at, one.span) for at, one in group
        }
        own = set(content_words(first.text)) if first.kind in ("asked", "howto") else set()
        is_vague = own and sum(own <= one for one in said) >= _MANY
        if is_vague or (len(quotes) > 1 and first.kind != "definition"):
            continue  # which one is meant?
        if first.table is not None:
            rows[number, first.table] += 1
            if rows[number, first.table] > _OF_A_TABLE:
                continue
        places = [one for place in quotes.values() for one in copies(place, texts)]
        if places and len(places) <= MOST_PLACES and taken.isdisjoint(places):
            taken.update(places)
            gold = tuple((Passage(documents[at].id_, span),) for at, span in places)
            quote = first.span.of(texts[number])
            kept.append((places[0], drafted(first.text, quote, gold, first.kind)))
    return [one for _, one in sorted(kept, key=lambda one: (one[0], one[1].id))]


def _spread(questions: Iterable[Question], count: int, seed: int) -> list[Question]:
    """At most so many; kinds take turns, and of each those that lie far apart go first."""
    by_kind: dict[str, list[Question]] = {kind: [] for kind in DRAFT_KINDS}
    for one in questions:
        by_kind[one.kind].append(one)
    turns = zip_longest(
        *([each[at] for at in evenly(len(each), seed)] for each in by_kind.values())
    )
    return [one for turn in turns for one in turn if one is not None][:count]
