"""Several parsers answering at once: order of arrival, one that fails, one that is cancelled."""

import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from openai_server import FAILING, LIMITED, Fault, OpenAIServer
from plant import QUESTION, served_models

from rag_nodes.core.errors import ConfigurationError
from rag_nodes.evaluation.compare import Comparison, ComparisonStream
from rag_nodes.models import Models
from rag_nodes.models.lexical import LexicalEmbedding
from rag_nodes.parsers import COMPARED, get_parser
from rag_nodes.query import (
    Cancelled,
    CitationSeen,
    Delta,
    Event,
    Failed,
    Finished,
    QueryOptions,
    RagNodesQueryEngine,
    Retrieved,
)
from rag_nodes.readers import read

KEY = "sk-canary-77aa"


def comparison_of(models: Models, manual: Path, *names: str) -> Comparison:
    parsers = {name: get_parser(name) for name in names}
    hybrid = QueryOptions(mode="hybrid")
    return Comparison(parsers, documents=read(manual), models=models, options=hybrid)


@pytest.fixture
def offline(models: Models, manual: Path) -> Iterator[Comparison]:
    with comparison_of(models, manual, *COMPARED) as comparison:
        yield comparison


@pytest.fixture
def served(manual: Path, openai_server: OpenAIServer, no_configuration: Path) -> Comparison:
    """Two parsers whose answers come from the loopback server; `no_configuration` for settings."""
    assert no_configuration
    return comparison_of(served_models(openai_server, KEY), manual, "fixed", "heading")


def by_column(stream: ComparisonStream) -> dict[str, list[Event]]:
    columns: dict[str, list[Event]] = {}
    for name, event in stream:
        columns.setdefault(name, []).append(event)
    return columns


def test_only_a_stream_asks_the_server_to_stream(
    served: Comparison, openai_server: OpenAIServer
) -> None:
    served.ask(QUESTION)
    whole = openai_server.asked("chat/completions")
    assert [bool(body.get("stream")) for body in whole] == [False, False]
    with served.stream(QUESTION) as stream:
        by_column(stream)
    streamed = openai_server.asked("chat/completions")[2:]
    assert [body.get("stream") for body in streamed] == [True, True]


def test_every_column_tells_its_whole_story_and_the_report_is_that_of_ask(
    offline: Comparison,
) -> None:
    with offline.stream(QUESTION) as stream:
        columns = by_column(stream)
        report = stream.report()
    assert columns.keys() == set(COMPARED)
    for events in columns.values():
        assert isinstance(events[0], Retrieved)
        assert isinstance(events[-1], Finished)
        assert any(isinstance(event, CitationSeen) for event in events)
    expected = offline.ask(QUESTION)
    assert [column.name for column in report.columns] == list(COMPARED)
    for column, other in zip(report.columns, expected.columns, strict=True):
        assert column.answer.text == other.answer.text
        assert column.seconds.keys() == other.seconds.keys()
        assert column.statistics == other.statistics
    assert json.dumps(report.as_dict())


def test_the_question_is_embedded_once_and_remembered(
    offline: Comparison, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedded = []
    embed = LexicalEmbedding._get_query_embedding

    def note_query(self: LexicalEmbedding, query: str) -> list[float]:
        embedded.append(query)
        return embed(self, query)

    monkeypatch.setattr(LexicalEmbedding, "_get_query_embedding", note_query)
    with offline.stream(QUESTION) as stream:
        first = by_column(stream)
    assert embedded == [QUESTION]
    assert not any(events[-1].answer.cached for events in first.values())
    with offline.stream(QUESTION) as stream:
        second = by_column(stream)
    assert embedded == [QUESTION]
    assert all(events[-1].answer.cached for events in second.values())


@pytest.mark.parametrize("fault", [FAILING, LIMITED, Fault(body="cut"), Fault(body="empty")])
def test_a_column_that_fails_says_why_while_the_others_finish(
    served: Comparison, openai_server: OpenAIServer, fault: Fault
) -> None:
    openai_server.fail(fault)
    with served.stream(QUESTION) as stream:
        columns = by_column(stream)
        report = stream.report()
    ends = sorted(type(events[-1]).__name__ for events in columns.values())
    assert ends == ["Failed", "Finished"]
    [failed] = [events[-1] for events in columns.values() if isinstance(events[-1], Failed)]
    assert failed.text == ("The documents answer" if fault.body == "cut" else "")
    assert sorted(bool(column.error) for column in report.columns) == [False, True]
    assert KEY not in repr(columns) + json.dumps(report.as_dict())


def test_one_column_is_cancelled_while_the_other_goes_on(
    served: Comparison, openai_server: OpenAIServer
) -> None:
    openai_server.fail(Fault(body="slow"), times=2)  # both models are silent until the reset
    with served.stream(QUESTION) as stream:
        retrieved = dict([next(stream), next(stream)])
        assert {type(event) for event in retrieved.values()} == {Retrieved}
        stream.cancel("fixed")
        assert next(stream) == ("fixed", Cancelled(""))
        openai_server.reset()
        rest = by_column(stream)
        stream.cancel("heading")  # too late, and no mistake
        report = stream.report()
    assert rest.keys() == {"heading"}
    assert isinstance(rest["heading"][-1], Finished)
    assert report.columns[0].error == "cancelled before it had answered"
    assert report.columns[1].answer is not None


def test_a_cancelled_column_keeps_what_had_arrived(
    offline: Comparison, monkeypatch: pytest.MonkeyPatch
) -> None:
    rest = threading.Event()
    left: list[str] = []

    def held(self: RagNodesQueryEngine, *_: object, **__: object) -> Iterator[Event]:
        try:
            yield Delta("A batt")
            rest.wait(timeout=60)
            yield Delta("ery")
            yield Delta(" does")
        finally:
            left.append(self.parser_name)

    monkeypatch.setattr(RagNodesQueryEngine, "stream", held)
    stream = offline.stream(QUESTION)
    assert {next(stream) for _ in COMPARED} == {(name, Delta("A batt")) for name in COMPARED}
    stream.cancel("fixed")
    assert next(stream) == ("fixed", Cancelled("A batt"))
    stream.close()
    rest.set()
    assert list(stream) == []
    for thread in threading.enumerate():
        if thread.name.startswith("ask "):
            thread.join(timeout=60)
    assert sorted(left) == sorted(COMPARED), "each answer was closed, and the request with it"


def test_mistakes_with_a_stream_are_named(
    offline: Comparison, served: Comparison, openai_server: OpenAIServer
) -> None:
    with pytest.raises(ConfigurationError, match="question is empty"):
        offline.stream("  ")
    openai_server.fail(Fault(body="slow"), times=2)
    with served.stream(QUESTION) as stream:
        with pytest.raises(ConfigurationError, match="no parser 'semantics'"):
            stream.cancel("semantics")
        with pytest.raises(ConfigurationError, match="did not answer yet"):
            stream.report()


def test_options_hold_for_every_column(offline: Comparison) -> None:
    offline.options = QueryOptions(retrieval_only=True, mode="sparse", top_k=1)
    for column in offline.ask(QUESTION).columns:
        assert column.answer.kind == "retrieval"
        assert len(column.answer.hits) == 1
        assert column.answer.hits[0].similarity is None
