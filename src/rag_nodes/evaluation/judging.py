"""Whether answers are good: an LLM answers from what each column read, another judges.

With LlamaIndex's evaluators of faithfulness and correctness. As they come, what cannot be read
counts as "not faithful", and a correct answer without an explanation raises; here it is no
judgement.
"""

from __future__ import annotations

import asyncio
import random
import re
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from llama_index.core.evaluation import CorrectnessEvaluator, FaithfulnessEvaluator

from rag_nodes.errors import ConfigurationError, ModelResponseError
from rag_nodes.evaluation.leads import Interval, own_mean
from rag_nodes.evaluation.plan import Step
from rag_nodes.evaluation.tables import JudgedAnswer, JudgedColumn, Judgement, Rating
from rag_nodes.evaluation.verdicts import Judge
from rag_nodes.models.asking import Asker, UnansweredError, awaited
from rag_nodes.models.names import answer_name, is_mock
from rag_nodes.processes import current_interrupt
from rag_nodes.query.answering import NOTHING_FOUND, messages
from rag_nodes.query.citations import marks_of
from rag_nodes.query.prompts import fill
from rag_nodes.query.types import Source

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from llama_index.core.evaluation import BaseEvaluator, EvaluationResult
    from llama_index.core.llms import LLM

    from rag_nodes.evaluation.dataset import Dataset, Question
    from rag_nodes.evaluation.measuring import Recipe
    from rag_nodes.models import Models

    Said = tuple[float | None, str]
    """A value, None where it could not be read, and the judge's words, or why there are none."""

_WORST, _BEST = 1.0, 5.0
"""Ends of LlamaIndex's scale of correctness."""
_YES_OR_NO = re.compile(r"\b(yes|no)\b", re.IGNORECASE)
_GRADE = re.compile(r"(?:score\s*[:=]\s*)?([1-5](?:\.\d+)?)(?:\s*/\s*5)?", re.IGNORECASE)
_SHOWN = 300
"""Characters of a judge's words that are kept."""


@dataclass(frozen=True, slots=True)
class Judging:
    """What is judged, and by whom.

    Attributes:
        questions: drawn by the seed of the run, the same for every column.
        judge: any LLM of LlamaIndex; None for the one that answers.
        llm: answers; None for that of the run's models.
        concurrency: requests at the same time.
    """

    questions: int
    judge: LLM | None = None
    llm: LLM | None = None
    concurrency: int = 4

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
        remedy = "--judge-model, or Judging(judge=...)"
        return answering, _real(self.judge or answering, "judges", remedy)

    def drawn(self, dataset: Dataset, seed: int) -> list[Question]:
        """The questions that are judged, in their order; fewer are the first of more."""
        order = [*range(len(dataset.questions))]
        random.Random(seed).shuffle(order)  # noqa: S311 -- the same again is the point
        return [dataset.questions[one] for one in sorted(order[: self.questions])]

    def requests(self, columns: int, questions: int) -> int:
        """How many requests there will be, at most: answers, and two grades of each."""
        return 3 * columns * min(self.questions, questions)


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


