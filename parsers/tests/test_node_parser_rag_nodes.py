"""What LlamaIndex expects of an integration of node parsers."""

from __future__ import annotations

import llama_index.node_parser.rag_nodes as integration
from llama_index.core import Document
from llama_index.core.ingestion import IngestionPipeline
from llama_index.core.node_parser import NodeParser

import rag_nodes

TEXT = "# Pump\n\nRinse the filter weekly.\n\n# Motor\n\nOil it in spring.\n"


def test_every_class_is_a_node_parser_of_llama_index() -> None:
    for name in integration.__all__:
        assert issubclass(getattr(integration, name), NodeParser), name


def test_every_node_parser_of_rag_nodes_is_here_and_the_same_class() -> None:
    bases = {"ForeignNodeParser", "SpanNodeParser"}
    parsers = {name for name in rag_nodes.__all__ if name.endswith("NodeParser")} - bases
    assert set(integration.__all__) == parsers
    for name in parsers:
        assert getattr(integration, name) is getattr(rag_nodes, name)


def test_a_parser_runs_in_a_pipeline_and_its_nodes_are_slices() -> None:
    parser = integration.HeadingHierarchyNodeParser(chunk_size=200, min_chunk_size=1)
    nodes = IngestionPipeline(transformations=[parser]).run(documents=[Document(text=TEXT)])
    assert [one.metadata["heading_path"] for one in nodes] == [["Pump"], ["Motor"]]
    assert all(TEXT[one.start_char_idx : one.end_char_idx] == one.text for one in nodes)
