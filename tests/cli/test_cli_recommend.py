"""`rag-nodes recommend`, as it is typed."""

import html
import json
import runpy
import shutil
import sys
from enum import Enum
from pathlib import Path

import pytest
import typer
from tests.cli.conftest import Command, invoke_cli

from rag_nodes import load_parser
from rag_nodes.readers import read
from rag_nodes.store.edge import shards

CORPUS = Path(__file__).parents[2] / "examples" / "corpus"
FERRY, QUESTIONS = CORPUS / "ferry.pdf", CORPUS / "ferry_questions.csv"
QUICK = ("--sizes", "100,800", "--mode", "sparse", "-q")
CHUNKS = ("--granularity", "chunks")


@pytest.fixture(scope="module")
def recommended(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all that is written of one run over the shipped manual."""
    folder = tmp_path_factory.mktemp("recommended")
    asked = ("recommend", FERRY, "--questions", QUESTIONS, "-p", "recursive", *QUICK, *CHUNKS)
    files = {"-o": "run.json", "--html": "page.html", "--export": "rag.py"}
    written = (argument for flag, name in files.items() for argument in (flag, folder / name))
    ended = invoke_cli(*asked, "--embedding", "lexical", *written)
    assert ended.code == 0, ended.stderr
    (folder / "said.txt").write_text(" ".join(ended.stdout.split()), "utf-8")
    return folder


def test_the_shipped_manual_is_told_not_to_be_cut_large_and_what_to_take(recommended: Path) -> None:
    output = (recommended / "said.txt").read_text("utf-8")
    assert "Not decided yet: 2 of 4 settings may be best. " in output
    assert "Proposed: recursive at 100 (" in output
    assert "recursive at 800" in output
    assert "46 questions about one document" in output
    report = json.loads((recommended / "run.json").read_text("utf-8"))
    assert report["decision"]["take"] == "recursive at 100"
    page = " ".join(html.unescape((recommended / "page.html").read_text("utf-8")).split())
    headline, _, reasons = report["decision"]["words"].partition(". ")
    assert f"<h1>{headline}.</h1> <p>{reasons}</p>" in page
    assert f"{report['decision']['certainty']} {headline}. {reasons}" in output
    assert [row["name"] for row in report["rows"]] == [
        "retrieval", "recursive at 100", "recursive at 800", "LlamaIndex SentenceSplitter",
    ]  # fmt: skip


def test_an_error_of_every_row_is_printed_once(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = shutil.disk_usage(CORPUS)._replace(free=1 << 20)
    monkeypatch.setattr(shards.shutil, "disk_usage", lambda _: full)
    ended = command("recommend", FERRY, "--questions", QUESTIONS, "-p", "recursive", *QUICK)
    assert ended.code == 1
    assert ended.stderr.count("1 MB are free") == 1


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ((), "no documents: name some"),
        ((FERRY, "--sizes", "0"), "--sizes: name at least one"),
        ((FERRY, "--export", "nowhere/rag.py"), "cannot be written"),
    ],
)
def test_impossible_requests_are_refused_before_a_document_is_read(
    command: Command, asked: tuple[object, ...], why: str
) -> None:
    ended = command("recommend", *asked)
    assert (ended.code, why in ended.stderr) == (2, True)
    assert "Reading" not in ended.stderr


def test_documents_that_nobody_typed_are_none_also_where_an_older_click_says_they_were(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = typer.Context.__base__  # of click, which recent versions of typer bring themselves
    original = context.get_parameter_source

    def older(self: typer.Context, name: str) -> Enum | None:
        source = original(self, name)
        return type(source).COMMANDLINE if name == "paths" and source is not None else source

    monkeypatch.setattr(context, "get_parameter_source", older)
    ended = command("recommend")
    assert (ended.code, "no documents: name some" in ended.stderr) == (2, True)


def test_the_choice_is_named_as_ingest_and_ask_take_it(command: Command, recommended: Path) -> None:
    decision = json.loads((recommended / "run.json").read_text("utf-8"))["decision"]
    assert decision["query"] == {"granularity": "chunks", "mode": "sparse", "budget": 1000}
    typed = decision["preset"]
    page = html.unescape((recommended / "page.html").read_text("utf-8"))
    assert f'-p "{typed}"</code>, and ask with <code>--granularity chunks</code>' in page
    ended = command("ingest", FERRY, "-p", typed, "--store", "kept", "--json")
    assert [column["parser"] for column in ended.json["columns"]] == [typed]
    question = "How long is a short turn?"
    asked = command("ask", question, "-p", typed, "--store", "kept", "--json").json
    assert "twelve minutes" in asked["text"]
    cut = command("chunk", FERRY, "-p", typed, "--json").json["chunks"]
    again = load_parser(decision["parser"])
    assert [entry["text"] for entry in cut] == [node.text for node in again([read(FERRY)])]


def test_the_report_says_how_to_use_the_choice_if_no_script_is_written(command: Command) -> None:
    asked = ("recommend", FERRY, "--questions", QUESTIONS, "-p", "recursive")
    ended = command(*asked, *QUICK[:-1], *CHUNKS)
    message = " ".join(ended.stderr.split())
    assert 'To use it: rag-nodes ingest docs/ -p "recursive:' in message
    assert '"; ask with --granularity chunks; --export FILE.py writes a script' in message
    assert 'In LlamaIndex: transformations=[get_parser("recursive", ' in message


@pytest.mark.parametrize("name", ["recommend", "evaluate"])
def test_a_model_that_cannot_run_is_refused_before_documents_are_read(
    command: Command, name: str
) -> None:
    ended = command(name, FERRY, "--questions", QUESTIONS, "--embedding", "no_such_module:Model")
    assert ended.code == 2
    assert "no_such_module" in ended.stderr
    assert "Reading documents" not in ended.stderr


@pytest.mark.usefixtures("no_configuration")
def test_the_exported_script_answers(
    recommended: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    script = recommended / "rag.py"
    source = script.read_text("utf-8")
    assert "python rag.py handbook.pdf" in source
    assert "budget=1000" in source
    assert "chunk_size=100" in source
    assert "granularity='chunks'" in source
    assert "mode='sparse'" in source
    typed = [str(script), str(FERRY), "--question", "How long is a short turn?"]
    monkeypatch.setattr(sys, "argv", typed)
    runpy.run_path(str(script), run_name="__main__")
    assert "twelve minutes" in capsys.readouterr().out
