"""Whatever an ingest is made of arrives whole in another process, keys included."""

import pickle
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from importlib.util import find_spec
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import httpx
import in_worker
import pytest
from in_worker import TEXT, TINY, Stamp
from llama_index.core import Document
from llama_index.core.base.llms.types import CompletionResponse
from llama_index.core.callbacks import CallbackManager
from llama_index.core.extractors import TitleExtractor
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.rate_limiter import TokenBucketRateLimiter
from llama_index.core.schema import TextNode
from llama_index.embeddings.openai import OpenAIEmbedding
from llama_index.llms.openai import OpenAI
from openai_server import OpenAIServer
from own_models import LettersEmbedding, ParrotLLM
from splitters import WindowSplitter
from tiny_onnx import write_model

from rag_nodes.core.errors import ConfigurationError
from rag_nodes.core.keys import without_keys
from rag_nodes.embedding import (
    EmbeddedText,
    EmbeddingGuard,
    SectionSummary,
    UserTransformations,
    identity_of,
)
from rag_nodes.models import Models
from rag_nodes.models.executors.executor import WorkerJob, pickled_job
from rag_nodes.models.kept import KeptAnswers
from rag_nodes.models.lexical import LexicalEmbedding
from rag_nodes.models.openai import OpenAIServerEmbedding, OpenAIServerLLM
from rag_nodes.models.pacing import RequestWindow
from rag_nodes.models.pickling import Sharing, keys_in, pickled, unpickled
from rag_nodes.parsers import ForeignNodeParser, SemanticNodeParser, get_parser

pytest_plugins = ["fixtures_openai"]
pytestmark = pytest.mark.usefixtures("no_configuration")

KEY = "sk-canary-93b1"
GATE = "gate-pass-7c2e"


@pytest.fixture(scope="module")
def workers() -> Iterator[ProcessPoolExecutor]:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        yield pool


@pytest.fixture
def access(openai_server: OpenAIServer) -> dict[str, Any]:
    return {
        "api_base": openai_server.base,
        "api_key": KEY,
        "default_headers": {"X-Gate": GATE},
        "requests_per_minute": 600,
        "timeout": 7,
    }


def test_models_of_openai_keep_key_headers_and_options(
    workers: ProcessPoolExecutor,
    openai_server: OpenAIServer,
    access: dict[str, Any],
) -> None:
    model = OpenAIServerEmbedding(model_name="nomic", dimensions=16, retry_seconds=1, **access)
    result = workers.submit(in_worker.embed, pickled(model), "tank").result()
    vector, options, shown = result
    assert vector == pytest.approx(model.get_query_embedding("tank"))
    assert options == model.to_dict()
    llm = OpenAIServerLLM(
        model="llama3", temperature=0.7, max_tokens=7, context_window=99, **access
    )
    assert workers.submit(in_worker.complete, pickled(llm)).result() == llm.to_dict()
    asked, here, chat = openai_server.requests
    assert {request.authorization for request in openai_server.requests} == {f"Bearer {KEY}"}
    assert asked.body == here.body
    assert (chat.body["max_tokens"], chat.body["temperature"]) == (7, 0.7)
    assert KEY not in shown
    assert GATE not in shown


def test_limits_of_a_model_go_along_and_a_client_of_its_own_cannot(access: dict[str, Any]) -> None:
    arrived = pickle.loads(pickle.dumps(OpenAIServerEmbedding(tokens_per_minute=9, **access)))
    assert (arrived._window.per_minute, arrived._window.tokens_per_minute) == (600, 9)
    with httpx.Client() as careful, pytest.raises(ConfigurationError, match="cannot be pickled"):
        pickled(OpenAIServerEmbedding(http_client=careful, **access))


