"""Cutting in a child process: what takes too long, or nobody waits for any longer, is ended.

For servers, where documents and options are strangers'. A child is started with the first
document and cuts all later ones, because importing LlamaIndex takes seconds.
"""

from __future__ import annotations

import logging
import os
from contextlib import suppress
from functools import partial
from importlib import import_module
from threading import Lock
from typing import TYPE_CHECKING, Any

from llama_index.core.schema import BaseNode, Document, TextNode

from rag_nodes.errors import (
    CancelledError,
    ParseError,
    ParserCrashedError,
    ParseTimeoutError,
    RagNodesError,
)
from rag_nodes.keys import kind_of
from rag_nodes.metadata import page_name
from rag_nodes.processes import (
    BackgroundThread,
    ChildDiedError,
    ChildExpiredError,
    Children,
    Interrupt,
    Leases,
    current_interrupt,
    interruptible,
    serve,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rag_nodes.parsers.base import SpanNodeParser

logger = logging.getLogger(__name__)

AT_ONCE = max(2, min(4, os.cpu_count() or 1))
"""Documents cut at the same time; more threads wait for their turn."""
_CHARACTERS = 1_000_000
"""Characters of a document that may take the seconds given; a longer one gets more of them."""

_BATCH = 500
"""Nodes of one message."""


class IsolatedCutting:
    """Child processes that cut documents; may be used by many threads."""

    def __init__(self) -> None:
        # Were fewer kept than work at a time, nearly every document would have to start one.
        self._children = Children(__name__, kept=AT_ONCE)
        self._leases = Leases(AT_ONCE)
        self._warmth = Lock()

    def cut(self, parser: SpanNodeParser, document: Document, seconds: float) -> list[BaseNode]:
        """The nodes that the parser makes of a document.

        A parser that was given an object cuts in this process: a model, and its key, stay where
        they are, and a splitter of another package cannot be written down.

        The seconds are for a million characters and anything shorter; the start of a child and the
        wait for a turn do not count.

        Raises:
            ParseTimeoutError: it took longer.
            ParserCrashedError: the child died.
            CancelledError: see `interruptible`; also while it waits for its turn.
            RagNodesError: what the parser raised.
        """
        if not parser.is_plain:
            return parser([document])
        seconds *= max(1.0, len(document.text) / _CHARACTERS)
        name = page_name(document.metadata) or document.id_
        with self._leases.take(f"{name}: cutting it"):
            return self._cut(parser, document, seconds, name)

    def within(self, seconds: float) -> Callable[[SpanNodeParser, Document], list[BaseNode]]:
        """`cut` with its time, for any thread; what may end the caller's work may end theirs."""
        interrupt = current_interrupt()

        def parse(parser: SpanNodeParser, document: Document) -> list[BaseNode]:
            with interruptible(interrupt):
                return self.cut(parser, document, seconds)

        return parse

    def warm_up(self) -> None:
        """Have a child started meanwhile, so that the first document need not wait for that."""
        if self._warmth.acquire(blocking=False):  # once
            interrupt = Interrupt()
            work = partial(self._start, interrupt)
            BackgroundThread(work, "warming up", end=interrupt.set).start()

    def _start(self, interrupt: Interrupt) -> None:
        from rag_nodes.parsers.fixed import FixedSizeNodeParser

        try:
            with interruptible(interrupt):
                self.cut(FixedSizeNodeParser(), Document(text="Warm up."), seconds=60)
        except CancelledError:
            return  # this process ends
        except RagNodesError:
            logger.warning("no process that cuts documents could be started", exc_info=True)

    def close(self) -> None:
        """End the idle children; the next document starts a new one."""
        self._children.close()

    def _cut(
        self, parser: SpanNodeParser, document: Document, seconds: float, name: str
    ) -> list[BaseNode]:
        request = {
            "kind": "cut",
            "parser": [type(parser).__module__, type(parser).__qualname__, parser.to_dict()],
            "document": document.to_dict(),
            "seconds": seconds,
        }
        try:
            batches = self._children.results(request, seconds, f"{name}: cutting it")
            return [TextNode.from_dict(one) for batch in batches for one in batch]
        except RagNodesError:
            raise
        except ChildExpiredError as error:
            raise ParseTimeoutError(
                f"{name}: cutting it takes longer than {seconds:.4g} s; choose another parser or a "
                "smaller document"
            ) from error
        except (ChildDiedError, ValueError, TypeError, OSError) as error:
            raise ParserCrashedError(
                f"{name}: the process that cut it died ({error}); choose another parser or a "
                "smaller document"
            ) from error


cutting = IsolatedCutting()
"""The children of this process."""


def main() -> None:
    """What a child runs: cut one document after another until its parent is gone."""
    serve(_cut, prepare=_prepared)


def _prepared(request: dict[str, Any]) -> None:
    with suppress(Exception):  # before the clock starts; `_cut` says what is wrong
        import_module(request["parser"][0])


def _cut(request: dict[str, Any]) -> Iterator[list[dict[str, Any]]]:
    module, name, options = request["parser"]
    try:
        parser = getattr(import_module(module), name).from_dict(options)
        nodes = parser([Document.from_dict(request["document"])])
    except RagNodesError:
        raise
    except Exception as error:
        # A parser of another package may raise anything, and the parent should hear of it.
        raise ParseError(f"{kind_of(error)}; choose another parser") from error
    for start in range(0, len(nodes), _BATCH):
        yield [node.to_dict() for node in nodes[start : start + _BATCH]]
