"""The decision: settings are tested in the background on one visitor's documents."""

from __future__ import annotations

import logging
import threading
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from rag_nodes.core.errors import CancelledError, DatasetTooLargeError, RagNodesError
from rag_nodes.core.keys import trace_of
from rag_nodes.core.processes import BackgroundThread, Interrupt, Leases, interruptible, pause
from rag_nodes.evaluation.columns import REFERENCE, Searched
from rag_nodes.evaluation.drafts.probes import ANSWER_LENGTHS, CHARACTERS, probes
from rag_nodes.evaluation.page import matrix
from rag_nodes.evaluation.plan import KS, EvaluationPlan
from rag_nodes.evaluation.run import recommend
from rag_nodes.evaluation.wording import SELECTING, all_of, rounded
from rag_nodes.models.executors import Pool, usable_cores
from rag_nodes.operations.workspace.limits import check_amount, rows_of
from rag_nodes.parsers import get_parser
from rag_nodes.parsers.presets import PRESETS, SWEPT

if TYPE_CHECKING:
    from collections.abc import Callable

    from llama_index.core.schema import Document

    from rag_nodes.apps.visitors.session import PageSession
    from rag_nodes.evaluation.compare import Comparison
    from rag_nodes.evaluation.dataset import Dataset
    from rag_nodes.evaluation.drafts.probes import AnswerLength
    from rag_nodes.evaluation.plan import Step
    from rag_nodes.evaluation.report import EvaluationReport, Row

logger = logging.getLogger(__name__)

ENOUGH = 10
"""Accepted questions from which a sweep uses them in place of passages automatically."""
QUIET = 2.0
"""Seconds after an upload before the processor is taken, so that a first question does not wait."""
MOST_SECONDS = 1800.0
"""Seconds after which a sweep is given up: others wait for it."""
_RESTING = 0.5
"""Seconds between two looks whether a question is still being answered."""
_AT_ONCE = Leases(1)
"""Sweeps of all visitors at the same time: each keeps several cores busy."""
_SWEEP_NICENESS = 10
"""Niceness of the processes that measure: a question has nine tenths of a core they share."""
_MOST_WORKERS = 4
"""Processes that measure, if there are as many cores."""
STOPPED = "The test was stopped."
About = tuple[object, ...]
"""Subject of a sweep: what it decides by, models, documents and the visitor's own columns."""
_FAULT = "stopped by a fault of the app ({}); whoever runs it finds the reason in its log"
_CHARACTERS_OF_A_TOKEN = 4
_YOURS = " (yours)"
"""End of the name of a row that measures a preset with the options of its column."""


@dataclass(slots=True)
class Sweep:
    """One run: what it is about, how it is ended, whether others go first, how far it is."""

    about: About
    interrupt: Interrupt = field(default_factory=Interrupt)
    waits: bool = False
    step: Step | None = None


