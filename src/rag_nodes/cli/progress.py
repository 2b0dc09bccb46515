"""Progress of a run: bars on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import time
from math import ceil
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from rag_nodes.cli.views.text import ending, one_line, plain, shortened
from rag_nodes.core.spelling import counted
from rag_nodes.models.prices import dollars
from rag_nodes.operations.run import Doing, QuestionAsked, Said

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.progress import Progress as Bars
    from rich.progress import TaskID
    from rich.status import Status

    from rag_nodes.cli.invocation import Invocation

LINE_EVERY = 5.0
"""Seconds between two lines about the same thing where there is no terminal."""
_NAME_CHARACTERS = 48


class _Stage(NamedTuple):
    """Words of a stage.

    Attributes:
        doing: what is done.
        unit: of what so many are done; "" for the things themselves.
        bar: the one bar of all things; "" for a bar for each.
    """

    doing: str
    unit: str = ""
    bar: str = ""


_STAGES = {
    "read": _Stage("read", bar="documents"),
    "count": _Stage("counting", "chunks"),
    "parse": _Stage("splitting", "chunks"),
    "embed": _Stage("embedding", "chunks"),
    "store": _Stage("storing", "chunks"),
    "index": _Stage("indexing", "searches", "questions"),
    "ask": _Stage("asking", "searches", "questions"),
    "judge": _Stage("judging by", "answers", "questions"),
    "pages": _Stage("split", bar="pages"),
    "summaries": _Stage("summarised by", bar="summaries"),
    "copy": _Stage("copying", "points"),
}


def words_of(step: Any) -> tuple[str, str, bool]:
    """The bar that a step of the library moves, what is said beside it, and whether it is the last.

    Nothing of its bar follows the last one, so that is shown however soon it comes after another.
    """
    stage = _STAGES[step.stage]
    amount = f"{step.done:,}" if step.total is None else f"{step.done:,}/{step.total:,}"
    amount = f"{amount} {stage.unit}".rstrip()
    left = getattr(step, "seconds_left", None)
    amount += f", about {_remaining(left)} left" if left else ""
    if tokens := getattr(step, "tokens", 0):
        amount += f", {counted(tokens, 'token')}, {dollars(getattr(step, 'cost', None))}"
    last = step.total is not None and step.done >= step.total
    if stage.bar:
        return stage.bar, f"{stage.doing} {ending(step.name, _NAME_CHARACTERS)} ({amount})", last
    is_end = last and step.stage in {"store", "copy"}
    return step.name, f"{stage.doing}, {amount}", is_end


def _remaining(estimate: float) -> str:
    minutes, seconds = divmod(ceil(estimate), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {seconds} s" if minutes else f"{seconds} s"


class Watch:
    """Hears of every event of a run, and tells of it on stderr; of answers on stdout.

    Args:
        cli: decides whether and how.
        clock: seconds, monotonic.
    """

    def __init__(self, cli: Invocation, clock: Callable[[], float] = time.monotonic) -> None:
        self._cli = cli
        self._clock = clock
        self._told: dict[tuple[str, str], float] = {}
        self._spinner: Status | None = None
        self._bars: Bars | None = None
        self._grows = False
        self._tasks: dict[str, TaskID] = {}

    def __enter__(self) -> Self:
        """The watch itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Take bars off the screen."""
        self._stop()

    def __call__(self, event: Any) -> None:
        """Take one event."""
        match event:
            case Said():
                self._say(event)
            case QuestionAsked():
                from rag_nodes.cli.views.answer import header_of
                from rag_nodes.cli.views.cited import label

                self._stop()
                self._cli.output.print(
                    header_of(event.question, event.searched, event.models),
                    label("Answer"),
                    sep="\n",
                )
                self._grows = True
            case (str(), piece) if self._grows:
                self._grow(piece)
            case Doing(what):
                self._do(what)
            case _ if hasattr(event, "stage") and not self._cli.quiet:
                self._step(event)

    def _say(self, message: Said) -> None:
        words = one_line(message.words)
        if message.level == "warning":
            self._cli.complain(words)
        else:
            self._cli.note(words)

    def _grow(self, piece: Any) -> None:
        """Write a piece of the only answer when it arrives."""
        from rag_nodes.query import Delta, Failed

        if isinstance(piece, Delta):
            self._cli.output.print(plain(piece.text), end="", soft_wrap=True)
        elif isinstance(piece, Failed) and piece.text:
            self._stop()
            self._cli.complain("the answer broke off; what had arrived of it is shown")

    def _do(self, what: str) -> None:
        if self._cli.quiet:
            return
        if not self._cli.errors.is_terminal:
            self._cli.note(what)
            return
        self._stop()
        self._spinner = self._cli.errors.status(plain(what, "dim"))
        self._spinner.start()

    def _step(self, step: Any) -> None:
        bar, words, is_last = words_of(step)
        if self._cli.errors.is_terminal:
            if self._bars is None:
                self._stop()
                self._bars = _bars(self._cli)
                self._bars.start()
            if bar not in self._tasks:
                name = shortened(bar, _NAME_CHARACTERS)
                self._tasks[bar] = self._bars.add_task(name, total=None, detail="")
            task = self._tasks[bar]
            self._bars.update(task, completed=step.done, total=step.total, detail=words)
            return
        if step.total == 0:
            return  # a stage that waits for its first chunks
        # Files are many and short: they share one rhythm. Each parser has its own per stage.
        key, now = (step.stage, bar), self._clock()
        if is_last or now - self._told.get(key, -LINE_EVERY) >= LINE_EVERY:
            self._told[key] = now
            self._cli.note(f"{shortened(bar, _NAME_CHARACTERS)}: {words}")

    def _stop(self) -> None:
        """End what moves on the screen."""
        if self._spinner is not None:
            self._spinner.stop()
        if self._bars is not None:
            self._bars.stop()
        if self._grows:
            self._cli.output.print()
        self._spinner, self._bars, self._grows, self._tasks = None, None, False, {}


def _bars(cli: Invocation) -> Bars:
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=24),
        TextColumn("{task.fields[detail]}", style="dim", markup=False),
        TimeElapsedColumn(),
        console=cli.errors,
        transient=True,
    )
