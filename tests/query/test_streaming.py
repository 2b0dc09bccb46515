"""Answers as they grow: what arrives, in which order, and what happens when it breaks off."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from llama_index.core.base.response.schema import AsyncStreamingResponse, StreamingResponse
from plant import scripted_models

from rag_nodes.core.errors import (
    CollectionMissingError,
    ConfigurationError,
    ModelConnectionError,
    ModelResponseError,
)
from rag_nodes.models import Models
from rag_nodes.query import (
    CitationSeen,
    Delta,
    Event,
    Failed,
    Finished,
    RagNodesQueryEngine,
    Retrieved,
    UnknownSource,
)
from rag_nodes.query.citations import MarkReader, marks_of
from rag_nodes.store import Store

QUESTION = "What starts the generator?"


@pytest.fixture
def streamed(store: Store, collection: str) -> Any:
    """Makes an engine whose LLM streams the given pieces."""

    def make(*pieces: str | Exception, facts: dict[str, Any] | None = None, **options: Any) -> Any:
        models = scripted_models(pieces, facts=facts or {})
        return RagNodesQueryEngine(store=store, collection=collection, models=models, **options)

    return make


async def both(engine: RagNodesQueryEngine, question: str = QUESTION) -> list[Event]:
    """The events, after making sure that sync and async tell the same story."""
    events = list(engine.stream(question))
    again = [event async for event in engine.astream(question)]
    assert [type(event) for event in again] == [type(event) for event in events]
    assert again[:-1] == events[:-1]
    return events


async def test_the_events_of_an_answer_come_in_order(streamed: Any) -> None:
    events = await both(streamed("A battery ", "does [Sour", "ce 1", "]. And [Source 9]", "."))
    assert [type(event) for event in events] == [
        Retrieved,
        Delta,
        Delta,
        Delta,
        Delta,
        CitationSeen,
        Delta,
        UnknownSource,
        Finished,
    ]
    assert events[5].citation.number == 1
    assert events[7].number == 9
    answer = events[-1].answer
    assert answer.text == "A battery does [Source 1]. And [Source 9]."
    assert answer.citations == (events[5].citation,)
    assert answer.unknown_sources == (9,)
    assert answer.hits == events[0].hits
    assert set(answer.seconds) == {"embed", "retrieve", "answer", "first_token"}
    assert answer.seconds["first_token"] <= answer.seconds["answer"]


async def test_a_citation_at_the_very_end_is_seen(streamed: Any) -> None:
    events = await both(streamed("A battery [Source 1]"))
    assert [type(event) for event in events[-2:]] == [CitationSeen, Finished]


async def test_offline_each_sentence_comes_with_its_citation(
    store: Store, collection: str, offline: Models
) -> None:
    engine = RagNodesQueryEngine(store=store, collection=collection, models=offline)
    events = await both(engine, "What about the pump, water and reactor?")
    expected = engine.answer("What about the pump, water and reactor?")
    assert len(expected.citations) > 1
    assert "".join(event.text for event in events if isinstance(event, Delta)) == expected.text
    kinds = [type(event) for event in events[1:-1]]
    assert kinds == [Delta, CitationSeen] * len(expected.citations)
    assert events[-1].answer.citations == expected.citations


async def test_a_whole_answer_is_what_the_last_event_of_a_stream_brings(
    streamed: Any, store: Store, collection: str, offline: Models
) -> None:
    for engine in (
        streamed("A battery ", "does [Source 1]. And [Source 9]."),
        RagNodesQueryEngine(store=store, collection=collection, models=offline),
    ):
        last = (await both(engine))[-1].answer
        for answer in (engine.answer(QUESTION), await engine.aanswer(QUESTION)):
            assert set(answer.seconds) == {"embed", "retrieve", "answer"}
            unlike = {"seconds": {}, "cached": True}
            assert replace(answer, **unlike) == replace(last, **unlike)


async def test_a_whole_answer_raises_what_a_stream_ends_with_and_the_cause_stays(
    streamed: Any,
) -> None:
    cause = ConnectionError("provider's words")
    engine = streamed(cause)
    last = (await both(engine))[-1]
    with pytest.raises(ModelConnectionError) as raised:
        engine.answer(QUESTION)
    with pytest.raises(ModelConnectionError) as later:
        await engine.aanswer(QUESTION)
    for error in (last.error, raised.value, later.value):
        assert str(error) == str(last.error)
        assert error.__cause__ is cause


async def test_an_answer_that_breaks_off_keeps_what_had_arrived(streamed: Any) -> None:
    broken = ModelResponseError("the answer was cut off")
    last = (await both(streamed("A batt", "ery", broken)))[-1]
    assert last == Failed(broken, "A battery")


@pytest.mark.parametrize("pieces", [(), ("",), (" ", "\n")])
async def test_an_empty_stream_is_a_failure(streamed: Any, pieces: tuple[str, ...]) -> None:
    last = (await both(streamed(*pieces)))[-1]
    assert isinstance(last, Failed)
    assert isinstance(last.error, ModelResponseError)


async def test_errors_before_the_request_are_raised(store: Store, offline: Models) -> None:
    engine = RagNodesQueryEngine(store=store, collection="a.b.c.000000000000", models=offline)
    for ask in (engine.answer, engine.stream, engine.astream):
        with pytest.raises(ConfigurationError, match="question is empty"):
            ask(" \n")
    with pytest.raises(CollectionMissingError):
        next(engine.stream(QUESTION))
    with pytest.raises(CollectionMissingError):
        await anext(engine.astream(QUESTION))


async def test_closing_the_stream_ends_the_request_to_the_model(streamed: Any) -> None:
    engine = streamed("one ", "two ", "three")
    events = engine.stream(QUESTION)
    assert [type(next(events)) for _ in range(2)] == [Retrieved, Delta]
    assert engine.models.llm.closed == 0
    events.close()
    assert engine.models.llm.closed == 1
    assert list(events) == []
    later = engine.astream(QUESTION)
    assert [type(await anext(later)) for _ in range(2)] == [Retrieved, Delta]
    await later.aclose()
    assert engine.models.llm.closed == 2


async def test_llama_index_gets_its_streaming_responses(streamed: Any) -> None:
    engine = streamed("A battery ", "does [Source 1].", streaming=True)
    response = engine.query(QUESTION)
    assert isinstance(response, StreamingResponse)
    assert "generator" in response.source_nodes[0].node.get_content()
    assert list(response.response_gen) == ["A battery ", "does [Source 1]."]
    assert response.metadata["answer"]["citations"][0]["number"] == 1
    later = await engine.aquery(QUESTION)
    assert isinstance(later, AsyncStreamingResponse)
    assert [text async for text in later.async_response_gen()] == ["A battery ", "does [Source 1]."]
    assert later.metadata["answer"]["kind"] == "generated"


async def test_a_streaming_response_raises_where_the_model_fails(streamed: Any) -> None:
    engine = streamed("A ", ModelResponseError("cut off"), streaming=True)
    texts = engine.query(QUESTION).response_gen
    assert next(texts) == "A "
    with pytest.raises(ModelResponseError, match="cut off"):
        next(texts)


_PIECES = st.lists(
    st.sampled_from(
        [
            "[Source 1]",
            "[Sources 1, 2]",
            "[Source 3 - Page 12]",
            "[Sources 2-4]",
            "[1]",
            "row[1]",
            "[5](https://x)",
            "[Source 7](y)",
            "[",
            "]",
            "(",
            "\n",
            " ",
            "[Source",
            "a",
            "[" + "x" * 119,
            "é",
            "`",
            "```",
            "~~~~",
            "`[2]`",
        ]
    ),
    max_size=12,
).map("".join)


@given(text=_PIECES, cuts=st.lists(st.integers(0, 400), max_size=20))
def test_any_split_of_a_text_gives_the_same_citations(text: str, cuts: list[int]) -> None:
    ends = sorted({min(cut, len(text)) for cut in cuts} | {len(text)})
    pieces = [text[start:end] for start, end in zip([0, *ends], ends, strict=False)]
    reader = MarkReader()
    marks = [mark for piece in pieces for mark in reader.read(piece)] + reader.end()
    assert tuple(marks) == marks_of(text)
    assert all(text[mark.start] + text[mark.end - 1] == "[]" for mark in marks)


@pytest.mark.parametrize(
    "text",
    ["`[1]" + "`" * 70, "~" * 70 + "[2]", "`" * 200 + "[3]\n[4]"],
    ids=["a tick and 70", "70 tildes", "200 ticks"],
)
def test_a_run_of_any_length_is_one_when_it_comes_by_the_character(text: str) -> None:
    reader = MarkReader()
    marks = [mark for piece in text for mark in reader.read(piece)] + reader.end()
    assert tuple(marks) == marks_of(text)


def test_the_reader_forgets_what_cannot_matter_any_more() -> None:
    reader = MarkReader()
    for _ in range(50):
        reader.read("[ plain text " * 40)
    assert len(reader._text) < 200
