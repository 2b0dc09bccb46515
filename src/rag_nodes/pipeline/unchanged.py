"""An ingest of which nothing is due, found out by ledger and store alone.

Which collections a request means depends on parsers, models and transformations, and to make these
takes LlamaIndex, which costs more than a look at thousands of files. So the ledger remembers of a
request what it came to, where none of the user's own code had a part in that.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

from rag_nodes.metadata import USUAL
from rag_nodes.pipeline.columns import IngestColumn
from rag_nodes.pipeline.due import DueFiles, documents_in
from rag_nodes.pipeline.pruning import check_prunable, compared
from rag_nodes.pipeline.report import IngestReport
from rag_nodes.pipeline.tally import Tally
from rag_nodes.pipeline.units import DueFile
from rag_nodes.readers import listed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from rag_nodes.ledger import Ledger
    from rag_nodes.models.prices import Prices
    from rag_nodes.pipeline.report import Progress
    from rag_nodes.readers import FileShard, Limits
    from rag_nodes.store import Store


class Remembered(NamedTuple):
    """What a request came to.

    By label the collection of each parser; what `identities_of` gave; the name of the embedding
    model, and all models for people.
    """

    collections: Mapping[str, str]
    identities: Sequence[str]
    embedding: str
    models: str


def unchanged(  # noqa: PLR0913 - what `ingest` is asked, and the memory of it
    request: str,
    paths: Sequence[Path],
    store: Store,
    ledger: Ledger,
    *,
    corpus: str,
    limits: Limits,
    progress: Callable[[Progress], None],
    prices: Prices,
    vectors: Sequence[str] = (),
    shard: FileShard | None = None,
    prune: bool = False,
) -> IngestReport | None:
    """What `ingest` gives where nothing is due; None where something may be, or nobody knows.

    Args:
        request: identifies all that parsers and models are made of, see `ingest`.
        paths: as for `ingest`, as all that follows.
        store: nothing is written to it but what `prune` takes out.
        ledger: of the store.
        corpus: as for `ingest`.
        limits: as for `ingest`.
        progress: hears of files up to the first that is due.
        prices: as for `ingest`.
        vectors: further embeddings that are asked for.
        shard: as for `ingest`.
        prune: as for `ingest`.

    Raises:
        FileMissingError: as `ingest`.
        LedgerError: as `ingest`.
        StoreError: the store does not answer.
    """
    started = time.perf_counter()
    facts = ledger.remembered(request)
    rows = {one.name: one for one in ledger.collections(corpus)}
    if facts is None:
        return None
    known = Remembered(**facts)
    names = known.collections.values()
    if not rows.keys() >= {*names} or not all(map(store.has_words, names)):
        return None
    if {name for one in names for name in store.vector_names(one)} - {USUAL, *vectors}:
        return None  # they are kept up to date, which the transformations of then did not
    if prune:
        check_prunable(paths, store, ledger, corpus)
    total = documents_in(paths, shard)
    tally = Tally(known.collections, known.embedding, prices, progress, total)
    columns = [
        IngestColumn(label, rows[of], store, ledger, tally, code="", is_shared=shard is not None)
        for label, of in known.collections.items()
    ]
    due = DueFiles(ledger, columns, corpus, limits, known.identities)
    for one in due.of(listed(paths, shard)):
        if isinstance(one, DueFile) or any(row.error for row in one.stored):
            return None
        tally.leave(one, columns)
    report = IngestReport(
        files=tally.rows,
        omitted=tally.omitted,
        columns=tally.finish(),
        seconds=time.perf_counter() - started,
        models=known.models,
        corpus=corpus,
    )
    if any(one.error for one in report.columns):
        return None
    return compared(report, store, ledger, paths, prune=prune, is_shard=shard is not None)
