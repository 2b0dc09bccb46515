"""Values of options that cannot work, refused before anything is asked.

Raises, each of these checks:
    ConfigurationError: says which option, what it must be, and what was given.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from math import isfinite
from numbers import Integral, Real

from rag_nodes.core.errors import ConfigurationError
from rag_nodes.core.spelling import quoted


def check_whole(name: str, value: object) -> None:
    """A whole number from 1 up, or None.

    Raises:
        ConfigurationError: it is neither.
    """
    if value is None:
        return
    if not isinstance(value, Integral) or isinstance(value, bool):
        raise ConfigurationError(f"{name} must be a whole number, not {quoted(value)}")
    if int(value) < 1:
        raise ConfigurationError(f"{name} must be at least 1, not {value}")


def check_number(name: str, value: object, *, minimum: float, maximum: float | None = None) -> None:
    """A finite number within bounds, or None."""
    if value is None:
        return
    if not isinstance(value, Real) or isinstance(value, bool) or not isfinite(value):
        raise ConfigurationError(f"{name} must be a number, not {quoted(value)}")
    if float(value) < minimum or (maximum is not None and float(value) > maximum):
        bounds = f"at least {minimum}" if maximum is None else f"between {minimum} and {maximum}"
        raise ConfigurationError(f"{name} must be {bounds}, not {value}")


def check_choice(name: str, value: object, choices: Sequence[str | None]) -> None:
    """One of several words, or None where that is one of the choices."""
    if not isinstance(value, str | None) or value not in choices:
        words = [choice for choice in choices if choice is not None]
        listed = f"{', '.join(words[:-1])} or {words[-1]}"
        raise ConfigurationError(f"unknown {name} {quoted(value)}; choose {listed}")


def check_texts(name: str, value: object) -> None:
    """Several texts, in a collection."""
    if not (
        isinstance(value, Collection)
        and not isinstance(value, str | bytes)
        and all(isinstance(text, str) for text in value)
    ):
        raise ConfigurationError(f"{name} must be a list of texts, not {quoted(value)}")


def check_prices(value: object) -> None:
    """US dollars read and written by name of a model."""
    if not isinstance(value, Mapping):
        raise ConfigurationError(
            f"prices must map names of models to two numbers, not {quoted(value)}"
        )
    for model, pair in value.items():
        if not isinstance(pair, Sequence) or isinstance(pair, str) or len(pair) != 2:  # noqa: PLR2004
            raise ConfigurationError(
                f"prices of '{model}' must be dollars per million tokens read and written, such "
                f"as (0.15, 0.6), not {quoted(pair)}"
            )
        for dollars in pair:
            if dollars is None:
                raise ConfigurationError(f"prices of '{model}' must be numbers, not {quoted(pair)}")
            check_number(f"prices of '{model}'", dollars, minimum=0)


def check_type(name: str, value: object, *wanted: type) -> None:
    """An object of one of some classes, or None."""
    if value is not None and not isinstance(value, wanted):
        names = " or ".join(kind.__name__ for kind in wanted)
        raise ConfigurationError(f"{name} must be a {names}, not {quoted(value)}")


def check_rerank(value: object) -> None:
    """Refuse a `rerank` that cannot put hits into another order; None is fine."""
    is_reranker = callable(value) or callable(getattr(value, "postprocess_nodes", None))
    if value is not None and not is_reranker:
        raise ConfigurationError(
            f"rerank must be a function of question and hits, or a LlamaIndex postprocessor, not "
            f"{quoted(value)}"
        )
