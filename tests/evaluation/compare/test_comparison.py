import json
import threading
from pathlib import Path

import pytest
from openai_server import OpenAIServer
from plant import MANUAL, QUESTION, served_models

from rag_nodes.core.errors import ConfigurationError, ModelConnectionError
from rag_nodes.evaluation.compare import Comparison, ComparisonReport
from rag_nodes.models import Models
from rag_nodes.models.lexical import LexicalEmbedding
from rag_nodes.parsers import COMPARED, PRESETS, SpanNodeParser, get_parser
from rag_nodes.query import QueryOptions, RagNodesQueryEngine
from rag_nodes.query.documents import DocumentIndex
from rag_nodes.readers import read


def four() -> dict[str, SpanNodeParser]:
    return {name: get_parser(name) for name in COMPARED}


def compare_manual(
    manual: Path,
    models: Models,
    parsers: dict[str, SpanNodeParser] | None = None,
    options: QueryOptions | None = None,
) -> ComparisonReport:
    """The question asked of the manual."""
    with Comparison(
        parsers or four(), documents=read(manual), models=models, options=options
    ) as comparison:
        return comparison.ask(QUESTION)


def test_four_parsers_answer_side_by_side(manual: Path, models: Models) -> None:
    report = compare_manual(manual, models)
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
        assert column.statistics.chunks == column.statistics.written > 0
        assert set(column.seconds) == {"embed", "retrieve", "answer", "total"}
        assert column.parser["class"] == get_parser(column.name).class_name()
        assert column.parser["fingerprint"] == get_parser(column.name).fingerprint
    data = report.as_dict()
    assert json.loads(json.dumps(data)) == data
    assert data["schema_version"] == 1
    assert data["columns"][1]["answer"]["citations"]


def test_the_columns_answer_at_the_same_time(
    manual: Path, models: Models, monkeypatch: pytest.MonkeyPatch
) -> None:
    together = threading.Barrier(4, timeout=60)
    answer = RagNodesQueryEngine.answer

    def meet(self: RagNodesQueryEngine, *args: object, **kwargs: object) -> object:
        together.wait()  # passes only if all four are here before any has finished
        return answer(self, *args, **kwargs)

    monkeypatch.setattr(RagNodesQueryEngine, "answer", meet)
    report = compare_manual(manual, models)
    assert [column.error for column in report.columns] == [None] * 4


def test_a_column_that_fails_says_why_while_the_others_answer(
    manual: Path, models: Models, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = RagNodesQueryEngine.answer

    def fail(self: RagNodesQueryEngine, *args: object, **kwargs: object) -> object:
        if self.parser_name == "heading":
            raise ModelConnectionError("the server cannot be reached")
        if self.parser_name == "fixed":
            raise ZeroDivisionError("a bug")
        return answer(self, *args, **kwargs)

    monkeypatch.setattr(RagNodesQueryEngine, "answer", fail)
    report = compare_manual(manual, models)
    errors = {column.name: column.error for column in report.columns}
    assert errors["heading"] == "the server cannot be reached"
    assert errors["fixed"] == "ZeroDivisionError; run this column alone to see where it fails"
    assert errors["semantic"] is None
    assert report.columns[0].answer is None
    assert json.dumps(report.as_dict())


def test_asking_without_documents_is_a_row_with_its_remedy(models: Models) -> None:
    with Comparison(four(), models=models) as comparison:
        report = comparison.ask(QUESTION)
    assert all("give the comparison documents" in (column.error or "") for column in report.columns)


def test_a_closed_comparison_says_that_it_has_forgotten_its_documents(
    manual: Path, models: Models
) -> None:
    comparison = Comparison({"fixed": "fixed"}, documents=read(manual), models=models)
    comparison.close()
    [column] = comparison.ask(QUESTION).columns
    assert column.error == (
        "the comparison was closed and has forgotten its documents; make another one"
    )


def test_equal_parsers_of_an_index_split_its_documents_once(manual: Path, models: Models) -> None:
    index = DocumentIndex([read(manual)])
    parsers = {"same": get_parser("fixed"), "other": get_parser("heading")}
    first = Comparison({"fixed": "fixed"}, documents=index, models=models)
    with Comparison(parsers, documents=index, models=models) as second:
        same, other = second.loaded.columns
        assert (same.written, same.unchanged) == (0, first.loaded.columns[0].written)
        assert other.written > 0
    first.close()
    assert first.ask(QUESTION).columns[0].answer, "the index is still open"
    index.close()


def test_no_text_is_paid_for_twice_where_a_folder_keeps_the_vectors(
    manual: Path, tmp_path: Path, openai_server: OpenAIServer, no_configuration: Path
) -> None:
    assert no_configuration
    spent = []
    for _ in range(2):
        models = served_models(openai_server, "sk-canary", embedding="openai")
        given = {"documents": read(manual), "cache": tmp_path / "cache", "models": models}
        with Comparison({"fixed": "fixed"}, **given) as comparison:
            spent.append(comparison.loaded.embedding_tokens)
            [column] = comparison.ask(QUESTION).columns
            assert column.error is None
    assert spent[0] > 0
    assert spent[1] == 0


def test_parsers_of_the_same_configuration_are_refused(models: Models) -> None:
    with pytest.raises(ConfigurationError, match="'a' and 'b' have the same configuration"):
        Comparison({"a": "fixed", "b": get_parser("fixed")}, models=models)


def test_a_comparison_without_parsers_or_question_is_refused(models: Models) -> None:
    with pytest.raises(ConfigurationError, match="at least one column"):
        Comparison({}, models=models)
    with pytest.raises(ConfigurationError, match="question is empty"):
        Comparison(four(), models=models).ask("  ")


def test_no_key_reaches_the_report(manual: Path, models: Models) -> None:
    class Secretive(LexicalEmbedding):
        api_key: str = "sk-canary"

    secretive = Secretive()
    parsers = {"semantic": get_parser("semantic", embed_model=secretive)}
    report = compare_manual(manual, models, parsers)
    assert "sk-canary" not in json.dumps(report.as_dict())
    assert "sk-canary" not in repr(report)


def test_a_comparison_gives_every_question_the_same_room_unless_told_otherwise(
    models: Models, manual: Path
) -> None:
    steps = "How do I start the generator?"
    for options, widening in (
        (QueryOptions(budget=40), ""),
        (QueryOptions(budget=40, step_factor=3.0), "budget 120 instead of 40: asks for steps"),
    ):
        with Comparison(
            four(), documents=read(manual), models=models, options=options
        ) as comparison:
            answers = [column.answer for column in comparison.ask(steps).columns]
        assert [answer.widening for answer in answers if answer] == [widening] * 4
