"""Units of an ingest and what comes of them: plain data, which goes to other processes and back."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from rag_nodes.errors import EmptyFileError, MissingExtraError
from rag_nodes.metadata import READ_WARNINGS, SOURCE, SOURCE_HASH, TOTAL_PAGES, display_name
from rag_nodes.store.points import Point

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from llama_index.core.schema import Document
    from numpy.typing import NDArray

    from rag_nodes.ledger import FileRow
    from rag_nodes.pipeline.deposit import Deposit
    from rag_nodes.pipeline.known import KnownDocuments
    from rag_nodes.readers import ListedFile
    from rag_nodes.transforms import PromptKey


class DueFile(NamedTuple):
    """A file that is to be opened, or a document that was read already.

    Attributes:
        position: in the listing.
        file: as it was found; None for a document.
        document: that was given; None for a file.
        row: of the file, for the ledger; None where none is kept.
        twins: ids of documents of other files with the same bytes.
    """

    position: int
    file: ListedFile | None = None
    document: Document | None = None
    row: FileRow | None = None
    twins: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """In bytes or characters."""
        if self.document is not None:
            return len(self.document.text)
        return (self.file.size if self.file else 0) or 0

    @property
    def path(self) -> str:
        """For people."""
        if self.file is not None:
            return str(self.file.path)
        facts = self.document.metadata if self.document else {}
        return str(facts.get(SOURCE) or (self.document.id_ if self.document else ""))


class FileUnit(NamedTuple):
    """Files that are read, cut and embedded together.

    Attributes:
        files: them.
        known: what is stored of their documents.
        stopped: why columns have given up, by name, as other units found out.
    """

    files: tuple[DueFile, ...]
    known: KnownDocuments
    stopped: Mapping[str, str] = MappingProxyType({})

    def halves(self) -> tuple[FileUnit, ...]:
        """Two units of half the files each; none for a single file."""
        if len(self.files) == 1:
            return ()
        middle = len(self.files) // 2
        return self._replace(files=self.files[:middle]), self._replace(files=self.files[middle:])


class FoundDocument(NamedTuple):
    """What a file was found to hold: a document, without its text.

    Attributes:
        id: of the document.
        source_hash: of all its nodes are made of.
        name: what to call it.
        source: where its text came from, path or URL.
        pages: None for formats without pages.
        characters: of its text.
        warnings: what the reader could not take over; None where nothing.
    """

    id: str
    source_hash: str
    name: str
    source: str | None
    pages: int | None
    characters: int
    warnings: str | None

    @classmethod
    def of(cls, document: Document) -> Self:
        """What is to be known of a document that has a hash of all its nodes are made of."""
        facts = document.metadata
        return cls(
            document.id_,
            str(facts[SOURCE_HASH]),
            display_name(facts),
            facts.get(SOURCE),
            facts.get(TOTAL_PAGES),
            len(document.text),
            "; ".join(facts.get(READ_WARNINGS) or ()) or None,
        )


class Unread(NamedTuple):
    """Why a file, or a document in it, could not be read.

    Attributes:
        reason: in words, with the file and the remedy.
        is_empty: there is no text in it.
        extra: of rag-nodes that would read it, where that is all that is lacking.
    """

    reason: str
    is_empty: bool = False
    extra: str | None = None

    @classmethod
    def of(cls, error: Exception) -> Self:
        """The error of a reader."""
        cause = error.__cause__
        extra = cause.extra if isinstance(cause, MissingExtraError) else None
        return cls(str(error), isinstance(error, EmptyFileError), extra)


class DocumentRead(NamedTuple):
    """What became of one document of a file.

    Attributes:
        found: the document; None where there is none.
        unread: why not; of a blank document that was given both are there.
        seconds: that reading it took.
        deposits: what each column makes of it, in order; none where it could not be read.
    """

    found: FoundDocument | None
    unread: Unread | None
    seconds: float
    deposits: tuple[Deposit, ...] = ()


@dataclass(slots=True, eq=False)
class ColumnResult:
    """What a column made of a unit, its deposits apart.

    Attributes:
        points: to be stored, those of a document one after the other.
        errors: everything that went wrong, in order.
        stopped: why it gave up; None where it did not.
        embedded: tokens that the model was given.
        seconds: wall-clock time by stage.
    """

    points: list[Point] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    stopped: str | None = None
    embedded: int = 0
    seconds: dict[str, float] = field(default_factory=lambda: {"parse": 0.0, "embed": 0.0})

    def __reduce__(self) -> tuple[Any, ...]:
        packed = _Packed.of(self.points)
        return _column_result, (packed, self.errors, self.stopped, self.embedded, self.seconds)


@dataclass(slots=True, eq=False)
class Result:
    """What came of a unit.

    Attributes:
        reads: of each file, by the unit's order.
        columns: in order.
        spent: of each transformation by which an LLM writes: requests, tokens in and out.
        written: texts for journals that are elsewhere, by their paths.
        broken: what ended it before it was done; what is there by then is to be stored all the
            same, as it was paid for.
    """

    reads: list[list[DocumentRead]]
    columns: list[ColumnResult]
    spent: dict[int, tuple[int, int, int]] = field(default_factory=dict)
    written: dict[str, list[tuple[PromptKey, str]]] = field(default_factory=dict)
    broken: BaseException | None = None


class _Packed(NamedTuple):
    """Points side by side: what they have in numbers as four arrays, so that they travel fast.

    Vectors and weights of words have the precision of Qdrant, which keeps 32 bits.
    """

    node_ids: list[str]
    payloads: list[Mapping[str, Any]]
    ranked: list[int]
    vectors: NDArray[np.float32]
    words: NDArray[np.int32]
    indices: NDArray[np.uint32]
    weights: NDArray[np.float32]
    named: dict[str, tuple[list[int], NDArray[np.float32]]]

    @classmethod
    def of(cls, points: Sequence[Point]) -> Self:
        ranked = [number for number, one in enumerate(points) if one.vector is not None]
        having = [points[number] for number in ranked]
        names = sorted({name for one in points for name in one.named})
        places = {n: [i for i, one in enumerate(points) if n in one.named] for n in names}
        return cls(
            [one.node_id for one in points],
            [one.payload for one in points],
            ranked,
            _matrix(one.vector or () for one in having),
            np.array([len(one.words[0]) for one in having], dtype=np.int32),
            np.array([i for one in having for i in one.words[0]], dtype=np.uint32),
            np.array([w for one in having for w in one.words[1]], dtype=np.float32),
            {
                name: (own, _matrix(points[i].named[name] for i in own))
                for name, own in places.items()
            },
        )

    def points(self) -> list[Point]:
        made = list(map(Point, self.node_ids, self.payloads))
        indices, weights = self.indices.tolist(), self.weights.tolist()
        first = 0
        for number, row, count in zip(self.ranked, self.vectors, self.words.tolist(), strict=True):
            words = indices[first : first + count], weights[first : first + count]
            made[number] = made[number]._replace(vector=_row(row), words=words)
            first += count
        for name, (places, matrix) in self.named.items():
            for number, row in zip(places, matrix, strict=True):
                made[number] = made[number]._replace(named={**made[number].named, name: _row(row)})
        return made


def _column_result(packed: _Packed, *rest: Any) -> ColumnResult:
    return ColumnResult(packed.points(), *rest)


def _matrix(rows: Iterable[Sequence[float]]) -> NDArray[np.float32]:
    return np.array(list(rows), dtype=np.float32)


def _row(row: NDArray[np.float32]) -> array[float]:
    """A vector as what a store takes like a list; to make that takes longer than to store it."""
    return array("f", row.tobytes())
