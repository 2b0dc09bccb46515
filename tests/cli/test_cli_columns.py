"""`--column NAME=module:object`: what finds as it stands, measured beside parsers."""

from pathlib import Path

import pytest
from plant import MANUAL
from tests.cli.conftest import Command, Ended

ENGINES = """
from pathlib import Path
from llama_index.core import Document, VectorStoreIndex
from rag_nodes import get_embedding, get_parser

def engine():
    made = VectorStoreIndex.from_documents(
        [Document(text=Path("manual.md").read_text())],
        transformations=[get_parser("sentence")], embed_model=get_embedding("lexical"))
    return made.as_retriever(similarity_top_k=5)

number = 3

def broken():
    raise OSError("no such index")
"""
QUOTE = "A spare battery starts the generator when the grid is down."


@pytest.fixture
def evaluate(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "manual.md").write_text(MANUAL)
    (tmp_path / "my_engines.py").write_text(ENGINES)
    (tmp_path / "q.csv").write_text(f"question,answer\nWhat starts the generator?,{QUOTE}\n")

    def run(column: str, *options: str) -> Ended:
        return command(
            "evaluate", "manual.md", "--questions", "q.csv", "--sizes", "0", "--equal-size", "0",
            "--column", column, *options, "--json",
        )  # fmt: skip

    return run


def test_an_engine_is_a_column_by_the_name_it_gets(evaluate: Command) -> None:
    done = evaluate("mine=my_engines:engine")
    assert done.code == 0, done.stderr
    [row] = [row for row in done.json["rows"] if row["name"] == "mine"]
    assert row["means"]["recall@1000"] == 1.0


@pytest.mark.usefixtures("evaluate")
def test_an_engine_answers_beside_a_parser_or_alone(command: Command) -> None:
    asked = ("compare", "manual.md", "--ask", "What starts the generator?", "--json")
    mine = ("--column", "mine=my_engines:engine")
    beside = command(*asked, *mine, "-p", "heading")
    assert beside.code == 0, beside.stderr
    for ended, names in ((beside, ["heading", "mine"]), (command(*asked, *mine), ["mine"])):
        assert [column["name"] for column in ended.json["columns"]] == names
        assert QUOTE in ended.json["columns"][-1]["answer"]["hits"][0]["text"]
    twice = command(*asked, "--column", "heading=my_engines:engine", "-p", "heading")
    assert "are called 'heading'" in " ".join(twice.stderr.split())


@pytest.mark.usefixtures("evaluate")
@pytest.mark.parametrize(
    ("typed", "names"),
    [
        ([], ["heading", "fixed"]),
        (["-p", "heading"], ["heading"]),
        (["-p", "heading", "--column", "mine=my_engines:engine"], ["heading", "mine"]),
    ],
)
def test_without_files_the_collections_of_a_store_are_asked(
    command: Command, typed: list[str], names: list[str]
) -> None:
    kept = ("--store", "kept")
    assert command("ingest", "manual.md", "-p", "heading", "-p", "fixed", *kept).code == 0
    ended = command("compare", "--ask", "What starts the generator?", *kept, *typed, "--json")
    assert ended.code == 0, ended.stderr
    columns = {column["name"]: column["answer"] for column in ended.json["columns"]}
    assert sorted(columns) == sorted(names)
    assert all(QUOTE in answer["hits"][0]["text"] for answer in columns.values())
    assert "Document" not in command("compare", "--ask", "Which?", *kept, *typed).stdout


@pytest.mark.parametrize(
    ("typed", "remedy"),
    [
        (["manual.md", "--store", "kept"], "leave out the files to ask what is stored there"),
        ([], "name files, or name the store of an ingest with --store"),
        (["--store", "missing"], "there is no store here"),
    ],
)
@pytest.mark.usefixtures("evaluate")
def test_files_and_a_store_are_not_compared_at_once(
    command: Command, typed: list[str], remedy: str
) -> None:
    ended = command("compare", *typed, "--ask", "What starts the generator?")
    assert ended.code != 0
    assert remedy in " ".join(ended.stderr.split())


@pytest.mark.usefixtures("evaluate")
def test_files_are_compared_in_memory_where_a_store_is_configured(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAG_NODES_STORE", "kept")
    ended = command("compare", "manual.md", "--ask", "What starts the generator?")
    assert ended.code == 0, ended.stderr
    assert not Path("kept").exists()


@pytest.mark.usefixtures("evaluate")
def test_a_file_that_cannot_be_read_is_reported_beside_an_engine_alone(command: Command) -> None:
    Path("bad.pdf").write_text("no PDF")
    asked = ("compare", "manual.md", "bad.pdf", "--ask", "What starts the generator?")
    ended = command(*asked, "--column", "mine=my_engines:engine", "--json")
    assert [file["status"] for file in ended.json["files"]] == ["read", "failed"]
    assert "not a PDF" in ended.json["files"][1]["error"]
    assert ended.code != 0


@pytest.mark.parametrize(
    ("column", "why"),
    [
        ("mine=my_engines:number", "int cannot be searched"),
        ("mine=my_engines:nothing", "has no 'nothing'"),
        ("mine=my_engines:broken", "broken failed: OSError"),
        ("mine=no_such_module:engine", "cannot be imported"),
        ("my_engines:engine", "is not NAME=MODULE:OBJECT"),
        ("=my_engines:engine", "is not NAME=MODULE:OBJECT"),
    ],
)
def test_a_column_that_finds_nothing_is_refused_with_the_reason(
    evaluate: Command, column: str, why: str
) -> None:
    refused = evaluate(column)
    assert refused.code != 0
    assert why in " ".join(refused.stderr.split())


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["-p", "heading"], "are called 'heading'"),
        (["--column", "heading=my_engines:engine"], "are called 'heading'"),
        (["--collection", "heading"], "are called 'heading'"),
        (["--collection", " "], "--collection is blank"),
    ],
)
def test_options_that_a_column_would_ignore_are_refused(
    evaluate: Command, options: list[str], why: str
) -> None:
    refused = evaluate("heading=my_engines:engine", *options)
    assert refused.code == 2
    assert why in " ".join(refused.stderr.split())
