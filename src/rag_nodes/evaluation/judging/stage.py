"""The stage of an evaluation that answers questions from what columns read, and has them judged."""

from __future__ import annotations

import asyncio
import random
from collections import defaultdict
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Any

from rag_nodes.errors import ConfigurationError
from rag_nodes.evaluation.judging.evaluators import Evaluators, Scored
from rag_nodes.evaluation.judging.judgement import (
    JudgedAnswer,
    Judgement,
    judged_column,
    judged_pairs,
)
from rag_nodes.evaluation.judging.replies import RecordedLLM
from rag_nodes.evaluation.plan import Step
from rag_nodes.models.asking import UnansweredError, awaited
from rag_nodes.models.names import answer_name, is_mock
from rag_nodes.processes import current_interrupt
from rag_nodes.query.answering import NOTHING_FOUND, messages
from rag_nodes.query.citations import marks_of
from rag_nodes.query.prompts import fill
from rag_nodes.query.types import Source

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence

    from llama_index.core.llms import LLM

    from rag_nodes.evaluation.dataset import Dataset, Question
    from rag_nodes.evaluation.judging.judgement import Preference
    from rag_nodes.evaluation.measuring import Recipe
    from rag_nodes.models import Models
    from rag_nodes.models.prices import Prices

    Read = Mapping[str, Mapping[str, Sequence[str]]]

_CONTROLS = 6
"""Requests by which a judge is tried before it is believed."""


