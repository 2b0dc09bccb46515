"""What is done for a unit of an ingest: read, cut, embed; nothing is stored here.

It neither has the store nor the ledger, so that it can be done anywhere, and twice: what comes of
it is a function of the files, the recipe and what is known of the documents. Chunks are embedded
request by request; one that is refused costs no other.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from array import array
from collections import deque
from concurrent.futures import Future, wait
from contextvars import copy_context
from itertools import zip_longest
from typing import TYPE_CHECKING

from llama_index.core.schema import MetadataMode

from rag_nodes.errors import (
    CancelledError,
    EmptyFileError,
    MissingExtraError,
    ModelRequestError,
    ModelResponseError,
    RagNodesError,
    UnknownModelError,
)
from rag_nodes.executors import working_on
from rag_nodes.ledger import DocumentRow
from rag_nodes.metadata import READ_WARNINGS, SOURCE, SOURCE_HASH, TOTAL_PAGES, display_name
from rag_nodes.models import failure_of
from rag_nodes.pipeline.build import is_due
from rag_nodes.pipeline.column_work import ColumnWork, Embedded
from rag_nodes.pipeline.recipe import hashed
from rag_nodes.pipeline.units import DocumentRead, Result
from rag_nodes.processes import current_interrupt
from rag_nodes.readers import read_listed
from rag_nodes.transforms import ChunkWriter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from llama_index.core.schema import BaseNode, Document

    from rag_nodes.models import Models
    from rag_nodes.pipeline.build import LeafEmbedding
    from rag_nodes.pipeline.column_work import Waiting
    from rag_nodes.pipeline.recipe import IngestRecipe, Tell
    from rag_nodes.pipeline.units import DocumentResult, DueFile, FileUnit
    from rag_nodes.readers import ReadResult
    from rag_nodes.store.points import Point

    Asked = deque[tuple[ColumnWork, Future[Embedded]]]
    """Requests that were made and not taken, in order."""

logger = logging.getLogger(__name__)
MOST_AT_ONCE = 8
"""Columns whose requests to a server are under way at the same time."""
GRACE = 5.0
"""Seconds for which a unit that is given up waits for what it has asked for."""
_POLL = 0.1
"""Seconds after which a request that is waited for notices that it was given up."""


def work(recipe: IngestRecipe, unit: FileUnit) -> Result:
    """Read the files of a unit, cut them by every column, and embed the chunks.

    Errors of files, parsers and models are in the result, and what broke it off in this process.

    Raises:
        LedgerError: what is known of a document cannot be looked up.
    """
    recipe.stopped.update(unit.stopped)
    result = Result([], [])
    tell: Tell = recipe.tell or (lambda *step: result.steps.append(step))
    writers = [one for one in recipe.steps if isinstance(one, ChunkWriter)]
    before = [one.spent for one in writers]
    columns = [ColumnWork(n, one, recipe, unit.known, tell) for n, one in enumerate(recipe.columns)]
    result.columns += [one.result for one in columns]
    try:
        for number, file in enumerate(unit.files):
            working_on(number)
            result.reads.append([])
            for read in _reads(file, columns, recipe, tell):
                result.reads[-1].append(read)
        working_on(None)
        _embed_all(columns, recipe)
    except BaseException as error:
        if recipe.tell is None:  # in another process, which has nothing to keep
            raise
        result.broken = error
    for one in columns:
        one.finish()
    if recipe.tell is None:
        _pack(result)
    for number, (step, then) in enumerate(zip(writers, before, strict=True)):
        now = step.spent
        result.spent[number] = (
            now.requests - then.requests,
            now.tokens_in - then.tokens_in,
            now.tokens_out - then.tokens_out,
        )
    return result


def _reads(
    file: DueFile, columns: Sequence[ColumnWork], recipe: IngestRecipe, tell: Tell
) -> Iterator[DocumentRead]:
    """Read a file and have every column cut its documents."""
    for document, error, seconds in _documents(file, recipe):
        tell("read", file.path, 0, 0)
        if document is None:
            yield _read(None, seconds, error)
            continue
        whole = hashed(document, recipe.identities)
        for one in columns:
            one.add(whole, file.twins)
        yield _read(_row(whole), seconds, error)


def _documents(
    file: DueFile, recipe: IngestRecipe
) -> Iterator[tuple[Document | None, Exception | None, float]]:
    """The documents of a file as they are read, each with its error and the seconds it took."""
    if file.document is not None:
        nothing = "the document has no text, so nothing of it is stored"
        is_blank = not file.document.text.strip()
        error = EmptyFileError(file.path, nothing, "check what made it") if is_blank else None
        yield file.document, error, 0.0
    elif file.file is not None:
        one: ReadResult
        for one in read_listed(file.file, limits=recipe.limits):
            yield one.document, one.error, one.seconds


def _row(document: Document) -> DocumentRow:
    """What is to be known of a document that has its hash; of which file is not said."""
    facts = document.metadata
    return DocumentRow(
        "",
        "",
        document.id_,
        str(facts[SOURCE_HASH]),
        display_name(facts),
        facts.get(SOURCE),
        facts.get(TOTAL_PAGES),
        len(document.text),
        "; ".join(facts.get(READ_WARNINGS) or ()) or None,
    )


def _read(row: DocumentRow | None, seconds: float, error: Exception | None) -> DocumentRead:
    if error is None:
        return DocumentRead(row, seconds)
    cause = error.__cause__
    extra = cause.extra if isinstance(cause, MissingExtraError) else None
    return DocumentRead(row, seconds, str(error), isinstance(error, EmptyFileError), extra)


def _pack(result: Result) -> None:
    """Make numbers of points into arrays, which pickle fast.

    They have the precision of Qdrant, which keeps 32 bits, and are taken like lists.
    """
    for column in result.columns:
        for one in column.documents.values():
            one.points = [_packed(point) for point in one.points]


def _packed(point: Point) -> Point:
    vector = None if point.vector is None else array("f", point.vector)
    named = {name: array("f", further) for name, further in point.named.items()}
    return point._replace(vector=vector, named=named)


def _embed_all(columns: Sequence[ColumnWork], recipe: IngestRecipe) -> None:
    """Have all that waits embedded, by several requests at a time where a server does it.

    Columns take turns. What would refuse every request is asked once: the first one of each column
    is waited for.
    """
    at_once = 0
    if not recipe.models.offline:
        at_once = (recipe.models.embedding.num_workers or 1) * min(len(columns), MOST_AT_ONCE)
    asked: Asked = deque()
    parts = [list(_requests(one.waiting, recipe.models)) for one in columns]
    try:
        for turn in zip_longest(*parts):
            for column, part in zip(columns, turn, strict=True):
                _take(asked, leaving=max(0, at_once - 1))
                if part and column.may_ask():
                    _ask(asked, column, part, recipe, is_threaded=bool(at_once))
            if not recipe.has_embedded:
                _take(asked)
            recipe.has_embedded = True
        _take(asked)
    except (CancelledError, KeyboardInterrupt):
        wait([answer for _, answer in asked], GRACE)
        for column, answer in filter(lambda one: one[1].done(), asked):
            column.take(answer.result())
        raise


def _ask(
    asked: Asked, column: ColumnWork, part: Waiting, recipe: IngestRecipe, *, is_threaded: bool
) -> None:
    """Make a request, in a thread of its own where a server answers it."""

    def ask() -> Embedded:
        with column.embedded.counting():
            return _embed(part, column.pipeline.embedding, recipe.models.embedding_name)

    if is_threaded:
        asked.append((column, _in_thread(ask)))
        return
    with column.timed("embed"):
        answer: Future[Embedded] = Future()
        answer.set_result(ask())
    asked.append((column, answer))


def _in_thread(ask: Callable[[], Embedded]) -> Future[Embedded]:
    """What a function gives in a thread, which knows the context of this one.

    It is a daemon, unlike those of an executor: a server that never answers keeps no process alive.
    """
    answer: Future[Embedded] = Future()

    def run() -> None:
        try:
            answer.set_result(ask())
        except BaseException as error:  # noqa: BLE001 -- raised where it is waited for
            answer.set_exception(error)

    threading.Thread(target=copy_context().run, args=(run,), daemon=True, name="embedding").start()
    return answer


def _take(asked: Asked, leaving: int = 0) -> None:
    """Keep what came of the first requests: of those with an answer, and until few are left.

    Raises:
        CancelledError: see `interruptible`; the request that was waited for stays.
    """
    while asked and (len(asked) > leaving or asked[0][1].done()):
        column, answer = asked[0]
        with column.timed("embed"):
            while not answer.done():
                current_interrupt().check("embedding")
                wait([answer], _POLL)
        asked.popleft()
        column.take(answer.result())


def _requests(waiting: Waiting, models: Models) -> Iterator[Waiting]:
    """What is to be embedded in runs that a server takes with one request; offline all at once."""
    due = [(node, document) for node, document in waiting if is_due(node)]
    if models.offline:
        if due:
            yield due
        return
    from rag_nodes.models.pacing import request_bytes

    most = request_bytes(models.embedding)
    part: Waiting = []
    size = 0
    for node, document in due:
        length = len(node.get_content(MetadataMode.EMBED).encode("utf-8", "replace"))
        if part and (len(part) == models.embedding.embed_batch_size or size + length > most):
            yield part
            part, size = [], 0
        part.append((node, document))
        size += length
    if part:
        yield part


def _embed(part: Waiting, step: LeafEmbedding, model: str) -> Embedded:
    """Give chunks their vectors; where a request is refused, each chunk goes alone."""
    try:
        _run([node for node, _ in part], step, model)
    except UnknownModelError as error:  # every chunk would be refused alike
        return Embedded(part, error=error)
    except ModelRequestError as error:
        if len(part) > 1:
            logger.info("a request was refused, embedding its chunks one by one")
            return _one_by_one(part, step, model)
        [(node, document)] = part
        return Embedded(part, [(node, document, error)])
    except Exception as error:  # noqa: BLE001 - whoever stores the others raises it
        return Embedded(part, error=error)
    return Embedded(part)


def _one_by_one(part: Waiting, step: LeafEmbedding, model: str) -> Embedded:
    """As `embed`; what was answered before something else failed is kept, as it was paid for."""
    refused: list[tuple[BaseNode, DocumentResult, ModelRequestError]] = []
    for alone in part:
        one = _embed([alone], step, model)
        refused.extend(one.refused)
        if one.error:
            return Embedded(part, refused, one.error)
    return Embedded(part, refused)


def _run(nodes: list[BaseNode], step: LeafEmbedding, model: str) -> None:
    try:
        step(nodes)
    except RagNodesError:
        raise
    except asyncio.CancelledError as error:  # by a client with a loop of its own; no `Exception`
        raise ModelResponseError(f"{model}: its client gave the request up; try again") from error
    except Exception as error:
        # Any LlamaIndex embedding can be plugged in, and each raises its provider's errors.
        raise failure_of(error, step.embed_model, name=model) from error
