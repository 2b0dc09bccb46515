"""REST gives the places of what an answer cites in the files of a session, and only there."""

import tempfile
from pathlib import Path

import httpx
import pytest

from rag_nodes.operations.workspace import session

HANDBOOK = Path(__file__).parents[2] / "examples" / "corpus" / "handbook.pdf"
QUESTION = {"question": "When must the sand filter be rinsed backwards?"}


def upload_file(client: httpx.Client, name: str, content: bytes) -> dict[str, str]:
    reply = client.post("/upload", files=[("files", (name, content))])
    assert reply.status_code == 200, reply.text
    return {"X-Session": reply.json()["session"]}


def test_boxes_are_given_on_request_and_leave_nothing_on_the_disk(
    client: httpx.Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    header = upload_file(client, "handbook.pdf", HANDBOOK.read_bytes())
    reply = client.post("/ask", json={**QUESTION, "boxes": True}, headers=header)
    [first, second] = reply.json()["citations"][0]["boxes"]
    assert (first["page"], first["page_width"], first["page_height"]) == (2, 420, 595)
    assert first["bottom"] < second["bottom"]
    assert not list(tmp_path.rglob("*.pdf"))
    assert str(tmp_path) not in reply.text

    plain = client.post("/ask", json=QUESTION, headers=header).json()
    assert plain["citations"][0]["boxes"] is None


def test_a_document_without_printed_pages_has_no_boxes(client: httpx.Client) -> None:
    header = upload_file(
        client, "note.md", b"# Filter\n\nThe sand filter is rinsed backwards at noon."
    )
    reply = client.post("/ask", json={**QUESTION, "boxes": True}, headers=header)
    assert reply.json()["citations"][0]["boxes"] == []


def test_no_more_of_a_visitors_pdfs_is_kept_than_fits(
    client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "MAX_KEPT_BYTES", 100)
    header = upload_file(client, "handbook.pdf", HANDBOOK.read_bytes())
    reply = client.post("/ask", json={**QUESTION, "boxes": True}, headers=header)
    [cited, *_] = reply.json()["citations"]
    assert cited["boxes"] == []
    assert "keeps 20 MB of PDFs for boxes, and this one did not fit" in cited["boxes_error"]


def test_lines_of_a_text_file_that_was_sent_are_given(client: httpx.Client) -> None:
    header = upload_file(
        client, "note.md", b"# Filter\n\nThe sand filter is rinsed backwards\nat noon.\n"
    )
    reply = client.post("/ask", json=QUESTION, headers=header).json()
    cited, hit = reply["citations"][0], reply["hits"][0]
    assert (cited["start_line"], cited["end_line"], cited["page"]) == (3, 4, None)
    assert (hit["start_line"], hit["end_line"]) == (1, 4)

    header = upload_file(client, "handbook.pdf", HANDBOOK.read_bytes())
    cited = client.post("/ask", json=QUESTION, headers=header).json()["citations"][0]
    assert (cited["start_line"], cited["page"]) == (None, 2)


def test_the_same_passage_of_two_files_is_cited_once_with_both(client: httpx.Client) -> None:
    note = b"# Filter\n\nThe sand filter is rinsed backwards at noon.\n"
    files = [("files", (name, note)) for name in ("a.md", "b.md")]
    header = {"X-Session": client.post("/upload", files=files).json()["session"]}
    reply = client.post("/ask", json=QUESTION, headers=header).json()
    [cited] = reply["citations"]
    [place] = cited["also"]
    assert {cited["file_name"], place["file_name"]} == {"a.md", "b.md"}
    assert (place["quote"], place["start"]) == (cited["quote"], cited["start"])
    assert reply["hits"][0]["also"][0]["text"] == reply["hits"][0]["text"]
    assert "source" not in place


def test_a_key_that_no_document_has_is_an_error_that_names_it(client: httpx.Client) -> None:
    header = upload_file(client, "note.md", b"---\nyear: 2020\n---\n\nThe sand filter is rinsed.\n")
    body = {**QUESTION, "filter": {"where": {"yaer": 2020}}}
    reply = client.post("/ask", json=body, headers=header)
    assert reply.status_code == 422
    assert "no chunk has the key 'yaer'" in reply.json()["error"]
    assert reply.json()["remedy"] == "did you mean 'year'?"
