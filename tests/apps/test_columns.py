"""Columns: presets, the operator's own, the baseline, options, and the context they share."""

import re
from pathlib import Path
from typing import Any

import pytest
from llama_index.core import Document, VectorStoreIndex
from llama_index.core import Settings as LlamaIndexSettings
from llama_index.core.llms import MockLLM
from llama_index.core.node_parser import SentenceSplitter
from plant import MANUAL, QUESTION
from splitters import Given, WindowSplitter
from visits import Visitor, visiting, written

from rag_nodes.apps.visitors.columns import (
    FIRST,
    ChosenColumns,
    ColumnsRequest,
    default_of,
    offer_of,
    sliders_of,
)
from rag_nodes.apps.visitors.session import PageSession
from rag_nodes.core.errors import ConfigurationError
from rag_nodes.core.settings import Settings
from rag_nodes.evaluation.columns import REFERENCE
from rag_nodes.evaluation.compare import Comparison
from rag_nodes.models import get_embedding
from rag_nodes.models.lexical import LexicalEmbedding
from rag_nodes.parsers import PRESETS, get_parser
from rag_nodes.query import QueryOptions

DOCUMENT = Document(text=MANUAL, id_="manual", metadata={"file_name": "manual.md"})
GIVEN = Path("<given 1>/manual.md")


def engine(**options: Any) -> Any:
    index = VectorStoreIndex.from_documents(
        [DOCUMENT], embed_model=get_embedding("lexical"), transformations=[get_parser("sentence")]
    )
    return index.as_query_engine(llm=MockLLM(), **options)


