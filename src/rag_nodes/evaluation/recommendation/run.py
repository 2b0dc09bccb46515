"""`recommend`: which parser and size to take for these documents, and whether the data can say."""

from __future__ import annotations

import logging
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from rag_nodes.errors import RagNodesError
from rag_nodes.evaluation.assembly import described, settings_of
from rag_nodes.evaluation.cache import EvaluationCache, uncached
from rag_nodes.evaluation.choice import Standing, decide, standing
from rag_nodes.evaluation.leads import Interval, Swaps, own_mean
from rag_nodes.evaluation.measurement import Measurement
from rag_nodes.evaluation.plan import EvaluationPlan
from rag_nodes.evaluation.race import Race, in_turns
from rag_nodes.evaluation.recommendation.candidates import (
    OVERLAPS,
    Candidate,
    at_sizes,
    standard,
    with_modes,
    with_overlap,
    with_vectors,
)
from rag_nodes.evaluation.recommendation.report import Recommendation, Trial
from rag_nodes.evaluation.recommendation.words import AtBudget, Reasons, why_stopped
from rag_nodes.evaluation.sweep import kept_in, swept_by, workers_for
from rag_nodes.models import settled
from rag_nodes.parsers import get_parser
from rag_nodes.parsers.presets import SWEPT
from rag_nodes.store import open_store
from rag_nodes.transforms import TextJournal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from llama_index.core.base.embeddings.base import BaseEmbedding
    from numpy.typing import NDArray

    from rag_nodes.evaluation.dataset import Dataset
    from rag_nodes.evaluation.plan import Step
    from rag_nodes.evaluation.race import Stop
    from rag_nodes.evaluation.recommendation.report import State
    from rag_nodes.evaluation.report import Row
    from rag_nodes.executors import Executor
    from rag_nodes.models import Models
    from rag_nodes.pipeline.build import Parse
    from rag_nodes.store import SearchMode, Store

PLAN = EvaluationPlan(ks=(), target=None, explain=False)
"""What is measured of each candidate; its sizes are those that are tried."""

logger = logging.getLogger(__name__)


