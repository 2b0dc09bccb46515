"""Rerankers of LlamaIndex that are named by their import path."""

from typing import Any

from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode


class Reverse(BaseNodePostprocessor):
    """Puts the worst first."""

    calls: list[int] = []  # noqa: RUF012 -- pydantic copies it

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        assert query_bundle
        self.calls.append(len(nodes))
        worst_first = nodes[::-1]
        return [NodeWithScore(node=hit.node, score=-at) for at, hit in enumerate(worst_first)]


class Raising(Reverse):
    def _postprocess_nodes(self, nodes: list[NodeWithScore], query_bundle: Any = None) -> Any:
        raise ValueError(f"sk-secret was refused for {len(nodes)} nodes, {query_bundle}")


class Inventing(Reverse):
    def _postprocess_nodes(self, nodes: list[NodeWithScore], query_bundle: Any = None) -> Any:
        made_up = TextNode(text=f"made up for {query_bundle}")
        return [*nodes, NodeWithScore(node=made_up, score=1.0)]
