"""`--pdf-engine` as typed, and where the engine is shown."""

from pathlib import Path

from tests.cli.conftest import Command

from rag_nodes.operations import ExitCode
from rag_nodes.readers import pdf_engines

FERRY = Path(__file__).parents[2] / "examples" / "corpus" / "ferry.pdf"


def test_ingest_status_and_doctor_say_which_engine_reads(command: Command, tmp_path: Path) -> None:
    store = ("--store", tmp_path / "store")
    ended = command("ingest", FERRY, "-p", "fixed", *store, "--pdf-engine", "pymupdf")
    assert ended.code == ExitCode.DONE
    assert "another PDF engine" not in ended.stdout
    again = command("ingest", FERRY, "-p", "fixed", *store, "--pdf-engine", "pdfium")
    assert "Read again because another PDF engine had read it: 1 PDF file." in again.stdout
    versions = pdf_engines()
    major = versions["pdfium"].partition(".")[0]
    assert f"PDF files were read by pdfium {major} (1 file)" in command("status", *store).stdout
    assert command("status", *store, "--json").json["pdf_engines"] == {f"pdfium {major}": 1}
    line = ", ".join(f"{name} {version}" for name, version in versions.items())
    assert f"PDF engines: {line}" in command("doctor", *store).stdout
    nowhere = command("doctor", "--store", tmp_path / "nowhere")
    assert (nowhere.code, nowhere.stdout) == (ExitCode.USAGE, "")
    assert f"PDF engines: {line}" in nowhere.stderr


def test_read_takes_the_engine_and_refuses_others(command: Command) -> None:
    texts = [
        command("read", FERRY, "--markdown", "--pdf-engine", engine).stdout
        for engine in ("pymupdf", "pdfium")
    ]
    assert texts[0] == texts[1] != ""
    assert command("read", FERRY, "--pdf-engine", "xpdf").code == ExitCode.USAGE
