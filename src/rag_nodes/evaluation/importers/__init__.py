"""Labelled questions from the formats people have, over documents of their own or of the file."""

from __future__ import annotations

import uuid
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from llama_index.core.schema import Document

from rag_nodes.errors import DatasetError
from rag_nodes.evaluation.importers import corpora
from rag_nodes.evaluation.importers.labels import (
    Labels,
    read_any_text,
    read_json,
    read_yaml,
)
from rag_nodes.evaluation.importers.placing import place
from rag_nodes.evaluation.importers.rows import is_rows, read_rows
from rag_nodes.evaluation.importers.sheet import rows_of_text, rows_of_workbook
from rag_nodes.metadata import FILE_NAME, SOURCE

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rag_nodes.evaluation.dataset import Dataset

__all__ = ["FORMATS", "documents_of", "load_dataset", "read_labels"]

FORMATS = (
    "a sheet (CSV, TSV, XLSX), our JSON, LlamaIndex's LabelledRagDataset and "
    "EmbeddingQAFinetuneDataset, RAGAS, TruLens, LangSmith, promptfoo, SQuAD, BEIR, "
    "LegalBench-RAG, Chroma's CSV"
)
"""What questions are read from, for people."""
_SIMPLEST = (
    f"Questions are read from {FORMATS}. The simplest is a sheet of two columns:\n"
    "question,quote\n"
    "When do quiet hours begin?,Quiet hours last from ten in the evening"
)
_NAMESPACE = uuid.UUID("5f3c86f6-8a55-5a3e-9d0c-0e9b3c2f6d41")


def load_dataset(path: Path, documents: Sequence[Document] = ()) -> Dataset:
    """A dataset out of a file or folder of labelled questions; the format is found out.

    Known are `FORMATS`, as JSON, JSON lines, YAML or a sheet, whichever of these a tool writes;
    BEIR is a folder.

    Args:
        path: the questions.
        documents: what they are about; none where the file brings its texts along.

    Returns:
        The dataset; `unplaced` lists what nothing can be measured with.

    Raises:
        DatasetError: the file cannot be read, its format is unknown, or it has no documents.
    """
    labels = read_labels(path)
    used = documents or documents_of(labels)
    if not used:
        raise DatasetError(
            f"{path} ({labels.form}) has questions but no documents; name the files they are about"
        )
    return place(labels, used, path.stem if path.is_file() else path.name)


def read_labels(path: Path) -> Labels:
    """The questions of a file or folder, before they are looked up in documents.

    Raises:
        DatasetError: the file cannot be read, or its format is unknown.
        MissingExtraError: it is a workbook, and openpyxl is not installed.
    """
    try:
        return _read(path)
    except DatasetError:
        raise
    except (AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise DatasetError(
            f"{path} has something in a place where it does not belong ({error!r}); compare it "
            "with the description of its format"
        ) from error


def _read(path: Path) -> Labels:
    if path.is_dir():
        if corpora.is_beir(path):
            return corpora.read_beir(path)
        raise DatasetError(f"{path} is a folder, but not one of BEIR. {_SIMPLEST}")
    suffix = path.suffix.lower()
    if suffix in (".json", ".jsonl"):
        return _of_plain(read_json(path), path)
    if suffix in (".yaml", ".yml"):
        return _of_plain(read_yaml(path), path)
    if suffix in (".csv", ".tsv"):
        text, guessed = read_any_text(path)
        labels = _of_sheet(rows_of_text(text, path), path)
        return replace(labels, form=f"{labels.form}, {guessed}") if guessed else labels
    if suffix == ".xlsx":
        return _of_sheet(rows_of_workbook(path), path)
    raise DatasetError(f"{path} is of no kind that has questions. {_SIMPLEST}")


def _of_plain(plain: Any, path: Path) -> Labels:
    if corpora.is_squad(plain):
        return corpora.read_squad(plain)
    if corpora.is_pairs(plain):
        return corpora.read_pairs(plain)
    if is_rows(plain):
        return read_rows(plain, str(path))
    raise DatasetError(f"{path} is of no known format. {_SIMPLEST}")


def _of_sheet(rows: Sequence[dict[str, str]], path: Path) -> Labels:
    if not rows:
        raise DatasetError(f"{path} has no row under its header; write a question in each")
    if rows[0].keys() >= corpora.CHROMA:
        return corpora.read_chroma(rows, path)
    if is_rows(rows):
        return read_rows(rows, str(path), sheet=True)
    columns = ", ".join(rows[0]) or "none"
    raise DatasetError(
        f"{path} has no columns for a question and the words that answer it (it has: {columns}). "
        f"{_SIMPLEST}"
    )


def documents_of(labels: Labels) -> list[Document]:
    """The texts that come with questions, as documents; the same texts have the same ids."""
    return [_document(name, text) for name, text in labels.texts.items()]


def _document(name: str, text: str) -> Document:
    return Document(
        id_=str(uuid.uuid5(_NAMESPACE, name)),
        text=text,
        metadata={FILE_NAME: name, SOURCE: name},
        excluded_embed_metadata_keys=[FILE_NAME, SOURCE],
        excluded_llm_metadata_keys=[FILE_NAME, SOURCE],
    )
