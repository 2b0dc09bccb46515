"""Rows of very many documents: counted where all is well, kept where something is to be said."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from folder_ingests import FolderIngests

from rag_nodes.pipeline import FileOutcome, rows
from rag_nodes.pipeline.deposit import Deposit
from rag_nodes.pipeline.rows import FileRows, OpenRows

if TYPE_CHECKING:
    from rag_nodes.pipeline import FileStatus


def row(name: str, status: FileStatus = "read") -> FileOutcome:
    return FileOutcome(name, status, None, 10, None, 0.0)


def stored(chunks: int) -> Deposit:
    deposit = Deposit("a document")
    deposit.expect(chunks)
    return deposit


def names(kept: FileRows) -> list[str]:
    return [one.path for one in kept.in_order()]


def test_rows_stand_in_the_order_of_their_documents_however_they_arrive() -> None:
    kept = FileRows()
    for position in (3, 1, 2):
        kept.add(position, row(str(position)))
    assert names(kept) == ["1", "2", "3"]


def test_over_the_most_only_what_did_not_end_well_has_a_row() -> None:
    kept = FileRows(most=2)
    statuses: tuple[FileStatus, ...] = ("read", "failed", "unchanged", "incomplete", "partial")
    for position, status in enumerate(statuses):
        kept.add(position, row(status, status))
    assert names(kept) == ["read", "failed", "incomplete", "partial"]
    assert kept.omitted == 1


def test_a_row_is_not_held_open_longer_than_its_document(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "_BLOCK", 2)
    kept = FileRows()
    under_way = OpenRows(["x"], kept)
    torn = stored(2)
    torn.expect(2, due=[True])
    under_way.add(0, row("torn"), [torn])
    under_way.add(1, row("whole"), [stored(1)])
    assert names(kept) == ["whole"]

    torn.fail("the disk is full")
    under_way.close()

    assert names(kept) == ["torn", "whole"]
    assert [one.columns["x"].status for one in kept.in_order()] == ["incomplete", "unchanged"]


def test_a_report_with_few_rows_counts_the_documents_that_have_none(corpus: FolderIngests) -> None:
    corpus.write("3.md", "")
    report = corpus.ingest(most_rows=1)
    assert [file.status for file in report.files] == ["read", "failed"]
    assert (report.omitted, report.documents) == (2, 4)
    assert report.columns[0].chunks == corpus.ingest().columns[0].chunks
    assert report.as_dict()["omitted"] == 2
