"""What every executor does, units in and results out, and the one that is this process."""

from __future__ import annotations

import os
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

from rag_nodes.processes import current_interrupt

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

RecipeT = TypeVar("RecipeT")
UnitT = TypeVar("UnitT")
ResultT = TypeVar("ResultT")

_CPU_MAX = Path("/sys/fs/cgroup/cpu.max")
"""Where a container says how many cores' worth of time it has."""
TELL: ContextVar[Callable[[int | None], None]] = ContextVar("tell", default=lambda _: None)
"""Hears of each part of a unit before it is begun."""


class LostUnit(NamedTuple):
    """There is no result, as the unit ended its process twice.

    Attributes:
        reason: how the process ended, for people, such as "SIGKILL" or "exit code 1".
    """

    reason: str


class Executor(Protocol):
    """Does a function for many units, here or in other processes."""

    @property
    def workers(self) -> int:
        """Units that are done at the same time."""

    @property
    def is_remote(self) -> bool:
        """Whether units may be done on machines that do not have the files of this one."""

    def run(
        self, work: Callable[[RecipeT, UnitT], ResultT], recipe: RecipeT, units: Iterable[UnitT]
    ) -> Iterator[tuple[UnitT, ResultT | LostUnit]]:
        """Do each unit, in any order; units are taken as there is room.

        Args:
            work: a function of a module. It may be done twice for a unit whose process died.
            recipe: what all units share; other processes get it once, see `models.pickling`. It
                may have `prepare()`, called once in every process before its first unit.
            units: with pickles. One may have `parts(at)`, smaller units to find out of which of
                them its process died: for the number of the part that was in hand, see
                `working_on`, that part and then the others; for None two halves.

        Yields:
            A unit, or one of its parts, and what came of it.

        Raises:
            CancelledError: see `rag_nodes.processes.interruptible`.
            ConfigurationError: the recipe cannot be made in another process; says what of it.
            EngineError: processes cannot be started, or die before they begin.
            Exception: whatever `work` or `prepare` raised.
        """

    def close(self) -> None:
        """End all processes at once, whatever they do; the next run starts new ones."""


class Inline:
    """See `Executor`: in this process, one after the other; nothing is pickled."""

    workers = 1
    is_remote = False

    def run(
        self, work: Callable[[RecipeT, UnitT], ResultT], recipe: RecipeT, units: Iterable[UnitT]
    ) -> Iterator[tuple[UnitT, ResultT | LostUnit]]:
        """See `Executor`."""
        if prepare := getattr(recipe, "prepare", None):
            prepare()
        for unit in units:
            current_interrupt().check("the work")
            yield unit, work(recipe, unit)

    def close(self) -> None:
        """There is nothing to end."""


def working_on(part: int | None) -> None:
    """Say which part of its unit a work has in hand, so that a death of it is blamed on that part.

    Args:
        part: its number; None for the whole again.
    """
    TELL.get()(part)


def usable_cores() -> int:
    """Cores that this process may use: by its affinity, and by the limits of its container."""
    cores = (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    try:
        quota, period = _CPU_MAX.read_text(encoding="ascii").split()
        return max(1, min(cores, int(quota) // int(period)))
    except (OSError, ValueError):  # no cgroup of version 2, or no limit
        return cores
