"""Uploads nobody should accept: too large, misnamed, or with a name that points elsewhere."""

import gc
import io
import logging
import socket
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from app_server import Api
from fixtures_app import offline_settings
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import Message, Receive, Scope, Send

from rag_nodes.core.settings import Settings
from rag_nodes.server.limits import BodyLimits, ServerLimits
from rag_nodes.server.uploads import NAME_BYTES, safe_name, save

CORPUS = Path(__file__).parents[2] / "examples" / "corpus"
LIMITS = ServerLimits(upload_bytes=20_000, upload_files=3, body_bytes=2_000, documents=4)
HOSTILE_NAMES = [
    "../../etc/passwd.md",
    "..\\..\\windows\\system.md",
    "/etc/cron.d/job.md",
    "C:\\autoexec.md",
    "a/../../b.md",
    "nul\x00l.md",
    "line\r\nbreak.md",
    "right\u202eleft.md",
    "\u2066hidden\u2069.md",
    "CON.md",
    "lpt1.md",
    ".hidden.md",
    "....md",
    "   .md",
    "",
    ".",
    "..",
    "/",
    "a" * 300 + ".md",
    "ä" * 300 + ".md",
    "\N{GRINNING FACE}" * 100 + ".md",
    "x." + "y" * 300,
    "<img src=x onerror=alert(1)>.md",
    'a"; rm -rf "b.md',
    "\ud800.md",
    "file://host/share.md",
    "%2e%2e%2fescape.md",
    "name.md/",
    "stream.md:hidden",
    "*?|.md",
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where everything temporary goes during a test."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@pytest.fixture(scope="module")
def client() -> Iterator[httpx.Client]:
    with Api(offline_settings(), LIMITS).opened() as opened:
        yield opened


def test_a_hostile_name_stays_in_the_folder_of_its_upload(tmp_path: Path) -> None:
    for number, name in enumerate(HOSTILE_NAMES):
        folder = tmp_path / str(number)
        path = save(io.BytesIO(b"text"), name, folder)
        assert path.resolve().parent == folder.resolve(), name
        assert path.read_bytes() == b"text", name
        assert path.name.isprintable(), name
        assert len(path.name.encode()) <= NAME_BYTES, name
        assert not set(path.name) & set('<>:"/\\|?*'), name
        assert path.stem.upper() not in {"CON", "LPT1"}, name


def test_an_ordinary_name_stays_as_it_is() -> None:
    assert safe_name("Größe der Pumpe (2).pdf") == "Größe der Pumpe (2).pdf"


@pytest.mark.parametrize("path", ["/upload", "/ask"])
def test_a_body_over_the_limit_is_refused_without_a_length(
    path: str, client: httpx.Client, folder: Path
) -> None:
    """In pieces, as a client sends what it does not know the size of."""

    def pieces() -> Iterator[bytes]:
        yield b'--cut\r\nContent-Disposition: form-data; name="files"; filename="a.txt"\r\n\r\n'
        for _ in range(50):
            yield b"x" * 1000

    kind = "multipart/form-data; boundary=cut" if path == "/upload" else "application/json"
    reply = client.post(path, content=pieces(), headers={"Content-Type": kind})
    assert reply.status_code == 413
    assert not list(folder.rglob("*"))


def test_a_client_that_hangs_up_in_an_upload_leaves_no_traceback(
    client: httpx.Client, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, logger="rag_nodes")
    body = b'--cut\r\nContent-Disposition: form-data; name="files"; filename="a.txt"\r\n\r\nhalf'
    head = (
        "POST /api/upload HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9999\r\n"
        "Content-Type: multipart/form-data; boundary=cut\r\n\r\n"
    )
    place = (client.base_url.host, client.base_url.port or 0)
    with socket.create_connection(place, timeout=10) as line:
        line.sendall(head.encode() + body)
    for _ in range(600):
        if any("left in the middle" in record.message for record in caplog.records):
            break
        client.get("/status")  # what the server does next
    else:
        pytest.fail("nobody noticed that the client had left")
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


async def test_nor_does_one_that_hangs_up_in_an_upload_of_the_page() -> None:
    async def read_upload(scope: Scope, receive: Receive, send: Send) -> None:
        """Reads its body, as Gradio's upload does."""
        await PlainTextResponse(await Request(scope, receive).body())(scope, receive, send)

    async def leaves() -> Message:
        return {"type": "http.disconnect"}

    async def nobody(message: Message) -> None:
        pytest.fail(f"nobody hears {message}")

    scope = {"type": "http", "method": "POST", "path": "/gradio_api/upload", "headers": []}
    await BodyLimits(read_upload, LIMITS)(scope, leaves, nobody)


@pytest.mark.parametrize("length", ["-1", "1e9", "abc", "9" * 5000])
def test_a_length_that_is_no_number_is_refused(length: str, client: httpx.Client) -> None:
    request = f"POST /api/ask HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\n"
    place = (client.base_url.host, client.base_url.port or 0)
    with socket.create_connection(place, timeout=10) as line:
        line.sendall(request.encode())
        assert line.recv(100).split()[1] in {b"400", b"413"}


def test_too_many_files_or_documents_are_refused(client: httpx.Client) -> None:
    three = [("files", (f"{number}.txt", f"text {number}".encode())) for number in range(3)]
    assert client.post("/upload", files=[*three, three[0]]).status_code == 413
    first = client.post("/upload", files=three)
    session = {"X-Session": first.json()["session"]}
    assert client.post("/upload", files=three, headers=session).status_code == 413
    documents = client.get("/status", headers=session).json()["documents"]
    assert len(documents) == 3


def test_too_many_parts_are_refused_as_too_much() -> None:
    fields = {f"field {number}": (None, "") for number in range(1001)}
    with Api(offline_settings()).opened() as client:
        reply = client.post("/upload", files=fields)
    assert reply.status_code == 413
    assert "Too many" in reply.json()["error"]


def test_a_file_that_is_not_what_it_says_is_a_row_with_its_reason(
    client: httpx.Client, folder: Path
) -> None:
    bad = [
        ("a.pdf", b"<html>not a pdf</html>", "an HTML page, not a PDF document"),
        ("a.docx", b"plain text", "text, not a Word document"),
        ("a.txt", b"%PDF-1.7 hidden", "a PDF document, not text"),
        ("a.md", b"\x7fELF\x02\x01\x01", "a program, not text"),
        ("a.csv", b"PK\x03\x04 archive", "a ZIP archive"),
        ("a.exe", b"MZ", "no reader"),
        ("a", b"text", "no reader"),
        ("a.txt", b"", "empty"),
        ("a.pdf", b"%PDF-1.7 broken", ""),
    ]
    files = [("files", (name, content)) for name, content, _ in bad]
    for batch in (slice(0, 2), slice(2, 4), slice(4, 6), slice(6, 8), slice(8, 9)):
        reply = client.post("/upload", files=[*files[batch], ("files", ("good.md", b"# Good"))])
        *failed, good = reply.json()["files"]
        assert good["status"] == "read"
        assert str(folder) not in reply.text
        for row, (_, _, reason) in zip(failed, bad[batch], strict=True):
            assert (row["status"], reason in row["error"]) == ("failed", True), row
            assert row["remedy"]


@pytest.mark.parametrize(
    ("limit", "name", "content", "reason"),
    [
        ({"read_characters": 20}, "long.md", b"# " + b"a" * 30, "32 characters, over the limit"),
        ({"visitor_characters": 20}, "a.md", b"# " + b"a" * 30, "32 characters, over the limit"),
        ({"read_file_mb": 1}, "big.md", b"a" * (1024 * 1024 + 1), "bytes, over the limit"),
        ({"read_pages": 1}, "pages.pdf", None, "6 pages, over the limit of 1 pages"),
    ],
)
def test_the_settings_say_what_reading_an_upload_may_cost(
    limit: dict[str, int], name: str, content: bytes | None, reason: str, folder: Path
) -> None:
    settings = Settings(embedding="lexical", llm="extractive", **limit)
    content = content or (CORPUS / "handbook.pdf").read_bytes()
    with Api(settings).opened() as client:
        files = [("files", (name, content)), ("files", ("good.md", b"# Good"))]
        bad, good = client.post("/upload", files=files).json()["files"]
    assert (bad["status"], good["status"]) == ("failed", "read")
    assert reason in bad["error"]
    assert bad["remedy"] == "split it, or ask whoever runs the server to raise the limit"
    assert str(folder) not in str(bad)


def test_no_text_of_a_visitor_who_has_left_stays_in_the_memory(client: httpx.Client) -> None:
    text = b"# Secret\n\nThe word is xyzzyplugh. Say it twice."
    client.headers["X-Session"] = client.post("/upload", files=[("files", ("a.md", text))]).json()[
        "session"
    ]
    assert client.post("/ask", json={"question": "Which word?"}).status_code == 200
    assert client.post("/clear").status_code == 200
    del client.headers["X-Session"]
    gc.collect()
    counted = [
        thing for thing in gc.get_objects() if type(thing) is Counter and "xyzzyplugh" in thing
    ]
    assert counted == []


def test_nothing_of_an_upload_stays_on_the_disk(client: httpx.Client, folder: Path) -> None:
    files = [("files", ("../../a.md", b"# One")), ("files", ("b.pdf", b"%PDF-broken"))]
    assert client.post("/upload", files=files).status_code == 200
    assert not [path for path in folder.rglob("*") if path.is_file()]
