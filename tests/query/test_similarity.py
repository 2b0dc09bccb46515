"""The similarity that counts in sentence selection, and the test of what a model's tells."""

import logging
import threading
from typing import Any

import pytest
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.schema import TextNode

from rag_nodes.core.errors import CancelledError
from rag_nodes.core.processes import Interrupt, interruptible
from rag_nodes.models import Models
from rag_nodes.query import similarity as tests_of_models
from rag_nodes.query.similarity import NAMES, PAIRS, counted_by, counted_in, knows
from rag_nodes.store import Hit
from rag_nodes.text.languages import content_words, stemmed

KNOWN = dict(PAIRS)


class Polyglot(BaseEmbedding):
    """Gives both texts of a pair the same vector, in the languages that it is told to know."""

    languages: tuple[str, ...] = ("en",)
    _requests: list[int] = PrivateAttr(default_factory=list)
    _questions: list[str] = PrivateAttr(default_factory=list)
    _failures: list[Exception] = PrivateAttr(default_factory=list)
    _reached: Any = PrivateAttr(default=None)
    _answer: Any = PrivateAttr(default=None)

    def _get_text_embedding(self, text: str) -> list[float]:
        for language in self.languages:
            for number, pair in enumerate(KNOWN[language]):
                if text in pair:
                    return [float(at == number) for at in range(9)]
        return [0.0] * 8 + [1.0]

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        self._requests.append(len(texts))
        if self._answer is not None:
            self._reached.set()
            self._answer.wait()
        if self._failures:
            raise self._failures.pop()
        return [self._get_text_embedding(text) for text in texts]

    def _get_query_embedding(self, query: str) -> list[float]:
        self._questions.append(query)
        return self._get_text_embedding(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)


@pytest.fixture(autouse=True)
def _untested(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tests_of_models, "_TESTS", {})


@pytest.fixture
def polyglot() -> Polyglot:
    return Polyglot(embed_batch_size=100)


@pytest.fixture
def models(polyglot: Polyglot) -> Models:
    return Models.of(embed_model=polyglot, llm="extractive")


@pytest.mark.parametrize("language", PAIRS)
def test_no_question_shares_a_content_word_with_an_answer(language: str) -> None:
    def stems(text: str) -> set[str]:
        return {stemmed(word, language) for word in content_words(text)}

    assert len(set(PAIRS[language])) == 8
    for question, answer in PAIRS[language]:
        assert not stems(question) & stems(answer)


def test_every_language_with_pairs_has_a_name() -> None:
    assert PAIRS.keys() == NAMES.keys()


def test_a_model_is_asked_once_and_embeds_questions_as_questions(
    models: Models, polyglot: Polyglot
) -> None:
    assert [knows(models, "en") for _ in range(3)] == [True] * 3
    assert polyglot._requests == [8]
    assert polyglot._questions == [question for question, _ in PAIRS["en"]]


def test_each_language_is_tested(models: Models) -> None:
    assert {language for language in PAIRS if knows(models, language)} == {"en"}
    # All vectors of another language are alike: the first answer is the nearest to each question.
    assert tests_of_models.tested(models, "de") == (1, 8)


def test_another_object_of_the_same_model_is_not_asked_again(models: Models) -> None:
    knows(models, "en")
    again = Polyglot(embed_batch_size=100)
    assert knows(Models.of(embed_model=again, llm="extractive"), "en")
    assert again._requests == []


def test_a_language_without_pairs_asks_nothing_and_counts_as_unknown(
    models: Models, polyglot: Polyglot
) -> None:
    assert not knows(models, "fi")
    assert polyglot._requests == []


@pytest.mark.parametrize(("right", "is_known"), [(5, False), (6, True)])
def test_six_of_eight_right_answers_are_enough(
    models: Models, monkeypatch: pytest.MonkeyPatch, right: int, is_known: bool
) -> None:
    pairs = PAIRS["en"]
    strangers = [(f"question {n}", pairs[n][1]) for n in range(right, 8)]
    monkeypatch.setitem(PAIRS, "en", [*pairs[:right], *strangers])
    assert knows(models, "en") is is_known


@pytest.mark.parametrize("vectors", [[[1.0]], [[1.0], [2.0, 3.0]], [["a"]] * 16])
def test_invalid_vectors_fail_the_language_test_only(
    models: Models, monkeypatch: pytest.MonkeyPatch, vectors: list[Any]
) -> None:
    monkeypatch.setattr(Polyglot, "_get_text_embeddings", lambda *_: vectors)
    assert not knows(models, "en")