def own(columns: dict[str, Any], settings: Settings | None = None, **options: Any) -> Any:
    return visiting(settings or Settings(), columns=columns, documents=(GIVEN,),
                    **options)  # fmt: skip


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sessions that know the document that is no file."""
    read = PageSession.__init__

    def with_document(self: PageSession, *args: Any, **options: Any) -> None:
        read(self, *args, **{**options, "documents": {GIVEN: DOCUMENT}})

    monkeypatch.setattr(PageSession, "__init__", with_document)


def test_a_new_visitor_compares_three_presets_with_the_default_of_llama_index() -> None:
    columns = ChosenColumns.first(offer_of())
    assert columns.ticked == (REFERENCE, *FIRST)
    assert (columns.baseline, columns.chosen) == (REFERENCE, FIRST[0])


def test_own_columns_are_ticked_and_the_first_is_the_baseline() -> None:
    offer = offer_of({"mine": SentenceSplitter(), "my engine": engine()})
    columns = ChosenColumns.first(offer, ["mine", "my engine"])
    assert list(offer)[:3] == ["mine", "my engine", next(iter(PRESETS))]
    assert (columns.ticked, columns.baseline) == (("mine", "my engine"), "mine")


def test_columns_that_are_compared_differ_in_colour_and_keep_it(settings: Settings) -> None:
    own_columns = {name: SentenceSplitter() for name in ("mine", "enim", "house", "other")}
    with visiting(settings, columns=own_columns) as visitor:
        visitor.act("arrive")
        ticked = re.findall(r'checked="checked".*?rn-swatch (rn-c\d)', visitor.regions["columns"])
        assert len(set(ticked)) == len(ticked) == 4
        columns = visitor.session.columns
        for name in PRESETS:
            kept = dict(columns.colours)
            columns.tick(columns.ticked[0], is_ticked=False)
            columns.tick(name, is_ticked=True)
            colours = [columns.colours[column] for column in columns.ticked]
            assert len(set(colours)) == len(colours) == 4
            assert {**columns.colours, name: 0} == {**kept, name: 0}


def test_a_fifth_column_is_refused_and_what_is_not_on_offer_changes_nothing() -> None:
    columns = ChosenColumns.first(offer_of())
    with pytest.raises(ConfigurationError, match="Untick a column"):
        columns.tick("page", is_ticked=True)
    columns.tick("os:system", is_ticked=True)
    columns.compare_with("os:system")
    assert columns.ticked == (REFERENCE, *FIRST)
    assert columns.baseline == ""


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_has_at_most_size_overlap_and_one_more_option(name: str) -> None:
    sliders = sliders_of(PRESETS[name])
    assert len(sliders) <= 3
    assert all(
        slider.minimum <= default_of(PRESETS[name], slider) <= slider.maximum for slider in sliders
    )
    if PRESETS[name].embeds:
        assert "breakpoint_percentile" in [slider.field for slider in sliders]


def test_an_option_stays_in_its_range_and_the_default_is_no_change() -> None:
    columns = ChosenColumns.first(offer_of())
    columns.set_option("heading", "chunk_size", 1e9)
    assert columns.options["heading"] == {"chunk_size": 4000}
    columns.set_option("heading", "chunk_size", 1000)
    columns.set_option("heading", "id_func", 3)
    assert columns.options["heading"] == {}


def test_summaries_of_columns_are_shown_without_marks(diary: Visitor) -> None:
    assert "ask and recommend read selected" in diary.regions["columns"]
    assert "`" not in diary.regions["columns"]


def test_the_size_slider_redraws_the_map_before_anything_is_embedded(diary: Visitor) -> None:
    session, before = diary.session, diary.regions["map"]
    statistics = session.comparison and session.comparison.statistics["retrieval"]
    session.columns.set_option("retrieval", "chunk_size", 50)
    session.preview("retrieval")
    cuts = session.cuts
    assert cuts is not None
    (document,) = cuts.documents
    assert statistics is not None
    assert len(cuts.nodes("retrieval", document)) > statistics.chunks
    diary.act("option", column="retrieval", name="chunk_size", value="50")
    diary.settle()
    assert diary.regions["map"] != before
    assert session.cuts is not None
    assert len(session.cuts.nodes("retrieval", document)) == len(cuts.nodes("retrieval", document))


def test_a_column_that_is_ticked_answers_the_next_question(diary: Visitor) -> None:
    diary.act("tick", name="semantic", checked=False)
    diary.act("tick", name="page", checked=True)
    diary.settle()
    diary.ask("What happened on day 7?")
    columns = diary.session.turns[-1].columns
    assert {column.name for column in columns} == {"retrieval", "heading", "page", REFERENCE}


def test_the_context_holds_for_every_column_and_for_the_decision(diary: Visitor) -> None:
    diary.act("context", value="budget:500")
    diary.settle()
    diary.ask("What happened on day 7?")
    answers = [column.answer for column in diary.session.turns[-1].columns]
    assert all(answer and answer.context_tokens <= 500 for answer in answers)
    assert diary.session.decider.plan.main == "recall@500"
    diary.act("context", value="chunks:5")
    diary.settle()
    diary.ask("What happened on day 7?")
    hits = [len(column.answer.hits) for column in diary.session.turns[-1].columns if column.answer]
    assert max(hits) <= 5
    assert diary.session.decider.plan.main == "recall@k5"


def test_a_context_that_no_request_may_have_is_refused(diary: Visitor) -> None:
    assert "at most 100" in diary.act("context", value="chunks:9999")["notice"]


@pytest.mark.usefixtures("given")
def test_a_visitor_asks_engines_beside_parsers_about_documents_that_are_no_files() -> None:
    splitter = SentenceSplitter(chunk_size=40, chunk_overlap=0)
    with own({"my engine": engine(), "mine": splitter, "ours": "sentence"}) as visitor:
        visitor.act("arrive")
        visitor.settle()
        visitor.ask(QUESTION)
        columns = {column.name: column for column in visitor.session.turns[-1].columns}
        assert [*columns] == ["my engine", "mine", "ours"]
        assert {column.error for column in columns.values()} == {None}
        for column in columns.values():
            for citation in column.answer.citations:
                assert MANUAL[citation.start : citation.end] == citation.quote
        assert visitor.session.cuts.strategies == ("mine", "ours")


@pytest.mark.usefixtures("given")
def test_with_engines_alone_the_document_is_shown_with_what_they_cite_and_without_chunks() -> None:
    with own({"my engine": engine(similarity_top_k=1)}) as visitor:
        visitor.act("arrive")
        visitor.settle()
        assert "Tick a parser to see its chunks here" in visitor.text("pager")
        assert MANUAL.split("\n\n")[1][:30] in visitor.text("sheet")
        said = visitor.ask(QUESTION)
        assert "1 of 1 chunk found in their document (100 %)" in said
        visitor.act("open", turn="1", column="1", cited="1")
        assert 'class="rn-gold"' in visitor.regions["sheet"]


def test_chunks_that_cannot_be_located_are_counted_and_listed(
    settings: Settings, tmp_path: Path
) -> None:
    lossy = Given(["The pump draws water.", "Words that stand <nowhere> in it."])
    columns = {"lossy": lossy, "windows": WindowSplitter()}
    with visiting(settings, columns=columns) as visitor:
        visitor.load(written(tmp_path / "pump.md", "The pump draws water. It rained all day."))
        visitor.act("tint", value="lossy")
        assert "1 of 2 chunks" in visitor.text("pager")
        assert "Words that stand &lt;nowhere&gt; in it." in visitor.text("pager")
        assert "nowhere" not in visitor.text("sheet")
        visitor.act("use", value="windows")
        assert "offer it by import path" in visitor.text("use")


def test_a_baseline_of_llama_index_is_exported_by_its_path_and_a_preset_by_its_spec(
    diary: Visitor,
) -> None:
    diary.act("option", column="heading", name="chunk_size", value="200")
    diary.settle()
    diary.act("use", value="heading")
    assert "heading:chunk_size=200" in diary.text("use")
    compile(diary.act("script")["file"]["text"], "script", "exec")
    diary.act("use", value=REFERENCE)
    assert "llama_index.core.node_parser:SentenceSplitter" in diary.text("use")
    compile(diary.act("script")["file"]["text"], "script", "exec")


def test_an_engine_may_have_the_name_of_a_preset_and_a_parser_may_not() -> None:
    assert offer_of({"heading": engine()})["heading"].summary == "as RetrieverQueryEngine finds"
    with pytest.raises(ConfigurationError, match="'heading' is taken"):
        offer_of({"heading": SentenceSplitter()})


class Mine(LexicalEmbedding):
    """An embedding model of a user's own."""