@dataclass(frozen=True, slots=True)
class Judging:
    """What is judged, and by whom.

    Attributes:
        questions: drawn by the seed of the run, the same for every column.
        judge: any LLM of LlamaIndex; None for the one that answers.
        llm: answers; None for that of the run's models.
        concurrency: requests at the same time.
        prices: US dollars per million tokens read and written, by model; they win over ours.
    """

    questions: int
    judge: LLM | None = None
    llm: LLM | None = None
    concurrency: int = 4
    prices: Prices = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse what judges nothing.

        Raises:
            ConfigurationError: a number is not above 0.
        """
        if self.questions < 1 or self.concurrency < 1:
            raise ConfigurationError("judging takes at least 1 question and 1 request at a time")

    def models(self, models: Models) -> tuple[LLM, LLM]:
        """Who answers and who judges.

        Raises:
            ConfigurationError: one of them is missing, or is a mock, which judges nothing.
        """
        answering = _real(self.llm or models.llm, "answers", "--llm, or evaluate(models=...)")
        return answering, _real(
            self.judge or answering, "judges", "--judge-model, or Judging(judge=...)"
        )

    def drawn(self, dataset: Dataset, seed: int) -> list[Question]:
        """The questions that are judged, in their order; fewer are the first of more."""
        order = [*range(len(dataset.questions))]
        random.Random(seed).shuffle(order)  # noqa: S311 -- the same again is the point
        return [dataset.questions[one] for one in sorted(order[: self.questions])]

    def requests(self, columns: int, questions: int) -> int:
        """How many requests there will be, at most: answers, two grades of each, and pairs."""
        asked = min(self.questions, questions)
        return _CONTROLS + asked * (3 * columns + columns * (columns - 1))


class Stage:
    """Answers, grades and comparisons of one run.

    Args:
        asked: what is judged, and by whom.
        recipe: of the rows, prepared: questions, models and their prompts, where replies are kept.
        progress: hears of every step; may raise to end the stage.
    """

    def __init__(
        self, asked: Judging, recipe: Recipe, progress: Callable[[Step], None] | None
    ) -> None:
        answering, judge = asked.models(recipe.models)
        self._asked, self._models, self._plan = asked, recipe.models, recipe.plan
        self._llm = RecordedLLM(answering, recipe.kept)
        self._judge = RecordedLLM(judge, recipe.kept)
        self._evaluators = Evaluators(self._judge)
        self._texts = recipe.dataset.texts
        self._progress = progress or (lambda _: None)
        self.questions = asked.drawn(recipe.dataset, recipe.plan.seed)
        self._done = self._total = 0
        self._judged: dict[tuple[str, str], JudgedAnswer] = {}
        self._preferred: dict[tuple[str, str], dict[str, Preference | None]] = defaultdict(dict)

    @property
    def judge(self) -> str:
        """Name of the model that judges."""
        return self._judge.name

    def judgement(self, read: Read) -> Judgement:
        """What the answers from the columns are worth.

        Args:
            read: of each column, what was read for each of `questions`.

        Raises:
            CancelledError: whoever hears of the progress ended it.
        """
        return awaited(self._judgement(read))

    async def _judgement(self, read: Read) -> Judgement:
        failed = await self._evaluators.failed_controls()
        if failed:
            return self._result(error=self._refused(failed))
        by_drafts = all(one.draft for one in self.questions)
        pairs = [] if by_drafts else [*combinations(read, 2)]
        answering = [(name, one) for name in read for one in self.questions]
        comparing = [(pair, one) for pair in pairs for one in self.questions]
        self._total = len(answering) + len(comparing)
        await self._all(
            self._answer(name, one, read[name].get(one.id, ())) for name, one in answering
        )
        if not any(one.text for one in self._judged.values()):
            return self._result(error=f"{self._llm.name} answered nothing: {self._llm.failure}")
        await self._all(self._compare(pair, one) for pair, one in comparing)
        answers = tuple(self._judged[name, one.id] for name, one in answering)
        said = {pair: [self._preferred[pair][one.id] for one in self.questions] for pair in pairs}
        return self._result(
            columns=tuple(
                judged_column(name, [one for one in answers if one.column == name]) for name in read
            ),
            pairs=tuple(judged_pairs(said, draws=self._plan.draws, seed=self._plan.seed)),
            answers=answers,
        )

    async def _all(self, tasks: Iterable[Coroutine[Any, Any, None]]) -> None:
        """Some at the same time, in order; each is told when it is done."""
        waiting = iter(tasks)

        async def work() -> None:
            for task in waiting:
                await task
                self._done += 1
                current_interrupt().check("the evaluation")
                self._progress(Step("judge", self.judge, self._done, self._total, None))

        await asyncio.gather(*(work() for _ in range(self._asked.concurrency)))

    async def _answer(self, column: str, question: Question, read: Sequence[str]) -> None:
        """An answer from what a column read, with its two grades."""
        try:
            text = await self._written(question.text, read)
        except UnansweredError as error:
            said = JudgedAnswer(column, question.id, "", None, None, (f"no answer: {error}",))
        else:
            bare = without_citations(text)
            faithful = (
                await self._evaluators.faithful(bare, read)
                if read
                else Scored(None, "nothing was read")
            )
            reference = self._reference(question)
            correct = await self._evaluators.correct(question.text, bare, reference)
            words = (faithful.words, correct.words)
            said = JudgedAnswer(column, question.id, text, faithful.value, correct.value, words)
        self._judged[column, question.id] = said

    async def _written(self, question: str, read: Sequence[str]) -> str:
        """What the model answers from what was read, asked as `ask` asks it."""
        if not read:
            return NOTHING_FOUND
        sources = [
            Source(number, (), text, f"Source {number}", 0)
            for number, text in enumerate(read, start=1)
        ]
        prompt = fill(self._models.prompt, sources, question)
        response = await self._llm.achat(messages(self._models.system_prompt, prompt))
        return (response.message.content or "").strip()

    async def _compare(self, pair: tuple[str, str], question: Question) -> None:
        """Which of two columns has the better answer."""
        left, right = (without_citations(self._judged[name, question.id].text) for name in pair)
        found: Preference | None
        if not left or not right:
            found = None
        elif left == right:
            found = "tie"
        else:
            reference = self._reference(question)
            found = (await self._evaluators.preferred(question.text, left, right, reference)).value
        self._preferred[pair][question.id] = found

    def _reference(self, question: Question) -> str:
        """The words of the gold, which the answer has to agree with."""
        return "\n".join(one.span.of(self._texts[one.document]) for one in question.gold[0])

    def _refused(self, failed: Sequence[str]) -> str:
        if self._judge.failure:
            return f"{self._judge.name} did not judge: {self._judge.failure}"
        return (
            f"{self._judge.name} errs about answers that are known to be right or wrong, so "
            f"nothing it says is counted ({'; '.join(failed)}); name another judge"
        )

    def _result(self, **found: Any) -> Judgement:
        prices = self._asked.prices
        return Judgement(
            answers_by=self._llm.name,
            judge=self._judge.name,
            questions=tuple(one.id for one in self.questions),
            budget=self._plan.budget,
            spending={
                "answers": self._llm.spending.as_dict(self._llm.priced_name, prices),
                "judging": self._judge.spending.as_dict(self._judge.priced_name, prices),
            },
            **found,
        )


def without_citations(text: str) -> str:
    """An answer without the marks that name its sources.

    Example:
        >>> without_citations("Nine litres [Source 1]. Rinse it [2].")
        'Nine litres. Rinse it.'
    """
    for mark in reversed(marks_of(text)):
        text = text[: mark.start].rstrip(" ") + text[mark.end :]
    return text.strip()


def _real(llm: LLM | None, does: str, remedy: str) -> LLM:
    """The model, if it is one whose words mean something."""
    if llm is None:
        raise ConfigurationError(
            f"no LLM {does}: sentences of the documents are no answer to judge; name a model with "
            f"{remedy}"
        )
    if is_mock(llm):
        raise ConfigurationError(
            f"{answer_name(llm)} is a mock, and what it {does} would look like a result; name a "
            f"model with {remedy}"
        )
    return llm
