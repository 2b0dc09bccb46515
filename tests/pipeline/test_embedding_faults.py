"""Whatever fails in a model while a full store is written anew: nothing is lost or paid for twice.

`FAULTS` is the list of what can go wrong with a model's server.
"""

import logging
import socket
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from typing import NamedTuple

import httpx
import pytest
from llama_index.core import Document
from openai_server import (
    FAILING,
    LIMITED,
    NO_QUOTA,
    TOO_LONG,
    UNAUTHORIZED,
    UNKNOWN_MODEL,
    Fault,
    OpenAIServer,
)

from rag_nodes.core.errors import (
    CancelledError,
    CredentialsError,
    DimensionError,
    ModelConnectionError,
    ModelRequestError,
    ModelResponseError,
    RagNodesError,
    RateLimitedError,
    UnknownModelError,
)
from rag_nodes.core.processes import Interrupt, interruptible
from rag_nodes.core.settings import Settings
from rag_nodes.embedding import SectionSummary
from rag_nodes.models import Models, choose_models
from rag_nodes.parsers import get_parser
from rag_nodes.pipeline import IngestReport, ingest_documents
from rag_nodes.store import Store

pytestmark = pytest.mark.usefixtures("no_configuration")

PARSER = get_parser("fixed", chunk_size=40, chunk_overlap=0)
DOCUMENTS = 2
BEFORE = 3
"""Requests that are answered before one fails."""


class Case(NamedTuple):
    """What goes wrong, the error that says so, its words, and how often in a row it happens."""

    fault: Fault | str
    error: type[RagNodesError]
    words: str
    times: int = 1

    @property
    def waits(self) -> bool:
        return self.fault in (Fault(body="slow"), Fault(body="drip"))


EVERY_TEXT = 6
"""A request of five texts that is refused, and each of them alone."""
EMBEDDING = {
    "key refused": Case(UNAUTHORIZED, CredentialsError, "check RAG_NODES_API_KEY"),
    "unknown address": Case(UNKNOWN_MODEL, UnknownModelError, "check the model's name"),
    "unknown model": Case(Fault(400, "model_not_found"), UnknownModelError, "check the model's"),
    "too many requests": Case(LIMITED, RateLimitedError, "in a while"),
    "no quota": Case(NO_QUOTA, RateLimitedError, "check the plan"),
    "request not in time": Case(Fault(408), ModelResponseError, "try again later"),
    "server error": Case(FAILING, ModelResponseError, "try again later"),
    "connection refused": Case("refuse", ModelConnectionError, "check the network"),
    "connection closed at once": Case("hang up", ModelResponseError, "try again"),
    "connection cut": Case(Fault(body="reset"), ModelResponseError, "try again"),
    "no answer in time": Case(Fault(body="slow"), ModelConnectionError, "request_timeout"),
    "empty body": Case(Fault(body="nothing"), ModelResponseError, "ends in /v1"),
    "HTML page": Case(Fault(body="html"), ModelResponseError, "ends in /v1"),
    "wrong dimension": Case(Fault(body="dimension"), DimensionError, "belong together"),
    "vector of NaN": Case(Fault(body="nan"), ModelResponseError, "choose another model"),
    "vector beyond a store": Case(Fault(body="huge"), ModelResponseError, "choose another model"),
    "vector of zeros": Case(Fault(body="zero"), ModelResponseError, "choose another model"),
    "too few vectors": Case(Fault(body="count"), ModelResponseError, "supports lists of texts"),
    "one text refused": Case(TOO_LONG, ModelRequestError, "make the chunks", times=2),
    "every text of a request refused": Case(
        Fault(422, None, "bad option"), ModelRequestError, "name and options", EVERY_TEXT
    ),
}
ALIKE = {
    "conflict": Case(Fault(409), ModelResponseError, "try again later"),
    "JSON of another shape": Case(Fault(body="shapeless"), ModelResponseError, "ends in /v1"),
    "vector of no numbers": Case(Fault(body="no-numbers"), ModelResponseError, "belong together"),
    "too many vectors": Case(Fault(body="more"), ModelResponseError, "supports lists of texts"),
    "an answer that stops coming": Case(Fault(body="drip"), ModelConnectionError, "request_tim"),
    "redirect": Case(
        Fault(307, headers={"location": "http://127.0.0.1:9/v1"}), UnknownModelError, "api_base"
    ),
}
"""Faults after which an ingest does what it does after one of the others.

More are in `models/test_openai_models.py`.
"""
WRITING = {
    "key refused": Case(UNAUTHORIZED, CredentialsError, "check RAG_NODES_API_KEY"),
    "too many requests": Case(LIMITED, RateLimitedError, "in a while"),
    "server error": Case(FAILING, ModelResponseError, "try again later"),
    "connection refused": Case("refuse", ModelConnectionError, "check the network"),
    "empty answer": Case(Fault(body="empty"), ModelResponseError, "try again"),
    "HTML page": Case(Fault(body="html"), ModelResponseError, "ends in /v1"),
}
FATAL = (
    CredentialsError,
    DimensionError,
    ModelConnectionError,
    RateLimitedError,
    UnknownModelError,
)
"""After these the next request would only fail the same way."""


