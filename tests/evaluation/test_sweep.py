"""Evaluations by workers, without processes: the same report, whatever becomes of the workers."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from llama_index.core.embeddings.mock_embed_model import MockEmbedding
from llama_index.core.node_parser import SentenceSplitter
from tests.evaluation.in_process import InProcess
from tests.evaluation.judging.scripted import Scripted
from tests.evaluation.labelled import corpus

from rag_nodes.errors import CancelledError, ConfigurationError, EngineError
from rag_nodes.evaluation import (
    Dataset,
    EvaluationPlan,
    Judging,
    Searched,
    evaluate,
    race,
    recommend,
    sweep,
)
from rag_nodes.evaluation.columns import StoredCollection
from rag_nodes.evaluation.plan import Step
from rag_nodes.evaluation.recommendation import PLAN
from rag_nodes.evaluation.sweep import swept_by, workers_for
from rag_nodes.evaluation.units import Refused
from rag_nodes.executors import LostUnit
from rag_nodes.models import Models
from rag_nodes.models.keys import keys_of
from rag_nodes.models.openai import OpenAIServerEmbedding
from rag_nodes.models.pickling import keys_in, pickled, unpickled
from rag_nodes.parsers import SemanticNodeParser, get_parser
from rag_nodes.pipeline import ingest_documents
from rag_nodes.query import QueryOptions
from rag_nodes.store import open_store

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from rag_nodes.evaluation.units import SweepRecipe, SweepUnit

SMALL = EvaluationPlan(budgets=(30, 60), sizes=(40,), target=30, draws=100, ks=(1,))
BARE = replace(SMALL, sizes=(), target=None)
WORDS = QueryOptions(granularity="chunks", mode="sparse")
SWEPT = replace(PLAN, budgets=(30,), sizes=(30, 300), draws=100, options=WORDS)
CANARY = "sk-canary-0123456789"
KILLED = LostUnit("SIGKILL")


class Letters:
    """A splitter of somebody else, as an object."""

    def split_text(self, text: str) -> list[str]:
        return [one for one in text.split("\n\n") if one.strip()]


class Raising:
    """A splitter of somebody else that fails."""

    def split_text(self, _: str) -> list[str]:
        raise ValueError("boom")


@pytest.fixture(scope="module")
def dataset() -> Dataset:
    return corpus(2)


def columns() -> dict[str, object]:
    return {
        "small": get_parser("recursive", unit="tokens", chunk_size=30, chunk_overlap=0),
        "read": Searched(get_parser("heading"), QueryOptions(granularity="sentences")),
    }


@pytest.mark.parametrize("workers", [1, 3])
def test_the_report_of_workers_is_that_of_one_process(dataset: Dataset, workers: int) -> None:
    given = {**columns(), "object": Letters(), "bad": Raising(), "local": lambda text: [text]}
    executor = InProcess(workers, seed=workers)
    found = evaluate(dataset, given, plan=SMALL, executor=executor)
    assert found.to_json() == evaluate(dataset, given, plan=SMALL).to_json()
    assert {*executor.rows} == {"small", "read", "object", "bad", "A/A control"}
    assert executor.closed


def test_a_collection_and_a_reranked_column_are_measured_where_they_are(dataset: Dataset) -> None:
    reranked = QueryOptions(rerank=lambda _question, hits: list(reversed(hits)))
    with open_store() as store:
        heading = {"h": get_parser("heading")}
        made = ingest_documents(dataset.documents, heading, store, corpus="mine").columns[0]
        given = {
            "stored": StoredCollection(store, made.collection),
            "reversed": Searched(get_parser("heading"), reranked),
            **columns(),
        }
        executor = InProcess(2)
        found = evaluate(dataset, given, plan=BARE, executor=executor)
        assert found.to_json() == evaluate(dataset, given, plan=BARE).to_json()
    assert {*executor.rows} == {"small", "read"}


def test_where_nothing_can_be_sent_no_worker_is_started(dataset: Dataset) -> None:
    executor = InProcess(2)
    evaluate(dataset, {"local": lambda text: [text]}, plan=BARE, executor=executor)
    assert executor.units == []


def test_what_is_chosen_does_not_depend_on_who_is_done_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(race, "LEVEL", 0.5)  # stops some of few candidates
    dataset = corpus(4)
    parsers = {name: get_parser(name) for name in ("recursive", "fixed")}
    alone = recommend(dataset, parsers, plan=SWEPT, overlaps=())
    assert any(one.state == "stopped" for one in alone.trials)
    for seed in (1, 2):
        executor = InProcess(2 * seed, seed=seed)
        found = recommend(dataset, parsers, plan=SWEPT, overlaps=(), executor=executor)
        assert found.to_json() == alone.to_json()


def test_a_row_that_a_worker_stopped_too_early_is_asked_the_rest(dataset: Dataset) -> None:
    def hasty(work: Callable[..., Any], recipe: SweepRecipe, unit: SweepUnit) -> Any:
        found = work(recipe, unit)
        return replace(found, outcomes=found.outcomes[:5])

    given = {"recursive": get_parser("recursive")}
    executor = InProcess(2, hasty)
    found = recommend(dataset, given, plan=SWEPT, overlaps=(), executor=executor)
    assert found.to_json() == recommend(dataset, given, plan=SWEPT, overlaps=()).to_json()


def test_what_columns_read_is_judged_in_the_order_of_the_columns(dataset: Dataset) -> None:
    models = Models.of(embed_model="lexical", llm=Scripted())
    reports = [
        evaluate(
            dataset, columns(), plan=BARE, models=models, judge=Judging(3),
            executor=InProcess(3, seed=seed) if seed else None,
        )
        for seed in (0, 1)
    ]  # fmt: skip
    assert len({one.to_json() for one in reports}) == 1
    assert reports[0].judgement is not None
    assert reports[0].judgement.answers


def test_a_row_that_kills_its_workers_is_a_failed_row_and_stops_no_other(dataset: Dataset) -> None:
    def dies(work: Callable[..., Any], recipe: SweepRecipe, unit: SweepUnit) -> Any:
        is_small = unit.variant and (unit.variant["column"], unit.variant["role"])
        return KILLED if is_small == ("small", "own") else work(recipe, unit)

    steps: list[Step] = []
    executor = InProcess(2, dies)
    found = evaluate(dataset, columns(), plan=BARE, executor=executor, progress=steps.append)
    assert found.row("small").error == "the worker died twice measuring it (SIGKILL)"
    alone = evaluate(dataset, columns(), plan=BARE)
    assert found.row("read").outcomes == alone.row("read").outcomes
    assert found.control is not None
    assert found.control.column == "read"
    assert [one.done for one in steps] == sorted(one.done for one in steps)
    assert steps[-1].done == steps[-1].total == 3 * len(dataset.questions)
    assert steps[-1].seconds_left == 0


@pytest.mark.parametrize(
    "error", [ConfigurationError("no such model"), ImportError("no such model")]
)
def test_workers_that_cannot_work_end_the_run_with_the_reason(
    dataset: Dataset, error: Exception
) -> None:
    def unable(_work: Callable[..., Any], _recipe: SweepRecipe, _unit: SweepUnit) -> Any:
        raise error

    with pytest.raises(EngineError, match="no such model"):
        evaluate(dataset, columns(), plan=BARE, executor=InProcess(2, unable))


def test_a_size_that_kills_its_workers_is_left_out_with_the_reason(dataset: Dataset) -> None:
    def dies(work: Callable[..., Any], recipe: SweepRecipe, unit: SweepUnit) -> Any:
        return work(recipe, unit) if unit.variant else KILLED

    plan = replace(SMALL, sizes=())
    found = evaluate(dataset, columns(), plan=plan, executor=InProcess(1, dies))
    assert {(one.column, one.sizes) for one in found.left_out} == {
        ("small", ("a mean of 30",)),
        ("read", ("a mean of 30",)),
    }
    assert "died twice" in found.left_out[0].reason


def test_what_is_finished_when_a_run_is_ended_is_in_the_cache(
    dataset: Dataset, tmp_path: Path
) -> None:
    whole = evaluate(dataset, columns(), plan=SMALL)
    executor = InProcess(2)

    def hear(step: Step) -> None:
        if step.done > 3 * len(dataset.questions):
            raise CancelledError("enough")

    with pytest.raises(CancelledError):
        evaluate(dataset, columns(), plan=SMALL, cache=tmp_path, progress=hear, executor=executor)
    assert executor.closed
    again = InProcess(2)
    found = evaluate(dataset, columns(), plan=SMALL, cache=tmp_path, executor=again)
    assert found.to_json() == whole.to_json()
    assert len(again.rows) < len(whole.rows)


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


def test_what_no_other_process_can_make_is_measured_here_and_one_line_says_so(
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
        found = evaluate(data, columns(), plan=plan, embed_model=model, executor=executor)
        assert found.to_json() == evaluate(data, columns(), plan=plan, embed_model=model).to_json()
        assert executor.units == []
        [said] = [one.message for one in caplog.records if "in this process" in one.message]
        assert said.startswith("all rows are measured in this process: ")


def test_keys_are_in_no_plain_data(dataset: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    recipes: list[SweepRecipe] = []

    def run(_self: object, _work: object, recipe: SweepRecipe, _units: object) -> Any:
        recipes.append(recipe)
        return iter(())

    monkeypatch.setattr(InProcess, "run", run)
    model = OpenAIServerEmbedding(model_name="m", api_key=CANARY, requests_per_minute=60)
    models, parser = Models.of(embed_model=model), SemanticNodeParser(embed_model=model)
    with swept_by(InProcess(3), dataset, BARE, models, [parser], kept=(None, None)) as sweep:
        assert sweep is not None
        sweep.sizes({"one": parser}, 30)
    made = unpickled(pickled(recipes[0]))
    assert CANARY not in repr(recipes[0])
    assert keys_in(recipes[0]) == (CANARY,)
    arrived = made.models.embedding
    assert keys_of(arrived) == keys_of(model)
    assert made.data == dataset


def test_refused_reasons_reach_the_row_as_they_are(dataset: Dataset) -> None:
    def refuses(_work: Callable[..., Any], _recipe: SweepRecipe, _unit: SweepUnit) -> Any:
        return Refused("the store is full")

    found = evaluate(dataset, columns(), plan=BARE, executor=InProcess(2, refuses))
    assert {row.error for row in found.rows} == {"the store is full"}


def test_the_amount_decides_where_nobody_says_how_many(
    dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweep, "usable_cores", lambda: 4)
    models = Models.of(embed_model="lexical")
    monkeypatch.setattr(sweep, "LARGE", 10 * sum(map(len, dataset.texts.values())))
    chosen = workers_for(dataset, 10, models)
    assert chosen is not None
    assert chosen.workers == 4
    assert workers_for(dataset, 9, models) is None
    paid = Models.of(embed_model=MockEmbedding(8))
    assert workers_for(dataset, 10, paid) is None
    monkeypatch.setattr(sweep, "LARGE", 1)
    assert workers_for(dataset, 1, models) is None
    monkeypatch.setattr(sweep, "LARGE", 10**9)
    assert evaluate(dataset, columns(), plan=BARE, executor="auto").rows


def test_a_stock_splitter_goes_to_workers_by_its_path_and_as_an_object(dataset: Dataset) -> None:
    from rag_nodes.parsers import ForeignNodeParser

    path = "llama_index.core.node_parser:SentenceSplitter(chunk_size=60,chunk_overlap=0)"
    executor = InProcess(2)
    given = {
        "path": ForeignNodeParser(path=path),
        "object": SentenceSplitter(chunk_size=60, chunk_overlap=0),
    }
    evaluate(dataset, given, plan=BARE, executor=executor)
    assert {*executor.rows} == {"path", "object", "A/A control"}
