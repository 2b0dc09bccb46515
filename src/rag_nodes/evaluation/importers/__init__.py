"""Labelled questions from the formats people have, over documents of their own or of the file."""

from __future__ import annotations

import uuid
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from llama_index.core.schema import Document

from rag_nodes.errors import DatasetError
from rag_nodes.evaluation.dataset import Dataset
from rag_nodes.evaluation.importers import (
    beir,
    chroma,
    chunklab,
    legalbench,
    own,
    qasper,
    sheet,
    squad,
)
from rag_nodes.evaluation.importers.labels import Labels, read_any_text, read_json, read_text
from rag_nodes.evaluation.importers.placing import place
from rag_nodes.metadata import FILE_NAME, SOURCE

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = ["documents_of", "load_dataset", "read_labels"]

_NAMESPACE = uuid.UUID("5f3c86f6-8a55-5a3e-9d0c-0e9b3c2f6d41")


def load_dataset(path: Path, documents: Sequence[Document] = ()) -> Dataset:
    """A dataset out of a file or folder of labelled questions; the format is found out.

    Known are our own JSON and JSON lines, a sheet (CSV or TSV) of questions and quotes, Chroma's
    CSV, SQuAD and its like (XQuAD, CMRC 2018, COVID-QA), QASPER, BEIR with passages,
    LegalBench-RAG and the YAML of chunklab.

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
    """
    try:
        return _read(path)
    except DatasetError:
        raise
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise DatasetError(
            f"{path} has something in a place where it does not belong ({error!r}); compare it "
            "with the description of its format"
        ) from error


def _read(path: Path) -> Labels:
    if path.is_dir():
        if beir.is_beir(path):
            return beir.read_beir(path)
        raise DatasetError(f"{path} is a folder, but not one of BEIR; name a file of questions")
    suffix = path.suffix.lower()
    if suffix in (".json", ".jsonl"):
        return _of_json(read_json(path), path)
    if suffix in (".yaml", ".yml"):
        return chunklab.read_chunklab(read_text(path), path)
    if suffix in (".csv", ".tsv"):
        text, guessed = read_any_text(path)
        rows = sheet.read_rows(text, path)
        if rows and rows[0].keys() >= chroma.COLUMNS:
            return chroma.read_chroma(rows, path)
        labels = sheet.read_sheet(rows, path)
        return replace(labels, form=f"{labels.form}, {guessed}") if guessed else labels
    raise DatasetError(
        f"{path}: questions are read from .json, .jsonl, .csv, .tsv and .yaml files; "
        "save a sheet as CSV"
    )


def _of_json(plain: Any, path: Path) -> Labels:
    if own.is_own(plain):
        return own.read_own(plain, str(path))
    if squad.is_squad(plain):
        return squad.read_squad(plain)
    if legalbench.is_legalbench(plain):
        return legalbench.read_legalbench(plain, path)
    if qasper.is_qasper(plain):
        return qasper.read_qasper(plain)
    raise DatasetError(
        f"{path} is JSON of no known format; our own has a list of questions, each with question "
        "and gold"
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