class Detour:
    """Changes one request on its way, after some others."""

    def __init__(self) -> None:
        self._left: list[Callable[[httpx.Request], None]] = []
        self._lock = threading.Lock()

    def after(self, count: int, change: Callable[[httpx.Request], None]) -> None:
        self._left = [*[lambda _: None] * count, change]

    def pass_by(self, request: httpx.Request) -> None:
        with self._lock:
            change = self._left.pop(0) if self._left else None
        if change:
            change(request)


def to_port(port: int) -> Callable[[httpx.Request], None]:
    def change(request: httpx.Request) -> None:
        request.url = request.url.copy_with(port=port)

    return change


@pytest.fixture
def detour(monkeypatch: pytest.MonkeyPatch) -> Detour:
    # Not in a client of the model, which would be another model with it.
    interceptor, send = Detour(), httpx.HTTPTransport.handle_request

    def handle(transport: httpx.HTTPTransport, request: httpx.Request) -> httpx.Response:
        interceptor.pass_by(request)
        return send(transport, request)

    monkeypatch.setattr(httpx.HTTPTransport, "handle_request", handle)
    return interceptor


@pytest.fixture(scope="module")
def ports() -> Iterator[dict[str, int]]:
    """Where nobody listens, and where whoever listens hangs up."""

    def hang_up() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            connection.recv(1 << 20)
            connection.close()

    with socket.create_server(("127.0.0.1", 0)) as closed:
        nobody = closed.getsockname()[1]
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=hang_up, daemon=True).start()
        yield {"refuse": nobody, "hang up": listener.getsockname()[1]}
        listener.shutdown(socket.SHUT_RDWR)


