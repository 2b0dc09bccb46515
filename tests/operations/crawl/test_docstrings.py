"""Every example in a docstring can be copied: it has its imports, and prints what it shows."""

import ast
import io
from doctest import ELLIPSIS, DocTest, DocTestParser, DocTestRunner
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[3] / "src" / "rag_nodes"


def examples() -> list[DocTest]:
    runnable = []
    for path in sorted(SOURCE.rglob("*.py")):
        if ">>>" not in (source := path.read_text(encoding="utf-8")):
            continue
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                name = f"{path.relative_to(SOURCE)}:{getattr(node, 'name', 'module')}"
                text = ast.get_docstring(node) or ""
                example = DocTestParser().get_doctest(text, {}, name, str(path), 0)
                runnable += [example] if example.examples else []
    return runnable


EXAMPLES = examples()


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_an_example_runs_alone_and_prints_what_it_shows(example: DocTest) -> None:
    output = io.StringIO()
    result = DocTestRunner(optionflags=ELLIPSIS).run(example, out=output.write)
    assert result.failed == 0, output.getvalue()
