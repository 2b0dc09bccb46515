"""Fields of Word forms as text: `[x]` and `[ ]` for boxes to tick, the chosen entry of a list."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rag_nodes.readers.word.names import VAL, W, number_of

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

_W14: Final = "{http://schemas.microsoft.com/office/word/2010/wordml}"
_OFF: Final = frozenset({"0", "false", "off"})
_TICKED, _EMPTY = "[x]", "[ ]"
_BOXES: Final = {
    ("wingdings", "6F"): _EMPTY,
    ("wingdings", "A8"): _EMPTY,
    ("wingdings", "FD"): _TICKED,
    ("wingdings", "FE"): _TICKED,
    ("wingdings 2", "52"): _TICKED,
    ("wingdings 2", "53"): _TICKED,
    ("wingdings 2", "54"): _TICKED,
    ("wingdings 2", "A3"): _EMPTY,
}
"""Boxes by the font and the place in it that a `w:sym` names."""


PROMPTS: Final = (
    "prompt of an empty form field was left out",
    "prompts of empty form fields were left out",
)
"""Warning about a loss, in the singular and the plural."""


def write_controls(root: Element) -> int:
    """Replace what content controls show by their values.

    Boxes to tick become `[x]` or `[ ]`; a prompt such as "Click here to enter text" is no value.

    Returns:
        The number of prompts that were left out.
    """
    prompts = 0
    for mark in root.iter(W + "showingPlcHdr"):
        control = next(mark.iterancestors(W + "sdt"), None)
        if control is not None and _is_on(mark, VAL):
            texts = [text for text in control.iter(W + "t") if text.text]
            prompts += bool(texts) and next(control.iter(_W14 + "checkbox"), None) is None
            for text in texts:
                text.text = ""
    for box in root.iter(_W14 + "checkbox"):
        control = next(box.iterancestors(W + "sdt"), None)
        shown = [] if control is None else list(control.iter(W + "t", W + "sym"))
        for number, text in enumerate(shown):
            text.tag = W + "t"
            state = box.find(_W14 + "checked")
            text.text = "" if number else _tick(is_on=_is_on(state, _W14 + "val"))
    return prompts


def field_value(mark: Element) -> str | None:
    """Return the value of a legacy form field that has no text of its own.

    Args:
        mark: the `w:fldChar` at which the field begins.

    Returns:
        `[x]` or `[ ]`, or the chosen entry of a list; None for fields that hold their text.
    """
    for box in mark.iter(W + "checkBox"):
        state = box.find(W + "checked")
        return _tick(is_on=_is_on(box.find(W + "default") if state is None else state, VAL))
    for choices in mark.iter(W + "ddList"):
        entries = [entry.get(VAL, "") for entry in choices.iter(W + "listEntry")]
        chosen = number_of(choices, "result")
        chosen = number_of(choices, "default") or 0 if chosen is None else chosen
        return entries[chosen] if 0 <= chosen < len(entries) else ""
    return None


def box_of(symbol: Element) -> str | None:
    """Return the box to tick that a `w:sym` shows; None for other symbols."""
    place = symbol.get(W + "char", "").upper().removeprefix("F0").removeprefix("00")
    return _BOXES.get((symbol.get(W + "font", "").lower(), place))


def _tick(*, is_on: bool) -> str:
    return _TICKED if is_on else _EMPTY


def _is_on(state: Element | None, attribute: str) -> bool:
    """Return True if an element turns something on; without a value it does."""
    return state is not None and state.get(attribute, "1") not in _OFF
