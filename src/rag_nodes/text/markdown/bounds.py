"""Where a block ends that has lost its end mark, so that it swallows no document.

In CommonMark a fence or an HTML comment that is never closed is all of the rest, whatever that is.
Here it ends at the first blank line if it would hold more than `PLAUSIBLE` characters, and there
is prose in these. So does a fence without an info string whose end is that far away: most likely
the fence that closes it stood elsewhere, and all further ones would open what they should close.
"""

from __future__ import annotations

import re
from itertools import islice

from rag_nodes.text.markdown.lines import BLANK_LINE, closing_fence, line_end, lone_code_span
from rag_nodes.text.patterns import compiled

PLAUSIBLE = 20_000
"""Characters up to which a block is believed whatever is in it: some five hundred lines of code."""
_LONGEST_MARK = 64
"""Longer fences are always believed, so that no text is searched more often than that."""
_LEAST = 3
"""So many paragraphs of prose are no comment in code."""
_PROSE = compiled(r"\n[^\S\n]*+\n(?:[^\W\d_]++(?:['\u2019-][^\W\d_]++)*+[,;:]?+ ){6}")
"""A blank line, and below it, not indented, a line that begins with six words."""


class EndMarks:
    """Finds the ends of fences, HTML blocks and code spans of one text, from its start to its end.

    Args:
        text: lines that end with line feeds.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._unclosed: dict[str, int] = {}
        self._missing: set[re.Pattern[str]] = set()
        self._prose = -1

    def fence_end(self, mark: str, at: int, *, has_info: bool) -> int:
        """Offset after the code whose fence `mark` stands on the line that ends at `at`."""
        text, stop = self._text, at + PLAUSIBLE
        is_unclosed = len(mark) >= self._unclosed.get(mark[0], _LONGEST_MARK + 1)
        near = 0 if is_unclosed else closing_fence(text, mark, at, stop)
        if near or stop >= len(text):
            return near or len(text)
        doubtful = len(mark) <= _LONGEST_MARK and self._holds_prose(at)
        if not is_unclosed and (has_info or not doubtful):
            if far := closing_fence(text, mark, at, len(text)):
                return far
            if doubtful:
                self._unclosed[mark[0]] = len(mark)
        return self._blank_line(at) if doubtful else len(text)

    def html_end(self, mark: re.Pattern[str], at: int) -> int:
        """End of the last line of the HTML block at `at`, which ends with `mark`."""
        text = self._text
        found = None if mark in self._missing else mark.search(text, at)
        if found:
            return found.start() if mark is BLANK_LINE else line_end(text, found.end())
        self._missing.add(mark)
        doubtful = at + PLAUSIBLE < len(text) and self._holds_prose(at)
        return self._blank_line(at) if doubtful else len(text)

    def code_span_end(self, at: int) -> int:
        """Offset after a code span whose backticks stand on lines of their own; 0 without one."""
        end = lone_code_span(self._text, at)
        return 0 if end > at + PLAUSIBLE and self._holds_prose(at) else end

    def _holds_prose(self, at: int) -> bool:
        """Whether what a block may hold after `at` is a text to be read."""
        if at <= self._prose:
            return True
        found = list(islice(_PROSE.finditer(self._text, at, at + PLAUSIBLE), _LEAST))
        if len(found) < _LEAST:
            return False
        self._prose = found[0].start()
        return True

    def _blank_line(self, at: int) -> int:
        """End of the last line before the first blank one, which is there where prose is."""
        found = BLANK_LINE.search(self._text, at)
        return found.start() if found else len(self._text)
