"""What a worker does that measures: one variant or one search for a size after another."""

from __future__ import annotations

import os
from contextlib import ExitStack
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from rag_nodes.evaluation.by_workers.messages import (
    Begun,
    Refused,
    RowTask,
    SizeFound,
    pack,
    unpack,
)
from rag_nodes.evaluation.by_workers.recipe import SweepRecipe, made_options
from rag_nodes.evaluation.cache import EvaluationCache
from rag_nodes.evaluation.columns import Variant
from rag_nodes.evaluation.examining import Examined, Examiner
from rag_nodes.evaluation.race import Race
from rag_nodes.evaluation.sizes import matched
from rag_nodes.store import open_store
from rag_nodes.workers import CannotWork, Trade
from rag_nodes.workers.shelf import made_parser, opened_journals

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

    from llama_index.core.base.embeddings.base import BaseEmbedding

    from rag_nodes.evaluation.by_workers.messages import SizeTask, SweepMessage, SweepTask
    from rag_nodes.evaluation.examining import AskedSoFar
    from rag_nodes.transforms import WrittenTexts


class SweepWorker:
    """Data and models made of a recipe, and a store in memory, for any number of tasks.

    Args:
        recipe: says what to make.
        models: stand in for those of the recipe; none where it makes them.
        journals: stand in for files in which is kept what an LLM writes, by their paths.

    Raises:
        RagNodesError: it cannot be made here.
    """

    def __init__(
        self,
        recipe: SweepRecipe,
        models: Sequence[BaseEmbedding] = (),
        journals: Mapping[str, WrittenTexts] = MappingProxyType({}),
    ) -> None:
        if recipe.folder:
            os.chdir(recipe.folder)
        made = recipe.make(models)
        self._dataset, self._plan, self._embeddings = made.dataset, made.plan, made.embeddings
        with ExitStack() as opened:
            cache = Path(recipe.cache) if recipe.cache else None
            kept = opened.enter_context(EvaluationCache(cache))
            written = opened_journals(recipe.journals, journals, opened)
            self._examiner = Examiner(
                made.dataset,
                made.plan,
                kept.embedding(made.models),
                written=next(iter(written.values()), None),
            )
            self._store = opened.enter_context(open_store())
            self._opened = opened.pop_all()

    def work(self, task: SweepTask) -> Generator[SweepMessage]:
        """Do a task.

        Yields:
            What happens, the result last: `Examined`, `SizeFound`, or `Refused` where the parser,
            the model or the store cannot do it.
        """
        yield Begun()
        try:
            if isinstance(task, RowTask):
                yield (yield from self._examine(task))
            else:
                yield self._size(task)
        except Exception as error:  # noqa: BLE001 -- one row must never take the others down
            yield Refused(str(error) or type(error).__name__)

    def close(self) -> None:
        """Close store and cache."""
        self._opened.close()

    def _examine(self, task: RowTask) -> Generator[AskedSoFar, None, Examined]:
        self._examiner.drawn = frozenset(task.drawn)
        options = made_options(task.options) if task.options else None
        parser = made_parser(task.parser, self._embeddings)
        variant = Variant(task.column, task.role, parser, task.nominal, options=options)
        documents = [one.document for one in self._dataset.questions]
        race = Race(documents, self._plan.main, seed=self._plan.seed, lead=task.lead)
        return (yield from self._examiner.examine(variant, self._store, race.is_hopeless))

    def _size(self, task: SizeTask) -> SizeFound:
        parser = made_parser(task.parser, self._embeddings)
        found = matched(parser, self._dataset.documents, task.target)
        return SizeFound(found.size, found.mean)


MEASURING = Trade(
    recipe=SweepRecipe,
    worker=SweepWorker,
    pack_task=pack,
    unpack_task=unpack,
    pack=pack,
    unpack=unpack,
    last=(Examined, SizeFound, Refused, CannotWork),
)
"""What the workers of `evaluate` and `recommend` do."""
