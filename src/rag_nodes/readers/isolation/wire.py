"""Readings as what parent and child of `isolation` can say to each other."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rag_nodes.errors import ReadError
from rag_nodes.processes import pack_error, unpack_error
from rag_nodes.readers.base import Reading

if TYPE_CHECKING:
    from collections.abc import Mapping


def pack(outcome: Reading | ReadError) -> dict[str, Any]:
    """Give a reading or an error as what JSON can hold."""
    return asdict(outcome) if isinstance(outcome, Reading) else pack_error(outcome)


def unpack(data: Mapping[str, Any]) -> Reading | ReadError:
    """Undo `pack`.

    Raises:
        ValueError: this is neither a reading nor an error of a reader.
    """
    try:
        if "error" in data:
            return _error(data)
        starts = data["page_starts"]
        return Reading(
            **{
                **data,
                "page_starts": None if starts is None else tuple(starts),
                "warnings": tuple(data["warnings"]),
                "also_at": tuple(data["also_at"]),
            }
        )
    except (KeyError, TypeError) as error:
        raise ValueError(f"not an answer of a reader: {error}") from error


def _error(data: Mapping[str, Any]) -> ReadError:
    error = unpack_error(data)
    if not isinstance(error, ReadError):
        raise ValueError(f"not an error of a reader: {type(error).__name__}")  # noqa: TRY004 - data
    return error
