"""Whatever fails while texts are embedded: nothing is lost, nothing is paid for twice."""

from __future__ import annotations

import logging
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from llama_index.core import Document
from openai_server import FAILING, LIMITED, TOO_LONG, UNAUTHORIZED, Fault, OpenAIServer

from rag_nodes.models import choose_models
from rag_nodes.parsers import get_parser
from rag_nodes.pipeline import ingest_documents
from rag_nodes.settings import Settings

if TYPE_CHECKING:
    from rag_nodes.models import Models
    from rag_nodes.pipeline import IngestReport
    from rag_nodes.store import Store

pytestmark = pytest.mark.usefixtures("no_configuration")

PARSER = get_parser("fixed", chunk_size=40, chunk_overlap=0)
DOCUMENTS = 4
FAULTS = {
    "too many requests": LIMITED,
    "server error": FAILING,
    "request not in time": Fault(408),
    "broken connection": Fault(body="reset"),
    "no answer in time": Fault(body="slow"),
    "wrong dimension": Fault(body="dimension"),
    "refused text": TOO_LONG,
    "revoked key": UNAUTHORIZED,
}
FATAL = {"too many requests", "no answer in time", "wrong dimension", "revoked key"}
"""After these the next request would only fail the same way."""


def models_at(server: OpenAIServer, timeout: float = 60.0, *, retry_seconds: float = 0) -> Models:
    return choose_models(
        Settings(
            embedding="openai",
            embedding_model="small",
            embedding_options={"embed_batch_size": 5, "num_workers": 3},
            llm="extractive",
            api_base=server.base,
            request_timeout=timeout,
            retry_seconds=retry_seconds,
        )
    )


def documents(version: str) -> list[Document]:
    sentences = [f"Sentence {n} of the {version} version of it." for n in range(20)]
    return [
        Document(text=f"Document {n}. {' '.join(sentences)}", id_=f"document-{n}")
        for n in range(DOCUMENTS)
    ]


def ingested(version: str, store: Store, models: Models) -> IngestReport:
    return ingest_documents(documents(version), {"fixed": PARSER}, store, models=models)


def ids(version: str, number: int) -> set[str]:
    return {node.node_id for node in PARSER([documents(version)[number]])}


@pytest.mark.parametrize("filled", [False, True], ids=["empty store", "full store"])
@pytest.mark.parametrize("name", FAULTS)
def test_nothing_stored_is_lost_the_rest_completes_and_nothing_is_paid_twice(
    store: Store, openai_server: OpenAIServer, name: str, filled: bool
) -> None:
    served = models_at(openai_server, 3.0 if name == "no answer in time" else 60.0)
    before = set(range(DOCUMENTS)) if filled else set()
    if filled:
        assert ingested("former", store, served).columns[0].error is None
    openai_server.requests.clear()
    openai_server.embedded.clear()

    # The fourth request fails, and where that fails because of its texts, one of them alone.
    alone = [FAULTS[name]] * 9 if name == "refused text" else []
    openai_server.faults.extend([Fault()] * 3 + [FAULTS[name]] + alone)
    broken = ingested("latter", store, served)
    openai_server.faults.clear()
    openai_server.release()
    [column] = broken.columns
    assert column.error
    assert any(file.status == "incomplete" for file in broken.files)
    paid = list(openai_server.embedded)
    assert column.written == len(paid) >= 15, "everything that came back is stored"
    if name in FATAL:
        assert len(openai_server.asked("embeddings")) <= 7, "others were under way at most"
    else:
        assert column.written >= column.chunks - 10, "the others go on"
    for number, file in enumerate(broken.files):
        stored = set(store.stored(column.collection, f"document-{number}"))
        if file.status == "read":
            assert stored == ids("latter", number)
        elif number in before:
            assert ids("former", number) <= stored, "the former version is whole"

    completed = ingested("latter", store, served)
    assert completed.columns[0].error is None
    for number in range(DOCUMENTS):
        stored = set(store.stored(column.collection, f"document-{number}"))
        assert stored == ids("latter", number)
    wanted = Counter(
        node.text for number in range(DOCUMENTS) for node in PARSER([documents("latter")[number]])
    )
    assert Counter(openai_server.embedded) == wanted, "each text once, and none twice"


def test_a_request_that_came_too_late_is_made_again_and_not_chunk_by_chunk(
    store: Store, openai_server: OpenAIServer
) -> None:
    openai_server.fail(Fault(408))
    report = ingested("first", store, models_at(openai_server, retry_seconds=10))
    [column] = report.columns
    assert column.error is None
    assert len(openai_server.asked("embeddings")) == -(-column.chunks // 5) + 1


@pytest.mark.parametrize("status", [408, 409])
def test_a_server_that_lets_every_request_expire_refuses_no_chunk(
    store: Store, openai_server: OpenAIServer, status: int
) -> None:
    openai_server.fail(Fault(status), times=1_000)
    [column] = ingested("first", store, models_at(openai_server)).columns
    assert f"HTTP {status}" in str(column.error)
    assert len(openai_server.asked("embeddings")) <= -(-column.chunks // 5)


def test_a_refused_chunk_is_one_line_of_the_log_and_the_report_says_why(
    store: Store, openai_server: OpenAIServer, caplog: pytest.LogCaptureFixture
) -> None:
    openai_server.fail(TOO_LONG, times=2)
    with caplog.at_level(logging.WARNING):
        report = ingested("first", store, models_at(openai_server))
    [line] = [one for one in caplog.records if one.name.startswith("rag_nodes.pipeline")]
    assert line.exc_info is None
    assert "\n" not in line.getMessage()
    assert "make the chunks" in line.getMessage()
    assert "make the chunks" in str(report.columns[0].error)
