"""What is done for a unit of an ingest: read, cut, embed; nothing is stored here.

It neither has the store nor the ledger, so that it can be done anywhere, and twice: what comes of
it is a function of the files, the recipe and what is known of the documents.
"""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING

from rag_nodes.errors import CancelledError, EmptyFileError
from rag_nodes.pipeline.column import ColumnWork
from rag_nodes.pipeline.embedding import embed, requests_of
from rag_nodes.pipeline.identity import hashed
from rag_nodes.pipeline.requests import RequestsUnderWay
from rag_nodes.pipeline.units import DocumentRead, FoundDocument, Result, Unread
from rag_nodes.processes import current_interrupt
from rag_nodes.readers import read_listed
from rag_nodes.transforms import ChunkWriter

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from llama_index.core.schema import Document

    from rag_nodes.executors import PickledRecipe
    from rag_nodes.pipeline.embedding import Embedded, Waiting
    from rag_nodes.pipeline.recipe import IngestRecipe
    from rag_nodes.pipeline.units import DueFile, FileUnit
    from rag_nodes.readers import ReadResult

MOST_AT_ONCE = 8
"""Columns whose requests to a server are under way at the same time."""
GRACE = 5.0
"""Seconds for which a unit that is given up waits for what it has asked for."""


def work(recipe: IngestRecipe | PickledRecipe, unit: FileUnit) -> Result:
    """Read the files of a unit, cut them by every column, and embed the chunks.

    Errors of files, parsers and models are in the result, and what broke it off in this process.

    Raises:
        LedgerError: what is known of a document cannot be looked up.
    """
    made = recipe.made
    made.stopped.update(unit.stopped)
    writers = [one for one in made.steps if isinstance(one, ChunkWriter)]
    before = [one.spent for one in writers]
    columns = [ColumnWork(number, one, made, unit) for number, one in enumerate(made.columns)]
    result = Result([], [one.result for one in columns])
    try:
        for file in unit.files:
            result.reads.append([])
            for read in _documents(file, made):
                result.reads[-1].append(_cut(read, file, columns, made))
        _embed(columns, made)
    except BaseException as error:
        if made.tell is None:  # in another process, which has nothing to keep
            raise
        result.broken = error
    for one in columns:
        one.finish()
    for number, (step, then) in enumerate(zip(writers, before, strict=True)):
        now = step.spent
        result.spent[number] = (
            now.requests - then.requests,
            now.tokens_in - then.tokens_in,
            now.tokens_out - then.tokens_out,
        )
    result.written = {path: texts for path, one in made.returned.items() if (texts := one.taken())}
    return result


def _documents(
    file: DueFile, made: IngestRecipe
) -> Iterator[tuple[Document | None, Exception | None, float]]:
    """The documents of a file as they are read, each with its error and the seconds it took."""
    if file.document is not None:
        nothing = "the document has no text, so nothing of it is stored"
        is_blank = not file.document.text.strip()
        error = EmptyFileError(file.path, nothing, "check what made it") if is_blank else None
        yield file.document, error, 0.0
    elif file.file is not None:
        one: ReadResult
        for one in read_listed(file.file, limits=made.limits):
            yield one.document, one.error, one.seconds


def _cut(
    read: _Opened,
    file: DueFile,
    columns: Sequence[ColumnWork],
    made: IngestRecipe,
) -> DocumentRead:
    document, error, seconds = read
    if made.tell:
        made.tell("read", file.path, 0, 0)
    unread = Unread.of(error) if error else None
    if document is None:
        return DocumentRead(None, unread, seconds)
    document = hashed(document, made.identities)
    deposits = tuple(one.add(document, file.twins) for one in columns)
    return DocumentRead(FoundDocument.of(document), unread, seconds, deposits)


_Opened = tuple["Document | None", Exception | None, float]
"""A document of a file, its error, and the seconds that reading it took."""


def _embed(columns: Sequence[ColumnWork], made: IngestRecipe) -> None:
    """Have all that waits embedded, by several requests at a time where a server does it.

    Columns take turns. What would refuse every request is asked once: the first one of each column
    is waited for.
    """
    at_once = 0
    if not made.models.offline:
        at_once = (made.models.embedding.num_workers or 1) * min(len(columns), MOST_AT_ONCE)
    requests = RequestsUnderWay[ColumnWork, "Embedded"](at_once)
    parts = [list(requests_of(one.waiting, made.models)) for one in columns]
    try:
        for turn in zip_longest(*parts):
            for column, part in zip(columns, turn, strict=True):
                _ask(requests, column, part or [], made)
            if not made.has_embedded:
                _take_all(requests)
            made.has_embedded = True
        _take_all(requests)
    except (CancelledError, KeyboardInterrupt):
        for column, answer in requests.settled(GRACE):
            column.take(answer)
        raise


def _ask(
    requests: RequestsUnderWay[ColumnWork, Embedded],
    column: ColumnWork,
    part: Waiting,
    made: IngestRecipe,
) -> None:
    """Start a request; those before it are taken where they are answered, or too many."""
    if not part:
        return
    while requests.is_answered or len(requests) >= max(1, requests.at_once):
        _take(requests)
    current_interrupt().check(f"{column.column.name}: embedding")
    if why := made.stopped.get(column.column.name):
        column.give_up(why)
        return

    def asked() -> Embedded:
        with column.embedded.counting():
            return embed(part, column.column.pipeline.embedding, made.models.embedding_name)

    with column.timed("embed"):
        requests.start(column, asked)
    if not requests.at_once:
        _take(requests)


def _take_all(requests: RequestsUnderWay[ColumnWork, Embedded]) -> None:
    while len(requests):
        _take(requests)


def _take(requests: RequestsUnderWay[ColumnWork, Embedded]) -> None:
    with requests.first.timed("embed"):
        column, answer = requests.take()
    column.take(answer)
