"""REST gives the boxes of what an answer cites in the PDFs of a session, and only there."""

import tempfile
from pathlib import Path

import httpx
import pytest

from rag_nodes.operations.workspace import session

HANDBOOK = Path(__file__).parents[2] / "examples" / "corpus" / "handbook.pdf"
QUESTION = {"question": "When must the sand filter be rinsed backwards?"}


def uploaded(client: httpx.Client, name: str, content: bytes) -> dict[str, str]:
    reply = client.post("/upload", files=[("files", (name, content))])
    assert reply.status_code == 200, reply.text
    return {"X-Session": reply.json()["session"]}


def test_boxes_are_given_on_request_and_leave_nothing_on_the_disk(
    client: httpx.Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    header = uploaded(client, "handbook.pdf", HANDBOOK.read_bytes())
    reply = client.post("/ask", json={**QUESTION, "boxes": True}, headers=header)
    [first, second] = reply.json()["citations"][0]["boxes"]
    assert (first["page"], first["page_width"], first["page_height"]) == (2, 420, 595)
    assert first["bottom"] < second["bottom"]
    assert not list(tmp_path.rglob("*.pdf"))
    assert str(tmp_path) not in reply.text

    plain = client.post("/ask", json=QUESTION, headers=header).json()
    assert plain["citations"][0]["boxes"] is None


def test_a_document_without_printed_pages_has_no_boxes(client: httpx.Client) -> None:
    header = uploaded(
        client, "note.md", b"# Filter\n\nThe sand filter is rinsed backwards at noon."
    )
    reply = client.post("/ask", json={**QUESTION, "boxes": True}, headers=header)
    assert reply.json()["citations"][0]["boxes"] == []


def test_no_more_of_a_visitors_pdfs_is_kept_than_fits(
    client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "MAX_KEPT_BYTES", 100)
    header = uploaded(client, "handbook.pdf", HANDBOOK.read_bytes())
    reply = client.post("/ask", json={**QUESTION, "boxes": True}, headers=header)
    assert reply.json()["citations"][0]["boxes"] == []
