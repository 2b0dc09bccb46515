"""What a user has already, in the page: columns, models and documents of their own."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import gradio as gr
import pytest
from llama_index.core import Document, VectorStoreIndex
from llama_index.core import Settings as LlamaIndexSettings
from llama_index.core.llms import MockLLM
from llama_index.core.node_parser import SentenceSplitter
from plant import MANUAL, QUESTION
from visits import VISITOR, Click, Request

from rag_nodes.apps import build_app
from rag_nodes.apps.header import status
from rag_nodes.apps.header.controls import BY_SENTENCE, build_answering
from rag_nodes.apps.tabs.compare.events import CompareEvents, history
from rag_nodes.apps.tabs.document import DocumentEvents
from rag_nodes.apps.visitors.choice import Choice
from rag_nodes.apps.visitors.session import PageSession
from rag_nodes.apps.visitors.sessions import PageSessions
from rag_nodes.core.errors import ConfigurationError
from rag_nodes.core.settings import Settings
from rag_nodes.evaluation.compare import Comparison
from rag_nodes.evaluation.engines import offered_columns
from rag_nodes.models import get_embedding
from rag_nodes.models.lexical import LexicalEmbedding
from rag_nodes.parsers import PRESETS, get_parser
from rag_nodes.query import QueryOptions

BATTERY = "A spare battery starts the generator when the grid is down."
DOCUMENT = Document(text=MANUAL, id_="manual", metadata={"file_name": "manual.md"})
GIVEN = Path("<given 1>/manual.md")


def index() -> VectorStoreIndex:
    return VectorStoreIndex.from_documents(
        [DOCUMENT], embed_model=get_embedding("lexical"), transformations=[get_parser("sentence")]
    )


def engine(**options: Any) -> Any:
    return index().as_query_engine(llm=MockLLM(), **options)


def named(app: gr.Blocks, element: str) -> Any:
    """The component with an id."""
    return next(one for one in app.blocks.values() if getattr(one, "elem_id", "") == element)


@pytest.fixture
def built(leaks_collected: Callable[[], AbstractContextManager[None]]) -> Callable[..., gr.Blocks]:
    def build(*args: Any, **options: Any) -> gr.Blocks:
        with leaks_collected():
            return build_app(*args, **options)

    return build


def test_own_columns_come_first_and_ticked(built: Callable[..., gr.Blocks], app: gr.Blocks) -> None:
    own = {"mine": SentenceSplitter(chunk_size=256, chunk_overlap=20), "my engine": engine()}
    page = built(columns=own)
    parsers = named(page, "rn-parsers")
    assert [name for _, name in parsers.choices[:3]] == ["mine", "my engine", "fixed"]
    assert parsers.value == ["mine", "my engine"]
    assert named(app, "rn-parsers").value[0] == "fixed"


def session(columns: dict[str, Any], **own: Any) -> PageSession:
    made = PageSession(
        Settings(), offer=offered_columns(columns), documents={GIVEN: DOCUMENT}, **own
    )
    made.load([GIVEN], Choice(tuple(columns)), lambda _: None)
    return made


def test_a_visitor_asks_engines_beside_parsers_about_documents_that_are_no_files() -> None:
    splitter = SentenceSplitter(chunk_size=40, chunk_overlap=0)
    with session({"my engine": engine(), "mine": splitter, "ours": "sentence"}) as visitor:
        turn = visitor.ask(QUESTION)
        assert turn.report is not None
        columns = {one.name: one for one in turn.report.columns}
        assert [*columns] == ["my engine", "mine", "ours"]
        assert {one.error for one in columns.values()} == {None}
        assert columns["my engine"].answer.answer_model == "RetrieverQueryEngine"
        for column in columns.values():
            for citation in column.answer.citations:
                assert MANUAL[citation.start : citation.end] == citation.quote
        assert columns["mine"].parser["options"]["chunk_size"] == 40
        assert visitor.cuts is not None
        assert visitor.cuts.strategies == ("mine", "ours")


def test_with_engines_alone_the_share_of_chunks_that_was_located_is_reported() -> None:
    with session({"my engine": engine(similarity_top_k=1)}) as visitor:
        visitor.ask(QUESTION)
        shown = history(visitor.turns, ready=True)
    assert "1 of 1 chunk found in their document (100 %)" in shown


def test_with_engines_alone_the_document_is_shown_with_what_they_cite_and_without_chunks() -> None:
    sessions = PageSessions(
        Settings(), offer=offered_columns({"my engine": engine()}), documents={GIVEN: DOCUMENT}
    )
    visitor = sessions.of(VISITOR)
    report = visitor.load([GIVEN], Choice(("my engine",)), lambda _: None)
    assert f"{len(MANUAL):,} characters" in status.done(report)
    events, request = DocumentEvents(sessions), Request()
    drawn = events.refresh("", "", "", 1, request)
    summary, drawing = drawn[-2:]
    assert "Tick a parser to see its chunks here" in summary
    assert MANUAL.split("\n\n")[1][:30] in drawing
    visitor.ask(QUESTION)
    click = Click(act="open", turn=1, column=1, cited=1)
    place = CompareEvents(sessions).location(request, click)
    assert place is not None
    assert 'class="rn-gold"' in events.open(place, request)[-1]
    sessions.close()


def test_an_engine_may_have_the_name_of_a_preset_and_a_parser_may_not() -> None:
    offer = offered_columns({"heading": engine()})
    assert offer["heading"].summary == "as RetrieverQueryEngine finds"
    assert offered_columns({"heading": "heading"})["heading"] is PRESETS["heading"]
    with pytest.raises(ConfigurationError, match="'heading' is taken"):
        offered_columns({"heading": SentenceSplitter()})


class Mine(LexicalEmbedding):
    """An embedding model of a user's own."""


