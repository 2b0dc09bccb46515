"""What workers that measure are told and tell: plain data, and the same as bytes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, get_args

from rag_nodes.evaluation.columns import Role
from rag_nodes.evaluation.examining import AskedSoFar, Examined
from rag_nodes.evaluation.race import Lead
from rag_nodes.evaluation.report import outcomes_of
from rag_nodes.processes import pack_error, unpack_error
from rag_nodes.workers import CannotWork, checked


@dataclass(frozen=True, slots=True)
class RowTask:
    """Examine a variant.

    Attributes:
        number: of the task.
        column: the column it belongs to.
        role: what it is there for.
        parser: how it cuts, as `Shelf.parser` writes it.
        nominal: tokens a chunk may have, for a size of the curve; None otherwise.
        options: how it is searched, where that is not as all others are.
        drawn: ids of the questions of which is kept what was read.
        lead: who leads; None where every question is asked.
    """

    number: int
    column: str
    role: Role
    parser: Mapping[str, Any]
    nominal: int | None
    options: Mapping[str, Any] | None
    drawn: tuple[str, ...]
    lead: Lead | None


@dataclass(frozen=True, slots=True)
class SizeTask:
    """Find the size at which chunks have a mean.

    Attributes:
        number: of the task.
        parser: how is cut, as `Shelf.parser` writes it.
        target: tokens of a chunk on average.
    """

    number: int
    parser: Mapping[str, Any]
    target: int


SweepTask = RowTask | SizeTask


@dataclass(frozen=True, slots=True)
class Begun:
    """The task is begun: if the worker dies now, it probably is by this task."""


@dataclass(frozen=True, slots=True)
class SizeFound:
    """What `rag_nodes.evaluation.sizes.Matched` says, but for the parser."""

    size: int
    mean: float


@dataclass(frozen=True, slots=True)
class Refused:
    """It cannot be done; says why."""

    reason: str


SweepMessage = Begun | AskedSoFar | SizeFound | Examined | Refused
"""What a worker says, beside `CannotWork`."""

_MADE: dict[str, Any] = {
    "Begun": Begun,
    "AskedSoFar": AskedSoFar,
    "SizeFound": SizeFound,
    "Examined": lambda outcomes, **rest: Examined(outcomes=outcomes_of(outcomes), **rest),
    "Refused": Refused,
    "CannotWork": lambda **error: CannotWork(unpack_error(error)),
    "RowTask": lambda drawn, lead, **rest: RowTask(
        drawn=tuple(drawn), lead=Lead(*lead) if lead else None, **rest
    ),
    "SizeTask": SizeTask,
}
"""What makes each kind of its fields."""
_KINDS: dict[str, type] = {one.__name__: one for one in get_args(SweepTask | SweepMessage)}


def pack(one: SweepTask | SweepMessage | CannotWork) -> bytes:
    """A task or a message as bytes."""
    if isinstance(one, CannotWork):
        content = pack_error(one.error)
    elif isinstance(one, AskedSoFar):
        content = one._asdict()
    else:
        content = asdict(one)
    return json.dumps([type(one).__name__, content]).encode("utf-8")


def unpack(data: bytes) -> Any:
    """Undo `pack`.

    Raises:
        ValueError: it is neither task nor message.
    """
    try:
        kind, content = json.loads(data)
        if kind in _KINDS:
            checked(_KINDS[kind], content)
        # Not what was checked is taken: there whole numbers have become floats.
        return _MADE[kind](**content)
    except (KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(
            f"not a message about a measurement: {type(error).__name__}: {error}"
        ) from error