def recommend(  # noqa: PLR0913 -- options of one call, all but one with defaults
    dataset: Dataset,
    parsers: Mapping[str, object] | None = None,
    *,
    plan: EvaluationPlan = PLAN,
    overlaps: Sequence[float] = OVERLAPS,
    modes: Sequence[SearchMode] = (),
    vectors: Sequence[str] = (),
    models: Models | None = None,
    embed_model: BaseEmbedding | str | None = None,
    store: Store | None = None,
    cache: Path | None = None,
    progress: Callable[[Step], None] | None = None,
    parse: Parse | None = None,
    executor: Executor | Literal["auto"] | None = None,
) -> Recommendation:
    """Find the parser and size to take for some documents, or say that the data cannot tell.

    Each parser is tried at each size of the plan, and the best size of each parser with overlap as
    well; at 200 tokens it is also read by sentences. All are asked the same questions and read the
    same number of tokens. A candidate that falls far behind after some of the questions is asked no
    more. What is chosen is the cheapest that is as good as the best; where nothing is shown to be
    worse than anything else, the preset `retrieval` read by sentences stands.

    Drafts that nobody has accepted are left out. Where all questions are such drafts, the preset
    `retrieval` stands, and no other candidate is tried.

    Args:
        dataset: documents and questions, labelled or drafted.
        parsers: by name: ours, and splitters of other packages; None for `SWEPT`.
        plan: budgets, sizes, how is searched, and the seed. Where its options name a granularity
            all candidates are read so.
        overlaps: shares of a chunk that neighbours have in common; () for none.
        modes: how the one that found most is searched as well; () for only as the plan says.
        vectors: by which embeddings of the chunks the one that found most is searched as well, see
            `FurtherVectors`.
        models: embeds texts and questions; None for `embed_model`.
        embed_model: any embedding model of LlamaIndex; None for that of LlamaIndex's `Settings`
            where it was set, else offline.
        store: where chunks are while they are measured in this process; None for memory.
            Collections are removed.
        cache: folder that keeps vectors of a paid model and finished candidates, so that a run
            that was ended goes on; None to keep nothing.
        progress: hears of every step.
        parse: cuts a document in this process, such as by one that can be ended; None to have the
            parser do it.
        executor: measures candidates in other processes, as for `evaluate`; None for this one
            alone. What is chosen is the same for any number of them.

    Raises:
        DatasetError: there is nothing to ask.
        ConfigurationError: there is nothing to try, or something is no splitter.
        CancelledError: see `rag_nodes.processes.interruptible`.
        EngineError: processes cannot be started, or cannot make what the rows share.
        RagNodesError: no candidate could be measured.
    """
    dataset.check_asked()
    dataset = dataset.decisive()
    plan = replace(plan, explain=False)
    dataset = replace(dataset, questions=tuple(in_turns(dataset.questions, plan.seed)))
    race = Race(len(dataset.questions), plan.main, seed=plan.seed)
    chosen = settled(models, embed_model)
    given = {} if dataset.by_drafts else parsers or {name: get_parser(name) for name in SWEPT}
    for said in uncached(given.values(), chosen) if cache else ():
        logger.warning(said)
    # Sizes are the sweep's: with others, what was measured before is known all the same.
    measured = replace(plan, sizes=())
    count = len(given) * (1 + len(plan.sizes) + len(overlaps)) + len(modes)
    if executor == "auto":
        executor = workers_for(dataset, count, chosen)
    with ExitStack() as opened:
        paid = opened.enter_context(
            kept_in(cache, chosen, executor, {plan.options.vector, *vectors})
        )
        kept = opened.enter_context(EvaluationCache(paid[0]))
        written = TextJournal(paid[1]) if paid[1] else None
        own = store or opened.enter_context(open_store())
        known = kept.embedding(chosen)
        others = opened.enter_context(
            swept_by(
                executor, dataset, measured, chosen, given.values(), kept=paid,
                lead=lambda: race.lead,
            )
        )  # fmt: skip
        measurement = Measurement(
            dataset, measured, known, cache=kept, progress=progress, parse=parse,
            enough=race.is_hopeless, sweep=others, written=written,
        )  # fmt: skip
        sweep = _Sweep(measurement, race, own)
        if dataset.by_drafts:
            sweep.measure([standard(plan.options)])
        else:
            sweep.measure(at_sizes(given, plan.sizes, plan.options))
            sweep.measure(sweep.overlapping(overlaps))
            sweep.measure(sweep.searched(modes))
            sweep.measure(sweep.embedded(vectors))
    return _judged(dataset, plan, known, sweep)


class _Sweep:
    """Candidates and their rows, in the order they were tried."""

    def __init__(self, measurement: Measurement, race: Race, store: Store) -> None:
        self.race = race
        self.candidates: dict[str, Candidate] = {}
        self.rows: dict[str, Row] = {}
        self._measurement, self._store = measurement, store

    @property
    def finished(self) -> dict[str, Row]:
        """The rows of those that were asked everything."""
        return {
            name: row
            for name, row in self.rows.items()
            if not row.error and name not in self.race.stops
        }

    def measure(self, candidates: Sequence[Candidate]) -> None:
        """Try some more candidates."""
        self.candidates |= {one.name: one for one in candidates}
        variants = [one.variant for one in candidates]
        for row in self._measurement.rows(variants, self._store) if variants else ():
            self.rows[row.name] = row
            if not row.error and row.name not in self.race.stops:
                self.race.finish(row.name, row.outcomes)

    def overlapping(self, shares: Sequence[float]) -> list[Candidate]:
        """The best size of each parser with overlaps; sentences are read across chunks anyway."""
        measure = self._measurement.plan.main
        best: dict[str, str] = {}
        for name, row in self.finished.items():
            if self.candidates[name].options.granularity == "sentences":
                continue
            preset = self.candidates[name].preset
            if preset not in best or row.means[measure] > self.rows[best[preset]].means[measure]:
                best[preset] = name
        return [
            one for name in best.values() for one in with_overlap(self.candidates[name], shares)
        ]

    def searched(self, modes: Sequence[SearchMode]) -> list[Candidate]:
        """The one that leads, searched in other ways."""
        leader = self.candidates.get(self.race.leader)
        return list(with_modes(leader, modes)) if leader else []

    def embedded(self, vectors: Sequence[str]) -> list[Candidate]:
        """The one that leads, searched by other embeddings of its chunks."""
        leader = self.candidates.get(self.race.leader)
        return list(with_vectors(leader, vectors)) if leader else []


