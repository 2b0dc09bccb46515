"""What a store holds, point for point, and reports as far as two runs can agree."""

from typing import Any

from rag_nodes.pipeline import IngestReport
from rag_nodes.store import Store


def points_of(store: Store, collection: str) -> dict[str, Any]:
    """Every point of an embedded store by id: payload, vectors and words."""
    engine: Any = store.engine
    with engine.step(collection):
        points = engine.collection(collection).select(None, None, vectors=True)
        return {node.node_id: (node.payload, node.vector, node.words) for node in points}


def without_seconds(report: IngestReport) -> dict[str, Any]:
    """A report without what a clock decides."""
    plain = report.as_dict()
    plain.pop("started")
    for row in (plain, *plain["files"], *plain["columns"]):
        row.pop("seconds")
    return plain
