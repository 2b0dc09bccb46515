"""The user's own transformations behind a parser; what the parser promised still holds after them.

LlamaIndex's extractors add metadata and nothing else. Anything may stand in their place, though: a
transformation that rewrites texts, drops chunks or makes new ones. What it gave back is compared
with what it was given, so that no chunk claims a place in its document that it does not have.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.node_parser import NodeParser
from llama_index.core.schema import (
    BaseNode,
    NodeRelationship,
    RelatedNodeInfo,
    TextNode,
    TransformComponent,
)
from pydantic import Field

from rag_nodes.core import metadata as keys
from rag_nodes.core.code_identity import code_of
from rag_nodes.core.errors import ConfigurationError, RagNodesError, TransformationError
from rag_nodes.core.keys import kind_of
from rag_nodes.models import failure_of
from rag_nodes.models.asking import awaited
from rag_nodes.parsers.foreign.configuration import class_path, digest_of
from rag_nodes.parsers.nodes import link_neighbours
from rag_nodes.parsers.parent_child import is_leaf
from rag_nodes.text.tokens import count_tokens
from rag_nodes.text.tokens.encodings import DEFAULT_ENCODING

_NAMESPACE = uuid.UUID("6f6a3d0b-9c55-5b0e-8f43-2f7f0a7f4c11")
_OWN = (
    *(keys.SOURCE_HASH, keys.PARSER, keys.TOKEN_COUNT, keys.CHUNK_INDEX, keys.TOTAL_CHUNKS),
    *(keys.START_CHAR, keys.END_CHAR, keys.PAGE_START, keys.PAGE_END, keys.PAGE_BREAKS),
)
"""Metadata that promises rest on: put back where a transformation wrote over them."""
_OFFSETS = (keys.START_CHAR, keys.END_CHAR, keys.PAGE_BREAKS, keys.HEADINGS_INSIDE)
"""Metadata that counts characters of the document."""
_CLIENTS = frozenset({"openai", "httpx", "httpcore"})
"""Packages whose exceptions say what is wrong with a model's server."""


class UserTransformations(TransformComponent):
    """The user's transformations in order, with nodes behind them that are true.

    A chunk that is new, or whose text was changed, has no offsets: it is found, read and cited by
    page and heading, never by a wrong place. New chunks get ids that are the same in every run, and
    where chunks were added, dropped or moved, all are numbered and linked again. Metadata that this
    rests on are put back.

    Transformations that bring an `acall` of their own, as all extractors of LlamaIndex do, are
    awaited, on one event loop for all of them; all others, and parsers, are called.

    Args:
        steps: components of LlamaIndex, but no embedding model.
        tokenizer: encoding that counts the tokens of texts that were changed.

    Raises:
        ConfigurationError: a step is no transformation of LlamaIndex, or an embedding model.
    """

    steps: list[TransformComponent] = Field(exclude=True, repr=False)
    tokenizer: str = DEFAULT_ENCODING

    def __init__(self, steps: Sequence[object], **options: Any) -> None:
        super().__init__(**{**options, "steps": _checked(steps)})

    @classmethod
    def class_name(cls) -> str:
        """Name of the class: part of LlamaIndex's cache key."""
        return "UserTransformations"

    def __reduce__(self) -> tuple[Any, ...]:
        """Rebuilt from its steps: without this LlamaIndex leaves out those it cannot pickle."""
        return partial(UserTransformations, self.steps, tokenizer=self.tokenizer), ()

    def to_dict(self, **kwargs: Any) -> dict[str, Any]:
        """Plain data that changes with every step; never holds a key."""
        return {**super().to_dict(**kwargs), "steps": [identity_of(step) for step in self.steps]}

    def __call__(self, nodes: Sequence[BaseNode], **kwargs: Any) -> list[BaseNode]:
        """The nodes as the last step gives them, with everything in its right place.

        Raises:
            TransformationError: a step failed, or gave back what cannot be stored.
            RagNodesError: as a step raised it, and where its model's server refused it.
        """
        given = {node.node_id: _given(node) for node in nodes if isinstance(node, TextNode)}
        for step in self.steps:
            # Of parsers, HierarchicalNodeParser splits nothing when it is awaited, and none waits.
            own = type(step).acall is not TransformComponent.acall
            is_awaited = own and not isinstance(step, NodeParser)
            with _failing_as_ours(step):
                if is_awaited:
                    nodes = awaited(step.acall(nodes, **kwargs))
                else:
                    nodes = step(nodes, **kwargs)
            _check_nodes(step, nodes)
        return _settled(given, nodes, self.tokenizer)

    async def acall(self, nodes: Sequence[BaseNode], **kwargs: Any) -> list[BaseNode]:
        """Like a call, in a thread, from a running event loop."""
        return await asyncio.to_thread(self, nodes, **kwargs)


