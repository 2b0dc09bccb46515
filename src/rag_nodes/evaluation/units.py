"""What an executor does for an evaluation: examine one variant, or find the size of one parser."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from rag_nodes.evaluation.cache import EvaluationCache
from rag_nodes.evaluation.columns import Variant
from rag_nodes.evaluation.dataset import Dataset
from rag_nodes.evaluation.examining import Examined, Examiner, examined
from rag_nodes.evaluation.plan import EvaluationPlan
from rag_nodes.evaluation.race import Lead, Race
from rag_nodes.evaluation.sizes import matched
from rag_nodes.models import Models
from rag_nodes.models.pickling import unpickled
from rag_nodes.store import open_store
from rag_nodes.transforms import TextJournal


class SweepUnit(NamedTuple):
    """Something to measure.

    Attributes:
        number: no two of a run have the same.
        parser: how is cut, pickled beside the embedding model of the recipe.
        variant: the fields of the `Variant` but its parser; None to find a size.
        target: tokens of a chunk on average, to find the size for.
        drawn: ids of the questions of which is kept what was read.
        lead: who leads; None where every question is asked.
    """

    number: int
    parser: bytes
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
        models: embed and write about the chunks.
        data: documents and questions, in the order they are asked.
        plan: what is measured.
        cache: folder with vectors that were paid for; None where there is none.
        journal: file in which is kept what an LLM writes; None where there is none.
    """

    models: Models
    data: Dataset
    plan: EvaluationPlan
    cache: Path | None
    journal: Path | None

    def prepare(self) -> None:
        """Open cache, journal and a store in memory, once in a process.

        Raises:
            ConfigurationError: the journal cannot be written.
        """
        self.opened = opened = ExitStack()  # as long as this process
        kept = opened.enter_context(EvaluationCache(self.cache))
        written = TextJournal(self.journal) if self.journal and self.models.llm else None
        self.store = opened.enter_context(open_store())
        self.examiner = Examiner(self.data, self.plan, kept.embedding(self.models), written=written)


def measure(recipe: SweepRecipe, unit: SweepUnit) -> Examined | SizeFound | Refused:
    """Examine a variant, or find the size of a parser; `Refused` where it cannot be done."""
    try:
        parser = unpickled(unit.parser, known=[recipe.models.embedding])
        if unit.variant is None:
            found = matched(parser, recipe.data.documents, unit.target)
            return SizeFound(found.size, found.mean)
        recipe.examiner.drawn = unit.drawn
        asked = len(recipe.data.questions)
        race = Race(asked, recipe.plan.main, seed=recipe.plan.seed, lead=unit.lead)
        variant = Variant(parser=parser, **unit.variant)
        return examined(recipe.examiner.examine(variant, recipe.store, race.is_hopeless))
    except Exception as error:  # noqa: BLE001 -- one row must never take the others down
        return Refused(str(error) or type(error).__name__)
