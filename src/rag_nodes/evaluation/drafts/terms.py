"""Words as a text writes them, and how rare each is among the statements of a corpus."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

import regex

from rag_nodes.text.languages import FUNCTION_WORDS
from rag_nodes.text.words import words

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_SHORTEST = 3
"""Letters of a word worth asking with, where a letter is no word of its own."""
_TERM = regex.compile(
    r"[\p{Han}\p{Katakana}\u30fc--[的了在是和与及等为也有不被将从对这那其之以而或就都把但由]]{2,8}"
    r"|[\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]{3,12}"
    r"|\p{Hangul}{2,}"
    r"|\p{Lu}[\p{L}\p{M}]+(?:[ ]\p{Lu}[\p{L}\p{M}]+){1,2}"  # a name of several words
    r"|[[\p{L}\p{N}]--[\p{Han}\p{Hiragana}\p{Katakana}]][\p{L}\p{M}\p{N}'’_\-]*",  # noqa: RUF001
    regex.V1,
)
NUMBER = regex.compile(r"(?<![\p{L}\p{N}]|\p{L}-)\p{N}+(?:[.,:]\p{N}+)*+(?![\p{L}\p{N}])")
YEAR = regex.compile(r"(?<!\d)(?:1[5-9]|20)\d\d(?!\d)")
MENTION = regex.compile(
    r"(?:https?://|www\.)\S+|\[\d[\d,;\s\u2013-]*\]"
    r"|\b(?:Figs?\.|(?:Appendix|Chapter|Figure|Page|Section|Table)s?)\s+\d[\w.\u2013-]*",
    regex.IGNORECASE,
)
"""Numbers of other places, which answer nothing: addresses, references, figures."""

_MOST_TOGETHER = 3
"""Words of a phrase."""
_BLANKS = frozenset(" \n")
ADVERB = re.compile(r"(?!(?:fami|supp|app|rep|assemb|ju|ita|anoma|monopo|multip)ly)\w{3,}ly")
_WEAK = frozenset(
    words(
        "additional additionally another available based certain consequently conversely "
        "currently different due finally former further furthermore general given hence "
        "however important including instead it's later latter less like likewise main make "
        "makes making many may moreover much necessary need needs new nonetheless often one "
        "otherwise particular please possible rather recently regardless several shown "
        "similarly since something sometimes still take takes therefore three thus two use "
        "used uses using usual various via well whereas whether while yet außerdem bereits "
        "beziehungsweise bitte daher dabei dadurch danach dann darüber davon dazu deshalb "
        "deswegen ebenfalls ferner folgende folgenden gibt hier hierbei immer jedoch mehrere "
        "möglich schon sobald sofern somit sowie trotzdem verschiedene weitere weiteren wobei "
        "across against allow allows along although among around away became become becomes "
        "began begin begins being came come comes contain contained contains describe "
        "described describes despite due else ever exist exists figure figures find finds "
        "follow followed follows found gave get gets give gives go goes happen happens help "
        "helped helps hold holds include included includes keep keeps kept lead leads least "
        "led let lets mean means meant near next occur occurs onto per perform performed "
        "performs provide provided provides remain remained remains require required requires "
        "result resulted seem seems show showed shows specified specifies specify support "
        "supports taken tend tends throughout took toward towards unless upon want wants "
        "within without anybody anyone anything everybody everyone everything nobody nothing "
        "somebody someone whatever whoever ask asked asks said say says "
        "zudem zunächst ainsi alors cependant ensuite plusieurs toutefois además entonces "
        "mientras varios embargo inoltre quindi tuttavia"
    )
)
"""Words that stand in any sentence, beside those of grammar; at one of them a phrase ends."""


class Term(NamedTuple):
    """A word, a name or a run of letters.

    Attributes:
        shown: as the text has it.
        words: folded, as search compares them.
    """

    shown: str
    words: tuple[str, ...]


def terms_of(text: str) -> list[Term]:
    """What of a text carries meaning and can be asked with, in order, each once."""
    found: dict[tuple[str, ...], Term] = {}
    for match in _TERM.finditer(text):
        shown = match.group().rstrip("'’_-")  # noqa: RUF001
        own = tuple(words(shown))
        if (
            " " in shown and own[0] in FUNCTION_WORDS
        ):  # "The Harbour Master" is asked for without "The"
            shown, own = shown.partition(" ")[2], own[1:]
        if own and _carries(shown, own):
            found.setdefault(own, Term(shown, own))
    return list(found.values())


def phrases_of(text: str) -> list[Term]:
    """The same with words that stand side by side taken together, as people ask for them.

    What connects sentences ("However") is left out, and so is how something is done.
    """
    found: dict[tuple[str, ...], Term] = {}
    start = end = -1
    for match in _TERM.finditer(text):
        low, high = match.span()
        apart = text[end:low] not in _BLANKS or len(words(text[start:high])) > _MOST_TOGETHER
        if start >= 0 and (apart or _is_weak(match.group())):
            _add(found, text[start:end])
            start = -1
        if not _is_weak(match.group()):
            start, end = (low if start < 0 else start), high
    if start >= 0:
        _add(found, text[start:end])
    return list(found.values())


def _add(found: dict[tuple[str, ...], Term], text: str) -> None:
    """One phrase; of those that are longer than a script's words, its runs."""
    shown = " ".join(text.rstrip("'’_-").split())  # noqa: RUF001
    for one in [Term(shown, tuple(words(shown)))] if " " in shown else terms_of(text):
        found.setdefault(one.words, one)


def _is_weak(word: str) -> bool:
    own = words(word)
    weak = len(own) != 1 or (own[0] not in _WEAK and not ADVERB.fullmatch(own[0]))
    return not (weak and _carries(word, own))


def _carries(shown: str, own: Sequence[str]) -> bool:
    if NUMBER.fullmatch(shown) or all(word in FUNCTION_WORDS for word in own):
        return False
    return len(shown) >= _SHORTEST or unicodedata.category(shown[0]) == "Lo"


class Rarity:
    """Which statements of a corpus hold a word.

    Args:
        statements: words of each statement.
    """

    def __init__(self, statements: Iterable[Iterable[str]]) -> None:
        self._holders: dict[str, set[int]] = defaultdict(set)
        self._count = 1
        for number, found in enumerate(statements):
            self._count += 1
            for word in found:
                self._holders[word].add(number)

    def holders(self, asked: Iterable[str]) -> set[int]:
        """Numbers of the statements that hold all of some words."""
        found = [self._holders.get(word, set()) for word in asked]
        return set.intersection(*found) if found else set()

    def count(self, term: Term) -> int:
        """In how many statements a term is."""
        return len(self.holders(term.words))

    def least(self, term: Term) -> int:
        """In how many statements the rarest of its words is."""
        return min(len(self._holders.get(word, ())) for word in term.words)

    def weight(self, term: Term) -> float:
        """How much a term tells: nothing where all statements have it."""
        return math.log(self._count / max(1, self.count(term)))
