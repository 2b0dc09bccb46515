"""All rows of a run, mapped over an executor; what cannot be sent is measured in this process.

The rows are the same either way.
"""

from __future__ import annotations

import logging
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from rag_nodes.core.errors import CancelledError, ConfigurationError, EngineError
from rag_nodes.core.keys import words_of
from rag_nodes.core.processes import current_interrupt
from rag_nodes.evaluation.columns import StoredCollection, Variant, configuration_of
from rag_nodes.evaluation.measuring import Measured, Recipe, Unit, measure, row_of
from rag_nodes.evaluation.plan import Step
from rag_nodes.evaluation.report import LeftOut, Row
from rag_nodes.models.executors import Inline, LostUnit, Pool, usable_cores
from rag_nodes.models.pickling import pickled

if TYPE_CHECKING:
    from rag_nodes.evaluation.dataset import Dataset
    from rag_nodes.models import Models
    from rag_nodes.models.executors import Executor

logger = logging.getLogger(__name__)

LARGE = 1_000_000
"""Characters of documents, times rows, from which several processes measure sooner than one."""
_ENOUGH = 10
"""Questions from which an estimate is made of how long the others take."""


class Rows(NamedTuple):
    """Rows in the order of the variants, sizes that columns cannot have, and what was read.

    `read` has by the name of a row what it read at the main budget for the judged questions.
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
    asked = len(recipe.dataset.questions)
    pace = _Pace(len(variants) * asked, progress or (lambda _: None))
    recipe.report = pace.report
    results: dict[int, Measured] = {}
    for unit, result in _results(variants, recipe, executor, pace):
        if isinstance(result, LostUnit):
            why = f"the worker died twice measuring it ({result.reason})"
            result = Measured(row_of(variants[unit.number], error=why), {})  # noqa: PLW2901
        results[unit.number] = result
        pace.report(unit.variant.name, asked)
    kept = Rows([], [], {})
    for number, variant in enumerate(variants):
        row, read, left_out = results[number]
        if row and row.error:
            logger.warning("%s: %s", variant.name, row.error)
            # To a worker, the parser may be a pickle.
            row = replace(row, parser=configuration_of(variant))
        if row:
            kept.rows.append(row)
        if left_out:
            kept.left_out.append(left_out)
        if read:
            kept.read[variant.name] = read
    return kept


def _results(
    variants: Sequence[Variant], recipe: Recipe, executor: Executor | None, pace: _Pace
) -> Iterator[tuple[Unit, Measured | LostUnit]]:
    """Yield the result of each variant: first those of other processes, then the others."""
    here, sent = [Unit(*variant) for variant in enumerate(variants)], list[Unit]()
    if executor and (shared := _shared(recipe, executor)):
        packed = [_packed(unit, recipe) for unit in here]
        sent = [unit for unit in packed if isinstance(unit.variant.parser, bytes)]
        here = [unit for unit in packed if not isinstance(unit.variant.parser, bytes)]
        for name in dict.fromkeys(unit.variant.column for unit in here):
            logger.warning("a column is measured in this process: %s", name)
        try:
            yield from executor.run(measure, shared, sent) if sent else ()
        except (CancelledError, EngineError):
            raise
        except Exception as error:
            raise EngineError(f"the workers cannot measure: {words_of(error)}") from error
    for unit in here:
        pace.say("index", unit.variant.name)
        yield from Inline().run(measure, recipe, [unit])


def _shared(recipe: Recipe, executor: Executor) -> Recipe | None:
    """Return what other processes need; None, with a warning, if they cannot make it."""
    folder = None if executor.is_remote or recipe.models.embeds_offline else recipe.cache
    shared = replace(
        recipe,
        models=replace(recipe.models, llm=None),
        cache=folder.absolute() if folder else None,
        report=None,
    )
    try:
        pickled(shared)
    except ConfigurationError as error:
        logger.warning("all rows are measured in this process: %s", error)
        return None
    return shared


def _packed(unit: Unit, recipe: Recipe) -> Unit:
    """The unit with its parser as a pickle; as it is where it is measured in this process."""
    variant = unit.variant
    if isinstance(variant.parser, StoredCollection) or (variant.options and variant.options.rerank):
        return unit
    try:
        parser = pickled(variant.parser, objects=[recipe.models.embedding])
    except ConfigurationError:
        return unit
    return Unit(unit.number, replace(variant, parser=parser))


class _Pace:
    """Says how far a run of so many questions is, and how long it will take."""

    def __init__(self, total: int, progress: Callable[[Step], None]) -> None:
        self._total, self._progress = total, progress
        self._asked: dict[str, int] = {}
        self._started = time.monotonic()
        self._interrupt = current_interrupt()

    def report(self, name: str, asked: int) -> None:
        """A row was indexed, asked one more question, or needs nothing more."""
        self._interrupt.check("the evaluation")
        if asked > self._asked.get(name, 0):
            self._asked[name] = asked
            self.say("ask", name)

    def say(self, stage: Literal["index", "ask"], name: str) -> None:
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
def kept_in(given: Path | None, models: Models, executor: Executor | None) -> Iterator[Path | None]:
    """The folder in which a run keeps vectors that it pays for, so that all rows share them.

    That which was given, or one for this run; None where nothing is shared.
    """
    shares = executor is not None and not executor.is_remote and not models.embeds_offline
    if given is None and shares:
        with tempfile.TemporaryDirectory(prefix="rag-") as folder:
            yield Path(folder)
    else:
        yield given