class Decider:
    """At most one sweep at a time, and what sweeps have found; safe from any thread.

    A sweep runs in child processes of low priority, and rests while a question is answered or
    documents are loaded.

    Attributes:
        sweep: the sweep that runs; None if there is none.
        length: how long the answers mostly are that the visitor looks for.
        error: why the last sweep ended without a verdict; "" where it did not.
        revision: another number whenever something was found, or forgotten.
    """

    def __init__(self, session: PageSession, changed: Callable[[], None] = lambda: None) -> None:
        self._session = session
        self._changed = changed
        self._lock = threading.RLock()
        self.sweep: Sweep | None = None
        self._about: About = ()
        self._previous: About = ()
        self._found: dict[About, EvaluationReport] = {}
        self.error = ""
        self.revision = 0
        self.length: AnswerLength = ANSWER_LENGTHS[0]

    @property
    def verdict(self) -> EvaluationReport | None:
        """Report on the present subject; until it is made, the previous one; None for neither."""
        return self._known(self._about) or self._known(self._previous)

    @property
    def is_previous(self) -> bool:
        """True if the verdict is the previous one: by other questions, or by passages."""
        return self._known(self._about) is None and self.verdict is not None

    @property
    def running(self) -> bool:
        """True while a sweep runs, waits for its turn or rests, until the page has its end."""
        with self._lock:
            return self.sweep is not None

    @property
    def has_new_questions(self) -> bool:
        """True if there are accepted questions that no decision used yet."""
        dataset = self._labelled
        if dataset is None or not dataset.accepted:
            return False
        return dataset.decisive().fingerprint not in self._about

    @property
    def plan(self) -> EvaluationPlan:
        """Plan of the measurement: in the visitor's context, and read as the columns are."""
        comparison = self._session.comparison
        return _plan_of(comparison) if comparison else EvaluationPlan(target=None)

    @property
    def baseline(self) -> str:
        """Name of the row that the others are compared with; "" for none."""
        return _row_name(self._session.columns.baseline)

    @property
    def price(self) -> str:
        """Costs to agree to before anything is tried; "" if nothing leaves this machine.

        Engines of the visitor's own may cost as much as they like.
        """
        comparison = self._session.comparison
        if comparison is None:
            return ""
        if comparison.found:
            return f"asks {all_of([*comparison.found])} about 180 questions"
        if comparison.models.embeds_offline:
            return ""
        characters = sum(len(document.text) for document in self._session.documents)
        tokens = characters * rows_of(len(SWEPT), EvaluationPlan(target=None))
        model = comparison.models.embedding_name
        return f"embeds about {rounded(tokens // _CHARACTERS_OF_A_TOKEN):,} tokens with {model}"

    def start(self, *, is_asked: bool = False, by_questions: bool = False) -> None:
        """Find out which setting to take, unless that is known or under way.

        Args:
            is_asked: the visitor asked for it, whatever it costs.
            by_questions: by the accepted questions, however few.
        """
        session, comparison = self._session, self._session.comparison
        if comparison is None:
            return
        questions, decided_by = self._labelled, str(self.length)
        if questions and questions.accepted >= (1 if by_questions else ENOUGH):
            questions = questions.decisive()
            decided_by = questions.fingerprint
        else:
            questions = None
        options, models = comparison.options, comparison.models
        parsers = {
            name: f"{name} {getattr(parser, 'fingerprint', '')}"
            for name, parser in self._own_parsers(comparison).items()
        }
        # Presets are tested with their own options if they are the baseline.
        baseline = "".join(key for name, key in parsers.items() if name in PRESETS)
        own = (*(key for name, key in parsers.items() if name not in PRESETS), *comparison.found)
        documents = self._documents
        ids = (document.id_ for document in documents)
        context = (options.mode, options.granularity, options.budget, options.top_k)
        about = (decided_by, models.embedding_name, *context, *own, *ids, baseline)
        with self._lock:
            if session.comparison is not comparison:
                return  # other documents took over, which then start this themselves
            if self.sweep is not None:
                if self.sweep.about == about:
                    return
                self.sweep.interrupt.set()
            previous = self._about if self._known(self._about) else self._previous
            self._previous = previous if previous[1:] == about[1:] else ()
            self.sweep, self._about, self.error = None, about, ""
            self.revision += 1
            self._changed()
            if self._known(about) or (self.price and not is_asked):
                return
            self.sweep = sweep = Sweep(about)
        asked = questions or partial(probes, documents, CHARACTERS[self.length])
        work = partial(self._run, sweep, comparison, asked)
        BackgroundThread(work, "sweep", end=sweep.interrupt.set).start()

    def stop(self) -> None:
        """End the sweep that runs, if any; what was found before stays."""
        with self._lock:
            if self.sweep is not None:
                self.sweep.interrupt.set()
                self.error = STOPPED
            self.sweep = None
        self._changed()

    def forget(self) -> None:
        """End what runs and forget what was found, as where other documents are loaded."""
        self.stop()
        with self._lock:
            self._found, self._about, self._previous, self.error = {}, (), (), ""
            self.revision += 1

    def _run(
        self,
        sweep: Sweep,
        comparison: Comparison,
        asked: Dataset | Callable[[], Dataset],
    ) -> None:
        verdict, error = None, ""
        timer = BackgroundThread(sweep.interrupt.set, "time limit of the sweep", delay=MOST_SECONDS)
        timer.start()
        try:
            with interruptible(sweep.interrupt):
                pause(QUIET)
                sweep.waits = True
                self._changed()
                with _AT_ONCE.take("the sweep"):
                    sweep.waits = False
                    self._changed()
                    self._rest()
                    dataset = asked() if callable(asked) else asked
                    verdict = _as_kept(self._measured(dataset, comparison, sweep))
        except CancelledError:
            error = STOPPED
        except RagNodesError as failure:
            error = str(failure)
        except Exception as failure:  # noqa: BLE001 - it is logged
            logger.error("a sweep failed\n%s", trace_of(failure))  # noqa: TRY400 - its text may hold a key
            error = _FAULT.format(type(failure).__name__)
        finally:
            timer.cancel()
        with self._lock:
            if self.sweep is sweep:  # neither stopped nor replaced meanwhile
                self.sweep, self.error = None, error
                if verdict is not None:
                    self._found[sweep.about] = verdict
                self.revision += 1
            self._changed()

    def _measured(self, dataset: Dataset, comparison: Comparison, sweep: Sweep) -> EvaluationReport:
        def told(step: Step) -> None:
            sweep.step = step
            self._changed()
            self._rest()

        plan = _plan_of(comparison)  # that the session answers with may be another by now
        columns: dict[str, object] = {
            _row_name(name): Searched(parser, plan.options, at_sizes=False)
            for name, parser in self._own_parsers(comparison).items()
        }
        columns |= {_row_name(name): engine for name, engine in comparison.found.items()}
        swept = _swept(dataset, len(columns), plan)
        # Keywords of passages tell too little to keep the splitter that the page begins with.
        yours = [*columns] if dataset.probed else [self.baseline, *columns]
        return recommend(
            dataset,
            {**{name: get_parser(name) for name in swept}, **columns},
            plan=plan,
            # No LLM: it would be paid for summaries, which are sentences of the chunks here.
            models=replace(comparison.models, llm=None),
            progress=told,
            in_use=sorted(yours, key=lambda name: name != self.baseline),
            executor=Pool(min(_MOST_WORKERS, usable_cores()), niceness=_SWEEP_NICENESS),
        )

    def _own_parsers(self, comparison: Comparison) -> dict[str, object]:
        """Parsers that are tested with their own options: the operator's, and the baseline."""
        baseline = self._session.columns.baseline
        return {
            name: parser
            for name, parser in comparison.parsers.items()
            if name != REFERENCE and (name not in PRESETS or name == baseline)
        }

    def _known(self, about: About) -> EvaluationReport | None:
        """Return what was found; without a preset as baseline, also what was found with one."""
        report = self._found.get(about)
        if report or not about or about[-1]:
            return report
        same = (kept for kept in [*self._found] if kept[:-1] == about[:-1])
        return self._found.get(next(same, ()))

    @property
    def _documents(self) -> list[Document]:
        """Documents that are tested on: all, but those that the operator's engines lack."""
        added = {document.id_ for document in self._session.added}
        return [document for document in self._session.documents if document.id_ not in added]

    @property
    def _labelled(self) -> Dataset | None:
        """Labelled questions whose answers are in the documents that are tested on."""
        dataset = self._session.questions.dataset
        return dataset.about(self._documents) if dataset and self._session.added else dataset

    def _rest(self) -> None:
        """Wait while the visitor waits for something else."""
        while self._session.working:
            pause(_RESTING)


