"""Superscripts as the Unicode characters that mean them, for every format that is read.

A reader knows which characters are printed raised; its text has no other way to say so. Taken over
as they are, 10³ becomes 103 and a word with note 12 becomes word12.
"""

from __future__ import annotations

from rag_nodes.text.patterns import compiled

_RAISED = str.maketrans(
    "0123456789+-\u2212=()abcdefghijklmnoprstuvwxyzABDEGHIJKLMNOPRTUVW",
    "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻᴬᴮᴰᴱᴳᴴᴵᴶᴷᴸᴹᴺᴼᴾᴿᵀᵁⱽᵂ",
)
_LOWERED = {high: low for low, high in reversed(_RAISED.items())}
_WORD = compiled(r"[^\W\d_]{2}")
_LEADING_NUMBER = compiled(r"\A\s*[0-9]+")
_OUTSIDE_BRACKETS = compiled(r"\[[^\[\]]*\]|[^\[]+|\[")
_LEADING_DASH = compiled(r"\A(\s*)\u2013(?=[0-9])")


def raised(text: str) -> str:
    """Return a superscript in Unicode characters, of the same length.

    Digits, signs, parentheses and single letters become raised characters, which NFKC turns back.
    Numbers in brackets stay, and so do endings such as `th`, abbreviations and whole words, of
    which only a number at the beginning is raised: it may follow another one.

    Args:
        text: what is printed raised, without what it belongs to: all of it, so that a word is seen
            as a word.

    >>> from rag_nodes.text.superscripts import raised
    >>> "10" + raised("-3"), "x" + raised("n+1"), "note" + raised("12"), "note" + raised("[12]")
    ('10⁻³', 'xⁿ⁺¹', 'note¹²', 'note[12]')
    >>> "4" + raised("th"), "word" + raised("2nd note")
    ('4th', 'word²nd note')
    """
    if _WORD.search(text):
        return _LEADING_NUMBER.sub(lambda number: number[0].translate(_RAISED), text)
    text = _LEADING_DASH.sub(r"\1-", text)
    return _OUTSIDE_BRACKETS.sub(
        lambda part: part[0] if part[0].endswith("]") else part[0].translate(_RAISED), text
    )


def lowered(text: str) -> str:
    """Return text with its raised characters as plain ones, of the same length.

    >>> from rag_nodes.text.superscripts import lowered
    >>> lowered("10⁻³ and note¹²")
    '10-3 and note12'
    """
    return text if text.isascii() else text.translate(_LOWERED)
