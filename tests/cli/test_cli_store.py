"""`rag-nodes store push` and `pull`: what is stored goes to a server and back."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from conftest import Ended

_spec = importlib.util.spec_from_file_location(
    "qdrant_server", Path(__file__).parents[1] / "store" / "qdrant_server.py"
)
assert _spec is not None
assert _spec.loader is not None
_server = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_server)

HEADING = ("-p", "heading")
ALSO_FIXED = (*HEADING, "-p", "fixed")


@pytest.fixture
def url() -> Iterator[str]:
    with _server.serve() as double:
        yield double.url


@pytest.fixture
def store(tmp_path: Path, manual: Path, command: Callable[..., Ended]) -> Path:
    folder = tmp_path / "store"
    assert command("ingest", manual, *ALSO_FIXED, "--store", folder).code == 0
    return folder


def test_a_pushed_corpus_is_asked_on_the_server(
    command: Callable[..., Ended], store: Path, url: str
) -> None:
    pushed = command("store", "push", url, "--store", store)
    assert pushed.code == 0
    assert "both sides are equal" in pushed.stdout
    asked = command("ask", "How much does the tank hold?", *HEADING, "--store", url)
    assert "nine litres" in asked.stdout


def test_a_push_is_repeated_without_sending_anything(
    command: Callable[..., Ended], store: Path, url: str
) -> None:
    first = command("store", "push", url, "--store", store, "--json").json
    again = command("store", "push", url, "--store", store, "--json").json
    assert len(first["collections"]) == 2
    assert all(one["sent"] == one["points"] > 0 for one in first["collections"])
    assert all(one["sent"] == 0 for one in again["collections"])
    assert [one["checksum"] for one in first["collections"]] == [
        one["checksum"] for one in again["collections"]
    ]


def test_what_was_pushed_is_pulled_into_another_folder(
    command: Callable[..., Ended], store: Path, url: str, tmp_path: Path
) -> None:
    command("store", "push", url, "--store", store)
    pulled = command("store", "pull", url, "--store", tmp_path / "copy", "--json")
    assert pulled.code == 0
    assert sum(one["sent"] for one in pulled.json["collections"]) > 0
    asked = command("ask", "How much does the tank hold?", *HEADING, "--store", tmp_path / "copy")
    assert "nine litres" in asked.stdout


def test_one_collection_alone_is_pushed(
    command: Callable[..., Ended], store: Path, url: str
) -> None:
    (first, _) = command("store", "push", url, "--store", store, "--json").json["collections"]
    named = ("--collection", first["collection"])
    only = command("store", "push", url, "--store", store, *named, "--json").json
    assert [one["collection"] for one in only["collections"]] == [first["collection"]]


def test_a_corpus_that_is_not_there_names_those_that_are(
    command: Callable[..., Ended], store: Path, url: str
) -> None:
    ended = command("store", "push", url, "--store", store, "--corpus", "contracts")
    assert ended.code == 1
    assert "there are: default" in ended.stderr


def test_a_folder_that_is_not_there_is_not_made(
    command: Callable[..., Ended], url: str, tmp_path: Path
) -> None:
    ended = command("store", "push", url, "--store", tmp_path / "none")
    assert ended.code == 1
    assert "there is no store here" in ended.stderr
    assert not (tmp_path / "none").exists()


def test_a_server_that_is_away_ends_with_its_own_code(
    command: Callable[..., Ended], store: Path
) -> None:
    ended = command("store", "push", "http://127.0.0.1:9", "--store", store)
    assert ended.code == 5
    assert "does not answer" in ended.stderr
