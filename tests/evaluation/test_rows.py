"""Evaluations by workers, without processes: the same report, whatever becomes of the workers."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from llama_index.core.embeddings.mock_embed_model import MockEmbedding
from tests.evaluation.in_process import InProcess
from tests.evaluation.labelled import Raising, corpus
from tests.evaluation.scripted_judge import scripted_llm

from rag_nodes.core.errors import ConfigurationError, EngineError
from rag_nodes.core.keys import keys_of
from rag_nodes.evaluation import Dataset, EvaluationPlan, Judging, Searched, evaluate, rows
from rag_nodes.evaluation.columns import REFERENCE, StoredCollection
from rag_nodes.evaluation.measuring import Recipe, Unit
from rag_nodes.evaluation.plan import Step
from rag_nodes.evaluation.rows import workers_for
from rag_nodes.models import Models
from rag_nodes.models.executors import LostUnit
from rag_nodes.models.lexical import LexicalEmbedding
from rag_nodes.models.openai import OpenAIServerEmbedding
from rag_nodes.models.pickling import keys_in, pickled, unpickled
from rag_nodes.parsers import ForeignNodeParser, SemanticNodeParser, get_parser
from rag_nodes.pipeline import ingest_documents
from rag_nodes.query import QueryOptions
from rag_nodes.store import Store, open_store
from rag_nodes.store.edge.collection import Collection
from rag_nodes.store.engine import Point

SMALL = EvaluationPlan(budgets=(30, 60), sizes=(40,), target=30, draws=100, ks=(1,))
BARE = replace(SMALL, sizes=(), target=None)
CANARY = "sk-canary-0123456789"
KILLED = LostUnit("SIGKILL")


class Letters:
    """A splitter of somebody else, as an object."""

    def split_text(self, text: str) -> list[str]:
        return [part for part in text.split("\n\n") if part.strip()]


@pytest.fixture(scope="module")
def dataset() -> Dataset:
    return corpus(1)


def columns() -> dict[str, object]:
    return {
        "small": get_parser("recursive", unit="tokens", chunk_size=30, chunk_overlap=0),
        "read": Searched(get_parser("heading"), QueryOptions(granularity="sentences")),
    }


@pytest.mark.parametrize("workers", [1, 3])
def test_the_report_of_workers_is_that_of_one_process(dataset: Dataset, workers: int) -> None:
    stock = "llama_index.core.node_parser:SentenceSplitter(chunk_size=60,chunk_overlap=0)"
    given = {**columns(), "object": Letters(), "bad": Raising(), "local": lambda text: [text],
             "path": ForeignNodeParser(path=stock)}  # fmt: skip
    executor = InProcess(workers, seed=workers)
    by_workers = evaluate(dataset, given, plan=SMALL, executor=executor)
    assert by_workers.to_json() == evaluate(dataset, given, plan=SMALL).to_json()
    assert {*executor.rows} == {"small", "read", "object", "bad", "path", REFERENCE}
    assert executor.closed


def test_a_collection_and_a_reranked_column_are_measured_where_they_are(dataset: Dataset) -> None:
    reranked = QueryOptions(rerank=lambda _question, hits: list(reversed(hits)))
    with open_store() as store:
        heading = {"h": get_parser("heading")}
        column = ingest_documents(dataset.documents, heading, store, corpus="mine").columns[0]
        given = {
            "stored": StoredCollection(store, column.collection),
            "reversed": Searched(get_parser("heading"), reranked),
            **columns(),
        }
        executor = InProcess(2)
        report = evaluate(dataset, given, plan=BARE, executor=executor)
        assert report.to_json() == evaluate(dataset, given, plan=BARE).to_json()
    assert {*executor.rows} == {"small", "read"}


def test_contexts_are_judged_in_the_order_of_the_columns(dataset: Dataset) -> None:
    models = Models.of(embed_model="lexical", llm=scripted_llm())
    reports = [
        evaluate(
            dataset, columns(), plan=BARE, models=models, judge=Judging(3),
            executor=InProcess(3, seed=seed) if seed else None,
        )
        for seed in (0, 1)
    ]  # fmt: skip
    assert len({report.to_json() for report in reports}) == 1
    assert reports[0].judgement is not None
    assert reports[0].judgement.answers


def test_a_row_that_kills_its_workers_is_a_failed_row_and_stops_no_other(dataset: Dataset) -> None:
    def dies(work: Callable[..., Any], recipe: Recipe, unit: Unit) -> Any:
        return KILLED if unit.variant.name == "small" else work(recipe, unit)

    steps: list[Step] = []
    executor = InProcess(2, dies)
    report = evaluate(dataset, columns(), plan=BARE, executor=executor, progress=steps.append)
    assert report.row("small").error == "the worker died twice measuring it (SIGKILL)"
    alone = evaluate(dataset, columns(), plan=BARE)
    assert report.row("read").outcomes == alone.row("read").outcomes
    assert [step.done for step in steps] == sorted(step.done for step in steps)
    assert steps[-1].done == steps[-1].total == 2 * len(dataset.questions)
    assert steps[-1].seconds_left == 0


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ConfigurationError("no such model"), "no such model"),
        (ImportError("no such model"), "cannot measure: ImportError$"),
    ],
)
def test_workers_that_cannot_work_end_the_run_with_the_reason(
    dataset: Dataset, error: Exception, reason: str
) -> None:
    def unable(_work: Callable[..., Any], _recipe: Recipe, _unit: Unit) -> Any:
        raise error

    with pytest.raises(EngineError, match=reason):
        evaluate(dataset, columns(), plan=BARE, executor=InProcess(2, unable))


class Server(MockEmbedding):
    """A model that is paid for."""

    texts: list[str] = []  # noqa: RUF012 -- pydantic copies it

    def _get_text_embedding(self, text: str) -> list[float]:
        PAID.append(text)
        return [float(len(text)), *[1.0] * (self.embed_dim - 1)]


PAID: list[str] = []


def test_workers_share_what_was_paid_for_without_a_cache_of_the_user(dataset: Dataset) -> None:
    PAID.clear()
    given = {"one": get_parser("heading"), "two": get_parser("heading")}
    evaluate(dataset, given, plan=BARE, embed_model=Server(embed_dim=8), executor=InProcess(1))
    assert PAID
    assert max(Counter(PAID).values()) == 1


def test_the_search_of_a_column_is_read_while_its_chunks_are_stored(
    dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    def without_words(store: Store, collection: str) -> bool:
        return store.engine.collection(collection) is None

    monkeypatch.setattr(Store, "has_words", without_words)
    model = MockEmbedding(embed_dim=8)
    report = evaluate(dataset, {"one": get_parser("heading")}, plan=BARE, embed_model=model)
    assert {row.mode for row in report.rows} == {"dense"}


def test_rows_of_keyword_search_embed_no_chunk_and_read_no_stored_one(
    dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts, embedded = [], LexicalEmbedding._get_text_embeddings

    def note_texts(model: LexicalEmbedding, batch: list[str]) -> list[list[float]]:
        texts.extend(batch)
        return embedded(model, batch)

    def refuse_read(*_: object, **__: object) -> list[Point]:
        raise AssertionError("a node was read from the store")

    by_words = replace(BARE, options=QueryOptions(mode="sparse"))
    expected = evaluate(dataset, columns(), plan=by_words, embed_model=MockEmbedding(embed_dim=8))
    monkeypatch.setattr(LexicalEmbedding, "_get_text_embeddings", note_texts)
    monkeypatch.setattr(Collection, "read", refuse_read)
    report = evaluate(dataset, columns(), plan=BARE)
    assert {*texts} <= {question.text for question in dataset.questions}
    assert [row.outcomes for row in report.rows] == [row.outcomes for row in expected.rows]


def test_columns_that_cannot_be_pickled_are_measured_in_this_process(
    dataset: Dataset, caplog: pytest.LogCaptureFixture
) -> None:
    class Local(MockEmbedding):
        pass

    first, *others = dataset.documents
    odd = first.model_copy(update={"metadata": {**first.metadata, "shape": lambda: 1}})
    reranked = QueryOptions(rerank=lambda _question, hits: hits)
    for data, plan, model in (
        (dataset, BARE, Local(embed_dim=8)),
        (replace(dataset, documents=(odd, *others)), BARE, None),
        (dataset, replace(BARE, options=reranked), None),
    ):
        caplog.clear()
        executor = InProcess(2)
        report = evaluate(data, columns(), plan=plan, embed_model=model, executor=executor)
        assert report.to_json() == evaluate(data, columns(), plan=plan, embed_model=model).to_json()
        assert executor.units == []
        [sentence] = [
            record.message for record in caplog.records if "in this process" in record.message
        ]
        assert sentence.startswith("all rows are measured in this process: ")


def test_keys_are_in_no_plain_data(dataset: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    recipes: list[Recipe] = []

    def run(_self: object, _work: object, recipe: Recipe, _units: object) -> Any:
        recipes.append(recipe)
        raise EngineError("seen enough")

    monkeypatch.setattr(InProcess, "run", run)
    monkeypatch.setattr(Recipe, "dimension", lambda _: 0)
    model = OpenAIServerEmbedding(model_name="m", api_key=CANARY, requests_per_minute=60)
    parser = SemanticNodeParser(embed_model=model)
    with pytest.raises(EngineError, match="seen enough"):
        evaluate(dataset, {"one": parser}, plan=BARE, embed_model=model, executor=InProcess(3))
    copied = unpickled(pickled(recipes[0]))
    assert CANARY not in repr(recipes[0])
    assert keys_in(recipes[0]) == (CANARY,)
    assert keys_of(copied.models.embedding) == keys_of(model)
    assert copied.dataset == dataset


def test_the_amount_decides_where_nobody_says_how_many(
    dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows, "usable_cores", lambda: 4)
    models = Models.of(embed_model="lexical")
    monkeypatch.setattr(rows, "LARGE", 10 * sum(map(len, dataset.texts.values())))
    chosen = workers_for(dataset, 10, models)
    assert chosen is not None
    assert chosen.workers == 4
    assert workers_for(dataset, 9, models) is None
    paid = Models.of(embed_model=MockEmbedding(8))
    assert workers_for(dataset, 10, paid) is None
    monkeypatch.setattr(rows, "LARGE", 1)
    assert workers_for(dataset, 1, models) is None
    monkeypatch.setattr(rows, "LARGE", 10**9)
    assert evaluate(dataset, columns(), plan=BARE, executor="auto").rows
