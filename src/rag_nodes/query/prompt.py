"""What an LLM reads: the template with the numbered sources and the question filled in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rag_nodes.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rag_nodes.query.types import Source

_SHORTEST_MARK = 3
"""Characters a line needs to count as a closing mark worth protecting."""


def fill(template: str, sources: Sequence[Source], question: str) -> str:
    """The prompt: sources as `[Source 1 - Page 5]: text` (S4-15), then the question.

    A document that contains the template's closing mark cannot step out of the quotation with it.

    Args:
        template: with `{context}` and `{question}`; literal braces are doubled.
        sources: what the answer may use.
        question: in the user's words.

    Raises:
        ConfigurationError: the template has other placeholders or single braces.
    """
    context = "\n\n".join(f"[{source.label}]: {source.text}" for source in sources)
    mark = _closing_mark(template)
    if mark:
        context = context.replace(mark, " ".join(mark))
    try:
        return template.format(context=context, question=question)
    except (AttributeError, IndexError, KeyError, ValueError) as error:
        raise ConfigurationError(
            f"the prompt template cannot be filled in ({error!r}); it may hold {{context}} and "
            "{question}, and every other brace must be doubled"
        ) from error


def _closing_mark(template: str) -> str:
    """The line behind `{context}` that ends the quotation; "" where there is none."""
    lines = template.partition("{context}")[2].strip().splitlines()
    mark = lines[0].strip() if lines else ""
    return mark if len(mark) >= _SHORTEST_MARK and "{" not in mark else ""
