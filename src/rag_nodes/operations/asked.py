"""The labelled questions that something is measured with."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from rag_nodes.core.errors import ConfigurationError
from rag_nodes.core.spelling import counted
from rag_nodes.operations.base import Flag, Request
from rag_nodes.operations.places import check_there
from rag_nodes.operations.run import Doing, Run

if TYPE_CHECKING:
    from rag_nodes.evaluation.dataset import Dataset

_SHOWN = 12
"""Words that are shown of the beginning and of the end of an example."""
_NAMED = 5
"""Questions without a place that are named."""

Documents = Annotated[list[Path], Flag(argument=True, metavar="DOCS", stdin="text")]


class LabelledQuestions(Request):
    """Documents, and the questions about them."""

    paths: Documents = Field(default_factory=list)
    """Documents that the questions are about; none if the question file contains them."""
    file: Annotated[Path | None, Flag("--questions", metavar="FILE", stdin="data")] = None
    """Labelled questions: a sheet, JSON, or a test set such as RAGAS or BEIR."""
    answers: Literal["sentence", "paragraph", "page"] | None = None
    """Typical length of answers, to rank columns roughly without --questions."""


def asked_of(request: LabelledQuestions, run: Run, seed: int = 0) -> Dataset:
    """The questions that are asked: those given, else keywords of passages, which is said.

    Raises:
        ConfigurationError: there are neither questions nor documents, or nobody said how long the
            passages are to be; an example of each length is named.
        DatasetError: the questions cannot be used, or no document could be read.
    """
    if request.file:
        if request.answers:
            raise ConfigurationError("--answers and --questions exclude each other; leave one out")
        return dataset_of(run, request.file, request.paths)
    if not request.paths:
        raise ConfigurationError("no documents: name some, or --questions that contain their own")
    from rag_nodes.evaluation.drafts.probes import CHARACTERS, examples, probes

    run.emit(Doing("Reading documents"))
    documents = run.read(request.paths)
    if request.answers is None:
        texts = {document.id_: document.text for document in documents}
        shown = [
            f"  --answers {length}, {_begun_and_ended(example.span.of(texts[example.document]))}"
            for length, example in examples(documents).items()
        ]
        raise ConfigurationError(
            "without --questions, say how long the answers are that people look for:\n"
            + "\n".join(shown or [f"  --answers {length}" for length in CHARACTERS])
            + "\nor label some questions, see `rag-nodes questions`"
        )
    dataset = probes(documents, CHARACTERS[request.answers], seed=seed)
    run.warn(
        f"No --questions were given, so keywords of {len(dataset.questions)} passages are asked, "
        f"each as long as a {request.answers}."
    )
    return dataset


def _begun_and_ended(text: str) -> str:
    """Return in words how long a text is, and how it begins and ends."""
    from rag_nodes.evaluation.wording import rounded

    words = text.split()
    ends = [*words[:_SHOWN], "…", *words[-_SHOWN:]] if len(words) > 2 * _SHOWN else words
    return f"about {rounded(len(words)):,} words: {' '.join(ends)}"


def dataset_of(run: Run, questions: Path, paths: Sequence[Path]) -> Dataset:
    """Questions over documents; files that cannot be read and answers without a place are said.

    Raises:
        DatasetError: the questions cannot be used, or no document could be read.
    """
    from rag_nodes.evaluation.importers import load_dataset

    check_there([questions])
    check_there(paths)
    run.emit(Doing("Reading documents and questions"))
    dataset = load_dataset(questions, run.read(paths))
    for note in dataset.notes:
        run.warn(note)
    for reason, count in dataset.left_out.items():
        run.warn(f"{counted(count, 'question')} left out: {reason}")
    if lost := dataset.not_located:
        names = "; ".join(question.called for question in lost[:_NAMED])
        more = "; …" if len(lost) > _NAMED else ""
        why = "Why" if len(lost) == 1 else "Why the first"
        run.warn(
            f"{counted(len(lost), 'question')} left out ({names}{more}). {why}: {lost[0].reason} "
            "(all: rag-nodes questions check)"
        )
    return dataset
