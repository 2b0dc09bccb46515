"""Units done in this process, one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rag_nodes.processes import current_interrupt

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from rag_nodes.executors.protocol import LostUnit, RecipeT, ResultT, UnitT


class Inline:
    """See `Executor`; nothing is pickled."""

    workers = 1

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
