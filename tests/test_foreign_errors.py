"""Exceptions of a user's own classes: their class is told, and their text nowhere."""

import json
import logging
from pathlib import Path
from typing import Any

import pytest
from leaky import (
    CANARY,
    BreakingLLM,
    LeakyEmbedding,
    LeakyEngine,
    LeakyError,
    LeakyLLM,
    LeakyReranker,
    LeakyRetriever,
    LeakySplitter,
    LeakyStep,
    leak,
)
from llama_index.core import Document
from plant import MANUAL, QUESTION, offline_models
from tests.cli.conftest import invoke_cli
from visits import choose

from rag_nodes.apps.panes.answers import turn_view
from rag_nodes.apps.panes.top import report_html
from rag_nodes.apps.visitors.session import PageSession
from rag_nodes.core.errors import CredentialsError, RagNodesError
from rag_nodes.core.keys import kind_of, trace_of
from rag_nodes.core.settings import Settings
from rag_nodes.evaluation.compare import Comparison
from rag_nodes.models import Models, failure_of
from rag_nodes.parsers import get_parser, offered
from rag_nodes.pipeline import ingest, ingest_documents
from rag_nodes.query import QueryOptions
from rag_nodes.readers import read
from rag_nodes.server.messages import public
from rag_nodes.store import open_store

COLUMNS = {
    "engine": LeakyEngine(),
    "retriever": LeakyRetriever(),
    "splitter": LeakySplitter(),
}


@pytest.fixture
def manual(tmp_path: Path, no_configuration: Path) -> Path:
    assert no_configuration
    path = tmp_path / "manual.md"
    path.write_text(MANUAL)
    return path


def compare_columns(
    manual: Path, columns: dict[str, object], **options: Any
) -> list[dict[str, Any]]:
    """The columns of a report, as plain data."""
    with (
        Comparison(columns, documents=read(manual), **options) as comparison,
        comparison.stream(QUESTION) as stream,
    ):
        columns_found: list[dict[str, Any]] = stream.wait().as_dict()["columns"]
    return columns_found


