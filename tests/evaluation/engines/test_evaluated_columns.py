"""What finds as it stands, measured beside parsers by the same questions, budget and metrics."""

import re
from dataclasses import replace
from io import StringIO
from typing import Any

from llama_index.core import Document, StorageContext, VectorStoreIndex
from llama_index.core.llms import MockLLM
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from llama_index.vector_stores.qdrant import QdrantVectorStore
from memory_clients import memory_client
from plant import MANUAL
from rich.console import Console

from rag_nodes import Dataset, EvaluationPlan, evaluate, get_embedding, get_parser
from rag_nodes.apps.panes.evidence import why_html
from rag_nodes.cli.views.evaluation import evaluation_view
from rag_nodes.evaluation import Passage, Question
from rag_nodes.evaluation.engines import StoredCollection
from rag_nodes.evaluation.gates import under
from rag_nodes.evaluation.page import html_of, matrix, size_curve
from rag_nodes.evaluation.report import EvaluationReport, Row
from rag_nodes.pipeline import ingest_documents
from rag_nodes.store import open_store
from rag_nodes.text.spans import Span

BATTERY = "A spare battery starts the generator when the grid is down."
PUMP = "The pump is checked every forty days."
REWRITTEN = "The battery is said to be spare and to start it."
_POWER = MANUAL.index("# Power")
LINES = [MANUAL[_POWER + at : _POWER + at + 60].strip() for at in range(0, 45, 5)]
"""Pieces of the manual, none of which says anything of the pump."""
PLAN = EvaluationPlan(budgets=(20, 40), sizes=(), target=None)
DOCUMENT = Document(text=MANUAL, id_="manual")


def dataset() -> Dataset:
    asked = {"What starts the generator?": BATTERY, "How often is the pump checked?": PUMP}
    questions = []
    for text, quote in asked.items():
        start = MANUAL.index(quote)
        gold = Passage("manual", Span(start, start + len(quote)))
        questions.append(Question(text, text, ((gold,),)))
    return Dataset("plant", (DOCUMENT,), tuple(questions))


def index(**options: Any) -> VectorStoreIndex:
    return VectorStoreIndex.from_documents(
        [Document(text=MANUAL)],
        transformations=[SentenceSplitter(chunk_size=24, chunk_overlap=0)],
        embed_model=get_embedding("lexical"),
        **options,
    )


class Counted(BaseRetriever):
    """Finds the same for every question."""

    def __init__(self, *texts: str) -> None:
        super().__init__()
        self.texts, self.asked = texts, list[str]()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        self.asked.append(query_bundle.query_str)
        return [NodeWithScore(node=TextNode(text=text, id_=text)) for text in self.texts]


def rows(columns: dict[str, Any], **options: Any) -> dict[str, Row]:
    report: EvaluationReport = evaluate(dataset(), columns, plan=PLAN, **options)
    return {row.name: row for row in report.rows}


def test_an_index_a_splitter_and_the_same_index_as_it_stands_score_alike() -> None:
    splitter = SentenceSplitter(chunk_size=24, chunk_overlap=0)
    plan = replace(PLAN, options=replace(PLAN.options, mode="dense"))
    report = evaluate(dataset(), {"splitter": splitter, "index": index()}, plan=plan)
    splitter_row, index_row, *_ = report.rows
    assert index_row.error is None
    assert index_row.means["recall@40"] == splitter_row.means["recall@40"] > 0
    assert index_row.cost.recovery == 1.0
    assert index_row.note == "asked as it stands; it reads 40 tokens on average"


def test_a_retriever_is_asked_each_question_once_and_scored_by_what_has_a_place() -> None:
    retriever = Counted(BATTERY, *LINES[:8], REWRITTEN)
    row = rows({"mine": retriever})["mine"]
    assert sorted(retriever.asked) == sorted(question.text for question in dataset().questions)
    assert row.cost.recovery == 0.9
    assert row.chunks.chunks == 10
    assert [outcome.scores["recall@40"] for outcome in row.outcomes] == [1.0, 0.0]
    assert row.parser["store"] == "Counted"


