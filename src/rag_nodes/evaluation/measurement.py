"""Variants in, rows out: known ones from the cache, the others measured here or by workers."""

from __future__ import annotations

import logging
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from rag_nodes.code_identity import code_of
from rag_nodes.errors import CancelledError, EngineError
from rag_nodes.evaluation.assembly import settings_of
from rag_nodes.evaluation.cache import EvaluationCache, row_key
from rag_nodes.evaluation.columns import Variant
from rag_nodes.evaluation.examining import AskedSoFar, Examined, Examiner, examined
from rag_nodes.evaluation.plan import EvaluationPlan, Step
from rag_nodes.evaluation.rows import failed_row, row_of_examined, with_outcomes
from rag_nodes.evaluation.sizes import matched
from rag_nodes.processes import current_interrupt

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from rag_nodes.evaluation.columns import Sized
    from rag_nodes.evaluation.dataset import Dataset
    from rag_nodes.evaluation.examining import Enough
    from rag_nodes.evaluation.judging.stage import Judging, Stage
    from rag_nodes.evaluation.report import Row
    from rag_nodes.evaluation.sweep import Sweep
    from rag_nodes.models import Models
    from rag_nodes.parsers import SpanNodeParser
    from rag_nodes.pipeline.build import Parse
    from rag_nodes.store import Store
    from rag_nodes.transforms import WrittenTexts

logger = logging.getLogger(__name__)

_ENOUGH = 10
"""Questions from which an estimate is made of how long the others take."""


class Measurement:
    """The rows of one evaluation, and what they share.

    Args:
        dataset: documents and questions, asked in this order.
        plan: what is measured.
        models: embeds texts and questions.
        cache: rows that were measured before.
        progress: hears of every step.
        parse: cuts a document in this process; None to have the parser do it.
        enough: told a row's name and its outcomes so far, whether it need not be asked more; None
            to ask every row everything.
        sweep: measures in other processes what can be sent there; None for this one alone.
        written: keeps what the LLM writes about chunks, for all rows.

    Attributes:
        read: of each column what was read at the main budget, for the questions that are judged.
    """

    def __init__(  # noqa: PLR0913 -- what the rows share, by name
        self,
        dataset: Dataset,
        plan: EvaluationPlan,
        models: Models,
        *,
        cache: EvaluationCache,
        progress: Callable[[Step], None] | None = None,
        parse: Parse | None = None,
        enough: Enough | None = None,
        sweep: Sweep | None = None,
        written: WrittenTexts | None = None,
    ) -> None:
        self.dataset, self.plan, self.models = dataset, plan, models
        self.read: dict[str, dict[str, list[str]]] = {}
        self._cache = cache
        self._progress = progress or (lambda _: None)
        self._parse = parse
        self._enough = enough or (lambda _name, _outcomes: False)
        self._interrupt = current_interrupt()
        self._code = code_of(models.embedding)
        self._examiner = Examiner(
            dataset, plan, models, parse=parse, check=self._check, written=written
        )
        self._pace = _Pace(len(dataset.questions), sweep.workers if sweep else 1)
        self._sweep = sweep

    def judging(self, asked: Judging) -> Stage:
        """What will judge the answers from what is read from now on.

        Raises:
            ConfigurationError: see `Judging.models`.
        """
        from rag_nodes.evaluation.judging.stage import Stage

        stage = Stage(
            asked,
            models=self.models,
            dataset=self.dataset,
            plan=self.plan,
            cache=self._cache,
            told=lambda done, total: self._say(Step("judge", stage.judge, done, total, None)),
        )
        self._examiner.drawn = frozenset(one.id for one in stage.questions)
        return stage

    def sized(self, parsers: Mapping[str, SpanNodeParser]) -> dict[str, Sized]:
        """Each column at the mean size of the plan, or why it cannot have it."""
        found: dict[str, Sized] = {}
        if not self.plan.target:
            return found
        sent = self._sweep.sizes(parsers, self.plan.target) if self._sweep else {}
        for name, parser in parsers.items():
            self._say(Step("size", name, 0, None, None))
            try:
                found[name] = sent.get(name) or matched(
                    parser, self.dataset.documents, self.plan.target, cut=self._parse
                )
            except (CancelledError, EngineError):
                raise
            except Exception as error:  # noqa: BLE001 -- another's splitter may raise anything
                found[name] = error
        return found

    def rows(self, variants: Sequence[Variant], store: Store) -> Iterator[Row]:
        """A row per variant, in their order, each in a store only while it is measured."""
        self._pace.expect(len(variants))
        self._examiner.dimension()  # a model that cannot be reached ends the whole run
        good: list[Variant] = []
        if self._sweep:
            self._sweep.begin(self._sent(variants, good), self._examiner.drawn, self._told)
        for one in variants:
            variant = _repeated(one, good) if one.role == "control" else one
            self._tell("index", variant)
            try:
                row = self._known_row(variant) or self._measured(variant, store)
            except (CancelledError, EngineError):
                raise
            except Exception as error:  # noqa: BLE001 -- one column must never take the others down
                logger.warning("%s: %s", variant.name, error)
                self._pace.finished(variant.name)
                yield failed_row(variant, error)
                continue
            self._pace.finished(variant.name)
            self._tell("ask", variant)
            good.append(variant)
            yield row

    def _sent(self, variants: Sequence[Variant], good: Sequence[Variant]) -> Iterator[Variant]:
        """What other processes are to begin with: what is not known yet, controls last."""
        others = [one for one in variants if one.role != "control"]
        yield from (one for one in others if not self._known(one))
        for one in variants:
            if one.role == "control":
                # Where it turns out to have to be of another row, it is measured here.
                control = _repeated(one, good or others)
                if not self._known(control):
                    yield control

    def _told(self, variant: Variant, found: Examined) -> None:
        """Keep what another process found."""
        self._keep(variant, found)
        seconds = float(found.cost["seconds"] or 0)
        self._pace.asked(variant.name, AskedSoFar(0, seconds))
        self._asked(variant.name, AskedSoFar(len(found.outcomes), seconds))

    def _known(self, variant: Variant) -> Row | None:
        """The row of an earlier run that was the same in everything that decides.

        What a column read is not kept, as it is text: to judge answers it is read again.
        """
        if self._examiner.drawn and variant.role == "own":
            return None
        return self._cache.row(self._key(variant))

    def _known_row(self, variant: Variant) -> Row | None:
        row = self._known(variant)
        return self._as_asked_now(row) if row else None

    def _as_asked_now(self, row: Row) -> Row | None:
        """A row with as many outcomes as would be asked for now; None where it has too few."""
        for asked in range(1, len(row.outcomes) + 1):
            if self._enough(row.name, row.outcomes[:asked]):
                return with_outcomes(row, row.outcomes[:asked])
        return row if len(row.outcomes) == len(self.dataset.questions) else None

    def _measured(self, variant: Variant, store: Store) -> Row:
        found = self._sweep.examined(variant) if self._sweep else None
        # They go by who led when they began: a row that this stopped too early is measured here.
        row = self._as_asked_now(row_of_examined(variant, found)) if found else None
        if found is None or row is None:
            found = self._examined(variant, store)
            row = self._keep(variant, found)
        if found.read:
            self.read[variant.name] = found.read
        return row

    def _examined(self, variant: Variant, store: Store) -> Examined:
        """What this process finds."""
        steps = self._examiner.examine(variant, store, self._enough)

        def asked(so_far: AskedSoFar) -> None:
            self._check()
            self._asked(variant.name, so_far)

        return examined(steps, asked)

    def _keep(self, variant: Variant, found: Examined) -> Row:
        row = row_of_examined(variant, found)
        self._cache.keep(self._key(variant), row)
        return row

    def _key(self, variant: Variant) -> bytes | None:
        known = [(document.id_, document.metadata) for document in self.dataset.documents]
        settings = [
            settings_of(self.plan, self.models),
            # A function among them has an address, which makes it one of this process alone.
            repr(self._examiner.options),
            self.plan.explain,
        ]
        return row_key(variant, self.dataset.fingerprint, known, settings, self._code)

    def _asked(self, name: str, so_far: AskedSoFar) -> None:
        self._pace.asked(name, so_far)
        if so_far.questions:
            self._say(Step("ask", name, self._pace.done, self._pace.total, self._pace.left()))

    def _tell(self, stage: Literal["index", "ask"], variant: Variant) -> None:
        self._say(Step(stage, variant.name, self._pace.done, self._pace.total, self._pace.left()))

    def _say(self, step: Step) -> None:
        self._interrupt.check("the evaluation")
        self._progress(step)

    def _check(self) -> None:
        """Go no further where whoever started the run has left."""
        self._interrupt.check("the evaluation")


