"""A row that other code measured is never read from the cache."""

from __future__ import annotations

import logging
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from evaluation.labelled import corpus
from llama_index.core import MockEmbedding

from rag_nodes.evaluation import EvaluationPlan, evaluate
from rag_nodes.parsers import get_parser

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from rag_nodes.evaluation import EvaluationReport

PLAN = EvaluationPlan(budgets=(30,), sizes=(), target=None, draws=50, ks=(1,))
FILE = sys.__stdout__


class Steady(MockEmbedding):
    def _get_text_embedding(self, text: str) -> list[float]:
        return [float(len(text)), 1.0]


class Edited(Steady):
    def _get_text_embedding(self, text: str) -> list[float]:
        return [1.0, float(len(text))]


def run(cache: Path, splitter: Any, **options: Any) -> EvaluationReport:
    return evaluate(corpus(1), {"mine": splitter}, plan=PLAN, cache=cache, **options)


def sized(size: int) -> Callable[[str], list[str]]:
    return lambda text: [text[at : at + size] for at in range(0, len(text), size)]


def test_a_closure_that_was_given_another_size_is_measured_anew(tmp_path: Path) -> None:
    large = run(tmp_path, sized(900), embed_model="lexical")
    small = run(tmp_path, sized(90), embed_model="lexical")
    assert small.rows[0].chunks["chunks"] > large.rows[0].chunks["chunks"]
    assert run(tmp_path, sized(900), embed_model="lexical") == large
    alone = run(tmp_path / "other", sized(90), embed_model="lexical")
    assert [row.means for row in small.rows] == [row.means for row in alone.rows]


def test_the_same_code_is_read_from_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = run(tmp_path, sized(300), embed_model="lexical")
    monkeypatch.setattr(
        "rag_nodes.evaluation.measurement.Measurement._measured",
        lambda *_: pytest.fail("it was measured again"),
    )
    assert run(tmp_path, sized(300), embed_model="lexical") == first


@pytest.mark.parametrize("of", ["release", "model"])
def test_another_release_and_another_model_measure_rows_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, of: str
) -> None:
    parser, model = get_parser("fixed", chunk_size=300, chunk_overlap=0), Steady(embed_dim=2)
    run(tmp_path, parser, embed_model=model)
    asked: list[str] = []
    if of == "release":
        monkeypatch.setattr("rag_nodes.evaluation.cache.version", lambda _: "999")
    else:
        Edited.__name__ = Edited.__qualname__ = "Steady"
        model = Edited(embed_dim=2)
    note: Any = lambda step: asked.append(step.stage)  # noqa: E731
    run(tmp_path, parser, embed_model=model, progress=note)
    assert asked.count("ask") > 2


def test_vectors_of_a_model_that_was_edited_are_made_anew(tmp_path: Path) -> None:
    Edited.__name__ = Edited.__qualname__ = "Steady"
    kept: list[list[float]] = []
    for kind in (Steady, Steady, Edited):
        from rag_nodes.evaluation.cache import EvaluationCache
        from rag_nodes.models import Models

        with EvaluationCache(tmp_path) as cache:
            models = cache.embedding(Models.of(embed_model=kind(embed_dim=2)))
            kept.append(models.embedding.get_text_embedding("tea"))
    assert kept == [[3.0, 1.0], [3.0, 1.0], [1.0, 3.0]]


def test_what_cannot_be_told_is_never_read_from_the_cache_and_said_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def cut(text: str) -> list[str]:
        assert FILE
        return [text[:300], text[300:]]

    measured = []
    for _ in range(2):
        caplog.clear()
        steps: list[str] = []
        note: Any = lambda step, steps=steps: steps.append(step.stage)  # noqa: E731
        with caplog.at_level(logging.WARNING, logger="rag_nodes"):
            evaluate(
                corpus(1), {"mine": cut}, plan=replace(PLAN, sizes=()), cache=tmp_path,
                embed_model="lexical", progress=note,
            )  # fmt: skip
        [said] = [one.getMessage() for one in caplog.records if "Nobody" in one.getMessage()]
        assert "cut changed (FILE" in said
        measured.append(steps.count("ask"))
    assert measured[0] == measured[1] > 2
