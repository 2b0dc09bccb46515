"""The site: every page is listed, and the API reference knows what pydantic makes."""

import re
import runpy
from pathlib import Path

import griffe
import pytest
import yaml

import rag_nodes

ROOT = Path(__file__).parents[3]
DOCS = ROOT / "docs"


def pages(nav: object) -> list[str]:
    if isinstance(nav, str):
        return [nav]
    parts = nav.values() if isinstance(nav, dict) else nav
    return [page for part in parts for page in pages(part)]  # type: ignore[union-attr]


def test_every_page_is_in_the_navigation_once() -> None:
    listed = pages(yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"])
    written = [path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")]
    assert sorted(listed) == sorted(written)


def test_every_public_name_is_in_the_reference() -> None:
    pages = (DOCS / "reference" / "api").glob("*.md")
    lines = [line for page in pages for line in page.read_text(encoding="utf-8").splitlines()]
    shown = {line[4:] for line in lines if line[:4] == "::: "}
    names = {f"rag_nodes.{name}" for name in rag_nodes.__all__} - {"rag_nodes.__version__"}
    assert names - shown == {"rag_nodes.PRESETS", "rag_nodes.RagNodesError"}  # a table; its module


@pytest.fixture(scope="module")
def package() -> griffe.Module:
    extensions = griffe.load_extensions(str(ROOT / "scripts" / "docs" / "griffe_fields.py"))
    loaded = griffe.load("rag_nodes", extensions=extensions, search_paths=[ROOT / "src"])
    assert isinstance(loaded, griffe.Module)
    return loaded


@pytest.mark.parametrize(
    ("name", "option", "kind", "default"),
    [
        ("parsers.heading.parser.HeadingHierarchyNodeParser", "chunk_size", "int", "1000"),
        ("parsers.heading.parser.HeadingHierarchyNodeParser", "max_level", "int", "6"),
        ("parsers.fixed.FixedSizeNodeParser", "language", "str", "'auto'"),
        ("query.postprocessors.SentencePostprocessor", "budget", "int", "1000"),
    ],
)
def test_the_reference_shows_type_and_default_of_an_option(
    package: griffe.Module, name: str, option: str, kind: str, default: str
) -> None:
    parameter = package[name].parameters[option]
    assert (str(parameter.annotation), parameter.default) == (kind, default)


@pytest.mark.parametrize("name", ["make_cli", "make_rest"])
def test_a_generated_page_is_the_one_that_make_format_writes(name: str) -> None:
    script = runpy.run_path(str(ROOT / "scripts" / "docs" / f"{name}.py"))
    assert script["PAGE"].read_text(encoding="utf-8") == script["page"](), "run make format"


def test_every_block_of_python_in_the_pages_is_collected() -> None:
    documents = runpy.run_path(str(ROOT / "conftest.py"))["_documents"]
    block = re.compile(r'^ *```(?:python|text title="Output")$', re.MULTILINE)
    written = {page: len(block.findall(page.read_text("utf-8"))) for page in DOCS.rglob("*.md")}
    collected = {
        page: len(list(documents.parse(page).examples()))
        for page in filter(documents.should_parse, written)
    }
    assert collected == written
    assert sum(written.values()) >= 60