def _checked(steps: object) -> list[TransformComponent]:
    components = list(steps) if isinstance(steps, Sequence) and not isinstance(steps, str) else None
    if components is None:
        raise ConfigurationError(f"transformations is a {type(steps).__name__}; put it into a list")
    for step in components:
        if isinstance(step, BaseEmbedding):
            raise ConfigurationError(
                f"transformations: {_name(step)} is an embedding model; give it as embed_model"
            )
        if not isinstance(step, TransformComponent):
            raise ConfigurationError(
                f"transformations: {_name(step)} is not a TransformComponent of LlamaIndex; make a "
                "subclass whose __call__ takes nodes and returns nodes"
            )
    return components


def _name(step: object) -> str:
    return type(step).__name__


@contextmanager
def _failing_as_ours(step: TransformComponent) -> Iterator[None]:
    """Raise instead of anything whose fault it was, without what looks like a key."""
    try:
        yield
    except RagNodesError:
        raise
    except (Exception, SystemExit) as error:
        if isinstance(error, Exception) and type(error).__module__.partition(".")[0] in _CLIENTS:
            llm = getattr(step, "llm", None)
            model = getattr(getattr(llm, "metadata", None), "model_name", None) or _name(step)
            raise failure_of(error, llm or step, name=model) from error
        raise TransformationError(
            f"{_name(step)} failed: {kind_of(error)}; what was stored of the document is kept; "
            "fix the transformation, or leave it out, and ingest again"
        ) from error


def _check_nodes(step: TransformComponent, nodes: object) -> None:
    """Refuse what no store could take, and say which step made it."""
    if not isinstance(nodes, Sequence):
        raise TransformationError(f"{_name(step)} returned {type(nodes).__name__}, not nodes")
    for node in nodes:
        if not isinstance(node, TextNode):
            raise TransformationError(
                f"{_name(step)} returned a {type(node).__name__} among the nodes; give TextNodes"
            )
        try:
            json.dumps(node.metadata)
        except (TypeError, ValueError) as error:
            raise TransformationError(
                f"{_name(step)} left metadata that cannot be stored ({error}); give text, numbers, "
                "lists and dictionaries"
            ) from error
    if len({node.node_id for node in nodes}) < len(nodes):
        raise TransformationError(
            f"{_name(step)} returned several nodes with the same id; give each its own"
        )


class _Given(NamedTuple):
    """Facts of a node before the transformations, which change it in place."""

    text: str
    start: int | None
    end: int | None
    source: RelatedNodeInfo | None
    own: dict[str, Any]


def _given(node: TextNode) -> _Given:
    own = {key: node.metadata[key] for key in _OWN if key in node.metadata}
    return _Given(node.text, node.start_char_idx, node.end_char_idx, node.source_node, own)


