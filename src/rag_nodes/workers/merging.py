"""Reports and progress of many runs made into those of one."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from rag_nodes.models.prices import cost_of
from rag_nodes.pipeline import ParserOutcome, Progress, WriterOutcome
from rag_nodes.pipeline.notes import summary
from rag_nodes.workers.messages import Settled

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from rag_nodes.models.prices import Prices
    from rag_nodes.pipeline import FileOutcome
    from rag_nodes.pipeline.rows import FileRows
    from rag_nodes.workers.messages import BatchFinished, Paid, Unsettled

Number = TypeVar("Number", int, float)

_SUMS = (
    *("chunks", "tokens", "parents", "unplaced", "written", "unchanged", "deleted"),
    *("embedding_tokens", "spared_tokens"),
)
_STAGES = ("parse", "embed", "store")


class Refusal(NamedTuple):
    """What a store did not take of a document.

    Attributes:
        why: the first reason.
        chunks: that it did not take.
    """

    why: str
    chunks: int


class Lost:
    """What workers had done that died: the report counts it, as this ingest has done it.

    Attributes:
        deleted: former nodes that went, by collection.
        tokens: that were embedded, by parser.
        writers: what LLMs wrote, which was kept.
    """

    def __init__(self) -> None:
        self.deleted: Counter[str] = Counter()
        self.tokens: Counter[str] = Counter()
        self.writers: list[WriterOutcome] = []
        self._written: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))

    def take(
        self, sent: Iterable[Unsettled | Settled], steps: Iterable[Progress], paid: Paid
    ) -> None:
        """Take down what one of them said that it was to do, and how far it was."""
        self.writers.extend(paid.writers)
        for one in sent:
            if isinstance(one, Settled):
                self.deleted[one.collection] += one.deleted
                continue
            for document, node_ids in one.documents.items():
                self._written[one.collection][document].update(node_ids)
        self.tokens.update({one.name: one.tokens for one in steps if one.stage == "embed"})

    def written(self, documents: Collection[str] | None) -> dict[str, tuple[str, ...]]:
        """Nodes, by collection, that they have begun to write.

        Args:
            documents: of these; None for all.
        """
        return {
            collection: tuple(
                node
                for document, nodes in known.items()
                if documents is None or document in documents
                for node in nodes
            )
            for collection, known in self._written.items()
        }


class PartReport(NamedTuple):
    """What a worker said of a group of files.

    Attributes:
        position: of its first file.
        finished: the worker's last word.
    """

    position: int
    finished: BatchFinished


class Done(NamedTuple):
    """What all workers did together.

    Attributes:
        rows: of all files.
        parts: what workers said of their groups without the rows, in the order of the listing.
        errors: what no worker saw, by parser, as the writer met it.
        stopped: why parsers gave up, by name, which every worker will have said.
        unwritten: chunks, by parser, that workers sent and the store did not take.
        lost: what workers had done that died.
    """

    rows: FileRows
    parts: Sequence[PartReport]
    errors: Mapping[str, Sequence[str]]
    stopped: Mapping[str, str]
    unwritten: Counter[str]
    lost: Lost


def merged_column(
    name: str, collection: str, done: Done, *, model: str, prices: Prices
) -> ParserOutcome:
    """A parser's row over all files, as one run would give it, but for the seconds.

    Args:
        name: of the parser.
        collection: its collection.
        done: by all workers.
        model: that embedded, for its price.
        prices: see `rag_nodes.models.prices`.
    """
    parts, stopped = done.parts, done.stopped.get(name)
    found = [one for part in parts for one in part.finished.report.columns if one.parser == name]
    sums = {field: sum(getattr(one, field) for one in found) for field in _SUMS}
    sums["written"] -= done.unwritten[name]
    sums["deleted"] += done.lost.deleted[collection]
    sums["embedding_tokens"] += done.lost.tokens[name]
    said = [error for part in parts for error in part.finished.errors.get(name, ())]
    errors = [*said, *done.errors.get(name, ())]
    embedded, spared = sums["embedding_tokens"], sums["spared_tokens"]
    return ParserOutcome(
        parser=name,
        collection=collection,
        mean_tokens=sums["tokens"] / sums["chunks"] if sums["chunks"] else 0.0,
        max_tokens=max((one.max_tokens for one in found), default=0),
        seconds={stage: sum(one.seconds.get(stage, 0.0) for one in found) for stage in _STAGES},
        error=summary(list(_once(errors, stopped))),
        embedding_cost=cost_of(embedded, 0, model, prices),
        spared_cost=cost_of(spared, 0, model, prices),
        **sums,
    )


def merged_writers(
    done: Done, prices: Prices, *, order: Sequence[str]
) -> tuple[WriterOutcome, ...]:
    """What LLMs wrote for all workers, also those that died, as one run would say it.

    Args:
        done: by all workers.
        prices: see `rag_nodes.models.prices`.
        order: class names of the transformations that asked them.
    """
    found: dict[tuple[str, str], list[WriterOutcome]] = defaultdict(list)
    parts = (part.finished.report.writers for part in done.parts)
    for one in chain(*parts, done.lost.writers):
        found[one.step, one.model].append(one)
    merged = [_sum_of_writers(own, prices) for own in found.values()]
    places = {name: place for place, name in enumerate(order)}
    return tuple(sorted(merged, key=lambda one: places.get(one.step, len(places))))


def _sum_of_writers(own: Sequence[WriterOutcome], prices: Prices) -> WriterOutcome:
    requests = sum(one.requests for one in own)
    read, written = sum(one.tokens_in for one in own), sum(one.tokens_out for one in own)
    cost = cost_of(read, written, own[0].model, prices)
    return WriterOutcome(own[0].step, own[0].model, requests, read, written, cost)


def _once(errors: Iterable[str], stopped: str | None) -> Iterator[str]:
    """The errors, of which the one that stopped all is said by each worker."""
    said = False
    for one in errors:
        ends = stopped is not None and one.endswith(stopped)
        if not (ends and said):
            yield one
        said = said or ends


def spoiled(row: FileOutcome, refusals: Mapping[str, Refusal]) -> FileOutcome:
    """The row of a file of which the store did not take all that its worker had sent.

    Args:
        row: as the worker gave it.
        refusals: what it did not take, by parser.
    """
    columns = dict(row.columns)
    for name, refusal in refusals.items():
        one = row.columns[name]
        stored = max(0, one.stored - refusal.chunks)
        columns[name] = replace(one, status="incomplete", stored=stored, error=refusal.why)
    return replace(row, status="incomplete", columns=columns) if refusals else row


class MergedProgress:
    """The steps of many runs, as those of one: sums over all that was and is under way."""

    def __init__(self) -> None:
        self._begun = bytearray()  # of each position, whether its file was
        self._files = 0
        self._over: dict[tuple[str, str], list[Progress]] = defaultdict(list)
        self._current: dict[int, dict[tuple[str, str], Progress]] = defaultdict(dict)
        self._started = time.perf_counter()

    def began(self, position: int, name: str, total: int | None) -> Progress:
        """A file was begun; one that is tried again does not count twice."""
        before = self._files
        self._begun.extend(bytes(max(0, position + 1 - len(self._begun))))
        self._files += not self._begun[position]
        self._begun[position] = True
        spent = time.perf_counter() - self._started
        left = spent / before * (total - before) if before and total else None
        return Progress("read", name, self._files, total, seconds_left=left)

    def step(self, batch: int, progress: Progress) -> Progress:
        """A step of the run of a batch."""
        key = progress.stage, progress.name
        self._current[batch][key] = progress
        return _sum([*self._over[key], *(one[key] for one in self._current.values() if key in one)])

    def over(self, batch: int, *, lost: bool = False) -> list[Progress]:
        """A batch is done, or will be done anew; its last steps."""
        steps = self._current.pop(batch, {})
        for key, progress in steps.items():
            if not lost:
                self._over[key] = [_sum([*self._over[key], progress])]
        return list(steps.values())


def _sum(steps: Sequence[Progress]) -> Progress:
    """Steps of one stage and name as one; what one of them does not know, nobody knows."""
    return replace(
        steps[-1],
        done=sum(one.done for one in steps),
        total=_known_sum([one.total for one in steps]),
        tokens=sum(one.tokens for one in steps),
        cost=_known_sum([one.cost for one in steps]),
    )


def _known_sum(values: Sequence[Number | None]) -> Number | None:
    known = [one for one in values if one is not None]
    return sum(known[1:], known[0]) if known and len(known) == len(values) else None
