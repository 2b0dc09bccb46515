"""Rows measured by an executor: each variant is a unit, and the report is that of one process."""

from __future__ import annotations

import logging
import pickle
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import fields
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from llama_index.core.schema import Document

from rag_nodes.errors import CancelledError, ConfigurationError, EngineError, RagNodesError
from rag_nodes.evaluation.columns import Searched, Sized, StoredCollection, Variant
from rag_nodes.evaluation.dataset import Dataset
from rag_nodes.evaluation.examining import Examined
from rag_nodes.evaluation.plan import EvaluationPlan
from rag_nodes.evaluation.race import Lead
from rag_nodes.evaluation.sizes import Matched, resized
from rag_nodes.evaluation.units import Refused, SizeFound, SweepRecipe, SweepUnit, measure
from rag_nodes.executors import Executor, LostUnit
from rag_nodes.parsers import as_parser
from rag_nodes.pipeline.shelf import Shelf
from rag_nodes.pipeline.written_models import ModelRecipe, names_of
from rag_nodes.transforms import WRITTEN_FILE, SummaryJournal, written_for

if TYPE_CHECKING:
    from rag_nodes.models import Models
    from rag_nodes.parsers import SpanNodeParser
    from rag_nodes.transforms import WrittenTexts

logger = logging.getLogger(__name__)


class SweepEngine(Protocol):
    """What runs workers, such as `rag_nodes.pipeline.ProcessEngine`."""

    @property
    def workers(self) -> int:
        """How many."""

    @property
    def address(self) -> str | None:
        """Of a cluster, whose machines need not have the files of this one; None for none."""

    def executor(self) -> Executor:
        """What does units by these workers."""


class Sweep:
    """Variants that an executor measures, in the order they were given.

    Args:
        executor: measures them.
        recipe: what they share.
        shelf: with all embedding models of the recipe.
        lead: says who leads when a unit is sent; None where every question is asked.
        stays: whether a variant is measured in this process in any case.
    """

    def __init__(
        self,
        executor: Executor,
        recipe: SweepRecipe,
        shelf: Shelf,
        lead: Callable[[], Lead | None],
        stays: Callable[[Variant], bool],
    ) -> None:
        self.workers = executor.workers
        self._executor, self._recipe, self._shelf = executor, recipe, shelf
        self._lead, self._stays, self._models = lead, stays, len(shelf)
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

    def _sendable(self, variant: Variant) -> dict[str, Any] | None:
        """The parser of a variant as plain data; None where it is measured in this process."""
        options = variant.options
        if isinstance(variant.parser, StoredCollection) or self._stays(variant):
            return None
        return None if options and options.rerank else self._written(variant.parser)

    def _written(self, parser: SpanNodeParser) -> dict[str, Any] | None:
        try:
            written = self._shelf.parser(parser)
        except ConfigurationError:
            return None
        known = all(number < self._models for number in written["models"].values())
        return written if known else None


_END = object()


def _key(variant: Variant) -> tuple[str, int]:
    """No other variant of a run has it; a control has the parser of the row that it repeats."""
    return variant.name, id(variant.parser)


def _error(result: Refused | LostUnit) -> RagNodesError:
    if isinstance(result, LostUnit):
        return RagNodesError(f"the worker died twice measuring it ({result.reason})")
    return RagNodesError(result.reason)


@contextmanager
def written_in(journal: Path | None) -> Iterator[WrittenTexts | None]:
    """The file in which is kept what an LLM writes, opened; None for none.

    Raises:
        ConfigurationError: it cannot be written.
    """
    if journal is None:
        yield None
        return
    with SummaryJournal(journal) as opened:
        yield opened


@contextmanager
def kept_in(
    given: Path | None, models: Models, engine: SweepEngine | None, vectors: Iterable[str]
) -> Iterator[tuple[Path | None, Path | None]]:
    """Where a run keeps what it pays for: in the folder that was given, or in one for this run.

    All rows share by it what was paid for one of them, in this process and in workers.

    Args:
        given: folder of a cache; None for none.
        models: of the run.
        engine: measures rows in other processes.
        vectors: embeddings of chunks that rows may be asked by.

    Yields:
        The folder with vectors, None for memory; the file with what an LLM writes, None for none.
    """
    writes = models.llm is not None and any(map(written_for, vectors))
    shares = engine is not None and not engine.address and not models.embeds_offline
    if given is None and not (writes or shares):
        yield None, None
        return
    with ExitStack() as stack:
        folder = given or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="rag-")))
        yield folder, folder / WRITTEN_FILE if writes else None


@contextmanager
def swept_by(
    engine: SweepEngine | None,
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
        engine: runs them; None for none.
        dataset: documents and questions, in the order they are asked.
        plan: what is measured.
        models: of the run, as they were given.
        columns: parsers, and what else may be compared.
        kept: see `kept_in`.
        lead: see `Sweep`.
    """
    if engine is None:
        yield None
        return
    try:
        shelf = Shelf(models.embedding)
        _put(shelf, columns)
        recipe = _recipe(engine, dataset, plan, models, shelf, kept)
        pickle.dumps(recipe)
    except Exception as error:  # noqa: BLE001 -- objects of others may raise anything in a pickle
        logger.warning("all rows are measured in this process: %s", error)
        yield None
        return
    journal = kept[1]

    def stays(variant: Variant) -> bool:
        vector = (variant.options or plan.options).vector
        return bool(journal and not recipe.models.llms and written_for(vector))

    with closing(engine.executor()) as executor:
        yield Sweep(executor, recipe, shelf, lead, stays)


def _put(shelf: Shelf, columns: Iterable[object]) -> None:
    """Put the models of all columns there, and say of which column another process makes none."""
    for column in columns:
        given = column.parser if isinstance(column, Searched) else column
        if not isinstance(given, StoredCollection):
            try:
                shelf.parser(as_parser(given))
            except ConfigurationError as error:
                logger.warning("a column is measured in this process: %s", error)


def _recipe(
    engine: SweepEngine,
    dataset: Dataset,
    plan: EvaluationPlan,
    models: Models,
    shelf: Shelf,
    kept: tuple[Path | None, Path | None],
) -> SweepRecipe:
    """What all rows share.

    Raises:
        ConfigurationError: a document or the plan cannot be made in another process.
    """
    folder, journal = kept
    if plan.options.rerank:
        raise ConfigurationError("the reranker is an object, which other processes cannot make")
    if models.llm and journal and not engine.address:
        with suppress(ConfigurationError):  # what it writes about is measured in this process
            shelf.llm(models.llm)
    made = ModelRecipe(
        models=shelf.plain(),
        names=names_of(models),
        llms=shelf.plain_llms(),
        folder="" if engine.address else str(Path.cwd()),
        keys=shelf.keys(),
    )
    shared = None if engine.address or models.embeds_offline else folder
    return SweepRecipe(
        models=made.shared_by(engine.workers),
        name=dataset.name,
        questions=dataset.questions,
        documents=[_written_document(one) for one in dataset.documents],
        plan=plan,
        cache=shared.absolute() if shared else None,
        journal=journal.absolute() if journal else None,
    )


def _written_document(document: Document) -> dict[str, Any]:
    """A document as plain data.

    Raises:
        ConfigurationError: it is of another class, which may hold more.
    """
    if type(document) is not Document:
        raise ConfigurationError(f"the document {document.id_!r} is of a class of its own")
    return document.to_dict()
