"""Runs the code blocks of README and docs as tests; docstrings: tests/operations/crawl.

A block of ```` ```text title="Output" ```` shows what the block of Python before it prints.
"""

from __future__ import annotations

import io
from contextlib import redirect_stdout

from sybil import Example, Sybil
from sybil.evaluators.python import PythonEvaluator
from sybil.parsers.markdown import CodeBlockParser

_run = PythonEvaluator()


def _evaluate(example: Example) -> None:
    with redirect_stdout(io.StringIO()) as printed:
        _run(example)
    example.namespace["__printed__"] = printed.getvalue()


def _compare(example: Example) -> str | None:
    printed = example.namespace["__printed__"].strip("\n")
    if printed == example.parsed.strip("\n"):
        return None
    return f"run scripts/docs/make_outputs.py; the block before this one prints:\n{printed}"


_documents = Sybil(
    parsers=[
        CodeBlockParser("python", _evaluate),
        CodeBlockParser('text title="Output"', _compare),
    ],
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
