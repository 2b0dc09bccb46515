"""Questions reviewed in the terminal: a card, one key and Enter, the next card."""

from __future__ import annotations

import textwrap
from dataclasses import replace
from typing import TYPE_CHECKING

from rag_nodes.cli.views.text import clean, one_line
from rag_nodes.evaluation.dataset import Dataset
from rag_nodes.evaluation.drafts.review import (
    TO_ASK,
    following,
    free,
    lengthened,
    next_to_ask,
    stretches,
    told,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rag_nodes.evaluation.dataset import Question
    from rag_nodes.evaluation.metrics import Passage

KEYS = (
    "a accept, r reject, s shorter answer, l longer answer, e edit, q ask something else here, "
    "n next, p previous, w elsewhere, z undo reject, x end; or type the question as it should be"
)
_WORDED = {"e": "Question: ", "q": "What else does it answer? "}
"""Keys after which the question is typed."""
_WIDTH = 96
_AROUND = 200
"""Characters shown on either side of a passage."""
_LONGEST = 1_200
"""Characters of a passage that are shown; of a longer one beginning and end."""


class Review:
    """Questions, and which of them is on the card.

    Args:
        dataset: the questions, and the documents they are about.
    """

    def __init__(self, dataset: Dataset) -> None:
        self._dataset = dataset
        self._questions = list(dataset.questions)
        self._documents = {one.id_: one for one in dataset.documents}
        self._parts = stretches(dataset.documents)
        self._removed: list[tuple[int, Question]] = []
        self._at = 0
        self._note = ""
        self._go(0)

    @property
    def dataset(self) -> Dataset:
        """The questions as they are now; passages nobody has asked about are none."""
        asked = tuple(one for one in self._questions if not _is_to_ask(one))
        return replace(self._dataset, questions=asked)

    def run(
        self,
        ask: Callable[[str], str],
        show: Callable[[str], None],
        keep: Callable[[Dataset], None],
    ) -> None:
        """Show cards and do what is typed, until there is nothing left, or no more is typed.

        Args:
            ask: a line, given what is wanted; raises EOFError where there is no more.
            show: some lines.
            keep: what there is now, after every decision.
        """
        show(KEYS)
        more = bool(self._questions)
        while more:
            show("\n".join(self._card()))
            try:
                line = ask("> ").strip()
                if line.lower() == "x":
                    return
                if line.lower() in _WORDED:
                    line = ask(_WORDED[line.lower()]).strip() or " "
            except EOFError:
                return
            more = self._do(line)
            keep(self.dataset)
            if self._note:
                show(self._note)
                self._note = ""

    def _do(self, line: str) -> bool:
        """Do what was typed; False where there is nothing left to review."""
        one = self._questions[self._at]
        if len(line) > 1:
            return self._accept(one, line)
        keys: dict[str, Callable[[], bool]] = {
            "a": lambda: self._accept(one, "" if _is_to_ask(one) else one.text),
            "r": lambda: self._reject(one),
            "s": lambda: self._resize(one, -1),
            "l": lambda: self._resize(one, 1),
            "n": lambda: self._step(1),
            "p": lambda: self._step(-1),
            "w": lambda: self._elsewhere() or True,
            "z": self._bring_back,
        }
        return keys.get(line.lower(), lambda: self._step(0))()

    def _reject(self, question: Question) -> bool:
        self._questions.remove(question)
        self._removed.append((self._at, question))
        return self._go(self._at)

    def _bring_back(self) -> bool:
        if self._removed:
            self._at, question = self._removed.pop()
            self._questions.insert(self._at, question)
        return True

    def _resize(self, question: Question, step: int) -> bool:
        self._questions[self._at] = lengthened(question, self._documents, step)
        return True

    def _step(self, step: int) -> bool:
        self._at = (self._at + step) % len(self._questions)
        return True

    def _accept(self, question: Question, text: str) -> bool:
        if not text:
            self._note = "Type the question that this answers, or go on with n, w or x."
            return True
        self._questions[self._at] = replace(question, text=one_line(text), draft=False)
        self._note = told(sum(not one.draft for one in self._questions))
        return self._go(self._at + 1)

    def _go(self, position: int) -> bool:
        """To the next draft, else to a part of the documents without an answer."""
        name = following(self._questions, position)
        ids = [one.id for one in self._questions]
        self._at = ids.index(name) if name else 0
        if self._questions and self._questions[self._at].draft:
            return True
        return self._elsewhere()

    def _elsewhere(self) -> bool:
        """To the part that is farthest from all answers; False where each has one."""
        made = next_to_ask(self._parts, self._questions, self._dataset.texts)
        if made is None:
            self._note = "Every part of the documents has an answer."
            return False
        self._questions.append(made)
        self._at = len(self._questions) - 1
        return True

    def _card(self) -> Iterator[str]:
        one, number = self._questions[self._at], len(self._questions)
        drafts = sum(other.draft for other in self._questions)
        covered = len(self._parts) - len(free(self._parts, self._questions))
        state = "to ask" if _is_to_ask(one) else "draft" if one.draft else "accepted"
        yield ""
        yield (
            f"{self._at + 1} of {number} · {state} · {drafts} to review · "
            f"{covered} of {len(self._parts)} parts covered"
        )
        yield f"({one_line(one.text)})" if _is_to_ask(one) else one_line(one.text)
        for passage in one.gold[0]:
            yield from self._passage(passage)
        if len(one.gold) > 1:
            yield f"  and {len(one.gold) - 1} other places that answer as well"

    def _passage(self, passage: Passage) -> Iterator[str]:
        """A passage in the text around it, its lines marked."""
        text, (start, end) = self._dataset.texts[passage.document], passage.span
        yield f"  {one_line(self._dataset.names[passage.document])}"
        quote = text[start:end]
        if len(quote) > _LONGEST:
            half = _LONGEST // 2
            quote = f"{quote[:half]} […] {quote[-half:]}"
        for mark, part in (
            ("    ", text[max(0, start - _AROUND) : start]),
            ("  > ", quote),
            ("    ", text[end : end + _AROUND]),
        ):
            for line in clean(part).strip().splitlines():
                yield from textwrap.wrap(
                    line, _WIDTH, initial_indent=mark, subsequent_indent=mark
                )  # fmt: skip


def _is_to_ask(question: Question) -> bool:
    return question.draft and question.kind == TO_ASK
