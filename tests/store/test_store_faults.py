import errno
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from stored_nodes import MakeNode

from rag_nodes.core.errors import (
    ConfigurationError,
    MissingExtraError,
    StoreDamagedError,
    StoreError,
    StoreLockedError,
    StoreUnreachableError,
)
from rag_nodes.store import Query, open_store
from rag_nodes.store.catalogue import shown
from rag_nodes.store.edge import shards

HOLD = """
import sys
from rag_nodes.store import open_store
with open_store(sys.argv[1]) as store:
    print("open", flush=True)
    sys.stdin.read()
"""


@contextmanager
def other_process_holding(folder: Path) -> Iterator[None]:
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "open\n"
        yield
        process.communicate()


def test_a_folder_held_by_another_process_is_refused_and_free_again_afterwards(
    tmp_path: Path,
) -> None:
    with (
        other_process_holding(tmp_path),
        pytest.raises(StoreLockedError, match="another process") as caught,
    ):
        open_store(tmp_path)
    assert str(tmp_path) in str(caught.value)
    with open_store(tmp_path) as store:
        assert store.collections() == []


def test_one_process_may_open_a_folder_several_times(
    tmp_path: Path, collection: str, make_node: MakeNode
) -> None:
    first, second = open_store(tmp_path), open_store(tmp_path / ".." / tmp_path.name)
    first.vector_store(collection).add([make_node("one", [1.0, 0.0])])
    first.close()
    assert second.count(collection) == 1
    second.close()
    with open_store(tmp_path) as third:
        assert third.count(collection) == 1


@pytest.mark.parametrize("content", [b"{not json", b'{"format": "x"}', b"[]", b""])
def test_a_damaged_folder_is_named_with_its_remedy(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "store.json").write_bytes(content)
    with pytest.raises(StoreDamagedError, match="ingest again") as caught:
        open_store(tmp_path)
    assert str(tmp_path) in str(caught.value)


@pytest.mark.parametrize("file", ["collection.json", "edge_config.json"])
def test_a_damaged_collection_is_reported_when_the_folder_is_opened_and_refused_when_used(
    tmp_path: Path,
    collection: str,
    make_node: MakeNode,
    caplog: pytest.LogCaptureFixture,
    file: str,
) -> None:
    node, other = make_node("one", [1.0, 0.0]), collection.replace("tests", "other")
    with open_store(tmp_path) as store:
        store.add(collection, [node])
    [damaged] = tmp_path.rglob(file)
    kept = damaged.read_bytes()
    damaged.unlink()
    with open_store(tmp_path) as store:
        assert f"{tmp_path}" in caplog.text
        assert "the other collections can be used" in caplog.text
        store.add(other, [node])
        assert store.count(other) == 1
        for refused in (
            lambda: store.count(collection),
            lambda: store.add(collection, [node]),
            lambda: store.search(collection, Query(vector=[1.0, 0.0], text="one", limit=1)),
        ):
            with pytest.raises(StoreDamagedError, match="ingest again, or restore") as raised:
                refused()
            assert str(tmp_path) in str(raised.value)
    assert not damaged.exists(), "opening must not put an empty one in its place"
    damaged.write_bytes(kept)
    with open_store(tmp_path) as store:
        assert store.count(collection) == 1


def test_folders_of_others_beside_collections_are_left_alone(tmp_path: Path) -> None:
    open_store(tmp_path).close()
    theirs = tmp_path / "collections" / "photos"
    theirs.mkdir()
    with open_store(tmp_path) as store:
        assert store.collections() == []
    assert theirs.is_dir()


