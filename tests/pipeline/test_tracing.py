"""Tracers see an ingest as one span, with reading, splitting, embedding and storing below it."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.instrumentation.dispatcher import instrument_tags
from llama_index.core.instrumentation.span_handlers import SimpleSpanHandler

from rag_nodes.models import Models
from rag_nodes.parsers import get_parser
from rag_nodes.pipeline import ingest
from rag_nodes.store import Store


@pytest.fixture
def spans() -> Iterator[SimpleSpanHandler]:
    handler = SimpleSpanHandler()
    handlers = get_dispatcher().span_handlers
    handlers.append(handler)
    yield handler
    handlers.remove(handler)


def test_an_ingest_is_a_span_above_all_that_it_does(
    tmp_path: Path, store: Store, models: Models, spans: SimpleSpanHandler
) -> None:
    for name in ("a.md", "b.md"):
        (tmp_path / name).write_text("# Tea\n\nTea is green.\n")
    with instrument_tags({"run": "night"}):
        ingest(tmp_path, {"heading": get_parser("heading")}, store, models=models)
    done = {span.id_: span for span in spans.completed_spans}
    [root] = [span for span in done.values() if span.parent_id is None]
    assert root.id_.startswith("IngestRun.execute-")
    below = [span for span in done.values() if span.parent_id == root.id_]
    names = Counter(span.id_.partition("-")[0] for span in below)
    assert names["IngestRun.store"] == names["CountingEmbedding.__call__"] == 1
    assert names["HeadingHierarchyNodeParser.__call__"] == names["read_document"] == 2
    read = [span for span in below if span.id_.startswith("read_document-")]
    places = {str(tmp_path / name) for name in ("a.md", "b.md")}
    assert {span.tags["file"] for span in read} == places
    split = [span for span in below if span.id_.startswith("HeadingHierarchyNodeParser.")]
    assert {part.tags["file"] for part in split} == places
    assert {span.tags["run"] for span in below} == {"night"}
    assert not spans.open_spans
