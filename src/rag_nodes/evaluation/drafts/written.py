"""Drafts that an LLM writes, each of which is tried before it is believed."""

from __future__ import annotations

import asyncio
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from rag_nodes.errors import ConfigurationError, DatasetError, ModelError
from rag_nodes.evaluation.checks import LEAKED
from rag_nodes.evaluation.dataset import Dataset, Question, Unplaced
from rag_nodes.evaluation.drafts.offline import drafted
from rag_nodes.evaluation.drafts.passages import LEAST_WORDS, OTHERS, DraftPassages
from rag_nodes.evaluation.drafts.prompts import (
    answering_in,
    trying_prompt,
    writing_prompt,
    written_in,
)
from rag_nodes.models.asking import Asker, UnansweredError, awaited
from rag_nodes.models.inside import is_mock
from rag_nodes.models.pacing import RequestWindow
from rag_nodes.models.prices import cost_of
from rag_nodes.query.marks import without_marks
from rag_nodes.text.languages import content_words
from rag_nodes.text.spans import Span
from rag_nodes.text.tokens import count_tokens
from rag_nodes.text.words import words
from rag_nodes.transforms import PromptKey

if TYPE_CHECKING:
    from llama_index.core.llms import LLM
    from llama_index.core.schema import Document

    from rag_nodes.evaluation.dataset import Answer
    from rag_nodes.evaluation.drafts.passages import DraftPassage
    from rag_nodes.evaluation.drafts.prompts import WrittenDraft
    from rag_nodes.models.prices import Prices
    from rag_nodes.transforms import TextJournal

WRITTEN, PARAPHRASED = "written", "paraphrased"
"""Kinds of drafts: asked plainly, and in other words than those of the answer."""
_ROUNDS = 3
"""How often passages are replaced whose drafts were not believed."""
_ANSWERED, _TRIED = 150, 12
"""Tokens of an answer with a draft, and of one that names sources; for prices."""


class WritingCost(NamedTuple):
    """What drafts will cost, about: as if each were believed at the first attempt.

    Attributes:
        requests: to the model.
        read: tokens.
        written: tokens.
        dollars: None where the price is unknown.
    """

    requests: int
    read: int
    written: int
    dollars: float | None


def write_questions(
    documents: Sequence[Document],
    llm: LLM,
    *,
    count: int,
    seed: int = 0,
    concurrency: int = 4,
    requests_per_minute: float | None = None,
    journal: TextJournal | None = None,
    on_done: Callable[[int], None] | None = None,
) -> Dataset:
    """Questions that an LLM writes about passages chosen evenly, two phrasings of each.

    A draft is kept where its quote stands in the passage as it is, where the model, asked again,
    finds the answer in that passage and in none of the closest others, and finds none once the
    passage is taken away. Its document decides nothing: its text is quoted as data.

    Args:
        documents: what is asked about, each with an id of its own.
        llm: any model of LlamaIndex; an answer needs 400 tokens.
        count: questions at most.
        seed: other passages for another number.
        concurrency: passages worked on at the same time.
        requests_per_minute: requests started in any minute at most; None for no limit.
        journal: where answers are kept as they arrive and looked up before asking.
        on_done: told the number of questions so far, after every passage.

    Returns:
        A dataset of drafts; `unplaced` has those that were not believed, and why.

    Raises:
        ConfigurationError: the model cannot write, or nothing is asked for.
        DatasetError: no draft was believed, or the documents hold too little.
        ModelError: the model did not answer at all.
    """
    if is_mock(llm):
        raise ConfigurationError(
            f"{type(llm).__name__} repeats its prompt; name a model that writes"
        )
    if count < 1:
        raise ConfigurationError(f"count={count}: at least 1 question must be drafted")
    window = RequestWindow(requests_per_minute) if requests_per_minute else None
    asked = _KeptAnswers(Asker(llm, window), llm.metadata.model_name, journal)
    writer = _Drafting(documents, asked, seed, on_done or (lambda _: None))
    awaited(writer.write(count, concurrency), threads=concurrency)
    questions = sorted(
        writer.questions, key=lambda one: (*writer.passages.order(one), one.kind, one.text)
    )
    if not questions and writer.failure:
        raise ModelError(f"no question was drafted: {writer.failure}")
    if not questions:
        why = Counter(one.reason for one in writer.refused).most_common(1)
        raise DatasetError(
            f"{llm.metadata.model_name} wrote no question that could be believed"
            + (f", most often: {why[0][0]}" if why else "; the documents hold too little prose")
        )
    return Dataset("drafts", tuple(documents), tuple(questions[:count]), tuple(writer.refused))


def writing_cost(
    documents: Sequence[Document], model: str, *, count: int, seed: int, prices: Prices
) -> WritingCost:
    """What `write_questions` will ask for, before anything is asked."""
    passages = DraftPassages(documents).chosen(seed)[: _needed(count)]
    typical = [count_tokens(passage.text) for passage in passages]
    mean = sum(typical) // max(1, len(typical))
    trying = count_tokens(trying_prompt([""], "")) + 30 + (OTHERS + 1) * mean
    read = sum(count_tokens(writing_prompt(one.text)) for one in passages)
    read += 4 * trying * len(passages)
    written = (_ANSWERED + 4 * _TRIED) * len(passages)
    return WritingCost(5 * len(passages), read, written, cost_of(read, written, model, prices))