def shown_on(report: EvaluationReport) -> tuple[str, str, str]:
    """Return the report in sentences, as a page and as on a terminal."""
    terminal = Console(width=200, record=True, file=StringIO())
    terminal.print(*evaluation_view(report))
    on_terminal = " ".join(terminal.export_text().split())
    return " ".join(report.said), html_of(report), on_terminal


def test_every_surface_says_how_many_chunks_cannot_be_located() -> None:
    retriever = Counted(BATTERY, *LINES[:8], REWRITTEN)
    report = evaluate(dataset(), {"mine": retriever, "ours": "sentence"}, plan=PLAN)
    words = "mine cannot be located: 1 of 10 chunks; they are read and score nothing."
    for shown in shown_on(report):
        assert shown.count(words) == 1


def test_the_row_of_a_retriever_says_how_much_was_read() -> None:
    report = evaluate(dataset(), {"mine": Counted(*LINES[:8]), "ours": "sentence"}, plan=PLAN)
    row = report.row("mine")
    tokens = row.means[f"tokens@{report.settings.budget}"]
    assert row.note == f"asked as it stands; it reads {tokens:,.0f} tokens on average"
    assert not report.row("ours").note


def test_every_surface_says_that_an_engine_differs_in_more_than_chunking() -> None:
    report = evaluate(dataset(), {"mine": Counted(*LINES[:8]), "ours": "sentence"}, plan=PLAN)
    words = (
        "This is not a difference of chunking alone: mine searches in its own way and reads whole "
        "chunks; ours searches by keywords and reads selected sentences. To compare chunking "
        "alone, add a column with the splitter that made the chunks of mine. To improve mine, add "
        "SentencePostprocessor, if it is not there yet."
    )
    grade, _, caution = report.decision.certainty.partition(". ")
    assert grade.startswith(("Sure", "Not decided"))
    assert caution == "Settings also differ in search and reading."
    assert report.verdict[0] == words
    for shown in shown_on(report):
        assert shown.count(caution) == shown.count(words) == 1
    alike = evaluate(dataset(), {"fixed": "fixed", "ours": "sentence"}, plan=PLAN)
    assert not re.search("chunking alone|also differ", " ".join(alike.said))


def test_a_missing_location_is_not_measurable_and_never_zero() -> None:
    retriever = Counted(BATTERY, *LINES[:7], REWRITTEN, REWRITTEN.upper())
    plan = replace(PLAN, sizes=(24,))
    report = evaluate(dataset(), {"mine": retriever, "ours": "sentence"}, plan=plan)
    mine = report.row("mine")
    assert mine.error == "not measurable (cannot be located: 2 of 10 chunks)"
    assert (mine.interval, mine.means, mine.outcomes, mine.reasons) == (None, {}, (), {})
    assert mine.cost.recovery == 0.8
    assert [row.name for row in matrix(report).rows] == ["ours"]
    assert 'data-column="ours"' in size_curve(report)
    assert 'data-column="mine"' not in size_curve(report)
    assert not any("mine" in (contrast.left, contrast.right) for contrast in report.contrasts)
    for shown in (*shown_on(report), why_html(report), report.to_json()):
        assert "cannot be located: 2 of 10 chunks" in " ".join(str(shown).split())
    assert "mine (not measurable)" in shown_on(report)[2]


def test_a_gate_cannot_judge_what_is_not_measurable() -> None:
    report = evaluate(dataset(), {"mine": Counted(REWRITTEN), "ours": "sentence"}, plan=PLAN)
    outcomes = {gate.row: gate.outcome for gate in under(report, "recall@40=0.1")}
    assert outcomes["mine"] == "inconclusive"


