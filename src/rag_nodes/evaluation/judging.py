"""Judge answers with LlamaIndex's evaluators of faithfulness and correctness.

An LLM answers from the text that each column read, and a judge grades the answers. A judgement that
cannot be read is no judgement, although LlamaIndex's evaluator counts it as "not faithful".
"""

from __future__ import annotations

import asyncio
import random
import re
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any

from llama_index.core.evaluation import CorrectnessEvaluator, FaithfulnessEvaluator
from llama_index.core.evaluation.eval_utils import default_parser

from rag_nodes.core.errors import ConfigurationError
from rag_nodes.core.processes import current_interrupt
from rag_nodes.evaluation.plan import Step
from rag_nodes.evaluation.tables import JudgedAnswer, JudgedColumn, Judgement, Rating
from rag_nodes.models.asking import Asker, UnansweredError, awaited
from rag_nodes.models.names import answer_name, is_mock
from rag_nodes.query.answering import NOTHING_FOUND, messages
from rag_nodes.query.citations import marks_of
from rag_nodes.query.prompts import fill
from rag_nodes.query.types import Source

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from llama_index.core.evaluation import BaseEvaluator
    from llama_index.core.llms import LLM

    from rag_nodes.evaluation.dataset import Question
    from rag_nodes.evaluation.measuring import Recipe

    Read = Mapping[str, Mapping[str, Sequence[str]]]  # texts by column and id of the question
    Grade = tuple[float | None, str]  # None if it could not be read; the judge's words

_CONCURRENT_ANSWERS = 4
_MAX_CHARACTERS = 300  # of a judge's words


@dataclass(frozen=True, slots=True)
class Judging:
    """Number of questions to judge, and the LLM that judges; None for the one that answers."""

    questions: int
    judge: LLM | None = None


