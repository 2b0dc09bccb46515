import json
from pathlib import Path
from typing import Any

import pytest
from crawls import GUIDE, SITE
from llama_index.core import Document
from llama_index.core.schema import TextNode

from rag_nodes.documentation import FORMATS
from rag_nodes.documentation.writer import as_json
from rag_nodes.files import replacing
from rag_nodes.parsers import get_parser
from rag_nodes.transforms import SectionSummary


def nodes_of(text: str, parser: str = "heading", **options: Any) -> list[TextNode]:
    document = Document(
        text=text,
        id_="page",
        metadata={
            "source": f"{SITE}/guide",
            "title": "Guide",
            "source_hash": "abc",
            "language": "en",
            "also_at": [f"{SITE}/copy"],
        },
    )
    nodes = get_parser(parser, **options)([document])
    return SectionSummary()(nodes)  # type: ignore[return-value]


def rows(name: str, nodes: list[TextNode]) -> list[dict[str, Any]]:
    return list(FORMATS[name](nodes, {}))


def section(found: list[dict[str, Any]], key: str, start: str) -> dict[str, Any]:
    return next(row for row in found if row[key].startswith(start))


def test_documentation_has_the_fields_of_s1_16() -> None:
    nodes = nodes_of(GUIDE, chunk_size=150, min_chunk_size=20)
    row = section(rows("documentation", nodes), "content", "### Hardness")
    node = next(node for node in nodes if node.text.startswith("### Hardness"))
    assert row == {
        "chunk_id": node.node_id,
        "source_url": f"{SITE}/guide",
        "content": node.text,
        "headers": {"Header 1": "Tea machine", "Header 2": "Water", "Header 3": "Hardness"},
        "token_count": node.metadata["token_count"],
        "summary": node.metadata["summary"],
        "metadata": {
            "title": "Guide",
            "link": f"{SITE}/guide#water-hardness",
            "also_at": [f"{SITE}/copy"],
            "summary_kind": "extract",
        },
    }


def test_parts_and_full_documents_say_so_in_the_words_of_the_requirements() -> None:
    parts = rows("documentation", nodes_of(GUIDE, chunk_size=64, min_chunk_size=0))
    numbered = [row["metadata"]["part"] for row in parts if "part" in row["metadata"]]
    assert numbered[:2] == ["Part 1", "Part 2"]
    [whole] = rows("documentation", nodes_of("# Hello\n\nShort."))
    assert whole["metadata"]["note"] == "full document"


def test_links_have_the_fields_of_s1_05_and_the_pages_own_anchors() -> None:
    nodes = nodes_of(GUIDE, chunk_size=150, min_chunk_size=20)
    found = rows("links", nodes)
    row = section(found, "text", "### Hardness")
    assert list(row) == ["chunk_link", "chunk_heading", "text", "summary"]
    assert row["chunk_link"] == f"{SITE}/guide#water-hardness"
    assert row["chunk_heading"] == "Hardness"
    assert section(found, "text", "## Cleaning")["chunk_link"] == f"{SITE}/guide"


def test_tokens_has_the_fields_of_s2_13() -> None:
    nodes = nodes_of(GUIDE)
    row = rows("tokens", nodes)[0]
    assert list(row) == ["text", "tokens", "chunk_index", "metadata"]
    place = row["metadata"]
    assert (place["document_id"], place["page_number"]) == ("page", None)
    assert GUIDE[place["start_char"] : place["end_char"]] == row["text"]


def test_web_has_the_fields_of_s3_09() -> None:
    found = rows("web", nodes_of(GUIDE, chunk_size=150, min_chunk_size=20))
    assert list(found[0])[:11] == [
        "chunk_id",
        "total_chunks",
        "content",
        "section",
        "hierarchy",
        "position",
        "token_count",
        "overlap_with_prev",
        "overlap_with_next",
        "source_url",
        "source_hash",
    ]
    assert [row["chunk_id"] for row in found] == list(range(len(found)))
    assert {row["total_chunks"] for row in found} == {len(found)}
    assert not any(row["overlap_with_prev"] or row["overlap_with_next"] for row in found)
    assert found[-1]["hierarchy"] == ["Tea machine", "Cleaning"]


def test_flat_rows_have_the_same_columns_of_the_same_type_everywhere() -> None:
    found = rows("jsonl", [*nodes_of(GUIDE), *nodes_of("# Hello\n\nShort.")])
    assert len({tuple(row) for row in found}) == 1
    for name in found[0]:
        assert len({type(row[name]) for row in found if row[name] is not None}) <= 1
        assert not any(isinstance(row[name], dict) for row in found)


ODD = [
    {"a": 'line\nend "quoted" \\ \u2028 \x85 Größe 字', "b": [1, {"c": None}]},
    {},
    {"d": "\ud800"},
]


@pytest.mark.parametrize("count", [0, 1, 3])
def test_what_is_written_is_what_json_reads(count: int, tmp_path: Path) -> None:
    path = tmp_path / "rows.json"
    with replacing(path) as write:
        for text in as_json(ODD[:count], lines=False):
            write(text)
    assert json.loads(path.read_text(encoding="utf-8")) == ODD[:count]
    assert list(tmp_path.iterdir()) == [path]


def test_every_line_is_one_object_also_for_programs_that_know_more_line_ends() -> None:
    lines = "".join(as_json(ODD, lines=True)).splitlines()
    assert [json.loads(line) for line in lines] == ODD
