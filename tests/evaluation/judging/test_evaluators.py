"""LlamaIndex's evaluators, where what they return does not say what the judge did."""

from __future__ import annotations

import asyncio

import pytest
from tests.evaluation.judging.scripted import Scripted

from rag_nodes.evaluation.judging.evaluators import Evaluators
from rag_nodes.evaluation.judging.stage import without_citations


@pytest.mark.parametrize(
    ("words", "value"),
    [
        ("YES", 1), ("**Yes**, it is supported.", 1), ("no", 0), ("NO\nBecause yes.", 0),
        ("Yes and no", None), ("Eyes", None), ("Perhaps yes", None),
    ],
)  # fmt: skip
def test_faithful_is_what_begins_with_yes(words: str, value: float | None) -> None:
    said = asyncio.run(Evaluators(Scripted(lambda _: words)).faithful("It is so.", ["It is."]))
    assert said.value == value
    assert value is not None or "in the form asked for" in said.words


@pytest.mark.parametrize(
    ("words", "value"),
    [("4", 4), ("4.5\nGood.", 4.5), ("**3**\nSo so.", 3), ("Score: 2/5", 2), ("5.5", None),
     ("6\nSuperb", None), ("0", None), ("-3", None), ("nan\n", None), ("Four", None)],
)  # fmt: skip
def test_a_grade_stands_alone_in_its_line_and_on_the_scale(words: str, value: float | None) -> None:
    said = asyncio.run(Evaluators(Scripted(lambda _: words)).correct("Which?", "That.", "That."))
    assert said.value == value


def test_long_contexts_are_judged_in_parts_and_braces_in_them_are_text() -> None:
    judge = Scripted(lambda prompt: "YES" if "needle" in prompt else "NO", model="small-1")
    contexts = ["{curly} filler of no use. " * 400, "{the} needle is here. " * 20]
    said = asyncio.run(Evaluators(judge).faithful("A needle.", contexts))
    assert said.value == 1


def test_marks_of_sources_are_not_judged() -> None:
    assert without_citations("A [Source 1]. B [2, 3].") == "A. B."
    assert without_citations("x[1] is `y[2]`") == "x[1] is `y[2]`"
