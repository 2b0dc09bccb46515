"""The same passage in several files as the command line shows it."""

import shutil
from pathlib import Path

import pytest
from tests.cli.conftest import Command


@pytest.fixture
def store(tmp_path: Path, manual: Path, command: Command) -> Path:
    """The manual twice, under two names, and another file."""
    folder = tmp_path / "files"
    folder.mkdir()
    for name in ("first.md", "second.md"):
        shutil.copy(manual, folder / name)
    (folder / "other.md").write_text("# Kettle\n\nThe kettle boils in two minutes.\n")
    store = tmp_path / "store"
    assert command("ingest", folder, "--store", store).code == 0
    return store


def test_ask_names_the_further_file_of_a_passage(command: Command, store: Path) -> None:
    asked = ("ask", "How many litres of water does the tank hold?", "--store", store)
    output = command(*asked).stdout
    assert "also: second.md" in output
    assert "first.md, line 7, Tea machine > Water" in output
    plain = command(*asked, "--json").json
    assert {place["file_name"] for place in plain["citations"][0]["also"]} == {"second.md"}
    assert (plain["citations"][0]["start_line"], plain["citations"][0]["end_line"]) == (7, 7)
    read = [source["text"] for source in plain["sources"]]
    assert len(read) == len(set(read))


def test_status_names_files_that_are_stored_twice_until_one_is_removed(
    command: Command, store: Path, tmp_path: Path
) -> None:
    paths = [str(tmp_path / "files" / name) for name in ("first.md", "second.md")]
    duplicates = command("status", "--store", store, "--json").json["duplicates"]
    assert duplicates == [{"corpus": "default", "paths": paths}]
    output = command("status", "--store", store).stdout.replace("\n", " ")
    assert "duplicates: " in output
    assert f"rag-nodes remove {paths[1]}" in output
    assert command("remove", paths[1], "--store", store).code == 0
    assert command("status", "--store", store, "--json").json["duplicates"] == []


def test_status_suggests_removing_the_copy_whose_file_is_gone(
    command: Command, store: Path, tmp_path: Path
) -> None:
    files = tmp_path / "files"
    (files / "first.md").unlink()
    output = command("status", "--store", store).stdout.replace("\n", " ")
    assert f"rag-nodes remove {files / 'first.md'}" in output