def _row_name(column: str) -> str:
    """Name of the row of a column; a preset has rows of its own name at several sizes."""
    return f"{column}{_YOURS}" if column in PRESETS else column


def column_of(row: Row) -> str:
    """Return the name of the column that a row of a report measures."""
    return row.column.removesuffix(_YOURS).removesuffix(SELECTING)


def _as_kept(report: EvaluationReport) -> EvaluationReport:
    """The report with the outcome of every question only in the rows of the matrix."""
    shown = {row.name for row in matrix(report).rows}
    rows = tuple(row if row.name in shown else replace(row, outcomes=()) for row in report.rows)
    return replace(report, rows=rows)


def _plan_of(comparison: Comparison) -> EvaluationPlan:
    """Measure in the context of the answers, read as they are: sentences, or whole chunks."""
    options = comparison.options
    if options.top_k:
        ks = tuple(sorted({*KS, options.top_k}))
        plan = EvaluationPlan(target=None, ks=ks, measure=f"recall@k{options.top_k}")
    else:
        plan = EvaluationPlan(target=None, budgets=(options.budget or EvaluationPlan().budget,))
    asked = replace(options, top_k=None, budget=plan.budget, filter=None)
    return replace(plan, options=asked)


def _swept(dataset: Dataset, own: int, plan: EvaluationPlan) -> tuple[str, ...]:
    """The presets that are tried at several sizes: fewer where the documents are large.

    Raises:
        DatasetTooLargeError: it is too much for a single one.
    """
    for count in range(len(SWEPT), 1, -1):
        with suppress(DatasetTooLargeError):
            check_amount(dataset, count + own, plan)
            return SWEPT[:count]
    check_amount(dataset, 1 + own, plan)
    return SWEPT[:1]
