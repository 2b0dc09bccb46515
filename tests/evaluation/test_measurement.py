"""Rows that were measured before, and rows that were asked a part of the questions."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from tests.evaluation.labelled import corpus

from rag_nodes.evaluation.cache import EvaluationCache
from rag_nodes.evaluation.columns import Variant
from rag_nodes.evaluation.measurement import Measurement
from rag_nodes.evaluation.plan import EvaluationPlan
from rag_nodes.models import settled
from rag_nodes.parsers import get_parser
from rag_nodes.query import QueryOptions
from rag_nodes.store import open_store

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rag_nodes.evaluation.measurement import Enough
    from rag_nodes.evaluation.report import Outcome, Row

PLAN = EvaluationPlan(
    budgets=(60,), sizes=(), target=None, explain=False, options=QueryOptions(mode="sparse")
)
VARIANT = Variant("small", "own", get_parser("recursive", unit="tokens", chunk_size=60,
                                             chunk_overlap=0))  # fmt: skip


def after(count: int) -> Enough:
    def enough(_name: str, outcomes: Sequence[Outcome]) -> bool:
        return len(outcomes) >= count

    return enough


def measured(cache: EvaluationCache, enough: Enough | None) -> Row:
    with open_store() as store:
        run = Measurement(corpus(), PLAN, settled(None), cache=cache, enough=enough)
        [row] = run.rows([VARIANT], store)
    return row


@pytest.fixture(scope="module")
def whole() -> Row:
    with EvaluationCache() as cache:
        return measured(cache, None)


def test_a_row_is_asked_until_it_is_enough(whole: Row) -> None:
    with EvaluationCache() as cache:
        part = measured(cache, after(7))
    assert part.outcomes == whole.outcomes[:7]
    expected = sum(one.scores["recall@60"] for one in part.outcomes) / 7
    assert part.means["recall@60"] == pytest.approx(expected)


def test_a_known_part_is_not_taken_where_more_is_asked_now(whole: Row) -> None:
    with EvaluationCache() as cache:
        measured(cache, after(7))
        again = measured(cache, None)
    assert again.outcomes == whole.outcomes


def test_of_a_known_row_only_as_much_is_taken_as_would_be_asked_now(whole: Row) -> None:
    with EvaluationCache() as cache:
        measured(cache, None)
        part = measured(cache, after(7))
    assert part.outcomes == whole.outcomes[:7]
    assert part.means != whole.means
    assert replace(part, outcomes=(), means={}, reasons={}).chunks == whole.chunks
