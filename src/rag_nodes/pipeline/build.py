"""`build_pipeline`: documents to embedded chunks, as an `IngestionPipeline` of LlamaIndex.

A column of an ingest is this pipeline in two parts: between cutting and embedding, what is stored
already is left out. Neither docstore nor cache of LlamaIndex decides that, as the docstore knows
documents and not transformations, and the cache knows contents and not documents.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from llama_index.core.ingestion import DocstoreStrategy, IngestionPipeline
from llama_index.core.schema import BaseNode, Document, TransformComponent
from pydantic import Field

from rag_nodes.models import settled
from rag_nodes.parsers import SpanNodeParser, as_parser, get_parser
from rag_nodes.pipeline.embedding import LeafEmbedding
from rag_nodes.transforms import ChunkWriter, EmbeddingGuard, UserTransformations

if TYPE_CHECKING:
    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.ingestion import IngestionCache
    from llama_index.core.storage.docstore import BaseDocumentStore
    from llama_index.core.vector_stores.types import BasePydanticVectorStore

Parse = Callable[[SpanNodeParser, Document], list[BaseNode]]
"""Makes the nodes of a document by a parser, such as in a process that can be ended."""


def build_pipeline(
    preset: object,
    *,
    embed_model: BaseEmbedding | str | None = None,
    transformations: Sequence[TransformComponent] = (),
    vector_store: BasePydanticVectorStore | None = None,
    docstore: BaseDocumentStore | None = None,
    docstore_strategy: DocstoreStrategy = DocstoreStrategy.UPSERTS,
    cache: IngestionCache | None = None,
    disable_cache: bool = False,
) -> IngestionPipeline:
    r"""The pipeline of an ingest, to run, store and cache with as with any of LlamaIndex.

    Its transformations are the parser, your own, `EmbeddingGuard` (no chunk is longer than the
    model accepts) and the embedding, which leaves out parents. `run`, `arun`, `num_workers`,
    `persist` and `load` are LlamaIndex's. A parser that makes parents and children gives both:
    `leaf_nodes` picks those a vector store ranks.

    Args:
        preset: name of a preset; or a parser, or any splitter that `as_parser` takes.
        embed_model: any embedding model of LlamaIndex, 'lexical' or 'openai:<model>'; None for that
            of LlamaIndex's `Settings` where it was set, else offline, see `Models.of`.
        transformations: extractors, or others, between parser and guard; the laws of the nodes
            hold behind them, see `UserTransformations`.
        vector_store: as for `IngestionPipeline`, like all that follow.
        docstore: leaves out documents that were ingested; one per pipeline, as it knows documents
            and not what was done to them.
        docstore_strategy: what is done about changed documents.
        cache: of what the transformations gave.
        disable_cache: run all of them every time.

    Raises:
        ConfigurationError: an unknown preset, or a transformation that is none of LlamaIndex's.

    Example:
        >>> pipeline = build_pipeline("heading")
        >>> [step.class_name() for step in pipeline.transformations]
        ['HeadingHierarchyNodeParser', 'EmbeddingGuard', 'LeafEmbedding']
        >>> nodes = pipeline.run(documents=[Document(text="# Tea\n\nGreen tea.", id_="tea.md")])
        >>> nodes[0].metadata["heading_path"], nodes[0].embedding is None
        (['Tea'], False)
    """
    parser = get_parser(preset) if isinstance(preset, str) else as_parser(preset)
    steps = [LeafEmbedding(embed_model=settled(None, embed_model).embedding)]
    return IngestionPipeline(
        transformations=[*_cutting(parser, parser, transformations), *steps],
        vector_store=vector_store,
        docstore=docstore,
        docstore_strategy=docstore_strategy,
        cache=cache,
        disable_cache=disable_cache,
    )


class ColumnPipeline(NamedTuple):
    """The pipeline of a column in the two parts in which it is run.

    Attributes:
        name: of its parser in the report.
        code: part of the version of every document in it.
        cutting: documents in, chunks out.
        embedding: gives chunks their vectors.
        unwritten: metadata of a chunk that say why an LLM did not write about it.
    """

    name: str
    code: str
    cutting: IngestionPipeline
    embedding: LeafEmbedding
    unwritten: frozenset[str] = frozenset()


def column_pipeline(
    name: str,
    code: str,
    parser: SpanNodeParser,
    embed_model: BaseEmbedding,
    transformations: Sequence[TransformComponent],
    parse: Parse | None = None,
) -> ColumnPipeline:
    """What `build_pipeline` gives, in two parts; `parse` makes the nodes where it is given."""
    cutter = parser if parse is None else _CutElsewhere(parser=parser, parse=parse)
    steps = _cutting(cutter, parser, transformations)
    return ColumnPipeline(
        name,
        code,
        IngestionPipeline(transformations=steps, disable_cache=True),
        LeafEmbedding(embed_model=embed_model),
        frozenset(step.noted.error for step in transformations if isinstance(step, ChunkWriter)),
    )


def _cutting(
    cutter: TransformComponent,
    parser: SpanNodeParser,
    transformations: Sequence[TransformComponent],
) -> list[TransformComponent]:
    behind = UserTransformations(transformations, tokenizer=parser.tokenizer)
    return [cutter, *([behind] if behind.steps else []), EmbeddingGuard()]


class _CutElsewhere(TransformComponent):
    """A parser whose nodes are made by somebody else."""

    parser: SpanNodeParser
    parse: Any = Field(exclude=True, repr=False)

    def __call__(self, nodes: Sequence[BaseNode], **_kwargs: Any) -> list[BaseNode]:
        """The nodes of all documents."""
        return [made for one in nodes for made in self.parse(self.parser, one)]
