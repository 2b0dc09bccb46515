"""Steps of a running ingest to stderr: bars on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rag_nodes.cli.render.text import shortened

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from rich.progress import Progress as Bars
    from rich.progress import TaskID

    from rag_nodes.cli.session import Session
    from rag_nodes.pipeline import Progress

LINE_EVERY = 5.0
"""Seconds between two lines about the same thing where there is no terminal."""

_DOING = {"read": "reading", "parse": "cutting", "embed": "embedding", "store": "storing"}
_NAME_WIDTH = 36


@contextmanager
def shown_progress(
    session: Session, parsers: Sequence[str]
) -> Iterator[Callable[[Progress], None] | None]:
    """Something to hand to `ingest` as its `progress`.

    Args:
        session: decides whether and how.
        parsers: labels of the parsers, in the order of their bars.
    """
    if session.quiet:
        yield None
    elif session.errors.is_terminal:
        with _bars(session) as bars:
            yield BarProgress(bars, parsers)
    else:
        yield LineProgress(session.note)


class LineProgress:
    """Writes a line when something starts, and every few seconds while it goes on.

    Args:
        write: takes a line.
        clock: seconds, monotonic.
    """

    def __init__(
        self, write: Callable[[str], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._write = write
        self._clock = clock
        self._last: dict[tuple[str, str], float] = {}

    def __call__(self, step: Progress) -> None:
        """Take one step."""
        # Files are many and short: they share one rhythm. Each parser has its own per stage.
        key = (step.stage, "" if step.stage == "read" else step.name)
        now = self._clock()
        finished = step.total is not None and step.done >= step.total
        due = now - self._last.get(key, -LINE_EVERY) >= LINE_EVERY
        if due or (finished and step.stage in ("read", "store")):
            self._last[key] = now
            self._write(_line(step))


class BarProgress:
    """Moves one bar for the files and one per parser."""

    def __init__(self, bars: Bars, parsers: Sequence[str]) -> None:
        self._bars = bars
        self._files = bars.add_task("documents", total=None, detail="reading")
        self._tasks: dict[str, TaskID] = {
            name: bars.add_task(shortened(name, _NAME_WIDTH), total=None, detail="waiting")
            for name in parsers
        }

    def __call__(self, step: Progress) -> None:
        """Take one step."""
        if step.stage == "read":
            self._bars.update(
                self._files,
                completed=step.done,
                total=step.total,
                detail=f"{_amount(step)} {shortened(step.name, _NAME_WIDTH)}",
            )
        else:
            self._bars.update(
                self._tasks[step.name],
                completed=step.done,
                total=step.total,
                detail=f"{_DOING[step.stage]} {_amount(step)} chunks",
            )


def _bars(session: Session) -> Bars:
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=24),
        TextColumn("{task.fields[detail]}", style="dim", markup=False),
        TimeElapsedColumn(),
        console=session.errors,
        transient=True,
    )


def _line(step: Progress) -> str:
    name = shortened(step.name, 60)
    if step.stage == "read":
        return f"read {name} ({_amount(step)})"
    return f"{name}: {_DOING[step.stage]}, {_amount(step)} chunks"


def _amount(step: Progress) -> str:
    return f"{step.done:,}" if step.total is None else f"{step.done:,}/{step.total:,}"
