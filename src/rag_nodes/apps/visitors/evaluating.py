"""One visitor's evaluation: bounded, in a thread of its own, and ended when nobody waits for it."""

from __future__ import annotations

import threading
import zlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rag_nodes.apps.visitors.jobs import Job
from rag_nodes.errors import CancelledError, ConfigurationError
from rag_nodes.evaluation.page import html_of
from rag_nodes.evaluation.run import evaluate
from rag_nodes.parsers.isolation import cutting
from rag_nodes.workspace.limits import check_amount, check_plan
from rag_nodes.workspace.workspace import CUT_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rag_nodes.evaluation.dataset import Dataset
    from rag_nodes.evaluation.plan import EvaluationPlan, Step
    from rag_nodes.evaluation.report import EvaluationReport
    from rag_nodes.models import Models


@dataclass(frozen=True, slots=True)
class Verdict:
    """What an evaluation found, in a size that a session can keep.

    Attributes:
        report: without the questions of the rows that only make up the size curve.
        packed: the whole of it as JSON, compressed.
    """

    report: EvaluationReport
    packed: bytes

    @classmethod
    def of(cls, report: EvaluationReport) -> Verdict:
        """The report, made small."""
        rows = tuple(
            row if row.role in ("own", "matched") else replace(row, outcomes=())
            for row in report.rows
        )
        return cls(replace(report, rows=rows), zlib.compress(report.to_json().encode()))

    @property
    def json(self) -> bytes:
        """The run as a file that says how to repeat it."""
        return zlib.decompress(self.packed)

    @property
    def html(self) -> bytes:
        """The run as one page that asks nothing of any server."""
        return html_of(self.report).encode()


class Evaluator:
    """At most one evaluation at a time, and the verdict of the last; safe from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._job: Job[Step, Verdict] | None = None
        self._verdict: Verdict | None = None

    @property
    def verdict(self) -> Verdict | None:
        """What the last run found; None while there is none."""
        return self._verdict

    @property
    def running(self) -> bool:
        """True while one runs."""
        return self._job is not None

    def run(
        self,
        dataset: Dataset,
        columns: Mapping[str, object],
        models: Models,
        plan: EvaluationPlan,
        progress: Callable[[Step], None],
    ) -> Verdict:
        """Evaluate, and keep what came of it.

        Args:
            dataset: questions about the loaded documents.
            columns: what is compared, by the name it gets in the report.
            models: embed texts and questions.
            plan: what is measured.
            progress: hears of every step, until it is stopped.

        Raises:
            ConfigurationError: one runs already, or the plan is out of range.
            CancelledError: see `stop`.
            DatasetError: there are no questions, or it is too much for one visitor.
            RagNodesError: what `evaluate` raises.
        """
        check_plan(plan)
        check_amount(dataset, len(columns), plan)
        job: Job[Step, Verdict] = Job(progress, "press the button again to start anew")
        with self._lock:
            if self._job is not None:
                raise ConfigurationError("an evaluation runs already; wait for it, or stop it")
            self._job = job
        # A copy: that of the comparison goes on answering when this job has been stopped.
        embedding = models.embedding.model_copy()
        job.watch(embedding)

        def work() -> Verdict:
            found = evaluate(
                dataset,
                columns,
                plan=plan,
                # No LLM: it would be paid for summaries, which are sentences of the chunks here.
                models=replace(models, embedding=embedding, llm=None),
                progress=job.step,
                parse=cutting.within(CUT_SECONDS),
            )
            return Verdict.of(found)

        try:
            verdict = job.run(work, lambda _: None)
            with self._lock:
                if self._job is not job:
                    raise CancelledError("Cancelled: other documents were loaded meanwhile")
                self._verdict = verdict
            return verdict
        finally:
            with self._lock:
                self._job = None if self._job is job else self._job

    def stop(self) -> None:
        """End the evaluation that runs, if any; the verdict before it stays."""
        with self._lock:
            job, self._job = self._job, None
        if job is not None:
            job.cancel()

    def forget(self) -> None:
        """End what runs and forget what was found, as where other documents are loaded."""
        self.stop()
        with self._lock:
            self._verdict = None
