"""Checks of a set of questions, before anything is measured with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from rag_nodes.text.languages import content_words
from rag_nodes.text.tokens import count_tokens

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rag_nodes.evaluation.dataset import Dataset, NotLocated, Question

Problem = Literal[
    "not located", "found nearly", "other page", "duplicate", "leakage", "too long", "no words"
]
LEAKED = 0.8
"""Share of a question's content words in its gold from which a search by words finds it unaided."""
_NAMED = 3
"""Content words from which a question does more than name what it asks about: "What is a keel?" can
be asked in no other words."""
LARGEST = 2_000
"""Tokens of gold that no chunk of a size people use can hold."""
DRAFTED = "drafts cannot choose"
"""Verdict on a ranking by drafts; see `benchmarks/first_choice.py`."""
PROBED = "keywords of passages are not questions"
"""Verdict on a ranking by keywords."""
ACCEPT = "accept those that people would ask, or write about 20 of your own"
"""Advice for a better ranking."""
_SURE = 0.999
"""Confidence below which a quote is shown for review; 1 is an exact match."""


@dataclass(frozen=True, slots=True)
class Concern:
    """Something about a question that somebody should look at.

    Attributes:
        question: the id of the question.
        problem: what is wrong with it.
        detail: the same in words, with what to do.
    """

    question: str
    problem: Problem
    detail: str


@dataclass(frozen=True, slots=True)
class Check:
    """Result of checking a set of questions.

    Questions that share most of their words with the answer flatter search by words.

    Attributes:
        questions: number of questions that can be measured with.
        documents: number of documents they are about.
        drafts: number of questions made by a program and accepted by nobody yet.
        leakage: share of a question's content words that its answer has too, on average.
        concerns: one per thing to look at.
    """

    questions: int
    documents: int
    drafts: int
    leakage: float
    concerns: tuple[Concern, ...]

    @property
    def is_sound(self) -> bool:
        """Nothing is lost or counted twice; leakage and long answers are only worth knowing."""
        return not any(concern.problem in ("not located", "duplicate") for concern in self.concerns)


def _not_located(question: NotLocated) -> str:
    """Return why an answer was not located, with its quote if it has one."""
    return f"{question.reason} (quote: '{question.quote}')" if question.quote else question.reason


def check_dataset(dataset: Dataset) -> Check:
    """Look for questions that cannot be located, are asked twice, leak or are too long."""
    shares = [leakage(question, dataset) for question in dataset.questions]
    concerns = [
        *(
            Concern(question.id, "not located", _not_located(question))
            for question in dataset.not_located
        ),
        *_duplicates(dataset),
    ]
    for question, share in zip(dataset.questions, shares, strict=True):
        concerns += (Concern(question.id, *pair) for pair in _of_one(question, share, dataset))
    known_shares = [share for share in shares if share is not None]
    return Check(
        questions=len(dataset.questions),
        documents=len(dataset.documents),
        drafts=sum(question.draft for question in dataset.questions),
        leakage=sum(known_shares) / len(known_shares) if known_shares else 0.0,
        concerns=tuple(concerns),
    )


def leakage(question: Question, dataset: Dataset) -> float | None:
    """Share of the question's content words that its gold has too; None without such words."""
    asked = set(content_words(question.text))
    if not asked:
        return None
    gold = " ".join(dataset.quote(passage) for passage in question.gold[0])
    return len(asked & set(content_words(gold))) / len(asked)


def _duplicates(dataset: Dataset) -> Iterator[Concern]:
    """Questions in the same words; those after the first are named."""
    gold = {question.id: {*question.gold} for question in dataset.questions}
    for other, first in dataset.asked_again.items():
        remedy = "keep one of them"
        if gold[other] != gold[first]:
            remedy = (
                "their answers differ, so both would count: give both the same id if an answer "
                "needs both passages, else keep one of them"
            )
        yield Concern(other, "duplicate", f"asks what '{first}' asks; {remedy}")


def _of_one(
    question: Question, share: float | None, dataset: Dataset
) -> Iterator[tuple[Problem, str]]:
    if question.confidence < _SURE:
        like, quote = f"{question.confidence:.0%}", dataset.quote(question.gold[0][0])
        yield "found nearly", f"{like} like what was quoted; is this what is meant? '{quote}'"
    if question.off_page:
        yield "other page", question.off_page
    if share is None:
        yield "no words", "has no content words to search for; ask in full"
    elif share >= LEAKED and not _names_only(question):
        yield (
            "leakage",
            f"{share:.0%} of its words are in the answer; ask as one who has not read it",
        )
    quotes = (dataset.quote(passage) for answer in question.gold for passage in answer)
    if (longest := max(map(count_tokens, quotes))) > LARGEST:
        yield "too long", f"an answer of {longest} tokens fits no chunk; quote less of it"


def _names_only(question: Question) -> bool:
    """Return True if a question consists of the name of what it asks about."""
    return len(set(content_words(question.text))) < _NAMED
