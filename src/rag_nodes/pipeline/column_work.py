"""What one column makes of the documents of a unit: nodes, vectors, points."""

from __future__ import annotations

import asyncio
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from llama_index.core.schema import BaseNode

from rag_nodes.errors import (
    CancelledError,
    DimensionError,
    LedgerError,
    ModelError,
    ModelRequestError,
)
from rag_nodes.ledger import StoredDocument
from rag_nodes.metadata import (
    DECISION,
    FILE_NAME,
    SOURCE,
    SOURCE_HASH,
    START_CHAR,
    TOKEN_COUNT,
    USUAL,
)
from rag_nodes.models.embedded_tokens import EmbeddedTokens
from rag_nodes.parsers.parent_child import is_leaf, parents_first
from rag_nodes.pipeline.build import further_due, give_vector, is_due, lacks_vector
from rag_nodes.pipeline.recipe import made_by
from rag_nodes.pipeline.units import HOPELESS, ColumnResult, DocumentResult, noted, said
from rag_nodes.processes import current_interrupt
from rag_nodes.store.payload import points_of
from rag_nodes.text.tokens import count_tokens
from rag_nodes.transforms import further_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from llama_index.core.schema import Document

    from rag_nodes.pipeline.build import ColumnPipeline
    from rag_nodes.pipeline.recipe import IngestRecipe, Tell
    from rag_nodes.pipeline.units import Known

_IDENTITY = (SOURCE, FILE_NAME, SOURCE_HASH)
"""Metadata of the document that every node needs."""


Waiting = list[tuple[BaseNode, DocumentResult]]
"""Nodes that are to be stored, each with the document it belongs to."""


class Embedded(NamedTuple):
    """What became of a request; what it asked for and was not refused has its vectors now.

    `refused` is what the model refuses by itself, and why; `error` why there is no more.
    """

    part: Waiting
    refused: Sequence[tuple[BaseNode, DocumentResult, ModelRequestError]] = ()
    error: Exception | None = None