def _judged(
    dataset: Dataset, plan: EvaluationPlan, models: Models, sweep: _Sweep
) -> Recommendation:
    finished = sweep.finished
    if not finished:
        errors = {row.error for row in sweep.rows.values() if row.error}
        raise RagNodesError(f"no candidate could be measured: {'; '.join(sorted(errors))}")
    stands = _standing(finished, plan, plan.main)
    about, usual = described(dataset), standard(plan.options).name
    decision = decide(
        stands,
        {name: row.means[plan.main] for name, row in finished.items()},
        {name: float(row.cost["bytes"] or 0) for name, row in finished.items()},
        standard=usual,
        stopped=list(sweep.race.stops),
    )
    trials = tuple(_trials(sweep, plan, stands.gaps))
    reasons = Reasons(
        trials={one.name: one for one in trials},
        decision=decision,
        leader=stands.leader,
        standard=usual,
        plan=plan,
        dataset=about,
    )
    return Recommendation(
        dataset=about,
        settings={**settings_of(plan, models), "standard": usual},
        trials=trials,
        leader=stands.leader,
        chosen=decision.chosen,
        told=decision.told,
        more_questions=decision.more_questions,
        verdict=tuple(reasons.verdict()),
        otherwise=tuple(reasons.otherwise(_at_budgets(finished, plan, decision.chosen))),
        candidate=sweep.candidates[decision.chosen],
    )


def _values(rows: Mapping[str, Row], measure: str) -> dict[str, NDArray[np.float64]]:
    return {
        name: np.array([one.scores[measure] for one in row.outcomes]) for name, row in rows.items()
    }


def _standing(rows: Mapping[str, Row], plan: EvaluationPlan, measure: str) -> Standing:
    return standing(_values(rows, measure), draws=plan.draws, seed=plan.seed)


def _at_budgets(rows: Mapping[str, Row], plan: EvaluationPlan, chosen: str) -> Iterator[AtBudget]:
    """What is known about each other budget."""
    usual = _values(rows, f"recall@{plan.budget}")[chosen]
    for budget in plan.budgets:
        if budget != plan.budget:
            there = _standing(rows, plan, f"recall@{budget}")
            values = _values(rows, f"recall@{budget}")[chosen]
            table = np.stack([values, usual], axis=1)
            (change,) = Swaps(table, [(0, 1)], draws=plan.draws, seed=plan.seed).intervals
            yield AtBudget(budget, there.leader, there.gaps[chosen], change)


def _trials(sweep: _Sweep, plan: EvaluationPlan, gaps: Mapping[str, Interval]) -> Iterator[Trial]:
    for name, row in sweep.rows.items():
        candidate, stop = sweep.candidates[name], sweep.race.stops.get(name)
        state = _state(row, stop, gaps.get(name))
        values = np.array([one.scores[plan.main] for one in row.outcomes])
        yield Trial(
            name=name,
            preset=candidate.preset,
            size=candidate.size,
            overlap=candidate.overlap,
            mode=candidate.options.mode,
            granularity=candidate.options.granularity or "chunks",
            parser=row.parser,
            state=state,
            asked=len(row.outcomes),
            means=row.means,
            interval=own_mean(values) if state in ("level", "behind") else None,
            gap=stop.gap if stop else gaps.get(name),
            chunks=row.chunks,
            cost=row.cost,
            words=row.error or (why_stopped(stop, len(sweep.race)) if stop else ""),
        )


def _state(row: Row, stop: Stop | None, gap: Interval | None) -> State:
    if row.error or (gap is None and stop is None):
        return "failed"
    if stop:
        return "stopped"
    return "behind" if gap and gap.low > 0 else "level"
