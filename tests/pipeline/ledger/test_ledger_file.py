"""Where a ledger lies, and what is said of one that cannot be used."""

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from rag_nodes.core.errors import LedgerDamagedError, LedgerError
from rag_nodes.pipeline.ledger import DocumentRow, FileRow, Ledger, StoredDocument, ledger_path


def fill_ledger(path: Path) -> None:
    with Ledger(path) as ledger:
        ledger.settle(StoredDocument("one", f"document {n}", "h", 1) for n in range(2000))
        ledger.record(
            FileRow("tea", "/a", 1, 1, "h", "r", "read", 1),
            [DocumentRow("tea", "/a", "a", "h", "a", None, None, 1)],
        )


def stored_in(path: Path) -> dict[str, StoredDocument]:
    with Ledger(path) as ledger:
        return ledger.stored("one")


def test_the_ledger_of_a_folder_lies_in_it(tmp_path: Path) -> None:
    assert ledger_path(str(tmp_path)) == tmp_path / "ledger.sqlite"


@pytest.mark.parametrize("location", [":memory:", "", "somewhere of another kind of store"])
def test_a_store_that_has_no_place_of_ours_has_no_ledger(location: str) -> None:
    assert ledger_path(location) is None
    assert Ledger.of(location) is None


def test_a_server_has_one_in_the_state_folder_by_its_address_without_keys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))

    plain = ledger_path("https://qdrant.example:6333")
    keyed = ledger_path("https://user:secret@qdrant.example:6333/?api_key=secret")
    other = ledger_path("https://qdrant.example:6334")

    assert plain == keyed
    assert plain != other
    assert plain is not None
    assert plain.parent == tmp_path / "rag_nodes/ledgers"
    assert "secret" not in str(plain)


def test_a_place_that_is_given_wins_and_is_made(tmp_path: Path) -> None:
    place = tmp_path / "new/folder/tea.sqlite"

    with Ledger.of(":memory:", place) or pytest.fail("no ledger") as ledger:
        assert ledger.path == place
    assert place.is_file()


def noise_behind_the_first_page(content: bytes) -> bytes:
    return content[:4096] + os.urandom(len(content) - 4096)