def test_models_that_were_asked_already_say_nothing_when_they_are_pickled(
    access: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    theirs = OpenAIEmbedding(api_key=KEY, api_base=access["api_base"])
    ours = OpenAIServerEmbedding(**access)
    for model in (theirs, ours):
        model.get_query_embedding("tank")
    caplog.clear()
    for arrived in (unpickled(pickled(theirs)), unpickled(pickled(ours))):
        arrived.get_query_embedding("tank")
    assert "unpickle" not in caplog.text


def test_offline_models_give_the_same_vectors_there(tmp_path: Path) -> None:
    model = LexicalEmbedding(dimension=64, embed_batch_size=9)
    arrived = unpickled(pickled(model))
    assert arrived.get_query_embedding("tank") == model.get_query_embedding("tank")
    assert arrived.to_dict() == model.to_dict()
    if find_spec("fastembed") and find_spec("llama_index.embeddings.fastembed"):
        from rag_nodes.models.local import LocalEmbedding

        local = LocalEmbedding(TINY, specific_model_path=str(write_model(tmp_path / "tiny")))
        arrived = unpickled(pickled(local))
        assert arrived.get_query_embedding("tank") == pytest.approx([0.6, 0.8])


def test_models_of_llama_index_keep_their_key(
    openai_server: OpenAIServer,
    access: dict[str, Any],
) -> None:
    own = {"api_base": access["api_base"], "api_key": KEY}
    embedding = OpenAIEmbedding(model="text-embedding-3-large", dimensions=256, **own)
    arrived = unpickled(pickled(embedding))
    arrived.get_query_embedding("tank")
    assert arrived.to_dict() == embedding.to_dict()
    unpickled(pickled(OpenAI(model="gpt-4o", **own))).complete("ready?")
    assert {request.authorization for request in openai_server.requests} == {f"Bearer {KEY}"}


def test_a_summary_keeps_its_llm_and_what_was_paid_for(
    openai_server: OpenAIServer,
    access: dict[str, Any],
    tmp_path: Path,
) -> None:
    llm = OpenAIServerLLM(model="llama3", **access)
    kept = KeptAnswers(tmp_path / "written.sqlite")
    summary = SectionSummary(llm=llm, kept=kept, knowledge_base="Tea", max_tokens=99)
    here = [TextNode(text=TEXT)]
    summary(here)
    paid = len(openai_server.requests)
    steps = [summary, EmbeddedText(text="summary")]
    metadata, identities = in_worker.transform(pickled(steps), [TEXT])
    assert len(openai_server.requests) == paid
    assert metadata[0]["summary"] == here[0].metadata["summary"]
    assert identities == [identity_of(step) for step in steps]
    other = "The pump is below the tank."
    in_worker.transform(pickled([summary]), [other])
    assert openai_server.requests[-1].authorization == f"Bearer {KEY}"
    summary([TextNode(text=other)])
    assert len(openai_server.requests) == paid + 1


def test_other_transformations_do_the_same_there() -> None:
    steps = [
        EmbeddingGuard(max_tokens=64, tokenizer="o200k_base"),
        UserTransformations([SectionSummary(max_tokens=20)], tokenizer="o200k_base"),
    ]
    metadata, identities = in_worker.transform(pickled(steps), [TEXT, TEXT * 12])
    nodes: Any = [TextNode(text=TEXT), TextNode(text=TEXT * 12)]
    for step in steps:
        nodes = step(nodes)
    assert [future.keys() for future in metadata] == [node.metadata.keys() for node in nodes]
    assert identities == [identity_of(step) for step in steps]


def test_the_users_own_state_and_the_key_of_their_llm_go_along(
    openai_server: OpenAIServer, access: dict[str, Any]
) -> None:
    titles = TitleExtractor(llm=OpenAIServerLLM(model="llama3", **access), num_workers=1)
    data = pickled([UserTransformations([Stamp("tea"), titles])])
    [metadata], _ = in_worker.transform(data, [TEXT])
    assert metadata["stamp"] == "tea"
    assert metadata["document_title"] == openai_server.answer
    assert {request.authorization for request in openai_server.requests} == {f"Bearer {KEY}"}


def test_parsers_give_the_same_nodes_there_and_download_nothing() -> None:
    text = f"# Tank\n\n{TEXT}\n\n## Pump\n\n" + TEXT * 9
    parsers = [
        get_parser("fixed"),
        SemanticNodeParser(embed_model=LettersEmbedding("aei")),
        ForeignNodeParser(splitter=WindowSplitter(60, 5)),
        ForeignNodeParser(splitter=str.splitlines),
        ForeignNodeParser(path="splitters:LineChunker(shift=0)"),
        ForeignNodeParser(splitter=SentenceSplitter(chunk_size=32, chunk_overlap=4)),
    ]
    here = [(node.node_id, node.text) for parser in parsers for node in parser([_document(text)])]
    assert len(here) > 10
    assert in_worker.parse(pickled(parsers), text) == here


def _document(text: str) -> Document:
    return Document(text=text, id_="d")


def test_pickling_keeps_models_unchanged_and_shared_objects_shared(access: dict[str, Any]) -> None:
    callbacks = CallbackManager([])
    embedding = LettersEmbedding("xyz", callback_manager=callbacks)
    before = dict(embedding.__dict__)
    models = Models.of(embed_model=embedding, llm=ParrotLLM(says="no"))
    llm = OpenAIServerLLM(model="llama3", **access)
    steps = [SectionSummary(llm=llm), UserTransformations([SectionSummary(llm=llm)])]
    arrived, (first, two) = unpickled(pickled((models, steps)))
    assert arrived.describe() == models.describe()
    assert arrived.llm.complete("?") == CompletionResponse(text="no")
    assert first.llm is two.steps[0].llm
    assert embedding.__dict__ == before
    assert embedding.callback_manager is callbacks


def test_several_processes_write_into_one_file_and_no_answer_is_lost(
    workers: ProcessPoolExecutor, tmp_path: Path
) -> None:
    path = tmp_path / "written.sqlite"
    own = KeptAnswers(path)
    assert own.get("writer-0", "0") is None
    writers = [workers.submit(in_worker.write, path, number, 25, 30_000) for number in range(2)]
    for number in range(25):
        own.add("writer-2", str(number), "2" * 30_000)
    for future in writers:
        future.result()
    for kept in (own, KeptAnswers(path)):
        for writer in range(3):
            answers = [kept.get(f"writer-{writer}", str(number)) for number in range(25)]
            assert answers == [f"{writer}" * 30_000] * 25


@pytest.mark.parametrize(
    ("thing", "named"),
    [
        (SectionSummary(on_done=lambda: None), "<lambda> is not a function of a module"),
        (
            LettersEmbedding(rate_limiter=TokenBucketRateLimiter(requests_per_minute=1)),
            r"cannot be pickled \(TypeError\)",
        ),
        (ForeignNodeParser(splitter=lambda text: [text]), "<lambda> is not a function of a module"),
        (
            type("Scripted", (Stamp,), {"__module__": "__main__"})(),
            "Scripted is not a class of a mod",
        ),
    ],
)
def test_models_that_cannot_be_pickled_are_refused(thing: object, named: str) -> None:
    with pytest.raises(ConfigurationError, match=named) as caught:
        pickled([thing])
    assert "run without workers" in str(caught.value)


def test_a_pickle_whose_class_is_not_there_is_refused_without_its_words() -> None:
    data = pickled(LettersEmbedding(api_key=KEY)).replace(b"own_models", b"own_modelz")
    with pytest.raises(ConfigurationError, match="install the packages") as caught:
        unpickled(data)
    assert KEY not in str(caught.value)


def test_keys_of_models_are_known_to_whoever_leaves_them_out(access: dict[str, Any]) -> None:
    keys = keys_in({"steps": [SectionSummary(llm=OpenAIServerLLM(**access))]})
    assert without_keys(f"refused {KEY} at {GATE}", keys) == "refused **** at ****"
    assert without_keys("refused sk-12345 by Bearer abcdef") == "refused **** by ****"


def test_requests_per_minute_are_divided_among_workers(
    access: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = [
        OpenAIServerEmbedding(**access),
        SectionSummary(llm=OpenAIServerLLM(**access, rate_limiter=RequestWindow(30))),
        TitleExtractor(llm=OpenAIServerLLM(**access)),
    ]
    monkeypatch.setattr(Sharing, "processes", 1)
    monkeypatch.chdir(".")
    monkeypatch.setattr("gc.freeze", lambda: None)
    job = WorkerJob(pickled_job(in_worker.transform, steps, 300))
    model, summary, titles = job.recipe
    for window in (model._window, summary.llm._window, titles.llm._window):
        assert [bool(window.take()) for _ in range(3)] == [False, False, True]
    assert [bool(summary.llm.rate_limiter.take()) for _ in range(2)] == [False, True]
