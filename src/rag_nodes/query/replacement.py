"""What is read in place of what was found, as nodes for LlamaIndex: each text once."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from llama_index.core.bridge.pydantic import Field
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from llama_index.core.storage.docstore.types import BaseDocumentStore

from rag_nodes import metadata as keys
from rag_nodes.errors import ConfigurationError
from rag_nodes.query.expansion import expanded
from rag_nodes.query.places import document_of, span_of
from rag_nodes.query.slices import joined_text, place_of
from rag_nodes.store import Hit
from rag_nodes.text.spans import Span, merge

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class RagNodesPostprocessor(BaseNodePostprocessor):
    """Has the window of a sentence, or the parent of a child, read in its place, each text once.

    For any LlamaIndex retriever: what `MetadataReplacementPostProcessor("window")` does for
    windows, with overlapping ones joined to one exact slice of the document, and the same for
    parents. A replaced node keeps its score; the text that was found is in `original_text`.

    Args:
        parents: where parents are read by id: a vector store with `get_nodes`, such as the one the
            index is built on, or a document store; None to replace by windows only.

    Raises:
        ConfigurationError: `parents` offers no nodes by id.
    """

    parents: Any = Field(default=None, exclude=True)

    def __init__(self, parents: Any = None) -> None:
        super().__init__(parents=parents)  # type: ignore[call-arg] # a field of this class
        if parents is not None and not hasattr(parents, "get_nodes"):
            raise ConfigurationError(
                f"{type(parents).__name__} gives no nodes by id; pass a vector store or document "
                "store that has get_nodes"
            )

    @classmethod
    def class_name(cls) -> str:
        """Name under which LlamaIndex files this class."""
        return "RagNodesPostprocessor"

    def _postprocess_nodes(
        self,
        nodes: list[NodeWithScore],
        query_bundle: QueryBundle | None = None,  # noqa: ARG002 -- LlamaIndex's signature
    ) -> list[NodeWithScore]:
        others = [one for one in nodes if not isinstance(one.node, TextNode)]
        hits = [
            Hit(node=one.node, rank=rank, score=one.score or 0.0)
            for rank, one in enumerate(nodes, start=1)
            if isinstance(one.node, TextNode)
        ]
        return [*replaced(expanded(hits, self._read, "auto", limit=len(hits))), *others]

    def _read(self, node_ids: Sequence[str]) -> dict[str, TextNode]:
        if self.parents is None or not node_ids:
            return {}
        if isinstance(self.parents, BaseDocumentStore):  # raises for what it does not have
            found = self.parents.get_nodes(list(node_ids), raise_error=False)
        else:
            found = self.parents.get_nodes(node_ids=list(node_ids))
        return {node.node_id: node for node in found if isinstance(node, TextNode)}


def replaced(hits: Iterable[Hit]) -> list[NodeWithScore]:
    """The nodes that are read, best first: windows and parents that overlap are one node."""
    nodes: list[NodeWithScore] = []
    seen: set[tuple[str, Span] | str] = set()
    every = list(hits)
    joined = _joined(every)
    for hit in every:
        node, place = hit.node, None
        if hit.surroundings is not None:
            place = _place_in(joined, hit.surroundings)
            node = _whole(hit, joined[place]) if place else hit.surroundings
        known = place or node.node_id
        if known not in seen:
            seen.add(known)
            nodes.append(NodeWithScore(node=_with_scores(node, hit), score=hit.score))
    return nodes


def _with_scores(node: TextNode, hit: Hit) -> TextNode:
    """The node with what it was found by; a copy, as the scores are those of one question."""
    values = (hit.similarity, hit.keyword_score, hit.fused_score, hit.rerank_score)
    known = {k: v for k, v in zip(keys.SCORES, values, strict=True) if v is not None}
    if not known:
        return node
    return node.model_copy(
        update={
            "metadata": {**node.metadata, **known},
            "excluded_embed_metadata_keys": _also(node.excluded_embed_metadata_keys, known),
            "excluded_llm_metadata_keys": _also(node.excluded_llm_metadata_keys, known),
        }
    )


def _also(hidden: Sequence[str], names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys((*hidden, *names)))


_Places = dict[tuple[str, Span], list[TextNode]]


def _joined(hits: Sequence[Hit]) -> _Places:
    """The surroundings that are read, by document and disjoint span."""
    by_document: dict[str, dict[Span, TextNode]] = defaultdict(dict)
    for hit in hits:
        node = hit.surroundings
        if node is not None and (span := span_of(node)) is not None:
            by_document[document_of(node)].setdefault(span, node)
    return {
        (document, whole): [parts[span] for span in sorted(parts) if span.overlap(whole)]
        for document, parts in by_document.items()
        for whole in merge(list(parts))
    }


def _place_in(joined: _Places, node: TextNode) -> tuple[str, Span] | None:
    span, document = span_of(node), document_of(node)
    if span is None:
        return None
    return next(one for one in joined if one[0] == document and one[1].overlap(span))


def _whole(hit: Hit, parts: Sequence[TextNode]) -> TextNode:
    """One node of overlapping parts in order, under the id of the one the best hit brought."""
    start, text = parts[0].start_char_idx or 0, joined_text(parts)
    whole = Span(start, start + len(text))
    found = hit.surroundings or hit.node
    facts = {
        **parts[0].metadata,
        **place_of(parts, whole),
        keys.ORIGINAL_TEXT: hit.node.text,
    }
    hidden = {keys.ORIGINAL_TEXT, *found.excluded_llm_metadata_keys}
    return found.model_copy(
        update={
            "text": text,
            "start_char_idx": whole.start,
            "end_char_idx": whole.end,
            "metadata": facts,
            "excluded_llm_metadata_keys": sorted(hidden),
        }
    )
