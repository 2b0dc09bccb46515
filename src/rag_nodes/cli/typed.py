"""The text of one option to values: OPTION=VALUE, and numbers with commas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rag_nodes.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterable


def assignments(texts: Iterable[str], where: str) -> dict[str, str]:
    """Options as typed, by name.

    Args:
        texts: each OPTION=VALUE.
        where: names the place, for messages.

    Raises:
        ConfigurationError: one is written otherwise, or given twice.
    """
    assigned: dict[str, str] = {}
    for text in texts:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not (name and equals and value):
            raise ConfigurationError(
                f"{where}: {text.strip()!r} is not OPTION=VALUE, for example chunk_size=500"
            )
        if name in assigned:
            raise ConfigurationError(f"{where}: {name} is given twice; leave one out")
        assigned[name] = value
    return assigned


def numbers(option: str, text: str) -> tuple[int, ...]:
    """Different numbers above 0, smallest first.

    Raises:
        ConfigurationError: something else was typed.
    """
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not all(part.isdecimal() for part in parts):
        raise ConfigurationError(f"{option} {text!r} must be numbers with commas, as 500,1000,2000")
    return tuple(sorted({int(part) for part in parts} - {0}))


def table_of(setting: str, texts: list[str]) -> dict[str, Any]:
    """Options by name, typed as OPTION=VALUE.

    Raises:
        ConfigurationError: one is written otherwise, or may be a key.
    """
    from rag_nodes.settings import refuse_secrets, typed_option

    flag = f"--{setting.removesuffix('s').replace('_', '-')}"
    options = {name: typed_option(value) for name, value in assignments(texts, flag).items()}
    refuse_secrets(options, flag, setting)
    return options