def test_own_models_answer_unless_the_visitor_names_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    llm, mine = MockLLM(), Mine()
    with PageSession(Settings(), llm=llm, embed_model=mine) as session:
        models = session.models_of(ColumnsRequest())
        assert (models.llm, models.embedding) == (llm, mine)
    monkeypatch.setattr(LlamaIndexSettings, "_llm", llm)
    monkeypatch.setattr(LlamaIndexSettings, "_embed_model", mine)
    with PageSession(Settings(llm="extractive", embedding="lexical")) as session:
        models = session.models_of(ColumnsRequest())
        assert models.llm is None
        assert models.embedding is not mine


@pytest.mark.usefixtures("given")
def test_the_page_answers_as_a_comparison_of_its_columns_models_and_options() -> None:
    columns = {"mine": SentenceSplitter(chunk_size=64, chunk_overlap=8), "heading": "heading"}
    models: dict[str, Any] = {"llm": MockLLM(), "embed_model": get_embedding("lexical")}
    options = QueryOptions(budget=300, granularity="sentences", mode="sparse")
    with own(columns, Settings(budget=300), answering=options, **models) as visitor:
        visitor.act("arrive")
        visitor.settle()
        visitor.ask(QUESTION)
        asked = visitor.session.turns[-1].report
    with Comparison(columns, documents=[DOCUMENT], options=options, **models) as comparison:
        expected = comparison.ask(QUESTION)
    assert asked.models == expected.models
    assert [column.answer.hits for column in asked.columns] == [
        column.answer.hits for column in expected.columns
    ]
