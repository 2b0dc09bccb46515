"""Chunks as files: complete, exact, and harmless in a spreadsheet."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING

import pytest
from llama_index.core.schema import TextNode

from rag_nodes.apps.tabs.chunk_files import as_csv, as_json, neutral
from rag_nodes.apps.visitors.choice import Choice
from rag_nodes.apps.visitors.cuts import Cuts
from rag_nodes.apps.visitors.sessions import PageSessions
from rag_nodes.metadata import HEADING_PATH, TOKEN_COUNT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rag_nodes.settings import Settings

CHOICE = Choice(("fixed", "heading"), options={"fixed": {"chunk_size": 200, "chunk_overlap": 40}})
LONG = "\n\n".join(f"Line {n} says that the water is {n} degrees warm." for n in range(50))


@pytest.fixture
def cuts(settings: Settings, tmp_path: Path) -> Iterator[Cuts]:
    sessions = PageSessions(settings)
    path = tmp_path / "water.md"
    path.write_text(LONG, encoding="utf-8")
    sessions.of("visitor").load([path], CHOICE, lambda _: None)
    found = sessions.of("visitor").cuts
    assert found is not None
    yield found
    sessions.close()


def test_the_json_export_holds_every_chunk_as_a_slice_of_its_document(cuts: Cuts) -> None:
    content = json.loads(as_json(cuts, "fixed"))
    [document] = cuts.documents
    assert content["strategy"] == "fixed"
    assert content["parser"]["chunk_size"] == 200
    assert len(content["chunks"]) == len(cuts.nodes("fixed", document))
    assert all(LONG[one["start"] : one["end"]] == one["text"] for one in content["chunks"])


def test_the_csv_export_reads_back_with_every_chunk(cuts: Cuts) -> None:
    text = as_csv(cuts, "heading").decode("utf-8-sig")
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    [document] = cuts.documents
    assert [row["id"] for row in rows] == [n.node_id for n in cuts.nodes("heading", document)]
    assert rows[0]["document"] == "water.md"


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r", "\n"])
def test_no_cell_of_a_csv_export_begins_like_a_formula(
    start: str, cuts: Cuts, monkeypatch: pytest.MonkeyPatch
) -> None:
    evil = TextNode(
        text=f"{start}cmd|' /C calc'!A0",
        start_char_idx=0,
        end_char_idx=5,
        metadata={HEADING_PATH: [f"{start}SUM(A1)"], TOKEN_COUNT: 3},
    )
    monkeypatch.setattr(cuts, "nodes", lambda *_: (evil,))
    monkeypatch.setattr(cuts, "name_of", lambda _: f"{start}name.md")
    text = as_csv(cuts, "fixed").decode("utf-8-sig")
    [row] = csv.DictReader(io.StringIO(text, newline=""))
    for name in ("document", "heading_path", "text"):
        assert row[name].startswith(f"'{start}")
    assert neutral(5) == 5
    assert neutral("plain = text") == "plain = text"
