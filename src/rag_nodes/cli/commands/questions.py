"""`rag-nodes questions`: labelled questions drafted, checked, and brought into our own format."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from rag_nodes.cli.commands.writing import Writing, written
from rag_nodes.cli.failures import ExitCode
from rag_nodes.cli.files import check_there, check_writable, write_text
from rag_nodes.cli.invocation import Invocation, takes
from rag_nodes.cli.views.questions import check_data, check_view, drafts_view
from rag_nodes.cli.views.text import counted, one_line, plain
from rag_nodes.errors import ConfigurationError, DatasetError

if TYPE_CHECKING:
    from llama_index.core.schema import Document

    from rag_nodes.evaluation.dataset import Dataset
    from rag_nodes.evaluation.drafts.probes import AnswerLength
    from rag_nodes.workspace.workspace import Workspace

_SHOWN = 12
"""Words that are shown of the beginning and of the end of an example."""
_WRITTEN = "With --llm"

Documents = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="DOCS",
        help="Files and folders the questions are about; none where the questions bring them.",
    ),
]
Questions = Annotated[
    Path, typer.Argument(metavar="QUESTIONS", help="Labelled questions, see `evaluate`.")
]


@takes()
def check(cli: Invocation, questions: Questions, paths: Documents = None) -> None:
    """Look for what is wrong with questions before anything is measured with them.

    Answers that cannot be placed, questions asked twice, questions in the words of their answers,
    answers no chunk can hold. Exits with 4 where answers have no place or questions are doubled.
    """
    from rag_nodes.evaluation.checks import check_dataset

    with cli.workspace(cli.settings()) as workspace:
        found = check_dataset(dataset_of(cli, workspace, questions, paths or []))
    if cli.as_json:
        cli.emit(check_data(found))
    else:
        cli.show(*check_view(found))
    raise typer.Exit(_code(cli) if found.is_sound else ExitCode.GATE)


@takes()
def convert(
    cli: Invocation,
    questions: Questions,
    paths: Documents = None,
    *,
    output: Annotated[Path, typer.Option("--output", "-o", help="File for our own JSON.")],
) -> None:
    """Write questions of any format as our own JSON, every answer with text and offsets.

    After a document was changed this is how its questions find their places again.
    """
    check_writable(output)
    with cli.workspace(cli.settings()) as workspace:
        dataset = dataset_of(cli, workspace, questions, paths or [])
    _write(dataset, output)
    for one in dataset.unplaced:
        cli.complain(f"left out {one.id}: {one_line(one.reason)}")
    cli.note(f"Wrote {counted(len(dataset.questions), 'question')} to {output}")
    raise typer.Exit(ExitCode.PARTIAL if dataset.unplaced else _code(cli))


@takes()
def review(
    cli: Invocation,
    questions: Annotated[
        Path,
        typer.Argument(metavar="QUESTIONS", help="Drafts, or a file that is not there yet."),
    ],
    paths: Annotated[
        list[Path], typer.Argument(metavar="DOCS", help="Files and folders they are about.")
    ],
    *,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="File for our own JSON; QUESTIONS unless named."),
    ] = None,
) -> None:
    """Accept, reject and reword questions one at a time, each beside what answers it.

    A key and Enter: how long the answer is, another question of the same passage, the next part of
    the documents that nothing is asked about. What was decided is written at once; after 10, 20 and
    50 accepted questions it is said what these can decide.
    """
    from rag_nodes.cli.reviewing import Review
    from rag_nodes.evaluation.checks import check_dataset
    from rag_nodes.evaluation.dataset import Dataset

    kept = output or questions
    check_writable(kept)
    with cli.workspace(cli.settings()) as workspace:
        if questions.exists():
            dataset = dataset_of(cli, workspace, questions, paths)
        else:
            dataset = Dataset(kept.stem, tuple(_some_documents(cli, workspace, paths)), ())
    if kept == questions and (kept.suffix.lower() != ".json" or dataset.unplaced):
        raise ConfigurationError(
            f"{kept} would lose what our own JSON does not hold, or answers without a place; name "
            "another file with --output"
        )
    found = Review(dataset)
    found.run(
        lambda wanted: cli.errors.input(plain(wanted)),
        lambda lines: cli.errors.print(plain(lines), soft_wrap=True),
        lambda now: _write(now, kept),
    )
    checked = check_dataset(found.dataset)
    if cli.as_json:
        cli.emit(check_data(checked))
    accepted = checked.questions - checked.drafts
    cli.note(f"{counted(accepted, 'question')} accepted, {checked.drafts} drafts left in {kept}")
    raise typer.Exit(_code(cli))


@takes("llm", "llm_model", "llm_options", "api_base", "retry_seconds")
def draft(  # noqa: PLR0913 -- one parameter per option of the command
    cli: Invocation,
    paths: Annotated[
        list[Path], typer.Argument(metavar="DOCS", help="Files and folders to ask about.")
    ],
    *,
    output: Annotated[Path, typer.Option("--output", "-o", help="File for the drafts, as JSON.")],
    count: Annotated[
        int, typer.Option(min=1, help="Questions at most; short documents give fewer.")
    ] = 40,
    kinds: Annotated[
        str,
        typer.Option(
            metavar="KIND[,KIND...]",
            help="Of which places: asked (headings that are questions), howto (headings that say "
            "what is done), definition, number (of days), table (rows that explain a name), "
            "phrase (headings as one would search for them).",
        ),
    ] = "asked,howto,definition,number,table",
    seed: Annotated[int, typer.Option(min=0, help="Other places for another number.")] = 0,
    answers: Annotated[
        Literal["sentence", "paragraph", "page"],
        typer.Option(
            help="How long the answers are that people look for.", rich_help_panel=_WRITTEN
        ),
    ] = "sentence",
    concurrency: Annotated[
        int, typer.Option(min=1, help="Passages at the same time.", rich_help_panel=_WRITTEN)
    ] = 4,
    requests_per_minute: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Requests in any minute at most, repeated ones included.",
            rich_help_panel=_WRITTEN,
        ),
    ] = None,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume",
            help="Use the answers an interrupted run left beside OUTPUT.",
            rich_help_panel=_WRITTEN,
        ),
    ] = False,
) -> None:
    """Draft questions about documents that have none, each with the exact place of its answer.

    Instructions and references give 30 to 150, reports 1 to 10, speech none; kinds take turns. In
    OUTPUT each has "draft": true, and drafts choose no parser and pass no gate. Accept a question
    by setting its "draft" to false, or in the tab Questions of the app; throw out what nobody would
    ask, and write what is missed.

    With --llm a model writes them; each is kept only where its quote stands in the text, and where
    the model finds the answer there and in none of the passages closest to it. That takes two
    requests for each question. Without --llm nothing is asked of any model, whatever the settings
    say.
    """
    from rag_nodes.evaluation.checks import check_dataset
    from rag_nodes.evaluation.drafts import fewer

    check_writable(output)
    settings = cli.settings()
    with cli.workspace(settings) as workspace:
        if cli.flags.get("llm") in (None, "extractive"):
            dataset = drafts_of(cli, workspace, paths, count=count, kinds=kinds, seed=seed)
        else:
            writing = Writing(
                output, count, answers, seed, concurrency, requests_per_minute, resume=resume
            )
            dataset = written(cli, settings, _some_documents(cli, workspace, paths), writing)
    _write(dataset, output)
    found = check_dataset(dataset)
    if why := fewer(dataset, count):
        cli.note(why)
    if cli.as_json:
        cli.emit(check_data(found))
    else:
        cli.show(*drafts_view(dataset, found))
    cli.note(f"Wrote {counted(len(dataset.questions), 'draft')} to {output}")
    raise typer.Exit(_code(cli))


def _code(cli: Invocation) -> ExitCode:
    return ExitCode.PARTIAL if cli.unread else ExitCode.DONE


def drafts_of(
    cli: Invocation,
    workspace: "Workspace",
    paths: Sequence[Path],
    *,
    count: int,
    kinds: str = "",
    seed: int = 0,
) -> "Dataset":
    """Drafts about documents; files that cannot be read are said.

    Raises:
        ConfigurationError: a kind is unknown.
        DatasetError: no document could be read, or nothing in them can be asked about.
    """
    from rag_nodes.evaluation.drafts import QUESTIONS, draft_questions

    named = [kind.strip() for kind in kinds.split(",") if kind.strip()]
    with cli.activity("Reading documents and drafting questions"):
        documents = _some_documents(cli, workspace, paths)
        return draft_questions(documents, count=count, kinds=named or QUESTIONS, seed=seed)  # type: ignore[arg-type] # kinds are checked there


def asked_of(
    cli: Invocation,
    workspace: "Workspace",
    questions: Path | None,
    paths: list[Path],
    answers: "AnswerLength | None",
    seed: int = 0,
) -> "Dataset":
    """The questions that are asked: those given, else keywords of passages, which is said.

    Args:
        cli: where it is said.
        workspace: reads the documents.
        questions: a file of questions; None for keywords.
        paths: of the documents.
        answers: how long the passages are.
        seed: of the passages.

    Raises:
        ConfigurationError: there are neither questions nor documents, or nobody said how long the
            passages are to be; an example of each length is named.
        DatasetError: the questions cannot be used, or no document could be read.
    """
    if questions:
        if answers:
            raise ConfigurationError("--answers is for no --questions; leave out one of them")
        return dataset_of(cli, workspace, questions, paths)
    if not paths:
        raise ConfigurationError(
            "nothing to evaluate on: name documents, or --questions that bring their own"
        )
    from rag_nodes.evaluation.drafts.probes import CHARACTERS, examples, probes

    with cli.activity("Reading documents"):
        documents = _some_documents(cli, workspace, paths)
    if answers is None:
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
    dataset = probes(documents, CHARACTERS[answers], seed=seed)
    cli.complain(
        f"No --questions were given, so keywords of {len(dataset.questions)} passages are asked, "
        f"each as long as a {answers}."
    )
    return dataset


def _begun_and_ended(text: str) -> str:
    """How long a text is, and how it begins and ends."""
    words = one_line(text).split()
    ends = [*words[:_SHOWN], "…", *words[-_SHOWN:]] if len(words) > 2 * _SHOWN else words
    return f"about {len(words)} words: {' '.join(ends)}"


def dataset_of(
    cli: Invocation, workspace: "Workspace", questions: Path, paths: Sequence[Path]
) -> "Dataset":
    """Questions over documents; files that cannot be read and answers without a place are said.

    Raises:
        DatasetError: the questions cannot be used, or no document could be read.
    """
    from rag_nodes.evaluation.importers import load_dataset

    check_there([questions])
    check_there(paths)
    with cli.activity("Reading documents and questions"):
        documents = list(_documents(cli, workspace, paths))
        if paths and not documents:
            raise DatasetError("none of the documents could be read; see above")
        dataset = load_dataset(questions, documents)
    for reason, count in dataset.left_out.items():
        cli.complain(f"{counted(count, 'question')} left out: {reason}")
    if dataset.unplaced:
        count = len(dataset.unplaced)
        cli.complain(
            f"{counted(count, 'question')} left out, as their answers have no place: "
            + ", ".join(one.id for one in dataset.unplaced[:5])
            + (", …" if count > 5 else "")  # noqa: PLR2004 -- as many as are named
            + f"; the first one: {dataset.unplaced[0].reason} (all: rag-nodes questions check)"
        )
    return dataset


def _some_documents(
    cli: Invocation, workspace: "Workspace", paths: Sequence[Path]
) -> "list[Document]":
    check_there(paths)
    documents = _documents(cli, workspace, paths)
    if not documents:
        raise DatasetError("none of the documents could be read; see above")
    return documents


def _write(dataset: "Dataset", output: Path) -> None:
    from rag_nodes.evaluation.importers import plain_of

    write_text(output, json.dumps(plain_of(dataset), ensure_ascii=False, indent=1))


def _documents(cli: Invocation, workspace: "Workspace", paths: Sequence[Path]) -> "list[Document]":
    from rag_nodes.readers import read_all

    documents = []
    for result in read_all(paths, limits=workspace.limits()) if paths else ():
        if result.document is not None:
            documents.append(result.document)
        if result.error is not None:
            cli.unread += 1
            cli.complain(one_line(str(result.error)))
    return documents
