"""The same systems on questions that nothing was tuned on: is their order the same?

87 questions in seven languages about eleven free manuals, written before any result on them was
seen. Recall of every question is kept in `benchmarks/results`; `scripts/docs/make_results.py` makes
the tables.

    python benchmarks/fresh_documents.py FOLDER
    python benchmarks/fresh.py FOLDER
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from fresh_documents import place
from quality import LADDER, Measurement, kept_of
from systems import ours, peers

from rag_nodes.evaluation.dataset import Dataset
from rag_nodes.evaluation.importers import load_dataset
from rag_nodes.readers import read_all

QUESTIONS = Path(__file__).parent / "fresh_questions.json"


def fresh_set(folder: Path) -> Dataset:
    """The questions, each asked of all documents.

    Raises:
        SystemExit: a document cannot be placed, or an answer stands nowhere in it.
    """
    place(folder)
    documents = [result.document for result in read_all([folder]) if result.document is not None]
    dataset = replace(load_dataset(QUESTIONS, documents), name="fresh")
    if dataset.not_located:
        raise SystemExit(f"answers without a place: {dataset.not_located}")
    return dataset


def columns() -> dict[str, object]:
    """Other packages' splitters and ours, without presets, which are these at other sizes."""
    candidates = {**peers(), **ours()}
    return {name: column for name, column in candidates.items() if not name.startswith("preset ")}


def main() -> None:
    """Measure every system, and keep what was found."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, help="with the documents; missing ones are placed")
    parser.add_argument("--cache", type=Path, help="folder that keeps paid vectors")
    options = parser.parse_args()
    dataset = fresh_set(options.folder)
    kept = kept_of(dataset)
    measurement = Measurement(dataset, options.cache)
    for name, column in {LADDER: measurement.ladder(), **columns()}.items():
        for system in measurement.systems({name: column}):
            kept.put("ladder" if name == LADDER else "plain", system)
            kept.save()
        print(name, flush=True)


if __name__ == "__main__":
    main()