def _settled(
    given: Mapping[str, _Given], nodes: Sequence[BaseNode], tokenizer: str
) -> list[BaseNode]:
    """The nodes with places, ids, numbers and neighbours that are true.

    Raises:
        TransformationError: a new node names no document.
    """
    text_nodes = [node for node in nodes if isinstance(node, TextNode)]
    sources = {
        original.source.node_id: original.source for original in given.values() if original.source
    }
    renamed: dict[str, str] = {}
    for position, node in enumerate(text_nodes):
        origin = given.get(node.node_id)
        if origin and node.text == origin.text:
            node.start_char_idx, node.end_char_idx = origin.start, origin.end
            node.metadata.update(origin.own)
            if origin.source:
                node.relationships[NodeRelationship.SOURCE] = origin.source
            continue
        source = (origin and origin.source) or _source_of(node, sources)
        node.relationships[NodeRelationship.SOURCE] = source
        node.start_char_idx = node.end_char_idx = None
        for key in _OFFSETS:
            node.metadata.pop(key, None)
        node.metadata[keys.TOKEN_COUNT] = count_tokens(node.text, tokenizer)
        if origin is None:  # its id is to be the same in every run
            name = f"{source.node_id}/{node.metadata.get(keys.PARSER)}/{position}/{node.text}"
            digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
            renamed[node.node_id] = str(uuid.uuid5(_NAMESPACE, digest))
            node.id_ = renamed[node.node_id]
    if list(given) != [node.node_id for node in text_nodes]:
        _relink(text_nodes, renamed)
    return list(text_nodes)


def _source_of(node: TextNode, sources: Mapping[str, RelatedNodeInfo]) -> RelatedNodeInfo:
    """The document of a new node: the one it names, or the only one there is."""
    if source := sources.get(node.ref_doc_id or ""):
        return source
    if node.ref_doc_id is None and len(sources) == 1:
        return next(iter(sources.values()))
    raise TransformationError(
        f"node {node.node_id} is new but names no source document; copy the SOURCE relationship "
        f"of the node it was made from"
    )


def _relink(nodes: Sequence[TextNode], renamed: Mapping[str, str]) -> None:
    """Number and link nodes of which some came, went or moved."""
    present = {node.node_id for node in nodes}

    def kept(info: RelatedNodeInfo) -> bool:
        info.node_id = renamed.get(info.node_id, info.node_id)
        return info.node_id in present

    for node in nodes:
        related = node.relationships
        related.pop(NodeRelationship.NEXT, None)
        related.pop(NodeRelationship.PREVIOUS, None)
        if node.parent_node and not kept(node.parent_node):
            del related[NodeRelationship.PARENT]
        if children := [*filter(kept, node.child_nodes or ())]:
            related[NodeRelationship.CHILD] = children
        else:  # stored as a parent and found as a chunk, it would be neither
            related.pop(NodeRelationship.CHILD, None)
    for leaves in (True, False):
        link_neighbours([node for node in nodes if is_leaf(node) is leaves], relate=True)


def identity_of(component: TransformComponent) -> str:
    """16 hex digits of a component's code and options: another result needs another identity.

    Options are those of `to_dict()` without keys and passwords, and without those of speed and
    patience; objects among them count by their class. So do private attributes, `self._words` for
    example, but those of embedding models and of this package, which say all in `to_dict()`. Code
    is that of the class and of functions among the options, see `rag_nodes.core.code_identity`.

    Raises:
        ConfigurationError: it cannot say what it is made of.
    """
    # Else clients, and what was asked and paid so far: another one after each use.
    says_all = isinstance(component, BaseEmbedding) or type(component).__module__.startswith(
        "rag_nodes."
    )
    try:
        private = {} if says_all else component.__pydantic_private__ or {}
        options = digest_of({**component.to_dict(), **private})
        parts = (class_path(component), options, code_of(component).digest)
    except Exception as error:
        raise ConfigurationError(
            f"{type(component).__name__}: to_dict() failed ({type(error).__name__}), so its "
            f"changes cannot be detected; exclude the field that fails, with Field(exclude=True)"
        ) from error
    return hashlib.sha256("/".join(parts).encode()).hexdigest()[:16]