def test_a_damaged_shard_is_reported_by_its_first_use_and_hurts_no_other_collection(
    tmp_path: Path, collection: str, make_node: MakeNode
) -> None:
    other = collection.replace("tests", "other")
    with open_store(tmp_path) as store:
        for name in (collection, other):
            store.add(name, [make_node("one", [1.0, 0.0])])
    about = tmp_path.rglob("collection.json")
    [folder] = [file.parent for file in about if collection in file.read_text()]
    for segment in folder.rglob("segment.json"):
        segment.write_text("{")
    with open_store(tmp_path) as store:
        assert store.count(other) == 1
        with pytest.raises(StoreDamagedError, match="delete this folder and ingest again"):
            store.count(collection)
        collections = {info.name: info for info in store.collections()}
        assert (collections[other].points, collections[other].trouble) == (1, "")
        assert "delete this folder and ingest again" in collections[collection].trouble
        store.drop(collection)
        assert [info.name for info in store.collections()] == [other]


@pytest.mark.parametrize(
    "reason", ["Permission denied (os error 13)", "Out of memory (os error 12)"]
)
def test_errors_of_the_system_do_not_count_as_damage(
    tmp_path: Path,
    collection: str,
    make_node: MakeNode,
    monkeypatch: pytest.MonkeyPatch,
    reason: str,
) -> None:
    with open_store(tmp_path) as store:
        store.add(collection, [make_node("one", [1.0, 0.0])])

    def refuse(_: Path) -> None:
        raise Exception(f"Service runtime error: failed to load segment: {reason}")  # noqa: TRY002

    monkeypatch.setattr(shards, "loaded", refuse)
    with open_store(tmp_path) as store:
        with pytest.raises(StoreError, match=re.escape(reason)) as raised:
            store.count(collection)
        assert not isinstance(raised.value, StoreDamagedError)
        assert "delete" not in str(raised.value)
        [info] = store.collections()
        assert "check permissions" in info.trouble


def test_a_closed_store_says_so(collection: str, tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.close()
    store.close()
    with pytest.raises(StoreError, match="closed"):
        store.count(collection)


def test_a_folder_on_a_full_disk_is_named_and_can_be_used_once_there_is_space(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as full:
        full.setattr(os, "fsync", refuse)
        message = "cannot be used as a storage folder (No space left on device)"
        with pytest.raises(StoreError, match=re.escape(message)):
            open_store(tmp_path)
    with open_store(tmp_path) as store:
        assert store.collections() == []


def test_a_file_is_no_storage_folder(tmp_path: Path) -> None:
    file = tmp_path / "file.txt"
    file.write_text("text")
    with pytest.raises(StoreError, match="cannot be used as a storage folder"):
        open_store(file)


def test_credentials_in_a_url_are_never_shown() -> None:
    assert shown("https://me:canary@host:6333/x") == "https://host:6333/x"
    assert shown("/home/me@work/store") == "/home/me@work/store"
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        port = reserved.getsockname()[1]
        with pytest.raises(StoreUnreachableError) as caught:
            open_store(f"http://me:canary@127.0.0.1:{port}")
    assert "canary" not in str(caught.value)


def test_an_empty_location_is_a_mistake() -> None:
    with pytest.raises(ConfigurationError, match="no storage location"):
        open_store(" ")


def test_without_qdrant_the_install_line_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rag_nodes.store.opening.find_spec", lambda _name: None)
    with pytest.raises(MissingExtraError, match=r"rag-nodes\[qdrant\]"):
        open_store(":memory:")


def test_the_error_names_a_server_if_the_engine_has_no_build(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    modules = {"qdrant_edge": None}
    monkeypatch.setattr("rag_nodes.store.opening.find_spec", lambda name: modules.get(name, True))
    with pytest.raises(StoreError, match=r"no build of it .* run a Qdrant server"):
        open_store(":memory:")


def test_a_collection_whose_words_another_release_indexed_is_refused_where_it_is_asked_for(
    tmp_path: Path, collection: str, make_node: MakeNode
) -> None:
    with open_store(tmp_path) as store:
        store.add(collection, [make_node("zebra", [1.0, 0.0])])
    (about,) = tmp_path.rglob("collection.json")
    about.write_text(about.read_text().replace("text-words-stems", "text-words"))
    with open_store(tmp_path) as store:
        for use in (store.count, store.documents, store.flush):
            with pytest.raises(StoreDamagedError, match=r"its words are .*ingest again"):
                use(collection)
