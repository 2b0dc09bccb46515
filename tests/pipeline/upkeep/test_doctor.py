"""Findings of the doctor: what is wrong with a store, and what to do about it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from kept_store import FIXED, HEADING, nodes_of
from llama_index.core.schema import NodeRelationship, RelatedNodeInfo, TextNode

from rag_nodes.core.errors import StoreUnreachableError
from rag_nodes.pipeline.ledger import CollectionRow, Ledger, StoredDocument
from rag_nodes.pipeline.upkeep import Trouble, examined
from rag_nodes.store import Store, open_store

Examine = Callable[[], list[Trouble]]


@pytest.fixture
def examine(store: Store, ledger: Ledger) -> Examine:
    def look() -> list[Trouble]:
        return list(examined(store.location, lambda: store, lambda _: ledger.path))

    return look


def only(findings: list[Trouble]) -> Trouble:
    (finding,) = findings
    return finding


def test_a_sound_store_has_no_findings(examine: Examine) -> None:
    assert examine() == []


def test_a_document_of_which_chunks_are_missing_is_torn_and_nothing_is_changed(
    examine: Examine, store: Store, ledger: Ledger
) -> None:
    store.delete(HEADING, [nodes_of("a.md", 3)[1].node_id])
    torn, unlike = examine()
    assert (torn.kind, torn.where) == ("torn", f"{HEADING}: document /docs/a.md")
    assert "2 of 3 chunks are there" in torn.what
    assert unlike.kind == "ledger"
    assert len(store.stored(HEADING, "a.md")) == 2
    assert ledger.stored(HEADING).keys() == {"a.md", "b.md"}
    assert examine() == [torn, unlike]


def versions(total: int) -> list[TextNode]:
    """Two chunks of an older version of a document, of which there were `total`."""
    old = nodes_of("a.md", 2, total=total)
    for number, node in enumerate(old):
        node.id_ = f"00000000-0000-0000-0000-00000000000{number}"
        node.metadata["source_hash"] = "older"
    return old


def test_two_versions_of_a_document_are_torn(examine: Examine, store: Store) -> None:
    store.add(HEADING, versions(total=4))
    assert "chunks of 2 versions" in examine()[0].what


def family() -> tuple[TextNode, TextNode]:
    child, parent = nodes_of("p.md", 2, total=1)
    child.relationships[NodeRelationship.PARENT] = RelatedNodeInfo(node_id=parent.node_id)
    parent.relationships[NodeRelationship.CHILD] = [RelatedNodeInfo(node_id=child.node_id)]
    parent.embedding = None
    return child, parent


@pytest.mark.parametrize(
    ("kept", "message"),
    [(0, "1 parents are missing"), (1, "1 parents have none of their children")],
)
def test_children_without_parents_and_parents_without_children_are_torn(
    examine: Examine, store: Store, kept: int, message: str
) -> None:
    store.add(HEADING, [family()[kept]])
    assert message in examine()[0].what


def test_chunks_without_a_vector_are_found_and_the_remedy_clears_their_collection_alone(
    examine: Examine, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = store.count
    monkeypatch.setattr(store, "count", lambda name, *more: count(name, *more) - (name == HEADING))
    [torn] = [finding for finding in examine() if finding.kind == "torn"]
    assert "1 of 5 chunks have no embedding" in torn.what
    assert f"`rag-nodes clear --parser {HEADING} --yes`" in torn.remedy


def test_a_whole_family_is_sound(examine: Examine, store: Store) -> None:
    store.add(HEADING, list(family()))
    assert {finding.kind for finding in examine()} == {"ledger"}


def test_nodes_that_no_ingest_wrote_are_not_judged(examine: Examine, store: Store) -> None:
    (own,) = nodes_of("own.md", 1)
    own.metadata = {}
    store.add(HEADING, [own])
    assert {finding.kind for finding in examine()} == {"ledger"}


def store_extra_document(store: Store, _: Ledger) -> None:
    store.add(FIXED, nodes_of("c.md", 1))


def lose_document(store: Store, _: Ledger) -> None:
    store.delete_others(FIXED, {"b.md": ()})


def settle_missing_document(_: Store, ledger: Ledger) -> None:
    ledger.settle([StoredDocument(FIXED, "c.md", "v", 1)])


def leave_document_open(_: Store, ledger: Ledger) -> None:
    ledger.open(FIXED, ["a.md"])


def another_version_of_as_many_chunks(_: Store, ledger: Ledger) -> None:
    ledger.settle([ledger.stored(FIXED)["a.md"]._replace(version="of another")])


@pytest.mark.parametrize(
    ("change", "document"),
    [
        (store_extra_document, "/docs/c.md"),
        (lose_document, "/docs/b.md"),
        (settle_missing_document, "c.md"),
        (leave_document_open, "/docs/a.md"),
        (another_version_of_as_many_chunks, "/docs/a.md"),
    ],
)
def test_a_document_about_which_ledger_and_store_disagree_is_named_by_its_path(
    examine: Examine,
    store: Store,
    ledger: Ledger,
    change: Callable[[Store, Ledger], None],
    document: str,
) -> None:
    change(store, ledger)
    unlike = only(examine())
    assert (unlike.kind, unlike.where) == ("ledger", FIXED)
    assert unlike.what.endswith(f"ledger and store disagree about 1 document: {document}")
    assert "ingest again" in unlike.remedy


def test_rows_of_a_collection_that_is_gone_are_named(examine: Examine, store: Store) -> None:
    store.drop(FIXED)
    assert "the store no longer has it" in only(examine()).what


def test_a_collection_of_which_the_ledger_knows_nothing_is_worth_a_note(
    examine: Examine, ledger: Ledger
) -> None:
    ledger.forget_collection(FIXED)
    assert not only(examine()).is_wrong
    ledger.use(CollectionRow(FIXED, "tests", "FixedParser", "f2", "{}", "fake/2", 2))
    assert not only(examine()).is_wrong


def refuse_to_open(error: Exception) -> Callable[[], Store]:
    def fail() -> Store:
        raise error

    return fail


def never() -> Store:
    raise AssertionError("it was opened")


def test_a_folder_of_another_program_is_reported_and_neither_opened_nor_touched(
    tmp_path: Path,
) -> None:
    (tmp_path / "meta.json").write_text('{"collections": {}}', encoding="utf-8")
    finding = only(list(examined(str(tmp_path), never, lambda _: None)))
    assert (finding.kind, finding.is_wrong) == ("foreign", True)
    assert "name another folder for the store" in finding.remedy
    assert [path.name for path in tmp_path.iterdir()] == ["meta.json"]


def test_a_collection_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with open_store(tmp_path) as opened:
        opened.add(HEADING, nodes_of("a.md", 1))
    (about,) = tmp_path.glob("collections/*/collection.json")
    about.write_text("{", encoding="utf-8")
    with open_store(tmp_path) as store:
        finding = only(list(examined(str(tmp_path), lambda: store, lambda _: None)))
    assert finding.kind == "unreadable"
    assert str(about.parent) in finding.what


def test_a_damaged_collection_is_no_orphan_of_the_ledger_and_hides_no_other(
    store: Store, ledger: Ledger
) -> None:
    store.delete(HEADING, [nodes_of("a.md", 3)[1].node_id])
    folder = Path(store.location)
    store.close()
    for about in folder.glob("collections/*fixed*/collection.json"):
        about.write_text("{", encoding="utf-8")
    with open_store(folder) as again:
        findings = list(examined(str(folder), lambda: again, lambda _: ledger.path))
    assert [finding.kind for finding in findings] == ["unreadable", "torn", "ledger"]
    assert {collection.name for collection in ledger.collections()} == {FIXED, HEADING}


def test_a_shard_that_cannot_be_opened_is_named_with_the_command_that_deletes_it(
    store: Store, ledger: Ledger
) -> None:
    folder = Path(store.location)
    store.close()
    for file in folder.glob("collections/*fixed*/shard/segments/*/segment.json"):
        file.write_text("{", encoding="utf-8")
    with open_store(folder) as again:
        finding = only(list(examined(str(folder), lambda: again, lambda _: ledger.path)))
    assert (finding.kind, finding.where) == ("unreadable", FIXED)
    assert f"rag-nodes clear --parser {FIXED} --yes" in finding.remedy


def test_a_server_that_does_not_answer_is_a_finding() -> None:
    away = StoreUnreachableError("http://127.0.0.1:9: it does not answer; check the address")
    finding = only(list(examined("http://127.0.0.1:9", refuse_to_open(away), lambda _: None)))
    assert (finding.kind, finding.remedy) == ("unreachable", "check the address")


def test_findings_are_plain_data(examine: Examine, store: Store) -> None:
    store.drop(FIXED)
    fields: dict[str, Any] = json.loads(json.dumps(only(examine()).as_dict()))
    assert fields["kind"] == "ledger"
    assert fields["is_wrong"] is True


def test_a_damaged_ledger_is_named_with_what_to_move_away(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "torn.sqlite"
    path.write_bytes(b"SQLite format 3\0" + b"\xff" * 4000)
    damaged = only(list(examined(store.location, lambda: store, lambda _: path)))
    assert (damaged.kind, damaged.is_wrong) == ("ledger", True)
    assert "move it away, with torn.sqlite-wal beside it" in damaged.remedy
    assert path.exists()
