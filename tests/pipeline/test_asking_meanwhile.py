"""While changed files are ingested again, questions find as much as before, in every moment."""

import threading
from pathlib import Path

from rag_nodes.models import Models
from rag_nodes.parsers import get_parser
from rag_nodes.pipeline import ingest
from rag_nodes.store import Query, Store, open_store

LIMIT = 10
FILES = 25


def write(folder: Path, version: str) -> None:
    folder.mkdir(exist_ok=True)
    for n in range(FILES):
        parts = [f"## Part {k}\n\nPart {k} of machine {n}, {version} steel." for k in range(6)]
        (folder / f"{n}.md").write_text(f"# Machine {n}\n\n" + "\n\n".join(parts))


class Asker(threading.Thread):
    """Asks all the time until it is stopped; notes how much was found, and of which versions."""

    def __init__(self, store: Store, collection: str, models: Models) -> None:
        super().__init__(daemon=True)
        self._store, self._collection = store, collection
        self._vector = models.embedding.get_query_embedding("steel of the machine")
        self._ended = threading.Event()
        self.found: list[int] = []
        self.versions: list[frozenset[tuple[str, bool]]] = []
        self.error: Exception | None = None

    def run(self) -> None:
        try:
            while not self._ended.is_set():
                self._ask()
        except Exception as error:  # noqa: BLE001 - the test looks at it
            self.error = error

    def end(self) -> None:
        self._ended.set()
        self.join()
        self._ask()

    def _ask(self) -> None:
        hits = self._store.search(
            self._collection, Query(vector=self._vector, text="steel of the machine", limit=LIMIT)
        )
        self.found.append(len(hits))
        self.versions.append(frozenset("latter" in hit.node.text for hit in hits))


def test_a_question_never_gets_fewer_chunks_than_it_asks_for(tmp_path: Path) -> None:
    folder, models = tmp_path / "docs", Models.of()
    parsers = {"heading": get_parser("heading", chunk_size=30, min_chunk_size=5)}
    write(folder, "former")
    with open_store(tmp_path / "store") as store:
        [before] = ingest([folder], parsers, store, models=models).columns
        asker = Asker(store, before.collection, models)
        asker.start()
        for version in ("latter", "former", "latter"):
            write(folder, version)
            [column] = ingest([folder], parsers, store, models=models).columns
            assert (column.error, column.written) == (None, before.chunks)
            assert column.written == column.chunks == before.chunks
        asker.end()
    assert asker.error is None
    assert len(asker.found) > 3, "it asked meanwhile"
    assert set(asker.found) == {LIMIT}
    assert asker.versions[-1] == {True}
