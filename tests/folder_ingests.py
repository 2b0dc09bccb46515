"""A folder of old files that is ingested again and again, for tests of what is due."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from rag_nodes.models import Models
from rag_nodes.parsers import get_parser
from rag_nodes.pipeline import IngestReport, ingest
from rag_nodes.pipeline.ledger import Ledger
from rag_nodes.store import Query, Store

LONG_AGO = (1.6e9, 1.6e9)


class FolderIngests:
    """A folder of old files, a store and its ledger, ingested as often as asked."""

    def __init__(self, folder: Path, store: Store, models: Models, opened: list[str]) -> None:
        self.folder = folder
        self.store = store
        self.models = models
        self.parsers: dict[str, object] = {
            "fixed": get_parser("fixed", chunk_size=80, chunk_overlap=0)
        }
        self.opened = opened

    def write(self, name: str, text: str, times: tuple[float, float] = LONG_AGO) -> Path:
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        os.utime(path, times)
        return path

    def crawl(self, name: str, **pages: str) -> Path:
        """A file of pages of tea.example, by path."""
        records = [
            {"markdown": text, "metadata": {"sourceURL": f"https://tea.example/{key}"}}
            for key, text in pages.items()
        ]
        return self.write(name, json.dumps({"data": records}))

    def ingest(self, *paths: Path, **options: Any) -> IngestReport:
        self.opened.clear()
        given = paths or [self.folder]
        return ingest(given, self.parsers, self.store, models=self.models, **options)

    @property
    def ledger(self) -> Ledger:
        return Ledger.of(self.store.location) or pytest.fail("there is no ledger")


def states(report: IngestReport) -> list[str]:
    return [file.status for file in report.files]


def contents(store: Store, report: IngestReport) -> dict[str, dict[str, str]]:
    """Id and text of every stored chunk, by parser."""
    return {
        column.parser: {
            hit.node.node_id: hit.node.text
            for hit in store.search(
                column.collection, Query(vector=[1.0, 1.0, 1.0], text=None, limit=999, mode="dense")
            )
        }
        for column in report.columns
    }


def stored_files(corpus: FolderIngests) -> set[str]:
    """Names of the files of which chunks are stored, in any collection."""
    return {
        Path(str(node.metadata["source"])).name
        for info in corpus.store.collections()
        for nodes in corpus.store.documents(info.name).values()
        for node in corpus.store.fetch(info.name, list(nodes)).values()
    }
