"""Text in, comparable words out: the one tokenisation of lexical vectors, BM25 and extracts.

A question and a passage meet only where their words compare equal, so everything that ranks by
words has to split them the same way, in the store as in the answer. How often a text has each word
is remembered for the last texts, as lexical vectors and BM25 ask for the same ones within a moment.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from functools import lru_cache
from hashlib import blake2b
from itertools import islice, pairwise
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np
import regex

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from numpy.typing import NDArray


_INVISIBLE = re.compile("[\u00ad\u200c\u200d\u2060\ufeff]")
"""Soft hyphen, joiners and byte order mark: they shape text without being part of a word."""
_NOTE_MARK = re.compile(r"[⁰¹²³⁴-⁹](?<=[^\W\d_⁰¹²³⁴-⁹]{4}.)")
"""A superscript behind a word, which is the number of a note; units and functions are shorter."""
_GROUPED_DIGITS = re.compile(r",(?=\d{3}(?!\d))(?<=\d,)")
"""The comma of `1,250,000`, which a question may well leave out. What stands before it is looked at
last, so that the search is one for commas."""
_DECIMAL = re.compile(r"\.\d")
_APART = "".join(
    character.lower() if character.isalnum() else " " for character in map(chr, range(128))
)
"""Replacement of each ASCII character if no decimal has to be kept. A table and `split` are twice
as fast as a search for words."""
_PLAIN = (
    r"\x00-\xb1\xb4-\xb8\xba\xbb\xbf-\u02ff\u0370-\u0482\u048a-\u0557\u1e00-\u206f"
    r"\u20a0-\u20cf\u20f1-\u214f\u218a-\u245f\u2500-\u2775\u2794-\u2cee"
)
"""Latin, Greek and Cyrillic letters, punctuation and symbols: no marks, no scripts without spaces,
no numbers but digits. `re` and `regex` agree on these, and `re` is four times as fast."""
_UNUSUAL = re.compile(f"[^{_PLAIN}]")
_PLAIN_WORD = re.compile(r"[^\W_]+(?:(?<=\d)\.\d+)*")
UNSPACED_SCRIPTS = (
    r"\p{Han}\p{Hiragana}\p{Katakana}\u30fc\p{Hangul}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
)
"""Scripts whose words no space separates; in Hangul particles stick to the noun instead."""
_WORD = regex.compile(
    rf"(?P<run>[{UNSPACED_SCRIPTS}][{UNSPACED_SCRIPTS}\p{{M}}]*)"
    rf"|[[\p{{L}}\p{{N}}]--[{UNSPACED_SCRIPTS}]][[\p{{L}}\p{{N}}\p{{M}}]--[{UNSPACED_SCRIPTS}]]*"
    rf"(?:(?<=\p{{N}})\.\p{{N}}+)*",
    regex.V1,
)
_LETTER = regex.compile(r"\P{M}\p{M}*|\p{M}+")
_SPACED = rf"[[\p{{L}}\p{{N}}\p{{M}}\u00ad\u200c\u200d]--[{UNSPACED_SCRIPTS}]]"
_FIRST_DIGITS = r"(?<![\d.,])\d{1,3}"
_GROUP = r"\d{3}(?!\d)"
_GROUPS = (
    (_FIRST_DIGITS, "[\u00a0\u2007\u2009\u202f]", _GROUP),
    (_FIRST_DIGITS, r"[ \n]", r"000(?!\d)"),
    (_FIRST_DIGITS, " ", rf"\d{{3}} {_GROUP}"),
    (rf"{_FIRST_DIGITS} \d{{3}}", " ", _GROUP),
)
"""Patterns before, in and behind the gap between two groups of a number such as `21 000`.

