"""Ingests by real processes: the same as by one, whatever becomes of them."""

import os
from pathlib import Path
from typing import Any

import pytest
from hostile_parsers import PoisonedNodeParser
from store import qdrant_server as _server
from stored_points import points_of, without_seconds

from rag_nodes import ingest
from rag_nodes.core.errors import ConfigurationError
from rag_nodes.embedding import Progress
from rag_nodes.models import Models
from rag_nodes.models.executors import Pool, usable_cores
from rag_nodes.parsers import SpanNodeParser, get_parser
from rag_nodes.pipeline.ledger import Ledger
from rag_nodes.store import open_store

EXAMPLES = Path(__file__).parents[3] / "examples" / "corpus"


def write_files(folder: Path, texts: dict[str, str]) -> list[Path]:
    folder.mkdir(exist_ok=True)
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    return [folder / name for name in texts]


def plain(count: int) -> dict[str, str]:
    return {
        f"{number:02}.md": f"# Part {number}\n\nIt is made of steel." for number in range(count)
    }


def ledger_of(store: Path) -> dict[str, Any]:
    """What a ledger says of the files and what is stored of them, but for when.

    Nor the time of a file, which is kept once the file is old enough: the later run sees it older.
    """
    with Ledger(store / "ledger.sqlite") as ledger:
        collections = [collection.name for collection in ledger.collections()]
        stored = [ledger.stored(name) for name in collections]
        return {
            "files": {
                path: document_id.file._replace(
                    mtime_ns=0, failed_at=bool(document_id.file.failed_at)
                )
                for path, document_id in ledger.known("default").items()
            },
            "documents": ledger.documents("default"),
            "collections": collections,
            "stored": [
                document_id._replace(
                    stored_at=bool(document_id.stored_at), failed_at=bool(document_id.failed_at)
                )
                for ids_by_node in stored
                for document_id in ids_by_node.values()
            ],
        }


def test_two_processes_give_what_one_gives_point_for_point(
    parsers: dict[str, SpanNodeParser], models: Models, tmp_path: Path
) -> None:
    bad = write_files(tmp_path / "bad", {"blank.md": " ", "torn.pdf": "%PDF-1.7 torn"})
    paths = [EXAMPLES / "manual.md", EXAMPLES / "handbook.pdf", *bad, tmp_path / "missing.md"]
    steps: list[Progress] = []
    with open_store(tmp_path / "alone") as alone, open_store(tmp_path / "store") as store:
        expected = ingest(paths, parsers, alone, models=models)
        report = ingest(
            paths, parsers, store, models=models, executor=Pool(2), progress=steps.append
        )
        assert without_seconds(report) == without_seconds(expected)
        assert len(report.failed) == 3
        for column in expected.columns:
            assert points_of(store, column.collection) == points_of(alone, column.collection)
        assert ledger_of(tmp_path / "store") == ledger_of(tmp_path / "alone")
    assert max(step.done for step in steps if step.stage == "read") == len(report.files)


def test_a_poisoned_file_and_a_killed_worker_cost_no_innocent_file(
    models: Models,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("POISON_API_KEY", "no-such-key-here")
    long = " ".join(f"Part {number} of it is made of steel." for number in range(600))
    texts = {**plain(40), "00.md": long, "03.md": "poison", "05.md": "kill", "06.md": "warn"}
    paths = write_files(tmp_path / "files", texts)
    note = tmp_path / "note"
    parsers = {"x": PoisonedNodeParser(note=str(note), chunk_size=16, chunk_overlap=0)}
    with open_store() as store, open_store() as alone:
        report = ingest(paths, parsers, store, models=models, executor=Pool(2))
        (failed,) = report.failed
        assert failed.path.endswith("03.md")
        assert "the worker died twice reading it (SIGKILL)" in str(failed.error)
        assert [file.status for file in report.files].count("read") == 39
        assert capfd.readouterr().err.count("a broken font") == 2  # two deaths, no innocent's
        warnings = [
            record.getMessage() for record in caplog.records if record.name == "py.warnings"
        ]
        assert ["UserWarning: a broken font, by ****" in warning for warning in warnings] == [True]
        assert note.exists()
        good = [path for path in paths if path.name != "03.md"]
        with pytest.warns(UserWarning, match="a broken font"):
            expected = ingest(good, parsers, alone, models=models)
        assert expected.columns[0].chunks > 300  # of which 200 were written by a worker that died
        assert without_seconds(report)["columns"] == without_seconds(expected)["columns"]
        assert [file.columns for file in report.files if not file.error] == [
            file.columns for file in expected.files
        ]


def test_workers_and_a_server_give_what_one_process_gives(models: Models, tmp_path: Path) -> None:
    paths, parsers = write_files(tmp_path / "files", plain(4)), {"x": get_parser("parent-child")}
    with open_store() as alone:
        expected = ingest(paths, parsers, alone, models=models)
    with _server.serve() as double, open_store(double.url) as store:
        options: dict[str, Any] = {"models": models, "executor": Pool(2)}
        report = ingest(paths, parsers, store, **options, ledger=tmp_path / "ledger.sqlite")
        assert without_seconds(report) == without_seconds(expected)
        assert store.count(report.columns[0].collection) == expected.columns[0].chunks
        again = ingest(paths, parsers, store, **options, ledger=tmp_path / "made anew.sqlite")
        assert again.columns[0].written == 0, "nothing is paid twice"


def test_a_parser_that_no_other_process_can_make_is_refused_before_anything_starts(
    models: Models,
) -> None:
    parsers = {"x": lambda text: text.splitlines()}
    with (
        open_store() as store,
        pytest.raises(ConfigurationError, match="define it with a name in a module"),
    ):
        ingest([EXAMPLES], parsers, store, models=models, executor=Pool(1))


def test_cores_are_those_that_may_be_used() -> None:
    assert 1 <= usable_cores() <= (os.cpu_count() or 1)
