"""What is done for a unit of an ingest: read, cut, embed; nothing is stored here.

It neither has the store nor the ledger, so that it can be done anywhere, and twice: what comes of
it is a function of the files, the recipe and what is known of the documents.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

from rag_nodes.errors import EmptyFileError, MissingExtraError
from rag_nodes.executors import working_on
from rag_nodes.ledger import DocumentRow
from rag_nodes.metadata import READ_WARNINGS, SOURCE, SOURCE_HASH, TOTAL_PAGES, display_name
from rag_nodes.pipeline.column_work import ColumnWork
from rag_nodes.pipeline.embedding import embed_all
from rag_nodes.pipeline.recipe import hashed
from rag_nodes.pipeline.units import DocumentRead, Result
from rag_nodes.readers import read_listed
from rag_nodes.transforms import ChunkWriter

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from llama_index.core.schema import Document

    from rag_nodes.pipeline.recipe import IngestRecipe, Tell
    from rag_nodes.pipeline.units import DueFile, FileUnit
    from rag_nodes.readers import ReadResult
    from rag_nodes.store.points import Point


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
        embed_all(columns, recipe)
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
    result.written = {
        path: texts for path, one in recipe.returned.items() if (texts := one.taken())
    }
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
