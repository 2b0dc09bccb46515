import json
import threading
from pathlib import Path

import pytest
from plant import MANUAL, QUESTION

from rag_nodes.compare import Comparison, ComparisonReport
from rag_nodes.errors import ConfigurationError, ModelConnectionError
from rag_nodes.models import Models
from rag_nodes.models.lexical import LexicalEmbedding
from rag_nodes.parsers import COMPARED, PRESETS, SpanNodeParser, get_parser
from rag_nodes.query import QueryOptions, RagNodesQueryEngine
from rag_nodes.store import Store, open_store


def four() -> dict[str, SpanNodeParser]:
    return {name: get_parser(name) for name in COMPARED}


def compared(
    manual: Path,
    store: Store,
    models: Models,
    parsers: dict[str, SpanNodeParser] | None = None,
    options: QueryOptions | None = None,
) -> ComparisonReport:
    """The question asked of the manual."""
    with Comparison(parsers or four(), store=store, models=models, options=options) as comparison:
        comparison.ingest([manual])
        return comparison.ask(QUESTION)


def test_four_parsers_answer_side_by_side(manual: Path, store: Store, models: Models) -> None:
    report = compared(manual, store, models)
    assert [column.name for column in report.columns] == list(COMPARED)
    assert [column.title for column in report.columns] == [PRESETS[name].title for name in COMPARED]
    assert report.question == QUESTION
    assert report.models == models.describe()
    assert [file.status for file in report.files] == ["read"]
    for column in report.columns:
        assert column.error is None
        assert column.answer is not None
        assert "battery" in column.answer.text
        for citation in column.answer.citations:
            assert MANUAL[citation.start : citation.end] == citation.quote
        assert column.statistics.chunks == store.count(column.statistics.collection) > 0
        assert set(column.seconds) == {"embed", "retrieve", "answer", "total"}
        assert column.parser["class"] == get_parser(column.name).class_name()
        assert column.parser["fingerprint"] == get_parser(column.name).fingerprint
    data = report.as_dict()
    assert json.loads(json.dumps(data)) == data
    assert data["schema_version"] == 1
    assert data["columns"][1]["answer"]["citations"]


def test_the_columns_answer_at_the_same_time(
    manual: Path, store: Store, models: Models, monkeypatch: pytest.MonkeyPatch
) -> None:
    together = threading.Barrier(4, timeout=60)
    answer = RagNodesQueryEngine.answer

    def meet(self: RagNodesQueryEngine, *args: object, **kwargs: object) -> object:
        together.wait()  # passes only if all four are here before any has finished
        return answer(self, *args, **kwargs)

    monkeypatch.setattr(RagNodesQueryEngine, "answer", meet)
    report = compared(manual, store, models)
    assert [column.error for column in report.columns] == [None] * 4


def test_a_column_that_fails_says_why_while_the_others_answer(
    manual: Path, store: Store, models: Models, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = RagNodesQueryEngine.answer

    def fail(self: RagNodesQueryEngine, *args: object, **kwargs: object) -> object:
        if self.parser_name == "heading":
            raise ModelConnectionError("the server cannot be reached")
        if self.parser_name == "fixed":
            raise ZeroDivisionError("a bug")
        return answer(self, *args, **kwargs)

    monkeypatch.setattr(RagNodesQueryEngine, "answer", fail)
    report = compared(manual, store, models)
    errors = {column.name: column.error for column in report.columns}
    assert errors["heading"] == "the server cannot be reached"
    assert errors["fixed"] == "ZeroDivisionError; run this column alone to see where it fails"
    assert errors["semantic"] is None
    assert report.columns[0].answer is None
    assert json.dumps(report.as_dict())


def test_asking_before_anything_is_ingested_is_a_row_with_its_remedy(
    store: Store, models: Models
) -> None:
    with Comparison(store=store, models=models, columns=four()) as comparison:
        report = comparison.ask(QUESTION)
    assert all("ingest documents first" in (column.error or "") for column in report.columns)


def test_a_later_session_asks_what_an_earlier_one_ingested(
    manual: Path, tmp_path: Path, models: Models
) -> None:
    def ask(*, ingest: bool) -> ComparisonReport:
        with (
            open_store(tmp_path / "store") as store,
            Comparison(store=store, models=models, columns=four()) as comparison,
        ):
            if ingest:
                comparison.ingest([manual])
            return comparison.ask(QUESTION)

    first, second = ask(ingest=True), ask(ingest=False)
    assert [c.answer.text for c in second.columns] == [c.answer.text for c in first.columns]
    assert [c.statistics.chunks for c in second.columns] == [
        c.statistics.chunks for c in first.columns
    ]
    assert second.files == ()


def test_a_comparison_without_parsers_or_question_is_refused(store: Store, models: Models) -> None:
    with pytest.raises(ConfigurationError, match="at least one column"):
        Comparison(store=store, models=models, columns={})
    with pytest.raises(ConfigurationError, match="question is empty"):
        Comparison(store=store, models=models, columns=four()).ask("  ")


def test_no_key_reaches_the_report(manual: Path, store: Store, models: Models) -> None:
    class Secretive(LexicalEmbedding):
        api_key: str = "sk-canary"

    secretive = Secretive()
    parsers = {"semantic": get_parser("semantic", embed_model=secretive)}
    report = compared(manual, store, models, parsers)
    assert "sk-canary" not in json.dumps(report.as_dict())
    assert "sk-canary" not in repr(report)


def test_a_comparison_gives_every_question_the_same_room_unless_told_otherwise(
    store: Store, models: Models, manual: Path
) -> None:
    steps = "How do I start the generator?"
    for options, widening in (
        (QueryOptions(budget=40), ""),
        (QueryOptions(budget=40, step_factor=3.0), "budget 120 instead of 40: asks for steps"),
    ):
        compared = Comparison(store=store, models=models, columns=four(), options=options)
        compared.ingest([manual])
        answers = [column.answer for column in compared.ask(steps).columns]
        assert [answer.widening for answer in answers if answer] == [widening] * 4
