"""Tools that find out which way of cutting a text finds the answers, in few words for a model."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Literal

import anyio
import anyio.from_thread
from pydantic import BaseModel, Field

from rag_nodes.evaluation.checks import check_dataset
from rag_nodes.evaluation.diagnosis import REMEDIES
from rag_nodes.server.clients import Client
from rag_nodes.server.mcp.calls import CallContext, Calls
from rag_nodes.server.rest.evaluate import (
    CheckReply,
    EvaluateBody,
    LabelledQuestion,
    labels_of,
    public_report,
)
from rag_nodes.server.rest.evaluate.progress import Milestones
from rag_nodes.server.rest.models import MOST_TEXT, VectorName
from rag_nodes.server.rest.parser_options import ParserName, ParserOptions
from rag_nodes.workspace.bounds import MOST_NUMBERS
from rag_nodes.workspace.options import MOST_COLUMNS

if TYPE_CHECKING:
    from collections.abc import Callable

    from rag_nodes.evaluation.plan import Step
    from rag_nodes.evaluation.report import EvaluationReport, Row

_Text = Annotated[str, Field(max_length=MOST_TEXT, description="Text or Markdown that is asked.")]
_Questions = Annotated[
    list[LabelledQuestion],
    Field(min_length=1, max_length=200, description="Questions, each with the words that answer."),
]
_PARSERS = ["fixed", "heading"]
_SIZES = [200]
_BUDGETS = [500]
_VECTORS: list[VectorName] = ["heading"]


class Found(BaseModel):
    """One parser with one configuration."""

    name: str = Field(description="Of the parser, and at which size.")
    mean_tokens: float | None = Field(description="Of its chunks; null where it failed.")
    recall: dict[str, float] = Field(description="Points of 100 of the answers read, by budget.")
    low: float | None = Field(description="Where the main measure may begin, in these texts.")
    high: float | None = Field(description="Where it may end.")
    error: str | None = Field(default=None, description="Why it failed.")


class Missed(BaseModel):
    """One reason why answers were missed."""

    reason: str = Field(description="In few words.")
    remedy: str = Field(description="What it means and what helps; empty for drafts.")
    questions: dict[str, int] = Field(description="How many, by parser at its own options.")


class EvaluationSummary(BaseModel):
    """Which parser finds the answers, by how much, and whether it is the size or the strategy."""

    verdict: list[str] = Field(description="The answer, the most important first.")
    sizes: list[str] = Field(description="How much of each gap is one of size.")
    measure: str = Field(description="The main measure.")
    rows: list[Found] = Field(description="The numbers behind it.")
    missed: list[Missed] = Field(description="Why answers were missed.")
    left_out: dict[str, str] = Field(description="Questions without a place, and why.")

    @classmethod
    def of(cls, report: EvaluationReport) -> EvaluationSummary:
        """The short form of a report."""
        own = [row for row in report.of_role("own") if row.reasons]
        return cls(
            verdict=list(report.said),
            sizes=[one.words for one in report.sizes],
            measure=report.measure,
            rows=[_found(report, row) for row in report.rows],
            missed=[
                Missed(
                    reason=reason,
                    # Drafts show what is lost, and are no ground to change anything.
                    remedy="" if report.by_drafts else remedy,
                    questions={r.name: r.reasons[reason] for r in own if reason in r.reasons},
                )
                for reason, remedy in REMEDIES.items()
                if any(reason in row.reasons for row in own)
            ],
            left_out={one["id"]: one["reason"] for one in report.dataset["unplaced"]},
        )


class EvaluationTools(Calls):
    """The tools as methods; their docstrings are what agents read."""

    async def evaluate(  # noqa: PLR0913, PLR0917 -- what agents may name, by name
        self,
        context: CallContext,
        text: _Text,
        questions: _Questions,
        parsers: Annotated[
            list[ParserName],
            Field(min_length=1, max_length=MOST_COLUMNS, description="Which to compare."),
        ] = _PARSERS,
        options: Annotated[
            dict[ParserName, ParserOptions] | None,
            Field(description="By parser; options that differ from its preset."),
        ] = None,
        budgets: Annotated[
            list[int],
            Field(min_length=1, max_length=MOST_NUMBERS, description="Tokens of context to fill."),
        ] = _BUDGETS,
        sizes: Annotated[
            list[int],
            Field(max_length=MOST_NUMBERS, description="Sizes at which each parser is tried."),
        ] = _SIZES,
        equal_size: Annotated[
            int | None, Field(description="Mean tokens of a chunk to compare at; null for none.")
        ] = 200,
        chosen_from: Annotated[
            Literal["columns", "sizes"],
            Field(
                description="Decide between the parsers as they are, or between each at each size, "
                "LlamaIndex's splitter as it comes and what is done by default."
            ),
        ] = "columns",
        granularity: Annotated[
            Literal["chunks", "sentences", "both"],
            Field(description="Read whole chunks, the sentences that answer, or each in turn."),
        ] = "chunks",
        vectors: Annotated[
            list[VectorName],
            Field(
                min_length=1,
                description="Embeddings of the chunks that are compared, each in columns of its "
                "own: with their headings, of their text alone, or with a summary.",
            ),
        ] = _VECTORS,
    ) -> EvaluationSummary:
        """Find out which parser's chunks hold the answers to questions about a text.

        Send each question with the exact words that answer it. Differences are named only where
        they are more than luck makes; ask 50 questions or more to see small ones.
        """
        tell = _telling(context)

        def work() -> EvaluationSummary:
            body = EvaluateBody(
                parsers=parsers,
                options=options or {},
                budgets=budgets,
                sizes=sizes,
                equal_size=equal_size,
                chosen_from=chosen_from,
                granularity=granularity,
                vectors=vectors,
            )
            asked = body.work(self._settings.answering())
            with Client(self._settings, offer=self._offer) as client:
                client.add_text(text)
                report = client.evaluation(asked, labels_of(questions), tell)
            return EvaluationSummary.of(public_report(report))

        return await self._run(context, work)

    async def check_questions(
        self, context: CallContext, text: _Text, questions: _Questions
    ) -> CheckReply:
        """Look for what is wrong with labelled questions before anything is measured with them.

        Answers that are not in the text, questions asked twice, or in the words of their answers.
        """

        def work() -> CheckReply:
            with Client(self._settings, offer=self._offer) as client:
                client.add_text(text)
                return CheckReply.of(check_dataset(client.dataset(labels_of(questions))))

        return await self._run(context, work)


def _telling(context: CallContext) -> Callable[[Step], None]:
    """What tells an agent, from any thread, how far its evaluation is."""

    def tell(step: Step) -> None:
        # An agent that has left ends the run in another way.
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            anyio.from_thread.run(
                context.report_progress, step.done, step.total, f"{step.stage}: {step.name}"
            )

    return Milestones(tell)


def _found(report: EvaluationReport, row: Row) -> Found:
    budgets = [f"recall@{budget}" for budget in report.settings["budgets"]]
    interval = row.interval
    return Found(
        name=row.name,
        mean_tokens=None if row.error else round(row.chunks["mean"], 1),
        recall={} if row.error else {name: _points(row.means[name]) for name in budgets},
        low=_points(interval.low) if interval else None,
        high=_points(interval.high) if interval else None,
        error=row.error,
    )


def _points(share: float) -> float:
    return round(100 * share, 1)
