"""The documentation workflow: a Firecrawl crawl in, checked and summarised chunks out (S1).

`run` does all of it; the parts can be used alone: `check_page` compares a document with its
chunks, `FORMATS` turns nodes into the objects other programs expect.
"""

from __future__ import annotations

from rag_nodes.documentation.export import FORMATS, Format
from rag_nodes.documentation.gates import MEASURES, Gate, parse_gates
from rag_nodes.documentation.report import DocsReport, Options, Repeated, Step
from rag_nodes.documentation.statistics import Statistics
from rag_nodes.documentation.validate import Finding, PageCheck, check_page
from rag_nodes.documentation.workflow import run, validate_input

__all__ = [
    "FORMATS",
    "MEASURES",
    "DocsReport",
    "Finding",
    "Format",
    "Gate",
    "Options",
    "PageCheck",
    "Repeated",
    "Statistics",
    "Step",
    "check_page",
    "parse_gates",
    "run",
    "validate_input",
]
