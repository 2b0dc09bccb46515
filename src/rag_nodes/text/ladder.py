"""What of retrieved text answers a question, sentence by sentence, without a chunk size.

Each sentence is scored by the question's words in windows around it, from the sentence alone to all
that may be read: a ladder of widths. How rare a word is counts anew at each width and among the
candidates only. A word that fills every wide window says nothing there, and the narrow rungs
decide; a rare one keeps its weight, and the wide rungs do. So no width has to be chosen.

The weight of a word in a window is that of BM25 (Robertson and Zaragoza, "The Probabilistic
Relevance Framework", 2009).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import regex

from rag_nodes.text.filling import Ranked, fill
from rag_nodes.text.function_words import content_words
from rag_nodes.text.sentences import sentence_spans
from rag_nodes.text.spans import Span
from rag_nodes.text.words import words

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

LONGEST_UNIT = 48
"""Words from which a sentence is cut: a table or a list without marks is no unit."""
FIRST_RUNG = 200
"""Letters of the narrowest window above a single sentence; each further one is twice as wide."""
LETTERS_PER_TOKEN = 4
"""Letters of a token, for the width of the widest window."""
GROWTH = 0.85
"""Share of the score of its best sentence that a neighbour must have to join a passage."""
_K1, _B = 1.2, 0.75
_DENSE = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}]")
_DENSE_LETTERS = 3
"""Letters that one character of such a script stands for."""
_WORD_START = regex.compile(r"(?<!\S)\S")


class Run(NamedTuple):
    """Retrieved text without a gap.

    Attributes:
        document: where it is from.
        start: its first character there.
        text: the characters themselves.
    """

    document: str
    start: int
    text: str


class Read(NamedTuple):
    """A passage that is worth reading.

    Attributes:
        run: number of its run.
        span: its characters in the run's document.
        score: of its best sentence.
    """

    run: int
    span: Span
    score: float


class _Units(NamedTuple):
    """The sentences of all runs, one after another.

    Attributes:
        runs: number of the run of each.
        spans: characters of each in its run.
        letters: of each.
        counts: how often each has each word of the question.
    """

    runs: NDArray[np.intp]
    spans: list[Span]
    letters: Floats
    counts: Floats


def best_passages(question: str, runs: Sequence[Run], budget: int) -> list[Read]:
    """What to read of retrieved text for a question, best first, until a budget is full.

    Args:
        question: in the user's words.
        runs: what was retrieved, without gaps within and without overlap between them.
        budget: tokens of all passages together.

    Returns:
        Disjoint passages; of the last one only what fits is worth its tokens.
    """
    terms = list(dict.fromkeys(content_words(question)))
    units = _units(runs, terms)
    if not units.spans:
        return []
    scores = _scores(units, budget * LETTERS_PER_TOKEN)
    return _packed(runs, units, scores, budget)


def joined_runs(pieces: Iterable[Run]) -> list[Run]:
    """Pieces of documents that overlap, or have nothing between them, as one run each.

    In the order of the documents' first pieces, and of the places in them.
    """
    by_document: dict[str, list[Run]] = {}
    for piece in pieces:
        by_document.setdefault(piece.document, []).append(piece)
    found: list[Run] = []
    for own in by_document.values():
        found += _joined(sorted(own, key=lambda piece: (piece.start, -len(piece.text))))
    return found


def _joined(pieces: Sequence[Run]) -> Iterator[Run]:
    current: Run | None = None
    for piece in pieces:
        if current is None:
            current = piece
            continue
        end = current.start + len(current.text)
        if piece.start > end:
            yield current
            current = piece
        elif piece.start + len(piece.text) > end:
            current = current._replace(text=current.text + piece.text[end - piece.start :])
    if current is not None:
        yield current


def _units(runs: Sequence[Run], terms: Sequence[str]) -> _Units:
    numbers: list[int] = []
    spans: list[Span] = []
    counts: list[list[int]] = []
    known = {term: at for at, term in enumerate(terms)}
    for number, run in enumerate(runs):
        for span in _sentences(run.text):
            numbers.append(number)
            spans.append(span)
            counts.append(_counted(span.of(run.text), known))
    letters = [
        float(_letters(span.of(runs[number].text)))
        for number, span in zip(numbers, spans, strict=True)
    ]
    shape = (len(spans), len(terms))
    return _Units(
        np.array(numbers, np.intp), spans, np.array(letters), np.array(counts, float).reshape(shape)
    )


def _sentences(text: str) -> Iterator[Span]:
    """Whole sentences; one of too many words in equal parts."""
    for span in sentence_spans(text):
        starts = [match.start() for match in _WORD_START.finditer(text, span.start, span.end)]
        parts = -(-len(starts) // LONGEST_UNIT)
        if parts <= 1:
            yield span
            continue
        cuts = [starts[len(starts) * part // parts] for part in range(1, parts)]
        for start, end in zip((span.start, *cuts), (*cuts, span.end), strict=True):
            yield Span(start, end)


def _counted(text: str, terms: Mapping[str, int]) -> list[int]:
    counts = [0] * len(terms)
    for word in words(text):
        at = terms.get(word)
        if at is not None:
            counts[at] += 1
    return counts


def _letters(text: str) -> int:
    if text.isascii():
        return len(text)
    return len(text) + (_DENSE_LETTERS - 1) * len(_DENSE.findall(text))


def _scores(units: _Units, widest: int) -> Floats:
    """The sum over all widths of what BM25 says of the window around each unit."""
    scores = np.zeros(len(units.spans))
    for width in _rungs(widest):
        first, last = _windows(units, width)
        counts = _sums(units.counts, first, last)
        lengths = _sums(units.letters[:, None], first, last)[:, 0]
        holding = (counts > 0).sum(0)
        rarity = np.log(1 + (len(scores) - holding + 0.5) / (holding + 0.5))
        norm = _K1 * (1 - _B + _B * lengths / lengths.mean())
        scores += (rarity * (_K1 + 1) * counts / (counts + norm[:, None])).sum(1)
    return scores


def _rungs(widest: int) -> Iterator[int]:
    """0 for the unit alone, then doubling, and the whole budget."""
    yield 0
    width = FIRST_RUNG
    while width < widest:
        yield width
        width *= 2
    yield widest


def _windows(units: _Units, width: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Of each unit the first and behind the last unit whose middle is in its window."""
    numbers = np.arange(len(units.spans))
    if width == 0:
        return numbers, numbers + 1
    ends = np.cumsum(units.letters)
    # Runs are put so far apart that no window reaches into another.
    middles = ends - units.letters / 2 + units.runs * (ends[-1] + 2.0 * width)
    first = np.searchsorted(middles, middles - width / 2, "left")
    last = np.searchsorted(middles, middles + width / 2, "right")
    return first, last


