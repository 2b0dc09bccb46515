"""Rows measured by an executor: each variant is a unit, and the report is that of one process."""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import fields, replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag_nodes.errors import CancelledError, ConfigurationError, EngineError, RagNodesError
from rag_nodes.evaluation.columns import Searched, Sized, StoredCollection, Variant
from rag_nodes.evaluation.dataset import Dataset
from rag_nodes.evaluation.examining import Examined
from rag_nodes.evaluation.plan import EvaluationPlan
from rag_nodes.evaluation.race import Lead
from rag_nodes.evaluation.sizes import Matched, resized
from rag_nodes.evaluation.units import Refused, SizeFound, SweepRecipe, SweepUnit, measure
from rag_nodes.executors import Executor, LostUnit, Pool, usable_cores
from rag_nodes.models.pickling import pickled
from rag_nodes.parsers import as_parser
from rag_nodes.transforms import WRITTEN_FILE, unwritten

if TYPE_CHECKING:
    from llama_index.core.base.embeddings.base import BaseEmbedding

    from rag_nodes.models import Models
    from rag_nodes.parsers import SpanNodeParser

logger = logging.getLogger(__name__)

LARGE = 1_000_000
"""Characters of documents, times rows, from which several processes measure sooner than one."""


class Sweep:
    """Variants that an executor measures, in the order they were given.

    Args:
        executor: measures them.
        recipe: what they share.
        embedding: the embedding model of the recipe.
        lead: says who leads when a unit is sent; None where every question is asked.
        stays: whether a variant is measured in this process in any case.
    """

    def __init__(
        self,
        executor: Executor,
        recipe: SweepRecipe,
        embedding: BaseEmbedding,
        lead: Callable[[], Lead | None],
        stays: Callable[[Variant], bool],
    ) -> None:
        self.workers = executor.workers
        self._executor, self._recipe, self._embedding = executor, recipe, embedding
        self._lead, self._stays = lead, stays
        self._numbers = count()
        self._given: dict[int, Variant] = {}
        self._found: dict[tuple[str, int], Examined | Exception] = {}
        self._coming: Iterator[None] = iter(())

    def sizes(self, parsers: Mapping[str, SpanNodeParser], target: int) -> dict[str, Sized]:
        """Each at the size at which its chunks have a mean of `target` tokens, or why it has none.

        Those that cannot be sent are left out.

        Raises:
            EngineError: see `Executor`.
        """
        names, units, found = dict[int, str](), list[SweepUnit](), dict[str, Sized]()
        for name, parser in parsers.items():
            if written := self._written(parser):
                units.append(SweepUnit(next(self._numbers), written, target=target))
                names[units[-1].number] = name
        for unit, result in self._run(units):
            name = names[unit.number]
            found[name] = (
                Matched(resized(parsers[name], result.size), result.mean, target, result.size)
                if isinstance(result, SizeFound)
                else _error(result)
            )
        return found

    def begin(
        self,
        variants: Iterable[Variant],
        drawn: frozenset[str],
        keep: Callable[[Variant, Examined], object],
    ) -> None:
        """Have these measured from now on; each is looked at when there is room for it.

        Args:
            variants: in the order in which they will be asked for.
            drawn: ids of the questions of which is kept what was read.
            keep: hears of each that was measured.
        """
        for _ in self._coming:
            pass
        self._coming = self._measured(variants, drawn, keep)

    def examined(self, variant: Variant) -> Examined | None:
        """What was found, waited for; None where it was not sent.

        Raises:
            RagNodesError: the variant cannot be measured, or took its processes with it.
            EngineError: see `Executor`.
        """
        key = _key(variant)
        if self._sendable(variant):
            while key not in self._found and next(self._coming, _END) is not _END:
                pass
        found = self._found.get(key)
        if isinstance(found, Exception):
            raise found
        return found

    def _measured(
        self,
        variants: Iterable[Variant],
        drawn: frozenset[str],
        keep: Callable[[Variant, Examined], object],
    ) -> Iterator[None]:
        """Measure, and give room for a look at what was found after each."""
        for unit, result in self._run(self._units(variants, drawn)):
            variant = self._given.pop(unit.number)
            self._found[_key(variant)] = result if isinstance(result, Examined) else _error(result)
            if isinstance(result, Examined):
                keep(variant, result)
            yield

    def _units(self, variants: Iterable[Variant], drawn: frozenset[str]) -> Iterator[SweepUnit]:
        for variant in variants:
            if written := self._sendable(variant):
                number = next(self._numbers)
                self._given[number] = variant
                how = {one.name: getattr(variant, one.name) for one in fields(variant)}
                del how["parser"]
                yield SweepUnit(number, written, how, drawn=drawn, lead=self._lead())

    def _run(self, units: Iterable[SweepUnit]) -> Iterator[tuple[SweepUnit, Any]]:
        try:
            yield from self._executor.run(measure, self._recipe, units)
        except (CancelledError, EngineError):
            raise
        except Exception as error:
            raise EngineError(f"the workers cannot measure: {error}") from error

    def _sendable(self, variant: Variant) -> bytes | None:
        """A pickle of the parser of a variant; None where it is measured in this process."""
        options = variant.options
        if isinstance(variant.parser, StoredCollection) or self._stays(variant):
            return None
        return None if options and options.rerank else self._written(variant.parser)

    def _written(self, parser: SpanNodeParser) -> bytes | None:
        try:
            return pickled(parser, known=[self._embedding])
        except ConfigurationError:
            return None


