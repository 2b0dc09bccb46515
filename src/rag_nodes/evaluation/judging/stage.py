"""The stage of an evaluation that answers questions from what columns read, and has them judged."""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from rag_nodes.errors import ConfigurationError
from rag_nodes.evaluation.judging.evaluators import CONTROLS, Evaluators, Scored
from rag_nodes.evaluation.judging.judgement import (
    WORST,
    JudgedAnswer,
    Judgement,
    judged_column,
    share_of,
)
from rag_nodes.evaluation.judging.replies import RecordedLLM
from rag_nodes.evaluation.plan import Step
from rag_nodes.evaluation.verdicts import Judge
from rag_nodes.models.asking import UnansweredError, awaited
from rag_nodes.models.names import answer_name, is_mock
from rag_nodes.processes import current_interrupt
from rag_nodes.query.answering import NOTHING_FOUND, messages
from rag_nodes.query.citations import marks_of
from rag_nodes.query.prompts import fill
from rag_nodes.query.types import Source

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from llama_index.core.llms import LLM

    from rag_nodes.evaluation.dataset import Dataset, Question
    from rag_nodes.evaluation.measuring import Recipe
    from rag_nodes.models import Models
    from rag_nodes.models.prices import Prices

    Read = Mapping[str, Mapping[str, Sequence[str]]]


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
        """How many requests there will be, at most: answers, and two grades of each."""
        return CONTROLS + 3 * columns * min(self.questions, questions)


class Stage:
    """Answers and grades of one run.

    Args:
        asked: what is judged, and by whom.
        recipe: of the rows, prepared: questions, models and their prompts, where replies are kept.
        progress: hears of every step; may raise to end the stage.
    """

    def __init__(
        self, asked: Judging, recipe: Recipe, progress: Callable[[Step], None] | None
    ) -> None:
        answering, judge = asked.models(recipe.models)
        self._asked, self._recipe = asked, recipe
        self._llm = RecordedLLM(answering, recipe.kept)
        self._judge = RecordedLLM(judge, recipe.kept)
        self._evaluators = Evaluators(self._judge)
        self._progress = progress or (lambda _: None)
        self.questions = asked.drawn(recipe.dataset, recipe.plan.seed)
        self._done = 0

    def judgement(self, read: Read) -> Judgement:
        """What the answers from the columns are worth.

        Args:
            read: of each column, what was read for each of `questions`.

        Raises:
            CancelledError: whoever hears of the progress ended it.
        """
        return awaited(self._judgement(read))

    async def _judgement(self, read: Read) -> Judgement:
        if failed := await self._evaluators.failed_controls():
            return self._result(error=self._refused(failed))
        tasks = [(name, one) for name in read for one in self.questions]
        at_once = asyncio.Semaphore(self._asked.concurrency)
        interrupt = current_interrupt()

        async def work(name: str, one: Question) -> JudgedAnswer:
            async with at_once:
                interrupt.check("the evaluation")
                found = await self._answer(name, one, read[name].get(one.id, ()))
                self._done += 1
                interrupt.check("the evaluation")
                self._progress(Step("judge", self._judge.name, self._done, len(tasks), None))
                return found

        answers = tuple(await asyncio.gather(*(work(*task) for task in tasks)))
        if not any(one.text for one in answers):
            return self._result(error=f"{self._llm.name} answered nothing: {self._llm.failure}")
        by_column = {name: [one for one in answers if one.column == name] for name in read}
        return self._result(
            columns=tuple(judged_column(name, each) for name, each in by_column.items()),
            answers=answers,
            verdict=tuple(self._compared(by_column)),
        )

    async def _answer(self, column: str, question: Question, read: Sequence[str]) -> JudgedAnswer:
        """An answer from what a column read, with its two grades."""
        try:
            text = await self._written(question.text, read)
        except UnansweredError as error:
            return JudgedAnswer(column, question.id, "", None, None, (f"no answer: {error}",))
        bare = without_citations(text)
        faithful = Scored(None, "nothing was read")
        if read:
            faithful = await self._evaluators.faithful(bare, read)
        texts = self._recipe.dataset.texts
        reference = "\n".join(one.span.of(texts[one.document]) for one in question.gold[0])
        correct = await self._evaluators.correct(question.text, bare, reference)
        words = (faithful.words, correct.words)
        return JudgedAnswer(column, question.id, text, faithful.value, correct.value, words)

    async def _written(self, question: str, read: Sequence[str]) -> str:
        """What the model answers from what was read, asked as `ask` asks it."""
        if not read:
            return NOTHING_FOUND
        sources = [
            Source(number, (), text, f"Source {number}", 0)
            for number, text in enumerate(read, start=1)
        ]
        models = self._recipe.models
        prompt = fill(models.prompt, sources, question)
        response = await self._llm.achat(messages(models.system_prompt, prompt))
        return (response.message.content or "").strip()

    def _compared(self, answers: Mapping[str, Sequence[JudgedAnswer]]) -> list[str]:
        """Whose answers are more correct, by questions judged for all columns; not by drafts."""
        graded = [
            (question, [one.correct for one in each])
            for question, *each in zip(self.questions, *answers.values(), strict=True)
        ]
        known = [(one, grades) for one, grades in graded if None not in grades and not one.draft]
        pairs = [*combinations(answers, 2)]
        if not known or not pairs:
            return []
        table = np.array([[share_of(one or WORST) for one in grades] for _, grades in known])
        plan = self._recipe.plan
        judge = Judge(
            dict(zip(answers, table.T, strict=True)),
            pairs,
            [one.document for one, _ in known],
            draws=plan.draws,
            seed=plan.seed,
        )
        return [f"By correctness of the answers: {words}" for words in judge.words()]

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
            budget=self._recipe.plan.budget,
            spending={
                "answers": self._llm.spending(prices),
                "judging": self._judge.spending(prices),
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
