"""What the project says it is: one sentence everywhere, and in nobody's private numbers."""

import re
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

import rag_nodes
from rag_nodes.cli.program import run
from rag_nodes.core.settings import Settings
from rag_nodes.parsers import offered
from rag_nodes.server.limits import ServerLimits
from rag_nodes.server.mcp import make_mcp
from rag_nodes.server.rest import make_api
from rag_nodes.server.served import ServedOperations

ROOT = Path(__file__).parents[1]
REQUIREMENT = re.compile(r"\bS[0-4]-\d\d\b")


def join_lines(text: str) -> str:
    return " ".join(text.replace("**", "").split())


def beginning_of(page: str) -> Callable[[], str]:
    return lambda: (ROOT / page).read_text(encoding="utf-8").partition("\n\n")[2]


def description() -> str:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return str(project["description"])


@pytest.mark.parametrize(
    "identity",
    [
        beginning_of("README.md"),
        beginning_of("ARCHITECTURE.md"),
        beginning_of("docs/index.md"),
        description,
        lambda: rag_nodes.__doc__,
    ],
    ids=["README", "ARCHITECTURE", "docs", "package index", "module"],
)
def test_the_project_says_in_one_sentence_what_it_is(identity: Callable[[], str]) -> None:
    assert join_lines(identity()).startswith(rag_nodes.IDENTITY)


def test_help_begins_with_that_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    assert rag_nodes.IDENTITY in join_lines(capsys.readouterr().out)


def test_rest_says_it_too_and_agents_read_only_what_to_do() -> None:
    served = ServedOperations.of(Settings(), offered(), ServerLimits())
    api, tools = make_api(served), make_mcp(served)
    assert api.description.startswith(rag_nodes.IDENTITY)
    assert rag_nodes.IDENTITY not in str(tools.manager.app.instructions)
    assert '`{"error": …, "remedy": …}`' in api.description


def test_no_number_of_a_requirement_is_in_what_users_read() -> None:
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    sources = (ROOT / "src").rglob("*.py")  # docstrings are help(), OpenAPI and tools' schemas
    numbers_by_page = {
        str(path.relative_to(ROOT)): numbers
        for path in (*pages, *sources)
        if (numbers := REQUIREMENT.findall(path.read_text(encoding="utf-8")))
    }
    assert numbers_by_page == {}
