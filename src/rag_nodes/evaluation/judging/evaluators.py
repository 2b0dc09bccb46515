"""LlamaIndex's evaluators, believed only where the judge said what it was asked to say.

As they come, what cannot be read counts as "not faithful", a correct answer without an explanation
raises, and a tie looks like a judge that contradicts itself. Here each is a case of its own: a
judgement that cannot be read is none.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from llama_index.core.evaluation import (
    CorrectnessEvaluator,
    FaithfulnessEvaluator,
    PairwiseComparisonEvaluator,
)
from llama_index.core.evaluation.pairwise import EvaluationSource

from rag_nodes.errors import CancelledError
from rag_nodes.evaluation.judging.judgement import BEST, WORST

if TYPE_CHECKING:
    from collections.abc import Coroutine, Sequence
    from typing import Any

    from llama_index.core.evaluation import EvaluationResult
    from llama_index.core.llms import LLM

    from rag_nodes.evaluation.judging.judgement import Preference

_YES_OR_NO = re.compile(r"\b(yes|no)\b", re.IGNORECASE)
_GRADE = re.compile(r"(?:score\s*[:=]\s*)?([1-5](?:\.\d+)?)(?:\s*/\s*5)?", re.IGNORECASE)
_CHOICE = re.compile(r"\[\[([ABC])\]\]")
_SHOWN = 300
"""Characters of a judge's words that are kept."""
_UNREADABLE = "the judge did not say it in the form asked for"

_QUESTION = "How much water does the tank hold?"
_REFERENCE = "The tank of the machine holds nine litres of water."
_RIGHT = "The tank holds nine litres of water."
_WRONG = "The tank holds forty litres of diesel."


class Scored(NamedTuple):
    """What a judge said.

    Attributes:
        value: None where it could not be read.
        words: of the judge, shortened; or why there is no value.
    """

    value: float | None
    words: str


class Preferred(NamedTuple):
    """Which of two answers a judge prefers; fields as in `Scored`."""

    value: Preference | None
    words: str


class Evaluators:
    """Faithfulness, correctness and preference, judged by one model.

    Args:
        llm: the judge.
    """

    def __init__(self, llm: LLM) -> None:
        self._faithfulness = FaithfulnessEvaluator(llm=llm)
        self._correctness = CorrectnessEvaluator(llm=llm, parser_function=grade_in)
        self._pairwise = PairwiseComparisonEvaluator(llm=llm, parser_function=choice_in)

    async def faithful(self, answer: str, contexts: Sequence[str]) -> Scored:
        """Whether all of an answer is in what was read: 1 or 0."""
        result = await _tried(
            self._faithfulness.aevaluate(response=answer, contexts=list(contexts))
        )
        if isinstance(result, str):
            return Scored(None, result)
        return _scored(yes_or_no_in(result.feedback or ""), result.feedback)

    async def correct(self, question: str, answer: str, reference: str) -> Scored:
        """How well an answer agrees with the reference: from 1 to 5."""
        result = await _tried(
            self._correctness.aevaluate(query=question, response=answer, reference=reference)
        )
        if isinstance(result, str):
            return Scored(None, result)
        return _scored(result.score, result.feedback)

    async def preferred(self, question: str, left: str, right: str, reference: str) -> Preferred:
        """Which of two answers is better, asked in both orders."""
        result = await _tried(
            self._pairwise.aevaluate(
                query=question, response=left, second_response=right, reference=reference
            )
        )
        if isinstance(result, str):
            return Preferred(None, result)
        value = preference_of(result)
        return Preferred(value, _short(result.feedback) if value else _UNREADABLE)

    async def failed_controls(self) -> list[str]:
        """What the judge says of answers that are known to be right or wrong, where it errs.

        A model that always says the same, or repeats what it reads, fails here, and so its words
        never become numbers.
        """
        yes, no = [await self.faithful(one, [_REFERENCE]) for one in (_RIGHT, _WRONG)]
        high, low = [await self.correct(_QUESTION, one, _REFERENCE) for one in (_RIGHT, _WRONG)]
        pair = await self.preferred(_QUESTION, _RIGHT, _WRONG, _REFERENCE)
        return [
            f"{what}: {_told(said)}"
            for what, said, held in (
                ("a faithful answer", yes, yes.value == 1),
                ("an invented answer", no, no.value == 0),
                ("a correct answer", high, (high.value or WORST) > (low.value or BEST)),
                ("a wrong answer", low, (high.value or WORST) > (low.value or BEST)),
                ("a correct answer beside a wrong one", pair, pair.value == "left"),
            )
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


def choice_in(text: str) -> tuple[bool | None, float | None, str | None]:
    """The one choice that is named, in the form of LlamaIndex; nothing where there are several.

    Example:
        >>> choice_in("[[B]]"), choice_in("[[A]] or [[B]]?")
        ((False, 0.0, ''), (None, None, None))
    """
    named = set(_CHOICE.findall(text))
    if len(named) != 1:
        return None, None, None
    return {"A": (True, 1.0, ""), "B": (False, 0.0, ""), "C": (None, 0.5, "")}[named.pop()]


def preference_of(result: EvaluationResult) -> Preference | None:
    """What a comparison in both orders came to; None where one of them could not be read.

    LlamaIndex gives the result of either order, and that of the second says 0 where the first
    answer is better.
    """
    if result.invalid_result or result.score is None:
        return None
    if result.pairwise_source == EvaluationSource.NEITHER:
        return "inconsistent"
    if result.score not in (0.0, 1.0):
        return "tie"
    is_flipped = result.pairwise_source == EvaluationSource.FLIPPED
    return "left" if (result.score == 1.0) != is_flipped else "right"


async def _tried(asked: Coroutine[Any, Any, EvaluationResult]) -> EvaluationResult | str:
    """The result, or why there is none."""
    try:
        return await asked
    except CancelledError:
        raise
    except Exception as error:  # noqa: BLE001 -- models and evaluators may raise anything
        return f"not judged: {str(error) or type(error).__name__}"[:_SHOWN]


def _scored(value: float | None, words: str | None) -> Scored:
    return Scored(value, _short(words) if value is not None else f"{_UNREADABLE}: {_short(words)}")


def _short(words: str | None) -> str:
    return " ".join((words or "").split())[:_SHOWN]


def _told(said: Scored | Preferred) -> str:
    return said.words if said.value is None else str(said.value)
