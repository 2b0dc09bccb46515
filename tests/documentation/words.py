"""Reading of the words in code: docstrings, comments, names, strings and numeric constants."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "rag_nodes"
CLAUSE = re.compile(
    r"(?:how|of|that|what|whatever|when|where|whether|which|who|whom|whose|why)\b", re.IGNORECASE
)
UNIT = re.compile(
    r"answers|bytes|characters|chunks|days|digits|hours|letters|lines|milliseconds|minutes|nodes|pages|percent|pixels|points"
    r"|questions|rows|seconds|separators|share|tokens|words",
    re.IGNORECASE,
)
DEFINITIONS = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
WORDS = (tokenize.COMMENT, tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING))


class Line(NamedTuple):
    """A place in a file, with the words that stand there."""

    path: str
    number: int
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.number}: {self.text}"


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def line(path: Path, number: int, text: str) -> Line:
    return Line(path.relative_to(ROOT).as_posix(), number, text)


def _text(statement: ast.stmt | None) -> str | None:
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
        return statement.value.value if isinstance(statement.value.value, str) else None
    return None


def docstrings(path: Path) -> Iterator[Line]:
    """Docstrings of modules, classes and functions, and those below constants and fields."""
    for node in ast.walk(tree_of(path)):
        body = getattr(node, "body", None)
        statements = body if isinstance(body, list) else []
        for before, statement in zip([None, *statements[:-1]], statements, strict=False):
            documents = before is None and isinstance(node, DEFINITIONS)
            documents |= isinstance(before, ast.Assign | ast.AnnAssign)
            if documents and (text := _text(statement)):
                yield line(path, statement.lineno, text.strip())


def bound_names(path: Path) -> Iterator[Line]:
    """Names of variables, parameters, functions and classes where they are bound."""
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield line(path, node.lineno, node.id)
        elif isinstance(node, ast.arg):
            yield line(path, node.lineno, node.arg)
        elif isinstance(node, DEFINITIONS[1:]):
            yield line(path, node.lineno, node.name)


def prose(path: Path) -> Iterator[Line]:
    """Comments and strings of code, and all lines of any other file."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type in WORDS:
                yield line(path, token.start[0], " ".join(token.string.split()))
    else:
        for number, written in enumerate(text.splitlines(), 1):
            yield line(path, number, written)


def representations(path: Path) -> Iterator[Line]:
    """Values that an f-string writes as `repr` does, except behind `=`, `(` or `{`, as in code."""
    for node in ast.walk(tree_of(path)):
        before = ""
        for part in node.values if isinstance(node, ast.JoinedStr) else ():
            if isinstance(part, ast.FormattedValue):
                if part.conversion == ord("r") and not before.rstrip().endswith(("=", "(", "{")):
                    yield line(path, part.lineno, ast.unparse(part.value))
                before = ""
            elif isinstance(part, ast.Constant):
                before = str(part.value)


def _is_number(value: ast.expr | None) -> bool:
    if isinstance(value, ast.BinOp):
        return _is_number(value.left) and _is_number(value.right)
    return isinstance(value, ast.Constant) and type(value.value) in {int, float}


def numbers_without_unit(path: Path) -> Iterator[Line]:
    """Numeric constants of a module with no unit in their name, no comment and no docstring."""
    lines = path.read_text(encoding="utf-8").splitlines()
    body = tree_of(path).body
    for statement, following in zip(body, [*body[1:], None], strict=True):
        if isinstance(statement, ast.Assign | ast.AnnAssign) and _is_number(statement.value):
            written, above = lines[statement.lineno - 1], lines[statement.lineno - 2]
            is_explained = _text(following) or "#" in written or above.startswith("#")
            if not is_explained and not UNIT.search(written.partition("=")[0]):
                yield line(path, statement.lineno, written)
