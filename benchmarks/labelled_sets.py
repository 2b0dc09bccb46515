"""Public sets of questions with gold spans, read from a folder that is not part of the project.

Expected in the folder: `corpora/` with `questions_dev.json` (Chroma's report on chunking),
`evidence_inference/` and `qmsum/` and `xquad/` (each `documents/` with `questions.json`), and
`headed/questions_headed_dev.json` about the pages of a Firecrawl file named `--pages`.
"""

from __future__ import annotations

import argparse
import hashlib
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from llama_index.core.schema import MediaResource

from rag_nodes.evaluation.dataset import Dataset
from rag_nodes.evaluation.importers import load_dataset
from rag_nodes.evaluation.metrics import Passage
from rag_nodes.readers import read_all
from rag_nodes.text.spans import Span

OWN_DOCUMENT = ("evidence_inference", "qmsum", "de", "zh", "hi")
"""Sets whose questions are each about one document, which alone is searched."""
SETS = ("headed", *OWN_DOCUMENT, "chroma")
SENTENCE_MARKS = frozenset(".!?\u3002\uff01\uff1f\uff0e\u2026\u0964\u0965;\uff1b")
"""Marks at which sentences end in Latin script, Chinese and Hindi."""
LANGUAGES = ("de", "zh", "hi")
"""Parts of XQuAD."""
PARTS = {"evidence_inference": 45, "qmsum": 6, "de": 16, "zh": 12, "hi": 10}
"""Documents whose questions are asked if a part of a set has to do: those with the lowest hash."""


def labelled_set(name: str, data: Path, pages: Path | None = None) -> Dataset:
    """One of `SETS`, each question asked where its set wants it.

    Args:
        name: of the set.
        data: the folder with all of them.
        pages: the Firecrawl file of "headed".
    """
    questions, documents = _places(name, data, pages)
    documents_read = [
        result.document for result in read_all(documents) if result.document is not None
    ]
    dataset = replace(load_dataset(questions, documents_read), name=name)
    if name in LANGUAGES:
        asked = tuple(
            question for question in dataset.questions if question.id.startswith(f"{name}-")
        )
        dataset = replace(dataset, questions=asked, not_located=())
    return dataset.narrowed() if name in OWN_DOCUMENT else dataset


def part_of(dataset: Dataset) -> Dataset:
    """Return the set with the questions about a part of its documents; all stay in the collection.

    Args:
        dataset: one of `SETS`. Those that are not in `PARTS` keep all questions.
    """
    if dataset.name not in PARTS:
        return dataset
    ranked = sorted(dataset.documents, key=lambda document: _digest(document.metadata["source"]))
    part = {document.id_ for document in ranked[: PARTS[dataset.name]]}
    return replace(
        dataset,
        questions=tuple(question for question in dataset.questions if question.document in part),
    )


def _digest(source: str) -> str:
    """Return a hash of the path of a document in its set, such as `de/Normans.txt`."""
    path = source.replace("\\", "/").rpartition("documents/")[2]
    return hashlib.sha256(f"sub {path}".encode()).hexdigest()


def without_marks(dataset: Dataset) -> Dataset:
    """The same set without the marks that end sentences: as texts of scripts that have none.

    Gold keeps its characters, wherever they stand now.
    """
    documents, places = [], {}
    for document in dataset.documents:
        kept = [at for at, character in enumerate(document.text) if character not in SENTENCE_MARKS]
        text = "".join(document.text[at] for at in kept)
        documents.append(document.model_copy(update={"text_resource": MediaResource(text=text)}))
        places[document.id_] = kept
    questions = tuple(
        replace(
            question,
            gold=tuple(
                tuple(_moved(passage, places[passage.document]) for passage in answer)
                for answer in question.gold
            ),
        )
        for question in dataset.questions
    )
    return replace(dataset, documents=tuple(documents), questions=questions)


def _moved(passage: Passage, kept: Sequence[int]) -> Passage:
    span = Span(bisect_left(kept, passage.span.start), bisect_left(kept, passage.span.end))
    return Passage(passage.document, span)


def half_of(name: str) -> int:
    """Which half of a set a document belongs to: 0 to tune on, 1 to confirm on.

    All of Chroma's is there to tune on, whatever this says.

    Args:
        name: of the document, as in `Dataset.names`: a file name, or a title with the URL behind.
    """
    last = name.removesuffix(")").rpartition("/")[2]
    return hashlib.sha256(last.encode()).digest()[0] % 2


def _places(name: str, data: Path, pages: Path | None) -> tuple[Path, list[Path]]:
    if name == "chroma":
        return data / "questions_dev.json", [data / "corpora"]
    if name == "headed":
        if pages is None:
            raise SystemExit("the set 'headed' is about the pages of a file: name it with --pages")
        return data / "headed" / "questions_headed_dev.json", [pages]
    if name in LANGUAGES:
        return data / "xquad" / "questions.json", [data / "xquad" / "documents" / name]
    return data / name / "questions.json", [data / name / "documents"]


def options_of(description: str, sets: tuple[str, ...] = SETS) -> argparse.ArgumentParser:
    """The options that scripts over these sets share."""
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder with the sets")
    parser.add_argument("--pages", type=Path, help="Firecrawl file of the set 'headed'")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(sets))
    return parser
