"""Runs the code blocks of README and docs as tests; docstrings: tests/operations/crawl."""

from __future__ import annotations

from sybil import Sybil
from sybil.parsers.markdown import PythonCodeBlockParser

_documents = Sybil(
    parsers=[PythonCodeBlockParser()],
    patterns=[
        "README.md",
        "parsers/README.md",
        "postprocessors/README.md",
        "docs/*.md",
        "docs/*/*.md",
        "docs/*/*/*.md",
    ],
)

pytest_collect_file = _documents.pytest()