class Stage:
    """Answers and grades of one run, with the questions, models and prompts of its recipe.

    Raises:
        ConfigurationError: a model is missing or a mock, or there is no question to judge.
    """

    def __init__(
        self, judging: Judging, recipe: Recipe, progress: Callable[[Step], None] | None
    ) -> None:
        if judging.questions < 1:
            raise ConfigurationError("judging takes at least 1 question")
        self._llm = _real(recipe.models.llm, "--llm, or evaluate(models=...)")
        self._judge = _real(judging.judge or self._llm, "--judge-model, or Judging(judge=...)")
        self._recipe, self._progress = recipe, progress or (lambda _: None)
        self._answering, self._judging = Asker(self._llm), Asker(self._judge)
        self._faithfulness = FaithfulnessEvaluator(llm=self._judge)
        self._correctness = CorrectnessEvaluator(llm=self._judge, parser_function=grade_in)
        # Fewer questions are the first of more.
        order = [*enumerate(recipe.dataset.questions)]
        random.Random(recipe.plan.seed).shuffle(order)  # noqa: S311 -- repeatable on purpose
        self.questions = [question for _, question in sorted(order[: judging.questions])]

    def judgement(self, read: Read) -> Judgement:
        """Answer and grade the questions from the texts that each column read for each."""
        answers, error = awaited(self._answers(read)), None
        answering, judge = answer_name(self._llm), answer_name(self._judge)
        if not any(answer.text for answer in answers):
            error = f"{answering} answered nothing: {answers[0].words[-1]}"
        elif all(answer.faithful is None and answer.correct is None for answer in answers):
            error = f"{judge} judged nothing: {answers[0].words[-1]}"
        columns = tuple(_column(name, answers) for name in read)
        ids = tuple(question.id for question in self.questions)
        return Judgement(answering, judge, ids, self._recipe.plan.budget, columns, answers, error)

    async def _answers(self, read: Read) -> tuple[JudgedAnswer, ...]:
        tasks = [(name, question) for name in read for question in self.questions]
        slots, interrupt, done = asyncio.Semaphore(_CONCURRENT_ANSWERS), current_interrupt(), 0

        async def work(name: str, question: Question) -> JudgedAnswer:
            nonlocal done
            async with slots:
                interrupt.check("the evaluation")
                answer = await self._answer(name, question, read[name].get(question.id, ()))
            done += 1
            self._progress(Step("judge", answer_name(self._judge), done, len(tasks), None))
            return answer

        return tuple(await asyncio.gather(*(work(*task) for task in tasks)))

    async def _answer(self, column: str, question: Question, read: Sequence[str]) -> JudgedAnswer:
        """Answer from the text that a column read, and grade the answer twice."""
        try:
            text = await self._written(question.text, read) if read else NOTHING_FOUND
        except UnansweredError as error:
            return JudgedAnswer(column, question.id, "", None, None, (f"no answer: {error}",))
        bare = text
        for mark in reversed(marks_of(text)):  # citations are no part of the answer
            bare = bare[: mark.start].rstrip(" ") + bare[mark.end :]
        faithful: Grade = None, "nothing was read"
        if read:
            faithful = await self._graded(self._faithfulness, response=bare, contexts=list(read))
        gold = "\n".join(map(self._recipe.dataset.quote, question.gold[0]))
        correct = await self._graded(
            self._correctness, query=question.text, response=bare, reference=gold
        )
        words = (faithful[1], correct[1])
        return JudgedAnswer(column, question.id, text, faithful[0], correct[0], words)

    async def _written(self, question: str, read: Sequence[str]) -> str:
        """Return the model's answer to the prompt that `ask` sends."""
        sources = [Source(at, (), text, f"Source {at}", 0) for at, text in enumerate(read, 1)]
        models = self._recipe.models
        prompt = messages(models.system_prompt, fill(models.prompt, sources, question))
        reply = await self._answering.answered(lambda _: self._llm.achat(prompt), "")
        self._answering.failures = 0
        if not (text := (reply.message.content or "").strip()):
            raise UnansweredError("an empty reply")
        return text

    async def _graded(self, evaluator: BaseEvaluator, **given: Any) -> Grade:
        """Return the grade, or why there is none."""
        try:
            result = await self._judging.answered(lambda _: evaluator.aevaluate(**given), "")
        except UnansweredError as error:
            return None, f"not judged: {error}"[:_MAX_CHARACTERS]
        self._judging.failures = 0
        feedback = result.feedback or ""
        value = yes_or_no_in(feedback) if evaluator is self._faithfulness else result.score
        words = " ".join(feedback.split())[:_MAX_CHARACTERS]
        return value, words if value is not None else f"not in the form asked for: {words}"


def _real(llm: LLM | None, remedy: str) -> LLM:
    """Return the model, unless it is missing or a mock, whose words mean nothing."""
    if llm is not None and not is_mock(llm):
        return llm
    why = "no LLM answers" if llm is None else f"{answer_name(llm)} is a mock"
    raise ConfigurationError(f"{why}, and there is nothing to judge; name a model with {remedy}")


def yes_or_no_in(text: str) -> float | None:
    """Return 1 for yes and 0 for no if the first line begins with one and lacks the other."""
    words = re.findall(r"\w+", text.strip().partition("\n")[0].lower())
    answers = {"yes", "no"}.intersection(words)
    return float(words[0] == "yes") if answers and answers == {words[0]} else None


def grade_in(text: str) -> Grade:
    """Return the grade from 1 to 5 that stands alone in the first line, and the reasoning."""
    grade, reasoning = default_parser(f"{text.strip()}\n")  # which raises without a line end
    if grade is None or not 1 <= grade <= 5:  # noqa: PLR2004 -- the scale of the evaluator
        return None, text
    return grade, reasoning or ""


def _column(name: str, answers: Sequence[JudgedAnswer]) -> JudgedColumn:
    own = [answer for answer in answers if answer.column == name]
    faithful, correct = [judged.faithful for judged in own], [judged.correct for judged in own]
    return JudgedColumn(name, _rated(faithful), _rated(correct))


def _rated(grades: Sequence[float | None]) -> Rating:
    values = [grade for grade in grades if grade is not None]
    return Rating(fmean(values) if values else None, len(values), len(grades) - len(values))
