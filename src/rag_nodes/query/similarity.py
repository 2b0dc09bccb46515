"""Similarity of chunks that sentence selection counts, and the test of what a model's tells.

A model of another language than the text gives similarities that are noise. So each embedding model
is tested once per language and process: it embeds eight questions and eight answers, and knows the
language if it finds the right answer for most of the questions.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from functools import partial
from importlib.resources import files
from math import isclose, isfinite
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rag_nodes.core.errors import CancelledError
from rag_nodes.core.keys import words_of
from rag_nodes.core.processes import unless_interrupted
from rag_nodes.models import failure_of
from rag_nodes.text.passages import LEAST_WEIGHT

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rag_nodes.models import Models
    from rag_nodes.store import Hit

logger = logging.getLogger(__name__)

_LANGUAGES: dict[str, Any] = json.loads(
    (files("rag_nodes.query") / "language_pairs.json").read_text(encoding="utf-8")
)
PAIRS: dict[str, list[tuple[str, str]]] = {
    language: [(question, answer) for question, answer in each["pairs"]]
    for language, each in _LANGUAGES.items()
}
"""Eight questions and their answers, which share no content word, by ISO 639-1 code."""
NAMES: dict[str, str] = {language: each["name"] for language, each in _LANGUAGES.items()}
"""English names of these languages."""
_FEWEST_NODES = 3
_ENOUGH = 6
"""Questions whose answer a model must find to know a language."""
RETRY_SECONDS = 600.0
"""Seconds after which a model is tested again if the request failed."""


class Counted(NamedTuple):
    """The similarity that counts beside the words.

    Attributes:
        of: similarity of a retrieved chunk; None if it is unknown.
        knows: True if similarity tells the meaning of texts in a language, False if it may be
            noise, None to let words decide alone.
    """

    of: Callable[[Hit], float | None]
    knows: Callable[[str], bool | None]

    def largest(self, language: str, weight: float) -> float:
        """Return the largest weight in a language, of which `weight` is that of a known one."""
        is_known = self.knows(language)
        return 0.0 if is_known is None else weight if is_known else LEAST_WEIGHT


def counted_by(models: Models) -> Counted | None:
    """Return the similarity that counts for what a model found; None if it tells no meaning."""
    if not models.embeds_meaning:
        return None
    return Counted(lambda hit: hit.similarity, partial(knows, models))


def counted_in(scores: Mapping[int, float | None]) -> Counted | None:
    """Return the similarity that counts for the nodes of any retriever; None for fewer than three.

    It is their score, from 0 for the lowest to 1, or their rank if scores are missing or all equal.
    The model behind them cannot be tested, so it counts in English only, the language of most.

    Args:
        scores: score of each node by its rank.
    """
    if len(scores) < _FEWEST_NODES:
        return None
    by_rank = {
        rank: score for rank, score in scores.items() if score is not None and isfinite(score)
    }
    low, high = (min(by_rank.values()), max(by_rank.values())) if by_rank else (0.0, 0.0)
    if len(by_rank) < len(scores) or isclose(low, high) or not isfinite(high - low):
        by_rank, low, high = {rank: -float(rank) for rank in scores}, -float(max(scores)), -1.0
    by_rank = {rank: (score - low) / (high - low) for rank, score in by_rank.items()}

    def of(hit: Hit) -> float | None:
        return by_rank[hit.rank] if hit.origin == "search" else None

    return Counted(of, lambda language: True if language == "en" else None)


class Answered(NamedTuple):
    """The result of a test: questions whose answer was found, out of `asked`."""

    right: int
    asked: int

    @property
    def is_enough(self) -> bool:
        """Return True if the model knows the language."""
        return self.right >= _ENOUGH


class _Test:
    """The test of one model in one language, with its result as soon as there is one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._due = 0.0
        self.result: Answered | None = None

    def run(self, models: Models, language: str) -> None:
        """Ask the model, unless somebody did while this thread waited; log a failure."""
        with self._lock:
            if self.result or time.monotonic() < self._due:
                return
            try:
                self.result = tested(models, language)
            except CancelledError:
                raise
            except Exception as error:  # noqa: BLE001 -- each model has its own; no question fails
                self._due = time.monotonic() + RETRY_SECONDS
                failure = failure_of(error, models.embedding, name=models.embedding_name)
                logger.warning(
                    "the test if %s knows %s failed, so its similarity counts little there: %s",
                    models.embedding_name,
                    NAMES[language],
                    words_of(failure),
                )

    @property
    def is_due(self) -> bool:
        """Return True if the model has to be asked."""
        return self.result is None and time.monotonic() >= self._due


_TESTS: dict[tuple[str, type, str], _Test] = {}
"""By name of the vector space, class of the model and language, for the whole process."""


def knows(models: Models, language: str) -> bool:
    """Return True if an embedding model knows a language; the first call asks the model.

    Raises:
        CancelledError: see `interruptible`.
    """
    if language not in PAIRS:
        return False
    key = models.embedding_name, type(models.embedding), language
    test = _TESTS.setdefault(key, _Test())
    if test.is_due:
        run = partial(test.run, models, language)
        if models.embeds_offline:
            run()
        else:
            unless_interrupted(run, "the test of the embedding model")
    return test.result is not None and test.result.is_enough


def tested(models: Models, language: str) -> Answered:
    """Embed the questions and answers of a language, and count the questions that find theirs.

    Questions are embedded as questions, since many models embed these in another way than texts.

    Raises:
        Exception: as the model raises it, or because its vectors are no vectors.
    """
    pairs = PAIRS[language]
    answers = models.embedding.get_text_embedding_batch([answer for _, answer in pairs])
    questions = [models.embedding.get_query_embedding(question) for question, _ in pairs]
    vectors = np.array([questions, answers], float)
    vectors /= np.maximum(np.linalg.norm(vectors, axis=2, keepdims=True), np.finfo(float).tiny)
    nearest = (vectors[0] @ vectors[1].T).argmax(1)
    return Answered(int((nearest == np.arange(len(pairs))).sum()), len(pairs))
