"""What models cost: one editable table for embedding and writing (S4-21)."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
"""US dollars per million tokens read and written, as OpenAI listed them in 2025. `[answers.prices]`
of `rag_nodes.toml` and `QueryOptions.prices` win over it."""
_MILLION = 1_000_000
_LEAST_SHOWN = 0.0001


def price_of(model: str, prices: Prices) -> tuple[float, float] | None:
    """Dollars per million tokens read and written; None where the price is unknown.

    Args:
        model: its name in reports; models of a compatible server bear its address, and no price.
        prices: entries that win over `PRICES`.

    Example:
        >>> price_of("lexical-1024", {}), price_of("mine", {"mine": (1.0, 2.0)})
        ((0.0, 0.0), (1.0, 2.0))
    """
    if model not in prices and model.startswith("lexical"):
        return 0.0, 0.0
    return {**PRICES, **prices}.get(model)


def dollars(cost: float | None) -> str:
    """A cost as people read it.

    Example:
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
