"""One variant examined: cut, indexed, and asked every question."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from rag_nodes.evaluation.diagnosis import Miss, diagnose
from rag_nodes.evaluation.indexing import Index
from rag_nodes.evaluation.report import Outcome
from rag_nodes.evaluation.scoring import FOUND, score, texts_of
from rag_nodes.query import QueryOptions, QuestionVectors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rag_nodes.evaluation.columns import Variant
    from rag_nodes.evaluation.dataset import Dataset, Question
    from rag_nodes.evaluation.plan import EvaluationPlan
    from rag_nodes.models import Models
    from rag_nodes.pipeline.build import Parse
    from rag_nodes.store import Store
    from rag_nodes.text.filling import Ranked
    from rag_nodes.transforms import WrittenTexts

    Enough = Callable[[str, Sequence[Outcome]], bool]

_DEEPEST = 2_000
"""Chunks among which the rank of a missed answer is looked for."""


class AskedSoFar(NamedTuple):
    """How far the examination of one variant is.

    Attributes:
        questions: asked; 0 when it has just been indexed.
        indexing: seconds that took.
    """

    questions: int
    indexing: float


@dataclass(frozen=True, slots=True)
class Examined:
    """What an examination found, as plain data.

    Attributes:
        chunks: statistics of the chunks' sizes, see `Row`.
        cost: what it takes to have the variant in a store, see `Index.cost`.
        outcomes: one per question that was asked, in the order of the questions.
        read: what was read at the main budget for the questions that are judged, by their ids.
    """

    chunks: dict[str, float]
    cost: dict[str, float | None]
    outcomes: tuple[Outcome, ...]
    read: dict[str, list[str]] = field(default_factory=dict)


def examined(
    steps: Generator[AskedSoFar, None, Examined],
    asked: Callable[[AskedSoFar], None] = lambda _: None,
) -> Examined:
    """What an examination finds.

    Args:
        steps: what `Examiner.examine` gave.
        asked: hears how far it is.
    """
    with closing(steps):
        while True:
            try:
                asked(next(steps))
            except StopIteration as end:
                found: Examined = end.value
                return found


class Examiner:
    """What all examinations of a run share, wherever they are made.

    Args:
        dataset: documents and questions, asked in this order.
        plan: what is measured.
        models: embeds texts and questions.
        drawn: ids of the questions of which is kept what was read.
        parse: cuts a document; None to have the parser do it.
        check: called now and then; may raise to end the examination.
        written: keeps what the LLM writes about chunks, for all examinations.

    Attributes:
        options: how is searched where a variant does not say it.
    """

    def __init__(
        self,
        dataset: Dataset,
        plan: EvaluationPlan,
        models: Models,
        *,
        drawn: frozenset[str] = frozenset(),
        parse: Parse | None = None,
        check: Callable[[], None] = lambda: None,
        written: WrittenTexts | None = None,
    ) -> None:
        self.drawn = drawn
        self.options = replace(
            plan.options, step_factor=1.0, granularity=plan.options.granularity or "chunks"
        )
        self._dataset, self._plan, self._models = dataset, plan, models
        self._parse, self._check, self._written = parse, check, written
        self._vectors = QuestionVectors(size=len(dataset.questions), ttl_hours=1e6)

    def dimension(self, options: QueryOptions | None = None) -> int:
        """Numbers of a vector; 0 where the search makes none.

        Raises:
            ModelError: the model cannot be reached.
        """
        first, mode = self._dataset.questions[0].text, (options or self.options).mode
        return len(self._vectors.get(self._models, first, mode=mode).vector or ())

    def examine(
        self, variant: Variant, store: Store, enough: Enough
    ) -> Generator[AskedSoFar, None, Examined]:
        """Examine a variant, which is in the store only meanwhile.

        Args:
            variant: what is cut and asked.
            store: where its chunks are.
            enough: told its name and its outcomes so far, whether it need not be asked more.

        Yields:
            When it was indexed, and after each question.

        Raises:
            RagNodesError: the documents could not be cut, embedded or stored.
        """
        index = Index(
            variant,
            self._dataset.documents,
            store=store,
            models=self._models,
            options=self.options,
            vectors=self._vectors,
            dimension=self.dimension(variant.options),
            progress=lambda _: self._check(),
            parse=self._parse,
            written=self._written,
        )
        try:
            return (yield from self._ask(index, enough))
        finally:
            index.close()

    def _ask(self, index: Index, enough: Enough) -> Generator[AskedSoFar, None, Examined]:
        outcomes: list[Outcome] = []
        read: dict[str, list[str]] = {}
        yield AskedSoFar(0, index.cost.seconds)
        for question in self._dataset.questions:
            outcomes.append(self._outcome(index, question, read))
            yield AskedSoFar(len(outcomes), index.cost.seconds)
            if enough(index.variant.name, outcomes):
                break
        return Examined(asdict(index.statistics), asdict(index.cost), tuple(outcomes), read)

    def _outcome(self, index: Index, question: Question, read: dict[str, list[str]]) -> Outcome:
        plan = self._plan
        most = max(plan.budgets)
        passages = index.passages(question, plan.budgets)
        ranked = passages.get(most) or index.ranking(
            question, budget=most, chunks=max(plan.ks, default=1)
        )
        main = passages.get(plan.budget, ranked)
        if question.id in self.drawn and index.variant.role == "own":
            read[question.id] = texts_of(main, plan.budget)
        scores = score(
            question,
            ranked,
            index.chunks,
            self._dataset.texts,
            budgets=plan.budgets,
            ks=plan.ks,
            passages_at=passages,
        )
        if scores[f"recall@{plan.budget}"] >= FOUND or not plan.explain:
            return Outcome(question.id, scores)
        miss = self._miss(index, question, main)
        if miss is None:
            return Outcome(question.id, scores)
        chunks = tuple((one.document, *one.span) for one in miss.chunks)
        return Outcome(question.id, scores, miss.reason, miss.rank, chunks)

    def _miss(self, index: Index, question: Question, ranked: Sequence[Ranked]) -> Miss | None:
        options = index.options
        return diagnose(
            question,
            ranked,
            index.chunks,
            self._dataset.texts,
            budget=self._plan.budget,
            deeper=lambda: index.search(question, min(_DEEPEST, max(1, index.cost.chunks))),
            is_filtered=bool(options.filter) or options.similarity_cutoff is not None,
            by_sentence=options.granularity == "sentences",
        )
