"""What workers and their driver tell each other: plain data, and the same as bytes.

Bytes and no pickle: the worker has read what may be hostile, so what it says is data to be checked.
Vectors and payloads go as they are stored, side by side, never as nodes: making JSON of vectors
costs more than computing them.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, get_args

from rag_nodes.errors import RagNodesError
from rag_nodes.ledger import DepositRow
from rag_nodes.pipeline import IngestReport, Progress, WriterOutcome
from rag_nodes.pipeline.found import FoundDocument
from rag_nodes.processes import pack_error, unpack_error
from rag_nodes.store import StoredNode
from rag_nodes.workers.packing import PackedPoints
from rag_nodes.workers.transport import CannotWork, checked

Stored = Mapping[str, Mapping[str, Mapping[str, StoredNode]]]
"""What is stored: nodes by id, by document, by collection."""
Vectors = Mapping[str, Mapping[str, Mapping[str, tuple[str, list[float]]]]]
"""What stored nodes were embedded as, by node, by name, by collection; see `Store.vectors`."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Files that one worker ingests at a time.

    Attributes:
        number: of the batch; no two have the same.
        files: paths, as they are to stand in the report.
        stored: what is stored of their documents, for a worker that cannot look.
        vectors: what these were embedded as, where embedding them again would cost something.
        refused: why nothing is to be stored any more, by collection.
        twins: of each file ids of documents of the same bytes; empty where there are none at all.
        own: ids of nodes, by collection, that workers who died have begun to write in this ingest.
    """

    number: int
    files: tuple[str, ...]
    stored: Stored = field(default_factory=dict)
    vectors: Vectors = field(default_factory=dict)
    refused: Mapping[str, str] = field(default_factory=dict)
    twins: tuple[tuple[str, ...], ...] = ()
    own: Mapping[str, Sequence[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Began:
    """A file is about to be opened: if the worker dies now, it probably is by this file.

    Attributes:
        file: position in the batch; the number of its files where all of them were read, and what
            is left is embedding and storing.
    """

    file: int


@dataclass(frozen=True, slots=True)
class Progressed:
    """A step of the run of this batch."""

    progress: Progress


@dataclass(frozen=True, slots=True)
class Paid:
    """What LLMs wrote for this batch so far."""

    writers: tuple[WriterOutcome, ...]


@dataclass(frozen=True, slots=True)
class Deleted:
    """Nodes that are to go: what replaces them was sent before."""

    collection: str
    node_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FileNote:
    """What a file became, for the books: each of its documents and errors, one after another.

    Attributes:
        file: position in the batch.
        found: a document of it.
        error: why there is none.
    """

    file: int
    found: FoundDocument | None
    error: RagNodesError | None


@dataclass(frozen=True, slots=True)
class Unsettled:
    """Documents that will be changed next; see `CollectionRecord.unsettle`."""

    collection: str
    documents: Mapping[str, tuple[str, ...]]
    dimension: int | None


@dataclass(frozen=True, slots=True)
class Settled:
    """Documents that are stored whole if all is that was sent before.

    Attributes:
        collection: of which.
        rows: what a ledger says of them.
        deleted: former nodes of theirs that went.
    """

    collection: str
    rows: tuple[DepositRow, ...]
    deleted: int


@dataclass(frozen=True, slots=True)
class NotStored:
    """Documents that are not stored whole, and why; see `CollectionRecord.fail`."""

    collection: str
    errors: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class BatchFinished:
    """The batch is done, and all that is to be stored of it was sent before.

    Attributes:
        report: what the run of these files gave.
        rows: for each row of its files, the position in the batch of the file it is of.
        errors: everything that went wrong, by parser, in order.
        stopped: why a parser gave up, by parser: what the next batch would fail by, too.
    """

    report: IngestReport
    rows: tuple[int, ...]
    errors: Mapping[str, tuple[str, ...]]
    stopped: Mapping[str, str]


Message = (
    Began
    | Progressed
    | Paid
    | PackedPoints
    | Deleted
    | FileNote
    | Unsettled
    | Settled
    | NotStored
    | BatchFinished
    | CannotWork
)
"""What a worker says, in order."""


def misfit(message: Message, files: int, collections: Collection[str]) -> str | None:
    """Why a message cannot be about a batch of so many files; None where it can."""
    match message:
        case Began(file):
            fits = 0 <= file <= files
        case FileNote(file):
            fits = 0 <= file < files
        case PackedPoints() | Deleted() | Unsettled() | Settled() | NotStored():
            fits = message.collection in collections
        case BatchFinished(report, rows):
            fits = len(rows) == len(report.files) and all(0 <= one < files for one in rows)
        case _:
            fits = True
    return None if fits else f"it said {type(message).__name__} of what was not its task"


_KINDS: dict[str, type] = {kind.__name__: kind for kind in get_args(Message)}
_LENGTH = struct.Struct(">I")


def pack(message: Message) -> bytes:
    """A message as bytes."""
    parts: tuple[bytes, ...] = ()
    content: Any
    match message:
        case PackedPoints():
            content, parts = message.header(), message.parts()
        case CannotWork():
            content = pack_error(message.error)
        case FileNote(file, found, error):
            content = [file, found, pack_error(error) if error else None]
        case _:
            content = asdict(message)
    header = json.dumps([type(message).__name__, content, list(map(len, parts))])
    head = header.encode("utf-8", "surrogatepass")
    return b"".join((_LENGTH.pack(len(head)), head, *parts))


def unpack(data: bytes) -> Message:
    """Undo `pack`.

    Raises:
        ValueError: it is no message.
    """
    try:
        (length,) = _LENGTH.unpack_from(data)
        head = data[_LENGTH.size : _LENGTH.size + length]
        kind, content, sizes = json.loads(head.decode("utf-8", "surrogatepass"))
        parts, first = [], _LENGTH.size + length
        for size in sizes:
            parts.append(memoryview(data)[first : first + size])
            first += size
        return _made(_KINDS[kind], content, parts)
    except (KeyError, TypeError, AttributeError, IndexError, RecursionError, struct.error) as error:
        raise ValueError(f"not a message of a worker: {type(error).__name__}: {error}") from error


def _made(kind: type, content: Any, parts: list[memoryview]) -> Message:
    if kind is PackedPoints:
        return PackedPoints.of_parts(content, parts)
    if kind is CannotWork:
        return CannotWork(unpack_error(content))
    if kind is FileNote:
        file, found, error = content
        return FileNote(
            checked(int, file),
            checked(FoundDocument, found) if found else None,
            unpack_error(error) if error else None,
        )
    made: Message = checked(kind, content)
    return made


def pack_batch(batch: Batch) -> bytes:
    """A batch as bytes."""
    return json.dumps(asdict(batch)).encode("utf-8", "surrogatepass")


def unpack_batch(data: bytes) -> Batch:
    """Undo `pack_batch`.

    Raises:
        ValueError: it is no batch.
    """
    try:
        given = json.loads(data.decode("utf-8", "surrogatepass"))
        stored = {
            collection: {
                document: {node: StoredNode(*facts) for node, facts in nodes.items()}
                for document, nodes in documents.items()
            }
            for collection, documents in given["stored"].items()
        }
        vectors = {
            collection: {
                name: {node: (text, vector) for node, (text, vector) in nodes.items()}
                for name, nodes in named.items()
            }
            for collection, named in given["vectors"].items()
        }
        files, twins = tuple(given["files"]), tuple(map(tuple, given["twins"]))
        own = {collection: tuple(ids) for collection, ids in given["own"].items()}
        return Batch(given["number"], files, stored, vectors, dict(given["refused"]), twins, own)
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"not a batch: {type(error).__name__}: {error}") from error