def test_a_failed_request_is_logged_once_without_its_text_and_repeated_later(
    models: Models,
    polyglot: Polyglot,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    polyglot._failures.append(ValueError("token sk-secret-key"))
    with caplog.at_level(logging.WARNING):
        assert [knows(models, "en") for _ in range(3)] == [False] * 3
    assert polyglot._requests == [8]
    [message] = [record.getMessage() for record in caplog.records]
    assert "English" in message
    assert "sk-secret" not in message
    now = tests_of_models.time.monotonic() + tests_of_models.RETRY_SECONDS
    monkeypatch.setattr(tests_of_models.time, "monotonic", lambda: now)
    assert knows(models, "en")


def test_threads_that_ask_at_the_same_time_make_one_request(
    models: Models, polyglot: Polyglot
) -> None:
    polyglot._reached, polyglot._answer = threading.Event(), threading.Event()
    results: list[bool] = []
    threads = [
        threading.Thread(target=lambda: results.append(knows(models, "en"))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    polyglot._reached.wait()
    polyglot._answer.set()
    for thread in threads:
        thread.join()
    assert results == [True] * 4
    assert polyglot._requests == [8]


def test_a_cancelled_question_does_not_wait_for_the_test(
    models: Models, polyglot: Polyglot
) -> None:
    polyglot._reached, polyglot._answer = threading.Event(), threading.Event()
    interrupt, outcomes = Interrupt(), []

    def ask() -> None:
        with interruptible(interrupt), pytest.raises(CancelledError):
            knows(models, "en")
        outcomes.append("cancelled")

    asking = threading.Thread(target=ask)
    asking.start()
    polyglot._reached.wait()
    interrupt.set()
    asking.join()
    assert outcomes == ["cancelled"]
    polyglot._answer.set()
    assert knows(models, "en")
    assert polyglot._requests == [8]


def test_a_model_that_tells_no_meaning_is_not_asked(offline: Models) -> None:
    assert counted_by(offline) is None


def hit(rank: int, origin: Any = "search") -> Hit:
    return Hit(node=TextNode(text="text"), rank=rank, score=0.5, origin=origin)


def test_the_scores_of_any_retriever_count_by_rank() -> None:
    counted = counted_in({1: 7.0, 2: 3.0, 4: -2.0})
    assert counted is not None
    assert [counted.of(hit(rank)) for rank in (1, 2, 4)] == [1, 5 / 9, 0]
    assert counted.of(hit(1, "neighbour")) is None


@pytest.mark.parametrize(
    "scores",
    [
        [0.5, None, 0.1],
        [0.5, float("nan"), 0.1],
        [0.2] * 3,
        [0.1 + 0.2, 0.3, 0.3],
        [1e308, 0.0, -1e308],
    ],
)
def test_ranks_count_if_scores_are_missing_or_no_numbers_or_all_the_same(
    scores: list[float | None],
) -> None:
    counted = counted_in(dict(enumerate(scores, start=1)))
    assert counted is not None
    assert [counted.of(hit(rank)) for rank in (1, 2, 3)] == [1, 0.5, 0]


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e300])
def test_the_scale_of_scores_is_irrelevant(scale: float) -> None:
    counted = counted_in({1: 3 * scale, 2: 2 * scale, 3: -scale})
    assert counted is not None
    assert [counted.of(hit(rank)) for rank in (1, 2, 3)] == pytest.approx([1, 0.75, 0])


def test_the_scores_of_fewer_than_three_nodes_do_not_count() -> None:
    assert counted_in({1: 0.9, 2: 0.1}) is None


def test_scores_of_any_retriever_count_in_english_only() -> None:
    counted = counted_in({1: 0.9, 2: 0.2, 3: 0.1})
    assert counted is not None
    assert [counted.largest(language, 1.6) for language in ("en", "de", "zh")] == [1.6, 0, 0]


def test_a_model_that_does_not_know_the_language_counts_as_little_as_before(
    models: Models,
) -> None:
    counted = counted_by(models)
    assert counted is not None
    assert [counted.largest(language, 1.6) for language in ("en", "de", "fi")] == [1.6, 0.4, 0.4]
