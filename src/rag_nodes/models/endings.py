"""Reasons why a model stopped writing, as the classes of LlamaIndex name them."""

from __future__ import annotations

from typing import Any

_NAMES = ("finish_reason", "stop_reason", "done_reason")
_LIMITS = frozenset({"length", "max_tokens"})
"""Reasons of OpenAI, Ollama, Anthropic and Google, in lower case, if the limit was reached."""


def ended_at_limit(answer: Any) -> bool:
    """Return True if a model stopped in the middle, at its limit of output tokens.

    Args:
        answer: a `ChatResponse` or `CompletionResponse`, or the last piece of a streamed one.
    """
    raw = answer.raw
    choices = _field(raw, "choices")
    places = (answer.additional_kwargs, raw, choices[0] if choices else None)
    reasons = (_field(place, name) for place in places for name in _NAMES)
    return any(str(getattr(value, "name", value)).lower() in _LIMITS for value in reasons if value)


def _field(place: Any, name: str) -> Any:
    return place.get(name) if isinstance(place, dict) else getattr(place, name, None)
