"""A day of an operator: ingest, change, prune, look, remove, push, switch, examine, back up."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Command

from rag_nodes.store import open_store

TEXTS = {
    "manual.md": "# Tea machine\n\nThe tank holds nine litres of water.\n",
    "kettle.md": "# Kettle\n\nThe kettle boils in two minutes.\n",
    "cups.md": "# Cups\n\nThere are forty cups on the second shelf.\n",
}


@pytest.fixture
def rag(command: Command) -> Callable[..., dict[str, Any]]:
    """Runs a command that has to do well, and gives what it says to programs."""

    def run(*arguments: object) -> dict[str, Any]:
        ended = command(*arguments, "--json")
        assert ended.code == 0, ended.stderr
        return ended.json

    return run


def statuses(report: dict[str, Any]) -> dict[str, str]:
    return {Path(file["path"]).name: file["status"] for file in report["files"]}


def names(listed: dict[str, Any]) -> list[str]:
    return [document["name"] for document in listed["documents"]]


def contents(location: str | Path) -> dict[str, set[str]]:
    """Ids of all stored nodes by collection."""
    with open_store(location) as store:
        return {
            collection.name: {
                node for nodes in store.documents(collection.name).values() for node in nodes
            }
            for collection in store.collections()
        }


def test_a_whole_day(
    rag: Callable[..., dict[str, Any]], command: Command, tmp_path: Path, url: str
) -> None:
    docs, store, backup = tmp_path / "docs", tmp_path / "store", tmp_path / "backup"
    docs.mkdir()
    for name, text in TEXTS.items():
        (docs / name).write_text(text, encoding="utf-8")
    here, served = ("--store", store), ("--store", url)
    ingest = ("ingest", docs, "-p", "heading", "-p", "fixed", *here)

    # Morning: all is new, then nothing is.
    assert set(statuses(rag(*ingest)).values()) == {"read"}
    assert set(statuses(rag(*ingest)).values()) == {"unchanged"}
    (first, other) = rag("status", *here)["collections"]
    assert first["documents"] == other["documents"] == 3
    assert first["last_used"] >= first["first_used"] > "2000-01-01T00:00:00Z"

    # One file changes, one goes.
    with (docs / "manual.md").open("a", encoding="utf-8") as file:
        file.write("\n## Descaling\n\nDescale the pump twice a year.\n")
    assert statuses(rag(*ingest)) == {
        "manual.md": "read",
        "kettle.md": "unchanged",
        "cups.md": "unchanged",
    }
    (docs / "cups.md").unlink()
    assert "cups.md" in names(rag("list", *here))
    rag(*ingest, "--prune")
    assert names(rag("list", *here)) == ["kettle.md", "manual.md"]

    # Noon: to the server, and a collection is asked there.
    pushed = rag("store", "push", url, *here)["collections"]
    assert all(copy["sent"] == copy["points"] for copy in pushed)
    assert contents(url) == contents(store)
    collection = next(c["collection"] for c in pushed if "Heading" in c["collection"])
    asked = rag("ask", "How often is the pump descaled?", "--collection", collection, *served)
    assert "twice a year" in asked["text"]

    # An ingest into the server finds there what the push brought.
    assert set(statuses(rag("ingest", docs, "-p", "heading", *served)).values()) == {"unchanged"}

    # Afternoon: one document goes here, and with the next push there.
    rag("remove", docs / "kettle.md", *here)
    kept = rag("store", "push", url, *here)["collections"]
    assert all(copy["sent"] == 0 and copy["extra"] > 0 for copy in kept)
    rag("store", "push", url, *here, "--prune")
    assert contents(url) == contents(store)

    # Evening: all is well, until chunks are lost; the doctor says so, and an ingest mends it.
    assert rag("doctor", *here)["sound"]
    assert rag("doctor", *served)["sound"]
    with open_store(store) as opened:
        opened.delete(collection, list(contents_of(opened, collection))[:1])
    ended = command("doctor", *here, "--json")
    assert ended.code == 4
    assert {finding["kind"] for finding in ended.json["findings"] if finding["is_wrong"]} == {
        "ledger"
    }
    rag("ingest", docs / "manual.md", "-p", "heading", "-p", "fixed", *here)
    assert rag("doctor", *here)["sound"]
    assert contents(store) == contents(url)

    # Night: a back-up, a lost disk, and everything is there again.
    rag("store", "push", backup, *here)
    whole = contents(store)
    shutil.rmtree(store)
    rag("store", "push", store, "--store", backup)
    assert contents(store) == whole
    assert set(statuses(rag("ingest", docs / "manual.md", "-p", "heading", *here)).values()) == {
        "unchanged"
    }
    assert rag("doctor", *here)["sound"]


def contents_of(store: Any, collection: str) -> set[str]:
    return {node for nodes in store.documents(collection).values() for node in nodes}
