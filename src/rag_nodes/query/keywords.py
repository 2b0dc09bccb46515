"""LlamaIndex's keywords of retrievers and query engines: honoured, or refused with a remedy."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from llama_index.core.postprocessor import (
    MetadataReplacementPostProcessor,
    PrevNextNodePostprocessor,
)
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.response_synthesizers import ResponseMode
from llama_index.core.vector_stores.types import MetadataFilters

from rag_nodes.core.errors import ConfigurationError
from rag_nodes.query.options import QueryOptions
from rag_nodes.query.postprocessors import SentencePostprocessor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from llama_index.core.schema import NodeWithScore, QueryBundle

_OTHER_ANSWERS = "RetrieverQueryEngine.from_args(RagNodesRetriever(...), {})"
INSTEAD = {
    "alpha": 'options=QueryOptions(mode="hybrid"), which weighs both rankings alike',
    "doc_ids": "document_ids",
    "hybrid_top_k": "similarity_top_k",
    "index": "from_index(index)",
    "output_cls": _OTHER_ANSWERS.format("output_cls=..."),
    "refine_template": _OTHER_ANSWERS.format("refine_template=..."),
    "response_synthesizer": _OTHER_ANSWERS.format("response_synthesizer=..."),
    "retriever": "from_args(retriever)",
    "service_context": "embed_model and llm",
    "similarity_cutoff": "options=QueryOptions(similarity_cutoff=...)",
    "simple_template": "text_qa_template",
    "sparse_top_k": "similarity_top_k",
    "summary_template": _OTHER_ANSWERS.format("summary_template=..."),
    "top_k": "similarity_top_k",
    "use_async": "aquery",
    "vector_store_query_mode": "options=QueryOptions(mode=...): dense, sparse or hybrid",
    "verbose": "stream, whose events tell what happens",
}
"""The way to do here what a keyword of LlamaIndex does there."""
_READ_ALREADY = {
    SentencePostprocessor: "sentences are selected already; leave it out",
    MetadataReplacementPostProcessor: "windows are read already; leave it out",
    PrevNextNodePostprocessor: 'use options=QueryOptions(expand="neighbours")',
}
_ONE_REQUEST = (ResponseMode.COMPACT, ResponseMode.SIMPLE_SUMMARIZE)
"""Modes that ask the LLM once if the excerpts fit its window, as they always do here."""


class _InTurn(BaseNodePostprocessor):
    """Several postprocessors, one after the other."""

    steps: list[BaseNodePostprocessor]

    @classmethod
    def class_name(cls) -> str:
        """Return the name under which LlamaIndex files this class."""
        return "InTurn"

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        for step in self.steps:
            nodes = step.postprocess_nodes(nodes, query_bundle=query_bundle)
        return nodes


def options_with(
    options: QueryOptions | None,
    similarity_top_k: int | None = None,
    node_postprocessors: Sequence[BaseNodePostprocessor] | None = None,
    response_mode: ResponseMode | str | None = None,
) -> QueryOptions:
    """Return the options of a question with what LlamaIndex's keywords ask for.

    Raises:
        ConfigurationError: a keyword contradicts the options, or cannot be honoured.
    """
    chosen = options or QueryOptions()
    if similarity_top_k is not None:
        _check_free("similarity_top_k", "top_k", chosen.top_k)
        chosen = replace(chosen, top_k=similarity_top_k)
    if node_postprocessors:
        _check_free("node_postprocessors", "rerank", chosen.rerank)
        chosen = replace(chosen, rerank=_in_turn(node_postprocessors))
    if response_mode is not None and response_mode not in _ONE_REQUEST:
        if response_mode != ResponseMode.NO_TEXT:
            raise ConfigurationError(
                f"response_mode '{_value(response_mode)}' is not known here, where one request "
                "answers ('compact'); for another mode use "
                + _OTHER_ANSWERS.format(f"response_mode='{_value(response_mode)}'")
            )
        chosen = replace(chosen, retrieval_only=True)
    return chosen


def check_filters(filters: object) -> None:
    """Refuse filters that are none of LlamaIndex's, which would fail at the first question.

    Raises:
        ConfigurationError: they are something else.
    """
    if filters is not None and not isinstance(filters, MetadataFilters):
        raise ConfigurationError(
            f"filters must be MetadataFilters of LlamaIndex, not {type(filters).__name__}; use "
            'options=QueryOptions(filter=Filter(where={"dept": "hr"})) for a filter of ours'
        )


def _check_free(keyword: str, option: str, value: object) -> None:
    if value is not None:
        raise ConfigurationError(
            f"{keyword} sets the option {option}, which options already sets; leave one of them out"
        )


def _in_turn(steps: Sequence[BaseNodePostprocessor]) -> BaseNodePostprocessor:
    for step in steps:
        if remedy := _READ_ALREADY.get(type(step)):
            raise ConfigurationError(f"node_postprocessors has {type(step).__name__}: {remedy}")
    return steps[0] if len(steps) == 1 else _InTurn(steps=list(steps))


def _value(mode: ResponseMode | str) -> str:
    return mode.value if isinstance(mode, ResponseMode) else mode
