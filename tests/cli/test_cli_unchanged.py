"""An ingest of which nothing is due needs no LlamaIndex, and says the same as one that has it."""

import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Command

from rag_nodes.models import Models
from rag_nodes.operations.run import Run
from rag_nodes.store import open_store

Ingest = Callable[..., dict[str, Any]]


@pytest.fixture
def folder(tmp_path: Path, manual: Path) -> Path:
    (tmp_path / "documents").mkdir()
    for name in ("a.md", "b.md"):
        (tmp_path / "documents" / name).write_text(f"{manual.read_text()}\n{name}\n")
    return tmp_path / "documents"


@pytest.fixture
def ingest(command: Command, folder: Path, tmp_path: Path) -> Ingest:
    def ingested(*options: object) -> dict[str, Any]:
        place = ("--store", tmp_path / "store")
        report: dict[str, Any] = command("ingest", folder, *place, "--json", *options).json
        return report

    return ingested


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Run]:
    """Has a member for each ingest that made models, which brings LlamaIndex along."""
    runs: list[Run] = []
    models = Run.models

    def noted(run: Run, **options: bool) -> Models:
        runs.append(run)
        return models(run, **options)

    monkeypatch.setattr(Run, "models", noted)
    return runs


def plain(report: dict[str, Any]) -> dict[str, Any]:
    """Without what a clock says."""
    timeless = [{**one, "seconds": {}} for one in report["columns"]]
    files = [{**one, "seconds": 0} for one in report["files"]]
    return {**report, "seconds": 0, "columns": timeless, "files": files}


def test_llamaindex_is_not_loaded_to_look_or_where_nothing_is_due_nor_what_answers_to_ingest(
    ingest: Ingest, folder: Path, tmp_path: Path
) -> None:
    ingest()
    place = ["--store", str(tmp_path / "store")]
    rooms = ("query", "compare", "evaluation")
    script = (
        "import sys\n"
        "from rag_nodes.cli.program import run\n"
        f"typed = ['status'], ['list'], ['ingest', {str(folder)!r}]\n"
        f"codes = [run([*one, *{place}]) for one in typed]\n"
        "print(codes, 'llama_index.core' in sys.modules, file=sys.stderr)\n"
        f"code = run(['ingest', {str(folder)!r}, '-p', 'fixed', *{place}])\n"
        f"loaded = [one for one in {rooms} if f'rag_nodes.{{one}}' in sys.modules]\n"
        "print(code, loaded, file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    said = done.stderr.splitlines()
    assert ("[0, 0, 0] False" in said, said[-1]) == (True, "0 []")


@pytest.mark.parametrize("options", [("-p", "heading", "-p", "parent-child"), ("--prune",)])
def test_what_is_said_is_the_same_as_with_llamaindex(
    ingest: Ingest, made: list[Run], tmp_path: Path, options: tuple[str, ...]
) -> None:
    ingest(*options)
    quick = plain(ingest(*options))
    assert len(made) == 1
    with closing(sqlite3.connect(tmp_path / "store" / "ledger.sqlite")) as ledger, ledger:
        ledger.execute("DELETE FROM requests")
    assert quick == plain(ingest(*options))
    assert len(made) == 2
    assert {one["status"] for one in quick["files"]} == {"unchanged"}


def _changed(folder: Path, _: Path) -> None:
    (folder / "b.md").write_text("# Otters\n\nOtters swim.\n")


def _added(folder: Path, _: Path) -> None:
    (folder / "c.md").write_text("# Otters\n\nOtters swim.\n")


def _dropped(_: Path, store: Path) -> None:
    with open_store(store) as opened:
        for one in opened.collections():
            opened.drop(one.name)


def test_files_are_counted_once_whether_some_are_due_or_none(
    ingest: Ingest, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ingest()
    read: list[tuple[int, int]] = []
    emit = Run.emit

    def noted(run: Run, event: Any) -> None:
        if getattr(event, "stage", "") == "read":
            read.append((event.done, event.total))
        emit(run, event)

    monkeypatch.setattr(Run, "emit", noted)
    ingest()
    assert read == [(2, 2)]
    read.clear()
    _added(folder, folder)
    ingest()
    assert read == [(1, 3), (2, 3), (3, 3)]


@pytest.mark.parametrize("change", [_changed, _added, _dropped])
def test_what_is_due_is_stored_all_the_same(
    ingest: Ingest, folder: Path, tmp_path: Path, change: Callable[[Path, Path], None]
) -> None:
    ingest()
    change(folder, tmp_path / "store")
    [column] = ingest()["columns"]
    assert column["written"]
    assert not column["error"]
    with open_store(tmp_path / "store") as store:
        assert store.count(column["collection"]) == column["chunks"]


@pytest.mark.parametrize(
    "options", [("-p", "retrieval:chunk_size=50"), ("--text", "plain"), ("--corpus", "other")]
)
def test_another_request_is_not_taken_for_the_one_before(
    ingest: Ingest, options: tuple[str, ...]
) -> None:
    ingest()
    [column] = ingest(*options)["columns"]
    assert column["written"]


def test_a_file_that_is_gone_is_pruned_though_nothing_is_due(
    ingest: Ingest, folder: Path, made: list[Run]
) -> None:
    ingest()
    (folder / "b.md").unlink()
    made.clear()
    assert ingest()["gone"] == 1
    assert ingest("--prune")["pruned"]["documents"] == [str(folder / "b.md")]
    assert not made
