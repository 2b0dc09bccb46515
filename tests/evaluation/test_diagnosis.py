"""Each miss has the one reason that explains it."""

import pytest

from rag_nodes.evaluation.dataset import Question
from rag_nodes.evaluation.diagnosis import REMEDIES, outcome_of
from rag_nodes.evaluation.metrics import Passage
from rag_nodes.evaluation.report import Outcome
from rag_nodes.evaluation.scoring import ChunkMap, ContextRead
from rag_nodes.query import QueryOptions
from rag_nodes.text.filling import Ranked
from rag_nodes.text.spans import Span
from rag_nodes.text.tokens import count_tokens

CHUNKED, BY_SENTENCE = QueryOptions(), QueryOptions(granularity="sentences")
FILTERED = QueryOptions(similarity_cutoff=0.9)
WORDS = [f"word{number:03d}" for number in range(200)]
TEXT = " ".join(WORDS)
TEXTS = {"d": TEXT}


def words(first: int, last: int) -> Span:
    """The span of some words, the last one included."""
    return Span(first * 8, last * 8 + 7)


def miss_question(*answers: tuple[Span, ...], ranking: list[Span]) -> Outcome:
    """Why a question is missed whose answers are passages of several spans."""
    gold = tuple(tuple(Passage("d", span) for span in each) for each in answers)
    ranked = [Ranked("d", span, span.of(TEXT)) for span in ranking]
    chunks = ChunkMap.of(("d", chunk) for chunk in CHUNKS)
    read = ContextRead.of(ranked, 60)
    return outcome_of(Question("q", "?", gold), {}, read, chunks, TEXTS, CHUNKED, rankings=[ranked])


def reason(
    gold: Span,
    chunks: list[Span | None],
    ranking: list[Span],
    *,
    budget: int = 60,
    options: QueryOptions = CHUNKED,
    lists_all: bool = True,
    not_located_in: str = "d",
) -> str | None:
    ranked = [Ranked("d", span, span.of(TEXT)) for span in ranking]
    outcome = outcome_of(
        Question("q", "?", ((Passage("d", gold),),)),
        {},
        ContextRead.of(ranked, budget),
        ChunkMap.of(("d" if span else not_located_in, span) for span in chunks),
        TEXTS,
        options,
        rankings=[ranked],
        lists_all=lists_all,
    )
    assert outcome.reason is None or outcome.reason in REMEDIES
    return outcome.reason


FIRST, SECOND, THIRD = words(0, 19), words(20, 39), words(40, 59)
CHUNKS: list[Span | None] = [FIRST, SECOND, THIRD]


@pytest.mark.parametrize(
    ("gold", "chunks", "ranking", "expected"),
    [
        (words(2, 6), CHUNKS, [FIRST, SECOND], None),
        (words(22, 26), CHUNKS, [FIRST, THIRD, SECOND], "ranked low"),
        (words(17, 22), CHUNKS, [FIRST, THIRD, SECOND], "split"),
        (words(17, 22), CHUNKS, [THIRD, FIRST, SECOND], "ranked low"),
        (words(150, 150), [FIRST, words(20, 199)], [FIRST, words(20, 199)], "diluted"),
        (words(150, 150), [words(146, 151)], [FIRST, SECOND, words(146, 151)], "ranked low"),
        (words(100, 104), CHUNKS, [FIRST, SECOND], "not in the index"),
        (words(100, 104), [*CHUNKS, None], [FIRST, SECOND], "not placeable"),
        (words(0, 59), CHUNKS, [FIRST, SECOND, THIRD], "too long"),
    ],
)
def test_a_miss_has_one_reason(
    gold: Span, chunks: list[Span | None], ranking: list[Span], expected: str | None
) -> None:
    assert reason(gold, chunks, ranking) == expected


def test_chunks_that_nobody_listed_may_hold_the_answer_and_so_may_any_without_a_place() -> None:
    gold = words(100, 104)
    assert reason(gold, CHUNKS, [FIRST, SECOND], lists_all=False) == "ranked low"
    assert reason(gold, CHUNKS, [FIRST, SECOND], lists_all=False, budget=3) == "too long"
    assert reason(words(37, 42), [FIRST, SECOND], [SECOND], lists_all=False) == "split"
    for lists_all in (True, False):
        cause = reason(
            gold, [*CHUNKS, None], [FIRST], lists_all=lists_all, not_located_in="another's"
        )
        assert cause == "not placeable"


def test_an_answer_of_just_the_budget_is_not_too_long_for_it() -> None:
    tokens = count_tokens(FIRST.of(TEXT))
    assert reason(FIRST, CHUNKS, [SECOND, FIRST], budget=tokens) == "ranked low"
    assert reason(FIRST, CHUNKS, [SECOND, FIRST], budget=tokens - 1) == "too long"


def test_an_answer_is_split_where_one_of_its_passages_is() -> None:
    outcome = miss_question((words(2, 3), words(38, 41)), ranking=[FIRST, THIRD, SECOND])
    assert outcome.reason == "split"


def test_an_answer_that_was_not_retrieved_is_looked_for_deeper_down() -> None:
    asked = Question("q", "?", ((Passage("d", words(22, 26)),),))
    ranked = [Ranked("d", span, span.of(TEXT)) for span in (FIRST, THIRD, SECOND)]
    miss = outcome_of(
        asked, {}, ContextRead.of(ranked[:1], 60), ChunkMap.of(("d", chunk) for chunk in CHUNKS),
        TEXTS, FILTERED, rankings=[[], ranked],
    )  # fmt: skip
    assert (miss.rank, miss.reason) == (3, "ranked low")


def test_a_miss_by_a_filter_is_no_miss_of_the_ranking() -> None:
    assert reason(words(22, 26), CHUNKS, [FIRST], options=FILTERED) == "filtered"
    assert reason(words(22, 26), CHUNKS, [FIRST]) == "ranked low"


def test_boundaries_explain_no_miss_if_sentences_are_read() -> None:
    assert reason(words(17, 22), CHUNKS, [words(15, 19)], options=BY_SENTENCE) == "read in part"
    assert reason(words(17, 22), CHUNKS, [THIRD], options=BY_SENTENCE) == "ranked low"
    diluted = [FIRST, words(20, 199)]
    assert reason(words(150, 150), diluted, [FIRST], options=BY_SENTENCE) == "ranked low"


def test_a_miss_in_a_chunk_that_sentences_were_selected_from_was_not_ranked_low() -> None:
    budget = count_tokens(FIRST.of(TEXT))
    for ranking, expected in (([FIRST, SECOND], "not selected"), ([FIRST], "ranked low")):
        cause = reason(words(22, 26), CHUNKS, ranking, options=BY_SENTENCE, budget=budget)
        assert cause == expected


def test_the_rank_and_the_chunks_that_hold_the_answer_are_named() -> None:
    outcome = miss_question((words(18, 21),), ranking=[THIRD, SECOND, FIRST])
    assert outcome.rank == 2
    assert outcome.chunks == (("d", *FIRST), ("d", *SECOND))


def test_diagnosis_uses_the_best_covered_answer() -> None:
    answers = (words(100, 104),), (words(18, 21),)
    assert miss_question(*answers, ranking=[FIRST, THIRD, SECOND]).reason == "split"