def test_own_models_answer_where_the_visitor_names_none(monkeypatch: pytest.MonkeyPatch) -> None:
    llm, mine = MockLLM(), Mine()
    with session({"ours": "sentence"}, llm=llm, embed_model=mine) as visitor:
        models = visitor.models()
        assert (models.llm, models.embedding) == (llm, mine)
        assert models.prompt == Settings().prompt
        [column] = visitor.ask(QUESTION).report.columns
        assert column.answer.kind == "generated"
    monkeypatch.setattr(LlamaIndexSettings, "_llm", llm)
    monkeypatch.setattr(LlamaIndexSettings, "_embed_model", mine)
    with PageSession(Settings()) as visitor:
        assert (visitor.models().llm, visitor.models().embedding) == (llm, mine)
        own = Choice(("fixed",), api_key="sk-of-a-visitor")  # type: ignore[arg-type]
        assert visitor.models_of(own, check=False).llm is not llm
    with PageSession(Settings(llm="extractive", embedding="lexical")) as visitor:
        assert visitor.models().llm is None
        assert visitor.models().embedding is not mine


@pytest.fixture
def sessions(monkeypatch: pytest.MonkeyPatch) -> list[PageSessions]:
    """What keeps the visitors of the app that is built next."""
    made: list[PageSessions] = []
    monkeypatch.setattr(
        "rag_nodes.apps.page.PageSessions",
        lambda given, **options: made.append(PageSessions(given, **options)) or made[0],
    )
    return made


def test_the_page_answers_as_a_comparison_of_its_columns_models_and_options(
    sessions: list[PageSessions], leaks_collected: Callable[[], AbstractContextManager[None]]
) -> None:
    columns = {
        "mine": SentenceSplitter(chunk_size=64, chunk_overlap=8),
        "heading": "heading",
        "my engine": engine(),
    }
    models: dict[str, Any] = {"llm": MockLLM(), "embed_model": get_embedding("lexical")}
    options = QueryOptions(budget=300, granularity="sentences", mode="sparse")
    with leaks_collected():
        app = build_app(
            Settings(budget=300),
            columns=columns,
            documents=[DOCUMENT],
            answering=options,
            **models,
        )
    ticked = named(app, "rn-parsers").value
    assert ticked == [*columns]
    controls = [one for one in app.blocks.values() if isinstance(one, gr.Radio | gr.Slider)]
    shown = {one.label: one.value for one in controls}
    assert shown["What every parser gets"] == BY_SENTENCE
    assert shown["Context tokens per answer"] == 300
    session = sessions[0].of("visitor")
    session.load([GIVEN], Choice(tuple(ticked), budget=300, granularity="sentences"))
    asked = session.ask(QUESTION).report
    with Comparison(columns, documents=[DOCUMENT], options=options, **models) as comparison:
        expected = comparison.ask(QUESTION)
    assert asked is not None
    assert asked.models == expected.models
    assert [one.answer and one.answer.hits for one in asked.columns[:2]] == [
        one.answer and one.answer.hits for one in expected.columns[:2]
    ]
    sessions[0].close()


@pytest.mark.parametrize(
    "options",
    [
        QueryOptions(budget=77),
        QueryOptions(budget=16_050),
        QueryOptions(top_k=37, budget=None),
    ],
)
def test_the_controls_accept_the_limits_they_begin_with_however_unusual(
    options: QueryOptions, leaks_collected: Callable[[], AbstractContextManager[None]]
) -> None:
    settings = Settings(budget=options.budget, top_k=options.top_k)
    with leaks_collected(), gr.Blocks():
        controls = build_answering(settings, options)
    for control in controls.values():
        control.preprocess(control.value)
    assert controls["budget" if options.budget else "top_k"].value in (
        options.budget,
        options.top_k,
    )
