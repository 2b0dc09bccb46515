"""Splitters of other packages on the command line, and how many of their chunks have a place."""

from pathlib import Path

import pytest
from tests.cli.conftest import Command

from rag_nodes.operations import ExitCode

STOCK = "llama_index.core.node_parser:SentenceSplitter(chunk_size=64, chunk_overlap=8)"
HEADED = "splitters:Headed()"


def test_a_stock_splitter_is_a_column_beside_ours(command: Command, manual: Path) -> None:
    asked = ("-a", "How much does the tank hold?", "-p", "fixed", "-p", STOCK)
    ended = command("compare", manual, *asked, "--json", "-q")
    ours, stock = ended.json["columns"]
    assert stock["name"] == "SentenceSplitter(chunk_size=64, chunk_overlap=8)"
    assert stock["parser"]["options"]["chunk_size"] == 64
    assert (stock["error"], stock["statistics"]["not_located"]) == (None, 0)
    assert ours["answer"]["text"]
    assert stock["answer"]["citations"][0]["start"] is not None


@pytest.mark.parametrize("arguments", [("compare", "-a", "What?"), ("ingest",), ("chunk",)])
def test_every_view_says_how_many_chunks_have_a_place(
    command: Command, manual: Path, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    name, *rest = arguments
    store = ("--store", str(tmp_path / "store")) if name == "ingest" else ()
    lost = command(name, manual, *rest, "-p", HEADED, *store)
    assert "found in their document (0.0 %)" in " ".join(lost.stdout.split())
    kept = command(name, manual, *rest, "-p", STOCK, *store)
    assert kept.code == 0
    assert "found in their document" not in kept.stdout


def test_chunks_without_a_place_are_null_in_json(command: Command, manual: Path) -> None:
    document = command("chunk", manual, "-p", HEADED, "--json", "-q").json
    assert document["not_located"] == len(document["chunks"]) > 0
    assert {(chunk["start"], chunk["end"]) for chunk in document["chunks"]} == {(None, None)}


def test_a_module_that_is_not_there_is_refused_with_what_to_do(
    command: Command, manual: Path
) -> None:
    ended = command("chunk", manual, "-p", "no_such_package:Splitter()")
    assert ended.code == ExitCode.USAGE
    assert "install the package it belongs to" in " ".join(ended.stderr.split())
