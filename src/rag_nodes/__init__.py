"""LlamaIndex node parsers with exact source spans, and an evaluation that shows which chunking works on your documents.

The public names, and every module below, are attributes of this package. They are imported when
they are first used, so `import rag_nodes` alone loads neither LlamaIndex nor a client.
`rag_nodes.core.settings.Settings` stays where it is: next to LlamaIndex's own `Settings` it would be
taken for that.
"""  # noqa: E501 - one sentence, the same everywhere

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rag_nodes.core.errors import RagNodesError
    from rag_nodes.embedding import (
        AtomicIngestionPipeline,
        EmbeddingGuard,
        FlatMetadata,
        SectionSummary,
        build_pipeline,
    )
    from rag_nodes.evaluation.compare import Comparison, ComparisonReport
    from rag_nodes.evaluation.dataset import Dataset, Question
    from rag_nodes.evaluation.importers import load_dataset
    from rag_nodes.evaluation.plan import EvaluationPlan
    from rag_nodes.evaluation.report import EvaluationReport
    from rag_nodes.evaluation.run import evaluate
    from rag_nodes.models import Models, choose_models, get_embedding
    from rag_nodes.parsers import (
        PRESETS,
        AutoNodeParser,
        EnrichedChunk,
        FixedSizeNodeParser,
        ForeignNodeParser,
        HeadingHierarchyNodeParser,
        PageNodeParser,
        ParentChildNodeParser,
        RecursiveNodeParser,
        SemanticNodeParser,
        SentenceNodeParser,
        SpanNodeParser,
        TokenOverlapNodeParser,
        as_parser,
        get_parser,
        leaf_nodes,
        load_parser,
        to_chunks,
    )
    from rag_nodes.pipeline import (
        FileMetadata,
        IngestReport,
        aingest,
        aingest_documents,
        ingest,
        ingest_documents,
        ingest_from_store,
    )
    from rag_nodes.query import (
        Answer,
        Citation,
        QueryOptions,
        RagNodesChat,
        RagNodesQueryEngine,
        RagNodesRetriever,
        SentencePostprocessor,
        ask,
    )
    from rag_nodes.readers import RagNodesReader, join_pages, locate, read, read_all
    from rag_nodes.server import launch
    from rag_nodes.store import Filter, ServerOptions, Store, open_store
    from rag_nodes.store.vector_store import RagNodesVectorStore

    __version__: str

IDENTITY = (
    "LlamaIndex node parsers with exact source spans, and an evaluation that shows which chunking "
    "works on your documents."
)
"""Summary of the project, in the words of README, help and REST."""

__all__ = [
    "PRESETS",
    "Answer",
    "AtomicIngestionPipeline",
    "AutoNodeParser",
    "Citation",
    "Comparison",
    "ComparisonReport",
    "Dataset",
    "EmbeddingGuard",
    "EnrichedChunk",
    "EvaluationPlan",
    "EvaluationReport",
    "FileMetadata",
    "Filter",
    "FixedSizeNodeParser",
    "FlatMetadata",
    "ForeignNodeParser",
    "HeadingHierarchyNodeParser",
    "IngestReport",
    "Models",
    "PageNodeParser",
    "ParentChildNodeParser",
    "QueryOptions",
    "Question",
    "RagNodesChat",
    "RagNodesError",
    "RagNodesQueryEngine",
    "RagNodesReader",
    "RagNodesRetriever",
    "RagNodesVectorStore",
    "RecursiveNodeParser",
    "SectionSummary",
    "SemanticNodeParser",
    "SentenceNodeParser",
    "SentencePostprocessor",
    "ServerOptions",
    "SpanNodeParser",
    "Store",
    "TokenOverlapNodeParser",
    "__version__",
    "aingest",
    "aingest_documents",
    "as_parser",
    "ask",
    "build_pipeline",
    "choose_models",
    "evaluate",
    "get_embedding",
    "get_parser",
    "ingest",
    "ingest_documents",
    "ingest_from_store",
    "join_pages",
    "launch",
    "leaf_nodes",
    "load_dataset",
    "load_parser",
    "locate",
    "open_store",
    "read",
    "read_all",
    "to_chunks",
]

_HOMES = {
    "evaluation.compare": ("Comparison", "ComparisonReport"),
    "embedding": (
        "AtomicIngestionPipeline",
        "EmbeddingGuard",
        "FlatMetadata",
        "SectionSummary",
        "build_pipeline",
    ),
    "core.errors": ("RagNodesError",),
    "evaluation": (
        "Dataset",
        "EvaluationPlan",
        "EvaluationReport",
        "Question",
        "evaluate",
        "load_dataset",
    ),
    "models": ("Models", "choose_models", "get_embedding"),
    "pipeline": (
        "FileMetadata",
        "IngestReport",
        "aingest",
        "aingest_documents",
        "ingest",
        "ingest_documents",
        "ingest_from_store",
    ),
    "query": (
        "Answer",
        "Citation",
        "QueryOptions",
        "RagNodesChat",
        "RagNodesQueryEngine",
        "RagNodesRetriever",
        "SentencePostprocessor",
        "ask",
    ),
    "readers": ("RagNodesReader", "join_pages", "locate", "read", "read_all"),
    "server": ("launch",),
    "store": ("Filter", "ServerOptions", "Store", "open_store"),
    "store.vector_store": ("RagNodesVectorStore",),
}
"""Modules that define public names; all other names are those of `parsers`."""

if not TYPE_CHECKING:  # a type checker would take every misspelt name for one of these

    def __getattr__(name: str) -> object:
        """Import a public name, or a module of this package, when it is first asked for (PEP 562).

        Raises:
            AttributeError: there is no such name.
        """
        value = globals()[name] = _found(name)
        return value


def _found(name: str) -> object:
    from importlib import import_module
    from importlib.metadata import version
    from importlib.util import find_spec

    if name == "__version__":
        return version("rag-nodes")
    if name in __all__:
        home = next((module for module, names in _HOMES.items() if name in names), "parsers")
        return getattr(import_module(f"{__name__}.{home}"), name)
    if name.startswith("_"):
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    if find_spec(f"{__name__}.{name}"):
        return import_module(f"{__name__}.{name}")
    home = import_module(f"{__name__}.parsers.presets").home_of(name)
    if not home:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
