"""Columns: presets, the operator's own, the baseline, options, and the context they share."""

import re
from pathlib import Path
from typing import Any

import pytest
from llama_index.core import Document, VectorStoreIndex
from llama_index.core import Settings as LlamaIndexSettings
from llama_index.core.llms import MockLLM
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from plant import MANUAL, QUESTION
from splitters import Given, WindowSplitter
from visits import Visitor, visiting, write_text

from rag_nodes.apps.page import build_app
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
from rag_nodes.parsers import PRESETS
from rag_nodes.query import QueryOptions

DOCUMENT = Document(text=MANUAL, id_="manual", metadata={"file_name": "manual.md"})
GIVEN = Path("<given 1>/manual.md")


def index() -> VectorStoreIndex:
    splitter = SentenceSplitter(chunk_size=24, chunk_overlap=0)
    return VectorStoreIndex.from_documents(
        [DOCUMENT], embed_model=get_embedding("lexical"), transformations=[splitter]
    )


def engine(**options: Any) -> Any:
    return index().as_query_engine(llm=MockLLM(), **options)


class Unscored(BaseRetriever):
    """Finds a chunk, and says nothing of how well it fits."""

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:  # noqa: ARG002
        return [NodeWithScore(node=TextNode(text=MANUAL.splitlines()[-1]))]


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
            kept[name] = columns.colours[name]
            assert colours == [kept[column] for column in columns.ticked]


def test_the_default_keeps_a_colour_of_its_own_in_the_plot_if_it_is_not_compared() -> None:
    columns = ChosenColumns.first(offer_of())
    columns.tick("retrieval", is_ticked=False)
    columns.tick("fixed", is_ticked=True)
    drawn = {columns.colours[name] for name in (*columns.ticked, "retrieval")}
    assert len(drawn) == len(columns.ticked) + 1


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


def test_summaries_of_columns_are_shown(diary: Visitor) -> None:
    assert "200 tokens, no overlap" in diary.regions["columns"]


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
        assert visitor.session.cuts.strategies == ("my engine", "mine", "ours")


def strips(visitor: Visitor) -> dict[str, tuple[str, bool]]:
    """The label of each line of the map, and whether a retrieved chunk is drawn in it."""
    drawn = re.findall(
        r'</span> ([^<]+) <small>([^<]*)</small>.*?class="rn-strip-hit"[^>]* d="([^"]*)"',
        visitor.regions["map"],
        re.DOTALL,
    )
    return {name: (label, bool(path)) for name, label, path in drawn}


@pytest.mark.usefixtures("given")
def test_chunks_of_own_indexes_and_engines_are_drawn_as_far_as_they_are_known() -> None:
    columns = {"index": index(), "found": index().as_retriever(similarity_top_k=1)}
    with own({**columns, "my engine": engine(similarity_top_k=1)}) as visitor:
        visitor.act("arrive")
        visitor.settle()
        chunks = len(index().docstore.docs)
        assert strips(visitor) == {
            "index": (f"{chunks}", False),
            "found": ("0 retrieved", False),
            "my engine": ("0 retrieved", False),
        }
        assert "Chunks of index on this page" in visitor.text("sheet"), "the first with any"
        visitor.act("tint", value="found")
        assert "only retrieved chunks are known" in visitor.text("pager")
        assert "No retrieved chunk on this page" in visitor.text("sheet")
        assert "1 of 1 chunk found in their document (100 %)" in visitor.ask(QUESTION)
        assert strips(visitor) == {
            "index": (f"{chunks}", True),
            "found": ("1 retrieved", True),
            "my engine": ("1 retrieved", True),
        }
        for column, name in enumerate(strips(visitor), start=1):
            visitor.act("open", turn="1", column=f"{column}", rank="1")
            assert f"Chunks of {name} on this page" in visitor.text("sheet")
            assert "retrieved as no. 1" in visitor.text("sheet")
            assert re.search(r'class="rn-k[01] rn-hit rn-shown"', visitor.regions["sheet"])
            assert " 0 tokens" not in visitor.text("sheet")
        visitor.act("open", turn="1", column="3", cited="1")
        assert "rn-gold" in visitor.regions["sheet"]
        assert visitor.session.place.strategy == "my engine"
        visitor.ask("What moves water through the reactor?")
        assert strips(visitor)["found"] == ("2 retrieved", True), "those of earlier questions too"


@pytest.mark.usefixtures("given")
def test_a_chunk_of_an_engine_shows_the_score_that_the_engine_gave() -> None:
    engines = {"scored": index().as_retriever(similarity_top_k=3), "unscored": Unscored()}
    with own(engines) as visitor:
        visitor.act("arrive")
        visitor.settle()
        visitor.ask(QUESTION)
        shown = re.findall(r'class="rn-score rn-(\w+)"[^>]*>([^<]*)<', visitor.regions["turn 1"])
        assert [level for level, _ in shown] == ["strong", "weak", "weak", "unknown"]
        [*scored, (_, without)] = shown
        given = [node.score or 0 for node in engines["scored"].retrieve(QUESTION)]
        assert [score for _, score in scored] == [
            f"{level} {score:.3g}" for (level, _), score in zip(scored, given, strict=True)
        ]
        assert without == "no score"


def test_chunks_that_cannot_be_located_are_counted_and_listed(
    settings: Settings, tmp_path: Path
) -> None:
    lossy = Given(["The pump draws water.", "Words that stand <nowhere> in it."])
    columns = {"lossy": lossy, "windows": WindowSplitter()}
    with visiting(settings, columns=columns) as visitor:
        visitor.load(write_text(tmp_path / "pump.md", "The pump draws water. It rained all day."))
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


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"columns": {"a": "retrievall"}}, "did you mean retrieval?"),
        ({"columns": [SentenceSplitter(), SentenceSplitter(chunk_size=300)]}, "two columns are"),
        ({"columns": 3}, "columns is 3; give it a name"),
        ({"answering": "sentences"}, "answering is 'sentences'; give QueryOptions"),
    ],
)
def test_what_is_no_column_and_no_option_is_refused_at_once(
    options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigurationError, match=re.escape(message)):
        build_app(**options)


def test_an_index_needs_a_name_and_splitters_in_a_list_get_that_of_their_class() -> None:
    with pytest.raises(ConfigurationError, match="columns is a VectorStoreIndex; give it a name"):
        offer_of(index())
    assert next(iter(offer_of([SentenceSplitter()]))) == "SentenceSplitter"


@pytest.mark.usefixtures("given")
def test_own_columns_that_do_not_fit_are_named_under_more_columns() -> None:
    with own({f"c{n}": SentenceSplitter(chunk_size=300 + n) for n in range(6)}) as visitor:
        visitor.act("arrive")
        assert "More columns (2 of your own)" in visitor.text("columns")
