"""Documents, and questions whose answers are known as characters of these documents.

One set of labels scores any parser: what a chunk is worth is counted in the characters of the
answer that it holds.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import cached_property
from textwrap import shorten
from typing import TYPE_CHECKING

from rag_nodes.core.errors import DatasetError
from rag_nodes.core.keywords import checks_keywords
from rag_nodes.core.metadata import display_name
from rag_nodes.core.several import several, several_nodes
from rag_nodes.evaluation.metrics import Passage
from rag_nodes.text.spans import trimmed

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from llama_index.core.schema import Document

Answer = tuple[Passage, ...]
"""Passages that answer a question together: all of them are wanted."""


@checks_keywords
@dataclass(frozen=True, slots=True)
class Question:
    """A question with its gold, and an id that is unique in its dataset.

    Attributes:
        gold: answers, each of which is enough; the first is the one people are shown.
        kind: what sort of question it is, such as "fact" or "table"; "" where nobody said.
        within: ids of the documents that are searched; None for all.
        draft: made by a program and accepted by nobody yet.
        confidence: 1 where the gold was found as it was written, less where only something like
            it was; of the passage that is surest not to be right.
        off_page: where its quote stands if that is not the page its label names, in words.
    """

    id: str
    text: str
    gold: tuple[Answer, ...]
    kind: str = ""
    within: str | tuple[str, ...] | None = None
    draft: bool = False
    confidence: float = 1.0
    off_page: str = ""

    def __post_init__(self) -> None:
        """Take the id of a single document as one of several."""
        object.__setattr__(self, "within", several(self.within))

    @property
    def document(self) -> str:
        """Id of the document with the first passage of its gold."""
        return self.gold[0][0].document


@dataclass(frozen=True, slots=True)
class NotLocated:
    """A question that nothing can be measured with.

    Attributes:
        id: as it was named.
        text: the question.
        quote: what was looked for.
        reason: why it is nowhere.
    """

    id: str
    text: str
    quote: str
    reason: str

    @property
    def called(self) -> str:
        """Id and the beginning of the text."""
        return called(self.id, self.text)


_BEGINNING = 50
"""Characters of a question that is shown to recognise it."""


def called(name: str, text: str) -> str:
    """Return the id of a question with the beginning of its text, for people."""
    begin = shorten(text, _BEGINNING, placeholder=" …")
    return f"{name}: {begin}" if begin and name != text else name


@checks_keywords
@dataclass(frozen=True)
class Dataset:
    """Documents and labelled questions of an evaluation.

    Attributes:
        name: for reports.
        documents: each with a text and an id of its own.
        questions: each with gold in these documents.
        not_located: questions that were left out, and why.
        unaccepted: how many drafts were left out because other questions are accepted.
        left_out: how many entries of a file were no question to measure with, by reason.
        probed: characters of the passages whose keywords are asked, see
            `rag_nodes.evaluation.drafts.probes`; 0 for questions.
        beside: by characters of the passages probes of other lengths, which only tell whether the
            length matters.
        repeats: ids of questions that were left out because they ask the same as another.
        notes: sentences on what a file may mean otherwise.

    Raises:
        DatasetError: gold lies outside its document, or two questions or documents have one id.
    """

    name: str
    documents: tuple[Document, ...]
    questions: tuple[Question, ...]
    not_located: tuple[NotLocated, ...] = field(default=())
    unaccepted: int = 0
    left_out: Mapping[str, int] = field(default_factory=dict)
    probed: int = 0
    beside: Mapping[int, tuple[Question, ...]] = field(default_factory=dict)
    repeats: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Take a single document as one of several, and refuse what cannot be measured with."""
        object.__setattr__(self, "documents", tuple(several_nodes(self.documents)))
        _all_different((document.id_ for document in self.documents), "documents", self.name)
        _all_different((question.id for question in self.questions), "questions", self.name)
        for question in self.questions:
            _check(question, self.texts, self.name)

    def check_asked(self) -> None:
        """Refuse to measure without a question.

        Raises:
            DatasetError: there is none, or none whose answer has a place in the documents.
        """
        if self.questions:
            return
        if not self.not_located:
            raise DatasetError(f"{self.name}: no questions; label some, or let them be drafted")
        reason = self.not_located[0].reason
        raise DatasetError(
            f"{self.name}: no answer was found in the documents; the first: {reason}"
        )

    @cached_property
    def texts(self) -> dict[str, str]:
        """The text of each document by its id."""
        return {document.id_: document.text for document in self.documents}

    @cached_property
    def names(self) -> dict[str, str]:
        """Names that people know the documents by, by document id."""
        return {document.id_: display_name(document.metadata, document.id_)
                for document in self.documents}  # fmt: skip

    @cached_property
    def fingerprint(self) -> str:
        """16 hex digits of all texts and labels: equal for equal data, wherever it is read."""
        digest = hashlib.sha256()
        for document in self.documents:
            digest.update(hashlib.sha256(document.text.encode("utf-8", "replace")).digest())
        order = {document.id_: number for number, document in enumerate(self.documents)}
        for question in self.questions:
            plain = _plain(question, order)
            digest.update(json.dumps(plain, sort_keys=True, ensure_ascii=True).encode())
        return digest.hexdigest()[:16]

    @cached_property
    def asked_again(self) -> dict[str, str]:
        """Questions in the words of an earlier one, and that one, by id."""
        asked: dict[object, str] = {}
        asked_again = {}
        for question in self.questions:
            key = " ".join(question.text.casefold().split()), question.within
            first = asked.setdefault(key, question.id)
            if first != question.id:
                asked_again[question.id] = first
        return asked_again

    @property
    def by_drafts(self) -> bool:
        """Return True if all questions are drafts that nobody accepted: they decide nothing."""
        return bool(self.questions) and all(question.draft for question in self.questions)

    @property
    def accepted(self) -> int:
        """Number of questions that are no drafts."""
        return sum(not question.draft for question in self.questions)

    def about(self, documents: Collection[Document]) -> Dataset:
        """The same with some of the documents, and the questions whose answers are all in these."""
        ids = {document.id_ for document in documents}
        questions = tuple(
            question
            for question in self.questions
            if all(passage.document in ids for answer in question.gold for passage in answer)
        )
        return replace(self, documents=tuple(documents), questions=questions)

    def decisive(self) -> Dataset:
        """The same with the questions that a verdict goes by.

        Drafts only where all are drafts; and what is asked twice, with the same answers, once:
        repeated it would make a difference look certain.
        """
        asked = [question for question in self.questions if not question.draft] or [*self.questions]
        different: dict[object, Question] = {}
        for question in asked:
            text = " ".join(question.text.casefold().split())
            different.setdefault((text, question.within, frozenset(question.gold)), question)
        drafts = len(self.questions) - len(asked)
        kept = tuple(different.values())
        ids = {question.id for question in kept}
        repeats = tuple(question.id for question in asked if question.id not in ids)
        if not drafts and not repeats:
            return self
        return replace(self, questions=kept, unaccepted=drafts, repeats=repeats)

    def narrowed(self) -> Dataset:
        """The same questions, each asked of the documents with its first answer alone."""
        beside = {size: _narrowed(asked) for size, asked in self.beside.items()}
        return replace(self, questions=_narrowed(self.questions), beside=beside)

    def quote(self, passage: Passage) -> str:
        """The characters of a passage."""
        return passage.span.of(self.texts[passage.document])


