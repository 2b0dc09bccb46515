"""Reports and progress of many runs made into those of one."""

from __future__ import annotations

import time
from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from rag_nodes.models.prices import cost_of
from rag_nodes.pipeline import ParserOutcome, Progress
from rag_nodes.pipeline.notes import summary

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from rag_nodes.models.prices import Prices
    from rag_nodes.pipeline import FileOutcome
    from rag_nodes.workers.messages import BatchFinished

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


class PartReport(NamedTuple):
    """What a worker said of a group of files.

    Attributes:
        position: of its first file.
        finished: the worker's last word.
    """

    position: int
    finished: BatchFinished


def merged_column(
    name: str,
    collection: str,
    parts: Sequence[PartReport],
    own: Sequence[str],
    *,
    stopped: str | None,
    unwritten: int,
    model: str,
    prices: Prices,
) -> ParserOutcome:
    """A parser's row over all files, as one run would give it, but for the seconds.

    Args:
        name: of the parser.
        collection: its collection.
        parts: sorted by position.
        own: errors that no worker saw, as the writer met them.
        stopped: why the parser gave up, which every worker will have said; None if it did not.
        unwritten: chunks that workers sent and the store did not take.
        model: that embedded, for its price.
        prices: see `rag_nodes.models.prices`.
    """
    found = [one for part in parts for one in part.finished.report.columns if one.parser == name]
    sums = {field: sum(getattr(one, field) for one in found) for field in _SUMS}
    sums["written"] -= unwritten
    errors = [*(said for part in parts for said in part.finished.errors.get(name, ())), *own]
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
        self._begun: set[int] = set()
        self._over: dict[tuple[str, str], list[Progress]] = defaultdict(list)
        self._current: dict[int, dict[tuple[str, str], Progress]] = defaultdict(dict)
        self._started = time.perf_counter()

    def began(self, position: int, name: str, total: int | None) -> Progress:
        """A file was begun; one that is tried again does not count twice."""
        before = len(self._begun)
        self._begun.add(position)
        spent = time.perf_counter() - self._started
        left = spent / before * (total - before) if before and total else None
        return Progress("read", name, len(self._begun), total, seconds_left=left)

    def step(self, batch: int, progress: Progress) -> Progress:
        """A step of the run of a batch."""
        key = progress.stage, progress.name
        self._current[batch][key] = progress
        return _sum([*self._over[key], *(one[key] for one in self._current.values() if key in one)])

    def over(self, batch: int, *, lost: bool = False) -> None:
        """A batch is done, or will be done anew."""
        for key, progress in self._current.pop(batch, {}).items():
            if not lost:
                self._over[key] = [_sum([*self._over[key], progress])]


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
