"""Chunks in, chunks with vectors out, request by request; one that is refused costs no other."""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.schema import BaseNode, MetadataMode, TransformComponent
from pydantic import Field

from rag_nodes.errors import (
    ModelRequestError,
    ModelResponseError,
    RagNodesError,
    UnknownModelError,
)
from rag_nodes.metadata import FURTHER_VECTORS, USUAL
from rag_nodes.models import failure_of
from rag_nodes.parsers.parent_child import is_leaf
from rag_nodes.transforms import further_text, identity_of

if TYPE_CHECKING:
    from rag_nodes.models import Models
    from rag_nodes.pipeline.units import DocumentResult

logger = logging.getLogger(__name__)

Waiting = list[tuple[BaseNode, "DocumentResult"]]
"""Nodes that are to be stored, each with the document it belongs to."""


class LeafEmbedding(TransformComponent):
    """Embeds what is found: nodes that have no children and no vector yet.

    Parents are read in the place of their children and never ranked against them, so they go
    along without a vector.

    Args:
        embed_model: any embedding model of LlamaIndex.
    """

    embed_model: BaseEmbedding = Field(exclude=True, repr=False)

    @classmethod
    def class_name(cls) -> str:
        """Name of the class: part of LlamaIndex's cache key."""
        return "LeafEmbedding"

    def to_dict(self, **kwargs: Any) -> dict[str, Any]:
        """Plain data that changes with the model and its options; never holds a key."""
        return {**super().to_dict(**kwargs), "embed_model": identity_of(self.embed_model)}

    def __call__(self, nodes: Sequence[BaseNode], **kwargs: Any) -> Sequence[BaseNode]:
        """The nodes, their vectors set in place."""
        if due := list(filter(lacks_vector, nodes)):
            self.embed_model(due, **kwargs)
        for name, texts in _further(nodes).items():
            made = self.embed_model.get_text_embedding_batch(list(texts))
            _note(nodes, name, dict(zip(texts, made, strict=True)))
        return nodes

    async def acall(self, nodes: Sequence[BaseNode], **kwargs: Any) -> Sequence[BaseNode]:
        """Like a call, from a running event loop."""
        if due := list(filter(lacks_vector, nodes)):
            await self.embed_model.acall(due, **kwargs)
        for name, texts in _further(nodes).items():
            made = await self.embed_model.aget_text_embedding_batch(list(texts))
            _note(nodes, name, dict(zip(texts, made, strict=True)))
        return nodes


def further_due(node: BaseNode) -> dict[str, str]:
    """What a node is still to be embedded as beside the usual text, by name."""
    marked = node.metadata.get(FURTHER_VECTORS)
    if not isinstance(marked, dict):
        return {}
    texts = {name: further_text(node, name) for name, made in marked.items() if made is None}
    return {name: text for name, text in texts.items() if text}


def _further(nodes: Sequence[BaseNode]) -> dict[str, dict[str, None]]:
    """The texts that are still to be embedded under each name, each once.

    What is the usual text of a node as well has its vector already.
    """
    due: dict[str, dict[str, None]] = defaultdict(dict)
    for node in nodes:
        for name, text in further_due(node).items():
            if text == node.get_content(MetadataMode.EMBED):
                give_vector(node, name, node.embedding)
            else:
                due[name][text] = None
    return due


def _note(nodes: Sequence[BaseNode], name: str, vectors: Mapping[str, list[float]]) -> None:
    for node in nodes:
        if text := further_due(node).get(name):
            give_vector(node, name, vectors[text])


def give_vector(node: BaseNode, name: str, vector: list[float] | None) -> None:
    """Let a node have an embedding, the usual one or a further one."""
    if name == USUAL:
        node.embedding = vector
    else:
        node.metadata[FURTHER_VECTORS][name] = vector


def lacks_vector(node: BaseNode) -> bool:
    """Whether it is to be embedded: parents are not, since their children are found."""
    return node.embedding is None and is_leaf(node)


def is_due(node: BaseNode) -> bool:
    """Whether a node is still to be embedded, in whatever way."""
    return lacks_vector(node) or bool(further_due(node))


def requests_of(waiting: Waiting, models: Models) -> Iterator[Waiting]:
    """What is to be embedded in runs that a server takes with one request; offline all at once."""
    due = [(node, document) for node, document in waiting if is_due(node)]
    if models.offline:
        if due:
            yield due
        return
    from rag_nodes.models.pacing import request_bytes

    most = request_bytes(models.embedding)
    part: Waiting = []
    size = 0
    for node, document in due:
        length = len(node.get_content(MetadataMode.EMBED).encode("utf-8", "replace"))
        if part and (len(part) == models.embedding.embed_batch_size or size + length > most):
            yield part
            part, size = [], 0
        part.append((node, document))
        size += length
    if part:
        yield part


class Embedded(NamedTuple):
    """What became of a request; what it asked for and was not refused has its vectors now.

    Attributes:
        part: what it asked for.
        refused: what the model refuses by itself, and why.
        error: why there is no more; None where it is known of each.
    """

    part: Waiting
    refused: Sequence[tuple[BaseNode, DocumentResult, ModelRequestError]] = ()
    error: Exception | None = None


def embed(part: Waiting, step: LeafEmbedding, model: str) -> Embedded:
    """Give chunks their vectors; where a request is refused, each chunk goes alone.

    Args:
        part: what one request takes.
        step: embeds them.
        model: its name, for messages.
    """
    try:
        _run([node for node, _ in part], step, model)
    except UnknownModelError as error:  # every chunk would be refused alike
        return Embedded(part, error=error)
    except ModelRequestError as error:
        if len(part) > 1:
            logger.info("a request was refused, embedding its chunks one by one")
            return _one_by_one(part, step, model)
        [(node, document)] = part
        return Embedded(part, [(node, document, error)])
    except Exception as error:  # noqa: BLE001 - whoever stores the others raises it
        return Embedded(part, error=error)
    return Embedded(part)


def _one_by_one(part: Waiting, step: LeafEmbedding, model: str) -> Embedded:
    """As `embed`; what was answered before something else failed is kept, as it was paid for."""
    refused: list[tuple[BaseNode, DocumentResult, ModelRequestError]] = []
    for alone in part:
        one = embed([alone], step, model)
        refused.extend(one.refused)
        if one.error:
            return Embedded(part, refused, one.error)
    return Embedded(part, refused)


def _run(nodes: list[BaseNode], step: LeafEmbedding, model: str) -> None:
    try:
        step(nodes)
    except RagNodesError:
        raise
    except asyncio.CancelledError as error:  # by a client with a loop of its own; no `Exception`
        raise ModelResponseError(f"{model}: its client gave the request up; try again") from error
    except Exception as error:
        # Any LlamaIndex embedding can be plugged in, and each raises its provider's errors.
        raise failure_of(error, step.embed_model, name=model) from error
