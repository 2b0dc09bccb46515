"""`ingest --text`, as typed."""

from pathlib import Path

import pytest
from openai_server import OpenAIServer
from tests.cli.conftest import Command

from rag_nodes.operations import ExitCode
from rag_nodes.pipeline.recipe import WRITTEN_FILE

CUT = ("--parser", "heading:min_chunk_size=0")


def test_a_setting_or_an_option_says_what_is_embedded(
    command: Command, manual: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = ("ask", "Is it red?", *CUT, "--retrieval-only", "--mode", "dense", "--json")

    def similarities(name: str, *options: str) -> list[float]:
        place = ("--store", tmp_path / name)
        assert command("ingest", manual, *CUT, *place, *options).code == ExitCode.DONE
        return [hit["similarity"] for hit in command(*asked, *place).json["hits"]]

    usual, plain = similarities("usual"), similarities("plain", "--text", "plain")
    assert usual != plain
    assert similarities("told", "--text", "heading") == usual
    monkeypatch.setenv("RAG_NODES_TEXT", "plain")
    assert similarities("set") == plain


def test_a_text_that_is_none_is_refused_with_those_there_are(
    command: Command, manual: Path
) -> None:
    refused = command("ingest", manual, *CUT, "--text", "title")
    assert refused.code == ExitCode.USAGE
    assert all(text in refused.stderr for text in ("plain", "heading", "summary"))


def test_summaries_of_a_model_are_asked_for_once(
    command: Command, openai_server: OpenAIServer, manual: Path, tmp_path: Path
) -> None:
    openai_server.answer = "Part of the manual of a tea machine."
    server = ("--llm", "openai", "--api-base", openai_server.base, "--embedding", "lexical")
    place = ("--store", tmp_path / "store", *CUT, *server, "--text", "summary")
    assert command("ingest", manual, *place).code == ExitCode.DONE
    assert (tmp_path / "store" / WRITTEN_FILE).is_file()
    asked = len(openai_server.asked("chat/completions"))
    manual.write_text(manual.read_text("utf-8") + "\nAnd it is red.\n", "utf-8")
    assert command("ingest", manual, *place).code == ExitCode.DONE
    again = openai_server.asked("chat/completions")[asked:]
    about = [body for body in again if "<<<TEXT" in str(body)]
    assert len(about) == 1
    assert "And it is red." in str(about[0])
