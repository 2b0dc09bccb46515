"""`rag-nodes store push`: a store is copied to a server and back."""

from contextlib import closing
from pathlib import Path

import pytest
from qdrant_client import QdrantClient
from tests.cli.conftest import Command

from rag_nodes.operations import ExitCode

HEADING = ("-p", "heading")
ALSO_FIXED = (*HEADING, "-p", "fixed")


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
    ("options", "code", "message"),
    [
        (("--collection", "none"), 1, "has no collection 'none'"),
        (("--corpus", "contracts"), 1, "there are: default"),
        ((), 5, "does not answer"),
    ],
)
def test_an_impossible_push_is_refused_before_anything_is_sent(
    command: Command, store: Path, options: tuple[str, ...], code: int, message: str
) -> None:
    ended = command("store", "push", "http://127.0.0.1:9", "--store", store, *options)
    assert (ended.code, message in ended.stderr) == (code, True)


def test_a_damaged_collection_is_named_and_the_others_are_pushed_until_it_is_mended(
    command: Command, store: Path, tmp_path: Path
) -> None:
    (torn,) = (store / "collections").glob("*fixed*/shard/edge_config.json")
    whole = torn.read_bytes()
    torn.write_bytes(b"half")
    push = ("store", "push", tmp_path / "copy", "--store", store)
    ended = command(*push, "--json")
    assert ended.code == ExitCode.PARTIAL
    assert ["Heading" in collection["collection"] for collection in ended.json["collections"]] == [
        True
    ]
    assert ["FixedSize" in failure["collection"] for failure in ended.json["failed"]] == [True]
    message = " ".join(command(*push).stderr.split())
    assert "is damaged" in message
    assert "Not copied: 1 of 2 collections" in message
    name = ended.json["failed"][0]["collection"]
    assert command(*push, "--collection", name).code == ExitCode.FAILURE
    whole_one = ended.json["collections"][0]["collection"]
    only = command(*push, "--collection", whole_one, "--json").json
    assert [collection["collection"] for collection in only["collections"]] == [whole_one]
    torn.write_bytes(whole)
    mended = command(*push, "--json")
    assert mended.code == ExitCode.DONE
    assert mended.json["failed"] == []
    assert sorted(collection["sent"] > 0 for collection in mended.json["collections"]) == [
        False,
        True,
    ]


def test_a_push_counts_the_collections_of_other_corpora_that_it_leaves_out(
    command: Command, store: Path, manual: Path, tmp_path: Path
) -> None:
    ingest = ("ingest", manual, *HEADING, "--store", store, "--corpus", "contracts")
    assert command(*ingest).code == ExitCode.DONE
    push = ("store", "push", tmp_path / "copy", "--store", store)
    assert "Not copied: 1 collection of other corpora; add --all" in command(*push).stderr
    contracts = command(*push, "--corpus", "contracts").stderr
    assert "Not copied: 2 collections of other corpora; add --all" in contracts
    name = command("status", "--store", store, "--json").json["collections"][0]["name"]
    for options in (("--all",), ("--collection", name)):
        assert "Not copied" not in command(*push, *options).stderr


def test_an_export_is_read_by_a_stock_client_and_never_overwritten(
    command: Command, store: Path, tmp_path: Path
) -> None:
    export = ("store", "export", tmp_path / "out", "--store", store)
    exported = command(*export)
    assert exported.code == ExitCode.DONE
    assert exported.stdout.count("both sides are equal") == len(("heading", "fixed"))
    assert "copying" in exported.stderr
    with closing(QdrantClient(path=str(tmp_path / "out"))) as client:
        names = {collection.name for collection in client.get_collections().collections}
    held = command("status", "--store", store, "--json").json["collections"]
    assert names == {entry["name"] for entry in held}
    again = command(*export)
    assert again.code == ExitCode.USAGE
    assert "is not an empty folder; name a new folder" in " ".join(again.stderr.split())
