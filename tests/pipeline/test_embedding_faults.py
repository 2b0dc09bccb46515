"""Whatever fails while texts are embedded: nothing is lost, nothing is paid for twice."""

from __future__ import annotations

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
    "broken connection": Fault(body="reset"),
    "no answer in time": Fault(body="slow"),
    "wrong dimension": Fault(body="dimension"),
    "refused text": TOO_LONG,
    "revoked key": UNAUTHORIZED,
}
FATAL = {"too many requests", "no answer in time", "wrong dimension", "revoked key"}
"""After these the next request would only fail the same way."""


def models_at(server: OpenAIServer, timeout: float) -> Models:
    return choose_models(
        Settings(
            embedding="openai",
            embedding_model="small",
            embedding_options={"embed_batch_size": 5, "num_workers": 3},
            llm="extractive",
            api_base=server.base,
            request_timeout=timeout,
            retry_seconds=0,
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
