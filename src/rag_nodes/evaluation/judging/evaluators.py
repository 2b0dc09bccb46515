"""LlamaIndex's evaluators of faithfulness and correctness.

As they come, what cannot be read counts as "not faithful", and a correct answer without an
explanation raises; here a judgement that cannot be read is none.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from llama_index.core.evaluation import CorrectnessEvaluator, FaithfulnessEvaluator

from rag_nodes.errors import CancelledError
from rag_nodes.evaluation.judging.judgement import BEST, WORST

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence

    from llama_index.core.evaluation import EvaluationResult
    from llama_index.core.llms import LLM

CONTROLS = 4
"""Requests by which a judge is tried before it is believed."""
_QUESTION = "How much water does the tank hold?"
_REFERENCE = "The tank of the machine holds nine litres of water."
_RIGHT = "The tank holds nine litres of water."
_WRONG = "The tank holds forty litres of diesel."
_YES_OR_NO = re.compile(r"\b(yes|no)\b", re.IGNORECASE)
_GRADE = re.compile(r"(?:score\s*[:=]\s*)?([1-5](?:\.\d+)?)(?:\s*/\s*5)?", re.IGNORECASE)
_SHOWN = 300
"""Characters of a judge's words that are kept."""
_UNREADABLE = "the judge did not say it in the form asked for"


class Scored(NamedTuple):
    """What a judge said: a value, None where it could not be read, and its words, or why not."""

    value: float | None
    words: str


class Evaluators:
    """Faithfulness and correctness, judged by one model."""

    def __init__(self, llm: LLM) -> None:
        self._faithfulness = FaithfulnessEvaluator(llm=llm)
        self._correctness = CorrectnessEvaluator(llm=llm, parser_function=grade_in)

    async def faithful(self, answer: str, contexts: Sequence[str]) -> Scored:
        """Whether all of an answer is in what was read: 1 or 0."""
        asked = self._faithfulness.aevaluate(response=answer, contexts=list(contexts))
        return await _scored(asked, lambda result: yes_or_no_in(result.feedback or ""))

    async def correct(self, question: str, answer: str, reference: str) -> Scored:
        """How well an answer agrees with the reference: from 1 to 5."""
        asked = self._correctness.aevaluate(query=question, response=answer, reference=reference)
        return await _scored(asked, lambda result: result.score)

    async def failed_controls(self) -> list[str]:
        """What the judge says of answers that are known to be right or wrong, where it errs.

        A model that always says the same, or repeats what it reads, fails here, and so its words
        never become numbers.
        """
        yes, no = [await self.faithful(one, [_REFERENCE]) for one in (_RIGHT, _WRONG)]
        high, low = [await self.correct(_QUESTION, one, _REFERENCE) for one in (_RIGHT, _WRONG)]
        told = (high.value or WORST) > (low.value or BEST)
        tried = (
            ("a faithful answer", yes, yes.value == 1),
            ("an invented answer", no, no.value == 0),
            ("a correct answer", high, told),
            ("a wrong answer", low, told),
        )
        return [
            f"{what}: {said.words if said.value is None else said.value}"
            for what, said, held in tried
            if not held
        ]


def yes_or_no_in(text: str) -> float | None:
    """1 for yes and 0 for no in the first line, where it begins with one of them and has no other.

    Example:
        >>> [yes_or_no_in(one) for one in ("YES", "No.", "Eyes", "YES or NO")]
        [1.0, 0.0, None, None]
    """
    line = text.strip().partition("\n")[0].strip("*\"'# ")
    found = {one.lower() for one in _YES_OR_NO.findall(line)}
    if len(found) != 1 or not _YES_OR_NO.match(line):
        return None
    return float(found == {"yes"})


def grade_in(text: str) -> tuple[float | None, str | None]:
    """The grade from 1 to 5 that stands alone in the first line, and what follows it.

    Example:
        >>> grade_in("4.5"), grade_in("7: excellent"), grade_in("I would say 4")
        ((4.5, ''), (None, '7: excellent'), (None, 'I would say 4'))
    """
    line, _, reasoning = text.strip().partition("\n")
    found = _GRADE.fullmatch(line.strip("* "))
    if not found or float(found[1]) > BEST:
        return None, text
    return float(found[1]), reasoning.strip()


async def _scored(
    asked: Coroutine[Any, Any, EvaluationResult],
    value_of: Callable[[EvaluationResult], float | None],
) -> Scored:
    """What was judged, or why it was not."""
    try:
        result = await asked
    except CancelledError:
        raise
    except Exception as error:  # noqa: BLE001 -- models and evaluators may raise anything
        return Scored(None, f"not judged: {str(error) or type(error).__name__}"[:_SHOWN])
    value, words = value_of(result), " ".join((result.feedback or "").split())[:_SHOWN]
    return Scored(value, words if value is not None else f"{_UNREADABLE}: {words}")
