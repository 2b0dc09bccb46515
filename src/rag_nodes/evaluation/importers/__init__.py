"""Labelled questions from the formats people have, over documents of their own or of the file."""

from __future__ import annotations

import uuid
from collections import Counter
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from llama_index.core.schema import Document

from rag_nodes.core.errors import ConfigurationError, DatasetError
from rag_nodes.core.keywords import checks_keywords
from rag_nodes.core.metadata import FILE_NAME, SOURCE
from rag_nodes.core.several import several_nodes
from rag_nodes.evaluation.importers.corpora import beir, squad
from rag_nodes.evaluation.importers.files import SHEETS, SUFFIXES, read_file
from rag_nodes.evaluation.importers.formats import Labels, read_rows
from rag_nodes.evaluation.importers.placing import place

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rag_nodes.evaluation.dataset import Answer, Dataset

__all__ = ["documents_of", "load_dataset", "place", "plain_of", "read_labels"]

NAMES = {
    "question": ("question", "query"),
    "quote": ("quote", "gold", "passage", "snippet", "evidence", "citation", "answer", "text"),
    "file": ("file", "document", "source", "url", "file_name", "filename"),
}
"""English names that columns of a sheet may have; `COLUMNS` has those of other languages, too."""
_SIMPLEST = (
    "Questions are read from a sheet (CSV, TSV, XLSX), our JSON, RAGAS, SQuAD and BEIR. "
    "The simplest is a sheet of two columns:\n"
    "question,quote\n"
    "When do quiet hours begin?,Quiet hours last from ten in the evening\n"
    + "\n".join(f"Names for {name}: {', '.join(names)}" for name, names in NAMES.items())
)
_NAMESPACE = uuid.UUID("5f3c86f6-8a55-5a3e-9d0c-0e9b3c2f6d41")


@checks_keywords
def load_dataset(path: str | Path, documents: Document | Sequence[Document] = ()) -> Dataset:
    """Load a dataset from a file or folder of labelled questions, whose format is detected.

    The formats are a sheet, our own JSON, a test set of RAGAS, SQuAD (JSON or JSON lines), and a
    folder of BEIR.

    Args:
        path: the questions.
        documents: what they are about, several or a single one; () if the file brings its texts
            along.

    Returns:
        The dataset; `not_located` lists what nothing can be measured with.

    Raises:
        DatasetError: the file cannot be read, its format is unknown, or it has no documents.
    """
    path = Path(path)
    labels = read_labels(path)
    given: Sequence[Document] = list(several_nodes(documents))
    used = given or documents_of(labels)
    if not used:
        raise DatasetError(
            f"{path} ({labels.form}) has questions but no documents; name the files they are about"
        )
    return place(labels, used, path.stem if path.is_file() else path.name)


def read_labels(path: str | Path) -> Labels:
    """The questions of a file or folder, before they are looked up in documents.

    Raises:
        DatasetError: the file cannot be read, or its format is unknown.
        MissingExtraError: it is a workbook, and openpyxl is not installed.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if path.is_dir():
        with _misplaced(path):
            labels = beir(path)
        refusal = "is a folder, but not one of BEIR"
    elif suffix not in SUFFIXES:
        labels, refusal = None, "is of no kind that has questions"
    else:
        plain, sheet = read_file(path), suffix in SHEETS
        if sheet and not plain:
            raise DatasetError(f"{path} has no row under its header; write a question in each")
        with _misplaced(path):
            labels = squad(plain) or read_rows(plain, str(path), sheet=sheet)
        columns = ""
        if sheet:
            of_sheet = f" in sheet '{plain[0].sheet}'" if plain[0].sheet else ""
            names = ", ".join(plain[0]) or "none"
            columns = f" (its columns{of_sheet}: {names}). The first row with text must name the "
            columns += "columns"
        refusal = (
            "is of no known format: nothing in it is called a question with the words that "
            f"answer it{columns}"
        )
    if labels is None:
        raise DatasetError(f"{path} {refusal}. {_SIMPLEST}")
    return labels


@contextmanager
def _misplaced(path: Path) -> Iterator[None]:
    """Report values that are missing or misplaced in a file as an error of that file.

    Only code that reads the plain data of a file runs inside, so that no other error is caught.
    """
    try:
        yield
    except DatasetError:
        raise
    except (AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise DatasetError(
            f"{path} cannot be read as a question file: its values are not where the format "
            f"expects them. It needs the columns or keys question and quote; file, page and kind "
            f"are optional"
        ) from error


def documents_of(labels: Labels) -> list[Document]:
    """The texts that come with questions, as documents; the same texts have the same ids."""
    return [
        Document(
            id_=str(uuid.uuid5(_NAMESPACE, name)),
            text=text,
            metadata={FILE_NAME: name, SOURCE: name},
            excluded_embed_metadata_keys=[FILE_NAME, SOURCE],
            excluded_llm_metadata_keys=[FILE_NAME, SOURCE],
        )
        for name, text in labels.texts.items()
    ]


def plain_of(dataset: Dataset) -> dict[str, Any]:
    """A dataset's questions in our own format; passages carry their text and offsets.

    Of documents that are called the same the id is given.

    Raises:
        ConfigurationError: they are probes, which nobody asks.
    """
    if dataset.probed:
        raise ConfigurationError(
            "probes are not questions and cannot be saved; draft questions instead"
        )
    called = Counter(dataset.names.values())
    names = {
        document: name if called[name] == 1 else document
        for document, name in dataset.names.items()
    }

    def passages(answer: Answer) -> list[dict[str, Any]]:
        return [
            {
                "document": names[passage.document],
                **passage.span._asdict(),
                "text": dataset.quote(passage),
            }
            for passage in answer
        ]

    rows = []
    for question in dataset.questions:
        first, *others = map(passages, question.gold)
        within = [names[document] for document in question.within or ()]
        extras: dict[str, Any] = {"alternatives": others, "kind": question.kind, "within": within}
        extras["draft"] = question.draft
        row: dict[str, Any] = {"id": question.id, "question": question.text, "gold": first}
        rows.append(row | {name: value for name, value in extras.items() if value})
    return {"version": 1, "questions": rows}
