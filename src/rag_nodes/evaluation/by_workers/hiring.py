"""Who measures: this process alone, or workers of an engine beside it."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from rag_nodes.errors import ConfigurationError
from rag_nodes.evaluation.by_workers.crew import Crew
from rag_nodes.evaluation.by_workers.recipe import SweepRecipe
from rag_nodes.evaluation.columns import Searched, StoredCollection
from rag_nodes.parsers import as_parser
from rag_nodes.transforms import WRITTEN_FILE, SummaryJournal, written_for
from rag_nodes.workers import AutoEngine
from rag_nodes.workers.shelf import Shelf

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from rag_nodes.evaluation.columns import Variant
    from rag_nodes.evaluation.dataset import Dataset
    from rag_nodes.evaluation.plan import EvaluationPlan
    from rag_nodes.evaluation.race import Lead
    from rag_nodes.models import Models
    from rag_nodes.transforms import WrittenTexts
    from rag_nodes.workers import Transport, WorkerRecipe


class SweepEngine(Protocol):
    """What runs workers, such as `rag_nodes.workers.ProcessEngine`."""

    @property
    def workers(self) -> int:
        """How many."""

    @property
    def address(self) -> str | None:
        """Of a cluster, whose machines need not have the files of this one; None for none."""

    def start(self, recipe: WorkerRecipe) -> Transport[Any, Any]:
        """The workers, made of a recipe."""


def settled_engine(
    engine: SweepEngine | AutoEngine | None,
    dataset: Dataset,
    rows: int,
    plan: EvaluationPlan,
    models: Models,
) -> SweepEngine | None:
    """The engine of a run; None for this process alone.

    Args:
        engine: as it was given; where it chooses by itself, only what can be sent is sent.
        dataset: documents and questions.
        rows: that are measured.
        plan: of the run.
        models: of the run.
    """
    if not isinstance(engine, AutoEngine):
        return engine
    chosen = engine.measuring(sum(map(len, dataset.texts.values())), rows, models)
    if chosen:
        try:
            SweepRecipe.of(dataset, plan, models, Shelf(models.embedding))
        except ConfigurationError:
            return None
    return chosen


class Kept(NamedTuple):
    """Where is kept what was paid for.

    Attributes:
        folder: with vectors; None for memory.
        journal: file with what an LLM writes about chunks; None where none does.
    """

    folder: Path | None
    journal: Path | None

    @contextmanager
    def written(self) -> Iterator[WrittenTexts | None]:
        """The journal, opened.

        Raises:
            ConfigurationError: it cannot be written.
        """
        if self.journal is None:
            yield None
            return
        with SummaryJournal(self.journal) as journal:
            yield journal


@contextmanager
def kept_in(
    given: Path | None, models: Models, engine: SweepEngine | None, vectors: Iterable[str]
) -> Iterator[Kept]:
    """Where a run keeps what it pays for: in the folder that was given, or in one for this run.

    All rows share by it what was paid for one of them, in this process and in workers.

    Args:
        given: folder of a cache; None for none.
        models: of the run.
        engine: measures rows in other processes.
        vectors: embeddings of chunks that rows may be asked by.
    """
    writes = models.llm is not None and any(map(written_for, vectors))
    shares = engine is not None and not engine.address and not models.embeds_offline
    if given is None and not (writes or shares):
        yield Kept(None, None)
        return
    with ExitStack() as stack:
        folder = given or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="rag-")))
        yield Kept(folder, folder / WRITTEN_FILE if writes else None)


@contextmanager
def hired(
    engine: SweepEngine | None,
    dataset: Dataset,
    plan: EvaluationPlan,
    models: Models,
    columns: Iterable[object],
    *,
    kept: Kept,
    lead: Callable[[], Lead | None] = lambda: None,
) -> Iterator[Crew | None]:
    """The workers of a run; None without an engine.

    Args:
        engine: what runs them.
        dataset: documents and questions, in the order they are asked.
        plan: what is measured.
        models: of the run, as they were given.
        columns: parsers, and what else may be compared.
        kept: where is kept what is paid for.
        lead: see `Crew`.

    Raises:
        ConfigurationError: the embedding model, a document or the plan cannot be made in another
            process.
    """
    if engine is None:
        yield None
        return
    shelf = Shelf(models.embedding)
    for column in columns:
        given = column.parser if isinstance(column, Searched) else column
        if not isinstance(given, StoredCollection):
            with suppress(ConfigurationError):  # it is measured here
                shelf.parser(as_parser(given))
    shared = None if engine.address or models.embeds_offline else kept.folder
    recipe = SweepRecipe.of(dataset, plan, models, shelf, cache=shared, journal=kept.journal)

    def stays(variant: Variant) -> bool:
        vector = (variant.options or plan.options).vector
        return bool(kept.journal and not recipe.llms and written_for(vector))

    with closing(Crew(engine.workers, lambda: engine.start(recipe), shelf, lead, stays)) as crew:
        yield crew
