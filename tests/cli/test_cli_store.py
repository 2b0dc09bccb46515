"""`rag-nodes store push`: a store is copied to a server and back."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from store import qdrant_server as _server
from tests.cli.conftest import Command

from rag_nodes.operations import ExitCode

HEADING = ("-p", "heading")
ALSO_FIXED = (*HEADING, "-p", "fixed")


@pytest.fixture
def url() -> Iterator[str]:
    with _server.serve() as double:
        yield double.url


@pytest.fixture
def store(tmp_path: Path, manual: Path, command: Command) -> Path:
    folder = tmp_path / "store"
    assert command("ingest", manual, *ALSO_FIXED, "--store", folder).code == 0
    return folder


def test_a_pushed_corpus_is_asked_on_the_server(command: Command, store: Path, url: str) -> None:
    pushed = command("store", "push", url, "--store", store)
    assert pushed.code == 0
    assert "both sides are equal" in pushed.stdout
    asked = command("ask", "How much does the tank hold?", *HEADING, "--store", url)
    assert "nine litres" in asked.stdout


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (("--collection", "none"), 1, "there is no collection 'none'"),
        (("--corpus", "contracts"), 1, "there are: default"),
        ((), 5, "does not answer"),
    ],
)
def test_what_cannot_be_pushed_is_said_before_anything_is_sent(
    command: Command, store: Path, options: tuple[str, ...], code: int, said: str
) -> None:
    ended = command("store", "push", "http://127.0.0.1:9", "--store", store, *options)
    assert (ended.code, said in ended.stderr) == (code, True)


def test_a_damaged_collection_is_named_and_the_others_are_pushed_until_it_is_mended(
    command: Command, store: Path, tmp_path: Path
) -> None:
    (torn,) = (store / "collections").glob("*fixed*/shard/edge_config.json")
    whole = torn.read_bytes()
    torn.write_bytes(b"half")
    push = ("store", "push", tmp_path / "copy", "--store", store)
    ended = command(*push, "--json")
    assert ended.code == ExitCode.PARTIAL
    assert ["Heading" in one["collection"] for one in ended.json["collections"]] == [True]
    assert ["FixedSize" in one["collection"] for one in ended.json["failed"]] == [True]
    said = " ".join(command(*push).stderr.split())
    assert "is damaged" in said
    assert "Not copied: 1 of 2 collections" in said
    name = ended.json["failed"][0]["collection"]
    assert command(*push, "--collection", name).code == ExitCode.FAILURE
    whole_one = ended.json["collections"][0]["collection"]
    only = command(*push, "--collection", whole_one, "--json").json
    assert [one["collection"] for one in only["collections"]] == [whole_one]
    torn.write_bytes(whole)
    mended = command(*push, "--json")
    assert mended.code == ExitCode.DONE
    assert mended.json["failed"] == []
    assert sorted(one["sent"] > 0 for one in mended.json["collections"]) == [False, True]


def alias_of(command: Command, place: object) -> dict[str, str]:
    aliases: dict[str, str] = command("store", "alias", "--store", place, "--json").json["aliases"]
    return aliases


@pytest.mark.parametrize("served", [False, True])
def test_a_new_ingest_takes_the_place_of_the_old_under_one_alias(
    command: Command, tmp_path: Path, manual: Path, url: str, served: bool
) -> None:
    place = url if served else tmp_path / "store"
    ask = ("ask", "How much does the tank hold?", "--alias", "handbook", "--store", place)
    point = ("store", "alias", "handbook", "--store", place)
    command("ingest", manual, "-p", "heading", "--store", place)
    assert command(*point).code == ExitCode.DONE
    assert "nine litres" in command(*ask).stdout
    assert command(*ask, "--json").json["parser"] == "HeadingHierarchyNodeParser"
    command("ingest", manual, "-p", "fixed", "--store", place)
    assert "Heading" in alias_of(command, place)["handbook"]
    assert command(*ask, "--json").json["context_reduction"] is not None
    assert command(*point, "-p", "fixed").code == ExitCode.DONE
    assert command(*ask, "--json").json["parser"] == "FixedSizeNodeParser"
    assert "nine litres" in command(*ask).stdout


def test_an_alias_is_given_shown_and_removed(command: Command, store: Path) -> None:
    there = ("--store", store)
    assert "has no aliases" in command("store", "alias", *there).stdout
    several = command("store", "alias", "handbook", *there)
    assert several.code == ExitCode.USAGE
    assert "has 2 collections" in several.stderr
    for arguments, parser in ((["-p", "fixed"], "Fixed"), (HEADING, "Heading")):
        shown = command("store", "alias", "handbook", *arguments, *there)
        assert "handbook" in shown.stdout
        assert parser in alias_of(command, store)["handbook"]
    none = command("store", "alias", "handbook", "-p", "page", *there)
    assert none.code == ExitCode.USAGE
    assert "has no collections of that parser" in none.stderr
    command("clear", *HEADING, "--yes", *there)
    assert "Fixed" in command("store", "alias", "handbook", *there).stdout
    assert command("store", "alias", "handbook", "--remove", *there).code == ExitCode.DONE
    assert alias_of(command, store) == {}
    again = command("store", "alias", "handbook", "--remove", *there)
    assert again.code == ExitCode.FAILURE
    assert "handbook" in again.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("ask", "?", "--alias", "nobody"), "there is no alias 'nobody'"),
        (("ask", "?", "--alias", "a", "-p", "heading"), "leave one of them out"),
        (("store", "alias", "--remove"), "takes the name of one alias"),
        (("store", "alias", "a", "b", "--remove"), "takes the name of one alias"),
        (("store", "alias", "a", "not-there"), "not-there"),
        (("store", "alias", "a b", "not-there"), "is no alias"),
    ],
)
def test_what_an_alias_cannot_be_is_said(
    command: Command, store: Path, arguments: tuple[str, ...], said: str
) -> None:
    ended = command(*arguments, "--store", store)
    assert ended.code in {ExitCode.USAGE, ExitCode.FAILURE}
    assert said in " ".join(ended.stderr.split())


def test_an_alias_of_another_model_is_not_asked_in_vain(
    command: Command, tmp_path: Path, manual: Path
) -> None:
    store = ("--store", tmp_path / "store")
    command("ingest", manual, *HEADING, *store)
    command("store", "alias", "handbook", *store)
    other = ("--embedding", "own_models:LettersEmbedding", "--embedding-option", "letters=tank")
    ended = command("ask", "?", "--alias", "handbook", *store, *other)
    assert ended.code == ExitCode.USAGE
    assert "lexical-1024 embedded and not" in " ".join(ended.stderr.split())
