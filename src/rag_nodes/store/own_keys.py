"""Conditions on the user's own metadata keys, as `Filter(where=…)` takes them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

from rag_nodes.core.errors import ConfigurationError
from rag_nodes.core.own_metadata import MAX_KEY_LENGTH, MAX_KEYS, OPERATORS, is_scalar, is_value
from rag_nodes.core.spelling import quoted
from rag_nodes.store.conditions import Condition, Where, all_of, none_of, time_in

_RANGES = OPERATORS[2:]
_PLAIN = re.compile(r"[A-Za-z0-9_-]+")
"""Keys that need no quotation marks in a path of Qdrant."""
_UNQUOTABLE = re.compile(r'["\\\x00-\x1f\x7f\ud800-\udfff]')
_SHOWN = 60
"""Characters of a value that a message repeats."""


def checked(where: object) -> dict[str, Any]:
    """Return conditions by key, each a mapping of operators to values, or None for absence.

    Raises:
        ConfigurationError: a key, an operator or a value cannot be searched for.
    """
    if not isinstance(where, Mapping):
        raise ConfigurationError(
            "the filter's where must be conditions by key, such as {'dept': 'hr'}, not "
            f"{quoted(where)}"
        )
    if len(where) > MAX_KEYS:
        raise ConfigurationError(
            f"the filter's where names {len(where)} keys; name at most {MAX_KEYS}"
        )
    return {_key(key): _checked(key, compared) for key, compared in where.items()}


def conditions_on(where: Mapping[str, Any]) -> Where | None:
    """Return what `checked` conditions ask of a payload; None if there are none.

    A chunk without the key passes only the condition that it is absent; a list passes where one of
    its values does, and `!=` where none of them is excluded.
    """
    asked: list[Where | None] = []
    for name, compared in where.items():
        key = path_of(name)
        if compared is None:
            asked.append(Condition(key, "is_empty", None))
            continue
        for how, value in compared.items():
            if how == "!=":
                excluded = Condition(key, "in", list(value))
                asked.append(none_of(excluded, Condition(key, "is_empty", None)))
            elif how == "==":
                equal = len(value) == 1
                asked.append(
                    Condition(key, "==", value[0]) if equal else Condition(key, "in", list(value))
                )
            else:
                asked.append(Condition(key, how, value))
    return all_of(*asked)


def path_of(key: str) -> str:
    """Return the path of a key in a payload, in quotation marks if it has other characters.

    >>> from rag_nodes.store.own_keys import path_of
    >>> path_of("dept"), path_of("effective date")
    ('dept', '"effective date"')
    """
    return key if _PLAIN.fullmatch(key) else f'"{key}"'


def _key(key: object) -> str:
    if not isinstance(key, str) or not key.strip() or len(key) > MAX_KEY_LENGTH:
        raise ConfigurationError(
            f"the filter's where has the key {_shown(key)}; a key is a text of 1 to "
            f"{MAX_KEY_LENGTH} characters"
        )
    if _UNQUOTABLE.search(key):
        raise ConfigurationError(
            f"the filter's where has the key {_shown(key)}; no store finds keys with quotation "
            "marks, backslashes or control characters: rename the key and ingest again"
        )
    return key


def _checked(key: object, compared: object) -> dict[str, Any] | None:
    """Return the operators and values of a key: tuples for `==` and `!=`, scalars for ranges."""
    if compared is None:
        return None
    if not isinstance(compared, Mapping):
        return {"==": _several(key, compared)}
    if not compared:
        raise _refused(key, compared, f"name an operator: {', '.join(OPERATORS)}")
    return {how: _operand(key, how, value) for how, value in compared.items()}


def _operand(key: object, how: object, value: object) -> Any:
    if how in {"==", "!="}:
        return _several(key, value)
    if how not in _RANGES:
        raise _refused(key, {how: value}, f"operators are {', '.join(OPERATORS)}")
    value = _plain(value)
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and is_scalar(value)
    if is_number or (isinstance(value, str) and time_in(value)):
        return value
    raise _refused(key, value, "a range needs a number, or a date such as 2024-12-31")


def _several(key: object, value: object) -> tuple[Any, ...]:
    values = list(value) if isinstance(value, Sequence) and not isinstance(value, str) else [value]
    values = list(map(_plain, values))
    if is_value(values):
        return tuple(values)
    raise _refused(key, value, "compare with a text, a number, true or false, or a list of these")


def _plain(value: object) -> Any:
    """Return a date or time of Python as the text that is stored of it."""
    return value.isoformat() if isinstance(value, date) else value


def _refused(key: object, value: object, remedy: str) -> ConfigurationError:
    return ConfigurationError(
        f"the filter on {_shown(key)} cannot compare with {_shown(value)}; {remedy}"
    )


def _shown(value: object) -> str:
    text = json.dumps(value, default=str, ensure_ascii=False, skipkeys=True)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
