"""The documentation workflow: a Firecrawl crawl in, checked and summarised chunks out.

`run` does all of it; the parts can be used alone: `check_page` compares a document with its
chunks, `FORMATS` turns nodes into the objects other programs expect.
"""

from __future__ import annotations

from rag_nodes.documentation.export import FORMATS
from rag_nodes.documentation.report import DocsOptions, DocsReport, DocsStep, Repeated
from rag_nodes.documentation.statistics import PageCheck, PageFinding, Statistics
from rag_nodes.documentation.thresholds import MEASURES, Threshold, parse_thresholds
from rag_nodes.documentation.validate import check_page
from rag_nodes.documentation.workflow import run, validate_input

__all__ = [
    "FORMATS",
    "MEASURES",
    "DocsOptions",
    "DocsReport",
    "DocsStep",
    "PageCheck",
    "PageFinding",
    "Repeated",
    "Statistics",
    "Threshold",
    "check_page",
    "parse_thresholds",
    "run",
    "validate_input",
]
