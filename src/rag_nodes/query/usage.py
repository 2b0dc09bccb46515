"""What an answer took: tokens as the API bills them or as counted here, and their price."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rag_nodes.models.prices import cost_of
from rag_nodes.text.tokens import count_tokens

if TYPE_CHECKING:
    from collections.abc import Mapping

    from llama_index.core.base.llms.types import ChatResponse


class Usage(NamedTuple):
    """Tokens and money of one answer; fields as in `Answer`."""

    tokens_in: int = 0
    tokens_out: int = 0
    tokens_estimated: bool = False
    cost: float | None = 0.0


def usage_of(
    response: ChatResponse | None,
    prompt: str,
    text: str,
    *,
    model: str,
    prices: Mapping[str, tuple[float, float]],
) -> Usage:
    """What an LLM's answer took.

    Args:
        response: the answer, or the last piece of it; None where nothing came.
        prompt: everything the model read.
        text: everything it wrote.
        model: its name in the price table.
        prices: entries that win over `PRICES`.
    """
    billed = _billed(response)
    tokens_in, tokens_out = billed or (count_tokens(prompt), count_tokens(text))
    cost = cost_of(tokens_in, tokens_out, model, prices)
    return Usage(tokens_in, tokens_out, billed is None, cost)


def _billed(response: ChatResponse | None) -> tuple[int, int] | None:
    """Tokens as the API counted them; LlamaIndex's models put them where ours does."""
    if response is None:
        return None
    told = response.additional_kwargs
    read, written = told.get("prompt_tokens"), told.get("completion_tokens")
    return (read, written) if isinstance(read, int) and isinstance(written, int) else None