An ordinary space also stands between two numbers ("Take 2 500 mg tablets"). It is a gap only before
`000` and in a number of several gaps, such as `1 234 567`."""
_IN_GROUPS = "|".join(
    f"(?<={before}){gap}{behind}|(?<={before}{gap}){behind}" for before, gap, behind in _GROUPS
)
_SIGN = r"(?<![\p{L}\p{N}])(?:[+±−–]|(?<!^[ \t]*)-)"  # noqa: RUF001 - signs of numbers
"""Sign of a number; a hyphen that begins a line is the mark of a list."""
_INSIDE = regex.compile(
    rf"(?<={_SPACED}){_SPACED}|\p{{M}}|(?<=\p{{N}})[.,'\u2019]\p{{N}}|(?<=\p{{N}}[.,'\u2019])\p{{N}}"
    rf"|{_IN_GROUPS}|(?<={_SIGN})\p{{N}}",
    regex.V1 | regex.MULTILINE,
)
"""Pattern of the text after an offset that is inside a word, or a number with groups and a sign."""
VOCABULARY = 1 << 14
"""Words of which it is remembered what was worked out for them. With four times as many a server
holds 30 MB of the words of those who have left, for a twentieth of the time of embedding."""


def words(text: str) -> list[str]:
    """The words of a text in reading order, repeats included, folded so that equal words match.

    Compatibility forms and case are folded (NFKC, casefold), thousands separators dropped (`1,250`
    is `1250`), decimals kept (`3.5`); everything else that is neither letter nor digit separates,
    and so does the mark of a note (`word¹²`).
    Scripts without spaces (Chinese, Japanese, Thai and their like) and Korean give overlapping
    pairs of letters, which match any word inside them without a dictionary.
    """
    if text.isascii():
        plain = _GROUPED_DIGITS.sub("", text) if "," in text else text
        if not _DECIMAL.search(plain):
            return plain.translate(_APART).split()
        return _PLAIN_WORD.findall(plain.lower())
    folded = _GROUPED_DIGITS.sub("", _fold(text))
    if not _UNUSUAL.search(folded):
        return _PLAIN_WORD.findall(folded)
    terms: list[str] = []
    for match in _WORD.finditer(folded):
        if match.lastgroup:
            terms.extend(_pairs(match.group()))
        else:
            terms.append(match.group())
    return terms


def is_inside_word(text: str, offset: int) -> bool:
    """Return True if a text continues a word or number at an offset, such as between 2 and 1 of 21.

    So it does between the groups of `21 000`, and behind the sign of `-5`.

    Scripts without spaces have words of single letters here, as only a dictionary knows others.
    """
    if not 0 < offset < len(text) or _NOTE_MARK.match(text, offset):
        return False
    return _INSIDE.match(text, offset) is not None


def find_words(text: str, sought: str, *, printed: str | None = None) -> int:
    """Return the first offset of a text in another one, in whole words; -1 if there is none.

    If `text` has other white space than the document, `printed` is the same with its white space.
    """
    whole = text if printed is None else printed
    at = text.find(sought)
    while at >= 0 and (is_inside_word(whole, at) or is_inside_word(whole, at + len(sought))):
        at = text.find(sought, at + 1)
    return at


@lru_cache(maxsize=VOCABULARY)
def term_id(word: str) -> int:
    """A number for a word that never changes: the same in every process, release and machine.

    31 bits of a cryptographic hash, from 0 up, so it fits every sparse index. Two words of a
    vocabulary of 100,000 share a number about twice.
    """
    digest = blake2b(word.encode("utf-8", "surrogatepass"), digest_size=4).digest()
    return int.from_bytes(digest, "big") >> 1


def stem_id(stem: str) -> int:
    """A number of 32 bits for a stem: as lasting as `term_id`, and never that of a word."""
    return term_id(stem) | 1 << 31


def _fold(text: str) -> str:
    """Compatibility forms and case folded; folding case can undo the normal form, hence twice."""
    visible = _NOTE_MARK.sub(r" \g<0>", _INVISIBLE.sub("", text))
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", visible).casefold())


def _pairs(run: str) -> list[str]:
    """Overlapping pairs of letters, each with its marks; a run of one letter is returned whole."""
    letters: list[str] = _LETTER.findall(run)
    if len(letters) < 2:  # noqa: PLR2004 - a pair has two
        return letters
    return [first + second for first, second in pairwise(letters)]


RUN = 256
"""Texts counted together: enough that arrays pay, few enough that they stay small."""
_LONGEST = 8_192
"""Characters of a text that is remembered: longer ones are few, and would fill the memory."""
_LONGEST_LINES = 1_000
"""Characters of the metadata in front of a text that are looked for."""
_METADATA = re.compile(r"(?:\w+: .+\n?)+")


class WordCounts(NamedTuple):
    """The words of a run of texts, one text after the other; in a text, by first occurrence.

    `words` are places in the vocabulary, `counts` how often each stands in its text, and
    `different` how many different words each text has.
    """

    vocabulary: list[str]
    words: NDArray[np.intp]
    counts: NDArray[np.int64]
    different: NDArray[np.intp]

    @classmethod
    def of(cls, texts: Iterable[Mapping[str, int]]) -> Self:
        """The counts of each text in one."""
        places: defaultdict[str, int] = defaultdict()
        places.default_factory = places.__len__
        numbers: list[int] = []
        counts: list[int] = []
        different: list[int] = []
        for text in texts:
            numbers.extend(map(places.__getitem__, text))
            counts.extend(text.values())
            different.append(len(text))
        return cls(
            list(places),
            np.array(numbers, np.intp),
            np.array(counts, np.int64),
            np.array(different, np.intp),
        )

    def rows(self) -> NDArray[np.intp]:
        """Number of the text of each of `words`."""
        return np.repeat(np.arange(len(self.different)), self.different)


def in_runs(texts: Iterable[Mapping[str, int]]) -> Iterator[WordCounts]:
    """The counts of all texts, so many together that memory does not grow with them."""
    rest = iter(texts)
    while run := list(islice(rest, RUN)):
        yield WordCounts.of(run)


def counted(text: str) -> Mapping[str, int]:
    """Return the count of each word of a text, by first occurrence; callers must not change it."""
    return _remembered(text) if len(text) <= _LONGEST else Counter(words(text))


def counted_behind_metadata(text: str) -> Mapping[str, int]:
    """The same as `counted`, in less time for a text that was or will be counted alone.

    LlamaIndex puts a node's metadata in front of its text for an embedding model, in lines
    `key: value` with a blank one behind them.
    """
    front, _, behind = text.partition("\n\n")
    if not behind or len(front) > _LONGEST_LINES or not _METADATA.fullmatch(front):
        return counted(text)
    both, body = Counter(words(front)), counted(behind)
    return {**both, **body, **{word: both[word] + body.get(word, 0) for word in both}}


def forget_texts() -> None:
    """Drop what is remembered of texts, as a server does of a visitor who has left."""
    _remembered.cache_clear()


@lru_cache(maxsize=2 * RUN)
def _remembered(text: str) -> Mapping[str, int]:
    return Counter(words(text))