def test_a_comparison_tells_the_class_of_a_foreign_exception_and_not_its_text(
    manual: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    columns = compare_columns(manual, COLUMNS, models=offline_models())
    for column in columns:
        assert "LeakyError" in (column["error"] or column["statistics"]["error"])
    assert CANARY not in json.dumps(columns) + caplog.text


@pytest.mark.parametrize(
    "options",
    [
        {"embed_model": LeakyEmbedding(), "options": QueryOptions(mode="hybrid")},
        {"llm": LeakyLLM(), "embed_model": "lexical"},
        {"models": offline_models(), "options": QueryOptions(rerank=LeakyReranker())},
        {"models": offline_models(), "options": QueryOptions(rerank=leak)},
    ],
    ids=["embedding", "LLM", "reranker", "function"],
)
def test_models_and_rerankers_tell_their_class_and_not_their_text(
    manual: Path, caplog: pytest.LogCaptureFixture, options: dict[str, Any]
) -> None:
    caplog.set_level(logging.DEBUG)
    [column] = compare_columns(manual, {"fixed": "fixed"}, **options)
    assert "LeakyError" in (column["error"] or "")
    assert CANARY not in json.dumps(column) + caplog.text


def test_an_answer_that_breaks_off_keeps_what_had_arrived(manual: Path) -> None:
    [column] = compare_columns(manual, {"fixed": "fixed"}, llm=LeakyLLM(), embed_model="lexical")
    assert (column["answer"], column["partial"]) == (None, "A battery sta")
    assert "LeakyError" in column["error"]


def test_the_page_shows_what_had_arrived_and_no_text_of_the_exception(
    manual: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    offer = offered({"split": LeakySplitter()})
    with PageSession(Settings(), offer=offer, llm=BreakingLLM()) as session:
        choose(session, "fixed", "split")
        session.load([manual])
        shown = str(turn_view(session.talk.ask(QUESTION)))
    assert "The answer broke off" in shown
    assert "A battery sta" in shown
    assert "LeakyError" in shown
    assert CANARY not in shown + caplog.text


@pytest.mark.parametrize("words", [("ingest",), ("chunk",), ("compare", "-a", "What?")])
@pytest.mark.parametrize("parser", ["leaky:LeakySplitter()", "leaky:UnmadeSplitter()"])
@pytest.mark.parametrize("more", [("-v",), ("--json", "-v")])
def test_the_command_line_prints_no_text_of_a_foreign_exception(
    manual: Path, words: tuple[str, ...], parser: str, more: tuple[str, ...]
) -> None:
    name, *rest = words
    ended = invoke_cli(name, manual, *rest, "-p", parser, *more)
    assert ended.code != 0
    assert "LeakyError" in ended.stdout + ended.stderr
    assert CANARY not in ended.stdout + ended.stderr


@pytest.mark.parametrize(
    "model", [("--llm", "leaky:LeakyLLM"), ("--embedding", "leaky:LeakyEmbedding")]
)
def test_the_command_line_prints_no_text_of_a_models_exception(
    manual: Path, model: tuple[str, str]
) -> None:
    ended = invoke_cli("compare", manual, "-a", QUESTION, "-p", "fixed", *model, "-v")
    assert ended.code != 0
    assert "LeakyError" in ended.stdout + ended.stderr
    assert CANARY not in ended.stdout + ended.stderr


def test_the_ingest_report_and_the_ledger_hold_no_text_of_a_foreign_exception(
    manual: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with open_store(":memory:") as store:
        report = ingest(
            [manual],
            {"split": LeakySplitter(), "fixed": get_parser("fixed")},
            store,
            models=Models.of(embed_model=LeakyEmbedding()),
            ledger=tmp_path / "ledger",
        )
    assert "LeakyError" in json.dumps(report.as_dict())
    written = b"".join(path.read_bytes() for path in tmp_path.glob("ledger*"))
    assert CANARY not in json.dumps(report.as_dict()) + caplog.text
    assert CANARY.encode() not in written


def test_an_evaluation_holds_no_text_of_a_foreign_exception(
    manual: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    path = tmp_path / "questions.json"
    gold = [{"text": "A spare battery starts the generator when the grid is down."}]
    path.write_text(json.dumps({"questions": [{"question": QUESTION, "gold": gold}]}))
    ended = invoke_cli(
        *("evaluate", manual, "--questions", path, "-p", "leaky:LeakySplitter()", "-p", "fixed"),
        *("--json", "-v", "--html", tmp_path / "report.html"),
    )
    page = (tmp_path / "report.html").read_text()
    assert "LeakyError" in page
    assert CANARY not in ended.stdout + ended.stderr + page + caplog.text


def test_served_surfaces_and_the_header_tell_no_text_of_a_foreign_exception() -> None:
    with pytest.raises(LeakyError) as raised:
        leak()
    error = public(raised.value)
    ours = failure_of(raised.value, LeakyLLM(), name="leaky")
    texts = (*map(str, error), *map(str, public(ours)), str(report_html(None, error=str(ours))))
    assert CANARY not in "".join(texts)
    assert "LeakyError" in str(ours)


def test_a_trace_says_where_an_exception_was_raised_without_its_text() -> None:
    with pytest.raises(LeakyError) as raised:
        leak()
    failure = RagNodesError("the engine failed; fix it")
    failure.__cause__ = raised.value
    trace = trace_of(failure)
    assert "RagNodesError: the engine failed; fix it" in trace
    assert "LeakyError\n" in trace
    assert "ValueError" in trace
    assert "leaky.py" in trace
    assert CANARY not in trace


def test_messages_of_python_and_the_system_are_reported() -> None:
    assert kind_of(ModuleNotFoundError(CANARY, name="absent")).endswith("No module named 'absent'")
    assert kind_of(OSError(28, CANARY)) == "OSError: No space left on device"
    assert kind_of(KeyError(CANARY)) == "KeyError"


def test_a_refused_key_is_explained_for_the_surface_where_it_is_reported() -> None:
    class RefusedError(Exception):
        status_code = 401

    error = failure_of(RefusedError(CANARY), LeakyLLM(), name="leaky")
    assert isinstance(error, CredentialsError)
    assert "check RAG_NODES_API_KEY or OPENAI_API_KEY" in str(error)
    page = str(report_html(None, error=str(error)))
    assert "check the API key under Models" in page
    served = "; ".join(map(str, public(error)))
    assert "whoever runs the server has to check its key" in served
    for text in (page, served):
        assert "API_KEY" not in text


def test_a_transformation_tells_its_class_and_not_its_text(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    parsers, steps = {"fixed": get_parser("fixed")}, [LeakyStep()]
    with open_store() as store:
        report = ingest_documents(
            Document(text=MANUAL), parsers, store, models=offline_models(), transformations=steps
        )
    assert "LeakyError" in (report.columns[0].error or "")
    assert CANARY not in json.dumps(report.as_dict(), default=str) + caplog.text
