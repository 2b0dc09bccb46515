"""Documents that come again in a run, and what is remembered of them."""

from __future__ import annotations

import pytest

from rag_nodes.pipeline import taken
from rag_nodes.pipeline.deposit import Deposit
from rag_nodes.pipeline.taken import TakenDocuments


def whole(name: str, chunks: int = 2, *, begun: bool = True) -> Deposit:
    deposit = Deposit(name, name, "hash")
    deposit.expect(chunks, begun=begun)
    return deposit


@pytest.fixture
def documents(monkeypatch: pytest.MonkeyPatch) -> TakenDocuments:
    monkeypatch.setattr(taken, "_BLOCK", 3)
    return TakenDocuments()


def test_a_document_under_way_is_the_very_same_when_it_comes_again(
    documents: TakenDocuments,
) -> None:
    under_way = Deposit("a.md", "a", "hash")
    for deposit in (under_way, *(whole(str(number)) for number in range(10))):
        documents.add(deposit)
    assert documents.get("a.md", "a", "hash") is under_way
    assert under_way in documents.unfinished()


def test_of_one_that_is_stored_whole_its_row_says_the_same(documents: TakenDocuments) -> None:
    many = [whole(str(number), number, begun=number % 2 == 0) for number in range(1, 10)]
    for deposit in many:
        documents.add(deposit)
    for deposit in many:
        again = documents.get(deposit.label, deposit.document_id, "hash")
        assert again is not None
        assert again.outcome() == deposit.outcome()
    assert len(list(documents.unfinished())) < 3


def test_another_version_of_a_document_is_new(documents: TakenDocuments) -> None:
    documents.add(whole("a.md"))
    assert documents.get("a.md", "a.md", "other") is None
