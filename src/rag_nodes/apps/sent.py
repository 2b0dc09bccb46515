"""What the page sends along with a click; a script may send anything in its place."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from rag_nodes.apps.inside_gradio import data_of

if TYPE_CHECKING:
    import gradio as gr

_NUMBER = re.compile(r"[0-9]{1,9}")


class Sent(NamedTuple):
    """A click below an answer, checked for its form only.

    Attributes:
        act: what was clicked; "" for something else.
        turn: number of the question; 0 for none.
        column: position of the column on the page, from 1; 0 for none.
        rank: of a chunk, from 1; 0 for none.
        cited: position of a cited place, from 1; 0 for none.
        verdict: what was said.
    """

    act: str = ""
    turn: int = 0
    column: int = 0
    rank: int = 0
    cited: int = 0
    verdict: str = ""

    @classmethod
    def of(cls, event: gr.EventData) -> Sent:
        """Read it; what does not fit counts as not sent."""
        texts = texts_of(event)
        return cls(
            act=texts.get("act", ""),
            turn=number_in(texts.get("turn")) or 0,
            column=number_in(texts.get("column")) or 0,
            rank=number_in(texts.get("rank")) or 0,
            cited=number_in(texts.get("cited")) or 0,
            verdict=texts.get("verdict", ""),
        )


def texts_of(event: gr.EventData) -> dict[str, str]:
    """The texts that were sent, by name; anything else is left out."""
    data = data_of(event)
    values = data if isinstance(data, dict) else {}
    return {name: one for name, one in values.items() if isinstance(one, str)}


def number_in(text: str | None) -> int | None:
    """The number a text is; None for any other text."""
    return int(text) if text and _NUMBER.fullmatch(text) else None