class _Pace:
    """How far a run is, and how long it will take.

    Args:
        questions: of each row.
        hands: rows that are measured at the same time.
    """

    def __init__(self, questions: int, hands: int) -> None:
        self.total = 0
        self._questions, self._hands = questions, hands
        self._asked: dict[str, int] = {}
        self._indexed, self._indexing = 0, 0.0
        self._started = time.monotonic()

    @property
    def done(self) -> int:
        """Questions asked so far, of all rows."""
        return sum(self._asked.values())

    def expect(self, rows: int) -> None:
        """So many more are to be measured."""
        self.total += rows * self._questions
        if not self._asked:
            self._started = time.monotonic()

    def asked(self, name: str, so_far: AskedSoFar) -> None:
        """A row was indexed, or asked one more question."""
        if not so_far.questions:
            self._indexed, self._indexing = self._indexed + 1, self._indexing + so_far.indexing
        self._asked[name] = max(self._asked.get(name, 0), so_far.questions)

    def finished(self, name: str) -> None:
        """A row needs nothing more."""
        self._asked[name] = self._questions

    def left(self) -> float | None:
        """Seconds that are left: rows to be indexed, and questions to be asked."""
        done = self.done
        if done < _ENOUGH:
            return None
        spent = (time.monotonic() - self._started) * self._hands
        asking = max(0.0, spent - self._indexing)
        left = self.total - done
        rows = left // self._questions
        return (asking / done * left + self._indexing / max(1, self._indexed) * rows) / self._hands


def _repeated(control: Variant, good: Sequence[Variant]) -> Variant:
    """The control with the first column that could be measured: it is that one once more."""
    first = next((one for one in good if one.role == "own"), None)
    if first is None:
        return control
    note = f"{first.name} once more"
    return replace(control, parser=first.parser, options=first.options, note=note)
