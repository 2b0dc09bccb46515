"""What is done for a unit of an ingest: read, cut, embed; nothing is stored here.

It neither has the store nor the ledger, so that it can be done anywhere, and twice: what comes of
it is a function of the files, the recipe and what the unit says is known of the documents.
"""

from __future__ import annotations

import asyncio
import time
from array import array
from contextlib import contextmanager
from typing import TYPE_CHECKING

from llama_index.core.schema import Document, MetadataMode

from rag_nodes.core.errors import (
    CancelledError,
    DimensionError,
    ModelError,
)
from rag_nodes.core.metadata import (
    DECISION,
    SOURCE_HASH,
    START_CHAR,
    SUMMARY_ERROR,
    page_name,
)
from rag_nodes.core.processes import current_interrupt
from rag_nodes.embedding import SectionSummary
from rag_nodes.embedding.build import (
    behind_parser,
    identify,
    is_ready,
    lacks_vector,
    tokens_of,
)
from rag_nodes.embedding.failures import HOPELESS, noted, said, without_text
from rag_nodes.embedding.requests import EmbeddedTokens, embed
from rag_nodes.models.executors import working_on
from rag_nodes.parsers.parent_child import is_leaf, parents_first
from rag_nodes.pipeline.ledger import StoredDocument
from rag_nodes.pipeline.recipe import hashed, made_by
from rag_nodes.pipeline.units import (
    ColumnResult,
    DocumentRead,
    DocumentResult,
    UnitResult,
)
from rag_nodes.readers import read_listed
from rag_nodes.store.payload import points_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from llama_index.core.schema import BaseNode

    from rag_nodes.embedding.requests import Embedded
    from rag_nodes.pipeline.recipe import IngestRecipe
    from rag_nodes.pipeline.units import DueFile, FileUnit, Tell
    from rag_nodes.store.engine import Point

    Waiting = list[tuple[BaseNode, DocumentResult]]
    """Nodes that are to be stored, each with the document it belongs to."""


def work(recipe: IngestRecipe, unit: FileUnit) -> UnitResult:
    """Read the files of a unit, cut them by every column, and embed the chunks.

    Errors of files, parsers and models are in the result, and what broke it off in this process.
    """
    is_here = recipe.tell is not None
    result = UnitResult([])
    tell: Tell = recipe.tell or (lambda *step: result.steps.append(step))
    columns = [ColumnWork(n, one, recipe, unit, tell) for n, one in enumerate(recipe.parsers)]
    result.columns += [one.result for one in columns]
    try:
        for number, file in enumerate(unit.files):
            working_on(number)
            result.reads.append([])
            for read in _reads(file, columns, recipe, tell):
                result.reads[-1].append(read)
        working_on(None)
        recipe.has_embedded = embed(columns, recipe.models, has_answered=recipe.has_embedded)
    except BaseException as error:
        if not is_here:  # another process has nothing to keep
            raise
        result.broken = error
    for one in columns:
        one.finish(is_packed=not is_here)
    return result


def _reads(
    file: DueFile, columns: Sequence[ColumnWork], recipe: IngestRecipe, tell: Tell
) -> Iterator[DocumentRead]:
    """Read a file and have every column cut its documents."""
    for document, error, seconds in _documents(file, recipe):
        tell("read", file.path, 0, 0)
        whole = hashed(document, recipe.origins.steps) if document else None
        if whole:
            for one in columns:
                one.add(whole)
        yield DocumentRead.of(file, whole, seconds, error)


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
        for one in read_listed(file.file, limits=recipe.limits):
            yield one.document, one.error, one.seconds


