"""What one column makes of the documents of a unit: nodes, vectors, points."""

from __future__ import annotations

import asyncio
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rag_nodes.errors import CancelledError, DimensionError, LedgerError, ModelError
from rag_nodes.metadata import DECISION, FILE_NAME, SOURCE, SOURCE_HASH, START_CHAR, USUAL
from rag_nodes.models.embedded_tokens import EmbeddedTokens
from rag_nodes.parsers.parent_child import is_leaf, parents_first
from rag_nodes.pipeline.deposit import Counts, Deposit, tokens_of
from rag_nodes.pipeline.embedding import further_due, give_vector, lacks_vector
from rag_nodes.pipeline.failures import HOPELESS, noted, said
from rag_nodes.pipeline.identity import made_by
from rag_nodes.pipeline.units import ColumnResult
from rag_nodes.processes import current_interrupt
from rag_nodes.store.payload import points_of
from rag_nodes.transforms import further_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from llama_index.core.schema import BaseNode, Document

    from rag_nodes.pipeline.embedding import Embedded, Waiting
    from rag_nodes.pipeline.recipe import IngestRecipe, RecipeColumn
    from rag_nodes.pipeline.units import FileUnit
    from rag_nodes.store import StoredNode

_IDENTITY = (SOURCE, FILE_NAME, SOURCE_HASH)
"""Metadata of the document that every node needs."""