class Stage:
    """Answers and grades of one run.

    Args:
        asked: what is judged, and by whom.
        recipe: of the rows, prepared: questions, models and their prompts.
        progress: hears of every step; may raise to end the stage.
    """

    def __init__(
        self, asked: Judging, recipe: Recipe, progress: Callable[[Step], None] | None
    ) -> None:
        self._llm, self._judge = asked.models(recipe.models)
        self._asked, self._recipe = asked, recipe
        self._answering, self._judging = Asker(self._llm), Asker(self._judge)
        self._faithfulness = FaithfulnessEvaluator(llm=self._judge)
        self._correctness = CorrectnessEvaluator(llm=self._judge, parser_function=grade_in)
        self._progress = progress or (lambda _: None)
        self.questions = asked.drawn(recipe.dataset, recipe.plan.seed)

    def judgement(self, read: Mapping[str, Mapping[str, Sequence[str]]]) -> Judgement:
        """What the answers from the columns are worth.

        Args:
            read: of each column, what was read for each of `questions`.

        Raises:
            CancelledError: whoever hears of the progress ended it.
        """
        answers = awaited(self._answers(read))
        answering, judge = answer_name(self._llm), answer_name(self._judge)
        found: dict[str, Any] = {}
        if not any(one.text for one in answers):
            found["error"] = f"{answering} answered nothing: {answers[0].words[-1]}"
        elif all(one.faithful is None and one.correct is None for one in answers):
            found["error"] = f"{judge} judged nothing: {answers[0].words[-1]}"
        else:
            by_column = {name: [one for one in answers if one.column == name] for name in read}
            columns = tuple(_column(*each) for each in by_column.items())
            verdict = tuple(self._compared(by_column))
            found = {"columns": columns, "answers": answers, "verdict": verdict}
        asked = tuple(one.id for one in self.questions)
        return Judgement(answering, judge, asked, self._recipe.plan.budget, **found)

    async def _answers(
        self, read: Mapping[str, Mapping[str, Sequence[str]]]
    ) -> tuple[JudgedAnswer, ...]:
        tasks = [(name, one) for name in read for one in self.questions]
        at_once, interrupt = asyncio.Semaphore(self._asked.concurrency), current_interrupt()
        done = 0

        async def work(name: str, one: Question) -> JudgedAnswer:
            nonlocal done
            async with at_once:
                interrupt.check("the evaluation")
                found = await self._answer(name, one, read[name].get(one.id, ()))
                done += 1
                interrupt.check("the evaluation")
                judge = answer_name(self._judge)
                self._progress(Step("judge", judge, done, len(tasks), None))
                return found

        return tuple(await asyncio.gather(*(work(*task) for task in tasks)))

    async def _answer(self, column: str, question: Question, read: Sequence[str]) -> JudgedAnswer:
        """An answer from what a column read, with its two grades."""
        try:
            text = await self._written(question.text, read)
        except UnansweredError as error:
            return JudgedAnswer(column, question.id, "", None, None, (f"no answer: {error}",))
        bare = without_citations(text)
        faithful: Said = None, "nothing was read"
        if read:
            faithful = await self._said(
                self._faithfulness, lambda one: yes_or_no_in(one.feedback or ""),
                response=bare, contexts=list(read),
            )  # fmt: skip
        gold = "\n".join(map(self._recipe.dataset.quote, question.gold[0]))
        correct = await self._said(
            self._correctness, lambda one: one.score,
            query=question.text, response=bare, reference=gold,
        )  # fmt: skip
        words = (faithful[1], correct[1])
        return JudgedAnswer(column, question.id, text, faithful[0], correct[0], words)

    async def _written(self, question: str, read: Sequence[str]) -> str:
        """What the model answers from what was read, asked as `ask` asks it."""
        if not read:
            return NOTHING_FOUND
        sources = [Source(at, (), text, f"Source {at}", 0) for at, text in enumerate(read, 1)]
        models = self._recipe.models
        asked = messages(models.system_prompt, fill(models.prompt, sources, question))

        async def chat(_: str) -> str:
            text = (await self._llm.achat(asked)).message.content or ""
            if not text.strip():
                raise ModelResponseError("an empty reply")
            return text.strip()

        text = await self._answering.answered(chat, "")
        self._answering.failures = 0
        return text

    async def _said(
        self,
        evaluator: BaseEvaluator,
        value_of: Callable[[EvaluationResult], float | None],
        **given: Any,
    ) -> Said:
        """What was judged, or why it was not."""
        try:
            result = await self._judging.answered(lambda _: evaluator.aevaluate(**given), "")
        except UnansweredError as error:
            return None, f"not judged: {error}"[:_SHOWN]
        self._judging.failures = 0
        value, words = value_of(result), " ".join((result.feedback or "").split())[:_SHOWN]
        return value, words if value is not None else f"not in the form asked for: {words}"

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
        table = np.array([[_share(one or _WORST) for one in grades] for _, grades in known])
        values = dict(zip(answers, table.T, strict=True))
        plan, documents = self._recipe.plan, [one.document for one, _ in known]
        judge = Judge(values, pairs, documents, draws=plan.draws, seed=plan.seed)
        return [f"By correctness of the answers: {words}" for words in judge.words()]


def yes_or_no_in(text: str) -> float | None:
    """1 for yes and 0 for no in the first line, if it begins with one and has not the other."""
    line = text.strip().partition("\n")[0].strip("*\"'# ")
    found = {one.lower() for one in _YES_OR_NO.findall(line)}
    if len(found) != 1 or not _YES_OR_NO.match(line):
        return None
    return float(found == {"yes"})


def grade_in(text: str) -> tuple[float | None, str | None]:
    """The grade from 1 to 5 that stands alone in the first line, and what follows it."""
    line, _, reasoning = text.strip().partition("\n")
    found = _GRADE.fullmatch(line.strip("* "))
    if not found or float(found[1]) > _BEST:
        return None, text
    return float(found[1]), reasoning.strip()


def without_citations(text: str) -> str:
    """An answer without the marks that name its sources.

    Examples:
        >>> from rag_nodes.evaluation.judging import without_citations
        >>> without_citations("Nine litres [Source 1]. Rinse it [2].")
        'Nine litres. Rinse it.'
    """
    for mark in reversed(marks_of(text)):
        text = text[: mark.start].rstrip(" ") + text[mark.end :]
    return text.strip()


def _column(name: str, answers: Sequence[JudgedAnswer]) -> JudgedColumn:
    """The means over some answers."""
    correct = _rated([one.correct and _share(one.correct) for one in answers])
    if found := correct.interval:
        ends = (_WORST + (_BEST - _WORST) * one for one in (found.mean, found.low, found.high))
        correct = Rating(Interval(*ends), correct.judged, correct.not_judged)
    return JudgedColumn(name, _rated([one.faithful for one in answers]), correct)


def _share(grade: float) -> float:
    """A grade as a share of the scale, from 0 to 1."""
    return (grade - _WORST) / (_BEST - _WORST)


def _rated(values: Sequence[float | None]) -> Rating:
    known = [one for one in values if one is not None]
    interval = own_mean(np.array(known)) if known else None
    return Rating(interval, len(known), len(values) - len(known))
