"""What one question's ranking is worth."""

import pytest

from rag_nodes.evaluation.dataset import Question
from rag_nodes.evaluation.metrics import Passage, first_hit, iou, precision, recall
from rag_nodes.evaluation.scoring import ChunkMap, ContextRead, score
from rag_nodes.evaluation.sizes import chunk_statistics
from rag_nodes.text.filling import Ranked
from rag_nodes.text.spans import Span
from rag_nodes.text.tokens import count_tokens

TEXT = "Alpha begins here. Beta follows it.\n\nGamma comes third. Delta is the last."
TEXTS = {"d": TEXT}
SENTENCES = [Span(0, 18), Span(19, 35), Span(37, 55), Span(56, len(TEXT))]


def rank_sentences(*numbers: int) -> list[Ranked]:
    return [Ranked("d", SENTENCES[n], SENTENCES[n].of(TEXT)) for n in numbers]


def question(*answers: tuple[Span, ...]) -> Question:
    return Question("q", "?", tuple(tuple(Passage("d", span) for span in each) for each in answers))


def score_ranking(
    asked: Question, ranking: list[Ranked], chunks: ChunkMap, budgets: tuple[int, ...],
    ks: tuple[int, ...],
) -> dict[str, float]:  # fmt: skip
    reads = [ContextRead.of(ranking, budget) for budget in budgets]
    return score(asked, ranking, reads, chunks, TEXTS, ks)


def scores_of(
    asked: Question, *numbers: int, budgets: tuple[int, ...] = (100,)
) -> dict[str, float]:
    chunks = ChunkMap.of(("d", span) for span in SENTENCES)
    return score_ranking(asked, rank_sentences(*numbers), chunks, budgets, (1, 2))


ONE, _, THREE, FOUR = SENTENCES
HALF = Span(56, 56 + FOUR.length // 2)
WORTH: dict[str, tuple[Question, list[int], dict[str, float]]] = {
    "an answer across two chunks is read whole where only blank space is between them": (
        question((Span(19, 55),)), [1, 2], {"recall@100": 1.0, "recall@k1": 16 / 36},
    ),
    "of several answers the one counts that was read best": (
        question((ONE,), (FOUR,)), [3], {"recall@100": 1.0, "precision@100": 1.0, "iou@100": 1.0},
    ),
    "of several answers the one counts that was cut best": (
        question((HALF,), (ONE,)), [0], {"omega": 1.0},
    ),
    "all passages of an answer are wanted": (
        question((ONE, FOUR)), [0], {"recall@100": 18 / (18 + FOUR.length)},
    ),
    "ranks say where the first chunk with gold stands": (
        question((THREE,)), [0, 2, 1],
        {"mrr": 0.5, "hit@k1": 0.0, "hit@k2": 1.0, "ndcg@k2": 1 / 1.5849625},
    ),
    "omega is the precision of reading just the chunks that hold the answer": (
        question((HALF,)), [0], {"omega": HALF.length / FOUR.length},
    ),
    "what is retrieved twice is paid twice at ranks but read once in a budget": (
        question((ONE,)), [0, 0], {"precision@k2": 0.5, "precision@100": 1.0},
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", WORTH)
def test_metrics_of_a_ranking(what: str) -> None:
    asked, ranking, expected = WORTH[what]
    scores = scores_of(asked, *ranking)
    assert {name: scores[name] for name in expected} == pytest.approx(expected)


def test_an_answer_of_which_a_letter_is_missing_is_not_found() -> None:
    short = Ranked("d", Span(0, 17), Span(0, 17).of(TEXT))
    chunks = ChunkMap.of([("d", short.span)])
    scores = score_ranking(question((SENTENCES[0],)), [short], chunks, (100,), (1,))
    assert scores["recall@100"] == pytest.approx(17 / 18)


def test_text_on_both_sides_of_read_text_counts() -> None:
    around = Ranked("d", Span(0, len(TEXT)), TEXT)
    chunks = ChunkMap.of(("d", span) for span in SENTENCES)
    asked = question((SENTENCES[0], SENTENCES[3]))
    scores = score_ranking(asked, [*rank_sentences(1), around], chunks, (100,), (1,))
    assert scores["recall@100"] == 1.0


def test_a_budget_is_filled_exactly_and_no_more_is_read() -> None:
    budget = count_tokens(SENTENCES[0].of(TEXT)) + 2
    scores = scores_of(question((SENTENCES[1],)), 0, 1, budgets=(budget,))
    assert 0 < scores[f"recall@{budget}"] < 1
    assert scores[f"tokens@{budget}"] <= budget


def test_gains_are_at_most_one_where_more_is_read_than_the_chunks_that_were_found() -> None:
    around = Ranked("d", Span(0, len(TEXT)), TEXT)
    chunks = ChunkMap.of(("d", span) for span in SENTENCES)
    asked = question((SENTENCES[0],))
    scores = score_ranking(asked, [around, around], chunks, (100,), (2,))
    assert scores["ndcg@k2"] == 1.0


def test_a_long_chunk_that_begins_far_before_an_answer_is_found() -> None:
    chunks = ChunkMap.of([("d", Span(0, 50)), ("d", Span(1, 3)), ("d", Span(10, 12)), ("e", None)])
    assert chunks.holding(Passage("d", Span(40, 45))) == [Span(0, 50)]
    assert chunks.holding(Passage("e", Span(0, 5))) == []


def at(start: int, end: int, document: str = "doc") -> Passage:
    return Passage(document, Span(start, end))


GOLD = [at(100, 200)]


@pytest.mark.parametrize(
    ("retrieved", "shares"),
    [
        ([at(100, 200)], (1.0, 1.0, 1.0)),
        ([at(0, 400)], (1.0, 0.25, 0.25)),
        ([at(150, 250)], (0.5, 0.5, 50 / 150)),
        ([at(0, 50)], (0.0, 0.0, 0.0)),
        ([at(100, 200, "other")], (0.0, 0.0, 0.0)),
        ([], (0.0, 0.0, 0.0)),
        ([at(100, 150), at(150, 200)], (1.0, 1.0, 1.0)),
        ([at(100, 200), at(100, 200)], (1.0, 0.5, 0.5)),
    ],
)
def test_passages_are_scored_by_characters_and_repeats_are_paid_for(
    retrieved: list[Passage], shares: tuple[float, float, float]
) -> None:
    measured_shares = [measure(retrieved, GOLD) for measure in (recall, precision, iou)]
    assert measured_shares == pytest.approx(shares)


def test_gold_passages_that_overlap_count_once_and_without_gold_there_is_nothing_to_miss() -> None:
    assert recall([at(0, 100)], [at(0, 60), at(40, 100)]) == 1.0
    assert recall([at(0, 10)], []) == 1.0
    assert iou([], []) == 1.0


def test_the_first_hit_is_counted_from_one() -> None:
    assert first_hit([at(0, 10), at(190, 300)], GOLD) == 2
    assert first_hit([at(0, 100)], GOLD) is None


def test_chunk_statistics() -> None:
    sizes = chunk_statistics([10, 20, 60])
    assert (sizes.chunks, sizes.tokens, sizes.smallest, sizes.largest) == (3, 90, 10, 60)
    assert (sizes.mean, sizes.median) == (30.0, 20.0)
    assert sizes.deviation == pytest.approx(21.6025, abs=1e-4)
    assert chunk_statistics([]).chunks == 0
