"""Messages of REST and MCP: no advice that only the owner of the computer can follow."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import rag_nodes
from rag_nodes.core.errors import (
    FileMissingError,
    MissingExtraError,
    MissingPdfEngineError,
    UnsupportedFileError,
)
from rag_nodes.server.messages import clean, public, public_words

SOURCES = Path(rag_nodes.__file__).parent
FOR_THE_OWNER = re.compile(r"(?<![\w-])--(?!dpi|psm)[a-z]|pip install|\(Python: ")
OWNER_MODULES = re.compile(
    r"(apps|cli|evaluation|pipeline/upkeep|models/executors|server/(messages|serve)\.py"
    r"|operations/(__init__|asked|copying|crawls?|evaluating|ingesting|labelled|measuring|scripts"
    r"|stored))\b"
)
"""Modules that write for a terminal, a page or a report, and never for a request."""
OWNER_FUNCTIONS = {
    "_collections",
    "_contents_named",
    "_named_collection",
    "_refuse_row",
    "_repeated",
    "_unreadable",
    "ask",
    "command",
    "compare",
    "must_exist",
    "search_filter",
    "typed_metadata",
    "_opened",
}
"""Functions that read fields of the command line alone; and `_opened`, which names options of the
server itself to an agent whose owner starts it."""


def _messages(node: ast.AST, function: str = "") -> Iterator[tuple[str, str]]:
    """Yield the texts below a node that are no docstrings, each with its innermost function."""
    for child in ast.iter_child_nodes(node):
        inner = child.name if isinstance(child, ast.FunctionDef) else function
        if isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant):
            continue
        if isinstance(child, ast.Call) and ast.unparse(child.func) in {"Flag", "print"}:
            continue
        if isinstance(child, ast.JoinedStr):
            parts = (getattr(part, "value", "") for part in child.values)
            yield inner, "".join(part if isinstance(part, str) else "VALUE" for part in parts)
        elif isinstance(child, ast.Constant) and isinstance(child.value, str):
            yield inner, child.value
        else:
            yield from _messages(child, inner)


def test_no_message_for_visitors_names_an_option_or_an_install_line() -> None:
    left = [
        (str(path.relative_to(SOURCES)), function, public_words(text))
        for path in sorted(SOURCES.rglob("*.py"))
        if not OWNER_MODULES.match(path.relative_to(SOURCES).as_posix())
        for function, text in _messages(ast.parse(path.read_text("utf-8")))
        if " " in text  # names alone are no message
        if function not in OWNER_FUNCTIONS and FOR_THE_OWNER.search(public_words(text))
    ]
    assert left == []


@pytest.mark.parametrize(
    ("error", "status", "remedy"),
    [
        (
            MissingExtraError("openai", "openai"),
            503,
            "whoever runs the server has to install the extra openai of rag-nodes",
        ),
        (
            UnsupportedFileError(
                "crawl.json", *str(MissingExtraError("ijson", "firecrawl")).split(". ")
            ),
            422,
            "whoever runs the server has to install the extra firecrawl of rag-nodes",
        ),
        (
            MissingPdfEngineError(),
            503,
            (
                "whoever runs the server has to install the extra pdfium of rag-nodes (PDFium: BSD "
                "and Apache licences) or the extra pdf of rag-nodes (PyMuPDF: AGPL or a commercial "
                "licence)"
            ),
        ),
        (
            FileMissingError("/srv/report.pdf"),
            422,
            "the file was moved or deleted: put it back, or ingest it again",
        ),
    ],
)
def test_a_missing_file_or_extra_has_a_remedy_for_visitors(
    error: Exception, status: int, remedy: str
) -> None:
    seen = public(error)
    assert (seen[0], seen[2]) == (status, remedy)


def test_reasons_in_replies_are_translated_and_metadata_stay_as_they_are() -> None:
    kept = {"reason": "/srv/a/b.pdf"}
    reply = {"boxes_error": "no such file; check the path", "metadata": kept, "text": "--ocr"}
    cleaned = clean(reply)
    assert "check the path" not in cleaned["boxes_error"]
    assert (cleaned["metadata"], cleaned["text"]) == (kept, "--ocr")