def its_first_half(content: bytes) -> bytes:
    return content[: len(content) // 2]


def replace_by_garbage(_: bytes) -> bytes:
    return b"torn, " * 1000


@pytest.mark.parametrize("left", [noise_behind_the_first_page, its_first_half, replace_by_garbage])
def test_a_torn_ledger_names_itself_and_the_remedy(
    tmp_path: Path, left: Callable[[bytes], bytes]
) -> None:
    place = tmp_path / "ledger.sqlite"
    fill_ledger(place)
    place.write_bytes(left(place.read_bytes()))

    with pytest.raises(
        LedgerDamagedError, match=r"ledger.sqlite: .*move it away.*a new one from the store"
    ):
        stored_in(place)


def test_a_foreign_database_is_refused_and_unchanged(tmp_path: Path) -> None:
    notes, songs = tmp_path / "notes.txt", tmp_path / "ledger.sqlite"
    notes.write_text("my notes, " * 1000)
    with closing(sqlite3.connect(songs)) as other, other:
        other.execute("CREATE TABLE songs (title TEXT)")

    for place, message in (
        (notes, r"notes\.txt: this is a file of another kind"),
        (songs, "another p"),
    ):
        before = place.read_bytes()
        with pytest.raises(LedgerError, match=message) as raised:
            Ledger(place)
        assert type(raised.value) is LedgerError  # or the doctor would put it aside
        assert place.read_bytes() == before


def test_a_page_that_is_torn_where_nobody_reads_is_found_by_a_check(tmp_path: Path) -> None:
    place = tmp_path / "ledger.sqlite"
    fill_ledger(place)
    with closing(sqlite3.connect(place)) as whole:
        [(page,)] = whole.execute(
            "SELECT rootpage FROM sqlite_schema WHERE name = 'documents_by_id'"
        )
    content = bytearray(place.read_bytes())
    content[(page - 1) * 4096 : page * 4096] = bytes(4096)
    place.write_bytes(content)

    with Ledger(place) as ledger:
        assert len(ledger.stored("one")) == 2000
        with pytest.raises(
            LedgerDamagedError, match=r"ledger.sqlite: .*move it away.*a new one from the store"
        ):
            ledger.check()


@pytest.mark.parametrize("version", [7, 99])
def test_the_ledger_of_another_release_is_refused_and_stays_as_it_is(
    tmp_path: Path, version: int
) -> None:
    place = tmp_path / "ledger.sqlite"
    fill_ledger(place)
    with closing(sqlite3.connect(place)) as other, other:
        other.execute(f"PRAGMA user_version = {version}")
    before = place.read_bytes()

    with pytest.raises(LedgerError, match=rf"version {version}\b.*move it away.*ingest again"):
        Ledger(place)

    assert place.read_bytes() == before


def test_a_place_that_cannot_be_written_names_the_option(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    (tmp_path / "ledger.sqlite").mkdir()

    for place in (tmp_path / "file/ledger.sqlite", tmp_path / "ledger.sqlite"):
        with pytest.raises(LedgerError, match="name another file for the ledger"):
            Ledger(place)


def test_a_ledger_that_another_process_writes_to_for_long_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rag_nodes.pipeline.ledger.database._BUSY_SECONDS", 0.01)
    place = tmp_path / "ledger.sqlite"
    with Ledger(place) as ledger, closing(sqlite3.connect(place)) as other:
        other.execute("BEGIN IMMEDIATE")

        with pytest.raises(LedgerError, match="another process"):
            ledger.settle([StoredDocument("one", "a", "h", 1)])


def test_committed_rows_outlive_a_killed_process(tmp_path: Path) -> None:
    place = tmp_path / "ledger.sqlite"
    code = f"""
import os, signal
from rag_nodes.pipeline.ledger import StoredDocument, Ledger
ledger = Ledger({str(place)!r})
ledger.settle([StoredDocument("one", "a", "h", 3)])
ledger.open("one", ["a", "b"])
os.kill(os.getpid(), signal.SIGKILL)
"""
    subprocess.run([sys.executable, "-c", code], check=False)

    with Ledger(place) as again:
        assert {key: (row.version, row.chunks) for key, row in again.stored("one").items()} == {
            "a": ("", 3),
            "b": ("", 0),
        }


_OPENS = """
import sys
from rag_nodes.pipeline.ledger import Ledger

for line in sys.stdin:
    Ledger(line.strip()).close()
    print("opened", flush=True)
"""


def test_processes_that_open_a_new_ledger_in_the_same_moment_wait_for_each_other(
    tmp_path: Path,
) -> None:
    with ExitStack() as stack:
        opens = [
            stack.enter_context(
                subprocess.Popen(
                    [sys.executable, "-c", _OPENS],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    bufsize=1,
                    text=True,
                )
            )
            for _ in range(4)
        ]
        asked = [process.stdin for process in opens if process.stdin is not None]
        outputs = [process.stdout for process in opens if process.stdout is not None]
        for number in range(10):
            for process in asked:
                process.write(f"{tmp_path / str(number)}.sqlite\n")
            assert [process.readline() for process in outputs] == ["opened\n"] * 4


_WITHOUT_ROOM = """
import resource, signal, sys
from rag_nodes.pipeline.ledger import Ledger

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1, 1))  # as a disk that has no block left
with Ledger(sys.argv[1]) as ledger:
    print(len(ledger.stored("one")))
"""


def test_a_ledger_is_read_where_the_disk_is_full(tmp_path: Path) -> None:
    place = tmp_path / "ledger.sqlite"
    fill_ledger(place)
    ended = subprocess.run(
        [sys.executable, "-c", _WITHOUT_ROOM, place], capture_output=True, text=True, check=False
    )
    assert (ended.stdout, ended.stderr) == ("2000\n", "")
    assert len(stored_in(place)) == 2000
