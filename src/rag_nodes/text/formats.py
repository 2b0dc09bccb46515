"""Formats of text, Markdown or plain, and the blocks and headings of either."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from enum import StrEnum
from pathlib import PurePath
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from rag_nodes.core import metadata as keys
from rag_nodes.text.markdown import LONGEST_HEADING, Block, Kind, scan_blocks
from rag_nodes.text.markdown.lines import line_end, visible_end
from rag_nodes.text.patterns import compiled
from rag_nodes.text.spans import Span, trimmed, with_line_feeds

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


class Format(StrEnum):
    """Markup of a text."""

    MARKDOWN = "markdown"
    """Headings, fences, lists and tables as in CommonMark and GFM."""
    PLAIN = "plain"
    """Paragraphs, and titles underlined as in reStructuredText; nothing else is a mark."""


SOURCE_CODE = frozenset({
    ".bash", ".c", ".cc", ".cpp", ".cs", ".go", ".h", ".hpp", ".java", ".js", ".jsx", ".kt", ".kts",
    ".lua", ".mjs", ".php", ".py", ".pyi", ".r", ".rb", ".rs", ".scala", ".sh", ".sql", ".swift",
    ".ts", ".tsx",
})  # fmt: skip
"""Suffixes of source code, in which `#` begins a comment or a directive and no heading."""
_FORMATS = frozenset(Format)
_HTML = compiled(
    r"(?:[\s\ufeff]++|<\?xml[^>]*+>|<!--(?:[^-]|-(?!->))*+-->)*+"
    r"<(?:!doctype html|html|head|body)\b",
    re.IGNORECASE,
)
_HTML_SUFFIXES = frozenset({".htm", ".html", ".xhtml"})
_BY_SUFFIX = {
    **dict.fromkeys(SOURCE_CODE, Format.PLAIN),
    **dict.fromkeys((".md", ".markdown", ".mdown", ".mdx", ".mkd"), Format.MARKDOWN),
    **dict.fromkeys((".rest", ".rst"), Format.PLAIN),
}
_SAMPLE = 32_000
"""Characters the format is judged from."""
_MARKS = {
    "#": ((1, re.compile(r"\n(?:\n# |##{1,2} )")),),
    "`": ((1, re.compile(r"\n```")), (-1, re.compile(r":`"))),
    "]": ((1, re.compile(r"\]\(")),),
    "|": ((1, re.compile(r"\| ?(?:---|:-)")),),
    ".": ((-1, re.compile(r"\n\.\. ")),),
    ":": ((-1, re.compile(r"::\n")),),
}
"""Signs of Markdown, and, with -1, of reStructuredText: roles, directives, literal text. By
a character of each mark, which is looked for first: that is far quicker than counting."""
_LINE = compiled(r"\n(([~^\"'+*.=#-])\2{3,}+)[ \t]*+(?=\n)")
_UNDERLINES = frozenset("~^\"'+*.")
"""Marks that underline nothing in Markdown."""


def format_of(text: str, file_name: str = "") -> Format:
    """The format of a text of which nobody says it, by its beginning and the name of its file.

    The suffix decides where it can. Else the marks of Markdown are counted against those of
    reStructuredText; where neither prevail, a file is plain text, and a text without a file is
    Markdown, in which what has no mark is read the same.
    """
    suffix = PurePath(file_name).suffix.lower() if file_name else ""
    if suffix in _BY_SUFFIX:
        return _BY_SUFFIX[suffix]
    sample = "\n\n" + text[:_SAMPLE]
    if "\r" in sample:
        sample = sample.replace("\r\n", "\n").replace("\r", "\n")
    marks = [mark for character, own in _MARKS.items() if character in sample for mark in own]
    balance = sum(weight * len(mark.findall(sample)) for weight, mark in marks)
    balance -= sum(_underlines(sample, line) for line in _LINE.finditer(sample))
    return Format.MARKDOWN if balance > 0 or (balance == 0 and not suffix) else Format.PLAIN


def _underlines(sample: str, line: re.Match[str]) -> bool:
    """Return True if a line of one mark underlines or frames a title, unlike in Markdown."""
    run, mark = line.groups()
    above = sample.rfind("\n", 0, line.start())
    title = sample[above + 1 : line.start()]
    if not title.strip() or len(title) > len(run):
        return False
    framed = sample.endswith(f"\n{run}", 0, above)
    return framed or (mark in _UNDERLINES and title[0].isalnum())


def format_in(metadata: Mapping[str, Any], text: str) -> Format:
    """Return the format in the metadata of a text, else the one its file name and text show."""
    stated = metadata.get(keys.TEXT_FORMAT)
    if stated in _FORMATS:
        return Format(stated)
    return format_of(text, _file_name(metadata))


def _file_name(metadata: Mapping[str, Any]) -> str:
    return str(metadata.get(keys.FILE_NAME) or metadata.get(keys.FILE_PATH) or "")


def is_raw_html(text: str, metadata: Mapping[str, Any] = MappingProxyType({})) -> bool:
    """Return True if a text is the source of a web page.

    It begins like a page, or with any tag if the metadata of its reader says that the file is HTML.
    """
    if _HTML.match(text):
        return True
    suffix = PurePath(_file_name(metadata)).suffix.lower()
    is_named = suffix in _HTML_SUFFIXES or "html" in str(metadata.get("file_type"))
    is_ours = keys.TEXT_FORMAT in metadata  # our reader has replaced the tags
    return is_named and not is_ours and text.lstrip("\ufeff \t\r\n").startswith("<")


def blocks_of(text: str, text_format: Format) -> list[Block]:
    """The blocks of a text, in order, disjoint; together they hold every visible character."""
    return list(scan_blocks(text)) if text_format is Format.MARKDOWN else scan_plain_blocks(text)


_DEEPEST = 6
"""Levels of headings in Markdown."""
_SHORTEST = 3
"""Marks of an underline; two are the mark of a signature, or an ellipsis."""
_GAP = compiled(r"\n(?:[^\S\n]*+\n)++")
"""The end of a paragraph and the blank lines below it."""
_RULER = compiled(r"([!-/:-@\[-`{-~])\1*+[ \t]*+(?=\n|\Z)")


class _Title(NamedTuple):
    """A title up to its underline; its style is its mark, twice where that is above it too."""

    style: str
    title: Span
    end: int


def scan_plain_blocks(text: str) -> list[Block]:
    """The headings and paragraphs of a plain text, in order, disjoint.

    Together they hold every visible character. Time is linear in the length of the text. Titles
    are those of reStructuredText: one line that begins a paragraph, with a line of one repeated
    mark below it that is at least as long; with the same line above it too, it is another style.
    The first style a text uses is its highest level, the next one the level below, and so on:
    https://docutils.sourceforge.io/docs/ref/rst/restructuredtext.html#sections
    """
    text = with_line_feeds(text)
    styles: list[str] = []
    blocks: list[Block] = []
    for start, end in _paragraphs(text):
        at = start
        while title := _title(text, at, end):
            if title.style not in styles:
                styles.append(title.style)
            level = min(styles.index(title.style) + 1, _DEEPEST)
            stop = visible_end(text, title.end)
            blocks.append(Block(Kind.HEADING, at, stop, level, title.title))
            at = title.end + 1
        if at < end:
            blocks.append(Block(Kind.PARAGRAPH, at, end))
    return blocks


def _paragraphs(text: str) -> Iterator[tuple[int, int]]:
    """Start of the first line and end of the last visible character of each paragraph."""
    stop = len(text.rstrip())
    first = len(text) - len(text.lstrip())
    at = text.rfind("\n", 0, first) + 1
    for gap in _GAP.finditer(text, first, stop):
        yield at, visible_end(text, gap.start())
        at = gap.end()
    if at < stop:
        yield at, stop


def _title(text: str, at: int, end: int) -> _Title | None:
    """The title that the paragraph `at:end` begins with."""
    above = _RULER.match(text, at, end)
    line = above.end() + 1 if above else at
    first_end = line_end(text, line)
    below = _RULER.match(text, first_end + 1, end)
    if not below or (above and below.group().rstrip() != above.group().rstrip()):
        return None
    if not above and text[line].isspace():
        return None  # an example of a title, inside of what is indented
    title = Span(line, visible_end(text, first_end))
    run = len(below.group().rstrip())
    if not _SHORTEST <= run >= title.length or title.length > LONGEST_HEADING:
        return None
    words = trimmed(text, *title)
    if not any(map(str.isalnum, words.of(text))):
        return None
    return _Title(below.group(1) * (2 if above else 1), words, below.end())


_ANCHOR = re.compile(r" ?\[(?:\\?#|¶|§|\u200b)?\]\([^()#\s]*(#[^)\s]*)[^)]*\)\Z")
"""The link to itself that documentation sites append to a heading."""


class Heading(NamedTuple):
    """A heading with its place in the tree.

    `path` has the headings above it and itself, outermost first; skipped levels leave no gap.
    `anchor` is what its link to itself names, such as `#install`; "" without one.
    """

    block: Block
    path: tuple[str, ...]
    anchor: str


class HeadingTree:
    """All headings of a text among its blocks, in order."""

    def __init__(self, text: str, blocks: Sequence[Block]) -> None:
        self.headings: list[Heading] = list(_headings(text, blocks))
        self._starts = [heading.block.start for heading in self.headings]
        if self.headings and blocks[0].kind is Kind.FRONT_MATTER and blocks[1].level:
            self._starts[0] = 0  # front matter above the first heading is no text of its own

    def path_at(self, offset: int) -> tuple[str, ...]:
        """Headings the character at `offset` stands under; its own if it is part of one."""
        above = self.above(offset)
        return above.path if above else ()

    def above(self, offset: int) -> Heading | None:
        """The last heading that starts at `offset` or before it; None where there is none."""
        position = bisect_right(self._starts, offset)
        return self.headings[position - 1] if position else None

    def root(self, title: str) -> tuple[str, ...]:
        """The title, where everything stands under it because no heading is of level 1."""
        words = " ".join(title.split())
        return (words,) if words and all(h.block.level > 1 for h in self.headings) else ()

    def inside(self, start: int, end: int) -> list[Heading]:
        """Headings that start after `start` and before `end`."""
        return self.headings[bisect_right(self._starts, start) : bisect_left(self._starts, end)]


def below(root: Sequence[str], path: Sequence[str]) -> list[str]:
    """A path under the title, unless that is what it begins with anyway."""
    return list(path) if path[:1] == root else [*root, *path]


def _headings(text: str, blocks: Sequence[Block]) -> Iterator[Heading]:
    stack: list[tuple[int, tuple[str, ...]]] = [(0, ())]
    for block in blocks:
        level = block.level
        if not level:
            continue
        name, anchor = _name_of(text, block)
        while stack[-1][0] >= level:
            stack.pop()
        above = stack[-1][1]
        path = (*above, name) if name else above
        stack.append((level, path))
        yield Heading(block, path, anchor)


def _name_of(text: str, block: Block) -> tuple[str, str]:
    name = " ".join(text[block.title.start : block.title.end].split())
    link = _ANCHOR.search(name) if name.endswith(")") else None
    return (name[: link.start()], link.group(1)) if link else (name, "")
