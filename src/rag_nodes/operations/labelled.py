"""Labelled questions: drafts and checks."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field

from rag_nodes.core.errors import ConfigurationError, DatasetError
from rag_nodes.core.files import check_writable, write_text
from rag_nodes.core.spelling import counted
from rag_nodes.operations import ExitCode
from rag_nodes.operations.asked import Documents, dataset_of
from rag_nodes.operations.base import Flag, Request, Result
from rag_nodes.operations.fields import Writing
from rag_nodes.operations.run import Doing, Run

if TYPE_CHECKING:
    from rag_nodes.evaluation.checks import Check
    from rag_nodes.evaluation.dataset import Dataset

_ANSWER_TOKENS = 600
"""Tokens of an answer with a quote and a question."""
_WITH_LLM = ": --llm openai"
"""Option that has an LLM draft, behind the advice to use it."""


class CheckRequest(Request):
    """Find faults of questions before you measure with them.

    Lists answers that are not in the documents, questions asked twice, questions that repeat the
    words of their answers, and answers too long for any chunk. Ends with 4 if an answer is not in
    the documents or a question is asked twice.
    """

    file: Annotated[Path, Flag(argument=True, metavar="QUESTIONS", stdin="data")]
    """Labelled questions, see `evaluate`."""
    paths: Documents = Field(default_factory=list)
    """Documents that the questions are about; none if the question file contains them."""


class DraftRequest(Writing):
    """Draft questions about documents that have none, each with the exact place of its answer.

    Without --llm only headings that are questions become drafts, and no model is asked, whatever
    the settings say. If no heading is a question, write questions yourself, in a file or on the
    page, or name an LLM.

    With --llm a model writes them; each is kept only where its quote stands in the text, and where
    the model finds the answer there and in none of the passages closest to it. That takes two
    requests for each question.

    In OUTPUT each has "draft": true, and drafts choose no parser and pass no gate. Accept a
    question by setting its "draft" to false in the file, or on the page; delete what nobody would
    ask, and add what is missing.
    """

    configures: ClassVar[tuple[str, ...]] = ("llm",)

    paths: Annotated[list[Path], Flag(argument=True, metavar="DOCS", stdin="text")]
    """Files and folders to ask about."""
    llm: str | None = None
    """An LLM that writes them: openai, or a class of LlamaIndex as module:Class."""
    output: Annotated[Path, Flag(short="-o", metavar="FILE")]
    """File for the drafts, as JSON."""
    count: Annotated[int, Field(ge=1)] = 40
    """Questions at most; short documents give fewer."""
    answers: Literal["sentence", "paragraph", "page"] = "sentence"
    """Typical length of the answers that people look for."""
    seed: Annotated[int, Field(ge=0)] = 0
    """Random seed; another number drafts other questions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked(Result):
    """Findings about questions."""

    check: Check
    dataset: Dataset

    def as_dict(self) -> dict[str, Any]:
        """Plain data for programs."""
        notes = list(self.dataset.notes)
        return {**asdict(self.check), "notes": notes, "sound": self.check.is_sound}


def check(request: CheckRequest, run: Run) -> Checked:
    """Look at each question."""
    from rag_nodes.evaluation.checks import check_dataset

    dataset = dataset_of(run, request.file, request.paths)
    check = check_dataset(dataset)
    whole = ExitCode.PARTIAL if run.unread else ExitCode.DONE
    return Checked(outcome=whole if check.is_sound else ExitCode.GATE, check=check, dataset=dataset)


def draft(request: DraftRequest, run: Run) -> Checked:
    """Take headings that are questions, or have a model write."""
    from rag_nodes.evaluation.checks import check_dataset
    from rag_nodes.evaluation.drafts import draft_questions, fewer

    check_writable(request.output, ".json")
    run.emit(Doing("Reading documents and drafting questions"))
    documents = run.read(request.paths)
    if request.llm in {None, "extractive"}:
        try:
            dataset = draft_questions(documents, count=request.count, seed=request.seed)
        except DatasetError as error:
            raise DatasetError(f"{error}{_WITH_LLM}") from error
        if why := fewer(dataset, request.count):
            run.warn(f"{why}{_WITH_LLM}")
    else:
        dataset = _written_by_llm(request, run, documents)
    _write(dataset, request.output)
    run.note(f"Wrote {counted(len(dataset.questions), 'draft')} to {request.output}")
    return Checked(
        outcome=ExitCode.PARTIAL if run.unread else ExitCode.DONE,
        check=check_dataset(dataset),
        dataset=dataset,
    )


def _written_by_llm(request: DraftRequest, run: Run, documents: Sequence[Any]) -> Dataset:
    """Drafts of the model, whose answers are kept until they are written."""
    from rag_nodes.evaluation.drafts import write_questions
    from rag_nodes.models.kept import KeptAnswers

    kept = request.output.with_name(f"{request.output.name}.answers.sqlite")
    if not request.resume:
        kept.unlink(missing_ok=True)
    run.emit(Doing("Asking the model for questions"))
    llm = run.writing(_ANSWER_TOKENS, request.requests_per_minute).llm
    if llm is None:
        raise ConfigurationError("no LLM is configured; name one with --llm")
    dataset = write_questions(
        documents,
        llm,
        count=request.count,
        answers=request.answers,
        seed=request.seed,
        concurrency=request.concurrency,
        kept=KeptAnswers(kept),
    )
    kept.unlink()
    for reason, times in Counter(question.reason for question in dataset.not_located).most_common():
        run.note(f"refused {times}: {reason}")
    return dataset


def _write(dataset: Dataset, output: Path) -> None:
    from rag_nodes.evaluation.importers import plain_of

    write_text(output, json.dumps(plain_of(dataset), ensure_ascii=False, indent=1))