class _KeptAnswers(NamedTuple):
    """A model whose answers are kept."""

    asker: Asker
    model: str
    journal: TextJournal | None

    async def answer(self, prompt: str) -> str:
        """What the model says, or said before."""
        key = PromptKey.of(self.model, prompt)
        known = self.journal.get(key) if self.journal is not None else None
        if known is not None:
            return known
        text = (await self.asker.ask(prompt)).text
        if self.journal is not None:
            self.journal.add(key, text)  # at once: what is paid for must not wait
        return text


class _Drafting:
    """The state of one draft: what was asked about, believed and refused."""

    def __init__(
        self,
        documents: Sequence[Document],
        asked: _KeptAnswers,
        seed: int,
        on_done: Callable[[int], None],
    ) -> None:
        self.questions: list[Question] = []
        self.refused: list[Unplaced] = []
        self.failure = ""
        self.passages = DraftPassages(documents)
        self._llm, self._seed, self._on_done = asked, seed, on_done
        self._asked: set[str] = set()

    async def write(self, count: int, concurrency: int) -> None:
        """Ask about as many passages as are needed, and about others where drafts were refused."""
        waiting = iter(self.passages.chosen(self._seed))
        for _ in range(_ROUNDS):
            missing = _needed(count - len(self.questions))
            batch = [passage for passage, _ in zip(waiting, range(missing), strict=False)]
            shared = iter(batch)
            await asyncio.gather(*(self._work(shared) for _ in range(concurrency)))

    async def _work(self, passages: Iterator[DraftPassage]) -> None:
        for passage in passages:
            try:
                await self._about(passage)
            except UnansweredError as error:
                self.failure = str(error)
            self._on_done(len(self.questions))

    async def _about(self, passage: DraftPassage) -> None:
        written = written_in(await self._llm.answer(writing_prompt(passage.text)))
        if written is None:
            self._refuse(passage, "", "", "the model wrote no question in the form asked for")
            return
        if not written.quote:
            return
        span = quoted_span(written.quote, passage.text)
        if span is None:
            self._refuse(
                passage, written.question, written.quote, "the quote is not in the passage"
            )
            return
        gold = self.passages.gold(passage, span)
        if not gold:
            self._refuse(passage, written.question, written.quote, "the quote stands all over")
            return
        await self._try_both(passage, written, gold)

    async def _try_both(
        self, passage: DraftPassage, written: WrittenDraft, gold: tuple[Answer, ...]
    ) -> None:
        for text, kind in ((written.question, WRITTEN), (written.paraphrase, PARAPHRASED)):
            reason = _in_its_words(text, written) if kind == PARAPHRASED else ""
            if text.casefold() in self._asked:
                reason = "asked already"
            self._asked.add(text.casefold())
            reason = reason or await self._tried(passage, text, gold)
            if reason:
                self._refuse(passage, text, written.quote, reason)
            else:
                quote = self.passages.quote(gold)
                self.questions.append(drafted(text, quote, gold, kind))

    async def _tried(self, passage: DraftPassage, question: str, gold: tuple[Answer, ...]) -> str:
        """Why the passage, and nothing else, does not answer; "" where it does."""
        others = self.passages.closest(question, passage, gold)
        mixed = [*others, passage]
        random.Random(f"{self._seed} {question}").shuffle(mixed)  # noqa: S311 -- the same again
        found = answering_in(
            await self._llm.answer(trying_prompt([one.text for one in mixed], question))
        )
        own = mixed.index(passage) + 1
        if found is None or own not in found:
            return "the model does not find the answer in the passage"
        if found != {own}:
            return "answered elsewhere, too"
        texts = [one.text for one in mixed if one is not passage]
        found = answering_in(await self._llm.answer(trying_prompt(texts or [""], question)))
        return "" if found == frozenset() else "answered without the passage"

    def _refuse(self, passage: DraftPassage, text: str, quote: str, reason: str) -> None:
        number = len(self.refused) + 1
        self.refused.append(Unplaced(f"refused-{number}", text, quote or passage.text[:80], reason))


def quoted_span(quote: str, text: str) -> Span | None:
    """Where a quote stands in a text, whatever blanks are between its words; None for nowhere.

    Marks such as `[5]` may be written `(5)`, as the model was shown them.
    """
    parts = quote.split()
    if len(words(quote)) < LEAST_WORDS:
        return None
    pattern = re.compile(r"\s+".join(map(re.escape, parts)))
    shown = without_marks(text)
    for one in (text, shown if len(shown) == len(text) else text):
        if found := pattern.search(one):
            return Span(*found.span())
    return None


def _in_its_words(text: str, written: WrittenDraft) -> str:
    """Why a paraphrase is none; "" where it shares fewer words with the answer."""
    answer = set(content_words(written.quote))
    plain, other = (
        len(asked & answer) / max(1, len(asked))
        for asked in (set(content_words(one)) for one in (written.question, text))
    )
    is_other = other < LEAKED and other <= plain
    return "" if is_other else "the paraphrase keeps the words of the answer"


def _needed(count: int) -> int:
    """Passages for so many questions, two of each."""
    return max(0, -(-count // 2))
