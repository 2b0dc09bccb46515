"""`build_pipeline`: documents to embedded chunks, as an `AtomicIngestionPipeline`.

An ingest does the same in two parts: between splitting and embedding, what is stored already is
left out. Neither docstore nor cache of LlamaIndex decides that, as the docstore knows
documents and not transformations, and the cache knows contents and not documents.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.ingestion import DocstoreStrategy
from llama_index.core.schema import BaseNode, Document, TransformComponent
from pydantic import Field

from rag_nodes.core.keywords import checks_keywords
from rag_nodes.core.metadata import FILE_NAME, SOURCE, SOURCE_HASH, TOKEN_COUNT
from rag_nodes.core.several import several
from rag_nodes.embedding import EmbeddingGuard, UserTransformations, embedded_as, identity_of
from rag_nodes.embedding.atomic import AtomicIngestionPipeline
from rag_nodes.embedding.embedded import HiddenMetadata
from rag_nodes.models import settled
from rag_nodes.parsers import SpanNodeParser, as_parser
from rag_nodes.parsers.parent_child import is_leaf
from rag_nodes.text.tokens import count_tokens

if TYPE_CHECKING:
    from llama_index.core.ingestion import IngestionCache
    from llama_index.core.storage.docstore import BaseDocumentStore
    from llama_index.core.vector_stores.types import BasePydanticVectorStore

    from rag_nodes.core.metadata import EmbeddedAs

_IDENTITY = (SOURCE, FILE_NAME, SOURCE_HASH)
"""Metadata of the document that every node needs."""
Parse = Callable[[SpanNodeParser, Document], list[BaseNode]]
"""Makes the nodes of a document by a parser, such as in a process that can be ended."""


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
        return nodes

    async def acall(self, nodes: Sequence[BaseNode], **kwargs: Any) -> Sequence[BaseNode]:
        """Like a call, from a running event loop."""
        if due := list(filter(lacks_vector, nodes)):
            await self.embed_model.acall(due, **kwargs)
        return nodes


def lacks_vector(node: BaseNode) -> bool:
    """Return True for a chunk without a vector; parents need none."""
    return node.embedding is None and is_leaf(node)


@checks_keywords
def build_pipeline(  # noqa: PLR0913 - options of one call, all but one with defaults
    preset: object,
    *,
    embed_model: BaseEmbedding | str | None = None,
    transformations: Sequence[TransformComponent] = (),
    text: EmbeddedAs = "heading",
    embed_metadata: str | Sequence[str] = (),
    vector_store: BasePydanticVectorStore | None = None,
    docstore: BaseDocumentStore | None = None,
    docstore_strategy: DocstoreStrategy = DocstoreStrategy.UPSERTS,
    cache: IngestionCache | None = None,
    disable_cache: bool = False,
) -> AtomicIngestionPipeline:
    r"""Return the pipeline of an ingest, to run, store and cache with as with any of LlamaIndex.

    Its transformations are `HiddenMetadata` (your own metadata is not embedded), the parser,
    your own transformations, `EmbeddingGuard` (no chunk is longer than the model accepts) and the
    embedding, which leaves out parents. `run`, `arun`, `num_workers`,
    `persist` and `load` are LlamaIndex's. A parser that makes parents and children gives both:
    `leaf_nodes` picks those a vector store ranks. A run that fails loses and doubles nothing, see
    `AtomicIngestionPipeline`.

    Args:
        preset: name of a preset; or a parser, or any splitter that `as_parser` takes.
        embed_model: any embedding model of LlamaIndex, 'lexical' or 'openai:<model>'; None for that
            of LlamaIndex's `Settings` where it was set, else offline, see `Models.of`.
        transformations: extractors, or others, between parser and guard. Nodes keep ids, offsets
            and neighbours whatever they do, see `UserTransformations`.
        text: what of a chunk is embedded, as in `ingest`; summaries are sentences of the chunk
            where no `SectionSummary` is among the transformations.
        embed_metadata: metadata keys of the documents to embed with it, as in `ingest`.
        vector_store: as for `IngestionPipeline`, like all that follow.
        docstore: leaves out documents that were ingested; one per pipeline, as it knows documents
            and not what was done to them.
        docstore_strategy: what is done about changed documents.
        cache: LlamaIndex's cache of the nodes that each transformation returned.
        disable_cache: run all of them every time.

    Raises:
        ConfigurationError: an unknown preset, or a transformation that is none of LlamaIndex's.

    Examples:
        >>> from llama_index.core import Document
        >>> from rag_nodes import build_pipeline
        >>> pipeline = build_pipeline("heading")
        >>> [step.class_name() for step in pipeline.transformations]
        ['HiddenMetadata', 'HeadingHierarchyNodeParser', 'EmbeddingGuard', 'LeafEmbedding']
        >>> nodes = pipeline.run(documents=[Document(text="# Tea\n\nGreen tea.", id_="tea.md")])
        >>> nodes[0].metadata["heading_path"], nodes[0].embedding is None
        (['Tea'], False)
    """
    parser = as_parser(preset)
    embedding = LeafEmbedding(embed_model=settled(None, embed_model).embedding)
    given = UserTransformations(transformations).steps
    behind = behind_parser(parser, embedded_as(text, given, metadata=several(embed_metadata)))
    return AtomicIngestionPipeline(
        transformations=[HiddenMetadata(), parser, *behind, embedding],
        vector_store=vector_store,
        docstore=docstore,
        docstore_strategy=docstore_strategy,
        cache=cache,
        disable_cache=disable_cache,
    )


def behind_parser(
    parser: SpanNodeParser, transformations: Sequence[TransformComponent]
) -> list[TransformComponent]:
    """Return the steps between a parser and the embedding."""
    own = UserTransformations(transformations, tokenizer=parser.tokenizer)
    return [*([own] if own.steps else []), EmbeddingGuard()]


def is_ready(node: BaseNode) -> bool:
    """Return True for a chunk that has its vector; False for parents."""
    return is_leaf(node) and node.embedding is not None


def identify(nodes: list[BaseNode], document: Document) -> None:
    """Tell each node its document, also where the parser leaves metadata out.

    Skipping what is stored and citing both depend on it.
    """
    facts = {key: document.metadata[key] for key in _IDENTITY if key in document.metadata}
    for node in nodes:
        for key in facts.keys() - node.metadata.keys():
            node.metadata[key] = facts[key]
            node.excluded_embed_metadata_keys.append(key)
            node.excluded_llm_metadata_keys.append(key)


def tokens_of(node: BaseNode) -> int:
    """Tokens of a node's text, as its parser counted them where it did."""
    count = node.metadata.get(TOKEN_COUNT)
    return int(count) if count is not None else count_tokens(node.get_content())
