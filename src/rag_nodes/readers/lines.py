"""Lines of a text file that hold some characters of a node.

They are counted on request, in the file itself: nothing is stored.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rag_nodes.core import metadata as keys
from rag_nodes.core.errors import ReadError
from rag_nodes.readers.base import safe_text
from rag_nodes.readers.files import DEFAULT_LIMITS, checked_size
from rag_nodes.readers.kinds import COLLECTIONS, SUFFIXES, typed_errors
from rag_nodes.readers.markdown import read_markdown
from rag_nodes.readers.plain import decode_file, read_plain

if TYPE_CHECKING:
    from llama_index.core.schema import TextNode

_AS_THEY_ARE = (read_plain, read_markdown)
"""Readers whose text is that of the file. Tables, HTML, PDF and DOCX become other text."""


class Lines(NamedTuple):
    """First and last line of some characters, counted from 1."""

    start_line: int
    end_line: int


def lines_of(text: str, start: int, end: int) -> Lines:
    r"""Return the lines of the characters `start:end` of a text.

    >>> from rag_nodes.readers.lines import lines_of
    >>> lines_of("one\ntwo\nthree\n", 4, 13)
    Lines(start_line=2, end_line=3)
    """
    return Lines(_line_at(text, start), _line_at(text, max(start, end - 1)))


def _line_at(text: str, offset: int) -> int:
    r"""Return the line of a character; both characters of `\r\n` are in the line that they end."""
    ends = text.count("\n", 0, offset) + text.count("\r", 0, offset)
    return 1 + ends - text.count("\r\n", 0, offset + 1)


def node_lines(
    node: TextNode, start: int, end: int, path: str | Path | None = None
) -> Lines | None:
    """Return the lines of characters `start:end` of a node's text in its file.

    Of Markdown and plain text, and of files that another reader took as they are, such as source
    code.

    Args:
        node: a node that knows its file and its offsets there.
        start: offset of the first character in `node.text`.
        end: offset one past the last.
        path: the file, if it is not where it was when it was read; None for that place.

    Returns:
        None if the document has no such lines, the file is gone, or it has other characters there.
    """
    named = path or node.metadata.get(keys.SOURCE) or node.metadata.get(keys.FILE_PATH)
    file, base = Path(named or ""), node.start_char_idx
    if not named or base is None or not has_lines(file):
        return None
    try:
        with typed_errors(file):
            checked_size(file, DEFAULT_LIMITS)
            text = _text(file, file.stat().st_mtime_ns)
    except ReadError:
        return None
    is_there = text[base + start : base + end] == node.text[start:end]
    return lines_of(text, base + start, base + end) if is_there else None


def has_lines(file: str | Path) -> bool:
    """Return True if the text of a file, by its suffix, is read as it is."""
    suffix = Path(file).suffix.lower()
    return SUFFIXES.get(suffix, read_plain) in _AS_THEY_ARE and suffix not in COLLECTIONS


@lru_cache(maxsize=1)
def _text(file: Path, _changed: int) -> str:
    return safe_text(decode_file(file)[0])
