"""The documentation workflow: read a Firecrawl crawl, split, check and summarise it, write chunks.

`run` does all of it. `check_page` and `page_statistics` compare one document with its chunks.
"""

from __future__ import annotations

from rag_nodes.operations.crawl.checks import CheckedPage, PageFinding, check_page
from rag_nodes.operations.crawl.statistics import Statistics, page_statistics
from rag_nodes.operations.crawl.workflow import DocsReport, DocsStep, run, validate_input

__all__ = [
    "CheckedPage",
    "DocsReport",
    "DocsStep",
    "PageFinding",
    "Statistics",
    "check_page",
    "page_statistics",
    "run",
    "validate_input",
]
