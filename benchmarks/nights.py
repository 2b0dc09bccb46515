"""Thirty nights in which a few files change: does an ingest work for the change or for the whole?

    python benchmarks/nights.py                          400 files, of which 5 % change, 30 nights
    python benchmarks/nights.py --files 5000 --nights 3 --share 0.01

Every night some files get another paragraph, and the folder is ingested again with its ledger. What
is counted is work and no time: files opened, by an audit hook of the interpreter; chunks embedded,
by the model; chunks written, by the report. At the end the store is compared with one
that was made of the last state in one go. The clock of files and ledger is set by hand.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from corpora import text_of
from llama_index.core.embeddings import BaseEmbedding
from measuring import markdown_table, save
from pydantic import PrivateAttr

from rag_nodes.models import settled
from rag_nodes.parsers import get_parser
from rag_nodes.parsers.presets import DEFAULT_PARSER
from rag_nodes.pipeline import ingest
from rag_nodes.pipeline.ledger import Ledger
from rag_nodes.store import Store, open_store

DAY = 86_400.0
START = 1_700_000_000.0
FILE = 6_000
"""Characters of a file."""


@dataclass(slots=True)
class Night:
    """What one night took.

    Attributes:
        number: 0 is the first ingest of all.
        changed: files that had changed.
        opened: files that were opened.
        embedded: chunks given to the model.
        written: chunks stored.
    """

    number: int
    changed: int
    opened: int
    embedded: int
    written: int


class Opened:
    """Files below a folder that this process opens; an audit hook cannot be taken off again."""

    def __init__(self, folder: Path) -> None:
        self._below = f"{folder}{os.sep}"
        self.files: set[str] = set()
        sys.addaudithook(self._look)

    def _look(self, event: str, given: tuple[object, ...]) -> None:
        if event == "open" and isinstance(given[0], str) and given[0].startswith(self._below):
            self.files.add(given[0])


class CountingEmbedding(BaseEmbedding):
    """The offline embedding, counting the chunks it is given."""

    _inside: Any = PrivateAttr()
    _texts: int = PrivateAttr(default=0)

    def __init__(self) -> None:
        super().__init__(model_name="counting")
        self._inside = settled(None, "lexical").embedding

    @property
    def texts(self) -> int:
        """Chunks so far."""
        return self._texts

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._get_text_embeddings([text])[0]

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        self._texts += len(texts)
        return [list(vector) for vector in self._inside.get_text_embedding_batch(texts)]

    def _get_query_embedding(self, query: str) -> list[float]:
        return [float(number) for number in self._inside.get_query_embedding(query)]

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)


class Corpus:
    """Files of Markdown that change by a paragraph.

    Args:
        folder: where they are.
        files: how many.
    """

    def __init__(self, folder: Path, files: int) -> None:
        self._rng = random.Random(20_26)  # noqa: S311 -- the same nights in every run is the point
        self.folder = folder
        folder.mkdir()
        text = text_of("markdown", files * FILE)
        self._files = [folder / f"page-{number:05}.md" for number in range(files)]
        for number, file in enumerate(self._files):
            self._write(file, f"# Page {number}\n\n{text[number * FILE :][:FILE]}", START)

    def change(self, share: float, now: float) -> int:
        """Put a paragraph into a share of the files, and say how many that were."""
        chosen = self._rng.sample(self._files, round(share * len(self._files)))
        for file in chosen:
            parts = file.read_text("utf-8").split("\n\n")
            parts.insert(self._rng.randrange(1, len(parts) + 1), f"As of {now:.0f}, this is new.")
            self._write(file, "\n\n".join(parts), now)
        return len(chosen)

    def _write(self, file: Path, text: str, now: float) -> None:
        file.write_text(text, "utf-8")
        os.utime(file, (now, now))


def simulate(files: int, nights: int, share: float) -> list[Night]:
    """Ingest a corpus, and again each night after some of it has changed.

    Raises:
        RuntimeError: the store is not what one ingest of the last state makes.
    """
    with tempfile.TemporaryDirectory() as place:
        root = Path(place)
        corpus, model, measured = Corpus(root / "docs", files), CountingEmbedding(), []
        opened = Opened(corpus.folder)
        with open_store(root / "store") as store:
            for number in range(nights + 1):
                now = START + number * DAY
                changed = corpus.change(share, now) if number else files
                opened.files.clear()
                before = model.texts
                with Ledger(root / "ledger.sqlite", clock=lambda now=now: now + DAY / 2) as ledger:
                    column = _ingest(corpus.folder, store, model, ledger)
                embedded = model.texts - before
                done = len(opened.files), embedded, column.written
                measured.append(Night(number, changed, *done))
            with open_store(root / "anew") as anew:
                _ingest(corpus.folder, anew, model, None)
                _check_equal(store, anew, column.collection)
    return measured


def _ingest(folder: Path, store: Store, model: CountingEmbedding, ledger: Ledger | None) -> Any:
    parsers = {DEFAULT_PARSER: get_parser(DEFAULT_PARSER)}
    report = ingest([folder], parsers, store, embed_model=model, ledger=ledger)
    (column,) = report.columns
    if report.failed or column.error:
        raise RuntimeError(f"the ingest failed: {column.error or report.failed[0].error}")
    return column


def _check_equal(store: Store, anew: Store, collection: str) -> None:
    documents = store.documents(collection)
    if documents != anew.documents(collection):
        raise RuntimeError("the store is not what one ingest of the last state makes")
    ids = [node for nodes in documents.values() for node in nodes]
    if store.vectors(collection, ids) != anew.vectors(collection, ids):
        raise RuntimeError("the vectors are not those of one ingest of the last state")


def main() -> int:
    """Simulate, print and save."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--files", type=int, default=400)
    parser.add_argument("--nights", type=int, default=30)
    parser.add_argument("--share", type=float, default=0.05)
    given = parser.parse_args()
    nights = simulate(given.files, given.nights, given.share)
    columns = ["Night", "Changed", "Opened", "Embedded", "Written", "Deleted"]
    rows = [list(map(str, asdict(night).values())) for night in nights]
    print(markdown_table(columns, rows))
    save("nights", [asdict(night) for night in nights])
    first, rest = nights[0], nights[1:]
    print(
        f"\n{given.files} files, {first.embedded} chunks embedded in the first night. Of a night "
        f"after it: {sum(n.opened for n in rest) / len(rest) / given.files:.1%} of the files "
        f"opened, {sum(n.embedded for n in rest) / len(rest) / first.embedded:.1%} of the chunks "
        "embedded. The store is what one ingest of the last state makes."
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