def trimmed_passage(passage: Passage, text: str) -> Passage:
    """The passage without blank space at its ends, which is not worth finding."""
    return Passage(passage.document, trimmed(text, *passage.span))


def reachable(gold: Iterable[Answer], within: Collection[str] | None) -> bool:
    """Return True if all of at least one answer is in documents that are searched."""
    return within is None or any(
        all(passage.document in within for passage in answer) for answer in gold
    )


def _narrowed(asked: Iterable[Question]) -> tuple[Question, ...]:
    return tuple(
        replace(question, within=tuple(dict.fromkeys(part.document for part in question.gold[0])))
        for question in asked
    )


def _plain(question: Question, order: Mapping[str, int]) -> list[object]:
    gold = [
        [[order[passage.document], *passage.span] for passage in answer] for answer in question.gold
    ]
    within = sorted(order[document] for document in question.within) if question.within else None
    return [question.id, question.text, gold, question.kind, within, question.draft]


def _all_different(ids: Iterable[str], what: str, name: str) -> None:
    repeated = [name for name, times in Counter(ids).items() if times > 1]
    if repeated:
        raise DatasetError(f"{name}: two {what} have the id '{repeated[0]}'; give each its own id")


def _check(question: Question, texts: Mapping[str, str], name: str) -> None:
    if not question.gold or not all(question.gold):
        raise DatasetError(
            f"{name}: question '{question.id}' has no gold; name the passage that answers it"
        )
    for passage in (part for answer in question.gold for part in answer):
        text = texts.get(passage.document)
        if text is None:
            raise DatasetError(
                f"{name}: question '{question.id}' has gold in the document "
                f"'{passage.document}', which is not among the documents; add it"
            )
        start, end = passage.span
        if not 0 <= start < end <= len(text) or text[start:end].isspace():
            raise DatasetError(
                f"{name}: gold {start}:{end} of question '{question.id}' is blank or outside its "
                f"document of {len(text)} characters; was another version of it labelled?"
            )
    for document in question.within or ():
        if document not in texts:
            raise DatasetError(
                f"{name}: question '{question.id}' is to search the document '{document}', "
                "which is not among the documents; add it"
            )
    if not reachable(question.gold, question.within):
        raise DatasetError(
            f"{name}: question '{question.id}' searches only documents without its answer; add "
            f"the document of its gold"
        )