class ColumnWork:
    """One column's part of a unit: nodes, vectors, points."""

    def __init__(
        self, number: int, pipeline: ColumnPipeline, recipe: IngestRecipe, known: Known, tell: Tell
    ) -> None:
        self.pipeline, self.result = pipeline, ColumnResult()
        self.waiting: Waiting = []
        self.embedded = EmbeddedTokens(recipe.models.embedding)
        self._number, self._recipe, self._known, self._tell = number, recipe, known, tell
        self._told = 0
        self._dimension = known.dimensions[number] if known.dimensions else None

    def add(self, document: Document, twins: Sequence[str] = ()) -> None:
        """Cut one document, unless it is stored whole, and have its chunks wait to be embedded.

        In the place of another version of it, of which nothing is embedded.
        """
        document = made_by(self.pipeline.code, document)
        version = str(document.metadata[SOURCE_HASH])
        former = self.result.documents.get(document.id_)
        if former and former.stored.version == version:
            return
        if former:
            self.waiting = [(node, of) for node, of in self.waiting if of is not former]
        label = str(document.metadata.get(FILE_NAME) or document.id_)
        made = DocumentResult(label, StoredDocument("", document.id_, version))
        self.result.documents[document.id_] = made
        with self.failures_noted(made):
            row = self._known.document(self._number, document.id_)
            if row and row.version == version:
                self.result.documents[document.id_] = DocumentResult.known(label, row)
            elif why := self._recipe.stopped.get(self.pipeline.name):
                made.fail(why)
            else:
                self._add(document, made, twins)

    def _add(self, document: Document, made: DocumentResult, twins: Sequence[str]) -> None:
        current_interrupt().check(f"{self.pipeline.name}: {made.label}")
        nodes = self._cut(document, made)
        made.ids = tuple(node.node_id for node in nodes)
        made.is_cut, made.missing = True, made.stored.chunks
        self._reuse_vectors(nodes, made, twins)
        self._tell("embed", self.pipeline.name, sum(map(_is_ready, nodes)), 0)
        self.waiting += [(node, made) for node in nodes]

    def _cut(self, document: Document, made: DocumentResult) -> list[BaseNode]:
        with self.timed("parse"), self.embedded.counting():
            cut = self.pipeline.cutting.run(documents=[document])
        # A parent goes before its children: the first batch has a vector to make a collection by,
        # and a run that was killed leaves no child without its parent.
        nodes = parents_first(cut)
        _identify(nodes, document)
        self._note_unwritten(nodes, made)
        made.choice = next((node.metadata.get(DECISION) for node in nodes), None)
        chunks = [node for node in nodes if is_leaf(node)]
        tokens = list(map(_tokens_of, chunks))
        made.stored = made.stored._replace(
            chunks=len(chunks),
            parents=len(nodes) - len(chunks),
            tokens=sum(tokens),
            largest=max(tokens, default=0),
            unplaced=sum(START_CHAR not in node.metadata for node in chunks),
        )
        self._tell("parse", self.pipeline.name, len(chunks), 0)
        return nodes

    def _note_unwritten(self, nodes: Sequence[BaseNode], made: DocumentResult) -> None:
        """Have chunks be due again about which an LLM was to write and did not.

        They are stored without it meanwhile, as their usual vector finds them.
        """
        keys = self.pipeline.unwritten
        found = [node for node in nodes if keys & node.metadata.keys()]
        if not found:
            return
        for node in found:  # another version
            node.metadata[SOURCE_HASH] = f"{made.stored.version} unwritten"
        (reason, *_) = sorted(keys & found[0].metadata.keys())
        error = ModelError(
            f"an LLM wrote nothing about {len(found)} of {len(nodes)} chunks, which are stored "
            f"without ({found[0].metadata[reason]}); ingest again to have them written about"
        )
        made.lacks_texts = True
        made.fail(said(error))
        self.note(made.label, error)

    def _reuse_vectors(
        self, nodes: Sequence[BaseNode], made: DocumentResult, twins: Sequence[str]
    ) -> None:
        """Give chunks the vectors that are stored for what reads the same to the model.

        That is what the document had before, or a file of the same bytes that was moved or copied.
        """
        documents = [made.stored.document_id, *twins]
        for name in sorted({USUAL}.union(*map(further_due, nodes))):
            vectors = self._known.vectors(self._number, documents, name)
            for node in nodes if vectors else ():
                if name == USUAL and not lacks_vector(node):
                    continue
                if vector := vectors.get(further_text(node, name) or ""):
                    give_vector(node, name, list(vector))
                    made.spared += _tokens_of(node)

    def may_ask(self) -> bool:
        """Whether there is any use in asking the model for more.

        Raises:
            CancelledError: see `interruptible`.
        """
        current_interrupt().check(f"{self.pipeline.name}: embedding")
        if why := self._recipe.stopped.get(self.pipeline.name):
            self._fail(self.waiting, why)
        return not why

    def take(self, embedded: Embedded) -> None:
        """Note what came of a request; no later failure costs its vectors."""
        embedded = self._of_one_length(embedded)
        for node, made, refusal in embedded.refused:
            made.fail(said(refusal))
            self.note(f"{made.label}, chunk {node.node_id}", refusal)
        chunks = sum(_is_ready(node) for node, _ in embedded.part)
        self._tell("embed", self.pipeline.name, chunks, self.embedded.tokens - self._told)
        self._told = self.embedded.tokens
        if isinstance(embedded.error, CancelledError):
            raise embedded.error
        if embedded.error:
            self._fail(embedded.part, said(embedded.error))
            self.note(embedded.part[0][1].label, embedded.error)
            if isinstance(embedded.error, HOPELESS):
                self._fail(self.waiting, said(embedded.error))

    def _of_one_length(self, embedded: Embedded) -> Embedded:
        """The same, refused where the vectors are not as long as those of the collection."""
        lengths = [len(node.embedding) for node, _ in embedded.part if node.embedding]
        if self._dimension is None and lengths:
            self._dimension = lengths[0]
        if all(one == self._dimension for one in lengths):
            return embedded
        [other, *_] = [one for one in lengths if one != self._dimension]
        for node, _ in embedded.part:
            node.embedding = None
        error = DimensionError(
            f"the collection holds vectors of length {self._dimension}, got {other}; use the "
            "embedding model it was made with, or another corpus name"
        )
        return embedded._replace(error=error)

    def _fail(self, waiting: Waiting, why: str) -> None:
        """Say of what has no vector that it gets none."""
        for node, made in waiting:
            if is_due(node):
                made.fail(why)

    def finish(self) -> None:
        """Make points of what has vectors now, and of parents that belong to it."""
        self.result.stopped = self._recipe.stopped.get(self.pipeline.name)
        self.result.embedded = self.embedded.tokens
        nodes: dict[int, list[BaseNode]] = {}
        for node, made in self.waiting:
            nodes.setdefault(id(made), []).append(node)
        for made in self.result.documents.values():
            own = nodes.get(id(made), [])
            ready = sum(map(_is_ready, own))
            made.missing -= ready
            # A family of which no child is to be stored is not begun.
            with_parents = ready or not made.missing
            due = [one for one in own if _is_ready(one) or (with_parents and not is_leaf(one))]
            with self.failures_noted(made, lost=ready):
                made.points = points_of(due)

    def note(self, what: str, error: BaseException) -> None:
        """Note an error; one that is hopeless is why the column stops."""
        noted(self.pipeline.name, what, error)
        self.result.errors.append(f"{what}: {said(error)}")
        if isinstance(error, HOPELESS):
            self._recipe.stopped.setdefault(self.pipeline.name, said(error))

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
        except (CancelledError, LedgerError):
            raise
        # Parsers and models are other people's code; one with a loop of its own may raise its
        # cancellation, which is no `Exception`.
        except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001
            if not (isinstance(error, HOPELESS) and self.pipeline.name in self._recipe.stopped):
                self.note(made.label, error)
            made.fail(said(error))
            made.missing += lost


def _is_ready(node: BaseNode) -> bool:
    """Whether it is a chunk, and no parent, that has its vectors."""
    return is_leaf(node) and not is_due(node)


def _identify(nodes: list[BaseNode], document: Document) -> None:
    """Tell each node its document, also where the parser was told to leave metadata out.

    Skipping what is stored and citing both depend on it.
    """
    facts = {key: document.metadata[key] for key in _IDENTITY if key in document.metadata}
    for node in nodes:
        for key in facts.keys() - node.metadata.keys():
            node.metadata[key] = facts[key]
            node.excluded_embed_metadata_keys.append(key)
            node.excluded_llm_metadata_keys.append(key)


def _tokens_of(node: BaseNode) -> int:
    """Tokens of a node's text, as its parser counted them where it did."""
    known = node.metadata.get(TOKEN_COUNT)
    return int(known) if known is not None else count_tokens(node.get_content())
