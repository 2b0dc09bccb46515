"""What is known about chat models before they are asked, and what they say they were billed for."""

from __future__ import annotations

from typing import Any

SMALLEST_WINDOW = 8192
"""Context window assumed of a model nobody here has heard of (S4-20)."""
_WINDOWS = {
    "gpt-3.5-turbo": 16_385,
    "gpt-4": 8192,
    "gpt-4-turbo": 128_000,
    "gpt-4.1": 1_047_576,
    "gpt-4o": 128_000,
    "gpt-5": 400_000,
    "o1": 200_000,
    "o3": 200_000,
    "o4-mini": 200_000,
}
"""Tokens of prompt and answer together, by the beginning of the model's name."""


def known_window(model_name: str) -> int:
    """Context window of a model in tokens; `SMALLEST_WINDOW` where it is not known.

    Variants such as `gpt-4o-mini` and dated names are known by the longest name they begin with.

    Example:
        >>> known_window("gpt-4o-mini-2024-07-18"), known_window("llama3")
        (128000, 8192)
    """
    parts = model_name.split("-")
    beginnings = ("-".join(parts[:count]) for count in range(len(parts), 0, -1))
    return next((_WINDOWS[name] for name in beginnings if name in _WINDOWS), SMALLEST_WINDOW)


def billed(response: Any) -> dict[str, int]:
    """Tokens read and written by the server's count, under LlamaIndex's names for them.

    Args:
        response: of the OpenAI client, whole or one event of a stream.

    Returns:
        `prompt_tokens` and `completion_tokens`, or nothing where the server does not say.
    """
    usage = getattr(response, "usage", None)
    counts = {name: getattr(usage, name, None) for name in ("prompt_tokens", "completion_tokens")}
    return counts if all(isinstance(count, int) for count in counts.values()) else {}  # type: ignore[return-value]
