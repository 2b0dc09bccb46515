"""`rag-nodes compare`: modes, filters, retrieval alone, and columns that grow on a terminal."""

from pathlib import Path

import pytest
from openai_server import FAILING, Fault, OpenAIServer
from tests.cli.conftest import Command

HANDBOOK = Path(__file__).parents[2] / "examples" / "corpus" / "handbook.pdf"
QUESTION = "How many litres does the tank hold?"
SAND = "When must the sand filter be rinsed backwards?"
TWO = ("-p", "fixed", "-p", "heading")


def test_mode_and_filter_hold_for_every_column(command: Command) -> None:
    options = ("--mode", "sparse", "--filter", "page=3", "--json", "-q")
    columns = command("compare", HANDBOOK, "-a", QUESTION, *TWO, *options).json["columns"]
    for column in columns:
        hits = column["answer"]["hits"]
        assert hits
        assert all(hit["similarity"] is None for hit in hits)
        assert all(hit["metadata"]["page_start"] <= 3 for hit in hits)
        assert all(hit["metadata"]["page_end"] >= 3 for hit in hits)


def test_retrieval_only_leaves_answers_and_sources_out(command: Command) -> None:
    ended = command("compare", HANDBOOK, "-a", SAND, *TWO, "--retrieval-only")
    assert ended.code == 0
    assert ended.stdout.count("retrieval only") == 2
    assert "Sources" not in ended.stdout
    assert "score · file · page" in ended.stdout


@pytest.mark.parametrize(("width", "side_by_side"), [(120, True), (60, False)])
def test_columns_stand_side_by_side_where_there_is_room(
    command: Command, manual: Path, monkeypatch: pytest.MonkeyPatch, width: int, side_by_side: bool
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    lines = command("compare", manual, "-a", QUESTION, *TWO).stdout.splitlines()
    assert sum("nine litres" in line for line in lines) >= 2
    assert (
        any("Fixed size" in line and "Heading hierarchy" in line for line in lines) is side_by_side
    )


def test_nothing_is_said_to_be_stored_of_files_that_are_compared_in_memory(
    command: Command, manual: Path, monkeypatch: pytest.MonkeyPatch, openai_server: OpenAIServer
) -> None:
    monkeypatch.setenv("RAG_NODES_API_KEY", "sk-any")
    models = ("--embedding", "openai", "--llm", "extractive", "--retry-seconds", "0")
    asked = ("-a", QUESTION, "-p", "fixed", *models, "--api-base", openai_server.base)
    openai_server.faults.extend([Fault(), FAILING])  # the model answers when it is tried out
    openai_server.faults.extend([Fault(), Fault()])  # the question, and what is asked after it
    ended = command("compare", manual, *asked)
    output = " ".join(ended.stderr.split())
    assert "Not embedded whole: 1 of 1 file; what is missing cannot be found" in output
    assert "stored" not in output
