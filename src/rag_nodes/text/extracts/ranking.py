"""A question and passages in, the sentences that answer best out: exact spans, no model.

Each sentence is weighed by the rare words it shares with the question; one that adds a word not
yet covered beats one that repeats. What comes out is quoted, never reworded.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from math import log
from typing import TYPE_CHECKING

from rag_nodes.core.errors import ConfigurationError
from rag_nodes.core.several import several
from rag_nodes.text.extracts.candidates import CandidateSentence, candidates
from rag_nodes.text.languages import content_words, question_languages, stem_of
from rag_nodes.text.tokens import TokenIndex

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_MIN_SCORE = 0.2
"""Share of the question's weight below which a sentence answers nothing."""
_MIN_RATIO = 0.45
"""Share of the first extract's score that later ones need."""
_LOOSE_MATCH = 0.7
"""Weight of a word with the same stem or beginning, such as `reads` for `reading`."""
_MIN_BEGINNING = 4
"""Letters two words must share to match loosely."""
_AROUND = 0.3
"""Weight of question words that only the sentence before or the heading has."""
_MIN_WEIGHT = 1.0
"""Added to every asked word, so that the subject of all passages counts for something."""
_REPEATED = 0.8
"""Weight of question words that an earlier extract covers already."""
_RANK_PRIOR = 0.5
"""Gain of the first passage's sentences over those of the last."""
_PHRASE = 0.5
"""Gain of a sentence that has all neighbouring words of the question side by side."""
_SHORT = 6
"""Words up to which a sentence is only the same as another when all of it is."""
_LENGTH_PENALTY = 0.1
"""Penalty of a sentence of twice the average length."""

_QUOTED = 3
"""Sentences that a summary of a text's own words has at most."""


@dataclass(frozen=True, slots=True)
class Extract:
    """A quote that answers: characters of the passage of a number.

    Its score is the share of the question's weighted words that it covers, from 0 to 1.
    """

    passage: int
    start: int
    end: int
    score: float


def extract(
    question: str, passages: str | Sequence[str], *, scores: Sequence[float] = (), limit: int = 3
) -> list[Extract]:
    """The best sentences of the passages, best first.

    Headings, rules, code and page boilerplate are passed over; a sentence that several passages
    hold counts once; one that opens with a pronoun brings the sentence before it along.

    Args:
        question: in any language.
        passages: in rank order; earlier ones get a little credit.
        scores: one per passage, of any scale: the best one's sentences count twice, those of a
            passage without a score above 0 once; () for none.
        limit: extracts at most.

    Raises:
        ConfigurationError: there are scores, but not one per passage.

    Returns:
        Extracts, best first, `[]` when no sentence covers enough of the question.
    """
    passages = several(passages)
    if scores and len(scores) != len(passages):
        raise ConfigurationError(
            f"{len(scores)} scores for {len(passages)} passages: give one score per passage, or ()"
        )
    asked = dict.fromkeys(content_words(question))
    pool = _without_repeats(
        candidate
        for number, passage in enumerate(passages)
        for candidate in candidates(number, passage)
    )
    if not asked or not pool:
        return []
    matches = _matches(question, list(asked), pool)
    weights = _weights(list(asked), matches)
    factors = _factors(question, pool, len(passages))
    best = max(scores, default=0.0)
    if best > 0:
        factors = [
            factor * (1 + max(0.0, scores[candidate.passage]) / best)
            for factor, candidate in zip(factors, pool, strict=True)
        ]
    chosen = _chosen(pool, matches, weights, factors, max(limit, 0))
    return [
        Extract(candidate.passage, candidate.start, candidate.end, round(score, 4))
        for candidate, score in chosen
    ]


def own_summary(text: str, heading: str, max_tokens: int) -> str:
    """Up to three sentences of a text, in its order, each with its blanks collapsed.

    Those that say most about the heading come first, then those the text opens with. A text
    without sentences, such as code, gives its beginning.

    Args:
        text: not blank.
        heading: what it is about, "" when unknown.
        max_tokens: tokens the summary may hold; at least one sentence is truncated to them.
    """
    index = TokenIndex(text)
    chosen: list[tuple[int, int]] = []
    room = max_tokens
    about = [(extract.start, extract.end) for extract in extract(heading, [text], limit=_QUOTED)]
    opening = [(candidate.start, candidate.end) for candidate in candidates(0, text)[:_QUOTED]]
    for start, end in (*about, *opening):
        tokens = index.count(start, end) + 1  # and the blank that joins them
        apart = all(end <= other[0] or start >= other[1] for other in chosen)
        if apart and tokens <= room and len(chosen) < _QUOTED:
            chosen.append((start, end))
            room -= tokens
    if not chosen:
        start = len(text) - len(text.lstrip())
        chosen = [(start, max(index.fit(start, max_tokens), start + 1))]
    return " ".join(" ".join(text[start:end].split()) for start, end in sorted(chosen))


def _without_repeats(ranked: Iterable[CandidateSentence]) -> list[CandidateSentence]:
    """Each sentence once, at its best rank; overlapping chunks repeat them."""
    first: dict[tuple[str, ...], CandidateSentence] = {}
    for candidate in ranked:
        first.setdefault(candidate.words, candidate)
    return list(first.values())


