"""What workers run on: here, processes of this machine."""

from __future__ import annotations

import os
from itertools import accumulate, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag_nodes.errors import ConfigurationError
from rag_nodes.executors import Pool
from rag_nodes.parsers import as_parser
from rag_nodes.pipeline.books import is_text
from rag_nodes.pipeline.ingesting import ingest_here
from rag_nodes.pipeline.listing import FileListing
from rag_nodes.pipeline.run import collections_of
from rag_nodes.workers.children import ChildProcesses
from rag_nodes.workers.ingesting import ingest_by
from rag_nodes.workers.recipe import Recipe

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from llama_index.core.schema import TransformComponent

    from rag_nodes.executors import Executor
    from rag_nodes.ledger import Ledger
    from rag_nodes.models import Models
    from rag_nodes.pipeline import IngestReport
    from rag_nodes.pipeline.arrivals import Parsers
    from rag_nodes.readers import ListedFile
    from rag_nodes.store import Store
    from rag_nodes.workers.transport import Transport, WorkerRecipe

LARGE_SWEEP = 1_000_000
"""Characters of documents, times rows, from which several processes measure sooner than one."""
LARGE = 20_000_000
"""Bytes of files that are due from which several processes end sooner than one."""
_BLOCK = 500
"""Files that are looked up at once."""
_CPU_MAX = Path("/sys/fs/cgroup/cpu.max")
"""Where a container says how many cores' worth of time it has."""


def usable_cores() -> int:
    """Cores that this process may use: by its affinity, and by the limits of its container."""
    cores = (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    try:
        quota, period = _CPU_MAX.read_text(encoding="ascii").split()
        return max(1, min(cores, int(quota) // int(period)))
    except (OSError, ValueError):  # no cgroup of version 2, or no limit
        return cores


class ProcessEngine:
    """Workers that are processes of this machine.

    Args:
        workers: how many; None for the cores that may be used.

    Raises:
        ConfigurationError: fewer than 1.
    """

    address: str | None = None
    """Of a cluster; there is none."""

    def __init__(self, workers: int | None = None) -> None:
        if workers is not None and workers < 1:
            raise ConfigurationError(f"workers must be at least 1, not {workers}")
        self.workers = workers or usable_cores()

    def ingest(
        self, paths: Iterable[str | Path], parsers: Parsers, store: Store, **options: Any
    ) -> IngestReport:
        """As `rag_nodes.pipeline.ingest`, with its options."""
        return ingest_by(self.start, paths, parsers, store, **options)

    def executor(self) -> Executor:
        """What does any work in such processes."""
        return Pool(self.workers)

    def start(self, recipe: WorkerRecipe) -> Transport[Any, Any]:
        """The workers, made of a recipe."""
        return ChildProcesses(recipe.shared_by(self.workers), self.workers)


class AutoEngine:
    """Several processes where that pays, and this one where it does not.

    Starting a worker takes seconds, and so it pays for `LARGE` bytes that are due and for a model
    that runs offline: where a server embeds, waiting for it is what takes the time, and one process
    has several requests under way. What cannot be made in another process stays in this one.
    """

    def ingest(
        self, paths: Iterable[str | Path], parsers: Parsers, store: Store, **options: Any
    ) -> IngestReport:
        """As `rag_nodes.pipeline.ingest`, with its options."""
        wanted = [*map(Path, paths)]
        options["files"] = FileListing(wanted, options["shard"])
        if usable_cores() > 1 and _pays(parsers, **options):
            return ProcessEngine().ingest(wanted, parsers, store, **options)
        return ingest_here(wanted, parsers, store, **options, dry_run=False)

    def measuring(self, characters: int, rows: int, models: Models) -> ProcessEngine | None:
        """What `evaluate` and `recommend` measure by; None for this process alone.

        Args:
            characters: of the documents.
            rows: that are measured.
            models: embed the chunks.
        """
        workers = min(usable_cores(), rows)
        if workers < 2 or characters * rows < LARGE_SWEEP or not models.embeds_offline:  # noqa: PLR2004
            return None
        return ProcessEngine(workers)


def _pays(
    parsers: Parsers,
    *,
    files: FileListing,
    models: Models,
    ledger: Ledger | None,
    corpus: str,
    transformations: Sequence[TransformComponent],
    **_: Any,
) -> bool:
    if callable(parsers) or not models.embeds_offline or not _are_large(files):
        return False
    if ledger and _are_in_use(parsers, models, ledger, corpus):
        due = _changed(files, ledger, corpus)
    else:
        due = iter(files)
    if not _are_large(due):
        return False
    try:
        Recipe.of(parsers, models, transformations=transformations)
    except ConfigurationError:
        return False
    return True


def _are_large(files: Iterable[ListedFile]) -> bool:
    """Whether several processes are done with files sooner than one; no more are looked at."""
    return any(total >= LARGE for total in accumulate(one.size or 0 for one in files))


def _are_in_use(parsers: Mapping[str, object], models: Models, ledger: Ledger, corpus: str) -> bool:
    """Whether something is stored by every parser; all files are due for one that is new."""
    made = {name: as_parser(parser) for name, parser in parsers.items()}
    used = {one.row.name for one in ledger.collections(corpus) if one.documents}
    return used.issuperset(collections_of(made, corpus, models).values())


def _changed(files: Iterable[ListedFile], ledger: Ledger, corpus: str) -> Iterator[ListedFile]:
    """The files that are not as they were, as far as can be told without opening one."""
    listing = iter(files)
    while block := list(islice(listing, _BLOCK)):
        known = ledger.known(corpus, [file.place for file in block if is_text(file)])
        facts = {place: (one.file.size, one.file.mtime_ns) for place, one in known.items()}
        yield from (one for one in block if facts.get(one.place) != (one.size, one.mtime_ns))
