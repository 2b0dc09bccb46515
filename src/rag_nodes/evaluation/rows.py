"""All rows of a run, mapped over an executor; what cannot be sent is measured in this process.

The rows are the same either way.
"""

from __future__ import annotations

import logging
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from rag_nodes.errors import CancelledError, ConfigurationError, EngineError
from rag_nodes.evaluation.columns import StoredCollection, Variant
from rag_nodes.evaluation.measuring import Measured, Recipe, Refused, Unit, measure, row_of
from rag_nodes.evaluation.plan import Step
from rag_nodes.evaluation.report import LeftOut, Row
from rag_nodes.executors import Inline, LostUnit, Pool, usable_cores
from rag_nodes.models.pickling import pickled
from rag_nodes.processes import current_interrupt
from rag_nodes.transforms import WRITTEN_FILE, unwritten

if TYPE_CHECKING:
    from rag_nodes.evaluation.dataset import Dataset
    from rag_nodes.executors import Executor
    from rag_nodes.models import Models

logger = logging.getLogger(__name__)

LARGE = 1_000_000
"""Characters of documents, times rows, from which several processes measure sooner than one."""
_ENOUGH = 10
"""Questions from which an estimate is made of how long the others take."""


class Rows(NamedTuple):
    """What came of all variants.

    Attributes:
        rows: in the order of the variants.
        left_out: sizes that a column cannot have.
        read: by the name of a row what it read at the main budget, for the judged questions.
    """

    rows: list[Row]
    left_out: list[LeftOut]
    read: dict[str, dict[str, list[str]]]


def rows_of(
    variants: Sequence[Variant],
    recipe: Recipe,
    executor: Executor | None,
    progress: Callable[[Step], None] | None,
) -> Rows:
    """A row per variant.

    Args:
        variants: what is measured.
        recipe: what they share, prepared.
        executor: of other processes; None for this one alone.
        progress: hears of every step.

    Raises:
        CancelledError: whoever started the run has left.
        EngineError: processes cannot be started, or cannot work.
        ModelError: the model cannot be reached.
    """
    recipe.dimension()
    pace = _Pace(len(variants) * len(recipe.dataset.questions), progress or (lambda _: None))
    recipe.told = pace.told
    found: dict[int, Measured | Refused] = {}
    for unit, result in _results(variants, recipe, executor, pace):
        found[unit.number] = (
            Refused(f"the worker died twice measuring it ({result.reason})")
            if isinstance(result, LostUnit)
            else result
        )
        pace.told(unit.variant.name, len(recipe.dataset.questions))
    return _in_order(variants, found, recipe.plan.target)


def _results(
    variants: Sequence[Variant], recipe: Recipe, executor: Executor | None, pace: _Pace
) -> Iterator[tuple[Unit, Measured | Refused | LostUnit]]:
    """What came of each variant: of those that can be sent first, then of the others here."""
    here, sent = [Unit(*one) for one in enumerate(variants)], list[Unit]()
    if executor and (shared := _shared(recipe, executor)):
        split = [(unit, _sendable(unit.variant, recipe)) for unit in here]
        here = [unit for unit, parser in split if parser is None]
        sent = [
            Unit(unit.number, replace(unit.variant, parser=parser))
            for unit, parser in split
            if parser is not None
        ]
        for name in dict.fromkeys(unit.variant.column for unit in here):
            logger.warning("a column is measured in this process: %s", name)
        if sent:
            try:
                yield from executor.run(measure, shared, sent)
            except (CancelledError, EngineError):
                raise
            except Exception as error:
                raise EngineError(f"the workers cannot measure: {error}") from error
    for unit in here:
        pace.say("index", unit.variant.name)
        yield from Inline().run(measure, recipe, [unit])


