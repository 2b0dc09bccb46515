import json
from pathlib import Path
from typing import Any

import pytest
from crawls import GUIDE, LONG, SITE
from llama_index.core import Document
from llama_index.core.schema import TextNode

from rag_nodes.core.files import replacing
from rag_nodes.embedding import SectionSummary
from rag_nodes.operations.crawl.export import as_json, chunk_objects, chunk_rows
from rag_nodes.parsers import get_parser
from rag_nodes.text.tokens import count_tokens


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


def rows(nodes: list[TextNode]) -> list[dict[str, Any]]:
    return list(chunk_rows(nodes, Document(text="")))


def section(lines: list[dict[str, Any]], key: str, start: str) -> dict[str, Any]:
    return next(row for row in lines if row[key].startswith(start))


def test_the_json_document_has_the_fields_of_s1_16() -> None:
    nodes = nodes_of(GUIDE, chunk_size=150, min_chunk_size=20)
    row = section(list(chunk_objects(nodes)), "content", "### Hardness")
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
    parts = list(chunk_objects(nodes_of(GUIDE, chunk_size=64, min_chunk_size=0)))
    numbered = [row["metadata"]["part"] for row in parts if "part" in row["metadata"]]
    assert numbered[:2] == ["Part 1", "Part 2"]
    [whole] = chunk_objects(nodes_of("# Hello\n\nShort."))
    assert whole["metadata"]["note"] == "full document"


def test_lines_have_the_link_heading_text_and_summary_of_s1_05() -> None:
    lines = rows(nodes_of(GUIDE, chunk_size=150, min_chunk_size=20))
    row = section(lines, "text", "### Hardness")
    assert row["link"] == f"{SITE}/guide#water-hardness"
    assert row["heading"] == "Hardness"
    assert row["summary"]
    assert section(lines, "text", "## Cleaning")["link"] == f"{SITE}/guide"


def test_lines_have_the_text_tokens_index_and_offsets_of_s2_13() -> None:
    row = rows(nodes_of(GUIDE))[0]
    assert row["document_id"] == "page"
    assert row["token_count"] == count_tokens(row["text"])
    assert row["chunk_index"] == 0
    assert GUIDE[row["start_char"] : row["end_char"]] == row["text"]


def test_lines_have_the_position_hierarchy_and_source_of_s3_09() -> None:
    lines = rows(nodes_of(GUIDE, chunk_size=150, min_chunk_size=20))
    assert [row["chunk_index"] for row in lines] == list(range(len(lines)))
    assert {row["total_chunks"] for row in lines} == {len(lines)}
    assert lines[-1]["heading_path"] == ["Tea machine", "Cleaning"]
    assert (lines[-1]["source_url"], lines[-1]["source_hash"]) == (f"{SITE}/guide", "abc")


@pytest.mark.parametrize("overlap", [0, 30])
def test_lines_say_which_neighbours_share_text_as_s3_09_asks(overlap: int) -> None:
    lines = rows(nodes_of(LONG, "token-overlap", chunk_size=120, chunk_overlap=overlap))
    assert len(lines) > 3
    before, after = ([row[f"overlap_with_{side}"] for row in lines] for side in ("prev", "next"))
    assert before == [False, *[overlap > 0] * (len(lines) - 1)]
    assert after == before[::-1]


def test_lines_have_the_same_columns_of_the_same_type_everywhere() -> None:
    lines = rows([*nodes_of(GUIDE), *nodes_of("# Hello\n\nShort.")])
    assert len({tuple(row) for row in lines}) == 1
    for name in lines[0]:
        assert len({type(row[name]) for row in lines if row[name] is not None}) <= 1
        assert not any(isinstance(row[name], dict) for row in lines)


ODD = [
    {"a": 'line\nend "quoted" \\ \u2028 \x85 Größe 字', "b": [1, {"c": None}]},
    {},
    {"d": "\ud800"},
]


@pytest.mark.parametrize("count", [0, 1, 3])
def test_json_reads_back_the_rows_that_were_written(count: int, tmp_path: Path) -> None:
    path = tmp_path / "rows.json"
    with replacing(path) as write:
        for text in as_json(ODD[:count], lines=False):
            write(text)
    assert json.loads(path.read_text(encoding="utf-8")) == ODD[:count]
    assert list(tmp_path.iterdir()) == [path]


def test_every_line_is_one_object_also_for_programs_that_know_more_line_ends() -> None:
    lines = "".join(as_json(ODD, lines=True)).splitlines()
    assert [json.loads(line) for line in lines] == ODD