class ColumnWork:
    """One column's part of a unit.

    Args:
        number: of the column.
        column: its parser and model.
        made: the recipe.
        unit: what is worked on.
    """

    def __init__(
        self, number: int, column: RecipeColumn, made: IngestRecipe, unit: FileUnit
    ) -> None:
        self.column, self.result = column, ColumnResult()
        self.waiting: Waiting = []
        self.embedded = EmbeddedTokens(made.models.embedding)
        self._number, self._made, self._known = number, made, unit.known
        self._deposits: dict[tuple[str, str], Deposit] = {}
        self._accepted: Waiting = []
        self._told = 0
        self._dimension: int | None = None

    def add(self, document: Document, twins: Sequence[str] = ()) -> Deposit:
        """Cut one document, unless it is stored whole, and have its chunks wait to be embedded."""
        document = made_by(self.column.code, document)
        version = str(document.metadata[SOURCE_HASH])
        key = document.id_, version
        if key not in self._deposits:
            deposit = self._deposits[key] = Deposit(document.id_, _label(document), version)
            with self.failures_noted(deposit):
                self._add(document, deposit, twins)
        return self._deposits[key]

    def _add(self, document: Document, deposit: Deposit, twins: Sequence[str]) -> None:
        name = self.column.name
        current_interrupt().check(f"{name}: {deposit.label}")
        row = self._known.whole(self._number, deposit.document_id)
        if row and row.version == deposit.version:
            deposit.counts.join(row)
            deposit.is_known, deposit.kept, deposit.spared = True, row.chunks, row.tokens
            return
        if name in self._made.stopped:
            deposit.fail(self._made.stopped[name])
            return
        nodes = self._parse(document, deposit)
        stored = {} if row else self._known.stored(self._number, deposit.document_id)
        kept = {one.node_id for one in nodes if is_kept(one, stored, deposit.version)}
        due = [node for node in nodes if node.node_id not in kept]
        deposit.ids = tuple(node.node_id for node in nodes)
        deposit.put = frozenset(node.node_id for node in due)
        deposit.kept = sum(is_leaf(node) for node in nodes if node.node_id in kept)
        deposit.spared = sum(tokens_of(n) for n in nodes if n.node_id in kept and is_leaf(n))
        deposit.is_cut = True
        deposit.missing = sum(map(is_leaf, due))
        self._reuse_vectors(due, deposit, twins)
        self.waiting += [(node, deposit) for node in due]

    def _parse(self, document: Document, deposit: Deposit) -> list[BaseNode]:
        with self.timed("parse"), self.embedded.counting():
            cut = self.column.pipeline.cutting.run(documents=[document])
        # A parent goes before its children: the first batch has a vector to make a collection by,
        # and a run that was killed leaves no child without its parent.
        nodes = parents_first(cut)
        _identify(nodes, document)
        self._note_unwritten(nodes, deposit)
        deposit.choice = next((node.metadata.get(DECISION) for node in nodes), None)
        deposit.counts = Counts()
        deposit.counts.add(
            (tokens_of(node), is_leaf(node), START_CHAR in node.metadata) for node in nodes
        )
        self.tell("parse", deposit.counts.chunks)
        return nodes

    def _note_unwritten(self, nodes: Sequence[BaseNode], deposit: Deposit) -> None:
        """Have chunks be due again about which an LLM was to write and did not.

        They are stored without it meanwhile, as their usual vector finds them.
        """
        keys = self.column.pipeline.unwritten
        found = [node for node in nodes if keys & node.metadata.keys()]
        if not found:
            return
        for node in found:
            node.metadata[SOURCE_HASH] = f"{deposit.version} unwritten"  # another version
        (reason, *_) = sorted(keys & found[0].metadata.keys())
        error = ModelError(
            f"an LLM wrote nothing about {len(found)} of {len(nodes)} chunks, which are stored "
            f"without ({found[0].metadata[reason]}); ingest again to have them written about"
        )
        deposit.lacks_texts = True
        deposit.fail(said(error))
        self.note(deposit.label, error)

    def _reuse_vectors(
        self, due: Sequence[BaseNode], deposit: Deposit, twins: Sequence[str]
    ) -> None:
        """Give chunks the vectors that are stored for what reads the same to the model.

        That is what the document had before, or a file of the same bytes that was moved or copied.
        """
        documents = [deposit.document_id, *twins]
        for name in sorted({USUAL}.union(*map(further_due, due))):
            vectors = self._known.vectors(self._number, documents, name)
            for node in due if vectors else ():
                if name == USUAL and not lacks_vector(node):
                    continue
                if vector := vectors.get(further_text(node, name) or ""):
                    give_vector(node, name, list(vector))
                    deposit.spared += tokens_of(node)

    def take(self, embedded: Embedded) -> None:
        """Keep what came of a request, so that no later failure costs its vectors."""
        embedded = self._of_one_length(embedded)
        for node, deposit, refusal in embedded.refused:
            deposit.fail(said(refusal))
            self.note(f"{deposit.label}, chunk {node.node_id}", refusal)
        self._accepted += embedded.accepted
        for node, deposit in embedded.accepted:
            deposit.missing -= is_leaf(node)
        chunks = sum(is_leaf(node) for node, _ in embedded.accepted)
        self.tell("embed", chunks, self.embedded.tokens - self._told)
        self._told = self.embedded.tokens
        if isinstance(embedded.error, CancelledError):
            raise embedded.error
        if embedded.error:
            for node, deposit in embedded.part:
                if is_leaf(node):
                    deposit.fail(said(embedded.error))
            self.note(embedded.part[0][1].label, embedded.error)
            if isinstance(embedded.error, HOPELESS):
                self.give_up(said(embedded.error))

    def _of_one_length(self, embedded: Embedded) -> Embedded:
        """The same, refused where the vectors are not as long as those of the collection."""
        lengths = [len(node.embedding) for node, _ in embedded.accepted if node.embedding]
        if self._dimension is None and lengths:
            self._dimension = self._known.dimension(self._number) or lengths[0]
        # Those of a dry run are of another model.
        if self._made.dry_run or all(one == self._dimension for one in lengths):
            return embedded
        [other, *_] = [one for one in lengths if one != self._dimension]
        error = DimensionError(
            f"the collection holds vectors of length {self._dimension}, got {other}; use the "
            "embedding model it was made with, or another corpus name"
        )
        return embedded._replace(accepted=[], error=error)

    def give_up(self, reason: str) -> None:
        """Embed nothing more."""
        self._made.stopped.setdefault(self.column.name, reason)
        for _, deposit in self.waiting:
            if deposit.missing:
                deposit.fail(reason)

    def finish(self) -> None:
        """Make points of what has vectors now, and of parents that belong to it."""
        self.result.stopped = self._made.stopped.get(self.column.name)
        self.result.embedded = self.embedded.tokens
        having = {id(node) for node, _ in self._accepted}
        begun = {id(deposit) for node, deposit in self._accepted if is_leaf(node)}
        due: dict[int, list[BaseNode]] = {}
        for node, deposit in self.waiting:
            # A parent needs no vector: the request that it was in may have failed by others.
            is_read = not is_leaf(node) and (id(deposit) in begun or not deposit.missing)
            if id(node) in having or is_read:
                due.setdefault(id(deposit), []).append(node)
        points = self.result.points
        for deposit in self._deposits.values():
            nodes, first = due.get(id(deposit), []), len(points)
            with self.failures_noted(deposit, lost=sum(map(is_leaf, nodes))):
                points += points_of(nodes)
            deposit.at = slice(first, len(points))
            deposit.put = frozenset(one.node_id for one in points[deposit.at])

    def tell(self, stage: str, chunks: int, tokens: int = 0) -> None:
        """Say what was done, where somebody of this process listens."""
        if self._made.tell:
            self._made.tell(stage, self.column.name, chunks, tokens)  # type: ignore[arg-type]

    def note(self, what: str, error: BaseException) -> None:
        """Note an error; one that is hopeless is why the column stops."""
        noted(self.column.name, what, error)
        self.result.errors.append(f"{what}: {said(error)}")
        if isinstance(error, HOPELESS):
            self._made.stopped.setdefault(self.column.name, said(error))

    @contextmanager
    def timed(self, stage: str) -> Iterator[None]:
        """Add the time of the block to a stage."""
        started = time.perf_counter()
        try:
            yield
        finally:
            self.result.seconds[stage] += time.perf_counter() - started

    @contextmanager
    def failures_noted(self, deposit: Deposit, *, lost: int = 0) -> Iterator[None]:
        """Turn failures into the column's error: one parser never stops the others."""
        try:
            yield
        except (CancelledError, LedgerError):
            raise
        # Parsers and models are other people's code; one with a loop of its own may raise its
        # cancellation, which is no `Exception`.
        except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001
            if not (isinstance(error, HOPELESS) and self.column.name in self._made.stopped):
                self.note(deposit.label, error)
            deposit.fail(said(error))
            deposit.missing += lost


def is_kept(node: BaseNode, stored: Mapping[str, StoredNode], version: str) -> bool:
    """Whether a node is stored as it would be now.

    Args:
        node: as its parser made it.
        stored: what is there of its document, by id.
        version: of the document as it is.
    """
    known = stored.get(node.node_id)
    same_level = known is not None and known.is_parent != is_leaf(node)
    return known is not None and same_level and known.source_hash == version


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


def _label(document: Document) -> str:
    return str(document.metadata.get(FILE_NAME) or document.id_)
