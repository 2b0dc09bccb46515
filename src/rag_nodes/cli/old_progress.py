"""Steps of running work to stderr: bars on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, Generic, TypeVar

from rag_nodes.cli.views.text import counted, ending, shortened
from rag_nodes.models.prices import dollars
from rag_nodes.pipeline.report import DOING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from rich.progress import Progress as Bars
    from rich.progress import Task

    from rag_nodes.cli.invocation import Invocation
    from rag_nodes.documentation import DocsStep
    from rag_nodes.evaluation.plan import Step
    from rag_nodes.pipeline import Progress
    from rag_nodes.store import CopyStep

LINE_EVERY = 5.0
"""Seconds between two lines about the same thing where there is no terminal."""
DOCUMENTS = "documents"
"""The bar of an ingest for the files; the others are those of the parsers."""
EVALUATION_BAR = "questions"
"""The one bar of an evaluation."""
DOCS_BARS = ("pages", "summaries")
"""The bars of the documentation workflow: its stages."""

_REHEARSING = {"parse": "cutting", "embed": "counting to embed", "store": "counting to store"}
_MEASURING = {"index": "indexing", "ask": "asking", "judge": "judging by"}
_NAME_WIDTH = 36
_URL_WIDTH = 48

Running = TypeVar("Running", "Progress", "DocsStep", "Step", "CopyStep")


@dataclass(frozen=True, slots=True)
class StepWords:
    """One step as people read it.

    Attributes:
        bar: the bar that it moves.
        detail: what stands beside the bar.
        line: the same where there are no bars.
        worth: it is told however soon it comes after another, as the last of its kind.
    """

    bar: str
    detail: str
    line: str
    worth: bool = False


@contextmanager
def shown_progress(
    cli: Invocation, bars: Sequence[str], words: Callable[[Running], StepWords]
) -> Iterator[Callable[[Running], None] | None]:
    """Something to hand to work as its `progress`.

    Args:
        cli: decides whether and how.
        bars: their names, top to bottom.
        words: says what a step is about.
    """
    if cli.quiet:
        yield None
    elif cli.errors.is_terminal:
        with _opened(cli) as opened:
            yield BarProgress(opened, bars, words)
    else:
        yield LineProgress(cli.note, words)


class LineProgress(Generic[Running]):
    """Writes a line when something starts, and every few seconds while it goes on.

    Args:
        write: takes a line.
        words: says what a step is about.
        clock: seconds, monotonic.
    """

    def __init__(
        self,
        write: Callable[[str], None],
        words: Callable[[Running], StepWords],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._write = write
        self._words: Callable[[Running], StepWords] = words
        self._clock = clock
        self._last: dict[tuple[str, str], float] = {}

    def __call__(self, step: Running) -> None:
        """Take one step."""
        words, now = self._words(step), self._clock()
        # Files are many and short: they share one rhythm. Each parser has its own per stage.
        key = (step.stage, words.bar)
        if words.worth or now - self._last.get(key, -LINE_EVERY) >= LINE_EVERY:
            self._last[key] = now
            self._write(words.line)


class BarProgress(Generic[Running]):
    """Moves the bar that a step is about."""

    def __init__(
        self, bars: Bars, names: Sequence[str], words: Callable[[Running], StepWords]
    ) -> None:
        self._bars = bars
        self._words: Callable[[Running], StepWords] = words
        self._tasks = {
            name: bars.add_task(shortened(name, _NAME_WIDTH), total=None, detail="waiting")
            for name in names
        }

    def __call__(self, step: Running) -> None:
        """Take one step."""
        words = self._words(step)
        task = self._tasks[words.bar]
        self._bars.update(task, completed=step.done, total=step.total, detail=words.detail)


def ingest_words(step: Progress, *, dry_run: bool = False) -> StepWords:
    """A step of an ingest; its bars are `DOCUMENTS` and the labels of the parsers."""
    amount = _amount(step)
    last = step.total is not None and step.done >= step.total
    if step.stage == "read":
        left = _left(step)
        detail = f"{amount}{left} {shortened(step.name, _NAME_WIDTH)}"
        line = f"read {shortened(step.name, 60)} ({amount}{left})"
        return StepWords(DOCUMENTS, detail, line, last)
    if step.stage == "size":
        return StepWords(step.name, "sizing", f"{shortened(step.name, 60)}: sizing")
    doing = (_REHEARSING if dry_run else DOING)[step.stage]
    detail = f"{doing} {amount} chunks{_spent(step)}"
    line = f"{shortened(step.name, 60)}: {doing}, {amount} chunks{_spent(step)}"
    return StepWords(step.name, detail, line, last and step.stage == "store")


def _spent(step: Progress) -> str:
    """What a server embedded so far, and its price; "" where none did."""
    return f", {counted(step.tokens, 'token')}, {dollars(step.cost)}" if step.tokens else ""


def docs_words(step: DocsStep) -> StepWords:
    """A step of the documentation workflow; its bars are `DOCS_BARS`."""
    amount, name = _amount(step), ending(step.name, _URL_WIDTH)
    return StepWords(step.stage, f"{amount} {name}", f"{step.stage}: {amount}, {name}")


def evaluation_words(step: Step) -> StepWords:
    """A step of an evaluation; its bar is `EVALUATION_BAR`."""
    doing = f"{_MEASURING[step.stage]} {shortened(step.name, _NAME_WIDTH)}"
    left = _left(step)
    amount = f"{_amount(step)} {doing}{left}"
    return StepWords(EVALUATION_BAR, amount, f"{doing} ({_amount(step)} questions{left})")


def copy_words(step: CopyStep) -> StepWords:
    """A step of copying collections; its bars are their names."""
    amount = f"{_amount(step)} points"
    line = f"{shortened(step.name, 60)}: copying, {amount}"
    return StepWords(step.name, f"copying {amount}", line, step.done >= step.total)


def _left(step: Progress | Step) -> str:
    return f", about {_remaining(step.seconds_left)} left" if step.seconds_left else ""


def _remaining(estimate: float) -> str:
    minutes, seconds = divmod(ceil(estimate), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {seconds} s" if minutes else f"{seconds} s"


def _opened(cli: Invocation) -> Bars:
    from rich.progress import BarColumn, Progress, ProgressColumn, TextColumn, TimeElapsedColumn
    from rich.text import Text

    class RateColumn(ProgressColumn):
        """How many in a second, of late."""

        def render(self, task: Task) -> Text:
            return Text(f"{task.speed:,.0f}/s" if task.speed else "", style="dim")

    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=24),
        TextColumn("{task.fields[detail]}", style="dim", markup=False),
        RateColumn(),
        TimeElapsedColumn(),
        console=cli.errors,
        transient=True,
    )


def _amount(step: Progress | DocsStep | Step | CopyStep) -> str:
    return f"{step.done:,}" if step.total is None else f"{step.done:,}/{step.total:,}"
