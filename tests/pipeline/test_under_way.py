"""Several requests are under way at a time, and what was embedded is stored whatever happens."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from llama_index.core import Document
from llama_index.core.schema import MetadataMode
from pydantic import PrivateAttr

from rag_nodes.errors import (
    CancelledError,
    CredentialsError,
    ModelConnectionError,
    ModelRequestError,
    ModelResponseError,
)
from rag_nodes.models import Models
from rag_nodes.parsers import get_parser
from rag_nodes.pipeline import IngestReport, Progress, delivery, ingest_documents
from rag_nodes.processes import Interrupt, interruptible

from .conftest import CountingEmbedding

if TYPE_CHECKING:
    from collections.abc import Callable

    from rag_nodes.store import Store

PATIENCE = 30
WORDS = get_parser("fixed", chunk_size=40, chunk_overlap=0)
TEXT = " ".join(f"Sentence {n:04} of the manual stands here." for n in range(60))


class Meeting(CountingEmbedding):
    """A server that answers the first request, and the others when so many have come together."""

    _together: int = PrivateAttr(default=3)
    _under_way: int = PrivateAttr(default=0)
    _most: int = PrivateAttr(default=0)
    _asked: int = PrivateAttr(default=0)
    _changed: Any = PrivateAttr(default_factory=threading.Condition)

    @property
    def most(self) -> int:
        return self._most

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        with self._changed:
            self._asked += 1
            self._under_way += 1
            self._most = max(self._most, self._under_way)
            self._changed.notify_all()
            alone = self._asked == 1
            assert alone or self._changed.wait_for(lambda: self._most >= self._together, PATIENCE)
        try:
            return super()._get_text_embeddings(texts)
        finally:
            with self._changed:
                self._under_way -= 1


def served(embedding: CountingEmbedding) -> Models:
    return Models(
        embedding=embedding,
        llm=None,
        embedding_name="counting",
        answer_name="extractive",
        offline=False,
    )


def taken(
    store: Store, embedding: CountingEmbedding, progress: Callable[[Progress], None] | None = None
) -> IngestReport:
    documents = [Document(text=TEXT, id_="manual")]
    return ingest_documents(
        documents, {"fixed": WORDS}, store, models=served(embedding), progress=progress
    )


def stored_texts(store: Store) -> set[str]:
    [collection] = store.collections()
    ids = list(store.stored(collection.name, "manual"))
    nodes = store.fetch(collection.name, ids).values()
    return {node.get_content(MetadataMode.EMBED) for node in nodes}


def test_as_many_requests_are_under_way_as_the_model_has_workers(store: Store) -> None:
    meeting = Meeting(embed_batch_size=5, num_workers=3)
    report = taken(store, meeting)
    assert meeting.most == 3
    [column] = report.columns
    assert (column.error, column.written) == (None, column.chunks)
    assert Counter(meeting.texts).most_common(1)[0][1] == 1
    assert stored_texts(store) == set(meeting.texts)


def test_a_model_without_workers_is_asked_one_thing_at_a_time(store: Store) -> None:
    meeting = Meeting(embed_batch_size=5)
    meeting._together = 1
    assert taken(store, meeting).columns[0].error is None
    assert meeting.most == 1


def test_a_refused_key_stores_what_others_gave_and_asks_nothing_more(store: Store) -> None:
    meeting = Meeting(embed_batch_size=5, num_workers=3)

    def refuse(texts: list[str]) -> None:
        if "0010" in " ".join(texts):
            raise CredentialsError("the key was revoked")

    meeting.fail(refuse)
    report = taken(store, meeting)
    assert report.columns[0].error == "manual: the key was revoked"
    assert report.files[0].status == "incomplete"
    assert stored_texts(store) == set(meeting.texts)
    assert len(meeting.texts) < report.columns[0].chunks - 5
    paid = set(meeting.texts)
    again = Meeting(embed_batch_size=5)
    again._together = 1
    assert taken(store, again).columns[0].error is None
    assert not paid & set(again.texts)


def test_a_request_that_fails_costs_no_other(store: Store) -> None:
    meeting = Meeting(embed_batch_size=5, num_workers=3)

    def fail(texts: list[str]) -> None:
        if "0010" in " ".join(texts):
            raise ModelResponseError("HTTP 500")

    meeting.fail(fail)
    report = taken(store, meeting)
    [column] = report.columns
    assert column.written == column.chunks - 5 == len(meeting.texts)
    assert stored_texts(store) == set(meeting.texts)


def test_what_was_accepted_one_by_one_is_kept_when_the_server_goes_away(store: Store) -> None:
    model = CountingEmbedding(embed_batch_size=5, num_workers=1)

    def fail(texts: list[str]) -> None:
        if len(texts) > 1:
            raise ModelRequestError("too much")
        if "0003" in texts[0]:
            raise ModelConnectionError("gone")

    model.fail(fail)
    report = taken(store, model)
    assert len(model.texts) == 3 == report.columns[0].written
    assert stored_texts(store) == set(model.texts)


@pytest.mark.parametrize("raised", [KeyboardInterrupt, CancelledError])
def test_who_gives_up_loses_nothing_that_was_embedded(
    store: Store, raised: type[BaseException]
) -> None:
    meeting = Meeting(embed_batch_size=5, num_workers=3)
    told = []

    def give_up(step: Progress) -> None:
        if step.stage == "store" and step.done > 5 and not told:
            told.append(step)
            raise raised

    with pytest.raises(raised):
        taken(store, meeting, give_up)
    assert stored_texts(store) == set(meeting.texts)
    assert 5 < len(meeting.texts) < 60
    assert not [one for one in threading.enumerate() if one.name == "embedding"]


def test_whoever_waits_for_a_server_that_hangs_can_be_ended(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delivery, "GRACE", 0.0)
    interrupt, release = Interrupt(), threading.Event()
    model = CountingEmbedding(embed_batch_size=5, num_workers=2)

    def hang(texts: list[str]) -> None:
        if "0005" in " ".join(texts):
            interrupt.set()
            assert release.wait(PATIENCE)

    model.fail(hang)
    with interruptible(interrupt), pytest.raises(CancelledError):
        taken(store, model)
    assert len(stored_texts(store)) >= 5
    release.set()


class GivesUp(CountingEmbedding):
    """A model whose client has an event loop of its own, in which the request is cancelled."""

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        raise asyncio.CancelledError(texts)


@pytest.mark.parametrize("at_once", [1, 4])
def test_a_request_that_its_own_client_cancels_is_an_error_and_is_not_waited_for(
    store: Store, at_once: int
) -> None:
    models = served(GivesUp(num_workers=at_once))
    report = ingest_documents([Document(text=TEXT)], {"x": WORDS}, store, models=models)
    assert "its client gave the request up" in str(report.columns[0].error)
    assert report.files[0].status == "incomplete"
