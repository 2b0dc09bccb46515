"""What an LLM writes about chunks, and vectors: each is paid for once, whoever asks."""

import threading
from collections import Counter
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
from llama_index.core import MockEmbedding
from llama_index.core.llms import CompletionResponse
from own_models import ParrotLLM
from tests.evaluation.in_process import InProcess
from tests.evaluation.labelled import corpus

from rag_nodes.evaluation import EvaluationPlan, Searched, evaluate
from rag_nodes.evaluation.cache import cached
from rag_nodes.models import Models
from rag_nodes.parsers import get_parser
from rag_nodes.query import QueryOptions

BARE = EvaluationPlan(budgets=(30,), sizes=(), target=None, draws=50, ks=(1,))
SUMMARY = QueryOptions(vector="summary", granularity="chunks")
PAID: list[str] = []


class PaidLLM(ParrotLLM):
    """Says another thing about everything, and is paid for it."""

    secret: Any = None

    def complete(self, prompt: str, **_: Any) -> CompletionResponse:
        PAID.append(prompt)
        return CompletionResponse(text=f"It is about {crc32(prompt.encode()):x}.")


@pytest.fixture
def models() -> Models:
    PAID.clear()
    return Models.of(embed_model="lexical", llm=PaidLLM())


def columns() -> dict[str, object]:
    small = get_parser("heading", chunk_size=60, min_chunk_size=5)
    by_context = replace(SUMMARY, vector="context")
    return {
        "one": Searched(small, SUMMARY),
        "two": Searched(small, replace(SUMMARY, mode="dense")),
        "context": Searched(small, by_context),
        "plain": small,
    }


def test_rows_of_an_evaluation_share_what_was_written_in_one_process_and_in_workers(
    models: Models,
) -> None:
    dataset = corpus(1)
    alone = evaluate(dataset, columns(), plan=BARE, models=models)
    asked = sorted(PAID)
    assert asked
    assert max(Counter(asked).values()) == 1
    PAID.clear()
    executor = InProcess(2)
    found = evaluate(dataset, columns(), plan=BARE, models=models, executor=executor)
    assert found.to_json() == alone.to_json()
    assert sorted(PAID) == asked
    assert {*executor.rows} == {*columns()}


def test_what_was_written_is_known_to_later_runs_with_the_same_cache(
    models: Models, tmp_path: Path
) -> None:
    given = {"one": columns()["one"]}
    evaluate(corpus(1), given, plan=BARE, models=models, cache=tmp_path)
    before = len(PAID)
    assert before
    later = replace(BARE, budgets=(40,))
    evaluate(corpus(1), given, plan=later, models=models, cache=tmp_path, executor=InProcess(1))
    assert len(PAID) == before


def test_rows_for_which_an_llm_writes_that_workers_cannot_make_are_measured_here(
    models: Models,
) -> None:
    models = replace(models, llm=PaidLLM(secret=threading.Lock()))
    given, executor = {"one": columns()["one"], "plain": columns()["plain"]}, InProcess(2)
    found = evaluate(corpus(1), given, plan=BARE, models=models, executor=executor)
    assert executor.units == []
    assert found.to_json() == evaluate(corpus(1), given, plan=BARE, models=models).to_json()


class Steady(MockEmbedding):
    def _get_text_embedding(self, text: str) -> list[float]:
        return [float(len(text)), 1.0]


class Edited(Steady):
    def _get_text_embedding(self, text: str) -> list[float]:
        return [1.0, float(len(text))]


def test_vectors_of_a_model_that_was_edited_are_made_anew(tmp_path: Path) -> None:
    Edited.__name__ = Edited.__qualname__ = "Steady"
    kept: list[list[float]] = []
    for kind in (Steady, Steady, Edited):
        with ExitStack() as opened:
            models = cached(Models.of(embed_model=kind(embed_dim=2)), tmp_path, opened)
            kept.append(models.embedding.get_text_embedding("tea"))
    assert kept == [[3.0, 1.0], [3.0, 1.0], [1.0, 3.0]]
