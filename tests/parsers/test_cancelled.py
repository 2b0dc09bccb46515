"""Splitting a document ends between two chunks once the work that it is part of is cancelled."""

from collections.abc import Iterator

import pytest
from llama_index.core.schema import Document

from rag_nodes.core.errors import CancelledError
from rag_nodes.core.processes import Interrupt, interruptible
from rag_nodes.parsers import SpanNodeParser
from rag_nodes.parsers.source import ChunkSpan, SourceText

TEXT = "The pump hums. " * 4
_RUNNING: dict[str, Interrupt] = {}
"""The interrupt of the work, by the name of the parser, since parsers are frozen plain data."""


class LeavingNodeParser(SpanNodeParser):
    """Makes a chunk for each sentence; the visitor leaves behind the second."""

    def spans(self, source: SourceText) -> Iterator[ChunkSpan]:
        for number, start in enumerate(range(0, len(source.text), 15)):
            if number == 2:
                _RUNNING["leaving"].set()
            if number > 2:
                raise AssertionError("went on after it was cancelled")
            yield ChunkSpan(start, start + 15)


def test_no_further_chunk_is_made_after_the_work_was_cancelled() -> None:
    interrupt = _RUNNING["leaving"] = Interrupt()
    with (
        interruptible(interrupt),
        pytest.raises(CancelledError, match="splitting the document was cancelled"),
    ):
        LeavingNodeParser().get_nodes_from_documents([Document(text=TEXT)])
