"""Folders and collections that other programs made, as commands meet them."""

import hashlib
import shutil
from contextlib import closing
from pathlib import Path

import pytest
from llama_index.core import Document, StorageContext, VectorStoreIndex
from llama_index.vector_stores.qdrant import QdrantVectorStore
from qdrant_client import QdrantClient
from store import qdrant_server as _server
from tests.cli.conftest import MANUAL, Command

from rag_nodes import HeadingHierarchyNodeParser, get_embedding, read
from rag_nodes.operations import ExitCode

QUESTION = "How much water does the tank hold?"


def content(folder: Path) -> dict[Path, str]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {file: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def fill(client: QdrantClient, manual: Path) -> None:
    """Write what a stock pipeline of LlamaIndex does, with one parser of ours in it."""
    with closing(client):
        store = QdrantVectorStore("handbook", client=client, index_doc_id=False)
        VectorStoreIndex.from_documents(
            [read(manual), Document(text="Lions eat no grass.", id_="lion")],
            storage_context=StorageContext.from_defaults(vector_store=store),
            embed_model=get_embedding("lexical"),
            transformations=[HeadingHierarchyNodeParser(chunk_size=100)],
        )


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("filled")
    (folder / "manual.md").write_text(MANUAL, encoding="utf-8")
    fill(QdrantClient(path=str(folder / "theirs")), folder / "manual.md")
    return folder / "theirs"


@pytest.fixture
def theirs(tmp_path: Path, filled: Path) -> Path:
    return shutil.copytree(filled, tmp_path / "theirs")


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    sheet = tmp_path / "questions.csv"
    sheet.write_text("question,answer\nHow much?,nine litres of water\n", encoding="utf-8")
    return sheet


COMMANDS = [
    "status",
    "list",
    "ask what",
    "ask what --collection handbook",
    "remove manual.md",
    "clear --yes",
    "doctor",
    "ingest MANUAL",
    "compare --ask what",
    "evaluate MANUAL --questions QUESTIONS --collection handbook",
    "store push TARGET --store THEIRS",
    "store export TARGET --store THEIRS",
]


@pytest.mark.parametrize("words", COMMANDS)
def test_no_command_changes_a_folder_of_another_program_and_each_says_what_to_do(
    command: Command, theirs: Path, manual: Path, questions: Path, tmp_path: Path, words: str
) -> None:
    before, target = content(theirs), tmp_path / "target"
    places = {"MANUAL": manual, "QUESTIONS": questions, "TARGET": target, "THEIRS": theirs}
    typed = [places.get(word, word) for word in words.split()]
    ended = command(*typed, *([] if "--store" in typed else ["--store", theirs]))
    assert ended.code not in {ExitCode.DONE, ExitCode.USAGE}
    message = " ".join((ended.stdout + ended.stderr).split())
    assert "made this folder for qdrant-client's local mode" in message
    assert "name another folder for the store" in message
    assert "QdrantClient.migrate" in message
    assert content(theirs) == before
    assert not target.exists()


def test_an_ingest_into_a_folder_of_documents_writes_nothing_there(
    command: Command, manual: Path, tmp_path: Path
) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "report.md").write_text("# Report\n\nAll is well.\n", encoding="utf-8")
    ended = command("ingest", manual, "--store", docs)
    assert ended.code == ExitCode.FAILURE
    assert "holds report.md; choose a new or an empty folder" in ended.stderr
    assert [path.name for path in docs.iterdir()] == ["report.md"]


def test_a_collection_of_another_program_is_named_asked_and_measured(
    command: Command, manual: Path, questions: Path, tmp_path: Path
) -> None:
    with _server.serve() as double:
        fill(QdrantClient(double.url, check_compatibility=False), manual)
        at = ("--store", double.url)
        ended = command("status", *at)
        assert "nothing is stored; collections of other programs: handbook" in ended.stdout
        assert command("status", *at, "--json").json["foreign"] == ["handbook"]
        assert "collections of other programs: handbook" in command("list", *at).stdout
        lost = command("ask", QUESTION, *at)
        assert "collections of other programs: handbook; to ask one of these" in lost.stderr
        assert "nothing is stored there; collections of other programs: handbook" in (
            command("store", "push", tmp_path / "target", *at).stderr
        )
        gone = command("ask", QUESTION, "--collection", "gone", *at)
        assert "nothing is stored; collections of other programs: handbook" in gone.stderr
        name = ("--collection", "handbook")
        asked = command("ask", QUESTION, *name, "--mode", "dense", *at, "--json")
        assert "nine litres of water" in asked.json["text"]
        measured = command(
            *("evaluate", manual, "--questions", questions, *name),
            *("--mode", "dense", *at, "--json"),
        )
        assert measured.code == 0
