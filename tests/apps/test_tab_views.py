"""How the page brings tabs up to date: only what is open, in one answer or in steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from visits import Request

from rag_nodes.apps.tabs import TabView

if TYPE_CHECKING:
    from collections.abc import Iterator

SKIP = {"__type__": "update"}


def _counted(shown: str, request: Request) -> str:
    return f"{shown} of {request.session_hash}"


def _in_steps(shown: str, request: Request) -> Iterator[tuple[str, str]]:
    yield shown, "measuring"
    yield shown, request.session_hash


@pytest.mark.parametrize(("outputs", "skipped"), [(1, SKIP), (2, (SKIP, SKIP))])
def test_a_hidden_tab_changes_none_of_its_outputs(outputs: int, skipped: Any) -> None:
    event = TabView(_counted, [None], [None] * outputs).while_open("words")
    assert event(Request(), "compare", "2") == skipped
    assert event(Request(), "words", "2") == "2 of visitor"


def test_a_tab_that_answers_in_steps_does_so_when_it_is_open() -> None:
    event = TabView(_in_steps, [None], [None] * 2).while_open("words")
    assert list(event(Request(), "compare", "2")) == [(SKIP, SKIP)]
    assert list(event(Request(), "words", "2")) == [("2", "measuring"), ("2", "visitor")]
