"""The labelled questions that something is measured with."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from rag_nodes.errors import ConfigurationError
from rag_nodes.operations.base import NOT_BLANK, OWNER, Flag, Only
from rag_nodes.operations.fields import MOST_QUESTION, OfText
from rag_nodes.operations.places import check_there
from rag_nodes.operations.run import Doing, Run
from rag_nodes.workspace.limits import MOST_PASSAGES, MOST_QUESTIONS, check_labels

if TYPE_CHECKING:
    from rag_nodes.evaluation.dataset import Dataset

_SHOWN = 12
"""Words that are shown of the beginning and of the end of an example."""
_NAMED = 5
"""Questions without a place that are named."""

Name = Annotated[str, Field(max_length=200, pattern=NOT_BLANK)]
Place = Annotated[int, Field(ge=0, le=2**31)]


class LabelledPassage(BaseModel):
    """Words of a document that answer a question; with offsets as well, a changed text is seen."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        use_attribute_docstrings=True,
        json_schema_extra={"anyOf": [{"required": ["text"]}, {"required": ["start", "end"]}]},
    )

    text: Annotated[str, Field(max_length=5_000, pattern=NOT_BLANK)] | None = None
    """The words as they stand there; null with offsets alone."""
    start: Place | None = None
    """First character."""
    end: Place | None = None
    """Behind the last character."""
    document: Name | None = None
    """Name or id of its document; null where the words tell it."""

    @model_validator(mode="after")
    def _says_where(self) -> Self:
        if self.text is None and (self.start is None or self.end is None):
            raise ValueError("give text, or start and end")
        return self


AnswerPassages = Annotated[list[LabelledPassage], Field(min_length=1, max_length=MOST_PASSAGES)]


class LabelledQuestion(BaseModel):
    """A question whose answer is known: our own JSON format, as in files."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    id: Name | None = None
    """Null for its number in the list."""
    question: Annotated[str, Field(max_length=MOST_QUESTION, pattern=NOT_BLANK)]
    """In the words of somebody who has not read the answer."""
    document: Name | None = None
    """Document of its passages."""
    gold: AnswerPassages
    """The passages that answer it together."""
    alternatives: Annotated[list[AnswerPassages], Field(max_length=MOST_PASSAGES)] = []
    """Other answers, each of which is enough."""
    kind: Annotated[str, Field(max_length=100)] = ""
    """What sort of question it is, for the breakdown."""
    within: Annotated[list[Name], Field(min_length=1, max_length=100)] | None = None
    """The documents that are searched; null for all."""
    draft: bool = False
    """Made by a program, accepted by nobody yet: chooses nothing."""


Questions = Annotated[
    Annotated[list[LabelledQuestion], Field(min_length=1, max_length=MOST_QUESTIONS)] | None,
    Only(("rest", "mcp")),
]
Documents = Annotated[list[Path], OWNER, Flag(argument=True, metavar="DOCS", stdin="text")]


class LabelledQuestions(OfText):
    """Documents, and the questions about them."""

    paths: Documents = Field(default_factory=list)
    """Files and folders the questions are about; none where the questions bring their own texts."""
    file: Annotated[Path | None, OWNER, Flag("--questions", metavar="FILE", stdin="data")] = None
    """Labelled questions: a sheet, JSON, or a test set such as RAGAS or BEIR."""
    questions: Questions = None
    """Labelled questions; null for those of the file that was sent before."""
    answers: Annotated[Literal["sentence", "paragraph", "page"] | None, OWNER] = None
    """Without --questions: how long answers mostly are, for a ranking that is only likely."""


def sent_dataset(questions: Sequence[LabelledQuestion] | None, run: Run) -> Dataset:
    """The questions of a stranger, or else of the file that was sent before, with their places.

    Raises:
        ConfigurationError: there are no documents or no questions.
        DatasetError: two questions have one id, or they are too much.
    """
    from rag_nodes.evaluation.importers import place
    from rag_nodes.evaluation.importers.formats import read_rows

    labels = run.session.labels
    if questions is not None:
        labels = read_rows([one.model_dump(exclude_none=True) for one in questions])
    if labels is None:
        raise ConfigurationError(
            "no questions; send some, or POST a file of them to /api/questions first"
        )
    if not run.documents:
        raise ConfigurationError("no document yet; upload one first, or send a text")
    check_labels(labels, run.documents, "questions")
    return place(labels, run.documents, "questions")


def asked_of(request: LabelledQuestions, run: Run, seed: int = 0) -> Dataset:
    """The questions that are asked: those given, else keywords of passages, which is said.

    Raises:
        ConfigurationError: there are neither questions nor documents, or nobody said how long the
            passages are to be; an example of each length is named.
        DatasetError: the questions cannot be used, or no document could be read.
    """
    if not run.is_trusted:
        return sent_dataset(request.questions, run)
    if request.file:
        if request.answers:
            raise ConfigurationError("--answers is for no --questions; leave out one of them")
        return dataset_of(run, request.file, request.paths)
    if not request.paths:
        raise ConfigurationError(
            "nothing to evaluate on: name documents, or --questions that bring their own"
        )
    from rag_nodes.evaluation.drafts.probes import CHARACTERS, examples, probes

    run.emit(Doing("Reading documents"))
    documents = run.read(request.paths)
    if request.answers is None:
        texts = {document.id_: document.text for document in documents}
        shown = [
            f"  --answers {length}, {_begun_and_ended(one.span.of(texts[one.document]))}"
            for length, one in examples(documents).items()
        ]
        raise ConfigurationError(
            "no --questions, so say how long what people look for here mostly is:\n"
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
    """How long a text is, and how it begins and ends."""
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
    for reason, count in dataset.left_out.items():
        run.warn(f"{counted(count)} left out: {reason}")
    if lost := dataset.unplaced:
        run.warn(
            f"{counted(len(lost))} left out, as their answers have no place: "
            + ", ".join(one.id for one in lost[:_NAMED])
            + (", …" if len(lost) > _NAMED else "")
            + f"; the first one: {lost[0].reason} (all: rag-nodes questions check)"
        )
    return dataset


def counted(number: int) -> str:
    """`1 question`, `2 questions`."""
    return f"{number:,} question{'' if number == 1 else 's'}"