def _matches(question: str, asked: list[str], pool: list[CandidateSentence]) -> list[list[float]]:
    """Per sentence and asked word: 1 where it is there, less where a relative or neighbour has it.

    The second list of a candidate's words is its surroundings: heading and sentence before.
    """
    languages = question_languages(question)
    stems = {word: _stems(word, languages) for word in asked}
    scores: dict[str, list[float]] = {}
    for word in {word for candidate in pool for word in (*candidate.words, *candidate.around)}:
        its = _stems(word, languages)
        alike = (bool(its & stems[other]) or _begin_alike(word, other) for other in asked)
        scores[word] = [
            1.0 if word == other else _LOOSE_MATCH * loose
            for other, loose in zip(asked, alike, strict=True)
        ]
    rows = []
    for candidate in pool:
        own = _best(candidate.words, scores, len(asked))
        near = _best(candidate.around, scores, len(asked))
        rows.append([max(here, _AROUND * nearby) for here, nearby in zip(own, near, strict=True)])
    return rows


def _best(terms: tuple[str, ...], scores: dict[str, list[float]], size: int) -> list[float]:
    return [
        max(column) for column in zip([0.0] * size, *map(scores.__getitem__, terms), strict=True)
    ]


@lru_cache(maxsize=1 << 14)
def _stems(word: str, languages: tuple[str, ...]) -> frozenset[str]:
    stems = (stem_of(word, language) for language in languages)
    return frozenset(stem for stem in stems if stem)


def _begin_alike(word: str, asked: str) -> bool:
    shared = max(_MIN_BEGINNING, (2 * max(len(word), len(asked)) + 2) // 3)
    return word[:shared] == asked[:shared] and len(asked) >= shared


def _weights(asked: list[str], matches: list[list[float]]) -> list[float]:
    """Inverse document frequency of each asked word over the sentences, summing to 1."""
    size = len(matches)
    weights = []
    for column in range(len(asked)):
        having = sum(row[column] > _AROUND for row in matches)
        weights.append(_MIN_WEIGHT + log(1 + (size - having + 0.5) / (having + 0.5)))
    total = sum(weights)
    return [weight / total for weight in weights]


def _chosen(
    pool: list[CandidateSentence],
    matches: list[list[float]],
    weights: list[float],
    factors: list[float],
    limit: int,
) -> list[tuple[CandidateSentence, float]]:
    """Greedy: after each choice, what it covers counts less for the rest."""
    covered = [0.0] * len(weights)
    chosen: list[tuple[CandidateSentence, float]] = []
    left = set(range(len(pool)))
    threshold = _MIN_SCORE
    while left and len(chosen) < limit:
        gains = {
            number: factors[number] * _share(matches[number], weights, covered) for number in left
        }
        best = min(left, key=lambda number: (-gains[number], number))
        left.discard(best)
        score = _share(matches[best], weights)
        if score < threshold or _is_said(pool[best], chosen):
            continue
        threshold = max(threshold, _MIN_RATIO * score)
        covered = [max(old, new) for old, new in zip(covered, matches[best], strict=True)]
        chosen.append((pool[best].with_antecedent(), score))
    return chosen


def _is_said(candidate: CandidateSentence, chosen: list[tuple[CandidateSentence, float]]) -> bool:
    """Return True if a chosen sentence holds this one, or the other way round.

    Chunks that overlap repeat sentences, and those that split anywhere repeat them in part, down to
    half a word at either end, which is why the outermost words do not count.
    """
    return any(
        _inner(candidate) in _all(other) or _inner(other) in _all(candidate) for other, _ in chosen
    )


def _all(candidate: CandidateSentence) -> str:
    return f" {' '.join(candidate.words)} "


def _inner(candidate: CandidateSentence) -> str:
    return (
        f" {' '.join(candidate.words[1:-1] if len(candidate.words) > _SHORT else candidate.words)} "
    )


def _factors(question: str, pool: list[CandidateSentence], passages: int) -> list[float]:
    """Return a factor for each sentence, from its rank, its length and the question's phrases."""
    average = sum(len(candidate.words) for candidate in pool) / len(pool)
    phrases = set(pairwise(content_words(question)))
    factors = []
    for candidate in pool:
        rank = 1 + _RANK_PRIOR * (1 - candidate.passage / passages)
        length = 1 + _LENGTH_PENALTY * max(0.0, len(candidate.words) / average - 1)
        factors.append(rank / length * (1 + _PHRASE * _phrases(candidate.words, phrases)))
    return factors


def _phrases(terms: tuple[str, ...], phrases: set[tuple[str, str]]) -> float:
    """Share of the question's word pairs a sentence has, one word between them allowed."""
    if not phrases:
        return 0.0
    pairs = {*pairwise(terms), *zip(terms, terms[2:], strict=False)}
    return len(phrases & pairs) / len(phrases)


def _share(row: list[float], weights: list[float], covered: Sequence[float] = ()) -> float:
    """Part of the question's weight that a sentence covers, less for what is covered already."""
    before = covered or [0.0] * len(row)
    return sum(
        weight * (here if here > done else here * _REPEATED)
        for here, done, weight in zip(row, before, weights, strict=True)
    )
