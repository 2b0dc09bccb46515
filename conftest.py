"""Runs the code in README, docs and docstrings as tests."""

from __future__ import annotations

from doctest import ELLIPSIS

from sybil import Sybil
from sybil.parsers.markdown import PythonCodeBlockParser
from sybil.parsers.rest import DocTestParser

_documents = Sybil(
    parsers=[PythonCodeBlockParser()],
    patterns=["README.md", "parsers/README.md", "docs/*.md", "docs/**/*.md"],
)
_docstrings = Sybil(
    parsers=[DocTestParser(optionflags=ELLIPSIS)],
    patterns=["src/rag_nodes/parsers/*.py", "src/rag_nodes/parsers/*/*.py"],
)

pytest_collect_file = (_documents + _docstrings).pytest()
