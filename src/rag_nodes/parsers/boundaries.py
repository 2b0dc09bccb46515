"""Boundaries that a regular expression sets: offsets at which a chunk must begin."""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections.abc import Iterator
from functools import lru_cache

import regex

from rag_nodes.core.errors import ParseError
from rag_nodes.text.graphemes import boundary_at_or_before

MAX_PATTERN_LENGTH = 1_000
"""Characters of a pattern; those people write have a few dozen."""
MAX_REPEATS = 100_000
"""Product of all counts in a pattern: `regex` compiles a copy of the part for each repeat."""
SEARCH_SECONDS = 5.0
"""CPU time that a search may take in any text."""
SECONDS_PER_CHARACTER = 1e-5
"""CPU time on top of that; ordinary patterns take a hundredth of it."""

_COUNT = re.compile(r"\{(\d+)")
_PAIR = re.compile("\r\n")
_CARRIAGE_RETURN = re.compile(r"\r|\\r")


@lru_cache(maxsize=64)
def compiled_boundary(pattern: str) -> regex.Pattern[str]:
    """Compile a pattern in which `^` and `$` match at the start and end of each line.

    Raises:
        ValueError: this is no regular expression, or repeats its parts too often.
    """
    if math.prod(int(count) for count in _COUNT.findall(pattern) if int(count)) > MAX_REPEATS:
        raise ValueError("the pattern repeats its parts too often; use smaller counts")
    try:
        return regex.compile(pattern, regex.MULTILINE)
    except (regex.error, OverflowError, RecursionError) as error:
        raise ValueError(f"not a regular expression: {error}") from error


def boundaries(pattern: str, text: str) -> Iterator[int]:
    r"""Yield the offsets at which matches of a pattern start, in order.

    Every line ends in `\n` for the pattern, however it ends in the text, unless the pattern itself
    has `\r`. A match that starts inside a grapheme cluster counts from the start of the cluster.

    Raises:
        ParseError: the search takes too long, because the pattern backtracks.
    """
    seconds = SEARCH_SECONDS + SECONDS_PER_CHARACTER * len(text)
    searched, pairs = text, list[int]()
    if "\r" in text and not _CARRIAGE_RETURN.search(pattern):
        # Where the second character of each `\r\n` is missing.
        pairs = [match.start() - before for before, match in enumerate(_PAIR.finditer(text))]
        searched = _PAIR.sub("\n", text).replace("\r", "\n")
    matches = compiled_boundary(pattern).finditer(searched, timeout=seconds)
    try:
        # All of them before the first is used: the clock does not stop meanwhile.
        starts = [match.start() + bisect_left(pairs, match.start()) for match in matches]
    except TimeoutError as error:
        raise ParseError(
            f"searching a text of {len(text):,} characters for always_at={pattern} takes more than "
            f"{seconds:.3g} s; simplify the pattern, for example without a repeat inside a repeat"
        ) from error
    before = 0
    for start in starts:
        before = boundary_at_or_before(text, start, before)
        yield before