def _sums(values: Floats, first: NDArray[np.intp], last: NDArray[np.intp]) -> Floats:
    """Sums of rows `first` to `last` (excluded)."""
    before = np.vstack([np.zeros((1, values.shape[1])), np.cumsum(values, axis=0)])
    sums: Floats = before[last] - before[first]
    return sums


def _packed(runs: Sequence[Run], units: _Units, scores: Floats, budget: int) -> list[Read]:
    """Passages grown around the best sentences, until they fill the budget."""
    taken = np.zeros(len(scores), bool)
    passages: list[Read] = []
    used = 0
    for seed in np.argsort(-scores, kind="stable"):
        if used >= budget:
            break
        if taken[seed]:
            continue
        low, high = _grown(int(seed), units, scores, taken, (budget - used) * LETTERS_PER_TOKEN)
        taken[low:high] = True
        run = int(units.runs[seed])
        begin = runs[run].start
        span = Span(begin + units.spans[low].start, begin + units.spans[high - 1].end)
        passages.append(Read(run, span, float(scores[seed])))
        used = _filled(runs, passages, budget)
    return passages


def _grown(
    seed: int, units: _Units, scores: Floats, taken: NDArray[np.bool_], letters: float
) -> tuple[int, int]:
    """The units around a seed: the better neighbour joins while it is good enough."""
    low, high = seed, seed + 1
    enough = GROWTH * scores[seed]
    while units.letters[low:high].sum() < letters:
        before = _free(low - 1, seed, units, taken)
        after = _free(high, seed, units, taken)
        left = scores[low - 1] if before else -1.0
        right = scores[high] if after else -1.0
        if max(left, right) < enough:
            break
        low, high = (low - 1, high) if left >= right else (low, high + 1)
    return low, high


def _free(at: int, seed: int, units: _Units, taken: NDArray[np.bool_]) -> bool:
    """Whether a unit is there, of the same run, and in no passage yet."""
    inside = 0 <= at < len(units.spans)
    return bool(inside and units.runs[at] == units.runs[seed] and not taken[at])


def _filled(runs: Sequence[Run], passages: Sequence[Read], budget: int) -> int:
    """Tokens of the passages so far, as a budget counts them."""
    ranked = (
        Ranked(
            runs[one.run].document,
            one.span,
            runs[one.run].text[
                one.span.start - runs[one.run].start : one.span.end - runs[one.run].start
            ],
        )
        for one in passages
    )
    return fill(ranked, budget).tokens