def _in_order(
    variants: Sequence[Variant], found: dict[int, Measured | Refused], target: int | None
) -> Rows:
    rows, left_out, read = list[Row](), list[LeftOut](), dict[str, dict[str, list[str]]]()
    for number, variant in enumerate(variants):
        result = found[number]
        if isinstance(result, Measured):
            rows.append(result.row)
            if result.read:
                read[variant.name] = result.read
        elif result.has_no_size:
            left_out.append(LeftOut(variant.column, (f"a mean of {target}",), result.reason))
        else:
            logger.warning("%s: %s", variant.name, result.reason)
            rows.append(row_of(variant, error=result.reason))
    return Rows(rows, left_out, read)


def _shared(recipe: Recipe, executor: Executor) -> Recipe | None:
    """What other processes are given; None where they cannot make it, and one line says so."""
    if recipe.journal and executor.is_remote:
        logger.warning("all rows are measured in this process: an LLM writes about their chunks")
        return None
    folder = None if executor.is_remote or recipe.models.embeds_offline else recipe.cache
    shared = replace(
        recipe,
        models=recipe.models if recipe.journal else replace(recipe.models, llm=None),
        cache=folder.absolute() if folder else None,
        journal=recipe.journal.absolute() if recipe.journal else None,
        parse=None,
        store=None,
        told=None,
    )
    try:
        pickled(shared)
    except ConfigurationError as error:
        logger.warning("all rows are measured in this process: %s", error)
        return None
    return shared


def _sendable(variant: Variant, recipe: Recipe) -> bytes | None:
    """A pickle of the parser of a variant; None where it is measured in this process."""
    if isinstance(variant.parser, StoredCollection) or (variant.options and variant.options.rerank):
        return None
    try:
        return pickled(variant.parser, known=[recipe.models.embedding])
    except ConfigurationError:
        return None


class _Pace:
    """How far a run is, and how long it will take.

    Args:
        total: questions of all rows.
        progress: hears of every step.
    """

    def __init__(self, total: int, progress: Callable[[Step], None]) -> None:
        self._total, self._progress = total, progress
        self._asked: dict[str, int] = {}
        self._started = time.monotonic()
        self._interrupt = current_interrupt()

    def told(self, name: str, asked: int) -> None:
        """A row was indexed, asked one more question, or needs nothing more."""
        self._interrupt.check("the evaluation")
        if asked > self._asked.get(name, 0):
            self._asked[name] = asked
            self.say("ask", name)

    def say(self, stage: Literal["index", "ask"], name: str) -> None:
        """Say how far it is."""
        self._interrupt.check("the evaluation")
        done = sum(self._asked.values())
        left = None
        if done >= _ENOUGH:
            left = (time.monotonic() - self._started) / done * (self._total - done)
        self._progress(Step(stage, name, done, self._total, left))


def workers_for(dataset: Dataset, rows: int, models: Models) -> Pool | None:
    """Processes that measure so many rows where that pays; None for this one alone.

    It does for a model that runs offline: where a server embeds, waiting for it takes the time.
    """
    workers = min(usable_cores(), rows)
    is_large = sum(map(len, dataset.texts.values())) * rows >= LARGE
    return Pool(workers) if workers > 1 and is_large and models.embeds_offline else None


@contextmanager
def kept_in(
    given: Path | None, models: Models, executor: Executor | None, vectors: Iterable[str]
) -> Iterator[tuple[Path | None, Path | None]]:
    """Where a run keeps what it pays for: in the folder that was given, or in one for this run.

    All rows share by it what was paid for one of them, in this process and in others.

    Args:
        given: folder of a cache; None for none.
        models: of the run.
        executor: measures rows in other processes.
        vectors: embeddings of chunks that rows may be asked by.

    Yields:
        The folder with vectors, None for memory; the file with what an LLM writes, None for none.
    """
    writes = models.llm is not None and bool(unwritten(vectors))
    shares = executor is not None and not executor.is_remote and not models.embeds_offline
    if given is None and not (writes or shares):
        yield None, None
        return
    with ExitStack() as stack:
        folder = given or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="rag-")))
        yield folder, folder / WRITTEN_FILE if writes else None
