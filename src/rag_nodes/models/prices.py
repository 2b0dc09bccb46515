"""Prices of models: one editable table for embedding and writing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    Prices = Mapping[str, tuple[float, float]]

PRICES: dict[str, tuple[float, float]] = {
    "gpt-3.5-turbo": (0.50, 1.50),
    "gpt-4.1": (2.00, 8.00),
    "gpt-4.1-mini": (0.40, 1.60),
    "gpt-4.1-nano": (0.10, 0.40),
    "gpt-4o": (2.50, 10.00),
    "gpt-4o-mini": (0.15, 0.60),
    "text-embedding-3-large": (0.13, 0.0),
    "text-embedding-3-small": (0.02, 0.0),
    "text-embedding-ada-002": (0.10, 0.0),
}
"""US dollars per million tokens by model, as (input, output): OpenAI's list prices of 2025.
`[answers.prices]` of `rag_nodes.toml` and `QueryOptions.prices` win over it."""
_MILLION = 1_000_000
"""Tokens that a price is for."""
_LEAST_SHOWN = 0.0001
"""US dollars; smaller amounts are shown as less than this."""


def price_of(model: str, prices: Prices) -> tuple[float, float] | None:
    """Dollars per million tokens read and written; None where the price is unknown.

    Args:
        model: its name; behind a compatible server with its address, as `priced_name` and
            `embedding_name` give it: then it has no price but one of `prices`.
        prices: entries that win over `PRICES`, with or without the address.

    Examples:
        >>> from rag_nodes.models.prices import price_of
        >>> price_of("lexical-1024", {}), price_of("mine", {"mine": (1.0, 2.0)})
        ((0.0, 0.0), (1.0, 2.0))
    """
    if model not in prices and model.startswith("lexical"):
        return 0.0, 0.0
    return {**PRICES, **prices}.get(model) or prices.get(model.partition("@")[0])


def dollars(cost: float | None) -> str:
    """A cost as people read it.

    Examples:
        >>> from rag_nodes.models.prices import dollars
        >>> dollars(0.0123), dollars(0.00002), dollars(None)
        ('$0.0123', 'under $0.0001', 'price unknown')
    """
    if cost is None:
        return "price unknown"
    return "under $0.0001" if 0 < cost < _LEAST_SHOWN else f"${cost:.4f}"


def cost_of(read: int, written: int, model: str, prices: Prices) -> float | None:
    """US dollars for some tokens; nothing for none; None where the price is unknown."""
    if not read and not written:
        return 0.0
    price = price_of(model, prices)
    return None if price is None else (read * price[0] + written * price[1]) / _MILLION


def billed(reply: Mapping[str, Any]) -> tuple[int, int] | None:
    """Tokens read and written as the server counted them; None where it did not say.

    Args:
        reply: the `additional_kwargs` of a response, where LlamaIndex's models put them.
    """
    read, written = reply.get("prompt_tokens"), reply.get("completion_tokens")
    return (read, written) if isinstance(read, int) and isinstance(written, int) else None
