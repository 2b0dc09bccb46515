"""What an LLM reads: the template with the numbered sources and the question filled in.

Sources are quoted as data. What would let a document step out of its quotation is made harmless
here and nowhere else: hits, citations and offsets keep the text as it is.
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, NamedTuple

from rag_nodes.errors import ConfigurationError
from rag_nodes.query.marks import without_marks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rag_nodes.query.types import Source

_SHORTEST_MARK = 3
"""Characters a line needs to count as a mark worth protecting."""
_INVISIBLE = re.compile(
    "[\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f]"
)
"""Characters nobody sees: they hide text from people, reorder it, or break up a mark."""
_JOINERS = re.compile("[\u200c\u200d]")
"""Not seen either, but Persian and emoji are spelled with them."""
_LINE_START = "(?:^|(?<=[\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]))"


class _Marks(NamedTuple):
    """What of the template a document must not repeat; None where there is no such thing."""

    closing: re.Pattern[str] | None
    question: re.Pattern[str] | None


def fill(template: str, sources: Sequence[Source], question: str) -> str:
    """The prompt: sources as `[Source 1 - Page 5]: text` (S4-15), then the question.

    A document cannot step out of the quotation with the template's closing mark, the label of a
    source or the words that introduce the question; numbers it has in brackets, which a model
    would copy and so cite, are put in parentheses.

    Args:
        template: with `{context}` and `{question}`; literal braces are doubled.
        sources: what the answer may use.
        question: in the user's words.

    Raises:
        ConfigurationError: the template has other placeholders or single braces.
    """
    marks = _marks(template)
    context = "\n\n".join(
        f"[{_as_data(source.label, marks)}]: {_as_data(source.text, marks)}" for source in sources
    )
    try:
        return template.format(context=context, question=without_marks(question))
    except (AttributeError, IndexError, KeyError, ValueError) as error:
        raise ConfigurationError(
            f"the prompt template cannot be filled in ({error!r}); it may hold {{context}} and "
            "{question}, and every other brace must be doubled"
        ) from error


def _as_data(text: str, marks: _Marks) -> str:
    """Document text that reads the same and cannot be taken for a part of the prompt around it."""
    if not text.isascii():
        text = _INVISIBLE.sub("", text)
        plain = unicodedata.normalize("NFKC", _JOINERS.sub("", text))
        if without_marks(plain) != plain or any(mark and mark.search(plain) for mark in marks):
            # Full-width brackets and the like read as the plain ones, to a model too.
            text = plain
    if marks.closing:
        text = marks.closing.sub(lambda found: " ".join(found[0]), text)
    if marks.question:
        text = marks.question.sub(r"> \g<0>", text)
    return without_marks(text)


def _marks(template: str) -> _Marks:
    """The line that ends the quotation, and what stands before the question on its line."""
    lines = template.partition("{context}")[2].strip().splitlines()
    closing = lines[0].strip() if lines else ""
    before = template.partition("{question}")[0].rpartition("\n")[2].strip()
    return _Marks(
        re.compile(re.escape(closing), re.IGNORECASE) if _is_mark(closing) else None,
        re.compile(rf"{_LINE_START}[ \t]*{re.escape(before)}", re.IGNORECASE | re.MULTILINE)
        if _is_mark(before)
        else None,
    )


def _is_mark(line: str) -> bool:
    return len(line) >= _SHORTEST_MARK and "{" not in line
