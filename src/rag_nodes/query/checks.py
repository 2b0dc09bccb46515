"""Options as they are written in Python: what is wrong with one is said at once, in our words."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from math import isfinite
from numbers import Integral, Real

from rag_nodes.errors import ConfigurationError


def check_whole(name: str, value: object, *, least: int) -> None:
    """A whole number from `least` up, or None.

    Raises:
        ConfigurationError: it is neither.
    """
    if value is None:
        return
    if not isinstance(value, Integral) or isinstance(value, bool):
        raise ConfigurationError(f"{name} must be a whole number, not {value!r}")
    if int(value) < least:
        raise ConfigurationError(f"{name} must be at least {least}, not {value}")


def check_number(name: str, value: object, *, least: float, most: float | None = None) -> None:
    """A finite number within bounds, or None.

    Raises:
        ConfigurationError: it is neither.
    """
    if value is None:
        return
    if not isinstance(value, Real) or isinstance(value, bool) or not isfinite(value):
        raise ConfigurationError(f"{name} must be a number, not {value!r}")
    if float(value) < least or (most is not None and float(value) > most):
        bounds = f"at least {least}" if most is None else f"between {least} and {most}"
        raise ConfigurationError(f"{name} must be {bounds}, not {value}")


def check_choice(name: str, value: object, choices: Sequence[str]) -> None:
    """One of some words.

    Raises:
        ConfigurationError: it is none of them.
    """
    if not isinstance(value, str) or value not in choices:
        listed = f"{', '.join(choices[:-1])} or {choices[-1]}"
        raise ConfigurationError(f"unknown {name} {value!r}; choose {listed}")


def check_texts(name: str, value: object) -> None:
    """Several texts.

    Raises:
        ConfigurationError: it is one text, or something else.
    """
    if not (
        isinstance(value, Collection)
        and not isinstance(value, str | bytes)
        and all(isinstance(one, str) for one in value)
    ):
        raise ConfigurationError(f"{name} must be a list of texts, not {value!r}")


def check_prices(value: object) -> None:
    """US dollars read and written by name of a model.

    Raises:
        ConfigurationError: a price is missing, below 0, or no number.
    """
    if not isinstance(value, Mapping):
        raise ConfigurationError(f"prices must map names of models to two numbers, not {value!r}")
    for model, pair in value.items():
        if not isinstance(pair, Sequence) or isinstance(pair, str) or len(pair) != 2:  # noqa: PLR2004
            raise ConfigurationError(
                f"prices of {model!r} must be dollars per million tokens read and written, such "
                f"as (0.15, 0.6), not {pair!r}"
            )
        for dollars in pair:
            if dollars is None:
                raise ConfigurationError(f"prices of {model!r} must be numbers, not {pair!r}")
            check_number(f"prices of {model!r}", dollars, least=0)


def check_type(name: str, value: object, wanted: type) -> None:
    """A value of a type, or None.

    Raises:
        ConfigurationError: it is neither.
    """
    if value is not None and not isinstance(value, wanted):
        raise ConfigurationError(f"{name} must be a {wanted.__name__}, not {value!r}")