class ColumnWork:
    """One column's part of a unit: nodes, vectors, points."""

    def __init__(
        self, number: int, name: str, recipe: IngestRecipe, unit: FileUnit, tell: Tell
    ) -> None:
        self.name, self.result = name, ColumnResult(stopped=unit.stopped.get(name))
        self.waiting: Waiting = []
        self.embedded = EmbeddedTokens(recipe.models.embedding)
        self._parser = recipe.parsers[name]
        self._behind = behind_parser(self._parser, recipe.steps)
        self._number, self._recipe, self._unit, self._tell = number, recipe, unit, tell
        self._told = 0
        self._dimension = unit.dimensions[number]

    def add(self, document: Document) -> None:
        """Cut one document, unless it is stored whole, and have its chunks wait to be embedded.

        In the place of another version of it, of which nothing is embedded.
        """
        document = made_by(self._recipe.origins.codes[self.name], document)
        version = str(document.metadata[SOURCE_HASH])
        former = self.result.documents.get(document.id_)
        if former and former.stored.version == version:
            return
        if former:
            self.waiting = [(node, of) for node, of in self.waiting if of is not former]
        label = page_name(document.metadata) or document.id_
        row = self._unit.documents.get((self._number, document.id_))
        if row and row.version == version:
            self.result.documents[document.id_] = DocumentResult.known(label, row)
            return
        made = DocumentResult(label, StoredDocument("", document.id_, version))
        self.result.documents[document.id_] = made
        with self.failures_noted(made):
            if self.result.stopped:
                made.fail(self.result.stopped)
                return
            current_interrupt().check(f"{self.name}: {label}")
            nodes = self._cut(document, made)
            made.ids = tuple(node.node_id for node in nodes)
            made.is_cut, made.missing = True, made.stored.chunks
            self._reuse_vectors(nodes, made)
            self._tell("embed", self.name, sum(map(is_ready, nodes)), 0)
            self.waiting += [(node, made) for node in nodes]

    def _cut(self, document: Document, made: DocumentResult) -> list[BaseNode]:
        parse = self._recipe.parse
        with self.timed("parse"), self.embedded.counting():
            cut: Sequence[BaseNode]
            cut = parse(self._parser, document) if parse else self._parser([document])
            for step in self._behind:
                cut = step(cut)
        # A parent goes before its children: the first batch has a vector to make a collection by,
        # and a run that was killed leaves no child without its parent.
        nodes = parents_first(cut)
        identify(nodes, document)
        self._note_missing_summaries(nodes, made)
        made.choice = next((node.metadata.get(DECISION) for node in nodes), None)
        chunks = [node for node in nodes if is_leaf(node)]
        tokens = list(map(tokens_of, chunks))
        made.stored = made.stored._replace(
            chunks=len(chunks),
            parents=len(nodes) - len(chunks),
            tokens=sum(tokens),
            largest=max(tokens, default=0),
            unplaced=sum(START_CHAR not in node.metadata for node in chunks),
        )
        self._tell("parse", self.name, len(chunks), 0)
        return nodes

    def _note_missing_summaries(self, nodes: Sequence[BaseNode], made: DocumentResult) -> None:
        """Have chunks be due again which an LLM was to summarise and did not.

        They are stored without a summary meanwhile.
        """
        is_asked = any(isinstance(one, SectionSummary) for one in self._recipe.steps)
        found = [node for node in nodes if is_asked and SUMMARY_ERROR in node.metadata]
        if not found:
            return
        for node in found:  # another version
            node.metadata[SOURCE_HASH] = f"{made.stored.version} unwritten"
        error = ModelError(
            f"an LLM summarised {len(nodes) - len(found)} of {len(nodes)} chunks; the others are "
            f"stored without a summary ({found[0].metadata[SUMMARY_ERROR]}); ingest again to have "
            "them summarised"
        )
        made.lacks_summaries = True
        made.fail(said(error))
        self._note_error(made.label, error)

    def _reuse_vectors(self, nodes: Sequence[BaseNode], made: DocumentResult) -> None:
        """Give chunks the vectors that are stored for what reads the same to the model."""
        vectors = self._unit.vectors.get(self._number, {})
        for node in filter(lacks_vector, nodes if vectors else ()):
            if vector := vectors.get(node.get_content(MetadataMode.EMBED)):
                node.embedding = list(vector)
                made.saved += tokens_of(node)

    def may_ask(self) -> bool:
        """Whether there is any use in asking the model for more.

        Raises:
            CancelledError: see `interruptible`.
        """
        current_interrupt().check(f"{self.name}: embedding")
        if why := self.result.stopped:
            self._fail(self.waiting, why)
        return not why

    def receive(self, embedded: Embedded[DocumentResult]) -> None:
        """Note what came of a request; no later failure costs its vectors."""
        for node, made, refusal in embedded.refused:
            made.fail(said(refusal))
            self._note_error(f"{made.label}, chunk {node.node_id}", refusal)
        error = embedded.error or self._error_of_length(embedded.part)
        chunks = sum(is_ready(node) for node, _ in embedded.part)
        self._tell("embed", self.name, chunks, self.embedded.tokens - self._told)
        self._told = self.embedded.tokens
        if isinstance(error, CancelledError):
            raise error
        if error:
            self._fail(embedded.part, said(error))
            self._note_error(embedded.part[0][1].label, error)
            if isinstance(error, HOPELESS):
                self._fail(self.waiting, said(error))

    def _error_of_length(self, part: Waiting) -> DimensionError | None:
        """Why vectors that are not as long as those of the collection are taken away again."""
        lengths = [len(node.embedding) for node, _ in part if node.embedding]
        if self._dimension is None and lengths:
            self._dimension = lengths[0]
        other = next((one for one in lengths if one != self._dimension), None)
        if other is None:
            return None
        for node, _ in part:
            node.embedding = None
        return DimensionError(
            f"the collection holds vectors of length {self._dimension}, got {other}; use the "
            "embedding model it was made with, or another corpus name"
        )

    def _fail(self, waiting: Waiting, why: str) -> None:
        """Say of what has no vector that it gets none."""
        for node, made in waiting:
            if lacks_vector(node):
                made.fail(why)

    def finish(self, *, is_packed: bool) -> None:
        """Make points of what has vectors now, and of parents that belong to it."""
        self.result.embedded = self.embedded.tokens
        nodes: dict[int, list[BaseNode]] = {}
        for node, made in self.waiting:
            nodes.setdefault(id(made), []).append(node)
        for made in self.result.documents.values():
            own = nodes.get(id(made), [])
            ready = sum(map(is_ready, own))
            made.missing -= ready
            # A family of which no child is to be stored is not begun.
            with_parents = ready or not made.missing
            due = [one for one in own if is_ready(one) or (with_parents and not is_leaf(one))]
            with self.failures_noted(made, lost=ready):
                points = points_of(due)
                made.points = list(map(_packed, points)) if is_packed else points

    def _note_error(self, what: str, error: BaseException) -> None:
        """Note an error; one that is hopeless is why the column stops."""
        self.result.errors.append(noted(self.name, what, error))
        if isinstance(error, HOPELESS):
            self.result.stopped = self.result.stopped or said(error)

    @contextmanager
    def timed(self, stage: str) -> Iterator[None]:
        """Add the time of the block to a stage."""
        started = time.perf_counter()
        try:
            yield
        finally:
            self.result.seconds[stage] += time.perf_counter() - started

    @contextmanager
    def failures_noted(self, made: DocumentResult, *, lost: int = 0) -> Iterator[None]:
        """Turn failures into the column's error: one parser never stops the others."""
        try:
            yield
        except CancelledError:
            raise
        # Parsers and models are other people's code; one with a loop of its own may raise its
        # cancellation, which is no `Exception`.
        except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001
            if not (isinstance(error, HOPELESS) and self.result.stopped):
                self._note_error(made.label, error)
            made.fail(said(error))
            made.missing += lost


def _packed(point: Point) -> Point:
    """With its vector as an array, which pickles fast, and in the precision that Qdrant keeps."""
    vector = None if point.vector is None else array("f", point.vector)
    return point._replace(vector=vector)
