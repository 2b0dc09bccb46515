"""Work on a unit of an ingest: read, split, embed; nothing is stored here.

It neither has the store nor the ledger, so that it can be done anywhere, and twice: what comes of
it is a function of the files, the recipe and what the unit says is known of the documents.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

from llama_index.core import instrumentation
from llama_index.core.instrumentation.dispatcher import active_instrument_tags, instrument_tags  # type: ignore[attr-defined] # re-exported
from llama_index.core.schema import Document

from rag_nodes.core.errors import DimensionError, ModelError, ParseError
from rag_nodes.core.metadata import SOURCE_HASH, SUMMARY_ERROR, page_name
from rag_nodes.embedding import SectionSummary
from rag_nodes.embedding.build import is_ready
from rag_nodes.embedding.column import SplittingColumn
from rag_nodes.embedding.failures import said, without_text
from rag_nodes.embedding.requests import embed
from rag_nodes.models.executors import working_on
from rag_nodes.parsers.parent_child import is_leaf
from rag_nodes.pipeline.ledger import StoredDocument, version_of
from rag_nodes.pipeline.recipe import hashed
from rag_nodes.pipeline.units import ColumnResult, DocumentRead, DocumentResult, UnitResult
from rag_nodes.readers import COLLECTIONS, read_listed
from rag_nodes.store.payload import points_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from llama_index.core.schema import BaseNode

    from rag_nodes.embedding.column import Tell
    from rag_nodes.embedding.report import Counts
    from rag_nodes.embedding.requests import Embedded
    from rag_nodes.pipeline.recipe import IngestRecipe
    from rag_nodes.pipeline.units import DueFile, FileUnit, StoredChunks
    from rag_nodes.readers import ReadResult
    from rag_nodes.store.engine import Point

    Waiting = list[tuple[BaseNode, DocumentResult]]
    """Nodes that are to be stored, each with the document it belongs to."""

_NO_CHUNKS = (
    "no collection of this parser holds it whole, or its splitter's code may have changed; ingest "
    "its file"
)


dispatcher = instrumentation.get_dispatcher(__name__)  # type: ignore[attr-defined] # re-exported


def work(recipe: IngestRecipe, unit: FileUnit) -> UnitResult:
    """Read the files of a unit, split them by every column, and embed the chunks.

    Errors of files, parsers and models are in the result, and what broke it off in this process.
    """
    is_here = recipe.tell is not None
    result = UnitResult([])
    tell: Tell = recipe.tell or (lambda *step: result.steps.append(step))
    columns = [ColumnWork(n, name, recipe, unit, tell) for n, name in enumerate(recipe.parsers)]
    result.columns += [column.result for column in columns]
    try:
        for number, file in enumerate(unit.files):
            working_on(number)
            result.reads.append([])
            with instrument_tags({**active_instrument_tags.get(), "file": file.path}):
                for read in _reads(file, columns, recipe, tell):
                    result.reads[-1].append(read)
        working_on(None)
        recipe.has_embedded = embed(columns, recipe.models, has_answered=recipe.has_embedded)
    except BaseException as error:
        if not is_here:  # another process has nothing to keep
            raise
        result.broken = error
    for column in columns:
        column.finish(is_packed=not is_here)
    return result


def _reads(
    file: DueFile, columns: Sequence[ColumnWork], recipe: IngestRecipe, tell: Tell
) -> Iterator[DocumentRead]:
    """Read a file and have every column split its documents; stored chunks are neither."""
    if file.stored:
        for column in columns:
            column.add_stored(file.stored)
        tell("read", file.path, 0, 0)
        yield DocumentRead(file.stored.row)
    for document, error, seconds in _documents(file, recipe):
        tell("read", file.path, 0, 0)
        whole = hashed(document, recipe.origins.steps) if document else None
        if whole:
            for column in columns:
                column.add(whole)
        yield DocumentRead.of(file, whole, seconds, error)


@dispatcher.span
def read_document(results: Iterator[ReadResult]) -> ReadResult | None:
    """Read the next document of a file; None at its end. It is a span of a trace."""
    return next(results, None)


def _documents(
    file: DueFile, recipe: IngestRecipe
) -> Iterator[tuple[Document | None, Exception | None, float]]:
    """The documents of a file as they are read, each with its error and the seconds it took."""
    if file.document is not None:
        document = file.document
        if document.text.strip():
            yield document, None, 0.0
            return
        # Its chunks of before go; what is not text has none.
        blank = Document(id_=document.id_, metadata=document.metadata)
        yield blank, without_text(document, file.path), 0.0
    elif file.file is not None:
        results = read_listed(file.file, limits=recipe.limits)
        while result := read_document(results):
            if result.document:
                result.document.metadata.update(file.own)
            yield result.document, result.error, result.seconds
            if file.file.path.suffix.lower() not in COLLECTIONS:
                break  # a look for another document would be a span, too


class ColumnWork(SplittingColumn[DocumentResult]):
    """One column's part of a unit: nodes, vectors, points."""

    def __init__(
        self, number: int, name: str, recipe: IngestRecipe, unit: FileUnit, tell: Tell
    ) -> None:
        self.result = ColumnResult(stopped=unit.stopped.get(name))
        vectors = unit.vectors.get(number)
        super().__init__(
            name,
            recipe.parsers[name],
            recipe.models,
            self.result,
            tell,
            vector_of=vectors.get if vectors else None,
            transformations=recipe.steps,
        )
        self._number, self._recipe, self._unit = number, recipe, unit
        self._dimension = unit.dimensions[number]

    def add(self, document: Document) -> None:
        """Split one document, unless it is stored whole, and have its chunks wait for vectors.

        It replaces another version of the same document, of which nothing is embedded.
        """
        code = self._recipe.origins.codes[self.name]
        version = version_of(str(document.metadata[SOURCE_HASH]), code)
        previous = self.result.documents.get(document.id_)
        if previous and previous.stored.version == version:
            return
        if previous:
            self.waiting = [pair for pair in self.waiting if pair[1] is not previous]
        if result := self._begun(document.id_, page_name(document.metadata), version):
            self.split(document, result, self._recipe.parse)

    def add_stored(self, stored: StoredChunks) -> None:
        """Have the stored chunks of a document wait for vectors, unless it is stored whole."""
        version, nodes = stored.versions[self._number], stored.nodes[self._number]
        result = self._begun(stored.row.id, stored.row.name, version)
        if result and self.log.stopped:
            result.fail(self.log.stopped)
        elif result:
            with self.failures_noted(result):
                if nodes is None:
                    raise ParseError(_NO_CHUNKS)
                self.take(result, [*nodes])

    def _begun(self, document_id: str, name: str, version: str) -> DocumentResult | None:
        """Note the result of a document; None if it is stored whole in this version."""
        label = name or document_id
        row = self._unit.documents.get((self._number, document_id))
        if row and row.version == version:
            self.result.documents[document_id] = DocumentResult.known(label, row)
            return None
        result = DocumentResult(label, StoredDocument("", document_id, version))
        self.result.documents[document_id] = result
        return result

    def taken(self, result: DocumentResult, nodes: list[BaseNode], counts: Counts) -> None:
        """Give the nodes their version, and keep their ids, and their counts for the ledger."""
        for node in nodes:
            node.metadata[SOURCE_HASH] = result.stored.version
        self._note_missing_summaries(nodes, result)
        result.stored = result.stored._replace(**counts._asdict())
        result.ids = tuple(node.node_id for node in nodes)
        result.is_cut, result.missing = True, counts.chunks

    def _note_missing_summaries(self, nodes: Sequence[BaseNode], result: DocumentResult) -> None:
        """Have chunks be due again which an LLM was to summarise and did not.

        They are stored without a summary meanwhile.
        """
        is_asked = any(isinstance(step, SectionSummary) for step in self._recipe.steps)
        unwritten = [node for node in nodes if is_asked and SUMMARY_ERROR in node.metadata]
        if not unwritten:
            return
        for node in unwritten:  # another version
            node.metadata[SOURCE_HASH] = f"{result.stored.version} unwritten"
        error = ModelError(
            f"an LLM summarised {len(nodes) - len(unwritten)} of {len(nodes)} chunks; the others "
            f"are stored without a summary ({unwritten[0].metadata[SUMMARY_ERROR]}); ingest again "
            "to have them summarised"
        )
        result.lacks_summaries = True
        result.fail(said(error))
        self.note_error(result.label, error)

    def receive(self, embedded: Embedded[DocumentResult]) -> None:
        """Note the outcome of a request, whose vectors must be as long as the stored ones."""
        error = embedded.error or self._error_of_length(embedded.part)
        super().receive(embedded._replace(error=error))

    def _error_of_length(self, part: Waiting) -> DimensionError | None:
        """Take away vectors that are not as long as those of the collection, and say why."""
        lengths = [len(node.embedding) for node, _ in part if node.embedding]
        if self._dimension is None and lengths:
            self._dimension = lengths[0]
        other = next((length for length in lengths if length != self._dimension), None)
        if other is None:
            return None
        for node, _ in part:
            node.embedding = None
        return DimensionError(
            f"the collection holds vectors of length {self._dimension}, got {other}; use the "
            "embedding model it was made with, or another corpus name"
        )

    def finish(self, *, is_packed: bool) -> None:
        """Make points of chunks that have vectors now, and of parents that belong to them."""
        self.result.embedded = self.embedded.tokens
        nodes: dict[int, list[BaseNode]] = {}
        for node, result in self.waiting:
            nodes.setdefault(id(result), []).append(node)
        for result in self.result.documents.values():
            own = nodes.get(id(result), [])
            ready = sum(map(is_ready, own))
            lacking = result.missing - ready
            if lacking and self.result.stopped:
                result.fail(self.result.stopped)
            # A family of which no child is to be stored is not begun.
            with_parents = ready or not lacking
            due = [node for node in own if is_ready(node) or (with_parents and not is_leaf(node))]
            with self.failures_noted(result):
                points = points_of(due)
                result.points = list(map(_packed, points)) if is_packed else points
                result.missing = lacking


def _packed(point: Point) -> Point:
    """With its vector as an array, which pickles fast, and in the precision that Qdrant keeps."""
    vector = None if point.vector is None else array("f", point.vector)
    return point._replace(vector=vector)
