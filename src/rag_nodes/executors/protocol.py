"""What every executor does: units in, results out, in whatever order they are done."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

RecipeT = TypeVar("RecipeT")
UnitT = TypeVar("UnitT")
ResultT = TypeVar("ResultT")


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

    def run(
        self, work: Callable[[RecipeT, UnitT], ResultT], recipe: RecipeT, units: Iterable[UnitT]
    ) -> Iterator[tuple[UnitT, ResultT | LostUnit]]:
        """Do each unit, in any order; units are taken as there is room.

        Args:
            work: a function of a module. It may be done twice for a unit whose process died.
            recipe: what all units share. Other processes get it once, by a pickle. It may have
                `prepare()`, called once in every process before its first unit.
            units: with pickles. One may have `halves()`, smaller units to find out of which of
                them its process died.

        Yields:
            A unit, or one of its halves, and what came of it.

        Raises:
            CancelledError: see `rag_nodes.processes.interruptible`.
            EngineError: processes cannot be started, or die before they begin.
            Exception: whatever `work` or `prepare` raised.
        """

    def close(self) -> None:
        """End all processes at once, whatever they do; the next run starts new ones."""
