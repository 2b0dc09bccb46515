"""What an executor does for an evaluation: examine one variant, or find the size of one parser."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from llama_index.core.schema import Document

from rag_nodes.evaluation.cache import EvaluationCache
from rag_nodes.evaluation.columns import Variant
from rag_nodes.evaluation.dataset import Dataset, Question
from rag_nodes.evaluation.examining import Examined, Examiner, examined
from rag_nodes.evaluation.plan import EvaluationPlan
from rag_nodes.evaluation.race import Lead, Race
from rag_nodes.evaluation.sizes import matched
from rag_nodes.pipeline.shelf import made_parser
from rag_nodes.pipeline.written_models import ModelRecipe, models_of
from rag_nodes.store import open_store
from rag_nodes.transforms import SummaryJournal


class SweepUnit(NamedTuple):
    """Something to measure.

    Attributes:
        number: no two of a run have the same.
        parser: how is cut, as `Shelf.parser` writes it.
        variant: the fields of the `Variant` but its parser; None to find a size.
        target: tokens of a chunk on average, to find the size for.
        drawn: ids of the questions of which is kept what was read.
        lead: who leads; None where every question is asked.
    """

    number: int
    parser: dict[str, Any]
    variant: dict[str, Any] | None = None
    target: int = 0
    drawn: frozenset[str] = frozenset()
    lead: Lead | None = None


class Refused(NamedTuple):
    """It cannot be measured; says why."""

    reason: str


class SizeFound(NamedTuple):
    """What `Matched` says, but for the parser."""

    size: int
    mean: float


@dataclass(eq=False)
class SweepRecipe:
    """What all units share.

    Attributes:
        models: embedding models and LLMs, their keys apart.
        name: of the dataset.
        questions: in the order they are asked.
        documents: as LlamaIndex writes them; a pickle of one may lack what cannot be pickled.
        plan: what is measured.
        cache: folder with vectors that were paid for; None where there is none.
        journal: file in which is kept what an LLM writes; None where there is none.
    """

    models: ModelRecipe
    name: str
    questions: tuple[Question, ...]
    documents: list[dict[str, Any]]
    plan: EvaluationPlan
    cache: Path | None
    journal: Path | None

    @property
    def keys(self) -> Mapping[str, Any]:
        """What nobody is to see."""
        return self.models.keys

    def successor(self) -> SweepRecipe:
        """The recipe of a process in the place of one that died."""
        return replace(self, models=self.models.successor())

    def prepare(self) -> None:
        """Make models, data and a store in memory, once in a process.

        Raises:
            ConfigurationError: they cannot be made here.
            MissingPackageError: a package is missing here.
        """
        if self.models.folder:
            os.chdir(self.models.folder)
        self.embeddings = self.models.make_models()
        llms = self.models.make_llms()
        models = replace(
            models_of(self.embeddings, self.models.names), llm=llms[0] if llms else None
        )
        documents = tuple(Document.from_dict(one) for one in self.documents)
        self.data = Dataset(self.name, documents, self.questions)
        self.opened = opened = ExitStack()  # as long as this process
        kept = opened.enter_context(EvaluationCache(self.cache))
        journal = SummaryJournal(self.journal) if self.journal and llms else None
        written = opened.enter_context(journal) if journal else None
        self.store = opened.enter_context(open_store())
        self.examiner = Examiner(self.data, self.plan, kept.embedding(models), written=written)


def measure(recipe: SweepRecipe, unit: SweepUnit) -> Examined | SizeFound | Refused:
    """Examine a variant, or find the size of a parser; `Refused` where it cannot be done."""
    try:
        parser = made_parser(unit.parser, recipe.embeddings)
        if unit.variant is None:
            found = matched(parser, recipe.data.documents, unit.target)
            return SizeFound(found.size, found.mean)
        recipe.examiner.drawn = unit.drawn
        documents = [one.document for one in recipe.data.questions]
        race = Race(documents, recipe.plan.main, seed=recipe.plan.seed, lead=unit.lead)
        variant = Variant(parser=parser, **unit.variant)
        return examined(recipe.examiner.examine(variant, recipe.store, race.is_hopeless))
    except Exception as error:  # noqa: BLE001 -- one row must never take the others down
        return Refused(str(error) or type(error).__name__)
