"""A page of a crawl bears its own name and address wherever it is shown."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from crawls import SITE, page
from llama_index.core import Document
from llama_index.core.schema import MetadataMode

from rag_nodes.apps.panes.top import report_html
from rag_nodes.apps.visitors.cuts import Cuts
from rag_nodes.cli.program import run
from rag_nodes.core import metadata as keys
from rag_nodes.core.settings import Settings
from rag_nodes.embedding import DocumentsReport
from rag_nodes.evaluation.compare import Comparison
from rag_nodes.models import choose_models
from rag_nodes.parsers import get_parser
from rag_nodes.readers import read_all

NAMES = [f"tank | Docs ({SITE}/tank)", f"colour | Docs ({SITE}/colour)"]
LINKS = [f"{SITE}/tank", "https://elsewhere.test"]


@pytest.fixture
def crawl(tmp_path: Path) -> Path:
    pages: list[dict[str, Any]] = [
        page("tank", "# Tank\n\nThe tank holds nine litres."),
        page("colour", "# Colour\n\nThe machine is red.", ogLocaleAlternate=["de"]),
    ]
    pages[0]["linksOnPage"] = LINKS
    content = {"base_url": SITE, "timestamp": "2026-01-02T03:04:05Z", "data": pages}
    path = tmp_path / "crawl.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


@pytest.fixture
def documents(crawl: Path) -> list[Document]:
    return [row.document for row in read_all([crawl]) if row.document]


@pytest.fixture
def comparison(documents: list[Document], no_configuration: Path) -> Iterator[Comparison]:
    del no_configuration
    parsers, models = {"heading": get_parser("heading")}, choose_models(Settings())
    with Comparison(parsers, documents=documents, models=models) as opened:
        yield opened


@pytest.fixture
def report(comparison: Comparison) -> DocumentsReport:
    return comparison.loaded


def test_the_rows_of_documents_name_title_and_url_of_each_page(report: DocumentsReport) -> None:
    assert [(file.name, file.source) for file in report.files] == [
        (NAMES[0], f"{SITE}/tank"),
        (NAMES[1], f"{SITE}/colour"),
    ]
    assert all(name in report_html(report) for name in NAMES)


@pytest.mark.usefixtures("report")
def test_a_citation_names_title_and_url_of_its_page(comparison: Comparison) -> None:
    [column] = comparison.ask("How many litres does the tank hold?").columns
    assert column.answer is not None
    assert column.answer.citations[0].file_name == NAMES[0]


def test_the_chunks_tab_lists_the_pages_by_title_and_url(
    comparison: Comparison, documents: list[Document]
) -> None:
    cuts = Cuts(comparison, documents)
    assert [cuts.name_of(document.id_) for document in documents] == NAMES


@pytest.mark.usefixtures("no_configuration")
def test_the_command_line_names_the_pages_and_says_how_to_split_all_of_them(
    crawl: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    common = ("--parser", "heading", "--store", ":memory:", "--json")
    assert run(["ingest", str(crawl), *common]) == 0
    files = json.loads(capsys.readouterr().out)["files"]
    assert [(file["name"], file["source"]) for file in files] == [
        (NAMES[0], f"{SITE}/tank"),
        (NAMES[1], f"{SITE}/colour"),
    ]
    assert run(["chunk", str(crawl)]) == 1
    assert "rag-nodes docs" in capsys.readouterr().err


def test_metadata_of_a_crawl_are_kept_but_not_embedded_or_read(
    documents: list[Document],
) -> None:
    tank, colour = (document.metadata for document in documents)
    assert {tank[keys.BASE_URL], colour[keys.BASE_URL]} == {SITE}
    assert {tank[keys.TIMESTAMP], colour[keys.TIMESTAMP]} == {"2026-01-02T03:04:05Z"}
    assert (tank[keys.LINKS_ON_PAGE], colour[keys.LOCALES]) == (LINKS, ["de"])
    for document in documents:
        for node in get_parser("heading")([document]):
            assert keys.LINKS_ON_PAGE not in node.metadata  # a chunk need not carry them all
            assert SITE not in node.get_content(MetadataMode.EMBED)
            assert SITE not in node.get_content(MetadataMode.LLM)


@pytest.mark.usefixtures("no_configuration")
def test_the_exports_have_it_too(crawl: Path, tmp_path: Path) -> None:
    output = tmp_path / "chunks.jsonl"
    assert run(["docs", str(crawl), str(output), "--quiet"]) == 0
    tank, colour = map(json.loads, output.read_text(encoding="utf-8").splitlines())
    assert (tank["base_url"], tank["timestamp"]) == (SITE, "2026-01-02T03:04:05Z")
    assert (tank["links_on_page"], tank["og_locale_alternate"]) == (LINKS, [])
    assert (colour["links_on_page"], colour["og_locale_alternate"]) == ([], ["de"])
    assert run(["docs", str(crawl), str(tmp_path / "chunks.json"), "--quiet"]) == 0
    [first, _] = json.loads((tmp_path / "chunks.json").read_text(encoding="utf-8"))
    assert first["metadata"]["base_url"] == SITE
