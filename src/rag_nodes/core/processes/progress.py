"""Progress of a task: reported by code deep inside it, also in a child process, to its caller."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_LISTENER: ContextVar[Callable[[float], None] | None] = ContextVar("listener", default=None)


def tell_share(share: float) -> None:
    """Say which share of the task is done, from 0 to 1.

    Raises:
        ValueError: it is no such number, as a child says that is broken.
    """
    if not isinstance(share, int | float) or not 0 <= share <= 1:
        raise ValueError("no share of a task")
    if (listener := _LISTENER.get()) is not None:
        listener(share)


@contextmanager
def shares_told_to(listener: Callable[[float], None]) -> Iterator[None]:
    """Let `listener` hear how far tasks of this thread are meanwhile."""
    token = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(token)