_END = object()


def _key(variant: Variant) -> tuple[str, int]:
    """No other variant of a run has it; a control has the parser of the row that it repeats."""
    return variant.name, id(variant.parser)


def _error(result: Refused | LostUnit) -> RagNodesError:
    if isinstance(result, LostUnit):
        return RagNodesError(f"the worker died twice measuring it ({result.reason})")
    return RagNodesError(result.reason)


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

    All rows share by it what was paid for one of them, in this process and in workers.

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


@contextmanager
def swept_by(
    executor: Executor | None,
    dataset: Dataset,
    plan: EvaluationPlan,
    models: Models,
    columns: Iterable[object],
    *,
    kept: tuple[Path | None, Path | None],
    lead: Callable[[], Lead | None] = lambda: None,
) -> Iterator[Sweep | None]:
    """What measures rows in other processes; None for this one alone.

    Args:
        executor: of those processes, which end with this; None for none.
        dataset: documents and questions, in the order they are asked.
        plan: what is measured.
        models: of the run, as they were given.
        columns: parsers, and what else may be compared.
        kept: see `kept_in`.
        lead: see `Sweep`.
    """
    if executor is None:
        yield None
        return
    _tell_which_stay(columns)
    try:
        recipe, writes = _recipe(executor, dataset, plan, models, kept)
    except ConfigurationError as error:
        logger.warning("all rows are measured in this process: %s", error)
        yield None
        return
    journal = kept[1]

    def stays(variant: Variant) -> bool:
        vector = (variant.options or plan.options).vector
        return bool(journal and not writes and unwritten([vector]))

    with closing(executor):
        yield Sweep(executor, recipe, models.embedding, lead, stays)


def _tell_which_stay(columns: Iterable[object]) -> None:
    """Say of which column another process makes none."""
    for column in columns:
        given = column.parser if isinstance(column, Searched) else column
        if not isinstance(given, StoredCollection):
            try:
                pickled(as_parser(given))
            except ConfigurationError as error:
                logger.warning("a column is measured in this process: %s", error)


def _recipe(
    executor: Executor,
    dataset: Dataset,
    plan: EvaluationPlan,
    models: Models,
    kept: tuple[Path | None, Path | None],
) -> tuple[SweepRecipe, bool]:
    """What all rows share, and whether it writes about chunks.

    Raises:
        ConfigurationError: a model, a document or the plan cannot be made in another process.
    """
    folder, journal = kept
    shared = None if executor.is_remote or models.embeds_offline else folder
    without = SweepRecipe(
        models=replace(models, llm=None),
        data=dataset,
        plan=plan,
        cache=shared.absolute() if shared else None,
        journal=journal.absolute() if journal else None,
    )
    pickled(without)
    if models.llm and journal and not executor.is_remote:
        recipe = replace(without, models=models)
        with suppress(ConfigurationError):  # what it writes about is measured in this process
            pickled(recipe)
            return recipe, True
    return without, False
