"""Documents of one parser on their way to vectors, whether their chunks are kept or not."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from typing import TYPE_CHECKING, Generic, TypeVar

from llama_index.core.schema import BaseNode, MetadataMode

from rag_nodes.core.errors import CancelledError
from rag_nodes.core.metadata import DECISION, START_CHAR
from rag_nodes.core.processes import current_interrupt
from rag_nodes.embedding.build import behind_parser, identify, is_ready, lacks_vector, tokens_of
from rag_nodes.embedding.embedded import without_own_keys
from rag_nodes.embedding.failures import HOPELESS, noted, said
from rag_nodes.embedding.report import Counts, SplitDocument, timed
from rag_nodes.embedding.requests import EmbeddedTokens
from rag_nodes.parsers.parent_child import is_leaf, parents_first

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from llama_index.core.schema import Document, TransformComponent

    from rag_nodes.embedding.build import Parse
    from rag_nodes.embedding.report import ColumnLog, Stage
    from rag_nodes.embedding.requests import Embedded
    from rag_nodes.models import Models
    from rag_nodes.parsers import SpanNodeParser

    Tell = Callable[[Stage, str, int, int], object]
    """Takes a step: stage, file or parser, number of chunks, tokens embedded."""


def counts_of(nodes: Sequence[BaseNode]) -> Counts:
    """Count the nodes of a document."""
    chunks = [node for node in nodes if is_leaf(node)]
    tokens = list(map(tokens_of, chunks))
    return Counts(
        chunks=len(chunks),
        parents=len(nodes) - len(chunks),
        tokens=sum(tokens),
        largest=max(tokens, default=0),
        not_located=sum(START_CHAR not in chunk.metadata for chunk in chunks),
    )


Owner = TypeVar("Owner", bound=SplitDocument)
"""A document in the form that a path keeps it."""


class SplittingColumn(Generic[Owner]):
    """Splits documents by one parser and has their chunks wait for vectors.

    A document that cannot be split costs no other document, and a chunk that the model refuses
    costs no other chunk. Give it to `rag_nodes.embedding.requests.embed`.

    Args:
        name: of the parser, in errors and progress.
        parser: splits the documents.
        models: `models.embedding` is asked for vectors.
        log: takes errors and seconds.
        tell: hears of every step, and may raise to end the work.
        vector_of: returns the vector of a text that was embedded before, None if there is none.
        transformations: the user's own, between parser and model.

    Attributes:
        waiting: nodes, each with its document.
        embedded: counts the tokens.
    """

    def __init__(
        self,
        name: str,
        parser: SpanNodeParser,
        models: Models,
        log: ColumnLog,
        tell: Tell,
        *,
        vector_of: Callable[[str], Sequence[float] | None] | None = None,
        transformations: Sequence[TransformComponent] = (),
    ) -> None:
        self.name, self.log = name, log
        self.waiting: list[tuple[BaseNode, Owner]] = []
        self.embedded = EmbeddedTokens(models.embedding)
        self._parser, self._tell, self._vector_of = parser, tell, vector_of
        self._behind = behind_parser(parser, transformations)
        self._tokens_told = 0

    def taken(self, owner: Owner, nodes: list[BaseNode], counts: Counts) -> None:
        """Keep the nodes of a document that was split."""
        raise NotImplementedError

    def split(self, document: Document, owner: Owner, parse: Parse | None = None) -> None:
        """Split a document and have its nodes wait for the vectors that are not known yet.

        Args:
            document: is split, unless the parser gave up.
            owner: the same document in the form that a path keeps it.
            parse: splits in place of the parser.

        Raises:
            CancelledError: see `interruptible`.
        """
        if self.log.stopped:
            owner.fail(self.log.stopped)
            return
        current_interrupt().check(f"{self.name}: {owner.label}")
        with self.failures_noted(owner):
            self.take(owner, self._nodes(document, parse))

    def take(self, owner: Owner, nodes: list[BaseNode]) -> None:
        """Have the nodes of a document, parents first, wait for vectors that are not known yet."""
        owner.choice = next((node.metadata.get(DECISION) for node in nodes), None)
        counts = counts_of(nodes)
        self.taken(owner, nodes, counts)
        self._tell("parse", self.name, counts.chunks, 0)
        self._reuse_vectors(nodes, owner)
        if ready := sum(map(is_ready, nodes)):
            self._tell("embed", self.name, ready, 0)
        self.waiting += [(node, owner) for node in nodes]

    def _nodes(self, document: Document, parse: Parse | None) -> list[BaseNode]:
        """Return the nodes of a document, each parent before its children.

        So the first batch has a vector to make a collection by, and a run that is killed leaves
        no child without its parent.
        """
        document = without_own_keys(document)
        with self.timed("parse"), self.embedded.counting():
            nodes: Sequence[BaseNode]
            nodes = parse(self._parser, document) if parse else self._parser([document])
            for step in self._behind:
                nodes = step(nodes)
        ordered = parents_first(nodes)
        identify(ordered, document)
        return ordered

    def _reuse_vectors(self, nodes: Sequence[BaseNode], owner: Owner) -> None:
        if not self._vector_of:
            return
        for node in filter(lacks_vector, nodes):
            if vector := self._vector_of(node.get_content(MetadataMode.EMBED)):
                node.embedding = list(vector)
                owner.saved += tokens_of(node)

    def may_ask(self) -> bool:
        """Return False once the model has failed in a way that every request would.

        Raises:
            CancelledError: see `interruptible`.
        """
        current_interrupt().check(f"{self.name}: embedding")
        return self.log.stopped is None

    def receive(self, embedded: Embedded[Owner]) -> None:
        """Note the outcome of a request; no later failure costs its vectors.

        Raises:
            CancelledError: see `interruptible`; the request was given up.
        """
        for node, owner, refusal in embedded.refused:
            owner.fail(said(refusal))
            self.note_error(f"{owner.label}, chunk {node.node_id}", refusal)
        chunks, tokens = sum(is_ready(node) for node, _ in embedded.part), self.embedded.tokens
        self._tell("embed", self.name, chunks, tokens - self._tokens_told)
        self._tokens_told = tokens
        error = embedded.error
        if isinstance(error, CancelledError):
            raise error
        if error:
            self.note_error(embedded.part[0][1].label, error)
            for node, owner in embedded.part:
                if lacks_vector(node):
                    owner.fail(said(error))

    def note_error(self, subject: str, error: BaseException) -> None:
        """Note an error; a hopeless one is why the column stops."""
        self.log.errors.append(noted(self.name, subject, error))
        if isinstance(error, HOPELESS):
            self.log.stopped = self.log.stopped or said(error)

    def timed(self, stage: str) -> AbstractContextManager[None]:
        """Add the time of the block to a stage."""
        return timed(self.log.seconds, stage)

    @contextmanager
    def failures_noted(self, owner: Owner) -> Iterator[None]:
        """Turn a failure into the document's error: it costs no other document."""
        try:
            yield
        except CancelledError:
            raise
        # Parsers and models are other people's code; one with a loop of its own may raise its
        # cancellation, which is no `Exception`.
        except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001
            if not (isinstance(error, HOPELESS) and self.log.stopped):
                self.note_error(owner.label, error)
            owner.fail(said(error))