def models_at(
    server: OpenAIServer, timeout: float = 60.0, *, retry_seconds: float = 0, at_once: int = 3
) -> Models:
    return choose_models(
        Settings(
            embedding="openai",
            embedding_model="small",
            embedding_options={"embed_batch_size": 5, "num_workers": at_once},
            llm="openai",
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


def ingest_version(
    version: str, store: Store, models: Models, *steps: SectionSummary
) -> IngestReport:
    parsers = {"fixed": PARSER}
    return ingest_documents(
        documents(version), parsers, store, models=models, transformations=steps
    )


def ids(version: str, number: int) -> set[str]:
    return {node.node_id for node in PARSER([documents(version)[number]])}


def texts(version: str) -> Counter[str]:
    return Counter(node.text for node in PARSER(documents(version)))


Fail = Callable[[Case, int], None]


@pytest.fixture
def fail(openai_server: OpenAIServer, detour: Detour, ports: dict[str, int]) -> Fail:
    def arrange(case: Case, before: int) -> None:
        if isinstance(case.fault, str):
            detour.after(before, to_port(ports[case.fault]))
        else:
            openai_server.faults.extend([Fault()] * before + [case.fault] * case.times)

    return arrange


@pytest.mark.parametrize("name", ALIKE)
def test_a_fault_of_the_embedding_model_is_an_error_that_says_what_to_do(
    openai_server: OpenAIServer, fail: Fail, name: str
) -> None:
    case = ALIKE[name]
    fail(case, 0)
    with pytest.raises(case.error) as caught:
        models_at(openai_server, 1.5 if case.waits else 60).embedding.get_text_embedding("one")
    assert case.words in str(caught.value).partition("; ")[2], "a remedy"


@pytest.mark.parametrize("name", EMBEDDING)
def test_a_fault_of_the_embedding_model_loses_nothing_and_the_next_run_completes(
    store: Store, openai_server: OpenAIServer, fail: Fail, name: str
) -> None:
    case = EMBEDDING[name]
    # Refusals in a row are of one request and its texts only where no other is under way.
    at_once = 3 if case.times == 1 else 1
    # Patient, so that a busy machine is not taken for a silent server.
    patient = models_at(openai_server, at_once=at_once)
    models = models_at(openai_server, 1.5) if case.waits else patient
    assert ingest_version("former", store, patient).columns[0].error is None

    openai_server.reset()
    fail(case, BEFORE)
    [column] = (broken := ingest_version("latter", store, models)).columns
    asked, paid = len(openai_server.asked("embeddings")), list(openai_server.embedded)
    openai_server.faults.clear()
    openai_server.release()
    assert case.words in str(column.error).partition("; ")[2], "a remedy"
    assert any(file.status == "incomplete" for file in broken.files)
    assert column.written == len(paid) >= 5 * BEFORE, "everything that came back is stored"
    if issubclass(case.error, FATAL):
        assert asked <= BEFORE + 4, "others were under way at most"
    else:
        assert column.written >= column.chunks - 10, "the others go on"
    for number, file in enumerate(broken.files):
        stored = set(store.stored(column.collection, f"document-{number}"))
        if file.status == "read":
            assert stored == ids("latter", number)
        else:
            assert ids("former", number) <= stored, "the previous version is whole"

    completes(store, patient, openai_server, column.collection)


def completes(store: Store, models: Models, server: OpenAIServer, collection: str) -> None:
    assert ingest_version("latter", store, models).columns[0].error is None
    for number in range(DOCUMENTS):
        assert set(store.stored(collection, f"document-{number}")) == ids("latter", number)
    asked = Counter(server.embedded)
    assert asked <= texts("latter"), "none twice"
    assert set(asked) == set(texts("latter")), "what two documents share may be asked for once"


@pytest.mark.parametrize("name", WRITING)
def test_a_fault_of_an_llm_that_writes_about_chunks_loses_nothing_and_the_next_run_completes(
    store: Store, openai_server: OpenAIServer, fail: Fail, name: str
) -> None:
    case = WRITING[name]
    served = models_at(openai_server)
    models = choose_models(Settings(embedding="lexical", llm="extractive"))
    step = SectionSummary(llm=served.llm, concurrency=4)
    assert ingest_version("former", store, models, step).columns[0].error is None

    fail(case, BEFORE)
    [column] = ingest_version("latter", store, models, step).columns
    openai_server.faults.clear()
    assert case.words in str(column.error)
    assert column.written == column.chunks, "what nothing was written about is stored without"
    again = ingest_version("latter", store, models, step)
    assert again.columns[0].error is None
    for number in range(DOCUMENTS):
        stored = store.stored(column.collection, f"document-{number}")
        assert stored.keys() == ids("latter", number)
        nodes = store.fetch(column.collection, list(stored)).values()
        assert all(node.metadata["summary"] for node in nodes)


def test_a_run_that_is_ended_while_it_asks_loses_nothing_and_the_next_run_completes(
    store: Store, openai_server: OpenAIServer, detour: Detour
) -> None:
    models, interrupt = models_at(openai_server), Interrupt()
    collection = ingest_version("former", store, models).columns[0].collection
    openai_server.reset()
    detour.after(BEFORE, lambda _: interrupt.set())
    with interruptible(interrupt), pytest.raises(CancelledError):
        ingest_version("latter", store, models)
    assert len(openai_server.asked("embeddings")) <= BEFORE + 4
    for number in range(DOCUMENTS):
        stored = set(store.stored(collection, f"document-{number}"))
        assert stored >= ids("former", number) or stored == ids("latter", number)
    completes(store, models, openai_server, collection)


def test_a_request_that_came_too_late_is_made_again_and_not_chunk_by_chunk(
    store: Store, openai_server: OpenAIServer
) -> None:
    openai_server.fail(Fault(408))
    report = ingest_version("first", store, models_at(openai_server, retry_seconds=10))
    [column] = report.columns
    assert column.error is None
    assert len(openai_server.asked("embeddings")) == -(-column.chunks // 5) + 1


def test_a_server_that_lets_every_request_expire_refuses_no_chunk(
    store: Store, openai_server: OpenAIServer
) -> None:
    openai_server.fail(Fault(408), times=1_000)
    [column] = ingest_version("first", store, models_at(openai_server)).columns
    assert "HTTP 408" in str(column.error)
    assert len(openai_server.asked("embeddings")) <= -(-column.chunks // 5)


@pytest.mark.parametrize("at_once", [1, 3])
@pytest.mark.parametrize("refusals", [0, 1])
def test_a_fault_of_every_request_is_met_once(
    store: Store, openai_server: OpenAIServer, at_once: int, refusals: int
) -> None:
    openai_server.fail(TOO_LONG, times=refusals)  # so that the first chunk goes alone
    openai_server.fail(Fault(400, "model_not_found"), times=1_000)
    [column] = ingest_version("first", store, models_at(openai_server, at_once=at_once)).columns
    assert "check the model's" in str(column.error)
    assert len(openai_server.asked("embeddings")) == refusals + 1


@pytest.mark.parametrize("refusals", [1, 2])
def test_a_refused_request_is_repeated_chunk_by_chunk_and_costs_no_other_chunk(
    store: Store, openai_server: OpenAIServer, refusals: int
) -> None:
    openai_server.fail(TOO_LONG, times=refusals)  # of the request, and of its first chunk
    [column] = ingest_version("first", store, models_at(openai_server, at_once=1)).columns
    lacking = {f"document-{number}" for number in range(DOCUMENTS)} - {
        document
        for number in range(DOCUMENTS)
        if set(store.stored(column.collection, document := f"document-{number}"))
        == ids("first", number)
    }
    assert lacking == ({"document-0"} if refusals > 1 else set())
    assert bool(column.error) == (refusals > 1)


def test_a_refused_chunk_is_one_line_of_the_log_and_the_report_says_why(
    store: Store, openai_server: OpenAIServer, caplog: pytest.LogCaptureFixture
) -> None:
    openai_server.fail(TOO_LONG, times=2)
    with caplog.at_level(logging.WARNING):
        report = ingest_version("first", store, models_at(openai_server, at_once=1))
    [line] = [record for record in caplog.records if record.name.startswith("rag_nodes.embedding")]
    assert line.exc_info is None
    assert "\n" not in line.getMessage()
    assert "make the chunks" in line.getMessage()
    assert "make the chunks" in str(report.columns[0].error)
