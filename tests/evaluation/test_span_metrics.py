from __future__ import annotations

import pytest

from rag_nodes.evaluation import (
    Passage,
    first_hit,
    iou,
    precision,
    precision_omega,
    recall,
)
from rag_nodes.evaluation.sizes import chunk_statistics
from rag_nodes.text.spans import Span


def at(start: int, end: int, document: str = "doc") -> Passage:
    return Passage(document, Span(start, end))


GOLD = [at(100, 200)]


@pytest.mark.parametrize(
    ("retrieved", "expected_recall", "expected_precision", "expected_iou"),
    [
        ([at(100, 200)], 1.0, 1.0, 1.0),
        ([at(0, 400)], 1.0, 0.25, 0.25),
        ([at(150, 250)], 0.5, 0.5, 50 / 150),
        ([at(0, 50)], 0.0, 0.0, 0.0),
        ([at(100, 200, "other")], 0.0, 0.0, 0.0),
        ([], 0.0, 0.0, 0.0),
        ([at(100, 150), at(150, 200)], 1.0, 1.0, 1.0),
        ([at(100, 200), at(100, 200)], 1.0, 0.5, 0.5),
    ],
)
def test_passages_are_scored_by_characters_and_repeats_are_paid_for(
    retrieved: list[Passage],
    expected_recall: float,
    expected_precision: float,
    expected_iou: float,
) -> None:
    assert recall(retrieved, GOLD) == pytest.approx(expected_recall)
    assert precision(retrieved, GOLD) == pytest.approx(expected_precision)
    assert iou(retrieved, GOLD) == pytest.approx(expected_iou)


def test_gold_passages_that_overlap_count_once() -> None:
    assert recall([at(0, 100)], [at(0, 60), at(40, 100)]) == 1.0


def test_without_gold_there_is_nothing_to_miss() -> None:
    assert recall([at(0, 10)], []) == 1.0
    assert iou([], []) == 1.0


def test_omega_is_the_precision_of_a_perfect_retriever() -> None:
    chunks = [at(n, n + 100) for n in range(0, 1000, 100)]
    assert precision_omega(chunks, [at(120, 170)]) == pytest.approx(0.5)
    assert precision_omega(chunks, [at(180, 220)]) == pytest.approx(0.2)


def test_the_first_hit_is_counted_from_one() -> None:
    assert first_hit([at(0, 10), at(190, 300)], GOLD) == 2
    assert first_hit([at(0, 100)], GOLD) is None


def test_chunk_statistics() -> None:
    sizes = chunk_statistics([10, 20, 60])
    assert (sizes.chunks, sizes.tokens, sizes.smallest, sizes.largest) == (3, 90, 10, 60)
    assert (sizes.mean, sizes.median) == (30.0, 20.0)
    assert sizes.deviation == pytest.approx(21.6025, abs=1e-4)
    assert chunk_statistics([]).chunks == 0