def test_columns_of_any_name_have_numbers_of_their_own_on_a_terminal() -> None:
    """Also those that are named as headings of the tables are, or are equal on one line."""
    both = dataset()
    kinds = tuple(replace(question, kind=question.text[:4]) for question in both.questions)
    retriever = Counted(BATTERY)
    named = dict.fromkeys(("questions", "Kind", "Missed because", "a b", "a  b"), retriever)
    report = evaluate(replace(both, questions=kinds), named, plan=PLAN)
    terminal = Console(width=200, record=True, file=StringIO())
    terminal.print(*evaluation_view(report))
    lines = [" ".join(line.split()) for line in terminal.export_text().splitlines()]
    assert "Kind questions questions Kind Missed because a b a b" in lines
    assert f"What 1{' 100.0' * 5}" in lines
    assert "Missed because questions Kind Missed because a b a b" in lines


def test_the_size_of_a_foreign_index_is_unknown_on_every_page() -> None:
    report = evaluate(dataset(), {"mine": Counted(BATTERY), "ours": "sentence"}, plan=PLAN)
    mine, ours = report.rows
    for name in ("chunks", "tokens", "embedded", "bytes"):
        assert getattr(mine.cost, name) is None
        assert getattr(ours.cost, name) > 0
    for page in (html_of(report), why_html(report)):
        assert "None" not in page


def test_an_engine_is_measured_by_what_it_reads_and_a_preset_by_its_name() -> None:
    engine = index().as_query_engine(llm=MockLLM(), similarity_top_k=2)
    rows_by_name = rows({"mine": engine, "ours": "sentence"})
    assert rows_by_name["mine"].error is None
    assert rows_by_name["mine"].means["recall@40"] > 0
    assert rows_by_name["ours"].parser["class"] == get_parser("sentence").class_name()


def test_a_collection_of_documents_under_other_ids_is_located() -> None:
    with open_store() as store:
        parsers = {"s": get_parser("sentence")}
        report = ingest_documents([Document(text=MANUAL, id_="elsewhere")], parsers, store)
        column = StoredCollection(store, report.columns[0].collection)
        rows_by_name = rows({"stored": column, "ours": "sentence"})
    assert rows_by_name["stored"].cost.recovery == 1.0
    assert rows_by_name["stored"].cost.chunks == rows_by_name["ours"].cost.chunks
    assert rows_by_name["stored"].means == rows_by_name["ours"].means


def test_a_column_that_fails_is_a_row_that_says_why() -> None:
    class Broken(Counted):
        def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
            raise ZeroDivisionError(query_bundle.query_str)

    rows_by_name = rows({"mine": Broken(), "ours": "sentence"})
    assert "Broken failed: ZeroDivisionError" in str(rows_by_name["mine"].error)
    assert rows_by_name["ours"].error is None


def test_moved_documents_of_a_collection_are_located() -> None:
    parsers, other = {"s": get_parser("sentence")}, "The mill stands by the river. It grinds rye."
    stays = Document(text=other, id_="mill")
    with open_store() as store:
        report = ingest_documents([stays, Document(text=MANUAL, id_="elsewhere")], parsers, store)
        stored = StoredCollection(store, report.columns[0].collection)
        both = replace(dataset(), documents=(stays, DOCUMENT))
        stored_row, ours = evaluate(both, {"stored": stored, "ours": "sentence"}, plan=PLAN).rows
    assert stored_row.means == ours.means
    assert stored_row.cost.recovery == 1.0


def test_differing_searches_of_columns_are_named() -> None:
    stored = QdrantVectorStore("theirs", client=memory_client(), index_doc_id=False)
    index(storage_context=StorageContext.from_defaults(vector_store=stored))
    columns = {"ours": "recursive", "theirs": stored, "fixed": Counted(BATTERY)}
    report = evaluate(dataset(), columns, plan=PLAN)
    modes = {row.name: row.mode for row in report.rows}
    assert modes == {"ours": "sparse", "theirs": "dense", "fixed": "own"}
    assert report.settings.mode == "sparse, dense, own"
    words = "sparse search by ours; dense search by theirs; own search by fixed"
    assert words in html_of(report)
    alone = evaluate(dataset(), {"theirs": stored}, plan=PLAN)
    assert "dense search, " in html_of(alone)
